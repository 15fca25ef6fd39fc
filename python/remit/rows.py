"""The pending writes of one checkpoint: how REMIT stores them, and how a load reads them back.

The grammar of the row ids is the core's (`ids`), the form in which answers are stored (`answers`), what is shown
(`view`, `outputs`) and what runs again (`recovery`) too. Here facts are gathered and verdicts carried out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ._core import (
    Batch,
    Class,
    Intent,
    Show,
    binds_to,
    branch_ordinal,
    open_question,
    parse_row,
    row_id,
    shows_output,
    store,
    unfinished,
    view,
)

NULL_TASK = "00000000-0000-0000-0000-000000000000"
RESUME = "__resume__"
INTERRUPT = "__interrupt__"
ERROR = "__error__"
HANDLED = "__error_source_node__"

_ELSEWHERE = "elsewhere"
_BOUND = "bound"
_BELOW = "below"
_CONTROL = frozenset((RESUME, INTERRUPT, ERROR, HANDLED))

Write = tuple[str, Any]
PendingWrite = tuple[str, str, Any]


def waiting_write(
    waits: list[Any] | tuple[Any, ...] | None, bound: bool = False, asker: str | None = None
) -> list[Write]:
    """The write of a waiting row. `bound`: the answer was given, and its task has not recorded it yet; `asker`: who
    asked, of a question from below. (A serializer need not tell tuples from lists, so what is not a plain list is
    named.)"""
    if waits is None and asker is not None:
        return [(RESUME, {_BELOW: asker})]
    if isinstance(waits, tuple):
        return [(RESUME, {_ELSEWHERE: list(waits)})]
    return [(RESUME, {_BOUND: waits} if bound else waits)]


def _waiting_of(value: Any) -> list[Any] | tuple[Any, ...] | None:
    if not isinstance(value, dict):
        waits: list[Any] | None = value
        return waits
    if _BELOW in value:
        return None
    return tuple(value[_ELSEWHERE]) if _ELSEWHERE in value else list(value[_BOUND])


class Task:
    """The rows of one task at one checkpoint, on one branch or on none.

    Attributes:
        answers: the recorded list, None if there is no row.
        waiting: what waits, by question: `[value]`, `[]` (nothing, and this is known), None (it was asked by a
            subgraph or by another task, which keeps the answer), `(value,)` and `()` (it was asked by something that
            keeps no rows, a subgraph without a checkpointer).
        askers: who asked, by question, of those from below.
        unrecorded: the questions whose waiting answer was given and not recorded by the task.
        interrupts: the ids of the questions that are open.
        attempts: what was put out in place of refused outputs, by attempt.
    """

    __slots__ = (
        "answers",
        "asked_elsewhere",
        "askers",
        "attempts",
        "failed",
        "handled",
        "interrupts",
        "other",
        "parked",
        "question",
        "unrecorded",
        "waiting",
    )

    def __init__(self) -> None:
        self.answers: list[Any] | None = None
        self.waiting: dict[int, list[Any] | tuple[Any, ...] | None] = {}
        self.parked = False
        self.asked_elsewhere = False
        self.question: Any = None
        self.interrupts: list[str] = []
        self.failed = False
        self.handled = False
        self.other: list[Write] = []
        self.attempts: dict[int, list[Write]] = {}
        self.unrecorded: set[int] = set()
        self.askers: dict[int, str] = {}

    def take(self, channel: str, value: Any, waits_for: int | None, attempt: int | None) -> None:
        if attempt is not None:
            outputs = self.attempts.setdefault(attempt, [])
            if channel not in _CONTROL:
                outputs.append((channel, value))
        elif waits_for is not None:
            self.unrecorded.discard(waits_for)
            if isinstance(value, dict) and _BOUND in value:
                self.unrecorded.add(waits_for)
            if isinstance(value, dict) and _BELOW in value:
                self.askers[waits_for] = value[_BELOW]
            self.waiting[waits_for] = _waiting_of(value)
        elif channel == RESUME:
            self.answers = list(value) if isinstance(value, list) else [value]
        elif channel == INTERRUPT:
            self.parked = True
            self.question = value
            self.interrupts = interrupt_ids(value)
        else:
            self.failed = self.failed or channel == ERROR
            self.handled = self.handled or channel == HANDLED
            self.other.append((channel, value))

    def ask(self, other: Task, numbered: bool) -> None:
        """Takes the question over from the same task's rows outside the branch. The branch begins the task's questions
        anew, and where they are named by their number, a later one's name is not the first one's."""
        self.parked, self.question = True, other.question
        self.interrupts = [] if numbered and max(other.waiting, default=0) else other.interrupts

    def without_question(self) -> Task:
        """The same rows, but for the question, which the branch's rows of this task show."""
        task = Task()
        task.answers, task.waiting, task.other = self.answers, self.waiting, self.other
        task.failed, task.handled, task.asked_elsewhere = self.failed, self.handled, self.parked
        task.attempts, task.askers = self.attempts, self.askers
        return task

    @property
    def attempt(self) -> int:
        """How many times the task's outputs were refused."""
        return max(self.attempts, default=0)

    @property
    def writes(self) -> list[Write]:
        """What the task wrote, but for answers and questions: of its outputs those of the last attempt."""
        if not self.attempts:
            return self.other
        return [w for w in self.other if w[0] in _CONTROL] + self.attempts[self.attempt]

    @property
    def recorded(self) -> int:
        """How many answers the task's own row holds."""
        return len(self.answers) if self.answers is not None else 0

    @property
    def asked(self) -> int | None:
        """The question that is open, if it is known."""
        return open_question(self.parked, self.failed, self.recorded in self.waiting, self.recorded)

    @property
    def binds(self) -> tuple[int, bool] | None:
        """The question that a bare answer is bound to, and whether it takes its place in the list."""
        return binds_to(self.parked, self.failed, self.recorded in self.waiting, self.recorded)

    def with_answer(self, nth: int, value: Any) -> list[Any]:
        """The recorded answers, with one for the n-th question."""
        return [*(self.answers or ())[:nth], value]

    def waits(self, value: Any) -> list[Any] | tuple[Any, ...]:
        """An answer to the open question that waits."""
        return (value,) if self.is_elsewhere else [value]

    @property
    def number(self) -> int:
        """The open question's number: how many answers the task had when it asked."""
        asked = self.asked
        return self.recorded if asked is None else asked

    @property
    def asker(self) -> str | None:
        """Who asked the open question, if it is from below."""
        return self.askers.get(self.recorded) if self.is_below else None

    @property
    def is_below(self) -> bool:
        """Was the open question asked by a subgraph or another task, which keeps the answer?"""
        return self.waiting.get(self.recorded, ()) is None

    @property
    def is_elsewhere(self) -> bool:
        """Was the open question asked by something that keeps no rows?"""
        return isinstance(self.waiting.get(self.recorded), tuple)

    def served(self) -> list[Any]:
        """All answers, as LangGraph would have recorded them: a copy, since it appends in place."""
        waits = self.waiting.get(self.recorded)
        return [*(self.answers or ()), *(waits if isinstance(waits, list) else ())]


