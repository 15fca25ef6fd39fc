"""An answer is for one question: the one that was open, and nobody else's.

Found by tests/property/test_state_machine.py; each case here is the shortest that shows one of its findings.
"""

from __future__ import annotations

import asyncio
from inspect import signature
from typing import Any

import pytest
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt
from remit import RemitError
from stores import AsyncStore, Store
from typing_extensions import TypedDict

NUMBERED = "response_schema" in signature(interrupt).parameters  # of the same releases as numbered questions
CONFIG: Any = {"configurable": {"thread_id": "thread"}}
DURABILITY = pytest.mark.parametrize("durability", ["sync", "async", "exit"])


class State(TypedDict, total=False):
    input: int
    a: Any
    b: Any


class Nodes:
    """Nodes `a` and `b`, side by side, that ask this many questions; what they were served is in `served`."""

    def __init__(self, a: int, b: int = 0) -> None:
        self.questions = {"a": a, "b": b}
        self.served: list[tuple[str, Any]] = []
        self.fails: dict[str, int] = {}
        self.left: set[str] = set()

    def compile(self, saver: Any, is_async: bool = False) -> Any:
        builder = StateGraph(State)
        for name, count in self.questions.items():
            if not count:
                continue

            def node(state: State, name: str = name) -> Any:
                return self.run(name)

            async def anode(state: State, name: str = name) -> Any:
                # a failure would cancel the other node, so it waits until that has left, and what it did is stored
                if self.fails.get(name) == 0:
                    while not self.left:
                        await asyncio.sleep(0)
                    for _ in range(20):
                        await asyncio.sleep(0)
                try:
                    return self.run(name)
                finally:
                    self.left.add(name)

            builder.add_node(name, anode if is_async else node)
            builder.add_edge(START, name)
        return builder.compile(checkpointer=saver)

    def run(self, name: str) -> Any:
        answers = []
        for k in range(self.questions[name]):
            if self.fails.get(name) == k:
                raise ValueError("on purpose")
            answers.append(interrupt(f"{name}{k}"))
            self.served.append((f"{name}{k}", answers[-1]))
        if self.fails.get(name) == self.questions[name]:
            raise ValueError("on purpose")
        return {name: answers}


def ids(state: Any) -> dict[str, str]:
    """The open questions' ids, by question."""
    return {i.value: i.id for task in state.tasks for i in task.interrupts}


@pytest.mark.parametrize(("parked", "failed"), [("a", "b")])
async def test_bare_answer_does_not_go_to_a_task_that_had_not_asked(
    asaver_factory: AsyncStore, parked: str, failed: str
) -> None:
    """One node asks, the other fails before it has asked: one question is open, and a bare answer is for it. The other
    node runs again in the same step and asks. LangGraph serves whoever asks first, so with the nodes the other way
    round the answer goes astray: it is in the loop's memory where no saver sees it, and to refuse it would refuse the
    right answer of the many nodes that never ask (docs/concepts/answers.md: name the interrupt)."""
    nodes = Nodes(1, 1)
    graph = nodes.compile(await asaver_factory.wrapped(), is_async=True)
    nodes.fails = {failed: 0}
    with pytest.raises(ValueError, match="on purpose"):
        await graph.ainvoke({"input": 1}, CONFIG)
    nodes.fails = {}
    question = f"{parked}0"
    assert list(ids(await graph.aget_state(CONFIG))) == [question]
    try:
        await graph.ainvoke(Command(resume="yes"), CONFIG)
    except RemitError:
        assert nodes.served == []  # refused, since it may be taken for another question's
    assert set(nodes.served) <= {(question, "yes")}
    # live: by name it is certain
    served = bool(nodes.served)
    if not served:
        open = ids(await graph.aget_state(CONFIG))
        await graph.ainvoke(Command(resume={open[question]: "yes"}), CONFIG)
    await graph.ainvoke(Command(resume="no"), CONFIG)
    assert nodes.served == [(question, "yes"), (f"{failed}0", "no")]
    assert not (await graph.aget_state(CONFIG)).next


