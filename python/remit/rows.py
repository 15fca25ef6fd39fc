"""The pending writes of one checkpoint: how REMIT stores them, and how a load reads them back.

The grammar of the row ids is the core's (`ids`), the form in which answers are stored (`answers`), what is shown
(`view`, `outputs`) and what runs again (`recovery`) too. Here facts are gathered and verdicts carried out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ._core import (
    Batch,
    Class,
    Intent,
    Show,
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

_CONTROL = frozenset((RESUME, INTERRUPT, ERROR, HANDLED))

Write = tuple[str, Any]
PendingWrite = tuple[str, str, Any]


class Task:
    """The rows of one task at one checkpoint, on one branch or on none.

    Attributes:
        answers: the recorded list, None if there is no row.
        waiting: what waits, by question: `[value]`, `[]` (nothing, and this is known), None (it was asked by a
            subgraph, which keeps the answer).
        interrupts: the ids of the questions that are open.
    """

    __slots__ = (
        "answers",
        "asked_elsewhere",
        "failed",
        "handled",
        "interrupts",
        "other",
        "parked",
        "question",
        "waiting",
    )

    def __init__(self) -> None:
        self.answers: list[Any] | None = None
        self.waiting: dict[int, list[Any] | None] = {}
        self.parked = False
        self.asked_elsewhere = False
        self.question: Any = None
        self.interrupts: list[str] = []
        self.failed = False
        self.handled = False
        self.other: list[Write] = []

    def take(self, channel: str, value: Any, waits_for: int | None) -> None:
        if waits_for is not None:
            self.waiting[waits_for] = value
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

    def ask(self, other: Task) -> None:
        """Takes the question over from the same task's rows outside the branch."""
        self.parked, self.question, self.interrupts = True, other.question, other.interrupts

    def without_question(self) -> Task:
        """The same rows, but for the question, which the branch's rows of this task show."""
        task = Task()
        task.answers, task.waiting, task.other = self.answers, self.waiting, self.other
        task.failed, task.handled, task.asked_elsewhere = self.failed, self.handled, self.parked
        return task

    @property
    def recorded(self) -> int:
        """How many answers the task's own row holds."""
        return len(self.answers) if self.answers is not None else 0

    @property
    def asked(self) -> int | None:
        """The question that is open, if it is known."""
        return open_question(self.parked, self.failed, bool(self.waiting), self.recorded)

    @property
    def is_below(self) -> bool:
        """Was the open question asked by a subgraph?"""
        return self.waiting.get(self.recorded, ()) is None

    def served(self) -> list[Any]:
        """All answers, as LangGraph would have recorded them: a copy, since it appends in place."""
        return [*(self.answers or ()), *(self.waiting.get(self.recorded) or ())]


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
            id, branch, waits_for = parse_row(id) if "|" in id else (id, None, None)
            tasks = self.base if branch is None else self.branches.setdefault(branch, {})
            task = tasks.get(id)
            if task is None:
                task = tasks[id] = Task()
            task.take(channel, value, waits_for)

    def load(self, intent: Intent, branch: str | None = None, answer: tuple[bool, Any] | None = None) -> Loaded:
        """What a load shows, and what is open. A branch begins with the rows that belong to no branch, under the
        fork's rule; its own rows come before them."""
        if branch is None:
            return Loaded([(self.base, intent, False)], answer)
        own = dict(self.branches.get(branch, {}))
        for id, task in self.base.items():
            if task.parked and not (id in own and own[id].parked):
                own.setdefault(id, Task()).ask(task)
        base = {id: task.without_question() if id in own else task for id, task in self.base.items()}
        return Loaded(
            [(base, Intent.FORK, False), (own, Intent.ANSWER if intent == Intent.FORK else intent, True)], answer
        )

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
    """

    __slots__ = ("interrupts", "open", "tasks", "writes")

    def __init__(self, groups: Sequence[tuple[dict[str, Task], Intent, bool]], answer: tuple[bool, Any] | None) -> None:
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
        self.open = [id for id in ids if id in runs and self.tasks[id].parked]
        self.interrupts = {i for id in self.open for i in self.tasks[id].interrupts}
        answered = [number[id] for id in self._answered(answer, runs)]
        for tasks, intent, _ in groups:
            self._show_answers(tasks, intent, number, answered)

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
        self.writes += [(id, channel, value) for channel, value in task.other if shows or channel in _CONTROL]
        return [id] if shows and any(channel not in _CONTROL for channel, _ in task.other) else []

    def _answered(self, answer: tuple[bool, Any] | None, runs: set[str]) -> list[str]:
        """The tasks whose open question the call answers."""
        if answer is None:
            return []
        named, value = answer
        if named:
            return [id for id in self.open if not value.keys().isdisjoint(self.tasks[id].interrupts)]
        if self.open:
            return self.open if len(self.open) == 1 else []
        # a node that was answered at a static breakpoint, and failed
        return [id for id in runs if self.tasks[id].failed and self.tasks[id].served()]

    def _show_answers(
        self, tasks: dict[str, Task], intent: Intent, number: dict[str, int], answered: list[int]
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
            if served := task.served():
                facts.append((slot, Class.RESUME, len(served), None))
                rows.append((id, RESUME, served))
        for (id, channel, value), show in zip(rows, view(facts, intent, answered, False), strict=True):
            if channel == INTERRUPT:
                self.writes.append((id, INTERRUPT, value))
            elif channel == RESUME and show != Show.HIDE:
                value = value if show == Show.KEEP else value[:-1]
                self.writes.append((id, RESUME, value[-1] if id == NULL_TASK else value))


class Stored:
    """What a batch of writes becomes: the batch itself, and rows of their own that are stored before it."""

    __slots__ = ("before", "writes")

    def __init__(self, writes: Sequence[Write], before: list[tuple[str, list[Write]]]) -> None:
        self.writes = writes
        self.before = before


def store_batch(
    task_id: str, writes: Sequence[Write], branch: str | None, known: Task | None, below: set[str]
) -> Stored:
    """How a batch of a task's writes is stored, beside what is `known` of the task at this checkpoint."""
    channels = {w[0] for w in writes}
    if INTERRUPT in channels:
        batch = Batch.PARKED
    elif ERROR in channels and HANDLED not in channels:
        batch = Batch.FAILED
    else:
        return Stored(writes, [])
    answers = next((w[1] for w in writes if w[0] == RESUME), None)
    given = None if answers is None else answers if isinstance(answers, list) else [answers]
    recorded = known.recorded if known is not None else 0
    waiting = known is not None and recorded in known.waiting
    keep, restore, waits_for, marks, drops_output = store(
        batch, None if given is None else len(given), recorded, waiting
    )
    stored = [w for w in writes if w[0] != RESUME and (not drops_output or w[0] in _CONTROL)]
    if keep is not None:
        source = known.answers if restore and known is not None else given
        stored.append((RESUME, list(source or ())[:keep]))
    before: list[tuple[str, list[Write]]] = []
    if waits_for is not None and given is not None:
        before.append((row_id(task_id, branch, waits_for), [(RESUME, [given[waits_for]])]))
    if marks is not None:
        before.append((row_id(task_id, branch, marks), [(RESUME, [])]))
    if batch == Batch.PARKED:
        question = next(w[1] for w in writes if w[0] == INTERRUPT)
        row = row_id(task_id, branch, keep or 0)
        if not below.isdisjoint(interrupt_ids(question)):
            before.append((row, [(RESUME, None)]))
        elif known is not None and known.waiting.get(keep or 0, ()) is None:
            before.append((row, [(RESUME, [])]))  # the task's own question, where a subgraph's was before
    return Stored(stored, before)
