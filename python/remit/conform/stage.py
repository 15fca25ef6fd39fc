"""Where a case is played: graphs over the saver under test, in this process and in others, and the points of their nodes."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from langgraph.types import Command

from .factory import Factory, Mode
from .graphs import SHAPES, Trouble
from .ledger import Ledger
from .tap import Tap
from .zygote import wait_to_be_killed

LIMIT_S = 60
"""How long a node waits for a write to land before it goes on without it."""

MEETING_LIMIT_S = 20
"""How long a racer in its node waits for the others: those that wait for it outside would wait for ever."""


@dataclass(frozen=True)
class Outcome:
    """What came out of a call.

    Attributes:
        ended: `finished`, `waiting` (for an answer), or the name of an exception.
        values: the state's values; of an exception, none.
        questions: the open questions, interrupt id to question.
        message: the exception's.
    """

    ended: str
    values: dict[str, Any] = field(default_factory=dict)
    questions: dict[str, str] = field(default_factory=dict)
    message: str = ""

    @property
    def finished(self) -> bool:
        return self.ended == "finished"

    @property
    def waiting(self) -> bool:
        return self.ended == "waiting"

    @property
    def raised(self) -> bool:
        return not (self.finished or self.waiting)

    @property
    def answer(self) -> Any:
        """What the last gate was served."""
        return self.values.get("v")

    def id_of(self, question: str) -> str:
        """The interrupt that asks this; an unknown one is an empty string, which answers nothing."""
        return next((id for id, asked in self.questions.items() if asked == question), "")


@dataclass(frozen=True)
class Script:
    """What happens at the points of one process's nodes.

    Attributes:
        fails_at: a point where the node raises `Trouble`.
        killed_at: a point where the process is killed with SIGKILL.
        after: what must be durable in the channel `log` before that.
        order: points that are passed one after the other, each when the one before has landed in `log`.
        barrier: the file that says it is to be killed.
        meets: a directory where racers meet: at their start, and again at the point `answered`.
        parties: how many racers there are.
        budget: the number of write operations that land.
        counts: whether write operations are counted although all of them land.
    """

    fails_at: str | None = None
    killed_at: str | None = None
    after: Sequence[str] = ()
    order: Sequence[str] = ()
    barrier: str = ""
    meets: str = ""
    parties: int = 0
    budget: int | None = None
    counts: bool = False

    @property
    def taps(self) -> bool:
        return self.counts or self.budget is not None or bool(self.after or self.order)


class Scene:
    """A node's site: effects go to the ledger, and points are played by the script."""

    def __init__(self, ledger: Ledger, run: str, script: Script, tap: Tap) -> None:
        self._ledger = ledger
        self._run = run
        self._script = script
        self._tap = tap

    def fire(self, effect: str) -> None:
        self._ledger.fire(self._run, effect)

    def point(self, name: str) -> None:
        script = self._script
        if name == "answered" and script.meets:
            meet(script, "inside")
        if name in script.order[1:]:
            earlier = script.order[: script.order.index(name)]
            self._tap.wait_for(lambda: self._tap.has_landed(earlier), LIMIT_S)
        if name in (script.killed_at, script.fails_at) and script.after:
            self._tap.wait_for(lambda: self._tap.has_landed(script.after), LIMIT_S)
        if name == script.killed_at:
            wait_to_be_killed(script.barrier)
        if name == script.fails_at:
            raise Trouble(name)


def meet(script: Script, where: str) -> None:
    """Wait until each of the racers is here, or has ended, or (of those inside their node) for as long as is sensible."""
    place = Path(script.meets)
    (place / f"{where}.{os.getpid()}.{threading.get_ident()}").touch()
    deadline = time.monotonic() + (MEETING_LIMIT_S if where == "inside" else LIMIT_S)
    while len([*place.glob(f"{where}.*"), *place.glob("ended.*")]) < script.parties and time.monotonic() < deadline:
        time.sleep(0.002)


