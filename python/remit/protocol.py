"""What a wrapped saver does, once for blocking and awaiting callers: generators of steps (see `drivers`).

Decisions are the core's; here facts are read from configs and tuples, and verdicts carried out.
"""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langgraph.checkpoint.base import CheckpointMetadata, CheckpointTuple

from ._core import (
    Intent,
    Kind,
    Ledger,
    Operation,
    Planes,
    Policy,
    Prefix,
    RemitStrayResume,
    Thread,
    Verdict,
    branch_name,
    is_reached,
    judge,
    refuse,
    row_id,
)
from .claims import Store
from .config import RemitConfig
from .drivers import Ask, Await, Collect, Steps
from .intent import Call, Wish, current_call, wish_of_child, wish_of_input
from .rows import ERROR, INTERRUPT, NULL_TASK, RESUME, Loaded, Rows, interrupt_ids, store_batch
from .run import Run, Token
from .validation import Validators

log = logging.getLogger("remit")
log.addHandler(logging.NullHandler())

TOKEN = "__pregel_remit_run"
BRANCH = "remit_branch"
_EXECUTING = "__pregel_runtime"
_DURABILITY = "__pregel_durability"
_POLICY = {"warn": Policy.WARN, "raise": Policy.RAISE, "ignore": Policy.IGNORE}