def interrupt_ids(value: Any) -> list[str]:
    """The ids of the questions in an interrupt write."""
    questions: Sequence[Any] = value if isinstance(value, Sequence) else [value]
    return [q.id for q in questions if isinstance(getattr(q, "id", None), str)]


class Rows:
    """The pending writes of a checkpoint, sorted by branch and task."""

    __slots__ = ("base", "branches")

    def __init__(self, writes: Iterable[PendingWrite] | None) -> None:
        self.base: dict[str, Task] = {}
        self.branches: dict[str, dict[str, Task]] = {}
        for id, channel, value in writes or ():
            id, branch, waits_for, asks, attempt = parse_row(id) if "|" in id else (id, None, None, False, None)
            tasks = self.base if branch is None else self.branches.setdefault(branch, {})
            task = tasks.get(id)
            if task is None:
                task = tasks[id] = Task()
            task.take(INTERRUPT if asks else channel, value, waits_for, attempt)

    def load(
        self,
        intent: Intent,
        branch: str | None = None,
        answer: tuple[bool, Any] | None = None,
        *,
        keeps: bool = True,
        numbered: bool = True,
        alone: bool = False,
    ) -> Loaded:
        """What a load shows, and what is open. A branch begins with the rows that belong to no branch, under the
        fork's rule; its own rows come before them. `keeps`: the loop does not run finished tasks of a fork again;
        `numbered`: a task's questions are named by their number; `alone`: the loop runs one task only."""
        if branch is None:
            return Loaded([(self.base, intent, False)], answer, alone)
        own = dict(self.branches.get(branch, {}))
        passed = self._passed(answer) if intent == Intent.FORK and keeps else set()
        for id, task in self.base.items():
            if task.parked and id not in passed and not (id in own and own[id].parked):
                own.setdefault(id, Task()).ask(task, numbered)
        base = {id: task.without_question() if id in own or id in passed else task for id, task in self.base.items()}
        return Loaded(
            [(base, Intent.FORK, False), (own, Intent.ANSWER if intent == Intent.FORK else intent, True)],
            answer,
            alone,
        )

    def forks(self, checkpoint: str) -> list[str | None]:
        """The forks that left rows here, by ordinal: their tokens, where those were stored."""
        tokens: dict[int, str | None] = {}
        for branch, tasks in self.branches.items():
            ordinal = branch_ordinal(branch, checkpoint)
            if ordinal is not None:
                token = tasks[NULL_TASK].waiting.get(0) if NULL_TASK in tasks else None
                tokens[ordinal] = token[0] if token else None
        return [tokens.get(n) for n in range(max(tokens, default=-1) + 1)]

    def _passed(self, answer: tuple[bool, Any] | None) -> set[str]:
        """In the functional API a task that asks and its caller record the same question. One of them comes after
        the other, so a fork's bare answer is for the first that asks again, and the questions that had their answer
        are not open beside the last one."""
        if answer is None or answer[0]:
            return set()
        parked = {id: task for id, task in self.base.items() if task.parked}
        shared = [i for task in parked.values() for i in task.interrupts]
        if len(shared) == len(set(shared)):
            return set()
        return {id for id, task in parked.items() if task.served()}

    def asks(self, interrupts: set[str], branch: str | None) -> bool:
        """Does a task ask one of these questions here?"""
        tasks = [*self.base.values(), *(self.branches.get(branch, {}).values() if branch is not None else ())]
        return any(not interrupts.isdisjoint(task.interrupts) for task in tasks)