class Graph:
    """A compiled graph and one of its threads. Sync and async savers are called alike."""

    def __init__(self, compiled: Any, saver: Any, mode: Mode, thread: str, durability: str) -> None:
        self.compiled = compiled
        self.saver = saver
        self.is_async = mode == "async"
        self.config: Any = {"configurable": {"thread_id": thread}}
        self._durability: Any = durability

    async def call(self, input: Any, at: Any = None, **options: Any) -> Outcome:
        """Invoke it; an exception is an outcome too."""
        config, options = at or self.config, {"durability": self._durability, **options}
        try:
            if self.is_async:
                values = await self.compiled.ainvoke(input, config, **options)
            else:
                values = self.compiled.invoke(input, config, **options)
        except Exception as error:
            return Outcome(type(error).__name__, message=str(error)[:300])
        return _outcome(values)

    async def start(self, input: Any = None) -> Outcome:
        """A new input."""
        return await self.call({"log": []} if input is None else input)

    async def answer(self, value: Any, at: Any = None) -> Outcome:
        """An answer: bare, or a dict of interrupt ids."""
        return await self.call(Command(resume=value), at)

    async def go_on(self) -> Outcome:
        """What a worker does with a thread that was broken off: `invoke(None)`."""
        return await self.call(None)

    async def state(self, at: Any = None, **options: Any) -> Any:
        """LangGraph's snapshot of the state."""
        config = at or self.config
        if self.is_async:
            return await self.compiled.aget_state(config, **options)
        return self.compiled.get_state(config, **options)

    async def history(self, **options: Any) -> list[Any]:
        """LangGraph's snapshots, the newest first."""
        if self.is_async:
            return [snapshot async for snapshot in self.compiled.aget_state_history(self.config, **options)]
        return list(self.compiled.get_state_history(self.config, **options))

    async def update(self, values: Any, at: Any = None, **options: Any) -> Any:
        """A change from outside. Gives the config of the new checkpoint."""
        if self.is_async:
            return await self.compiled.aupdate_state(at or self.config, values, **options)
        return self.compiled.update_state(at or self.config, values, **options)

    async def abandon(self, input: Any) -> None:
        """A caller that goes away after the first sign of life."""
        if self.is_async:
            astream = self.compiled.astream(input, self.config, stream_mode="tasks", durability=self._durability)
            await anext(astream)
            await astream.aclose()
        else:
            stream = self.compiled.stream(input, self.config, stream_mode="tasks", durability=self._durability)
            next(stream)
            stream.close()

    async def stored(self) -> list[tuple[str, Any]]:
        """Every value that is durable on the thread, in checkpoints and in pending writes, as (channel, value)."""
        found: list[tuple[str, Any]] = []
        if self.is_async:
            tuples = [item async for item in self.saver.alist(self.config)]
        else:
            tuples = list(self.saver.list(self.config))
        for item in tuples:
            found += item.checkpoint["channel_values"].items()
            found += [(channel, value) for _, channel, value in item.pending_writes or []]
        return found

    async def delete(self) -> None:
        """Forget the thread."""
        thread = self.config["configurable"]["thread_id"]
        await self.saver.adelete_thread(thread) if self.is_async else self.saver.delete_thread(thread)


def _outcome(values: Any) -> Outcome:
    values = dict(values) if values else {}
    asked = values.pop("__interrupt__", ())
    questions = {item.id: str(item.value) for item in asked}
    return Outcome("waiting" if questions else "finished", values, questions)


@dataclass(frozen=True)
class Job:
    """One call in a process of its own.

    Attributes:
        call: `start`, `answer`, `go_on`, or `state` (looks for the thread).
    """

    spec: str
    mode: Mode
    shape: str
    thread: str
    ledger: str
    run: str
    durability: str
    call: str
    value: Any = None
    script: Script = field(default_factory=Script)


@contextmanager
def played(shape: str, saver: Any, mode: Mode, job: Any, script: Script) -> Iterator[tuple[Graph, Tap]]:
    """A graph of this shape over the saver; with a tap on the saver where the script is about what has landed."""
    tap = Tap(script.budget, at_end=lambda: wait_to_be_killed(script.barrier) if script.barrier else None)
    with tap.on(type(saver), mode == "async") if script.taps else nullcontext():
        scene = Scene(Ledger(job.ledger), job.run, script, tap)
        compiled = SHAPES[shape](scene).compile(checkpointer=saver)
        yield Graph(compiled, saver, mode, job.thread, job.durability), tap


def run_job(given: dict[str, Any]) -> dict[str, Any]:
    """A zygote's function: one `Job` as a dict, to one `Outcome` as a dict."""
    job = Job(**{**given, "script": Script(**given["script"])})
    return asdict(asyncio.run(_run(job)))


async def _run(job: Job) -> Outcome:
    async with Factory.find(job.spec).open() as (saver, _):
        with played(job.shape, saver, job.mode, job, job.script) as (graph, _):
            if job.script.meets:
                meet(job.script, "ready")
            try:
                if job.call == "state":
                    state = await graph.state()
                    return Outcome("finished", {"next": list(state.next), **state.values})
                if job.call == "answer":
                    return await graph.answer(job.value)
                return await (graph.start() if job.call == "start" else graph.go_on())
            finally:
                if job.script.meets:
                    (Path(job.script.meets) / f"ended.{os.getpid()}").touch()
