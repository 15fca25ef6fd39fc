"""What a wrapped saver does, once for blocking and awaiting callers: generators of steps (see `drivers`).

Decisions are the core's; here facts are read from configs and tuples, and verdicts carried out.
"""

from __future__ import annotations

import logging
import os
import re
import sys
import warnings
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from hashlib import blake2b
from importlib import import_module
from typing import Any
from weakref import WeakValueDictionary

from langgraph.checkpoint.base import CheckpointMetadata, CheckpointTuple

from ._core import (
    Batch,
    Fate,
    Intent,
    Kind,
    Ledger,
    Operation,
    Planes,
    Policy,
    Prefix,
    RemitStrayResume,
    RemitValidityError,
    Thread,
    Verdict,
    branch_name,
    judge,
    refuse,
    row_id,
)
from .claims import Claims, Store
from .config import RemitConfig
from .drivers import Ask, Await, Collect, Pause, Steps
from .drivers import Call as CallStore
from .gate import ANSWER_ID, BRANCH, GATE, Claim, Done, Gate, identity
from .ids import follow
from .intent import Call, Wish, current_call, wish_of_child, wish_of_input
from .rows import (
    ERROR,
    INTERRUPT,
    NULL_TASK,
    RESUME,
    Loaded,
    Rows,
    Task,
    interrupt_ids,
    store_batch,
    triggers,
    waiting_write,
)
from .run import Landings, Line, Run, Token
from .selfcheck import check
from .validation import Validator, Validators

log = logging.getLogger("remit")
log.addHandler(logging.NullHandler())

TOKEN = "__pregel_remit_run"
_EXECUTING = "__pregel_runtime"
_LOOK_AGAIN_S = 1.0
_DURABILITY = "__pregel_durability"
_NOT_THE_CALLER = frozenset(("remit", "langgraph", "langchain_core", "langchain", "asyncio", "contextlib", "threading"))
_KEYS = frozenset(("remit_fork", "remit_inspect", ANSWER_ID, GATE))
_REMEMBERED_DELETIONS = 10_000
_PAUSE_S = 0.002
_POLICY = {"warn": Policy.WARN, "raise": Policy.RAISE, "ignore": Policy.IGNORE}