class Loaded:
    """The outcome of a load.

    Attributes:
        writes: the pending writes as LangGraph shall see them.
        tasks: the tasks' rows, by id.
        open: the ids of the tasks that have a question open.
        interrupts: the open questions' ids.
        asking: the task that asks the question which a bare answer is for, if that is known.
        finished: the ids of the tasks whose outputs are shown.
        takers: how many questions are open, so may take a bare answer.
        hanging: how many questions have no answer beside them, as LangGraph counts.
    """

    __slots__ = ("asking", "finished", "hanging", "interrupts", "open", "takers", "tasks", "writes")

    def __init__(
        self, groups: Sequence[tuple[dict[str, Task], Intent, bool]], answer: tuple[bool, Any] | None, alone: bool
    ) -> None:
        self.writes: list[PendingWrite] = []
        self.tasks: dict[str, Task] = {}
        outputs: set[str] = set()
        for tasks, intent, own in groups:
            self.tasks.update(tasks)
            for id, task in tasks.items():
                outputs.update(self._show_output(id, task, intent, own))
        ids = [id for id in self.tasks if id != NULL_TASK]
        number = {id: n for n, id in enumerate(ids)}
        runs = {ids[n] for n in unfinished([number[i] for i in outputs if i in number], list(number.values()))}
        self.finished = outputs - {NULL_TASK}
        self.open = [id for id in ids if id in runs and self.tasks[id].parked and not self.tasks[id].handled]
        self.interrupts = {i for id in self.open for i in self.tasks[id].interrupts}
        reached = self._answered(answer, runs)
        askers = [id for id in reached if self.tasks[id].parked and not self.tasks[id].is_below]
        self.asking = askers[0] if len(askers) == 1 else None
        answered = [number[id] for id in reached]
        for tasks, intent, _ in groups:
            self._show_answers(tasks, intent, number, answered, alone)
        answered_ids = {id for id, channel, _ in self.writes if channel == RESUME}
        self.takers = len({tuple(self.tasks[id].interrupts) for id in self.open})
        self.hanging = len({tuple(self.tasks[id].interrupts) for id in self.open if id not in answered_ids})

    def _show_output(self, id: str, task: Task, intent: Intent, own: bool) -> list[str]:
        shows = shows_output(
            intent,
            id == NULL_TASK,
            own,
            task.parked or task.asked_elsewhere,
            task.answers is not None,
            task.failed,
            task.handled,
            bool(task.waiting),
        )
        self.writes += [(id, channel, value) for channel, value in task.writes if shows or channel in _CONTROL]
        return [id] if shows and any(channel not in _CONTROL for channel, _ in task.writes) else []

    def _answered(self, answer: tuple[bool, Any] | None, runs: set[str]) -> list[str]:
        """The tasks whose open question the call answers."""
        if answer is None:
            return []
        named, value = answer
        if named:
            return [id for id in self.open if not value.keys().isdisjoint(self.tasks[id].interrupts)]
        if self.open:
            return self.open if len({tuple(self.tasks[id].interrupts) for id in self.open}) == 1 else []
        # a node that was answered at a static breakpoint, and failed
        return [id for id in runs if self.tasks[id].failed and self.tasks[id].served()]

    def _show_answers(
        self, tasks: dict[str, Task], intent: Intent, number: dict[str, int], answered: list[int], alone: bool
    ) -> None:
        facts: list[tuple[int | None, Class, int, tuple[int, int] | None]] = []
        rows: list[tuple[str, str, Any]] = []
        for id, task in tasks.items():
            slot = number.get(id)
            if task.parked:
                asked = task.asked
                facts.append((slot, Class.INTERRUPT, 0, None if slot is None or asked is None else (slot, asked)))
                rows.append((id, INTERRUPT, task.question))
            if task.failed:
                facts.append((slot, Class.ERROR, 0, None))
                rows.append((id, ERROR, None))
            served = task.served()
            if intent == Intent.INSPECT and task.recorded in task.unrecorded:
                # as LangGraph stores it: given, and recorded by nobody
                self.writes.append((NULL_TASK, RESUME, served.pop()))
            if served:
                facts.append((slot, Class.RESUME, len(served), None))
                rows.append((id, RESUME, served))
            if task.is_elsewhere and (waits := task.waiting[task.recorded]):
                # whoever asked takes it as LangGraph gave it: from the null task
                facts.append((None, Class.RESUME, 1, None if slot is None else (slot, task.recorded)))
                rows.append((NULL_TASK, RESUME, list(waits)))
        for (id, channel, value), show in zip(rows, view(facts, intent, answered, alone), strict=True):
            if channel == INTERRUPT:
                self.writes.append((id, INTERRUPT, value))
            elif channel == RESUME and show != Show.HIDE:
                value = value if show == Show.KEEP else value[:-1]
                self.writes.append((id, RESUME, value[-1] if id == NULL_TASK else value))


