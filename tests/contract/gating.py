"""Calls that compete for a question: in threads, in tasks and in processes, each stopped at a named point of a node
until the test lets it go on. Nothing is decided by time: a test knows who holds what because it stands still there.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import threading
import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import closing
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from crash import CONTEXT, DEADLINE_S
from graphs import POINTS, Build, Thread, Trouble, fails
from langgraph.types import Command
from remit import RemitConsumeConflict, RemitSaver
from stores import ASYNC_BACKENDS, AsyncStore, Store

CONFLICT = fails(RemitConsumeConflict)
DAY_S = 86_400.0
"""A lease that no test outlives: what is free before it ends was given back."""


async def gated(
    world: Any,
    build: Build,
    *,
    id: str = "thread",
    durability: str | None = None,
    configurable: dict[str, Any] | None = None,
    **options: Any,
) -> Thread:
    """A thread over a saver of its own with the gate, as another worker would have it."""
    saver = await world.saver(**{"cross_process_gate": True, "claim_lease": DAY_S, **options})
    given = {"durability": durability} if durability else {}
    return Thread(build(saver), world.is_async, id, configurable, **given)


def begin(thread: Thread, input: Any) -> asyncio.Task[Any]:
    """Starts a call beside the test: in a thread, over an async saver in a task."""
    if thread.is_async:
        return asyncio.create_task(thread.call(input))
    return asyncio.create_task(asyncio.to_thread(blocking, thread.call(input)))


def blocking(steps: Coroutine[Any, Any, Any]) -> Any:
    """The result of a coroutine that never waits."""
    try:
        steps.send(None)
    except StopIteration as e:
        return e.value
    raise AssertionError("it waits for an event loop")


class Hold:
    """The next node that comes to this point stays there until `go`."""

    def __init__(self, name: str) -> None:
        self._reached, self._goes = threading.Event(), threading.Event()
        POINTS.do_at(name, self._stay)

    def _stay(self) -> None:
        self._reached.set()
        assert self._goes.wait(DEADLINE_S), "nobody let the node go on"

    async def reached(self) -> None:
        assert await asyncio.to_thread(self._reached.wait, DEADLINE_S), "no node came to the point"

    def go(self) -> None:
        self._goes.set()


async def begin_to_wait(thread: Thread, input: Any) -> asyncio.Task[Any]:
    """Starts a call beside the test, which finds somebody at work, and waits for that."""
    claims = thread.graph.checkpointer._protocol.gate._claims  # type: ignore[attr-defined]
    look, has_looked = claims.look, threading.Event()

    def tells(key: Any) -> Any:
        found = yield from look(key)
        assert found[1] is not None or has_looked.is_set(), "nobody is at work"
        has_looked.set()
        return found

    claims.look = tells
    running = begin(thread, input)
    assert await asyncio.to_thread(has_looked.wait, DEADLINE_S), "it does not wait"
    return running


async def trail(thread: Thread, questions: bool = True) -> list[Any]:
    """The grants on a thread, oldest first. `questions`: only those of runs that found questions open."""
    saver: Any = thread.graph.checkpointer
    id = thread.config["configurable"]["thread_id"]
    grants = await saver.aclaims(id) if thread.is_async else saver.claims(id)
    return [grant for grant in grants if grant.interrupts or not questions]


async def states(thread: Thread) -> list[tuple[str, str | None]]:
    """The state and the outcome of the grants on open questions, oldest first."""
    return [(grant.state, grant.outcome) for grant in await trail(thread)]


async def becomes(wanted: Any, of: Callable[[], Any]) -> None:
    """Waits until something is so, that somebody else brings about. What a loop settles is settled soon."""
    deadline = time.monotonic() + DEADLINE_S
    while (found := await of()) != wanted:
        assert time.monotonic() < deadline, f"{found} never became {wanted}"
        await asyncio.sleep(0.005)


def hearts_of(threads: Sequence[threading.Thread]) -> list[str]:
    """The threads that keep claims alive."""
    return [thread.name for thread in threads if thread.name == "remit-heartbeat"]


class Elsewhere:
    """One call in a process of its own. It stops before it calls, and at the points in `stops`.

    Args:
        place: backend and place of the store.
        build, args: `build(*args)` makes the graph's builder there.
        input: the input of the call.
        stops: names of points, each once.
        saver: options of `RemitSaver`; the gate is on.
        how: how the call is made, a name in WAYS.
        **options: of `Thread`.
    """

    def __init__(
        self,
        place: tuple[str, str],
        build: Callable[..., Build],
        args: tuple[Any, ...],
        input: Any,
        *,
        stops: Sequence[str] = (),
        saver: dict[str, Any] | None = None,
        how: str = "call",
        **options: Any,
    ) -> None:
        self._place = place
        self.pipe, there = CONTEXT.Pipe()
        given = {"cross_process_gate": True, "claim_lease": DAY_S, **(saver or {})}
        call = (place, build, args, input, tuple(stops), given, how, options)
        self.process = CONTEXT.Process(target=_main, args=(there, *call), daemon=True)
        self.process.start()
        there.close()
        self.is_ready = False

    async def says(self) -> tuple[str, Any]:
        """The next that is heard from it: `("at", point)` or `("ends", outcome)`. The test's own loop goes on."""
        assert await asyncio.to_thread(self.pipe.poll, DEADLINE_S), "the process says nothing"
        said: tuple[str, Any] = self.pipe.recv()
        return said

    async def go(self) -> None:
        """Lets it go on."""
        if not self.is_ready:
            self.is_ready = await self.says() == ("at", "ready")
        self.pipe.send("go")

    async def go_to(self, point: str) -> Elsewhere:
        """Lets it go on, to this point."""
        await self.go()
        said = await self.says()
        assert said == ("at", point), said
        return self

    async def ends(self) -> Any:
        """Lets it go on, to its end: its outcome."""
        await self.go()
        return await self.ended()

    async def ended(self) -> Any:
        """Its outcome."""
        what, said = await self.says()
        assert what == "ends", said
        await asyncio.to_thread(self.process.join, DEADLINE_S)
        return said

    def kill(self) -> None:
        """Kills it, and waits until it is dead."""
        self.process.kill()
        self.process.join(DEADLINE_S)
        assert self.process.exitcode == -signal.SIGKILL

    def stop(self) -> None:
        """Stops it, as a machine that is suspended would. Not within SQLite's transaction, which would lock the file for
        everybody: here nobody is in one meanwhile."""
        assert self.process.pid is not None
        backend, place = self._place
        with closing(sqlite3.connect(place if "sqlite" in backend else ":memory:", timeout=60)) as file:
            file.execute("BEGIN IMMEDIATE")
            os.kill(self.process.pid, signal.SIGSTOP)
            deadline = time.monotonic() + DEADLINE_S
            while Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()[0] != "T":
                assert time.monotonic() < deadline, "it does not stop"
                time.sleep(0.001)
            file.rollback()

    def wake(self) -> None:
        """Lets it run again."""
        assert self.process.pid is not None
        os.kill(self.process.pid, signal.SIGCONT)


