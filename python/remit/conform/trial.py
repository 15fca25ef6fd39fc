"""One case on one factory: what it may use, and what it found."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from langgraph.checkpoint.base import BaseCheckpointSaver

from .factory import Factory, Mode
from .ledger import Ledger
from .stage import Graph, Job, Outcome, Script, played
from .tap import Tap
from .zygote import Processes

Promise = Literal["PC", "EO", "FD", "CV", "CO-e", "CO-c", "RD", "LIVE"]
PROMISES: dict[Promise, str] = {
    "PC": "the finished prefix is not run again, and the frontier never moves back",
    "EO": "each task's effect fires once, whatever crashes and resumes happen",
    "FD": "a fork is served its own answer, on its own branch, with its own effects",
    "CV": "an invalid state is refused, and nothing of it is stored",
    "CO-e": "a stray or duplicate delivery fires nothing",
    "CO-c": "the authority of one interrupt is taken once, also by racers",
    "RD": "recovery depends on what is durable, not on the order in which it landed",
    "LIVE": "a parked, failed or crashed run can be completed",
}

Needs = Literal["", "processes"]


@dataclass(frozen=True)
class Reach:
    """How far the factory's savers share a store, as found out before the cases run.

    Attributes:
        modes: the calls that its savers have, sync, async or both: a case is played in each.
        reopens: a second saver in this process sees what the first stored.
        processes: so does one in another process.
    """

    modes: tuple[Mode, ...]
    reopens: bool
    processes: bool


@dataclass
class Trial:
    """What a case is given. It does things to graphs, and says by `check` what must hold."""

    factory: Factory
    reach: Reach
    mode: Mode
    oracle: Ledger
    directory: Path
    processes: Processes | None
    run: str = field(default_factory=lambda: f"remit-conform-{uuid.uuid4().hex}")
    thread: str = ""
    durability: str = "sync"
    checks: list[tuple[str, bool]] = field(default_factory=list)
    notes: dict[str, Any] = field(default_factory=dict)
    _opened: Any = None
    _kept_open: BaseCheckpointSaver[Any] | None = None
    _threads: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.thread = self.thread or self.run

    def check(self, sentence: str, holds: bool) -> None:
        """What must be so."""
        self.checks.append((sentence, bool(holds)))

    def note(self, **seen: Any) -> None:
        """What was seen. Nothing that differs from one run to the next belongs here."""
        self.notes |= seen

    @property
    def ledger(self) -> str:
        """The ledger's file."""
        return self.oracle.path

    @property
    def effects(self) -> list[str]:
        """The effects so far, from the ledger."""
        return self.oracle.read(self.run)

    @asynccontextmanager
    async def graph(self, shape: str, *, validator: Any = None, **script: Any) -> AsyncIterator[tuple[Graph, Tap]]:
        """A graph over a new saver of the factory, as another worker would open it. Where each call of the factory
        is a store of its own, it is the saver that this trial opened first."""
        self._threads.add(self.thread)
        if self.reach.reopens:
            async with self.factory.open(validator) as (saver, _):
                with played(shape, saver, self.mode, self, Script(**script)) as pair:
                    yield pair
            return
        if self._kept_open is None:
            # Never closed: it is all there is of its store.
            self._opened = self.factory.open(validator)
            self._kept_open, _ = await self._opened.__aenter__()
        with played(shape, self._kept_open, self.mode, self, Script(**script)) as pair:
            yield pair

    async def process(self, shape: str, call: str, value: Any = None, **script: Any) -> Outcome:
        """One call in a process of its own, which ends.

        A process that is killed at its barrier has the outcome `killed`.
        """
        if self.processes is None:
            # One process is all there is: the call is made here, and a kill would end the whole run.
            raise LookupError("this case needs processes")
        barrier = self._new_path("barrier")
        dies = script.get("killed_at") is not None or script.get("budget") is not None
        job = self._job(shape, call, value, Script(**script, barrier=str(barrier) if dies else ""))
        ended = await asyncio.to_thread(self.processes.run, asdict(job), kill_at=barrier if dies else None)
        return Outcome("killed") if ended.killed else Outcome(**ended.result)

    async def race(self, shape: str, values: list[Any], threads: list[str] | None = None) -> list[Outcome]:
        """Answers given at the same moment, each by a process of its own. Inside its node, a racer waits until each
        of the others is inside too, or has ended: the race is decided by the plane and not by the clock."""
        if self.processes is None:
            raise LookupError("this case needs processes")
        script = self._meeting(len(values))
        jobs = [self._job(shape, "answer", value, script) for value in values]
        if threads is not None:
            self._threads |= set(threads)
            jobs = [replace(job, thread=thread) for job, thread in zip(jobs, threads, strict=True)]
        pids = [self.processes.start(asdict(job)) for job in jobs]
        return [Outcome(**self.processes.end(pid).result) for pid in pids]

    async def together(self, shape: str, value: Any, parties: int = 2) -> list[Outcome]:
        """The same answer given at the same moment by threads (or tasks) of this process, each with its own saver."""
        script = asdict(self._meeting(parties))

        async def one() -> Outcome:
            async with self.graph(shape, **script) as (graph, _):
                try:
                    if graph.is_async:
                        return await graph.answer(value)
                    return await asyncio.to_thread(lambda: asyncio.run(graph.answer(value)))
                finally:
                    (Path(script["meets"]) / f"ended.{uuid.uuid4().hex}").touch()

        return await asyncio.gather(*(one() for _ in range(parties)))

    async def forget(self) -> None:
        """Delete the threads of this trial. A saver that cannot is left with them."""
        for thread in sorted(self._threads):
            self.thread = thread
            try:
                async with self.graph("gate") as (graph, _):
                    await graph.delete()
            except Exception:
                continue

    def again(self) -> None:
        """Go on with a new thread, whose effects are counted apart."""
        self.run = self.thread = f"remit-conform-{uuid.uuid4().hex}"

    def _meeting(self, parties: int) -> Script:
        place = self._new_path("meeting")
        place.mkdir()
        return Script(meets=str(place), parties=parties)

    def _new_path(self, kind: str) -> Path:
        return self.directory / f"{kind}-{uuid.uuid4().hex}"

    def _job(self, shape: str, call: str, value: Any, script: Script) -> Job:
        return Job(
            spec=self.factory.spec,
            mode=self.mode,
            shape=shape,
            thread=self.thread,
            ledger=self.ledger,
            run=self.run,
            durability=self.durability,
            call=call,
            value=value,
            script=script,
        )