class Stored(NamedTuple):
    """What a batch of writes becomes: rows of their own that are stored before it, the batch, and its row; what it
    says of its task, and the number and the asker of the question that it asks."""

    before: list[tuple[str, list[Write]]]
    writes: Sequence[Write]
    row: str
    batch: Batch
    number: int = 0
    asker: str | None = None


def store_batch(
    task_id: str,
    writes: Sequence[Write],
    branch: str | None,
    known: Task | None,
    below: Mapping[str, str],
    own_ids: Callable[[int], set[str]],
) -> Stored:
    """How a batch of a task's writes is stored, beside what is `known` of the task at this checkpoint. `below`: who
    asked the questions of subgraphs and other tasks, by id; `own_ids`: the ids that the task's own n-th question
    may have, none if they are not known."""
    channels = {w[0] for w in writes}
    answers = next((w[1] for w in writes if w[0] == RESUME), None)
    if INTERRUPT in channels:
        batch = Batch.PARKED
    elif ERROR in channels and HANDLED not in channels:
        batch = Batch.FAILED
    else:
        attempt = known.attempt if known is not None else 0
        before: list[tuple[str, list[Write]]] = []
        if answers is not None and known is not None and known.answers is not None:
            # beside outputs a saver keeps the older list, and the task may run again (LangGraph 1.2.9, addressed)
            before.append((row_id(task_id, branch), [(RESUME, answers)]))
        return Stored(before, writes, row_id(task_id, branch, attempt=attempt or None), Batch.OTHER)
    known = known or Task()
    given = None if answers is None else answers if isinstance(answers, list) else [answers]
    keep, restore, waits_for, marks, drops_output = store(
        batch, None if given is None else len(given), known.recorded, known.recorded in known.waiting, known.failed
    )
    source: list[Any] = list((known.answers if restore else given) or ())
    stored = [w for w in writes if w[0] != RESUME and (not drops_output or w[0] in _CONTROL)]
    if keep is not None:
        stored.append((RESUME, source[:keep]))
    rows: dict[int, list[Any] | tuple[Any, ...] | None] = {}
    if marks is not None and marks not in known.waiting:
        rows[marks] = []
    if waits_for is not None:
        rows[waits_for] = [source[waits_for]]
    question = next((w[1] for w in writes if w[0] == INTERRUPT), None)
    nth, asker = keep or 0, None
    if batch == Batch.PARKED:
        asked, own = interrupt_ids(question), own_ids(nth)
        asker = next((below[i] for i in asked if i in below), None)
        if asker is not None:
            rows[nth] = None
        elif own and own.isdisjoint(asked):
            rows[nth] = ()
        elif not isinstance(known.waiting.get(nth, []), list):
            rows[nth] = []  # the task's own question, where another's was before
        if branch is not None:
            stored = [w for w in stored if w[0] != INTERRUPT]
    before = [(row_id(task_id, branch, waits_for=n), waiting_write(waits, asker=asker)) for n, waits in rows.items()]
    if batch == Batch.PARKED and branch is not None:
        before.append((row_id(task_id, branch, asks=True), [(RESUME, question)]))
    return Stored(before, stored, row_id(task_id, branch), batch, nth, asker)


