"""The pending writes of a checkpoint: what is stored is read back, also what a stock saver stored; and branches, tasks
and calls see their own."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, Interrupt, interrupt
from remit._core import Intent, parse_row, row_id
from remit.rows import ERROR, HANDLED, INTERRUPT, NULL_TASK, RESUME, Rows, interrupt_ids, store_batch
from typing_extensions import TypedDict

INTENTS = [Intent.INSPECT, Intent.FORK, Intent.RETRY, Intent.ANSWER, Intent.NEW_INPUT, Intent.UNKNOWN]
QUESTION = Interrupt("?", id="1" * 32)
VALUES = [None, False, 0, "", [], {}, [1, 2], {"k": [None]}, "yes"]


def interrupts(*ids: str) -> tuple[Interrupt, ...]:
    return tuple(Interrupt("?", id=i * 32) for i in ids)


class Place:
    """The pending writes of a checkpoint, kept as a saver does: special channels are replaced, others added once."""

    def __init__(self) -> None:
        self.rows: dict[tuple[str, Any], tuple[str, str, Any]] = {}

    def put_writes(self, task: str, writes: Any) -> None:
        for n, (channel, value) in enumerate(writes):
            special = channel in (RESUME, INTERRUPT, ERROR)
            key = (task, channel if special else n)
            if special or key not in self.rows:
                self.rows[key] = (task, channel, value)

    def store(self, task: str, writes: Any, branch: str | None = None, below: Any = ()) -> None:
        """As the protocol does it, beside what is known."""
        rows = self.read()
        tasks = rows.base if branch is None else rows.branches.get(branch, {})
        stored = store_batch(task, writes, branch, tasks.get(task), dict.fromkeys(below, "below"), lambda nth: set())
        for row, batch in stored.before:
            self.put_writes(row, batch)
        if stored.writes:
            self.put_writes(row_id(task, branch) if branch is not None else task, stored.writes)

    def read(self) -> Rows:
        return Rows(list(self.rows.values()))

    def shown(self, intent: Intent, branch: str | None = None, answer: Any = None) -> list[tuple[str, str, Any]]:
        return self.read().load(intent, branch, answer).writes

    def answers(self, task: str, intent: Intent, branch: str | None = None, answer: Any = None) -> list[Any]:
        return next((v for t, c, v in self.shown(intent, branch, answer) if (t, c) == (task, RESUME)), [])


def same(one: Any, other: Any) -> bool:
    """Equal, whatever the order, and of equal types: False is not 0."""
    return sorted(map(repr, one)) == sorted(map(repr, other))


# -- what a stock saver stored ---------------------------------------------------------------------------------------


class State(TypedDict, total=False):
    input: int
    a: Any
    b: Any


def stock_rows(calls: list[Any]) -> list[tuple[str, str, Any]]:
    """What a stock saver holds at the checkpoint where two nodes asked, after these calls. Node `a` asks twice."""
    saver = InMemorySaver()
    fails = {"now": False}

    def a(state: State) -> Any:
        answers = [interrupt("a0"), interrupt("a1")]
        if fails["now"]:
            raise ValueError("on purpose")
        return {"a": answers}

    def b(state: State) -> Any:
        return {"b": interrupt("b0")}

    builder = StateGraph(State)
    builder.add_node("a", a)
    builder.add_node("b", b)
    builder.add_edge(START, "a")
    builder.add_edge(START, "b")
    graph = builder.compile(checkpointer=saver)
    config: Any = {"configurable": {"thread_id": "thread"}}
    graph.invoke({"input": 1}, config)
    place: Any = graph.get_state(config).config
    for call in calls:
        ids = {i.value: i.id for t in graph.get_state(config).tasks for i in t.interrupts}
        fails["now"] = call == "fail"
        try:
            if call == "fail":
                graph.invoke(None, config)
            else:
                graph.invoke(Command(resume={ids[k]: v for k, v in call.items()}), config)
        except ValueError:
            pass
    found = saver.get_tuple(place)
    assert found is not None and found.pending_writes is not None
    return found.pending_writes


STOCK = [
    [],
    [{"b0": "yes"}],
    [{"a0": "one"}],
    [{"a0": "one"}, {"b0": "yes"}],
    [{"a0": "one"}, {"a1": "two"}],
    [{"a0": "one"}, "fail"],
]


@pytest.mark.parametrize("calls", STOCK)
def test_a_look_shows_what_a_stock_saver_stored(calls: list[Any]) -> None:
    writes = stock_rows(calls)
    assert same(Rows(writes).load(Intent.INSPECT).writes, writes)


@pytest.mark.parametrize("calls", STOCK)
@pytest.mark.parametrize("intent", INTENTS)
def test_questions_errors_and_finished_tasks_of_a_stock_thread_stay(calls: list[Any], intent: Intent) -> None:
    writes = stock_rows(calls)
    shown = Rows(writes).load(intent).writes
    kept = [w for w in writes if w[1] != RESUME]
    if intent == Intent.FORK:  # it does not see what was answered
        answered = {t for t, c, _ in writes if c == RESUME}
        kept = [w for w in kept if w[1] in (INTERRUPT, ERROR) or w[0] not in answered]
    assert same([w for w in shown if w[1] != RESUME], kept)


def test_the_open_question_of_a_stock_thread_is_known() -> None:
    for calls, expected in [([], [0, 0]), ([{"a0": "one"}], [1, 0]), ([{"b0": "yes"}], [0])]:
        loaded = Rows(stock_rows(calls)).load(Intent.ANSWER)
        assert sorted(loaded.tasks[i].asked for i in loaded.open) == sorted(expected)  # type: ignore[type-var]


# -- what we store ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("branch", [None, "c.0"])
@pytest.mark.parametrize("value", VALUES)
def test_a_failed_answer_is_kept_for_a_retry_and_gives_way_to_a_new_one(value: Any, branch: str | None) -> None:
    place = Place()
    place.store("t", [(INTERRUPT, interrupts("1"))], branch)
    place.store("t", [(INTERRUPT, interrupts("2")), (RESUME, ["first"])], branch)
    place.store("t", [(ERROR, ValueError()), (RESUME, ["first", value])], branch)
    assert repr(place.answers("t", Intent.RETRY, branch)) == repr(["first", value])
    assert place.answers("t", Intent.ANSWER, branch, (False, "new")) == ["first"]
    assert place.answers("t", Intent.ANSWER, branch, (True, {"2" * 32: "new"})) == ["first"]
    loaded = place.read().load(Intent.RETRY, branch)
    assert (loaded.open, loaded.interrupts, loaded.tasks["t"].asked) == (["t"], {"2" * 32}, 1)


def test_a_look_shows_a_failed_answer_where_langgraph_would_have_recorded_it() -> None:
    place = Place()
    error = ValueError()
    place.store("t", [(INTERRUPT, interrupts("1"))])
    place.store("t", [("channel", 1), (RESUME, ["no"]), (ERROR, error)])
    shown = place.shown(Intent.INSPECT)
    assert same(shown, [("t", INTERRUPT, interrupts("1")), ("t", RESUME, ["no"]), ("t", ERROR, error)])
    assert all("|" not in w[0] for w in shown)


def test_a_failed_tasks_outputs_are_not_stored_unless_a_handler_took_over() -> None:
    for extra, kept in [([], []), ([(HANDLED, "t")], [("t", "channel", 1)])]:
        place = Place()
        place.store("t", [("channel", 1), (ERROR, ValueError()), *extra])
        assert [w for w in place.shown(Intent.RETRY) if w[1] == "channel"] == kept


def test_a_retry_that_fails_earlier_keeps_the_answers() -> None:
    place = Place()
    place.store("t", [(INTERRUPT, interrupts("1"))])
    place.store("t", [(INTERRUPT, interrupts("2")), (RESUME, ["first"])])
    for batch in ([(ERROR, ValueError())], [(ERROR, ValueError()), (RESUME, ["first"])]):
        place.store("t", batch)
        assert place.answers("t", Intent.RETRY) == ["first"]
        assert place.read().load(Intent.RETRY).tasks["t"].asked == 1


def test_answers_that_are_handed_out_are_copies() -> None:
    """LangGraph appends a mapped value in place."""
    place = Place()
    place.put_writes("t", [(INTERRUPT, interrupts("2")), (RESUME, ["first"])])
    rows = place.read()
    for _ in range(2):
        answers = next(v for _, c, v in rows.load(Intent.ANSWER).writes if c == RESUME)
        assert answers == ["first"]
        answers.append("second")


def test_a_bare_answer_of_the_null_task_is_shown_to_a_look_only() -> None:
    for value in VALUES:
        place = Place()
        place.put_writes("t", [(INTERRUPT, interrupts("1"))])
        place.put_writes(NULL_TASK, [(RESUME, value)])
        for intent in INTENTS:
            shown = [v for t, c, v in place.shown(intent) if t == NULL_TASK]
            if intent == Intent.INSPECT and not isinstance(value, list):
                assert repr(shown) == repr([value])
            elif intent != Intent.INSPECT:
                assert shown == []


def test_the_question_of_a_subgraph_is_known_to_be_below() -> None:
    place = Place()
    place.store("t", [(INTERRUPT, interrupts("1"))], below={"1" * 32})
    task = place.read().load(Intent.ANSWER).tasks["t"]
    assert task.is_below and task.asked == 0
    assert same(place.shown(Intent.INSPECT), [("t", INTERRUPT, interrupts("1"))])
    place.store("t", [(INTERRUPT, interrupts("2")), (RESUME, ["x"])])
    task = place.read().load(Intent.ANSWER).tasks["t"]
    assert not task.is_below and task.asked == 1


# -- branches --------------------------------------------------------------------------------------------------------


def parked_and_forked() -> Place:
    place = Place()
    place.store("t", [(INTERRUPT, interrupts("1"))])
    place.store("u", [("u", "untouched")])
    place.store("t", [("t", "main"), (RESUME, ["main"])])
    place.store("t", [("t", "fork 0"), (RESUME, ["fork 0"])], "c.0")
    place.store("t", [(INTERRUPT, interrupts("2")), (RESUME, ["fork 1"])], "c.1")
    place.store("t", [(ERROR, ValueError()), (RESUME, ["fork 1", "failed"])], "c.1")
    return place


@pytest.mark.parametrize("intent", INTENTS)
@pytest.mark.parametrize("branch", [None, "c.0", "c.1", "c.2"])
def test_each_line_sees_its_own_rows(intent: Intent, branch: str | None) -> None:
    own = {None: {"main"}, "c.0": {"fork 0"}, "c.1": {"fork 1", "failed"}, "c.2": set()}[branch]
    place = parked_and_forked()
    for answer in (None, (False, "new"), (True, {"1" * 32: "new"})):
        shown = place.shown(intent, branch, answer)
        seen = set(itertools.chain.from_iterable(v if c == RESUME else [v] for t, c, v in shown if c in (RESUME, "t")))
        assert seen <= own, f"{seen - own} is another line's"
        assert all("|" not in t for t, _, _ in shown)
        assert [v for t, c, v in shown if c == "u"] == ["untouched"], "a finished task that asked nothing is kept"
        if intent == Intent.RETRY:
            assert seen == own


def test_a_new_fork_asks_the_question_again() -> None:
    loaded = parked_and_forked().read().load(Intent.FORK, "c.2", (False, "new"))
    assert loaded.open == ["t"] and loaded.interrupts == {"1" * 32}
    assert not [w for w in loaded.writes if w[1] in (RESUME, "t")]
    assert [w for w in loaded.writes if w[1] == INTERRUPT] == [("t", INTERRUPT, interrupts("1"))]


def test_a_stock_reader_of_the_database_passes_our_rows_over() -> None:
    """LangGraph looks answers up by task id, and counts interrupts under any."""
    place = parked_and_forked()
    ours = [w for w in place.rows.values() if "|" in w[0]]
    assert ours
    assert all(channel != INTERRUPT for _, channel, _ in ours)
    for id, _, _ in ours:
        task, *rest = parse_row(id)
        assert "|" not in task and any(part is not None and part is not False for part in rest)


# -- at random -------------------------------------------------------------------------------------------------------

values = st.sampled_from(VALUES)


@settings(derandomize=True, max_examples=200)
@given(
    batches=st.lists(
        st.tuples(st.sampled_from(["parked", "failed"]), st.lists(values, max_size=3)), min_size=1, max_size=6
    ),
    branch=st.sampled_from([None, "c.0"]),
)
def test_the_open_question_is_always_known_and_no_answer_moves(
    batches: list[tuple[str, list[Any]]], branch: str | None
) -> None:
    place = Place()
    place.store("t", [(INTERRUPT, interrupts("1"))], branch)
    asked, answers = 0, []
    for kind, given_now in batches:
        # a run serves what is there, but for the open question's answer if it has a new one; a failed one stops early
        batch = [*(answers[:asked] if given_now else answers), *given_now]
        batch = batch if kind == "parked" else batch[: asked + 1]
        if kind == "parked":
            asked, answers = len(batch), batch
            place.store("t", [(INTERRUPT, interrupts("1")), *([(RESUME, batch)] if batch else [])], branch)
        else:
            place.store("t", [(ERROR, ValueError()), *([(RESUME, batch)] if batch else [])], branch)
            if len(batch) > asked:
                answers = batch
        loaded = place.read().load(Intent.RETRY, branch)
        assert loaded.tasks["t"].asked == asked
        assert repr(place.answers("t", Intent.RETRY, branch)) == repr(answers)
        assert repr(place.answers("t", Intent.ANSWER, branch, (False, "new"))) == repr(answers[:asked])


def test_interrupt_ids_are_read_from_whatever_is_stored() -> None:
    assert interrupt_ids((QUESTION, QUESTION)) == ["1" * 32] * 2
    assert interrupt_ids(QUESTION) == ["1" * 32]
    assert interrupt_ids([{"value": "?"}, "text", None]) == []