class Protocol:
    """The protocols of one wrapped saver. Shared by its clones."""

    def __init__(self, config: RemitConfig, store: Store) -> None:
        self.config = config
        self.store = store
        self.planes = Planes()
        self.validators = Validators(config.validator)
        self.policy = _POLICY[config.on_stray]

    # -- reading ---------------------------------------------------------------------------------------------

    def get_tuple(self, config: Any) -> Steps[CheckpointTuple | None]:
        """A load. An executing loop's is answered by what its call wants; anybody else's changes nothing."""
        conf = config["configurable"]
        if _EXECUTING not in conf or conf.get("remit_inspect"):
            return decoded((yield Ask("get_tuple", (config,))))
        call = current_call()
        thread, namespace = str(conf["thread_id"]), conf.get("checkpoint_ns") or ""
        if call is not None and call.run is not None and (call.run.thread, call.run.namespace) == (thread, namespace):
            return (yield from self._is_superseded(config, call.run))
        if namespace:
            return (yield from self._read_child(config, call, thread, namespace))
        return (yield from self._read_root(config, call, thread))

    def _read_root(self, config: Any, call: Call | None, thread: str) -> Steps[CheckpointTuple | None]:
        conf = config["configurable"]
        tup: CheckpointTuple | None = yield Ask("get_tuple", (config,))
        wish = Wish(Intent.UNKNOWN)
        if call is not None:
            stored = tup.metadata.get("run_id") if tup is not None else None
            wish = wish_of_input(call.input, (config.get("metadata") or {}).get("run_id"), stored)
        run = Run(thread, "", wish.intent, wish.answer)
        if call is not None:
            call.run = run
        wanted = conf.get("remit_fork")
        if not (wanted is None or isinstance(wanted, bool) or (isinstance(wanted, str) and wanted)):
            raise refuse("bad-fork", given=repr(wanted), thread=thread)
        addressed = conf.get("checkpoint_id")
        if tup is None:
            if addressed and wish.intent in (Intent.ANSWER, Intent.RETRY):
                self._judge(run, Thread.NO_SUCH_CHECKPOINT, set(), checkpoint=addressed)
            elif wish.answer is not None:
                self._judge(run, Thread.ABSENT, set())
            return None
        if wish.intent == Intent.NEW_INPUT:
            return self._follow(run, tup, Rows(tup.pending_writes).load(run.intent))
        forks = bool(wanted)
        if addressed and not forks and wish.answer is not None and self.config.fork_on_explicit_checkpoint:
            head: CheckpointTuple | None = yield Ask("get_tuple", (_head_of(config),))
            forks = head is not None and head.checkpoint["id"] != tup.checkpoint["id"]
        if forks:
            tup = yield from self._fork(run, tup, wanted if isinstance(wanted, str) else None)
        loaded = Rows(tup.pending_writes).load(run.intent, run.fork, run.answer)
        if run.answer is not None:
            self._judge(run, _state_of(tup, loaded), loaded.interrupts, checkpoint=tup.checkpoint["id"])
        return self._follow(run, tup, loaded)

    def _fork(self, run: Run, tup: CheckpointTuple, token: str | None) -> Steps[CheckpointTuple]:
        """Names the branch. One that was named before goes on where it stands."""
        checkpoint = tup.checkpoint["id"]
        ordinal, fresh = yield from self.store.fork(run.thread, run.namespace, checkpoint, token)
        branch = branch_name(checkpoint, ordinal)
        run.intent, run.lineage = Intent.FORK, branch
        if _is_delta(tup):
            return tup  # its history is read from rows by channel: the branch's rows must be where LangGraph's are
        run.stands_alone = True
        if not fresh:
            where = {"configurable": {"thread_id": run.thread, "checkpoint_ns": run.namespace}}
            moved = yield Collect(where, {"filter": {BRANCH: branch}}, lambda t: t.metadata.get(BRANCH) == branch)
            if moved is not None:
                run.intent = Intent.ANSWER if run.answer is not None else Intent.RETRY
                at: CheckpointTuple = moved
                return at
        run.fork = branch
        return tup

    def _read_child(self, config: Any, call: Call | None, thread: str, namespace: str) -> Steps[CheckpointTuple | None]:
        conf = config["configurable"]
        parent = _parent_run(call, thread, namespace)
        tup: CheckpointTuple | None = yield Ask("get_tuple", (config,))
        own = call.input if call is not None and parent is None else None
        wish = wish_of_child(conf, parent)
        if type(own).__name__ == "Command":
            wish = wish_of_input(own, None, None)
        run = Run(thread, namespace, wish.intent, wish.answer)
        run.parent = parent
        if call is not None:
            call.run = run
        if tup is None:
            return None
        task = _task_of(namespace)
        if parent is not None and parent.fork is not None and wish.intent == Intent.FORK:
            asking = parent.tasks.get(task)
            if asking is not None and asking.interrupts:
                run.fork, run.lineage = parent.fork, parent.lineage
                tup = yield from self._parked_child(config, tup, set(asking.interrupts), run.fork)
        loaded = Rows(tup.pending_writes).load(run.intent, run.fork, run.answer)
        shown = self._follow(run, tup, loaded)
        if run.answer is not None and parent is not None:
            yield from self._bring_down(config, run, parent, task, tup.checkpoint["id"])
        return shown

    def _parked_child(
        self, config: Any, head: CheckpointTuple, questions: set[str], branch: str
    ) -> Steps[CheckpointTuple]:
        """The checkpoint at which a subgraph asked what its parent's fork answers."""

        def asks(tup: CheckpointTuple) -> bool:
            return Rows(tup.pending_writes).asks(questions, branch)

        if asks(head):
            return head
        conf = config["configurable"]
        where = {"configurable": {"thread_id": conf["thread_id"], "checkpoint_ns": conf["checkpoint_ns"]}}
        found: CheckpointTuple | None = yield Collect(where, {}, asks)
        return found if found is not None else head

    def _bring_down(self, config: Any, run: Run, parent: Run, task: str, checkpoint: str) -> Steps[None]:
        """A bare answer to a subgraph's question is stored where the question is, before anything runs."""
        bound, run.bound = run.bound, None
        if bound is None or run.answer is None or config["configurable"].get(_DURABILITY) == "exit":
            return
        if _admits(run, bound):
            row = row_id(bound[0], run.fork, bound[1])
            yield from self._write(run.thread, run.namespace, checkpoint, [(RESUME, [run.answer[1]])], row)
        if parent.bound is not None and parent.bound[0] == task and parent.checkpoint is not None:
            row = row_id(task, parent.fork, parent.bound[1])
            parent.bound = None
            yield from self._write(parent.thread, parent.namespace, parent.checkpoint, [(RESUME, None)], row)

    def _follow(self, run: Run, tup: CheckpointTuple, loaded: Loaded) -> CheckpointTuple:
        """Makes the run known to its later writes, and hands out what it may see."""
        run.checkpoint = tup.checkpoint["id"]
        run.tasks = loaded.tasks
        run.values = tup.checkpoint["channel_values"]
        if run.lineage is None:
            metadata: Mapping[str, Any] = tup.metadata
            run.lineage = metadata.get(BRANCH)
        if run.answer is not None and not run.answer[0] and len(loaded.open) == 1:
            id = loaded.open[0]
            task = loaded.tasks[id]
            asked = task.asked
            if not task.is_below and asked is not None and is_reached(asked, task.recorded):
                run.bound = (id, asked)
        token = Token(os.urandom(16).hex())
        token.run = run
        shown = CheckpointTuple(
            {**tup.config, "configurable": {**tup.config.get("configurable", {}), TOKEN: token}},
            tup.checkpoint,
            _without_branch(tup.metadata) if BRANCH in tup.metadata else tup.metadata,
            tup.parent_config,
            loaded.writes,
        )
        if run.stands_alone:  # else not kept: it holds the token, which holds the run
            run.loaded = shown
        return shown

    def _is_superseded(self, config: Any, run: Run) -> Steps[CheckpointTuple | None]:
        """A loop's second read, which asks whether the thread has moved past the checkpoint it addressed. On a
        fork's own branch it has not: siblings that had finished are not run again."""
        if run.loaded is not None and run.answer is not None:
            loaded: CheckpointTuple = run.loaded
            return loaded
        return decoded((yield Ask("get_tuple", (config,))))

    def _judge(self, run: Run, thread: Thread, open: set[str], checkpoint: str | None = None) -> None:
        """Says what is wrong with a resume before anything runs."""
        named, value = run.answer if run.answer is not None else (False, None)
        names: set[str] = set(value or ()) if named else set()
        run.stray = thread == Thread.FINISHED
        verdict, code = judge(
            thread,
            len(names) if named else None,
            len(names & open),
            self.config.require_named_answers,
            self.policy,
        )
        if code is None:
            return
        error = refuse(
            code,
            thread=run.thread,
            namespace=run.namespace,
            checkpoint=checkpoint,
            named=", ".join(sorted(names - open)) or "none",
            open=", ".join(sorted(open)) or "none",
        )
        log.warning("%s", str(error).splitlines()[0], extra={"remit_code": code, "remit_thread": run.thread})
        if verdict == Verdict.REFUSE:
            raise error
        if isinstance(error, RemitStrayResume):
            warnings.warn(error, stacklevel=2)

    # -- writing ---------------------------------------------------------------------------------------------

    def arrive(self, config: Any, kind: Kind) -> Operation:
        """An operation arrives at its plane; `put` and `put_writes` end it."""
        conf = config["configurable"]
        return self.planes.arrive(str(conf["thread_id"]), conf.get("checkpoint_ns") or "", kind)

    def is_plain(self, config: Any, writes: Sequence[tuple[str, Any]], task_id: str) -> bool:
        """May the writes be stored as they are? Those of a finished task are, off a fork and without a validator."""
        if self.validators or task_id == NULL_TASK:
            return False
        for channel, _ in writes:
            if channel in (INTERRUPT, ERROR):
                return False
        token = config["configurable"].get(TOKEN)
        return not isinstance(token, Token) or token.run.fork is None

    def put(self, operation: Operation, config: Any, checkpoint: Any, metadata: Any, versions: Any) -> Steps[Any]:
        """Stores a checkpoint: valid, in its run's line, after everything that arrived before it."""
        try:
            conf = config["configurable"]
            run = _run_of(conf)
            self._check(run, conf, lambda v: v.check_state(checkpoint["channel_values"]))
            if run is not None:
                self._extend(run, checkpoint["id"], conf.get("checkpoint_id"))
                if run.lineage is not None:
                    metadata = {**metadata, BRANCH: run.lineage}  # a copy: LangGraph streams its own
                run.values = checkpoint["channel_values"]
            if not operation.is_ready():
                yield Await(operation)
            return (yield Ask("put", (config, checkpoint, metadata, versions)))
        finally:
            operation.finish()

    def _extend(self, run: Run, checkpoint: str, parent: str | None) -> None:
        prefix = run.prefix
        if prefix is None:
            prefix = run.prefix = Prefix(run.checkpoint)
        refused = prefix.commit(checkpoint, parent, True)
        if refused is not None:
            code, detail = refused
            raise refuse(
                code,
                thread=run.thread,
                namespace=run.namespace,
                checkpoint=checkpoint,
                parent=parent,
                frontier=detail,
                step=detail,
            )

    def put_writes(
        self, operation: Operation, config: Any, writes: Sequence[tuple[str, Any]], task_id: str, path: tuple[str, ...]
    ) -> Steps[None]:
        """Stores a task's writes: valid, and in the form that keeps questions and answers apart."""
        try:
            conf = config["configurable"]
            run = _run_of(conf)
            if self.validators:
                base = yield from self._seen(run, config)
                self._check(run, conf, lambda v: v.check_updates(list(writes), base))
            here = run is not None and run.checkpoint == conf.get("checkpoint_id")
            if task_id == NULL_TASK and run is not None and run.answer is not None and (here or run.checkpoint is None):
                writes = yield from self._bind(run, config, writes)
                if not writes:
                    return
            branch = run.fork if here and run is not None else None
            known = run.tasks.get(task_id) if here and run is not None else None
            stored = store_batch(task_id, writes, branch, known, run.below if run is not None else set())
            _tell_parents(run, writes)
            for row, rows in stored.before:
                yield Ask("put_writes", (config, rows, row))
            row = row_id(task_id, branch) if branch is not None else task_id
            yield Ask("put_writes", (config, stored.writes, row, *path))
        finally:
            operation.finish()

    def _bind(self, run: Run, config: Any, writes: Sequence[tuple[str, Any]]) -> Steps[Sequence[tuple[str, Any]]]:
        """A bare answer is stored with the question it is for; a stray one is not stored; the rest stays."""
        rest = [w for w in writes if w[0] != RESUME]
        if len(rest) == len(writes) or run.answer is None:
            return writes
        if run.bound is not None:
            task, nth = run.bound
            if _admits(run, run.bound):
                yield Ask("put_writes", (config, [(RESUME, [run.answer[1]])], row_id(task, run.fork, nth)))
            return rest
        asked_below = any(t.is_below for t in run.tasks.values() if t.parked)
        return rest if run.stray or asked_below or run.fork is not None else writes

    def _write(
        self, thread: str, namespace: str, checkpoint: str, writes: list[tuple[str, Any]], row: str
    ) -> Steps[None]:
        where = {"thread_id": thread, "checkpoint_ns": namespace, "checkpoint_id": checkpoint}
        yield Ask("put_writes", ({"configurable": where}, writes, row))

    def _seen(self, run: Run | None, config: Any) -> Steps[Mapping[str, Any]]:
        """The channel values over which a task's writes are checked."""
        if run is not None:
            return run.values
        tup: CheckpointTuple | None = yield Ask("get_tuple", (config,))
        return tup.checkpoint["channel_values"] if tup is not None else {}

    def _check(self, run: Run | None, conf: Mapping[str, Any], check: Callable[[Any], None]) -> None:
        """Validity comes first. A run that was refused once is stored no further."""
        if run is not None and run.refused is not None:
            raise refuse("refused-before", detail=str(run.refused).splitlines()[0], thread=run.thread)
        validator = self.validators.of(conf.get("checkpoint_ns") or "") if self.validators else None
        if validator is None:
            return
        try:
            check(validator)
        except Exception as e:
            if run is not None:
                run.refused = e
            raise

    # -- the rest --------------------------------------------------------------------------------------------

    def delete_thread(self, thread_id: str) -> Steps[None]:
        """Deletes a thread, and what REMIT keeps of it."""
        yield Ask("delete_thread", (thread_id,))
        yield from self.store.forget(str(thread_id))