def test_bare_answer_to_two_open_questions_is_refused(saver_factory: Store) -> None:
    """One of them is its node's second. Stock 1.2.9 counts that node as answered, and serves whoever asks first;
    1.2.24 refuses."""
    nodes = Nodes(2, 1)
    graph = nodes.compile(saver_factory.wrapped())
    graph.invoke({"input": 1}, CONFIG)
    graph.invoke(Command(resume={ids(graph.get_state(CONFIG))["a0"]: "first"}), CONFIG)
    open = ids(graph.get_state(CONFIG))
    assert set(open) == {"a1", "b0"}
    nodes.served.clear()
    with pytest.raises((RemitError, RuntimeError)):
        graph.invoke(Command(resume="yes"), CONFIG)
    assert nodes.served == []
    # live: by name both are served
    graph.invoke(Command(resume={open["a1"]: "second", open["b0"]: "other"}), CONFIG)
    assert graph.get_state(CONFIG).values == {"input": 1, "a": ["first", "second"], "b": ["other"]}


@DURABILITY
@pytest.mark.parametrize("fails", [0, 1, 2])
def test_bare_answer_outlives_a_failure_anywhere_in_the_node(saver_factory: Store, durability: Any, fails: int) -> None:
    """Right on stock. The node may fail before it comes to its question at all."""
    nodes = Nodes(2)
    graph = nodes.compile(saver_factory.wrapped())
    graph.invoke({"input": 1}, CONFIG, durability=durability)
    graph.invoke(Command(resume="first"), CONFIG, durability=durability)
    nodes.fails = {"a": fails}
    with pytest.raises(ValueError, match="on purpose"):
        graph.invoke(Command(resume="second"), CONFIG, durability=durability)
    nodes.fails = {}
    again = nodes.compile(saver_factory.reopen())
    assert list(ids(again.get_state(CONFIG))) == ["a1"]
    assert again.invoke(None, CONFIG, durability=durability) == {"input": 1, "a": ["first", "second"]}


@pytest.mark.parametrize("corrected", [True, False])
@pytest.mark.parametrize("questions", [1, 2])
def test_a_finished_node_that_runs_again_is_served_what_it_finished_with(
    saver_factory: Store, questions: int, corrected: bool
) -> None:
    """A call that names the head's checkpoint, as Studio's do, makes 1.2.9 run finished siblings again: with what they
    were corrected to. (Stock never takes the correction.) 1.2.24 does not run them."""
    nodes = Nodes(questions, 1)
    graph = nodes.compile(saver_factory.wrapped())
    graph.invoke({"input": 1}, CONFIG)
    for k in range(questions):
        if corrected:
            nodes.fails = {"a": k + 1}
            with pytest.raises(ValueError, match="on purpose"):
                graph.invoke(Command(resume={ids(graph.get_state(CONFIG))[f"a{k}"]: f"wrong {k}"}), CONFIG)
            nodes.fails = {}
        graph.invoke(Command(resume={ids(graph.get_state(CONFIG))[f"a{k}"]: f"right {k}"}), CONFIG)
    state = graph.get_state(CONFIG)
    assert state.next == ("b",)
    nodes.served.clear()
    graph.invoke(Command(resume={ids(state)["b0"]: "other"}), state.config)
    right = [f"right {k}" for k in range(questions)]
    assert graph.get_state(CONFIG).values == {"input": 1, "a": right, "b": ["other"]}
    assert [v for _, v in nodes.served if v not in right] == ["other"]


@DURABILITY
def test_finished_siblings_writes_are_applied_once(saver_factory: Store, durability: Any) -> None:
    """Stock 1.2.9 under exit: what was loaded is stored again in other places, then applied twice, and the thread can
    neither be read nor resumed."""
    nodes = Nodes(1, 2)
    graph = nodes.compile(saver_factory.wrapped())
    graph.invoke({"input": 1}, CONFIG, durability=durability)
    graph.invoke(Command(resume={ids(graph.get_state(CONFIG))["a0"]: "a"}), CONFIG, durability=durability)
    graph.invoke(Command(resume="first"), CONFIG, durability=durability)
    assert "b1" in ids(graph.get_state(CONFIG))
    graph.invoke(Command(resume="second"), CONFIG, durability=durability)
    assert graph.get_state(CONFIG).values == {"input": 1, "a": ["a"], "b": ["first", "second"]}