def triggered(values: Mapping[str, Any]) -> tuple[dict[str, list[str]], list[str]]:
    """The tasks that the channels of a StateGraph trigger: those that edges lead to, with their channels, and those that
    are sent for, in order."""
    edges: dict[str, list[str]] = {}
    for channel, value in values.items():
        if channel.startswith("branch:to:"):
            edges.setdefault(channel.removeprefix("branch:to:"), []).append(channel)
        elif channel.startswith("join:") and _is_joined(channel, value):
            edges.setdefault(channel.rpartition(":")[2], []).append(channel)
    return edges, [send.node for send in values.get("__pregel_tasks") or () if hasattr(send, "node")]


def triggers(values: Mapping[str, Any]) -> int:
    """How many tasks the channels of a StateGraph trigger; 0 for other graphs."""
    count = len(values.get("__pregel_tasks") or ())
    for channel, value in values.items():
        if channel.startswith("branch:to:") or (channel.startswith("join:") and _is_joined(channel, value)):
            count += 1
    return count


def _is_joined(channel: str, value: Any) -> bool:
    """Has everybody arrived whom a join waits for? Its channel is named after them, `join:a+b:c`, in any order; a
    deferred one's value is a pair."""
    names = value[0] if isinstance(value, tuple | list) and len(value) == 2 and isinstance(value[1], bool) else value
    waited_for = channel.removeprefix("join:").rpartition(":")[0]
    return bool(names) and len("+".join(names)) == len(waited_for)