class Protocol:
    """The protocols of one wrapped saver. Shared by its clones."""

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

    # -- reading ---------------------------------------------------------------------------------------------

    def get_tuple(self, config: Any) -> Steps[CheckpointTuple | None]:
        """A load. An executing loop's is answered by what its call wants; anybody else's changes nothing."""
        conf = config["configurable"]
        if not self.is_checked:
            yield from check(self.saver)
            self.is_checked = True
        if _EXECUTING not in conf or conf.get("remit_inspect"):
            return _decoded((yield Ask("get_tuple", (config,))))
        if self.validators and not self.is_warned and conf.get(_DURABILITY, "sync") != "sync":
            self._warn_of_durability(conf[_DURABILITY])
        call = current_call()
        thread, namespace = str(conf["thread_id"]), conf.get("checkpoint_ns") or ""
        if call is not None and call.run is not None and (call.run.thread, call.run.namespace) == (thread, namespace):
            return (yield from self._is_superseded(config, call.run))
        if namespace:
            return (yield from self._read_child(config, call, thread, namespace))
        return (yield from self._read_root(config, call, thread))

    def _read_root(self, config: Any, call: Call | None, thread: str) -> Steps[CheckpointTuple | None]:
        conf = config["configurable"]
        wanted = _fork_wish(conf, thread)
        tup: CheckpointTuple | None = yield Ask("get_tuple", (config,))
        gated = self.gate.claims_of(conf) is not None
        wish = Wish(Intent.UNKNOWN)
        if call is not None:
            stored = tup.metadata.get("run_id") if tup is not None else None
            wish = wish_of_input(call.input, (config.get("metadata") or {}).get("run_id"), stored)
        run = Run(thread, "", wish.intent, wish.answer)
        run.born = self.deletions
        if call is not None:
            call.run = run
        addressed = conf.get("checkpoint_id")
        while True:
            if tup is None:
                if addressed and wish.intent in (Intent.ANSWER, Intent.RETRY):
                    self._judge(run, Thread.NO_SUCH_CHECKPOINT, None, addressed)
                elif wish.answer is not None:
                    self._judge(run, Thread.ABSENT, None, None)
                elif addressed and (yield Ask("get_tuple", (_head_of(conf),))) is not None:
                    raise self._no_checkpoint(conf)
                if (
                    not gated
                    or wish.intent != Intent.NEW_INPUT
                    or (yield from self.gate.enter(run, conf, None, Rows(()).load(Intent.NEW_INPUT)))
                ):
                    self._new_thread(run)
                    if not addressed:
                        self._join_line(run, "")
                    return None
                tup = yield Ask("get_tuple", (config,))
                continue
            run.lineage = _branch_of(tup)
            forks = bool(wanted)
            is_head = not addressed
            if addressed and not forks and wish.answer is not None and self.config.fork_on_explicit_checkpoint:
                forks = yield from self._has_moved_past(config, tup)
                run.stands_alone = is_head = not forks
            elif addressed and not forks and gated:
                is_head = not (yield from self._has_moved_past(config, tup))
            if forks:
                tup = yield from self._fork(run, tup, wanted if isinstance(wanted, str) else None, bool(addressed))
            intent = Intent.INSPECT if run.intent == Intent.FORK and run.fork is None else run.intent
            newer = _knows("checkpoint_superseded")
            loaded = Rows(tup.pending_writes).load(
                intent, run.fork, run.answer, keeps=newer or not addressed, numbered=newer, alone=_runs_one_task(tup)
            )
            if intent != run.intent:  # a fork of a thread with DeltaChannels, see `_fork`
                loaded.writes = [w for w in loaded.writes if w[1] != RESUME]
            if run.answer is not None:
                state = _state_of(tup, loaded)
                self._judge(run, state, loaded, tup.checkpoint["id"])
                if state == Thread.UNFINISHED and not run.answer[0] and not addressed and not wanted:
                    yield from self._judge_edited(run, tup)
            elif run.intent == Intent.NEW_INPUT and loaded.open:
                self._report_withdrawn(run, loaded, tup.checkpoint["id"])
            if not gated or not (forks or is_head) or run.intent == Intent.INSPECT:
                break
            if run.intent != Intent.NEW_INPUT and _state_of(tup, loaded) == Thread.FINISHED:
                break  # nothing will run
            if (yield from self.gate.enter(run, conf, tup, loaded, _whole_answer(run, call, conf, tup, loaded))):
                break
            tup = yield Ask("get_tuple", (config,))
        if forks or not addressed:
            self._join_line(run, tup.checkpoint["id"])
        shown = self._follow(run, tup, loaded)
        if run.claim is not None and run.claim.has_answer and run.bound is not None:
            _admits(run, run.bound)
        yield from self._replace(run, loaded, config)
        return shown

    def _has_moved_past(self, config: Any, tup: CheckpointTuple) -> Steps[bool]:
        """Has the line of a checkpoint moved past it? A branch that forked from it is another line."""
        conf = config["configurable"]
        where = _head_of(conf)
        head: CheckpointTuple | None = yield Ask("get_tuple", (where,))
        line = _branch_of(tup)
        if head is not None and _branch_of(head) != line:
            head = yield Collect(where, {}, lambda t: _branch_of(t) == line)
        return head is not None and head.checkpoint["id"] != tup.checkpoint["id"]

    def _fork(self, run: Run, tup: CheckpointTuple, token: str | None, addressed: bool) -> Steps[CheckpointTuple]:
        """Names the branch. One that was named before goes on where it stands."""
        where = {"thread_id": run.thread, "checkpoint_ns": run.namespace}
        if token is not None and not addressed:
            # the name alone: the thread may have moved since, also by this branch
            place = yield from self.store.find_fork(run.thread, run.namespace, token)
            if place is not None and place != tup.checkpoint["id"]:
                at: CheckpointTuple | None = yield Ask(
                    "get_tuple", ({"configurable": {**where, "checkpoint_id": place}},)
                )
                tup = at if at is not None else tup
        checkpoint = tup.checkpoint["id"]
        rows = Rows(tup.pending_writes)
        ordinal, fresh = yield from self.store.fork(
            run.thread, run.namespace, checkpoint, token, rows.forks(checkpoint)
        )
        branch = run.lineage = branch_name(checkpoint, ordinal)
        run.is_nameless = token is None
        if not fresh:
            lineage = {"filter": {BRANCH: branch}}
            moved: CheckpointTuple | None = yield Collect(
                {"configurable": where}, lineage, lambda t: _branch_of(t) == branch
            )
            if moved is not None:
                run.stands_alone = True
                return moved
        elif not self.store.is_durable:  # what the store forgets with its process, a row in the saver tells
            row = row_id(NULL_TASK, branch, waits_for=0)
            named = waiting_write([token] if token is not None else [])
            yield from self._write(run.thread, run.namespace, checkpoint, named, row)
        if run.answer is None and run.intent == Intent.NEW_INPUT:
            return tup
        run.intent = Intent.FORK
        if _is_delta(tup):
            # its channels are rebuilt from rows by channel, so the branch's must be where LangGraph's are: it keeps
            # them apart itself, if it sees the main line's writes and stores such a channel whole, and if the main
            # line needs its own rows no more
            whole = _knows("delta_channels_with_pending_writes")
            if not whole or not (yield from self._has_moved_past({"configurable": where}, tup)):
                raise refuse("fork-delta", thread=run.thread, namespace=run.namespace, checkpoint=checkpoint)
            return tup
        run.stands_alone = True
        run.fork = branch
        return tup

    def _read_child(self, config: Any, call: Call | None, thread: str, namespace: str) -> Steps[CheckpointTuple | None]:
        conf = config["configurable"]
        parent = _parent_run(call, thread, namespace)
        tup: CheckpointTuple | None = yield Ask("get_tuple", (config,))
        wish = wish_of_child(conf, parent)
        if parent is None and call is not None and type(call.input).__name__ == "Command":
            wish = wish_of_input(call.input, None, None)
        run = Run(thread, namespace, wish.intent, wish.answer)
        run.parent = parent
        run.born = self.deletions if parent is None else parent.born
        run.has_acted = conf.get(_DURABILITY) == "exit"  # a subgraph that ends well then stores nothing
        if call is not None:
            call.run = run
        if parent is not None:
            run.lineage, run.claim = parent.lineage, parent.claim
        if tup is None:
            self._new_thread(run)
            return None
        if parent is None:
            return self._follow(run, tup, Rows(tup.pending_writes).load(run.intent))
        task = conf.get("__pregel_task_id") or ""
        if not conf.get("checkpoint_id"):
            tup = yield from self._on_its_line(run, parent, parent.tasks.get(task), tup)
            if tup is None:
                self._new_thread(run)
                return None
        loaded = Rows(tup.pending_writes).load(run.intent, run.fork, run.answer, alone=_runs_one_task(tup))
        if run.answer is not None and not run.answer[0] and not loaded.open and run.fork is None:
            yield from self._judge_edited(run, tup)
        shown = self._follow(run, tup, loaded)
        yield from self._replace(run, loaded, config)
        if run.answer is not None:
            yield from self._bring_down(config, run, parent, task, tup.checkpoint["id"])
        return shown

    def _on_its_line(
        self, run: Run, parent: Run, asking: Task | None, head: CheckpointTuple
    ) -> Steps[CheckpointTuple | None]:
        """The checkpoint at which a subgraph stands on its parent's line. All lines of a thread share its namespace,
        so its newest checkpoint may be another line's."""
        where = {"configurable": {"thread_id": run.thread, "checkpoint_ns": run.namespace}}
        if parent.fork is not None and run.intent == Intent.FORK:
            branch, questions = parent.fork, set(interrupt_ids(asking.question) if asking is not None else ())

            def asks(tup: CheckpointTuple) -> bool:
                return Rows(tup.pending_writes).asks(questions, branch)

            parked: CheckpointTuple | None = head if asks(head) else None
            if parked is None and questions:
                parked = yield Collect(where, {}, asks)
            if parked is not None:
                run.fork = branch
                return parked
        if _branch_of(head) == parent.lineage:
            return head
        line = parent.lineage
        own: CheckpointTuple | None = yield Collect(where, {}, lambda t: _branch_of(t) == line)
        if own is None and parent.fork is not None:  # not run on the branch yet: as it was at the fork
            before = {"before": {"configurable": {"checkpoint_id": parent.checkpoint}}}
            own = yield Collect(where, before, lambda _: True)
        return own

    def _bring_down(self, config: Any, run: Run, parent: Run, task: str, checkpoint: str) -> Steps[None]:
        """A bare answer to a subgraph's question is stored where the question is, before anything runs."""
        if run.bound is None or run.answer is None or config["configurable"].get(_DURABILITY) == "exit":
            return
        for row, writes in self._answer_rows(run):
            yield from self._write(run.thread, run.namespace, checkpoint, writes, row)
        if parent.bound is not None and parent.bound[0] == task and parent.checkpoint is not None:
            row = row_id(task, parent.fork, waits_for=parent.bound[1])
            below = waiting_write(None, asker=parent.tasks[task].askers.get(parent.bound[1]))
            if not parent.in_list:
                parent.tasks[task].waiting[parent.bound[1]] = None
            parent.bound = None
            yield from self._write(parent.thread, parent.namespace, parent.checkpoint, below, row)

    def _follow(self, run: Run, tup: CheckpointTuple, loaded: Loaded) -> CheckpointTuple:
        """Makes the run known to its later writes, and hands out what it may see."""
        run.checkpoint = tup.checkpoint["id"]
        follow(run.checkpoint)
        run.tasks = loaded.tasks
        run.finished = loaded.finished
        run.values, run.values_of = tup.checkpoint["channel_values"], run.checkpoint
        if self.config.detect_mutation:
            run.digests = self._digests(run.values)
        if run.answer is not None and not run.answer[0] and loaded.asking is not None:
            task = loaded.tasks[loaded.asking]
            binds = task.binds
            if binds is not None:
                nth, in_list = binds
                run.bound, run.in_list = (loaded.asking, nth), in_list
                # known from now on, before it is stored
                if in_list:
                    task.answers = task.with_answer(nth, run.answer[1])
                else:
                    task.waiting[nth] = task.waits(run.answer[1])
        token = Token(os.urandom(16).hex())
        token.run = run
        shown = CheckpointTuple(
            {**tup.config, "configurable": {**tup.config.get("configurable", {}), TOKEN: token}},
            tup.checkpoint,
            _without_branch(tup.metadata) if BRANCH in tup.metadata else tup.metadata,
            tup.parent_config,
            loaded.writes,
        )
        if run.stands_alone and loaded.open:  # else not kept: it holds the token, which holds the run
            run.loaded = shown
        return shown

    def _is_superseded(self, config: Any, run: Run) -> Steps[CheckpointTuple | None]:
        """A loop's second read, which asks whether the thread has moved past the checkpoint it addressed. On a
        fork's own branch it has not: siblings that had finished are not run again."""
        if run.loaded is not None and run.answer is not None:
            loaded: CheckpointTuple = run.loaded
            return loaded
        return _decoded((yield Ask("get_tuple", (config,))))

    def _judge(self, run: Run, thread: Thread, loaded: Loaded | None, checkpoint: str | None) -> None:
        """Says what is wrong with a resume before anything runs."""
        open = loaded.interrupts if loaded is not None else set()
        named, value = run.answer if run.answer is not None else (False, None)
        names: set[str] = set(value or ()) if named else set()
        run.stray = thread == Thread.FINISHED
        verdict, code = judge(
            thread,
            len(names) if named else None,
            len(names & open),
            loaded.takers if loaded is not None else 0,
            loaded is not None and loaded.hanging > 1,
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
            warnings.warn(error, stacklevel=_callers_level())

    def _no_checkpoint(self, conf: Mapping[str, Any]) -> Exception:
        """The refusal of an input or an edit at a checkpoint that a thread does not have: it would begin anew."""
        where = {"thread": str(conf["thread_id"]), "namespace": conf.get("checkpoint_ns") or ""}
        error = refuse("stray-no-checkpoint", checkpoint=conf["checkpoint_id"], named="none", open="none", **where)
        log.warning("%s", str(error).splitlines()[0], extra={"remit_code": error.code, "remit_thread": where["thread"]})
        return error

    def _warn_of_durability(self, durability: str) -> None:
        """A state is validated when it is stored, and so late another node may have run on it. Said once."""
        self.is_warned = True
        log.warning(
            "with durability %r a node may run on a state that the validator is about to refuse; durability='sync'"
            " validates each state before it",
            durability,
            extra={"remit_code": "late-validation"},
        )

    def _judge_edited(self, run: Run, tup: CheckpointTuple) -> Steps[None]:
        """A bare answer to a thread whose state was edited while it was parked: if the question showed what was edited,
        it would now be another one. (At a static breakpoint there was none.)"""
        at: CheckpointTuple | None = tup
        while at is not None and at.metadata.get("source") == "update" and at.parent_config is not None:
            at = yield Ask("get_tuple", (at.parent_config,))
            if at is None:
                return
            loaded = Rows(at.pending_writes).load(Intent.INSPECT, run.fork)
            if loaded.open:
                shown = " ".join(str(loaded.tasks[id].question) for id in loaded.open)
                gone = _leaves(at.checkpoint["channel_values"]) - _leaves(tup.checkpoint["channel_values"])
                if self.policy != Policy.IGNORE and any(_is_word_of(leaf, shown) for leaf in gone):
                    where = {"thread": run.thread, "namespace": run.namespace, "checkpoint": tup.checkpoint["id"]}
                    raise refuse("answer-outdated", named="none", open="none", **where)
                return

    def _report_withdrawn(self, run: Run, loaded: Loaded, checkpoint: str) -> None:
        """A new input to a parked thread begins anew, and its questions are no longer asked."""
        log.warning(
            "a new input to thread %s withdraws its open questions: %s",
            run.thread,
            ", ".join(sorted(loaded.interrupts)),
            extra={"remit_code": "question-withdrawn", "remit_thread": run.thread, "remit_checkpoint": checkpoint},
        )

    # -- runs ------------------------------------------------------------------------------------------------

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
        if _EXECUTING not in conf:
            return None
        run = self.fresh.get((str(conf["thread_id"]), conf.get("checkpoint_ns") or ""))
        return None if run is None or run.is_ambiguous else run

    def _starter_of(self, conf: Mapping[str, Any]) -> Run | None:
        """One of the runs that began on a new thread together: which of them writes is not known, but their line is."""
        return self.fresh.get((str(conf["thread_id"]), conf.get("checkpoint_ns") or "")) if _EXECUTING in conf else None

    def landed(self, conf: Mapping[str, Any], checkpoint: Mapping[str, Any]) -> bool:
        """A checkpoint is durable. Is it the last thing that its run stores, though its claim does not know?"""
        run = self._run_of(conf)
        if run is not None:
            run.landed = checkpoint["id"]
        self.landings.tell(checkpoint["id"])
        claim = run.claim if run is not None and run.parent is None else None
        if claim is None or claim.is_settled:
            return False
        claim.stand_at(checkpoint)
        return claim.ends_at(checkpoint)

    def conclude(self, conf: Mapping[str, Any]) -> Steps[None]:
        """Settles the claim of a run that stores nothing more."""
        run = self._run_of(conf)
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

    # -- writing ---------------------------------------------------------------------------------------------

    def arrive(self, config: Any, kind: Kind) -> Operation:
        """An operation arrives at its plane; `put` and `put_writes` end it."""
        conf = config["configurable"]
        checkpoint = conf.get("checkpoint_id")
        return self.planes.arrive(str(conf["thread_id"]), conf.get("checkpoint_ns") or "", kind, checkpoint)

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

    def is_plain_put(self, conf: Mapping[str, Any], checkpoint: Mapping[str, Any]) -> bool:
        """May a checkpoint be stored as it is? One that follows in its run's line may, off a branch and without a
        validator, where it changes nothing of its run's claim."""
        if self.validators or self.config.detect_mutation or not _KEYS.isdisjoint(conf):
            return False
        run = self._run_of(conf)
        parent = conf.get("checkpoint_id")
        if run is None or run.thread in self.deleted or (self.looks_in_database and run.line is not None):
            return False
        id: str = checkpoint["id"]
        if parent is not None and (id <= parent or parent == run.parked_at):
            return False
        claim = run.claim
        if claim is not None and not claim.is_settled:
            if not claim.is_consumed or not claim.is_sure or _waits_for_nothing(checkpoint):
                return False
            if run.parent is None and claim.ends_at(checkpoint):
                return False
        line = run.line
        if line is not None and line.head != (parent or ""):
            return False
        if run.lineage is not None:
            return False
        prefix = run.prefix
        if prefix is None:
            prefix = run.prefix = Prefix(run.checkpoint)
        if prefix.commit(id, parent, True) is not None:
            return False
        if line is not None:
            line.head = id
        run.has_acted = True
        return True

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
                if is_lost and (yield Ask("get_tuple", (_head_of(conf),))) is not None:
                    raise self._no_checkpoint(conf)
                line = _branch_of(parent) if parent is not None else None
                if parent is not None and _EXECUTING not in conf:
                    claim = yield from self.gate.edit(conf, parent, Rows(parent.pending_writes).load(Intent.INSPECT))
            if line is not None:
                metadata = {**metadata, BRANCH: line}  # a copy: LangGraph streams its own
            if run is not None:
                run.has_acted = True
                run.values, run.values_of = checkpoint["channel_values"], checkpoint["id"]
            if not operation.is_ready():
                yield Await(operation)
            args = (_without_keys(config), checkpoint, metadata, versions)
            try:
                stored = yield from self._store(run, claim, checkpoint, args)
            except Exception:
                self.not_stored(config, checkpoint["id"])
                raise
            if self.landed(conf, checkpoint):
                yield from self.conclude(conf)
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
            ends = run is None or _waits_for_nothing(checkpoint) or claim.ends_at(checkpoint)
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
            elif run is None and _EXECUTING not in conf and self.gate.is_on(conf):
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
                yield Ask("put_writes", args)
            if claim is not None and done is not None:
                claim.note(target, task_id, done)
                if fate is None and claim.last_word(target, task_id, done) is not None:
                    yield from self.gate.conclude(claim)  # its checkpoint landed meanwhile
            for row, rows in answers:
                # last: a death in between asks again, and does not lose what came with the answer
                yield Ask("put_writes", (config, rows, row))
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

    def _answer_rows(self, run: Run) -> list[tuple[str, list[tuple[str, Any]]]]:
        """The row of a bare answer, once per run."""
        if run.bound is None or not _admits(run, run.bound):
            return []
        id, nth = run.bound
        task = run.tasks[id]
        return [_answer_row(run, id, nth, list(task.answers or ()) if run.in_list else None, task.waiting.get(nth))]

    def _replace(self, run: Run, loaded: Loaded, config: Any) -> Steps[None]:
        """An answer by name takes the place of one that waits, before anything runs: LangGraph stores it only when
        its node is done, and until then the older one would come back."""
        if run.answer is None or not run.answer[0] or config["configurable"].get(_DURABILITY) == "exit":
            return
        for id in loaded.open:
            task = loaded.tasks[id]
            given = [run.answer[1][i] for i in task.interrupts if i in run.answer[1]]
            if given and task.waiting.get(task.recorded) and run.checkpoint is not None:
                row = row_id(id, run.fork, waits_for=task.recorded)
                task.waiting[task.recorded] = task.waits(given[0])
                waits = waiting_write(task.waiting[task.recorded], bound=True)
                yield from self._write(run.thread, run.namespace, run.checkpoint, waits, row)

    def _write(
        self, thread: str, namespace: str, checkpoint: str, writes: list[tuple[str, Any]], row: str
    ) -> Steps[None]:
        where = {"thread_id": thread, "checkpoint_ns": namespace, "checkpoint_id": checkpoint}
        yield Ask("put_writes", ({"configurable": where}, writes, row))

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

    # -- the rest --------------------------------------------------------------------------------------------

    def is_paged(self, config: Any) -> bool:
        """Is a listing taken in pages? One of a thread is, where the saver is known to list newest first."""
        return self.store.is_durable and config is not None and "thread_id" in config.get("configurable", ())

    def pruned(self, thread_ids: Sequence[str], strategy: str) -> Steps[None]:
        """Threads were pruned: what REMIT keeps of what is gone goes too."""
        for thread in thread_ids:
            if strategy == "delete":
                yield from self.store.forget(str(thread))
                yield from self.gate.forget(str(thread))
            else:
                yield from self.store.prune(str(thread))

    def delete_thread(self, thread_id: str) -> Steps[None]:
        """Deletes a thread, and what REMIT keeps of it. Runs that execute on it store nothing more."""
        self.deletions += 1
        self.deleted[str(thread_id)] = self.deletions
        self.deleted.move_to_end(str(thread_id))
        for key in [key for key in self.lines if key[0] == str(thread_id)]:
            self.lines.pop(key, None)
        while len(self.deleted) > _REMEMBERED_DELETIONS:
            self.deleted.popitem(last=False)
        yield Ask("delete_thread", (thread_id,))
        if self.planes.is_busy(str(thread_id)):
            while self.planes.is_busy(str(thread_id)):
                yield Pause(_PAUSE_S)
            yield Ask("delete_thread", (thread_id,))
        yield from self.store.forget(str(thread_id))
        yield from self.gate.forget(str(thread_id))


def _decoded(tup: CheckpointTuple | None) -> CheckpointTuple | None:
    return decoded(tup) if tup is not None else None


def decoded(tup: CheckpointTuple) -> CheckpointTuple:
    """A tuple as LangGraph would have stored it, for whoever looks."""
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


def _branch_of(tup: CheckpointTuple) -> str | None:
    """The branch that a checkpoint is of, if any."""
    metadata: Mapping[str, Any] = tup.metadata
    return metadata.get(BRANCH)


def _fork_wish(conf: Mapping[str, Any], thread: str) -> bool | str | None:
    """What `remit_fork` says; other keys of ours are not known.

    Raises:
        RemitError: a value that names no branch, or an unknown key.
    """
    unknown = [k for k in conf if k.startswith("remit_") and k not in _KEYS]
    if unknown:
        raise refuse("bad-key", given=", ".join(sorted(unknown)), thread=thread)
    wanted = conf.get("remit_fork")
    if wanted is None or isinstance(wanted, bool):
        return wanted
    if isinstance(wanted, str) and wanted and "\0" not in wanted and wanted.isprintable():
        return wanted
    raise refuse("bad-fork", given=repr(wanted)[:80], thread=thread)


def _head_of(conf: Mapping[str, Any]) -> Any:
    """The config of a plane's newest checkpoint."""
    return {"configurable": {"thread_id": conf["thread_id"], "checkpoint_ns": conf.get("checkpoint_ns") or ""}}


def _without_keys(config: Any) -> Any:
    """A config without our keys, which a saver would copy into the checkpoint's metadata."""
    conf = config["configurable"]
    if _KEYS.isdisjoint(conf):
        return config
    return {**config, "configurable": {k: v for k, v in conf.items() if k not in _KEYS}}


@cache
def _interrupt_class() -> Any:
    return import_module("langgraph.types").Interrupt


@cache
def _knows(name: str) -> bool:
    """Is this a LangGraph that keeps finished siblings of an addressed run, and numbers a task's questions
    (`checkpoint_superseded`), or that stores
    a delta channel whole in a run that starts from written-to checkpoints (`delta_channels_with_pending_writes`)?"""
    return hasattr(import_module("langgraph.pregel._checkpoint"), name)


def _is_delta(tup: CheckpointTuple) -> bool:
    return "counters_since_delta_snapshot" in tup.metadata


def _state_of(tup: CheckpointTuple, loaded: Loaded) -> Thread:
    """Whether a thread waits, read from its channels: those that trigger a node are empty in a finished one."""
    if loaded.open:
        return Thread.PARKED
    if "__start__" not in tup.checkpoint["channel_versions"]:
        return Thread.UNKNOWN
    return Thread.FINISHED if _waits_for_nothing(tup.checkpoint) else Thread.UNFINISHED


def _waits_for_nothing(checkpoint: Mapping[str, Any]) -> bool:
    """Does a StateGraph's checkpoint trigger no node? Of other graphs it is not known."""
    values = checkpoint["channel_values"]
    return "__start__" in checkpoint["channel_versions"] and "__start__" not in values and triggers(values) == 0


def _leaves(value: Any) -> set[str]:
    """The texts and numbers in channel values."""
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        return {str(value)}
    if isinstance(value, Mapping):
        return {leaf for inner in value.values() for leaf in _leaves(inner)}
    if isinstance(value, list | tuple | set | frozenset):
        return {leaf for inner in value for leaf in _leaves(inner)}
    content = getattr(value, "content", None) or getattr(value, "__dict__", None)
    return _leaves(content) if isinstance(content, str | list | dict) else set()


def _is_word_of(leaf: str, text: str) -> bool:
    return bool(leaf) and re.search(rf"(?<!\w){re.escape(leaf)}(?!\w)", text) is not None


def _parent_run(call: Call | None, thread: str, namespace: str) -> Run | None:
    """The run of the graph that a subgraph is part of."""
    above = call.parent if call is not None else None
    while above is not None:
        run = above.run
        if run is not None and run.thread == thread and namespace.startswith(run.namespace):
            return run
        above = above.parent
    return None


def _callers_level() -> int:
    """How many frames up the user's own call is: warnings name it, and are shown once for it."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None:
        frame, level = frame.f_back, level + 1
        if frame.f_globals.get("__name__", "").partition(".")[0] not in _NOT_THE_CALLER:
            break
    return level


def _admits(run: Run, bound: tuple[str, int]) -> bool:
    """Is the answer to this question stored for the first time in this run?"""
    if run.admitted is None:
        run.admitted = Ledger()
    return run.admitted.admit(*bound)


def _answer_row(
    run: Run, id: str, nth: int, answers: list[Any] | None, waits: list[Any] | tuple[Any, ...] | None
) -> tuple[str, list[tuple[str, Any]]]:
    """The row of a bare answer: in its task's list, if it takes its place there, else one that waits."""
    if answers is not None:
        return row_id(id, run.fork), [(RESUME, answers)]
    return row_id(id, run.fork, waits_for=nth), waiting_write(waits, bound=True)


def _whole_answer(
    run: Run, call: Call | None, conf: Mapping[str, Any], tup: CheckpointTuple, loaded: Loaded
) -> tuple[Any, ...] | None:
    """How a bare answer that is all its call brings is stored, as LangGraph is about to: the arguments of the inner
    saver's `put_writes`."""
    if run.answer is None or run.answer[0] or loaded.asking is None or conf.get(_DURABILITY) == "exit":
        return None
    if call is None or call.input.update is not None or call.input.goto:
        return None
    id, value = loaded.asking, run.answer[1]
    task = loaded.tasks[id]
    if task.binds is None:
        return None
    nth, in_list = task.binds
    row, writes = _answer_row(run, id, nth, task.with_answer(nth, value) if in_list else None, task.waits(value))
    at = {"thread_id": run.thread, "checkpoint_ns": run.namespace, "checkpoint_id": tup.checkpoint["id"]}
    return {"configurable": at}, writes, row


def _runs_one_task(tup: CheckpointTuple) -> bool:
    """Is one task triggered, and no more? Only a StateGraph's checkpoint tells."""
    return triggers(tup.checkpoint["channel_values"]) == 1


def _own_ids(run: Run | None, task_id: str, path: str, nth: int) -> set[str]:
    """The ids that a node's own n-th question may have: LangGraph makes them from the node's namespace, newer releases
    from the number too. Only the path of a node that an edge triggered tells its name."""
    kind, _, name = path.partition(", ")
    if kind != "~__pregel_pull" or not name or run is None:
        return set()
    interrupt = _interrupt_class()
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
