"""The questions that are open, across threads.

A question is a row that LangGraph's loop stored through the saver, and it is open as long as nothing came after it. So
the saver's own rows are the index: whoever writes them, they cannot be out of date (decision 0009). The store finds where
a question may be open; each place is then read as a run would read it.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from typing import Any

from langgraph.checkpoint.base import CheckpointTuple
from pydantic import BaseModel

from ._core import Intent, branch_ordinal, refuse
from .drivers import Ask, Collect, Steps
from .facts import branch_of, interrupt_class, knows, runs_one_task, without_branch
from .gate import BRANCH, _when, owner_of
from .inspection import names_of, questions_of
from .protocol import Protocol
from .rows import INTERRUPT, Loaded, Rows, Task
from .run import Run

__all__ = ["PendingQuestion", "pending"]

_BATCH = 100
"""How many places are looked up at once, at most."""
_NEAR = 64
"""How many of a thread's newest checkpoints are searched for a graph below that asks."""


class PendingQuestion(BaseModel):
    """A question that is open: a run waits for its answer, and would take one.

    Attributes:
        thread, checkpoint: where it is answered: at this checkpoint of the root graph.
        branch: the branch whose newest checkpoint that is, None for the main line.
        namespace: where it was asked; `""` in the root graph. (In a graph below that keeps no checkpoints: in the graph
            that called it.)
        task, node: who asked, in the root graph. `node` is None where the checkpoint names no nodes (the functional API).
        id, value: the question's id, which an answer names, and what it shows.
        since: when it was asked, or an earlier time: when its checkpoint was made, or the answer to an earlier question
            at the same checkpoint was taken under the gate. Exact for `remit.ask`, to a millisecond with SQLite.
        is_answered: an answer is recorded, and what asked is not done: it runs, failed or was killed. `invoke(None)` goes
            on with that answer; another one takes its place.
        holder, held_since: the process whose run has the thread to itself now, by its claim, and since when.
        metadata: the checkpoint's.
        config: what to call the graph with, to answer it: `invoke(Command(resume={q.id: answer}), q.config)`.
    """

    thread: str
    namespace: str
    checkpoint: str
    branch: str | None
    task: str
    node: str | None
    id: str
    value: Any
    since: datetime
    is_answered: bool
    holder: str | None
    held_since: datetime | None
    metadata: dict[str, Any]
    config: dict[str, Any]

    @property
    def age(self) -> timedelta:
        """How long ago it was asked, by this process's clock."""
        return datetime.now(timezone.utc) - self.since


def pending(
    protocol: Protocol,
    prefix: str,
    metadata: Mapping[str, Any] | None,
    older_than: timedelta | None,
    limit: int | None,
    after: PendingQuestion | None,
) -> Steps[list[PendingQuestion]]:
    """The open questions, in the order of their checkpoints' ids. Reads, and changes nothing.

    Raises:
        RemitError: an argument is wrong.
    """
    _check(prefix, metadata, older_than, limit, after)
    found: list[PendingQuestion] = []
    places = [(after.checkpoint, after.thread)] if after is not None else []
    size = min(limit or _BATCH, _BATCH)
    is_last = False
    while True:
        for checkpoint, thread in places:
            for question in (yield from _at(protocol, thread, checkpoint)):
                if _follows(question, after) and _is_wanted(question, metadata or {}, older_than):
                    found.append(question)
                    if len(found) == limit:
                        return found
        if is_last:
            return found
        start = places[-1] if places else ("", "")
        if protocol.store.select_questions:
            places = yield from protocol.store.questions(start, prefix, size)
            is_last = len(places) < size
        else:
            places, is_last = (yield from _listed(start, prefix)), True


def _check(prefix: Any, metadata: Any, older_than: Any, limit: Any, after: Any) -> None:
    wrong = []
    if not isinstance(prefix, str) or "\0" in prefix:
        wrong.append(f"prefix={prefix!r:.80}")
    if metadata is not None and not isinstance(metadata, Mapping):
        wrong.append(f"metadata={metadata!r:.80}")
    if older_than is not None and not isinstance(older_than, timedelta):
        wrong.append(f"older_than={older_than!r:.80}")
    if limit is not None and (not isinstance(limit, int) or limit < 1):
        wrong.append(f"limit={limit!r:.80}")
    if after is not None and not isinstance(after, PendingQuestion):
        wrong.append(f"after={after!r:.80}")
    if wrong:
        raise refuse("bad-page", detail=", ".join(wrong))


