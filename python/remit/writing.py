"""How checkpoints and pending writes are stored."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from langgraph.checkpoint.base import CheckpointTuple

from ._core import Batch, Fate, Intent, Operation, Prefix, RemitValidityError, refuse, row_id
from .drivers import Ask, Await, Steps
from .facts import EXECUTING, KEYS, TOKEN, branch_of, head_of, interrupt_class, waits_for_nothing, without_keys
from .gate import BRANCH, Claim, Done, identity
from .rows import ERROR, INTERRUPT, NULL_TASK, RESUME, Rows, Task, interrupt_ids, store_batch, triggers, waiting_write
from .run import Run, Token
from .runs import Runs
from .validation import Validator


class Writing(Runs):
    """The protocols of writes."""

    def is_plain(self, conf: Mapping[str, Any], writes: Sequence[tuple[str, Any]], task_id: str) -> bool:
        """May the writes be stored as they are? Those of a task that finishes may, where nothing of it is stored that
        they would have to be kept apart from, without a validator."""
        if self.validators or task_id == NULL_TASK or (self.deleted and str(conf["thread_id"]) in self.deleted):
            return False
        answered = False
        for channel, _ in writes:
            if channel in (INTERRUPT, ERROR):
                return False
            answered = answered or channel == RESUME
        token = conf.get(TOKEN)
        if type(token) is not Token:
            return True
        run = token.run
        claim = run.claim
        if claim is not None and not (claim.is_settled or (claim.is_sure and (claim.is_consumed or claim.tasks == 1))):
            return False
        if run.fork is not None or (answered and run.bound is not None and run.bound[0] != task_id):
            return False
        run.has_acted = True
        known = run.tasks.get(task_id)
        return known is None or (known.answers is None and not known.attempts and task_id not in run.finished)

    def plain_run(self, conf: Mapping[str, Any], checkpoint: Mapping[str, Any]) -> Run | None:
        """The run of a checkpoint that may be stored as it is: it follows in its run's line, off a branch and without a
        validator, and changes nothing of its run's claim. The line is taken on by it."""
        if self.validators or self.config.detect_mutation or not KEYS.isdisjoint(conf):
            return None
        run = self._run_of(conf)
        parent = conf.get("checkpoint_id")
        if run is None or run.thread in self.deleted or (self.looks_in_database and run.line is not None):
            return None
        id: str = checkpoint["id"]
        if parent is not None and (id <= parent or parent == run.parked_at):
            return None
        claim = run.claim
        if claim is not None and not claim.is_settled:
            if not claim.is_consumed or not claim.is_sure or waits_for_nothing(checkpoint):
                return None
            if run.parent is None and claim.ends_at(checkpoint):
                return None
        line = run.line
        if line is not None and line.head != (parent or ""):
            return None
        if run.lineage is not None:
            return None
        prefix = run.prefix
        if prefix is None:
            prefix = run.prefix = Prefix(run.checkpoint)
        if prefix.commit(id, parent, True) is not None:
            return None
        if line is not None:
            line.head = id
        run.has_acted = True
        return run

    def put(self, operation: Operation, config: Any, checkpoint: Any, metadata: Any, versions: Any) -> Steps[Any]:
        """Stores a checkpoint: valid, in its run's line, after everything that arrived before it."""
        conf = config["configurable"]
        run = self._run_of(conf)
        try:
            refused = run.refused if run is not None else None
            if refused is None:
                refused = self._invalid(run, conf, lambda v: v.check_state(checkpoint["channel_values"]))
                if refused is not None and run is not None:
                    yield from self._take_back(run, config)
            starter = run if run is not None else self._starter_of(conf)
            self._check_deleted(starter)
            if refused is None and run is not None and self.config.detect_mutation:
                refused = self._mutated(run, checkpoint, versions)
            self._extend(run, conf, checkpoint["id"], refused)
            if starter is not None:
                self._check_line(starter, checkpoint["id"], conf.get("checkpoint_id"))
            claim = run.claim if run is not None else None
            line = run.lineage if run is not None else None
            if run is None:
                parent = yield from self._parent_of(config)
                is_lost = parent is None and conf.get("checkpoint_id") and metadata.get("source") == "update"
                if is_lost and (yield Ask("get_tuple", (head_of(conf),))) is not None:
                    raise self._no_checkpoint(conf)
                line = branch_of(parent) if parent is not None else None
                if parent is not None and EXECUTING not in conf:
                    claim = yield from self.gate.edit(conf, parent, Rows(parent.pending_writes).load(Intent.INSPECT))
            if line is not None:
                metadata = {**metadata, BRANCH: line}  # a copy: LangGraph streams its own
            if run is not None:
                run.has_acted = True
                run.values, run.values_of = checkpoint["channel_values"], checkpoint["id"]
            if not operation.is_ready():
                yield Await(operation)
            args = (without_keys(config), checkpoint, metadata, versions)
            try:
                stored = yield from self._store(run, claim, checkpoint, args)
            except Exception:
                self.not_stored(config, checkpoint["id"])
                raise
            if self.landed(run, checkpoint):
                yield from self.conclude(run)
            return stored
        except Exception:
            self._failed(run, checkpoint["id"])
            raise
        finally:
            operation.finish()

    def _store(self, run: Run | None, claim: Claim | None, checkpoint: Any, args: tuple[Any, ...]) -> Steps[Any]:
        """Stores a checkpoint under the claim that covers it, if any: an edit's, the run's, or its parent's."""
        if claim is not None and run is not None and run.parent is not None:
            yield from self.gate.check(claim)
        if claim is None and run is not None and run.line is not None and self.looks_in_database:
            return (yield from self._take_on(run, checkpoint["id"], args))
        if claim is None or (run is not None and run.parent is not None):
            return (yield Ask("put", args))
        try:
            ends = run is None or waits_for_nothing(checkpoint) or claim.ends_at(checkpoint)
            stored = yield from self.gate.land(claim, Fate.PUT, ends, "put", args)
        finally:
            if run is None:
                yield from self.gate.give_back(claim)
        return stored

    def _take_on(self, run: Run, checkpoint: str, args: tuple[Any, ...]) -> Steps[Any]:
        """Stores a run's checkpoint, unless a run of another process took the line on.

        Raises:
            RemitOrderViolation: it did.
        """
        parent: str | None = args[0]["configurable"].get("checkpoint_id")
        plane = (run.thread, run.namespace)
        did, stored = yield from self.store.follow(plane, run.lineage, parent, checkpoint, args)
        if not did:
            where = {"thread": run.thread, "namespace": run.namespace, "checkpoint": checkpoint, "parent": parent}
            raise refuse("overtaken", frontier="another checkpoint", **where)
        return stored

    def _mutated(self, run: Run, checkpoint: Any, versions: Mapping[str, Any]) -> Exception | None:
        """The refusal of a checkpoint that holds a value which changed and has no new version."""
        known, run.digests = run.digests or {}, self._digests(checkpoint["channel_values"])
        for channel, digest in run.digests.items():
            if channel not in versions and known.get(channel, digest) != digest:
                run.refused_at = checkpoint["id"]
                return refuse(
                    "mutated-in-place",
                    field=channel,
                    value_type=type(checkpoint["channel_values"][channel]).__name__,
                    errors=[],
                    detail="changed in place",
                    thread=run.thread,
                    namespace=run.namespace,
                    checkpoint=checkpoint["id"],
                )
        return None

    def _extend(self, run: Run | None, conf: Mapping[str, Any], checkpoint: str, refused: Exception | None) -> None:
        """Extends the run's durable prefix: by a valid state, in its line."""
        if run is None:
            prefix = Prefix(None)
        elif run.prefix is None:
            prefix = run.prefix = Prefix(run.checkpoint)
        else:
            prefix = run.prefix
        parent = conf.get("checkpoint_id")
        verdict = prefix.commit(checkpoint, parent, refused is None)
        if refused is not None:
            raise refused
        if verdict is not None:
            code, detail = verdict
            raise refuse(
                code,
                thread=str(conf["thread_id"]),
                namespace=conf.get("checkpoint_ns") or "",
                checkpoint=checkpoint,
                parent=parent,
                frontier=detail,
                step=detail,
            )

    def _take_back(self, run: Run, config: Any) -> Steps[None]:
        """A state that only its parts' coming together makes invalid is refused when the parts are stored already: from
        now on its tasks' outputs do not count, and what they put out when they run again is stored beside them."""
        parent = config["configurable"].get("checkpoint_id")
        here = parent == run.checkpoint
        stored = (run.finished if here else set()) | (run.wrote if parent == run.wrote_at else set())
        for task in sorted(stored):
            attempt = run.tasks[task].attempt if here and task in run.tasks else 0
            row = row_id(task, run.fork if here else None, attempt=attempt + 1)
            yield Ask("put_writes", (config, [(RESUME, [])], row))

    def _parent_of(self, config: Any) -> Steps[CheckpointTuple | None]:
        """The parent of a checkpoint which nobody's run stores (`update_state`)."""
        if not config["configurable"].get("checkpoint_id"):
            return None
        parent: CheckpointTuple | None = yield Ask("get_tuple", (config,))
        return parent

    def put_writes(
        self,
        operation: Operation,
        config: Any,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        path: str,
        takes_path: bool,
    ) -> Steps[None]:
        """Stores a task's writes: valid, and in the form that keeps questions and answers apart."""
        try:
            conf = config["configurable"]
            run = self._run_of(conf)
            target = conf.get("checkpoint_id")
            here = run is not None and run.checkpoint == target
            self._check_deleted(run)
            if run is not None and run.refused is not None and target != run.refused_at:
                raise run.refused  # of what follows an invalid state nothing is stored
            if here and run is not None and run.fork is None and task_id in run.finished:
                return  # LangGraph 1.2.9 stores again at its exit what it loaded
            claim = run.claim if run is not None else None
            if claim is not None:
                yield from self.gate.check(claim)
            elif run is None and EXECUTING not in conf and self.gate.is_on(conf):
                parent = yield from self._parent_of(config)
                if parent is not None:
                    yield from self.gate.is_free(conf, parent, Rows(parent.pending_writes).load(Intent.INSPECT))
            if self.validators:
                base, alone = yield from self._seen(run, config)
                refused = self._invalid(run, conf, lambda v: v.check_updates(list(writes), base, alone))
                if refused is not None:
                    raise refused
                if run is not None:
                    run.wrote = (run.wrote if run.wrote_at == target else set()) | {task_id}
                    run.wrote_at = target
            answers: list[tuple[str, list[tuple[str, Any]]]] = []
            if task_id == NULL_TASK and run is not None and run.answer is not None and (here or run.checkpoint is None):
                writes, answers = self._bind(run, writes)
            branch = run.fork if here and run is not None else None
            known = run.tasks.get(task_id) if here and run is not None else None
            below = run.below if run is not None else {}
            if run is not None and task_id != NULL_TASK:
                run.has_acted = True
            own_ids = partial(_own_ids, run, task_id, path)
            stored = store_batch(task_id, writes, branch, known, below, own_ids)
            done = fate = None
            if run is not None and stored.batch == Batch.PARKED:
                run.parked_at = target
            if run is not None and stored.batch == Batch.PARKED and stored.asker is None:
                asker = identity(f"{run.namespace}:{target}:{task_id}", stored.number, None)
                _tell_callers(run, writes, asker)
            if claim is not None and run is not None and run.parent is None and target and task_id != NULL_TASK:
                parked = stored.batch == Batch.PARKED
                asks = identity(task_id, stored.number, stored.asker) if parked else None
                done = Done(asks, stored.batch == Batch.FAILED, parked)
                fate = claim.last_word(target, task_id, done)
            for row, rows in [*stored.before, *(self._astray(run, task_id, known, writes) if here else ())]:
                yield Ask("put_writes", (config, rows, row))
            args = (config, stored.writes, stored.row, *((path,) if takes_path else ()))
            if claim is not None and fate is not None:
                yield from self.gate.land(claim, fate, True, "put_writes", args)
            elif stored.writes:
                yield Ask("put_writes", args, is_last=not answers)
            if claim is not None and done is not None:
                claim.note(target, task_id, done)
                if fate is None and claim.last_word(target, task_id, done) is not None:
                    yield from self.gate.conclude(claim)  # its checkpoint landed meanwhile
            for n, (row, rows) in enumerate(answers, 1):
                # last: a death in between asks again, and does not lose what came with the answer
                yield Ask("put_writes", (config, rows, row), is_last=n == len(answers))
        finally:
            operation.finish()

    def _bind(
        self, run: Run, writes: Sequence[tuple[str, Any]]
    ) -> tuple[Sequence[tuple[str, Any]], list[tuple[str, list[tuple[str, Any]]]]]:
        """A bare answer is stored with the question it is for, a stray one is not stored, the rest stays: what is
        stored under the null task, and the rows of the answer."""
        rest = [w for w in writes if w[0] != RESUME]
        if len(rest) == len(writes) or run.answer is None:
            return writes, []
        if run.bound is not None:
            return rest, self._answer_rows(run)
        asked_below = any(t.is_below for t in run.tasks.values() if t.parked)
        return (rest if run.stray or asked_below or run.fork is not None else writes), []

    def _astray(
        self, run: Run | None, task_id: str, known: Task | None, writes: Sequence[tuple[str, Any]]
    ) -> list[tuple[str, list[tuple[str, Any]]]]:
        """The row of a bare answer that another task took than the one that it was for: it is spent."""
        if run is None or run.bound is None or task_id == run.bound[0] or run.in_list:
            return []
        taken = next((w[1] for w in writes if w[0] == RESUME), ())
        if len(taken) <= (len(known.served()) if known is not None else 0):
            return []
        (id, nth), run.bound = run.bound, None
        run.tasks[id].waiting[nth] = []
        return [(row_id(id, run.fork, waits_for=nth), waiting_write([]))]

    def _seen(self, run: Run | None, config: Any) -> Steps[tuple[Mapping[str, Any] | None, bool]]:
        """The channel values over which a task's writes are checked, None if they are not known yet, and whether the
        task is its step's only one."""
        if run is not None:
            known = run.values_of == config["configurable"].get("checkpoint_id")
            return (run.values, triggers(run.values) == 1) if known else (None, False)
        tup: CheckpointTuple | None = yield Ask("get_tuple", (config,))
        return (tup.checkpoint["channel_values"] if tup is not None else None), True

    def _invalid(
        self, run: Run | None, conf: Mapping[str, Any], check: Callable[[Validator], None]
    ) -> Exception | None:
        """The refusal of an invalid state, if it is."""
        validator = self.validators.of(conf.get("checkpoint_ns") or "") if self.validators else None
        if validator is None:
            return None
        try:
            check(validator)
        except RemitValidityError as e:
            if run is not None and run.refused is None:
                run.refused, run.refused_at = e, conf.get("checkpoint_id")
            return e
        return None


def _own_ids(run: Run | None, task_id: str, path: str, nth: int) -> set[str]:
    """The ids that a node's own n-th question may have: LangGraph makes them from the node's namespace, newer releases
    from the number too. Only the path of a node that an edge triggered tells its name."""
    kind, _, name = path.partition(", ")
    if kind != "~__pregel_pull" or not name or run is None:
        return set()
    interrupt = interrupt_class()
    own = f"{run.namespace}|{name}:{task_id}" if run.namespace else f"{name}:{task_id}"
    return {interrupt.from_ns(value=None, ns=own).id, interrupt.from_ns(value=None, ns=f"{own}|{nth}").id}


def _tell_callers(run: Run, writes: Sequence[tuple[str, Any]], asker: str) -> None:
    """A question goes up to whoever called: to the task that called this one, and to the graphs that this one is part
    of. They then know that the answer belongs below."""
    asked = {i: asker for channel, value in writes if channel == INTERRUPT for i in interrupt_ids(value)}
    above: Run | None = run
    while above is not None:
        above.below |= asked
        above = above.parent