@pytest.mark.parametrize("by_name", [True, False])
@pytest.mark.parametrize("moved", [True, False])
def test_fork_answers_the_question_that_its_checkpoint_shows(saver_factory: Store, by_name: bool, moved: bool) -> None:
    """The checkpoint shows a node's second question. A fork begins the node's questions anew, so an answer by the shown
    one's name is refused where LangGraph numbers a node's questions, and a bare one is for the first. (Stock serves
    every fork what was answered first. Before 1.2.24 all questions of a node have one name, so it is for the first.)"""
    nodes = Nodes(2)
    graph = nodes.compile(saver_factory.wrapped())
    graph.invoke({"input": 1}, CONFIG)
    graph.invoke(Command(resume="first"), CONFIG)
    place = graph.get_state(CONFIG)
    shown = ids(place)
    assert list(shown) == ["a1"]
    if moved:
        graph.invoke(Command(resume="second"), CONFIG)
    nodes.served.clear()
    at: Any = {"configurable": {**place.config["configurable"], "remit_fork": True}}
    try:
        graph.invoke(Command(resume={shown["a1"]: "forked"} if by_name else "forked"), at)
    except RemitError:
        assert nodes.served == []
        return
    assert nodes.served == [("a0", "forked")]
    assert not by_name or not NUMBERED


async def test_bare_answer_that_went_astray_is_not_served_twice(asaver_factory: AsyncStore) -> None:
    """As in the first test, the other way round: the answer to `b` is taken by `a`, which had not asked. Then it is
    spent, and `b` asks again. (Stock serves it to both: one yes, two approvals.)"""
    nodes = Nodes(1, 1)
    graph = nodes.compile(await asaver_factory.wrapped(), is_async=True)
    nodes.fails = {"a": 0}
    with pytest.raises(ValueError, match="on purpose"):
        await graph.ainvoke({"input": 1}, CONFIG)
    nodes.fails = {}
    try:
        await graph.ainvoke(Command(resume="yes"), CONFIG)
    except RemitError:
        assert nodes.served == []
    await graph.ainvoke(None, CONFIG)
    assert len([answer for _, answer in nodes.served if answer == "yes"]) <= 1, nodes.served
    # live: whichever still asks is answered by name
    for _ in range(2):
        open = ids(await graph.aget_state(CONFIG))
        if open:
            await graph.ainvoke(Command(resume={i: q for q, i in open.items()}), CONFIG)
    assert not (await graph.aget_state(CONFIG)).next


def test_a_finished_node_that_runs_again_has_all_answers_of_a_call_that_answered_two(saver_factory: Store) -> None:
    """As above. `b` finishes with its second answer, in a call that answers `a` too, whose next question keeps the
    step open. SQLite and PostgreSQL do not replace a task's answers in a batch that holds outputs as well."""
    nodes = Nodes(2, 2)
    graph = nodes.compile(saver_factory.wrapped())
    graph.invoke({"input": 1}, CONFIG)
    graph.invoke(Command(resume={ids(graph.get_state(CONFIG))["b0"]: "b first"}), CONFIG)
    open = ids(graph.get_state(CONFIG))
    graph.invoke(Command(resume={open["a0"]: "a first", open["b1"]: "b second"}), CONFIG)
    state = graph.get_state(CONFIG)
    nodes.served.clear()
    graph.invoke(Command(resume={ids(state)["a1"]: "a second"}), state.config)
    assert nodes.served[-1] in [("a1", "a second"), ("b1", "b second")]
    assert graph.get_state(CONFIG).values == {
        "input": 1,
        "a": ["a first", "a second"],
        "b": ["b first", "b second"],
    }