def _follows(question: PendingQuestion, after: PendingQuestion | None) -> bool:
    """Does a question come after the last one of the page before? (Places are in the database's order.)"""
    if after is None or (question.checkpoint, question.thread) != (after.checkpoint, after.thread):
        return True
    return (question.branch or "", question.id) > (after.branch or "", after.id)


def _is_wanted(question: PendingQuestion, metadata: Mapping[str, Any], older_than: timedelta | None) -> bool:
    if older_than is not None and question.age < older_than:
        return False
    absent = object()
    return all(question.metadata.get(name, absent) == value for name, value in metadata.items())


def _listed(start: tuple[str, str], prefix: str) -> Steps[list[tuple[str, str]]]:
    """The places of questions in a saver whose rows are not to be queried: all its checkpoints are looked at."""
    places: set[tuple[str, str]] = set()

    def look(tup: CheckpointTuple) -> bool:
        here: Any = tup.config
        conf = here["configurable"]
        place = (tup.checkpoint["id"], str(conf["thread_id"]))
        if not conf.get("checkpoint_ns") and place > start and place[1].startswith(prefix):
            rows = tup.pending_writes
            if rows is None or any(channel == INTERRUPT or id.endswith("|q") for id, channel, _ in rows):
                places.add(place)
        return False

    yield Collect(None, {}, look)
    return sorted(places)


def _at(protocol: Protocol, thread: str, checkpoint: str) -> Steps[list[PendingQuestion]]:
    """The questions that are open at a checkpoint: on its line, if it is that one's newest, and on the forks that have
    no checkpoint of their own yet. What was open when the checkpoint was read, was: checkpoints are only added."""
    where = {"thread_id": thread, "checkpoint_ns": ""}
    head: CheckpointTuple | None = yield Ask("get_tuple", ({"configurable": where},))
    tup = head
    if head is not None and head.checkpoint["id"] != checkpoint:
        tup = yield Ask("get_tuple", ({"configurable": {**where, "checkpoint_id": checkpoint}},))
    if head is None or tup is None:
        return []
    config: dict[str, Any] = {"thread_id": thread}
    if tup is not head:
        config["checkpoint_id"] = checkpoint
    rows = Rows(tup.pending_writes)
    line = branch_of(tup)
    found: list[PendingQuestion] = []
    if tup is head or (yield from _is_newest(where, line, head, checkpoint)):
        loaded = rows.load(Intent.RETRY, alone=runs_one_task(tup))
        found += yield from _open(protocol, thread, tup, loaded, line, None, config)
    for branch, tasks in rows.branches.items():
        if not any(task.parked for task in tasks.values()):
            continue
        token = yield from _token(protocol, thread, checkpoint, branch, rows)
        if token is None:
            continue  # nobody can name it
        moved = yield Collect({"configurable": where}, {"filter": {BRANCH: branch}, "limit": 1}, lambda _: True)
        if moved is None:
            loaded = rows.load(Intent.FORK, branch, numbered=knows("checkpoint_superseded"), alone=runs_one_task(tup))
            at = {"thread_id": thread, "checkpoint_id": checkpoint, "remit_fork": token}
            found += yield from _open(protocol, thread, tup, loaded, branch, branch, at)
    return sorted(found, key=lambda q: (q.branch or "", q.id))


def _is_newest(where: Any, line: str | None, head: CheckpointTuple, checkpoint: str) -> Steps[bool]:
    if branch_of(head) == line:
        return False
    options = {} if line is None else {"filter": {BRANCH: line}, "limit": 1}
    newest: CheckpointTuple | None = yield Collect({"configurable": where}, options, lambda t: branch_of(t) == line)
    return newest is not None and newest.checkpoint["id"] == checkpoint


def _token(protocol: Protocol, thread: str, checkpoint: str, branch: str, rows: Rows) -> Steps[str | None]:
    """The name by which a fork is found again."""
    ordinal = branch_ordinal(branch, checkpoint)
    tokens = rows.forks(checkpoint)
    if protocol.store.is_durable:
        tokens = yield from protocol.store.forks(thread, "", checkpoint)
    return tokens[ordinal] if ordinal is not None and ordinal < len(tokens) else None