def decoded(tup: CheckpointTuple | None) -> CheckpointTuple | None:
    """A tuple as LangGraph would have stored it, for whoever looks."""
    if tup is None:
        return None
    if BRANCH in tup.metadata:
        tup = tup._replace(metadata=_without_branch(tup.metadata))
    if not tup.pending_writes or not any("|" in w[0] for w in tup.pending_writes):
        return tup
    return tup._replace(pending_writes=Rows(tup.pending_writes).load(Intent.INSPECT).writes)


def _without_branch(metadata: CheckpointMetadata) -> CheckpointMetadata:
    """Metadata as LangGraph wrote it. The branch stays in the database, where `list(filter=...)` finds it."""
    kept: Any = {k: v for k, v in metadata.items() if k != BRANCH}
    shown: CheckpointMetadata = kept
    return shown


def _head_of(config: Any) -> Any:
    conf = config["configurable"]
    return {"configurable": {"thread_id": conf["thread_id"], "checkpoint_ns": conf.get("checkpoint_ns") or ""}}


def _is_delta(tup: CheckpointTuple) -> bool:
    return "counters_since_delta_snapshot" in tup.metadata


def _state_of(tup: CheckpointTuple, loaded: Loaded) -> Thread:
    """Whether a thread waits, read from its channels: those that trigger a node are empty in a finished one."""
    if loaded.open:
        return Thread.PARKED
    values, versions = tup.checkpoint["channel_values"], tup.checkpoint["channel_versions"]
    if "__start__" not in versions:
        return Thread.UNKNOWN
    for channel, value in values.items():
        if channel.startswith("branch:to:") or channel == "__start__":
            return Thread.UNFINISHED
        if channel == "__pregel_tasks" and value:
            return Thread.UNFINISHED
        if channel.startswith("join:") and set(channel.split(":")[1].split("+")) <= set(value or ()):
            return Thread.UNFINISHED
    return Thread.FINISHED


