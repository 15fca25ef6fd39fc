"""The runs that execute through a saver, and what is known of them between their read and their writes."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any
from weakref import WeakValueDictionary

from ._core import Ledger, Planes, Policy, refuse, row_id
from .claims import Claims, Store
from .config import RemitConfig
from .drivers import Ask, Steps
from .drivers import Call as CallStore
from .facts import EXECUTING, TOKEN
from .gate import Gate
from .rows import RESUME, waiting_write
from .run import Landings, Line, Run, Token
from .validation import Validators

log = logging.getLogger("remit")

_LOOK_AGAIN_S = 1.0
_POLICY = {"warn": Policy.WARN, "raise": Policy.RAISE, "ignore": Policy.IGNORE}


class Runs:
    """What the protocols of one wrapped saver share: options, stores, runs and the lines that they are on."""

    def __init__(
        self, config: RemitConfig, store: Store, claims: Claims | None, local: Claims, saver: str, serde: Any
    ) -> None:
        self.config = config
        self.saver = saver
        self.serde = serde
        self.is_checked = not config.self_check
        self.is_warned = False
        self.store = store
        self.gate = Gate(config, claims, local, saver)
        self.looks_in_database = config.detect_overtaken == "database" and store.lands_together
        if config.detect_overtaken == "database" and not (store.lands_together or store.is_native):
            raise refuse("bad-option", detail=f"detect_overtaken: REMIT does not know the database of {saver}")
        self.has_store = store.is_durable or store.is_native
        self.planes = Planes()
        self.fresh: WeakValueDictionary[tuple[str, str], Run] = WeakValueDictionary()
        self.lines: WeakValueDictionary[tuple[str, str, str], Line] = WeakValueDictionary()
        self.deleted: OrderedDict[str, int] = OrderedDict()
        self.deletions = 0
        self.landings = Landings()
        self.validators = Validators(config.validator)
        self.policy = _POLICY[config.on_stray]

    def setup(self) -> Steps[None]:
        """Makes what REMIT keeps in the saver's database."""
        yield from self.store.setup()
        yield from self.store.index_of_questions()

    def _join_line(self, run: Run, head: str) -> None:
        """A run takes its line on from its newest checkpoint."""
        key = (run.thread, run.namespace, run.lineage or "")
        line = self.lines.get(key)
        if line is None:
            line = self.lines[key] = Line()
        line.head = max(line.head, head)
        run.line = line

    def _check_line(self, run: Run, checkpoint: str, parent: str | None) -> None:
        """Takes a run's line on by a checkpoint.

        Raises:
            RemitOrderViolation: another run did so meanwhile, the checkpoint would lie in the line's past, or a task
                of the run waits for an answer.
        """
        line = run.line
        code = None
        if parent is not None:
            code = "id-in-the-past" if checkpoint <= parent else None
            code = "question-passed-over" if parent == run.parked_at else code
        if code is None and line is not None and line.head != (parent or ""):
            code = "overtaken"
        if code is not None:
            where = {"thread": run.thread, "namespace": run.namespace, "checkpoint": checkpoint, "parent": parent}
            raise refuse(code, frontier=line.head if line is not None else "", **where)
        if line is not None:
            line.head = checkpoint

    def not_stored(self, config: Any, checkpoint: str) -> None:
        """The checkpoint that a run's line was taken on by was not stored after all."""
        conf = config["configurable"]
        run, parent = self._run_of(conf), conf.get("checkpoint_id")
        if run is not None and run.line is not None and run.line.head == checkpoint:
            run.line.head = parent or ""
        self._failed(run, checkpoint)

    def _failed(self, run: Run | None, checkpoint: str) -> None:
        """Tells whoever waits for a checkpoint that it was not stored."""
        if run is not None:
            run.unstored = checkpoint
        self.landings.tell(checkpoint)

    def _check_deleted(self, run: Run | None) -> None:
        """A deleted thread is not made again by a run that began before.

        Raises:
            RemitOrderViolation: so it would be.
        """
        if run is not None and self.deleted.get(run.thread, 0) > run.born:
            raise refuse("thread-deleted", thread=run.thread, namespace=run.namespace, checkpoint=None, frontier="")

    def _no_checkpoint(self, conf: Mapping[str, Any]) -> Exception:
        """The refusal of an input or an edit at a checkpoint that a thread does not have: it would begin anew."""
        where = {"thread": str(conf["thread_id"]), "namespace": conf.get("checkpoint_ns") or ""}
        error = refuse("stray-no-checkpoint", checkpoint=conf["checkpoint_id"], named="none", open="none", **where)
        log.warning("%s", str(error).splitlines()[0], extra={"remit_code": error.code, "remit_thread": where["thread"]})
        return error

    def _new_thread(self, run: Run) -> None:
        """A run that loaded nothing gets no token: its writes find it by the plane, if nobody else starts there."""
        key = (run.thread, run.namespace)
        other = self.fresh.get(key)
        if other is None or other.has_ended:
            self.fresh[key] = run
        else:
            other.is_ambiguous = True
            run.beside = other  # kept as long as either is

    def _run_of(self, conf: Mapping[str, Any]) -> Run | None:
        """The run that writes. (`update_state`, also one that a node calls, is nobody's run.)"""
        token = conf.get(TOKEN)
        if isinstance(token, Token):
            return token.run
        if EXECUTING not in conf:
            return None
        run = self.fresh.get((str(conf["thread_id"]), conf.get("checkpoint_ns") or ""))
        return None if run is None or run.is_ambiguous else run

    def _starter_of(self, conf: Mapping[str, Any]) -> Run | None:
        """One of the runs that began on a new thread together: which of them writes is not known, but their line is."""
        return self.fresh.get((str(conf["thread_id"]), conf.get("checkpoint_ns") or "")) if EXECUTING in conf else None

    def landed(self, run: Run | None, checkpoint: Mapping[str, Any]) -> bool:
        """A run's checkpoint is durable. Is it the last thing that it stores, though its claim does not know?"""
        if run is not None:
            run.landed = checkpoint["id"]
        self.landings.tell(checkpoint["id"])
        claim = run.claim if run is not None and run.parent is None else None
        if claim is None or claim.is_settled:
            return False
        claim.stand_at(checkpoint)
        return claim.ends_at(checkpoint)

    def conclude(self, run: Run | None) -> Steps[None]:
        """Settles the claim of a run that stores nothing more."""
        if run is not None and run.claim is not None:
            yield from self.gate.conclude(run.claim)

    def is_durable(self, run: Run, checkpoint: str) -> Steps[bool]:
        """Waits until a checkpoint of a run is durable. False: it will not be."""
        if checkpoint in (run.landed, run.checkpoint):
            return True
        with self.landings.expect(checkpoint) as expected:
            while checkpoint != run.landed:
                if run.unstored is not None or run.has_ended:
                    return False
                yield CallStore(expected, "come", (_LOOK_AGAIN_S,))
                if checkpoint != run.landed:  # whose run it is may not be known, see `_run_of`
                    where = {"thread_id": run.thread, "checkpoint_ns": run.namespace, "checkpoint_id": checkpoint}
                    if (yield Ask("get_tuple", ({"configurable": where},))) is not None:
                        return True
        return True

    def _answer_rows(self, run: Run) -> list[tuple[str, list[tuple[str, Any]]]]:
        """The row of a bare answer, once per run."""
        if run.bound is None or not admits(run, run.bound):
            return []
        id, nth = run.bound
        task = run.tasks[id]
        return [answer_row(run, id, nth, list(task.answers or ()) if run.in_list else None, task.waiting.get(nth))]

    def _write(
        self, thread: str, namespace: str, checkpoint: str, writes: list[tuple[str, Any]], row: str
    ) -> Steps[None]:
        where = {"thread_id": thread, "checkpoint_ns": namespace, "checkpoint_id": checkpoint}
        yield Ask("put_writes", ({"configurable": where}, writes, row))

    def _digests(self, values: Mapping[str, Any]) -> dict[str, bytes]:
        """Digests of channel values, but for those that the serializer does not take."""
        digests: dict[str, bytes] = {}
        for channel, value in values.items():
            try:
                _, data = self.serde.dumps_typed(value)
            except Exception:
                continue
            digests[channel] = blake2b(data, digest_size=16).digest()
        return digests


def admits(run: Run, bound: tuple[str, int]) -> bool:
    """Is the answer to this question stored for the first time in this run?"""
    if run.admitted is None:
        run.admitted = Ledger()
    return run.admitted.admit(*bound)


def answer_row(
    run: Run, id: str, nth: int, answers: list[Any] | None, waits: list[Any] | tuple[Any, ...] | None
) -> tuple[str, list[tuple[str, Any]]]:
    """The row of a bare answer: in its task's list, if it takes its place there, else one that waits."""
    if answers is not None:
        return row_id(id, run.fork), [(RESUME, answers)]
    return row_id(id, run.fork, waits_for=nth), waiting_write(waits, bound=True)