def _open(
    protocol: Protocol,
    thread: str,
    tup: CheckpointTuple,
    loaded: Loaded,
    line: str | None,
    fork: str | None,
    config: dict[str, Any],
) -> Steps[list[PendingQuestion]]:
    """The open questions of what a run would load. `fork`: the branch whose rows they are."""
    if not loaded.open:
        return []
    run = Run(thread, "", Intent.INSPECT, None)
    run.lineage = line
    held = yield from protocol.gate.holder(run, tup, loaded)
    names = names_of(tup, "", loaded)
    found: dict[str, PendingQuestion] = {}
    # a task of the functional API and its caller record the same question
    for id in sorted(loaded.open, key=lambda id: loaded.tasks[id].is_below):
        task = loaded.tasks[id]
        for question in questions_of(task.question):
            if question.id in found or question.id not in task.interrupts:
                continue
            namespace, checkpoint, asker, answered = yield from _asker(
                protocol, thread, tup, id, task, names.get(id), question.id, fork
            )
            found[question.id] = PendingQuestion(
                thread=thread,
                namespace=namespace,
                checkpoint=tup.checkpoint["id"],
                branch=line,
                task=id,
                node=names.get(id),
                id=question.id,
                value=question.value,
                since=(yield from _since(protocol, thread, tup, line, task, asker, checkpoint)),
                is_answered=answered or _is_answered(task),
                holder=str(owner_of(held)) if held is not None else None,
                held_since=_when(held.since) if held is not None else None,
                metadata=dict(without_branch(tup.metadata)),
                config={"configurable": config},
            )
    return list(found.values())


def _is_answered(task: Task) -> bool:
    asked = task.asked
    return bool(task.waiting.get(task.recorded)) or (asked is not None and asked < task.recorded)


def _asker(
    protocol: Protocol,
    thread: str,
    tup: CheckpointTuple,
    id: str,
    task: Task,
    node: str | None,
    question: str,
    fork: str | None,
) -> Steps[tuple[str, str, str, bool]]:
    """Who asked: namespace, checkpoint and task; and whether an answer is recorded there."""
    checkpoint = tup.checkpoint["id"]
    if task.asker is not None:
        namespace, below, asker = task.asker.rsplit(":", 2)
        asker = asker.rpartition(".")[0]
        if not namespace:
            other = Rows(tup.pending_writes).base.get(asker)
            return "", below, asker, other is not None and _is_answered(other)
        where = {"thread_id": thread, "checkpoint_ns": namespace, "checkpoint_id": below}
        parked: CheckpointTuple | None = yield Ask("get_tuple", ({"configurable": where},))
        if parked is None:
            return namespace, below, asker, False
        rows = Rows(parked.pending_writes)
        tasks = rows.base if fork is None else {**rows.base, **rows.branches.get(fork, {})}
        return namespace, below, asker, asker in tasks and _is_answered(tasks[asker])
    if task.is_elsewhere or (node is not None and question in _ids_of(node, id)):
        return "", checkpoint, id, False
    # a stock saver's rows do not tell: one of the thread's newest checkpoints does, if it is in a graph below
    found: list[str] = []

    def look(t: CheckpointTuple) -> bool:
        here: Any = t.config
        conf = here["configurable"]
        if (
            conf.get("checkpoint_ns")
            and t.checkpoint["id"] > checkpoint
            and Rows(t.pending_writes).asks({question}, fork)
        ):
            found.append(conf["checkpoint_ns"])
        return False

    yield Collect({"configurable": {"thread_id": thread}}, {"limit": _NEAR}, look)
    return max(found, key=len, default=""), checkpoint, id, False


def _ids_of(node: str, task: str) -> set[str]:
    """The ids that a node's first question may have."""
    namespace = f"{node}:{task}"
    return {interrupt_class().from_ns(value=None, ns=ns).id for ns in (namespace, f"{namespace}|0")}


def _since(
    protocol: Protocol,
    thread: str,
    tup: CheckpointTuple,
    line: str | None,
    task: Task,
    asker: str,
    checkpoint: str,
) -> Steps[datetime]:
    """The latest time that is known to be no later than the question."""
    times = [datetime.fromisoformat(tup.checkpoint["ts"])]
    asked = yield from protocol.store.asked(thread, asker, checkpoint)
    if asked is not None:
        times.append(_when(asked))
    elif task.recorded:  # another question came before it, here
        for grant in (yield from protocol.gate.trail(thread)):
            key = (grant.key.namespace, grant.key.line, grant.key.checkpoint)
            if (
                key == ("", line or "", tup.checkpoint["id"])
                and grant.state == "consumed"
                and grant.settled is not None
            ):
                times.append(_when(grant.settled))
    return max(times)