def _task_of(namespace: str) -> str:
    """The id of the parent's task that a subgraph's namespace names; "" if it names none."""
    parts = [part for part in namespace.split("|") if not part.isdigit()]
    return parts[-1].partition(":")[2] if parts else ""


def _parent_run(call: Call | None, thread: str, namespace: str) -> Run | None:
    """The run of the graph that a subgraph is part of."""
    above = call.parent if call is not None else None
    while above is not None:
        run = above.run
        if run is not None and run.thread == thread and namespace.startswith(run.namespace):
            return run
        above = above.parent
    return None


def _run_of(conf: Mapping[str, Any]) -> Run | None:
    """The run that writes: by its token, or, where a new thread gave it none, by its call."""
    token = conf.get(TOKEN)
    if isinstance(token, Token):
        return token.run
    # `update_state`, also one that a node calls, is nobody's run
    call = current_call() if _EXECUTING in conf else None
    thread, namespace = str(conf["thread_id"]), conf.get("checkpoint_ns") or ""
    while call is not None:
        run = call.run
        if run is not None and run.thread == thread and run.namespace == namespace:
            return run
        call = call.parent
    return None


def _admits(run: Run, bound: tuple[str, int]) -> bool:
    """Is the answer to this question stored for the first time in this run?"""
    if run.admitted is None:
        run.admitted = Ledger()
    return run.admitted.admit(*bound)


def _tell_parents(run: Run | None, writes: Sequence[tuple[str, Any]]) -> None:
    """A subgraph's questions are its parents' too, which then know that the answers belong below."""
    if run is None or run.parent is None:
        return
    ids = {i for channel, value in writes if channel == INTERRUPT for i in interrupt_ids(value)}
    above = run.parent if ids else None
    while above is not None:
        above.below |= ids
        above = above.parent
