"""A script of calls in a process that is killed with SIGKILL at its n-th operation.

Operations are what makes something durable or fires something: each `put` and `put_writes` of the stock saver, each
statement that admits or settles an effect, each effect outside. There is a point on either side of each.
"""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Callable
from typing import Any

import crash
from graphs import Thread
from langgraph.types import Command
from ledger import Ledger
from remit import RemitSaver
from stores import Store

START = {"log": []}
"""The input that starts a thread."""


class Points:
    """The points that were passed; at the one with this number the process is killed."""

    def __init__(self, kill_at: int | None) -> None:
        self._kill_at = kill_at
        self._lock = threading.Lock()
        self.names: list[str] = []

    def __call__(self, name: str) -> None:
        with self._lock:
            if len(self.names) == self._kill_at:
                os.kill(os.getpid(), signal.SIGKILL)
            self.names.append(name)

    def around(self, owner: Any, name: str, says: Callable[..., str | None]) -> None:
        """Makes a method pass a point before and after; `says` tells its name, None for none."""
        original = getattr(owner, name)

        def method(*args: Any, **kwargs: Any) -> Any:
            said = says(*args, **kwargs)
            if said is None:
                return original(*args, **kwargs)
            self(f"before {said}")
            result = original(*args, **kwargs)
            self(f"after {said}")
            return result

        setattr(owner, name, method)


def _statement(store: Any, statement: str, parameters: Any) -> str | None:
    if statement == store.insert_effect:
        return f"admitting {parameters[5]}"
    return "settling" if statement == store.settle_effect else None


def next_input(thread: Any, answers: dict[str, Any]) -> Any:
    """What a thread is to be given next, by its state: "end" if it has ended."""
    state = thread.graph.get_state(thread.config)
    if not state.config["configurable"].get("checkpoint_id"):
        return START
    # LangGraph before 1.2.24 has the questions of tasks that are done among the thread's, and says of a task that asks
    # for the second time that it is done, with no result.
    open = [question for task in state.tasks if not task.result for question in task.interrupts]
    if open:
        return Command(resume={question.id: answers[question.value] for question in open})
    return None if state.next else "end"


async def _script(place: tuple[str, str], build: Any, path: str, answers: Any, kill_at: int | None) -> Any:
    points = Points(kill_at)
    points.around(Ledger, "fire", lambda _, name, value=None: f"firing {name}" if name not in ("call", "ran") else None)
    ledger = Ledger(path)
    with Store(*place) as store:
        inner = store.inner()
        saver = RemitSaver(inner)
        cls = type(inner)
        points.around(cls, "put", lambda *_: "a checkpoint")
        points.around(
            cls, "put_writes", lambda _, config, writes, *rest: f"writes ({', '.join(sorted({w[0] for w in writes}))})"
        )
        points.around(type(saver._protocol.store), "execute", _statement)
        thread = Thread(build(path)(saver), False, durability="sync")
        given = START
        while given != "end":
            ledger.fire("call", "start" if given == START else "answer")
            await thread.call(given)
            given = next_input(thread, answers)
    return points.names


def _main(result: Any, *call: Any) -> None:
    result.send(asyncio.run(_script(*call)))


def points_of(place: tuple[str, str], build: Any, path: str, answers: Any) -> list[str]:
    """The points that a script passes."""
    code, names = crash.in_process(_main, place, build, path, answers, None)
    assert code == 0, f"the process ended with {code}"
    assert names
    return names


def killed(place: tuple[str, str], build: Any, path: str, answers: Any, at: int) -> None:
    """Runs a script in a process that is killed at a point."""
    code, said = crash.in_process(_main, place, build, path, answers, at)
    assert code == -signal.SIGKILL, f"the process was not killed at point {at}: {code}, {said}"