async def race(calls: Sequence[Elsewhere], point: str) -> tuple[Elsewhere, list[Any]]:
    """Lets processes go at once, until one stays at the point and all others have ended: the one, and the outcomes of
    the others."""
    for call in calls:
        assert await call.says() == ("at", "ready")
        call.is_ready = True
    for call in calls:
        await call.go()
    left, winner, ended = list(calls), None, []
    while len(left) > (winner is not None):
        heard = await asyncio.to_thread(wait, [call.pipe for call in left if call is not winner], DEADLINE_S)
        assert heard, "no process says anything"
        call = next(call for call in left if call.pipe is heard[0])
        what, said = await call.says()
        if what == "at":
            assert winner is None, f"two runs are at {point!r}"
            assert said == point
            winner = call
        else:
            ended.append(said)
            left.remove(call)
    assert winner is not None, f"nobody came to {point!r}: {ended}"
    return winner, ended


# -- in the other process ------------------------------------------------------------------------------------------


def _main(pipe: Connection, *call: Any) -> None:
    pipe.send(("at", "ready"))
    pipe.recv()
    said = asyncio.run(_call(pipe, *call))
    if call[-2] == "outlives its loop":
        pipe.send(("at", "lives on"))
        pipe.recv()
    pipe.send(("ends", said))


