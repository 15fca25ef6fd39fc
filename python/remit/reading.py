"""What a load shows, and what is said or refused before anything runs."""

from __future__ import annotations

import logging
import re
import sys
import warnings
from collections.abc import Mapping
from itertools import count
from typing import Any

from langgraph.checkpoint.base import CheckpointTuple

from ._core import Intent, Policy, RemitStrayResume, Thread, Verdict, branch_name, judge, refuse, row_id
from .drivers import Ask, Collect, Steps
from .facts import (
    DURABILITY,
    EXECUTING,
    TOKEN,
    branch_of,
    decoded_if,
    fork_wish,
    head_of,
    is_delta,
    knows,
    runs_one_task,
    state_of,
    without_branch,
)
from .gate import BRANCH
from .ids import follow
from .intent import Call, Wish, current_call, wish_of_child, wish_of_input
from .rows import NULL_TASK, RESUME, Loaded, Rows, Task, interrupt_ids, waiting_write
from .run import Run, Token
from .runs import Runs, admits, answer_row
from .selfcheck import check

log = logging.getLogger("remit")

_numbers = count(1)
_NOT_THE_CALLER = frozenset(("remit", "langgraph", "langchain_core", "langchain", "asyncio", "contextlib", "threading"))


class Reading(Runs):
    """The protocols of loads."""

    def get_tuple(self, config: Any) -> Steps[CheckpointTuple | None]:
        """A load. An executing loop's is answered by what its call wants; anybody else's changes nothing."""
        conf = config["configurable"]
        if not self.is_checked:
            yield from check(self.saver)
            self.is_checked = True
        if EXECUTING not in conf or conf.get("remit_inspect"):
            return decoded_if((yield Ask("get_tuple", (config,))))
        if self.validators and not self.is_warned and conf.get(DURABILITY, "sync") != "sync":
            self._warn_of_durability(conf[DURABILITY])
        call = current_call()
        thread, namespace = str(conf["thread_id"]), conf.get("checkpoint_ns") or ""
        if call is not None and call.run is not None and (call.run.thread, call.run.namespace) == (thread, namespace):
            return (yield from self._is_superseded(config, call.run))
        if namespace:
            return (yield from self._read_child(config, call, thread, namespace))
        return (yield from self._read_root(config, call, thread))

    def _read_root(self, config: Any, call: Call | None, thread: str) -> Steps[CheckpointTuple | None]:
        conf = config["configurable"]
        wanted = fork_wish(conf, thread)
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
                elif addressed and (yield Ask("get_tuple", (head_of(conf),))) is not None:
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
            run.lineage = branch_of(tup)
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
            newer = knows("checkpoint_superseded")
            loaded = Rows(tup.pending_writes).load(
                intent, run.fork, run.answer, keeps=newer or not addressed, numbered=newer, alone=runs_one_task(tup)
            )
            if intent != run.intent:  # a fork of a thread with DeltaChannels, see `_fork`
                loaded.writes = [w for w in loaded.writes if w[1] != RESUME]
            if run.answer is not None:
                state = state_of(tup, loaded)
                self._judge(run, state, loaded, tup.checkpoint["id"])
                if state == Thread.UNFINISHED and not run.answer[0] and not addressed and not wanted:
                    yield from self._judge_edited(run, tup)
            elif run.intent == Intent.NEW_INPUT and loaded.open:
                self._report_withdrawn(run, loaded, tup.checkpoint["id"])
            if not gated or not (forks or is_head) or run.intent == Intent.INSPECT:
                break
            if run.intent != Intent.NEW_INPUT and state_of(tup, loaded) == Thread.FINISHED:
                break  # nothing will run
            if (yield from self.gate.enter(run, conf, tup, loaded, _whole_answer(run, call, conf, tup, loaded))):
                break
            tup = yield Ask("get_tuple", (config,))
        if forks or not addressed:
            self._join_line(run, tup.checkpoint["id"])
        shown = self._follow(run, tup, loaded)
        if run.claim is not None and run.claim.has_answer and run.bound is not None:
            admits(run, run.bound)
        yield from self._replace(run, loaded, config)
        return shown

    def _has_moved_past(self, config: Any, tup: CheckpointTuple) -> Steps[bool]:
        """Has the line of a checkpoint moved past it? A branch that forked from it is another line."""
        conf = config["configurable"]
        where = head_of(conf)
        head: CheckpointTuple | None = yield Ask("get_tuple", (where,))
        line = branch_of(tup)
        if head is not None and branch_of(head) != line:
            head = yield Collect(where, {}, lambda t: branch_of(t) == line)
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
                {"configurable": where}, lineage, lambda t: branch_of(t) == branch
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
        if is_delta(tup):
            # its channels are rebuilt from rows by channel, so the branch's must be where LangGraph's are: it keeps
            # them apart itself, if it sees the main line's writes and stores such a channel whole, and if the main
            # line needs its own rows no more
            whole = knows("delta_channels_with_pending_writes")
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
        run.has_acted = conf.get(DURABILITY) == "exit"  # a subgraph that ends well then stores nothing
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
        loaded = Rows(tup.pending_writes).load(run.intent, run.fork, run.answer, alone=runs_one_task(tup))
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
        if branch_of(head) == parent.lineage:
            return head
        line = parent.lineage
        own: CheckpointTuple | None = yield Collect(where, {}, lambda t: branch_of(t) == line)
        if own is None and parent.fork is not None:  # not run on the branch yet: as it was at the fork
            before = {"before": {"configurable": {"checkpoint_id": parent.checkpoint}}}
            own = yield Collect(where, before, lambda _: True)
        return own

    def _bring_down(self, config: Any, run: Run, parent: Run, task: str, checkpoint: str) -> Steps[None]:
        """A bare answer to a subgraph's question is stored where the question is, before anything runs."""
        if run.bound is None or run.answer is None or config["configurable"].get(DURABILITY) == "exit":
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

    def _replace(self, run: Run, loaded: Loaded, config: Any) -> Steps[None]:
        """An answer by name takes the place of one that waits, before anything runs: LangGraph stores it only when
        its node is done, and until then the older one would come back."""
        if run.answer is None or not run.answer[0] or config["configurable"].get(DURABILITY) == "exit":
            return
        for id in loaded.open:
            task = loaded.tasks[id]
            given = [run.answer[1][i] for i in task.interrupts if i in run.answer[1]]
            if given and task.waiting.get(task.recorded) and run.checkpoint is not None:
                row = row_id(id, run.fork, waits_for=task.recorded)
                task.waiting[task.recorded] = task.waits(given[0])
                waits = waiting_write(task.waiting[task.recorded], bound=True)
                yield from self._write(run.thread, run.namespace, run.checkpoint, waits, row)

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
        token = Token(f"{next(_numbers):x}")
        token.run = run
        shown = CheckpointTuple(
            {**tup.config, "configurable": {**tup.config.get("configurable", {}), TOKEN: token}},
            tup.checkpoint,
            without_branch(tup.metadata) if BRANCH in tup.metadata else tup.metadata,
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
        return decoded_if((yield Ask("get_tuple", (config,))))

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


def _whole_answer(
    run: Run, call: Call | None, conf: Mapping[str, Any], tup: CheckpointTuple, loaded: Loaded
) -> tuple[Any, ...] | None:
    """How a bare answer that is all its call brings is stored, as LangGraph is about to: the arguments of the inner
    saver's `put_writes`."""
    if run.answer is None or run.answer[0] or loaded.asking is None or conf.get(DURABILITY) == "exit":
        return None
    if call is None or call.input.update is not None or call.input.goto:
        return None
    id, value = loaded.asking, run.answer[1]
    task = loaded.tasks[id]
    if task.binds is None:
        return None
    nth, in_list = task.binds
    row, writes = answer_row(run, id, nth, task.with_answer(nth, value) if in_list else None, task.waits(value))
    at = {"thread_id": run.thread, "checkpoint_ns": run.namespace, "checkpoint_id": tup.checkpoint["id"]}
    return {"configurable": at}, writes, row
