"""The stage: one case on one plane. A case names operations; an adapter says what they are in its framework.

The abstract workflows are two: *gated* (the effect `before`, a question, the effect `after=ANSWER`) and *steps* (the
effect `one`, then the effect `two`). The operations, each in the process and in the order that the case says:

    start_gated  start_steps      a new run, until it asks, ends or fails
    answer VALUE                  the answer, as the framework's user gives it
    fork VALUE                    the answer, at the point where the run asked, on a branch of its own
    duplicate VALUE               the answer twice, one right after the other, into one live run
    stray VALUE                   the answer, and the same again when the run has ended
    go_on                         what a worker does with a run that was broken off
    abandon                       a resume is opened, and nobody goes on with it
    invalid  unserializable       a run that would store what it must not
    corrupt KIND                  what is durable is damaged
    die                           SIGKILL

Points of the workflows' nodes, where a fault can be planned: `one-done`, `two`, `two-done`, `answered`, `fired`.
"""

from __future__ import annotations

import shutil
import sqlite3
import uuid
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

Kind = Literal["safety", "live"]
PROMISES = {
    "PC": "prefix continuation",
    "EO": "effect exactly-once",
    "FD": "fork determinism",
    "FI": "fork intent",
    "CV": "checkpoint validity",
    "CO-e": "strays and duplicates",
    "CO-c": "racing answers",
    "RD": "recovery determinism",
    "LIVE": "can be completed",
}


@dataclass(frozen=True)
class Op:
    """What came out of an operation.

    Attributes:
        ended: `parked`, `finished`, `refused` (said without an exception), `raised`, `killed`.
        error, message: of an exception.
        state: what the adapter tells of the run's state.
    """

    ended: str
    error: str = ""
    message: str = ""
    state: Any = None


@dataclass(frozen=True)
class Check:
    """A sentence that must hold. `live` ones are about completion, `safety` ones about what must not happen."""

    sentence: str
    held: bool
    kind: Kind


@dataclass
class Play:
    """One case on one plane.

    Attributes:
        stage: starts processes of the plane's adapter.
        store: the directory of all that is durable.
        checks, ops: what was checked and seen so far.
    """

    stage: Any
    store: Path
    run: str = field(default_factory=lambda: uuid.uuid4().hex)
    checks: list[Check] = field(default_factory=list)
    ops: list[tuple[str, Op]] = field(default_factory=list)

    @property
    def effects(self) -> list[str]:
        """The effects of the run, from the external ledger."""
        effects: list[str] = self.stage.ledger.read(self.run)
        return effects

    def fired(self, effect: str) -> int:
        """How often an effect happened; `after` is every effect of the gate."""
        return sum(seen == effect or seen.partition("=")[0] == effect for seen in self.effects)

    def process(self, *ops: str, at: str | None = None, do: str = "raise") -> Op:
        """Operations in a process of its own, in turn. Gives the last one's outcome.

        Args:
            at: a point where the process is to fail (`do="raise"`) or to be killed (`do="kill"`).
        """
        is_first = not self.ops
        op = self._took(self.stage.end(self.stage.start(self.run, self.store, ops, at=at, do=do)), ops)
        if is_first and ops[0].startswith("start_") and not self.effects:
            # A run that never began keeps every promise, and refuses everything that comes: no finding about anything.
            raise RuntimeError(f"nothing ran: {op}")
        return op

    def race(self, op: str, racers: int = 2) -> list[Op]:
        """The same operation by several processes at once. A racer waits in its gate until each other one is in its own,
        or has ended."""
        place = self.store.parent / f"meeting-{uuid.uuid4().hex}"
        place.mkdir()
        handles = [
            self.stage.start(self.run, self.store, (op,), meets=str(place), parties=racers) for _ in range(racers)
        ]
        told = [self.stage.end(handle) for handle in handles]
        # Who won is not part of what was seen.
        told.sort(key=lambda ops: "killed" if ops is None else ops[-1]["ended"])
        return [self._took(ops, (op,)) for ops in told]

    def copied(self) -> Play:
        """The same run on a copy of all that is durable. Its effects are counted apart."""
        other = Play(self.stage, self.store.parent / f"copy-{uuid.uuid4().hex}", self.run, self.checks, self.ops)
        shutil.copytree(self.store, other.store, ignore=shutil.ignore_patterns("*.db", "*.db-wal", "*.db-shm"))
        for database in self.store.rglob("*.db"):
            # SQLite's own backup: after SIGKILL the rows are in the write-ahead log, which a copy of the file misses.
            target = other.store / database.relative_to(self.store)
            with closing(sqlite3.connect(database)) as source, closing(sqlite3.connect(target)) as sink:
                source.backup(sink)
        return other

    def check(self, sentence: str, held: bool, kind: Kind = "safety") -> None:
        """What must be so."""
        self.checks.append(Check(sentence, bool(held), kind))

    def once(self, *effects: str) -> None:
        """Each of these effects happened exactly once."""
        for effect in effects:
            self.check(f"`{effect}` does not happen again", self.fired(effect) <= 1)
            self.check(f"`{effect}` happens", self.fired(effect) >= 1, "live")

    def finishes(self, op: Op) -> None:
        """The run came to its end."""
        self.check("the run can be completed", op.ended == "finished", "live")

    def _took(self, told: list[Any] | None, ops: tuple[str, ...]) -> Op:
        seen = [Op("killed")] if told is None else [Op(**each) for each in told]
        self.ops += zip(ops[-1:] if told is None else ops, seen, strict=True)
        if told is not None and ops[0] == "start_gated" and seen[0].ended != "parked":
            raise RuntimeError(f"the run did not park: {seen[0]}")
        return seen[-1]


@dataclass(frozen=True)
class Case:
    """One case. `id` is its name for ever; `title` says in one line what is done."""

    id: str
    promise: str
    title: str
    body: Callable[[Play], None]


_CASES: list[Case] = []


def case(promise: str, id: str, title: str) -> Callable[[Callable[[Play], None]], Callable[[Play], None]]:
    """Registers a case."""

    def register(body: Callable[[Play], None]) -> Callable[[Play], None]:
        assert promise in PROMISES
        assert id not in {known.id for known in _CASES}
        _CASES.append(Case(id, promise, title, body))
        return body

    return register


def registered(module: str) -> list[Case]:
    """The cases of one file, in its order."""
    return [case for case in _CASES if case.body.__module__ == module]