async def _call(
    pipe: Connection,
    place: tuple[str, str],
    build: Callable[..., Build],
    args: Any,
    input: Any,
    stops: Sequence[str],
    saver: dict[str, Any],
    how: str,
    options: Any,
) -> Any:
    def stay(name: str) -> None:
        pipe.send(("at", name))
        pipe.recv()

    for name in stops:
        POINTS.do_at(name, lambda name=name: stay(name))  # type: ignore[misc]
    backend, where = place
    if backend in ASYNC_BACKENDS:
        async with AsyncStore(backend, where) as astore:
            wrapped = RemitSaver(await astore.inner(), **saver)
            return await WAYS[how](Thread(build(*args)(wrapped), True, **options), input, stay)
    with Store(backend, where) as store:
        wrapped = RemitSaver(store.inner(), **saver)
        return await WAYS[how](Thread(build(*args)(wrapped), False, **options), input, stay)


async def _plainly(thread: Thread, input: Any, _stay: Any) -> Any:
    return await thread.call(input)


async def _closed(thread: Thread, input: Any, stay: Any) -> Any:
    """Closes the stream when its run has begun and before its node has, and lives on."""
    options: Any = {"stream_mode": "tasks", **thread.options}
    if thread.is_async:
        astream = thread.graph.astream(input, thread.config, **options)
        await anext(astream)
        await astream.aclose()
        await asyncio.to_thread(stay, "lives on")
    else:
        stream = thread.graph.stream(input, thread.config, **options)
        next(stream)
        stream.close()
        stay("lives on")
    return "closed"


async def _cancelled(thread: Thread, input: Any, stay: Any) -> Any:
    """Cancels the call at the point "after q1", and lives on. The node's own thread cannot be cancelled, and waits."""
    running = asyncio.create_task(thread.graph.ainvoke(input, thread.config, **thread.options))
    loop, reached, over = asyncio.get_running_loop(), asyncio.Event(), threading.Event()

    def act() -> None:
        loop.call_soon_threadsafe(reached.set)
        over.wait(DEADLINE_S)
        raise Trouble("too late")

    POINTS.do_at("after q1", act)
    await reached.wait()
    running.cancel()
    try:
        await running
    except asyncio.CancelledError:
        await asyncio.to_thread(stay, "lives on")
        return "cancelled"
    finally:
        over.set()
    return "was not cancelled"


async def _interrupted(thread: Thread, input: Any, stay: Any) -> Any:
    """The user presses Ctrl-C at the point "after q1", and the process lives on."""

    def press() -> None:
        raise KeyboardInterrupt

    POINTS.do_at("after q1", press)
    try:
        if thread.is_async:
            await thread.graph.ainvoke(input, thread.config, **thread.options)
        else:
            thread.graph.invoke(input, thread.config, **thread.options)
    except KeyboardInterrupt:
        stay("lives on")
        return "interrupted"
    return "was not interrupted"


WAYS: dict[str, Callable[[Thread, Any, Any], Coroutine[Any, Any, Any]]] = {
    "call": _plainly,
    "outlives its loop": _plainly,
    "closed": _closed,
    "cancelled": _cancelled,
    "interrupted": _interrupted,
}


def answered(value: Any) -> Command[Any]:
    """A bare answer."""
    return Command(resume=value)


async def by_name(thread: Thread, **answers: Any) -> Command[Any]:
    """Answers by the ids of the questions."""
    ids = await thread.ids()
    return Command(resume={ids[question]: value for question, value in answers.items()})
