"""Graphs that ask, and threads of them: shared by the contract tests.

A node says where it is with `point(name)`. A test that is about a failure says `POINTS.fail_at(name)`: the node raises
`Trouble` there, once. A test that is about a crash runs the graph in a process of its own (`crash`), which is killed
there. Answers equal to BAD are refused by the node, with `Refused`.
"""

from __future__ import annotations

import operator
import os
import signal
import threading
from collections.abc import Callable
from typing import Annotated, Any, TypedDict

from langgraph.func import entrypoint, task
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt
from ledger import Ledger

BAD = "bad"
STOCK = bool(os.environ.get("REMIT_TEST_STOCK"))


class Refused(ValueError):
    """The node does not accept the answer."""


class Trouble(RuntimeError):
    """The node failed for a reason of its own."""


class State(TypedDict, total=False):
    log: Annotated[list[Any], operator.add]
    v: Any


class Points:
    """What happens at the named points of nodes, in this process."""

    def __init__(self) -> None:
        self._failures: list[str] = []
        self._killed_at: str | None = None
        self._acts: dict[str, Callable[[], None]] = {}
        self.landed = threading.Event()

    def clear(self) -> None:
        self.__init__()  # type: ignore[misc]

    def fail_at(self, name: str) -> None:
        """The next node that comes there fails, once."""
        self._failures.append(name)

    def kill_at(self, name: str, when_landed: bool) -> None:
        """The process is killed there; if wanted, not before the answer it was given is in the database."""
        self._killed_at = name
        if not when_landed:
            self.landed.set()

    def do_at(self, name: str, act: Callable[[], None]) -> None:
        """What the next node that comes there does, once."""
        self._acts[name] = act

    def __call__(self, name: str) -> None:
        act = self._acts.pop(name, None)
        if act is not None:
            act()
        if name == self._killed_at:
            assert self.landed.wait(60), "the answer never reached the database"
            os.kill(os.getpid(), signal.SIGKILL)
        if name in self._failures:
            self._failures.remove(name)
            raise Trouble(name)


POINTS = point = Points()


def accept(answer: Any) -> Any:
    if answer == BAD:
        raise Refused(answer)
    return answer


def asking(*questions: str, ledger: Ledger | None = None, effect: str = "effect") -> Callable[[Any], Any]:
    """A node that asks these questions in turn, checks each answer at once, and then acts."""

    def node(_: Any) -> Any:
        point("before")
        answers = []
        for question in questions:
            answers.append(accept(interrupt(question)))
            point(f"after {question}")
        if ledger is not None:
            ledger.fire(effect, answers)
        point("end")
        return {"v": answers if len(answers) > 1 else answers[0]}

    return node


Node = Callable[[Any], Any]
Build = Callable[[Any], Any]


def nested(node: Node, depth: int) -> Build:
    """The node alone in a graph, which is a subgraph of a graph, `depth` times."""

    def build(saver: Any) -> Any:
        graph: Any = node
        for level in range(depth + 1):
            outer = StateGraph(State)
            outer.add_node("gate" if level == 0 else f"child{level}", graph)
            outer.add_edge(START, "gate" if level == 0 else f"child{level}")
            graph = outer.compile(checkpointer=saver if level == depth else None)
        return graph

    return build


def unsaved(node: Node) -> Build:
    """The node in a subgraph that keeps no checkpoints. LangGraph serves it bare answers only, by way of its parent."""

    def build(saver: Any) -> Any:
        inner = StateGraph(State)
        inner.add_node("gate", node)
        inner.add_edge(START, "gate")
        outer = StateGraph(State)
        outer.add_node("child", inner.compile(checkpointer=False))
        outer.add_edge(START, "child")
        return outer.compile(checkpointer=saver)

    return build


def functional(node: Node) -> Build:
    """The node's text in the body of an entrypoint."""

    def build(saver: Any) -> Any:
        @entrypoint(checkpointer=saver)
        def workflow(_: Any) -> Any:
            return node({})

        return workflow

    return build


def in_task(node: Node) -> Build:
    """The node's text in a task of an entrypoint."""

    def build(saver: Any) -> Any:
        @task
        def ask() -> Any:
            return node({})

        @entrypoint(checkpointer=saver)
        def workflow(_: Any) -> Any:
            return ask().result()

        return workflow

    return build


SHAPES: dict[str, Callable[[Node], Build]] = {
    "top": lambda node: nested(node, 0),
    "subgraph": lambda node: nested(node, 1),
    "subgraph2": lambda node: nested(node, 2),
    "functional": functional,
    "task": in_task,
}


def asks(*questions: str) -> tuple[str, Any]:
    """The outcome of a call that parks at these questions, in any order."""
    return ("asks", sorted(questions))


def gives(value: Any) -> tuple[str, Any]:
    """The outcome of a call that ends with this value of `v`."""
    return ("gives", value)


def fails(error: type[BaseException]) -> tuple[str, Any]:
    """The outcome of a call that raises this."""
    return ("fails", error.__name__)


REFUSED, TROUBLE = fails(Refused), fails(Trouble)


def outcome(result: Any) -> tuple[str, Any]:
    if isinstance(result, BaseException):
        return fails(type(result))
    if isinstance(result, dict) and "__interrupt__" in result:
        return asks(*(question.value for question in result["__interrupt__"]))
    return gives(result.get("v") if isinstance(result, dict) else result)


class Thread:
    """One thread of a graph, as one process sees it. Methods are awaited; over a sync saver they block."""

    def __init__(
        self, graph: Any, is_async: bool, id: str = "thread", configurable: dict[str, Any] | None = None, **options: Any
    ) -> None:
        self.graph = graph
        self.is_async = is_async
        self.config: Any = {"configurable": {"thread_id": id, **(configurable or {})}}
        self.options = options

    async def call(self, input: Any) -> tuple[str, Any]:
        """Invokes the graph, and says what came of it."""
        try:
            if self.is_async:
                return outcome(await self.graph.ainvoke(input, self.config, **self.options))
            return outcome(self.graph.invoke(input, self.config, **self.options))
        except Exception as e:
            return outcome(e)

    async def start(self) -> tuple[str, Any]:
        return await self.call({"log": []})

    async def answer(self, value: Any) -> tuple[str, Any]:
        """A bare answer."""
        return await self.call(Command(resume=value))

    async def answer_by_id(self, answers: dict[str, Any]) -> tuple[str, Any]:
        """Answers by the ids of the questions; the keys are what they ask."""
        ids = await self.ids()
        return await self.call(Command(resume={ids[question]: value for question, value in answers.items()}))

    async def go_on(self) -> tuple[str, Any]:
        return await self.call(None)

    async def state(self, **options: Any) -> Any:
        if self.is_async:
            return await self.graph.aget_state(self.config, **options)
        return self.graph.get_state(self.config, **options)

    async def ids(self) -> dict[str, str]:
        """The ids of the questions that are shown, by what they ask. Those of failed tasks too."""
        tasks = (await self.state()).tasks
        return {question.value: question.id for task in tasks for question in task.interrupts}

    async def shown(self) -> Any:
        """What a reader sees of the thread, in a form that two threads can be compared by."""
        state = await self.state()
        tasks = [(t.name, repr(t.error), [q.value for q in t.interrupts], repr(t.result)) for t in state.tasks]
        return {"next": sorted(state.next), "tasks": sorted(tasks), "values": state.values}
