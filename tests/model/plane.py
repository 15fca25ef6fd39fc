"""The models' world made real: a row of tasks with one gate, on SQLite, driven one action at a time.

A call runs one task and stops before the next one, so that each action of the model is one call. A crash is a process
of its own that begins the next task and is killed there with SIGKILL; what happens next is a new process's. Effects are
lines in a file that neither LangGraph nor REMIT knows of.
"""

from __future__ import annotations

import multiprocessing
import operator
import os
import signal
import sqlite3
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypedDict

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt
from remit import RemitSaver, RemitStrayResume

PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["langgraph.graph", "langgraph.checkpoint.sqlite", "remit"])
DEADLINE_S = 90
MAIN = "main"


class State(TypedDict, total=False):
    done: Annotated[list[int], operator.add]


class Effects:
    """What happened outside: (lane, task, answer), in order. A lane is the run itself, or one of its forks."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def fire(self, lane: str, task: int, answer: str) -> None:
        with open(self.path, "a") as file:
            file.write(f"{lane} {task} {answer}\n")

    def fired(self) -> list[tuple[str, int, str]]:
        lines = self.path.read_text().splitlines() if self.path.exists() else []
        return [(lane, int(task), answer) for lane, task, answer in map(str.split, lines)]


class Plane:
    """A thread of the graph, over a saver of its own: RemitSaver with these options, or with None LangGraph's own one.
    Another plane on the same directory is another process's."""

    def __init__(self, place: Path, tasks: int, gate: int, options: dict[str, Any] | None) -> None:
        self.place, self.tasks, self.gate = place, tasks, gate
        self.effects = Effects(place / "effects")
        self.file = sqlite3.connect(place / "graph.db", check_same_thread=False, timeout=30)
        saver: Any = SqliteSaver(self.file)
        if options is not None:
            saver = RemitSaver(saver, **options)
        saver.setup()
        builder = StateGraph(State)
        last = START
        for task in range(1, tasks + 1):
            builder.add_node(f"n{task}", self._node(task)).add_edge(last, f"n{task}")
            last = f"n{task}"
        self.graph: Any = builder.compile(checkpointer=saver)
        self.dies_at = 0

    def close(self) -> None:
        self.file.close()

    def _node(self, task: int) -> Callable[..., State]:
        def node(_: State, config: RunnableConfig) -> State:
            if task == self.dies_at:
                os.kill(os.getpid(), signal.SIGKILL)
            answer = interrupt("?") if task == self.gate else "-"
            self.effects.fire(config["configurable"]["lane"], task, answer)
            return {"done": [task]}

        return node

    def call(self, input: Any, checkpoint: str | None = None, lane: str = MAIN, steps: bool = True) -> None:
        """One call: up to the next task, or to the end."""
        address = {"checkpoint_id": checkpoint} if checkpoint is not None else {}
        config = {"configurable": {"thread_id": "t", "lane": lane, **address}}
        self.graph.invoke(input, config, durability="sync", interrupt_before="*" if steps else None)

    def state(self, checkpoint: str | None = None) -> Any:
        address = {"checkpoint_id": checkpoint} if checkpoint is not None else {}
        return self.graph.get_state({"configurable": {"thread_id": "t", **address}})

    def head(self) -> str:
        """The newest checkpoint of the thread."""
        checkpoint: str = self.state().config["configurable"]["checkpoint_id"]
        return checkpoint


def _die(world: tuple[Any, ...], at: int, checkpoint: str) -> None:
    plane = Plane(*world)
    plane.dies_at = at
    plane.call(None, checkpoint)


class Driver:
    """Does the actions of a trace, and says what is seen from outside, in the model's variables."""

    def __init__(self, place: Path, trace: dict[str, Any], options: dict[str, Any] | None) -> None:
        self.world = (place, trace["tasks"], trace["gate"], options)
        self.plane = Plane(*self.world)
        self.plane.call({"done": []})
        self.line = self.plane.head()  # where the run itself stands; forks have lines of their own
        self.asked: str | None = None
        self.forks = 0
        self.said: list[str] = []

    def close(self) -> None:
        self.plane.close()

    def reopen(self) -> None:
        """Another process takes over."""
        self.plane.close()
        self.plane = Plane(*self.world)

    def perform(self, action: str) -> None:
        name, _, parameter = action.rstrip(")").partition("(")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", RemitStrayResume)
            getattr(self, name)(*([] if parameter in ("", "skip") else [parameter]))
        self.said = [type(w.message).__name__ for w in caught]

    def _moves(self, input: Any) -> None:
        # while nothing was forked the run is the thread's head; afterwards it is addressed, as a fork may be the head
        self.plane.call(input, self.line if self.forks else None)
        self.line = self.plane.head()

    def ExecTask(self) -> None:
        self._moves(None)

    def EmitInterrupt(self) -> None:
        self._moves(None)
        self.asked = self.line

    def Consume(self, value: str) -> None:
        self._moves(Command(resume=value))

    def ForkResume(self, value: str) -> None:
        self.forks += 1
        self.plane.call(Command(resume=value), self.asked, lane=f"fork{self.forks}", steps=False)

    def CrashRecover(self) -> None:
        (task,) = self.plane.state(self.line).next
        process = PROCESSES.Process(target=_die, args=(self.world, int(task[1:]), self.line))
        process.start()
        process.join(DEADLINE_S)
        assert process.exitcode == -signal.SIGKILL, f"the process was not killed in {task}: {process.exitcode}"
        process.close()
        self.reopen()

    def CrashParked(self) -> None:
        self.reopen()

    def ExtraResume(self) -> None:
        self.plane.call(Command(resume="stray"), self.line if self.forks else None)

    def seen(self) -> dict[str, Any]:
        """The model's variables, as they are seen from outside."""
        state, fired = self.plane.state(self.line), self.plane.effects.fired()
        _, tasks, gate, _ = self.world
        lanes = [MAIN, *(f"fork{n + 1}" for n in range(self.forks))]
        return {
            "pc": int(state.next[0][1:]) if state.next else tasks + 1,
            "effects": [sum((lane, task) == (MAIN, t) for lane, task, _ in fired) for t in range(1, tasks + 1)],
            "dur": len(state.values["done"]),
            "waiting": bool(state.interrupts),
            "served": [int(a[1:]) for of in lanes for lane, task, a in fired if (lane, task) == (of, gate)],
        }

    def branches(self) -> list[list[int]]:
        """The tasks whose effects fired on each fork, in order."""
        fired = self.plane.effects.fired()
        return [[task for lane, task, _ in fired if lane == f"fork{n + 1}"] for n in range(self.forks)]
