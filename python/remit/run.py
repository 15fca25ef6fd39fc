"""One execution of a plane (thread and namespace), from its read to its end."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Any

from ._core import Intent, Ledger, Prefix, RemitStrayResume, refuse
from .drivers import Expected
from .rows import Task

if TYPE_CHECKING:
    from .gate import Claim


log = logging.getLogger("remit")


class Line:
    """The newest checkpoint of a plane and branch, as far as this process's live runs know."""

    __slots__ = ("__weakref__", "head")

    def __init__(self) -> None:
        self.head = ""


class Run:
    """What is known of an execution. Its writes find it through the token that the read put into their config.

    Attributes:
        thread, namespace, checkpoint: where it reads; `checkpoint` is None for a new thread.
        intent, answer: what its call wants, see `intent.Wish`.
        fork: the branch whose rows it reads and writes at `checkpoint`, if it is a fork.
        lineage: the branch that its checkpoints are of, if any.
        tasks: the tasks that have rows at `checkpoint`, by id.
        bound: the question, as (task id, n), that its bare answer is for.
        in_list: that answer takes its place in the task's recorded list.
        values: the channel values at the checkpoint `values_of`, its newest.
        below: the questions that its subgraphs and tasks asked so far: who asked, by id.
        claim: the claim that it holds, or that the run holds which it is part of.
        beaten: another run answered what it wanted to answer.
        line: the newest checkpoint of its plane and branch, shared by its live runs; None for a run off the newest.
        beside: the run that began on the same new thread before it, and is what is known of both.
        born: how many threads had been deleted when it read.
        is_nameless: it is a fork that nobody else can name.
        stands_alone: it is on a branch of its own, which nobody has moved past; `loaded` is what it read then.
        stray: its resume answers nothing.
        has_ended: its call is over. (Somebody may keep it alive all the same, as an exception's traceback does.)
        is_ambiguous: another run started on the same new thread, so a write without a token may be either's.
        finished: the tasks whose outputs it loaded.
        has_acted: something that a task of it did was stored, or a checkpoint.
        digests: digests of the channels' values, if changes in place are looked for.
        parked_at: the checkpoint at which a task of it parked.
        refused: the refusal of its state, at the checkpoint `refused_at`: nothing that follows is stored.
        wrote: the tasks that wrote at the checkpoint `wrote_at`.
        is_async: its graph awaits, on an event loop.
        landed: the newest checkpoint that it stored.
        unstored: the checkpoint that could not be stored.
    """

    __slots__ = (
        "__weakref__",
        "admitted",
        "answer",
        "beaten",
        "below",
        "beside",
        "born",
        "bound",
        "checkpoint",
        "claim",
        "digests",
        "finished",
        "fork",
        "has_acted",
        "has_ended",
        "in_list",
        "intent",
        "is_ambiguous",
        "is_async",
        "is_nameless",
        "landed",
        "line",
        "lineage",
        "loaded",
        "namespace",
        "parent",
        "parked_at",
        "prefix",
        "refused",
        "refused_at",
        "stands_alone",
        "stray",
        "tasks",
        "thread",
        "unstored",
        "values",
        "values_of",
        "wrote",
        "wrote_at",
    )

    def __init__(self, thread: str, namespace: str, intent: Intent, answer: tuple[bool, Any] | None) -> None:
        self.thread = thread
        self.namespace = namespace
        self.intent = intent
        self.answer = answer
        self.checkpoint: str | None = None
        self.loaded: Any = None
        self.parent: Run | None = None
        self.fork: str | None = None
        self.lineage: str | None = None
        self.tasks: dict[str, Task] = {}
        self.bound: tuple[str, int] | None = None
        self.in_list = False
        self.values: dict[str, Any] = {}
        self.below: dict[str, str] = {}
        self.claim: Claim | None = None
        self.line: Line | None = None
        self.born = 0
        self.beside: Run | None = None
        self.beaten = False
        self.is_nameless = False
        self.admitted: Ledger | None = None
        self.prefix: Prefix | None = None
        self.refused: Exception | None = None
        self.refused_at: str | None = None
        self.finished: set[str] = set()
        self.wrote: set[str] = set()
        self.wrote_at: str | None = None
        self.values_of: str | None = None
        self.stray = False
        self.is_ambiguous = False
        self.is_async = False
        self.has_ended = False
        self.has_acted = False
        self.parked_at: str | None = None
        self.digests: dict[str, bytes] | None = None
        self.stands_alone = False
        self.landed: str | None = None
        self.unstored: str | None = None

    def end(self, failed: bool) -> None:
        """Its call is over."""
        self.has_ended = True
        if not failed and self.is_unheard:
            open = sorted(i for task in self.tasks.values() if task.parked for i in task.interrupts)
            error = refuse(
                "answer-unheard",
                thread=self.thread,
                namespace=self.namespace,
                checkpoint=self.checkpoint,
                named="none",
                open=", ".join(open) or "none",
            )
            log.warning("%s", str(error).splitlines()[0], extra={"remit_code": error.code, "remit_thread": self.thread})
            assert isinstance(error, RemitStrayResume)
            warnings.warn(error, stacklevel=2)
        if self.claim is not None and self.parent is None:
            self.claim.end()

    @property
    def is_unheard(self) -> bool:
        """Did an answer that was for something run nothing? In a subgraph it was for what is asked there."""
        if self.answer is None or self.stray or self.has_acted:
            return False
        return self.parent is None or any(task.parked for task in self.tasks.values())


class Landings:
    """Who waits for checkpoints to be stored."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._expected: dict[str, list[Expected]] = {}

    @contextmanager
    def expect(self, checkpoint: str) -> Iterator[Expected]:
        """Whoever enters waits for a checkpoint."""
        expected = Expected()
        with self._lock:
            self._expected.setdefault(checkpoint, []).append(expected)
        try:
            yield expected
        finally:
            with self._lock:
                others = self._expected[checkpoint]
                others.remove(expected)
                if not others:
                    del self._expected[checkpoint]

    def tell(self, checkpoint: str) -> None:
        """A checkpoint was stored, or was not and will not be."""
        if self._expected:
            with self._lock:
                told = list(self._expected.get(checkpoint, ()))
            for expected in told:
                expected.tell()


class Token(str):
    """The name of a run. A plain string to whoever serializes it."""

    __slots__ = ("run",)
    run: Run
