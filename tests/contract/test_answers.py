"""Answers: each question is served its own, the last one that was given to it, and none is lost.

Stock LangGraph serves a failed answer for ever (DESIGN 2, fact 4) and hands answer 1 to question 2 (langgraph#8837).
What it does in each case is said at the test. Tests marked as guards pass on it too.

To see what stock does: REMIT_TEST_STOCK=1 runs this file over LangGraph's own savers.
"""

from __future__ import annotations

import asyncio
import warnings
from inspect import signature
from typing import Any

import pytest
from graphs import (
    BAD,
    POINTS,
    REFUSED,
    SHAPES,
    TROUBLE,
    Refused,
    State,
    accept,
    asking,
    asks,
    fails,
    gives,
    nested,
    point,
    unsaved,
)
from langgraph.func import entrypoint, task
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, RetryPolicy, Send, interrupt
from pydantic import ValidationError
from remit import RemitSaver, RemitStrayResume

one_backend = pytest.mark.parametrize("world", ["sqlite"], indirect=True)
two_backends = pytest.mark.parametrize("world", ["memory", "apg"], indirect=True)
durabilities = pytest.mark.parametrize("durability", ["sync", "async", "exit"])
shapes = pytest.mark.parametrize("shape", SHAPES)


async def give(thread, form, question, value):
    """An answer in a form."""
    return await (thread.answer(value) if form == "bare" else thread.answer_by_id({question: value}))


# -- a failed answer can be given again ------------------------------------------------------------------------------


@one_backend
@shapes
@pytest.mark.parametrize("forms", ["bare bare", "id id", "bare id", "id bare"])
async def test_refused_answer_is_given_again(world, ledger, shape, forms):
    # stock serves "bad" for ever
    thread = await world.thread(SHAPES[shape](asking("pay?", ledger=ledger)))
    first, second = forms.split()
    assert await thread.start() == asks("pay?")
    assert await give(thread, first, "pay?", BAD) == REFUSED
    assert await give(thread, second, "pay?", "good") == gives("good")
    assert ledger.fired("effect") == [["good"]]


@one_backend
@shapes
@pytest.mark.parametrize("form", ["bare", "id"])
async def test_guard_good_answer_is_served_once(world, ledger, shape, form):
    thread = await world.thread(SHAPES[shape](asking("pay?", ledger=ledger)))
    assert await thread.start() == asks("pay?")
    assert await give(thread, form, "pay?", "good") == gives("good")
    assert ledger.fired("effect") == [["good"]]


@pytest.mark.parametrize("shape", ["top", "subgraph2"])
async def test_several_refused_answers_in_a_row(world, ledger, shape):
    # stock serves the first one for ever
    build = SHAPES[shape](asking("pay?", ledger=ledger))
    thread = await world.thread(build)
    assert await thread.start() == asks("pay?")
    for form in ("bare", "id", "bare", "bare", "id"):
        assert await give(thread, form, "pay?", BAD) == REFUSED
    assert await (await world.thread(build)).answer("good") == gives("good")
    assert ledger.fired("effect") == [["good"]]


@durabilities
@two_backends
@pytest.mark.parametrize("shape", ["top", "subgraph"])
async def test_refused_answer_is_given_again_whatever_the_durability(world, ledger, durability, shape):
    build = SHAPES[shape](asking("a?", "b?", ledger=ledger))
    thread = await world.thread(build, durability=durability)
    assert await thread.start() == asks("a?")
    assert await thread.answer(BAD) == REFUSED
    assert await thread.answer("a") == asks("b?")
    assert await thread.answer(BAD) == REFUSED
    assert await (await world.thread(build, durability=durability)).answer("b") == gives(["a", "b"])
    assert ledger.fired("effect") == [["a", "b"]]


@one_backend
async def test_equal_answers_are_told_apart(world):
    """Both questions got "yes", and the node failed: it is the second that is answered anew. Stock keeps both."""
    thread = await world.thread(nested(asking("a?", "b?"), 0))
    assert await thread.start() == asks("a?")
    assert await thread.answer("yes") == asks("b?")
    POINTS.fail_at("end")
    assert await thread.answer("yes") == TROUBLE
    assert await thread.answer("no") == gives(["yes", "no"])


@pytest.mark.parametrize("world", ["memory", "sqlite", "asqlite", "apg"], indirect=True)
@pytest.mark.parametrize("shape", ["top", "subgraph", "functional", "task"])
async def test_three_questions_in_one_node(world, ledger, shape):
    """Each is refused once; what was accepted before stays. On stock, the first refusal is the end."""
    thread = await world.thread(SHAPES[shape](asking("a?", "b?", "c?", ledger=ledger)))
    assert await thread.start() == asks("a?")
    assert await thread.answer(BAD) == REFUSED
    assert await thread.answer_by_id({"a?": "a"}) == asks("b?")
    assert await thread.answer_by_id({"b?": BAD}) == REFUSED
    assert await thread.answer("b") == asks("c?")
    assert await thread.answer(BAD) == REFUSED
    assert await thread.answer_by_id({"c?": BAD}) == REFUSED
    assert await thread.answer("c") == gives(["a", "b", "c"])
    assert ledger.fired("effect") == [["a", "b", "c"]]


FALSY = (False, 0, "", [], {"k": None})


@one_backend
@pytest.mark.parametrize(
    ("form", "value"), [*(("bare", v) for v in FALSY), *(("id", v) for v in (*FALSY, {}, None))], ids=repr
)
async def test_falsy_answers_replace_a_failed_one(world, form, value):
    """`{}` and None can only be given by id: LangGraph takes them for "no resume". Stock serves "yes" for ever."""
    thread = await world.thread(nested(asking("pay?"), 0))
    await thread.start()
    POINTS.fail_at("end")
    assert await thread.answer("yes") == TROUBLE
    assert await give(thread, form, "pay?", value) == gives(value)


@one_backend
@pytest.mark.parametrize("value", [False, 0, "", [], {}, None], ids=repr)
async def test_falsy_failed_answers_are_retried_and_replaced(world, value):
    thread = await world.thread(nested(asking("pay?"), 0))
    await thread.start()
    POINTS.fail_at("end")
    assert await thread.answer_by_id({"pay?": value}) == TROUBLE
    POINTS.fail_at("end")
    assert await thread.go_on() == TROUBLE
    assert await thread.answer("yes") == gives("yes")


@one_backend
async def test_no_answer_is_not_an_answer(world, ledger):
    thread = await world.thread(nested(asking("pay?", ledger=ledger), 0))
    await thread.start()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RemitStrayResume)
        for nothing in (Command(resume=None), Command(resume={})):
            kind, _ = await thread.call(nothing)
            assert kind in ("asks", "fails")
    assert ledger.fired() == []
    assert await thread.answer("yes") == gives("yes")


# -- going on after a failure ----------------------------------------------------------------------------------------


@one_backend
@shapes
@pytest.mark.parametrize("form", ["bare", "id"])
async def test_guard_retry_goes_on_with_the_answer(world, ledger, shape, form):
    build = SHAPES[shape](asking("pay?", ledger=ledger))
    thread = await world.thread(build)
    await thread.start()
    for _ in range(2):
        POINTS.fail_at("after pay?")
    assert await give(thread, form, "pay?", "yes") == TROUBLE
    assert await thread.go_on() == TROUBLE
    assert await (await world.thread(build)).go_on() == gives("yes")
    assert ledger.fired("effect") == [["yes"]]


async def test_retry_goes_on_with_the_last_answer(world):
    # stock goes on with the first
    build = nested(asking("pay?"), 1)
    thread = await world.thread(build)
    await thread.start()
    assert await thread.answer(BAD) == REFUSED
    POINTS.fail_at("end")
    assert await thread.answer("one") == TROUBLE
    POINTS.fail_at("end")
    assert await thread.answer_by_id({"pay?": "two"}) == TROUBLE
    assert await (await world.thread(build)).go_on() == gives("two")


@one_backend
@shapes
async def test_guard_retry_has_the_answer_that_the_node_did_not_get_to(world, shape):
    """The node fails before it asks: the bare answer it was given waits for it."""
    build = SHAPES[shape](asking("pay?"))
    thread = await world.thread(build)
    await thread.start()
    POINTS.fail_at("before")
    assert await thread.answer("yes") == TROUBLE
    assert await (await world.thread(build)).go_on() == gives("yes")


@one_backend
@pytest.mark.parametrize("shape", ["top", "subgraph", "subgraph2"])
@pytest.mark.parametrize("where", ["before", "after a?", "after b?"])
async def test_guard_retry_has_the_second_answer_wherever_the_node_failed(world, shape, where):
    build = SHAPES[shape](asking("a?", "b?"))
    thread = await world.thread(build)
    await thread.start()
    assert await thread.answer("a") == asks("b?")
    POINTS.fail_at(where)
    assert await thread.answer("b") == TROUBLE
    assert await (await world.thread(build)).go_on() == gives(["a", "b"])


@one_backend
@pytest.mark.parametrize("where", ["before", "after pay?", "end"])
async def test_guard_retry_of_a_subgraph_without_checkpoints(world, where):
    build = unsaved(asking("pay?"))
    thread = await world.thread(build)
    assert await thread.start() == asks("pay?")
    POINTS.fail_at(where)
    assert await thread.answer("yes") == TROUBLE
    assert await (await world.thread(build)).go_on() == gives("yes")


@one_backend
@shapes
async def test_answer_that_the_node_did_not_get_to_is_replaced(world, shape):
    """Its liveness twin on stock: "no" replaces "yes" there too, as long as the node did not ask."""
    thread = await world.thread(SHAPES[shape](asking("a?", "b?")))
    await thread.start()
    POINTS.fail_at("before")
    assert await thread.answer("yes") == TROUBLE
    assert await thread.answer("no") == asks("b?")
    POINTS.fail_at("after a?")
    assert await thread.answer("yes") == TROUBLE
    assert await thread.answer("never") == gives(["no", "never"])


@pytest.mark.parametrize(("shape", "where"), [("top", "before"), ("subgraph", "after a?")])
async def test_failed_retry_keeps_first_answer_and_second_question(world, shape, where):
    """A retry fails while question 2 is open. Stock then serves answer 1 to question 2 (langgraph#8837)."""
    build = SHAPES[shape](asking("a?", "b?"))
    thread = await world.thread(build)
    await thread.start()
    assert await thread.answer("a") == asks("b?")
    for again in (thread, await world.thread(build)):
        POINTS.fail_at(where)
        assert await again.go_on() == TROUBLE
    assert await thread.go_on() == asks("b?")
    assert await thread.answer("b") == gives(["a", "b"])


async def test_retry_does_not_hand_an_answer_to_the_next_question(world):
    # stock: invoke(None) gives ["a", "a"] (langgraph#8837)
    build = nested(asking("a?", "b?"), 0)
    thread = await world.thread(build)
    await thread.start()
    assert await thread.answer("a") == asks("b?")
    assert await thread.go_on() == asks("b?")
    assert await (await world.thread(build)).go_on() == asks("b?")
    assert await thread.answer("b") == gives(["a", "b"])


# -- several tasks ---------------------------------------------------------------------------------------------------


def fan(*nodes):
    """Nodes side by side."""

    def build(saver):
        graph = StateGraph(State)
        for name, node in nodes:
            graph.add_node(name, node)
            graph.add_edge(START, name)
        return graph.compile(checkpointer=saver)

    return build


def logging(name, *questions, ledger):
    """A node that asks, acts and appends what it was told to the log: nodes side by side may not write `v`."""
    node = asking(*questions, ledger=ledger, effect=name)
    return name, lambda state: {"log": [[name, node(state)["v"]]]}


@pytest.mark.parametrize("world", ["memory", "postgres", "asqlite"], indirect=True)
@durabilities
async def test_succeeded_sibling_is_not_run_again(world, ledger, durability):
    # stock never runs "left" with "l"
    build = fan(logging("left", "left?", ledger=ledger), logging("right", "right?", ledger=ledger))
    thread = await world.thread(build, durability=durability)
    assert await thread.start() == asks("left?", "right?")
    assert await thread.answer_by_id({"right?": "r"}) == asks("left?")
    assert await thread.answer_by_id({"left?": BAD}) == REFUSED
    assert await thread.answer_by_id({"left?": BAD}) == REFUSED
    assert await (await world.thread(build, durability=durability)).answer_by_id({"left?": "l"}) == gives(None)
    assert sorted((await thread.state()).values["log"]) == [["left", "l"], ["right", "r"]]
    assert sorted(ledger.fired()) == [("left", ["l"]), ("right", ["r"])]


@one_backend
async def test_guard_bare_answer_to_the_one_that_is_left(world, ledger):
    thread = await world.thread(fan(logging("left", "left?", ledger=ledger), ("free", lambda _: {"log": ["free"]})))
    assert await thread.start() == asks("left?")
    assert await thread.answer("l") == gives(None)
    assert ledger.fired() == [("left", ["l"])]


@one_backend
async def test_bare_answer_does_not_go_astray_between_tasks(world, ledger):
    """`left` failed after its first answer and asks a second; `right` has a question open. Who is "r" for? LangGraph
    1.2.9 serves it to left's second question, which was never shown to anybody; 1.2.24 refuses it."""
    thread = await world.thread(
        fan(logging("left", "l1?", "l2?", ledger=ledger), logging("right", "r?", ledger=ledger))
    )
    assert await thread.start() == asks("l1?", "r?")
    POINTS.fail_at("after l1?")
    assert await thread.answer_by_id({"l1?": "l"}) == TROUBLE
    await thread.answer("r")
    assert ledger.fired("left") == []
    ids = await thread.ids()
    await thread.answer_by_id({q: "r" for q in ids if q == "r?"})
    await thread.go_on()
    await thread.answer_by_id({"l2?": "L"})
    assert sorted(ledger.fired()) == [("left", ["l", "L"]), ("right", ["r"])]


@one_backend
async def test_answer_given_twice_by_id_is_not_the_next_questions(world, ledger):
    """1.2.24 takes the id of a task's first question for any question of it (its own compatibility rule)."""
    thread = await world.thread(
        fan(logging("left", "l1?", "l2?", ledger=ledger), logging("right", "r?", ledger=ledger))
    )
    await thread.start()
    ids = await thread.ids()
    assert await thread.answer_by_id({"l1?": "l"}) == asks("l2?", "r?")
    if (await thread.ids())["l2?"] == ids["l1?"]:
        pytest.skip("LangGraph before 1.2.24 gives all questions of a task one id: a duplicate cannot be told")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RemitStrayResume)
        await thread.call(Command(resume={ids["l1?"]: "l", ids["r?"]: "r"}))
    assert ledger.fired("left") == []


@pytest.mark.parametrize("world", ["memory", "sqlite", "postgres"], indirect=True)
async def test_fan_out_with_one_failing(world, ledger):
    """Stock never gets past "bad". (Async, LangGraph cancels the siblings of a failed task in the middle of their
    work, and what they did is done again: no saver can know.)"""

    def work(state):
        value = accept(interrupt(f"{state['v']}?"))
        ledger.fire(str(state["v"]), value)
        return {"log": [[state["v"], value]]}

    def build(saver):
        graph = StateGraph(State)
        graph.add_node("work", work)
        graph.add_conditional_edges(START, lambda _: [Send("work", {"v": n}) for n in range(3)], ["work"])
        return graph.compile(checkpointer=saver)

    thread = await world.thread(build)
    assert await thread.start() == asks("0?", "1?", "2?")
    assert await thread.answer_by_id({"0?": "a", "1?": BAD, "2?": "c"}) == REFUSED
    await thread.answer_by_id({"1?": BAD})
    last = {q: v for q, v in {"0?": "a", "1?": "b", "2?": "c"}.items() if not ledger.fired(q[0])}
    assert await (await world.thread(build)).answer_by_id(last) == gives(None)
    assert sorted(ledger.fired()) == [("0", "a"), ("1", "b"), ("2", "c")]


async def test_cancelled_sibling_keeps_its_answer():
    """Async: one node fails, LangGraph cancels the other in the middle of its work."""
    from langgraph.checkpoint.memory import InMemorySaver

    started = asyncio.Event()
    seen = []

    async def slow(_):
        answer = interrupt("slow?")
        seen.append(answer)
        if len(seen) == 1:
            started.set()
            await asyncio.Event().wait()
        return {"log": [["slow", answer]]}

    async def quick(_):
        answer = interrupt("quick?")
        if answer == BAD:
            await started.wait()
        return {"log": [["quick", accept(answer)]]}

    graph = fan(("slow", slow), ("quick", quick))(RemitSaver(InMemorySaver()))
    config: Any = {"configurable": {"thread_id": "thread"}}
    result = await graph.ainvoke({"log": []}, config)
    ids = {q.value: q.id for q in result["__interrupt__"]}
    with pytest.raises(Refused):
        await graph.ainvoke(Command(resume={ids["slow?"]: "s", ids["quick?"]: BAD}), config)
    result = await graph.ainvoke(Command(resume={ids["quick?"]: "q"}), config)
    if "__interrupt__" in result:  # its answer was not durable: it may ask again, but not go on with another one
        result = await graph.ainvoke(Command(resume={ids["slow?"]: "s"}), config)
    assert sorted(result["log"]) == [["quick", "q"], ["slow", "s"]]


# -- a node that asks, and runs a graph that asks ------------------------------------------------------------------------


def asking_around(ledger):
    """A node that asks, calls a graph that asks, and asks again."""
    inner = nested(asking("child?", ledger=ledger, effect="child"), 0)(None)

    def node(_):
        first = accept(interrupt("first?"))
        point("after first?")
        child = inner.invoke({"log": []})["v"]
        point("after child")
        last = accept(interrupt("last?"))
        point("after last?")
        ledger.fire("parent", [first, child, last])
        return {"v": [first, child, last]}

    return node


@pytest.mark.parametrize("depth", [0, 1, 2])
@pytest.mark.parametrize("world", ["sqlite", "asqlite"], indirect=True)
async def test_parent_and_child_ask_and_refuse(world, ledger, depth):
    # stock: the first refusal is the end
    thread = await world.thread(nested(asking_around(ledger), depth))
    assert await thread.start() == asks("first?")
    assert await thread.answer(BAD) == REFUSED
    assert await thread.answer("f") == asks("child?")
    assert await thread.answer(BAD) == REFUSED
    assert await thread.answer_by_id({"child?": BAD}) == REFUSED
    assert await thread.answer("c") == asks("last?")
    assert await thread.answer(BAD) == REFUSED
    assert await thread.answer("l") == gives(["f", "c", "l"])
    assert ledger.fired() == [("child", ["c"]), ("parent", ["f", "c", "l"])]


@pytest.mark.parametrize("depth", [0, 1, 2])
@pytest.mark.parametrize("each", [True, False])
@one_backend
async def test_parents_question_is_not_answered_by_its_childs_answer(world, ledger, depth, each):
    """invoke(None) at each question, or only at the last, changes nothing. Stock serves "c" to "last?" (langgraph#8837)."""
    build = nested(asking_around(ledger), depth)
    thread = await world.thread(build)
    assert await thread.start() == asks("first?")
    if each:
        assert await thread.go_on() == asks("first?")
    assert await thread.answer("f") == asks("child?")
    if each:
        assert await thread.go_on() == asks("child?")
    assert await thread.answer("c") == asks("last?")
    assert await (await world.thread(build)).go_on() == asks("last?")
    assert await thread.answer("l") == gives(["f", "c", "l"])
    assert ledger.fired() == [("child", ["c"]), ("parent", ["f", "c", "l"])]


@pytest.mark.parametrize("depth", [0, 1, 2])
@pytest.mark.parametrize("where", ["after first?", "after child", "after last?"])
@one_backend
async def test_retry_of_a_parent_that_asks_around(world, ledger, depth, where):
    build = nested(asking_around(ledger), depth)
    thread = await world.thread(build)
    await thread.start()
    outcomes = []
    POINTS.fail_at(where)
    for answer in ("f", "c", "l"):
        outcomes.append(await thread.answer(answer))
        if outcomes[-1] == TROUBLE:
            outcomes.append(await (await world.thread(build)).go_on())
    assert [o for o in outcomes if o != TROUBLE] == [asks("child?"), asks("last?"), gives(["f", "c", "l"])]
    assert ledger.fired("child") == [["c"]]
    assert ledger.fired("parent")[-1] == ["f", "c", "l"]


@one_backend
async def test_two_children_of_one_node(world, ledger):
    """One node calls a graph twice."""
    inner = nested(asking("child?", "really?", ledger=ledger, effect="child"), 0)(None)

    def node(_):
        return {"v": [inner.invoke({"log": []})["v"] for _ in range(2)]}

    thread = await world.thread(nested(node, 0))
    assert await thread.start() == asks("child?")
    for answer, then in (
        (BAD, REFUSED), ("a", asks("really?")), (BAD, REFUSED), ("b", asks("child?")),
        (BAD, REFUSED), ("c", asks("really?")), (BAD, REFUSED), ("d", gives([["a", "b"], ["c", "d"]])),
    ):  # fmt: skip
        assert await thread.answer(answer) == then
    assert ledger.fired("child") == [["a", "b"], ["c", "d"]]


@one_backend
async def test_graph_with_a_thread_of_its_own_in_a_node(world, ledger):
    """The node carries the question out and the answer in. Stock serves "bad" to the inner thread for ever."""
    saver = await world.saver()
    inner = nested(asking("inner?", ledger=ledger), 0)(saver)

    def node(_):
        own: Any = {"configurable": {"thread_id": "own", "checkpoint_ns": ""}}
        asked = [q.value for t in inner.get_state(own).tasks for q in t.interrupts]
        if not asked:
            asked = [q.value for q in inner.invoke({"log": []}, own)["__interrupt__"]]
        return {"v": inner.invoke(Command(resume=interrupt(asked)), own)["v"]}

    graph = nested(node, 0)(saver)
    config: Any = {"configurable": {"thread_id": "outer"}}
    assert [q.value for q in graph.invoke({"log": []}, config)["__interrupt__"]] == [["inner?"]]
    with pytest.raises(Refused):
        graph.invoke(Command(resume=BAD), config)
    assert graph.invoke(Command(resume="good"), config)["v"] == "good"
    assert ledger.fired("effect") == [["good"]]


@one_backend
async def test_several_tasks_of_an_entrypoint(world, ledger):
    def build(saver):
        @task
        def ask(name):
            answer = accept(interrupt(f"{name}?"))
            ledger.fire(name, answer)
            return answer

        @entrypoint(checkpointer=saver)
        def workflow(_):
            return [ask("a").result(), accept(interrupt("b?")), ask("c").result()]

        return workflow

    thread = await world.thread(build)
    assert await thread.start() == asks("a?")
    for answer, then in (
        (BAD, REFUSED), ("a", asks("b?")), (BAD, REFUSED), (BAD, REFUSED), ("b", asks("c?")),
        (BAD, REFUSED), ("c", gives(["a", "b", "c"])),
    ):  # fmt: skip
        assert await thread.answer(answer) == then
    assert ledger.fired() == [("a", "a"), ("c", "c")]


# -- loops, routers, breakpoints, commands, retries ---------------------------------------------------------------------


@two_backends
async def test_loop_asks_again(world, ledger):
    # stock: the first refusal is the end
    def gate(state):
        answer = accept(interrupt(f"{len(state['log'])}?"))
        ledger.fire("effect", answer)
        return {"log": [answer]}

    def build(saver):
        graph = StateGraph(State)
        graph.add_node("gate", gate)
        graph.add_edge(START, "gate")
        graph.add_conditional_edges("gate", lambda state: "gate" if len(state["log"]) < 3 else END)
        return graph.compile(checkpointer=saver)

    thread = await world.thread(build)
    assert await thread.start() == asks("0?")
    for answer, then in (
        ("yes", asks("1?")), (BAD, REFUSED), ("yes", asks("2?")), (BAD, REFUSED), (BAD, REFUSED), ("yes", gives(None)),
    ):  # fmt: skip
        assert await thread.answer(answer) == then
    assert ledger.fired("effect") == ["yes", "yes", "yes"]


def routed(ledger, sibling=False):
    """A gate, and a router behind it that can fail; if wanted, a sibling that asks too."""

    def gate(_):
        answer = interrupt("pay?")
        ledger.fire("gate", answer)
        return {"v": answer}

    def route(_):
        point("router")
        return "pay"

    def pay(state):
        ledger.fire("pay", state["v"])
        return {"log": ["paid"]}

    def build(saver):
        graph = StateGraph(State)
        graph.add_node("gate", gate)
        graph.add_node("pay", pay)
        graph.add_edge(START, "gate")
        graph.add_conditional_edges("gate", route, ["pay"])
        if sibling:
            name, node = logging("sibling", "sibling?", ledger=ledger)
            graph.add_node(name, node)
            graph.add_edge(START, name)
        return graph.compile(checkpointer=saver)

    return build


@pytest.mark.parametrize("world", ["memory", "sqlite", "asqlite", "postgres"], indirect=True)
@pytest.mark.parametrize("again", [None, "no"])
async def test_router_that_failed_routes_after_recovery(world, ledger, again):
    # stock takes the failed gate for finished and ends unrouted (langgraph#8834): nobody pays
    build = routed(ledger)
    thread = await world.thread(build)
    assert await thread.start() == asks("pay?")
    POINTS.fail_at("router")
    assert await thread.answer("yes") == TROUBLE
    assert "v" not in (await thread.state()).values
    other = await world.thread(build)
    assert await (other.go_on() if again is None else other.answer(again)) == gives(again or "yes")
    assert ledger.fired("pay") == [again or "yes"]


@one_backend
async def test_router_that_failed_beside_a_parked_sibling(world, ledger):
    thread = await world.thread(routed(ledger, sibling=True))
    assert await thread.start() == asks("pay?", "sibling?")
    POINTS.fail_at("router")
    assert await thread.answer_by_id({"pay?": "yes"}) == TROUBLE
    assert await thread.go_on() == asks("sibling?")
    assert await thread.answer_by_id({"sibling?": "s"}) == gives("yes")
    assert ledger.fired("pay") == ["yes"]
    assert ledger.fired("sibling") == [["s"]]
    assert sorted(map(str, (await thread.state()).values["log"])) == ["['sibling', 's']", "paid"]


@pytest.mark.parametrize("world", ["memory", "postgres"], indirect=True)
async def test_guard_error_handler_takes_over(world, ledger):
    """A failed node whose handler took over is finished: neither runs again.

    The exceptions are kept: LangGraph 1.2.9 knows a handled exception by its `id()`, and takes a later question that
    is given the same address for handled too (on stock as well: the question is passed over)."""
    kept = []
    ask = asking("pay?", ledger=ledger)

    def gate(state):
        try:
            return ask(state)
        except Exception as error:
            kept.append(error)
            raise

    def build(saver):
        graph = StateGraph(State)
        graph.add_node(
            "gate",
            gate,
            error_handler=lambda _: Command(goto="after", update={"v": "handled"}),
        )
        graph.add_node("after", lambda state: {"v": [state["v"], accept(interrupt("after?"))]})
        graph.add_edge(START, "gate")
        return graph.compile(checkpointer=saver)

    thread = await world.thread(build)
    assert await thread.start() == asks("pay?")
    assert await thread.answer(BAD) == asks("after?")
    assert await thread.go_on() == asks("after?")
    assert await thread.answer("done") == gives(["handled", "done"])
    assert ledger.fired() == []


@one_backend
async def test_error_handler_that_asks(world):
    """The handler's answer is the handler's. (1.2.24 wants its id, since the node's old question counts as open.)"""

    def build(saver):
        graph = StateGraph(State)
        graph.add_node("gate", asking("pay?"), error_handler=lambda _: {"v": accept(interrupt("then what?"))})
        graph.add_edge(START, "gate")
        return graph.compile(checkpointer=saver)

    thread = await world.thread(build)
    assert await thread.start() == asks("pay?")
    assert await thread.answer(BAD) == asks("then what?")
    # the handler's task is not in get_state: its question's id is in a result
    [question] = thread.graph.invoke(None, thread.config)["__interrupt__"]
    assert question.value == "then what?"
    assert await thread.call(Command(resume={question.id: "refund"})) == gives("refund")


@one_backend
@pytest.mark.parametrize("shape", ["top", "subgraph"])
async def test_answer_survives_a_retry_policy(world, shape):
    """LangGraph 1.2.9 asks again in the second attempt, and then takes the answer; see DESIGN fact 18."""
    calls = []

    def node(_):
        answer = interrupt("pay?")
        calls.append(answer)
        if len(calls) == 1:
            raise ConnectionError("once")
        return {"v": accept(answer)}

    def build(saver):
        graph = StateGraph(State)
        policy = RetryPolicy(max_attempts=2, initial_interval=0.01, jitter=False)
        graph.add_node("gate", node, retry_policy=policy)
        graph.add_edge(START, "gate")
        inner = graph.compile(checkpointer=None if shape == "subgraph" else saver)
        if shape == "top":
            return inner
        outer = StateGraph(State)
        outer.add_node("child", inner)
        outer.add_edge(START, "child")
        return outer.compile(checkpointer=saver)

    thread = await world.thread(build)
    assert await thread.start() == asks("pay?")
    result = await thread.answer("yes")
    if result == asks("pay?"):
        result = await thread.answer("yes")
    assert result == gives("yes")
    assert set(calls) == {"yes"}


@pytest.mark.parametrize("world", ["memory", "sqlite", "apg"], indirect=True)
@pytest.mark.parametrize("stop", ["before", "after"])
async def test_static_breakpoint_before_a_node_that_asks(world, ledger, stop):
    """A bare answer passes a static breakpoint. At `interrupt_before`, LangGraph hands it to the node's own question
    too; if the node refuses it, it can be given again. Stock serves "bad" for ever."""

    def build(saver):
        graph = StateGraph(State)
        graph.add_node("first", lambda _: {"log": ["first"]})
        graph.add_node("gate", asking("pay?", ledger=ledger))
        graph.add_edge(START, "first")
        graph.add_edge("first", "gate")
        stops: Any = {"interrupt_before": ["gate"]} if stop == "before" else {"interrupt_after": ["first"]}
        return graph.compile(checkpointer=saver, **stops)

    thread = await world.thread(build)
    assert await thread.start() == gives(None)
    assert list((await thread.state()).next) == ["gate"]
    assert await thread.answer(BAD) == REFUSED
    assert await thread.answer(BAD) == REFUSED
    assert await (await world.thread(build)).answer("good") == gives("good")
    assert ledger.fired("effect") == [["good"]]


@one_backend
@pytest.mark.parametrize("go", [None, "go"])
async def test_guard_static_breakpoint_is_passed(world, go):
    def build(saver):
        graph = StateGraph(State)
        graph.add_node("gate", lambda _: {"v": "done"})
        graph.add_edge(START, "gate")
        return graph.compile(checkpointer=saver, interrupt_before=["gate"])

    thread = await world.thread(build)
    await thread.start()
    assert await (thread.go_on() if go is None else thread.answer(go)) == gives("done")


@one_backend
async def test_static_breakpoint_then_a_question_is_not_answered_by_the_click(world, ledger):
    """Guard: the click at the breakpoint was invoke(None); the question behind it is asked, refused, answered."""

    def build(saver):
        graph = StateGraph(State)
        graph.add_node("gate", asking("a?", "b?", ledger=ledger))
        graph.add_edge(START, "gate")
        return graph.compile(checkpointer=saver, interrupt_before=["gate"])

    thread = await world.thread(build)
    await thread.start()
    assert await thread.go_on() == asks("a?")
    assert await thread.answer("a") == asks("b?")
    assert await thread.go_on() == asks("b?")  # stock serves "a" (langgraph#8837)
    assert await thread.answer("b") == gives(["a", "b"])


@pytest.mark.parametrize("world", ["memory", "sqlite", "asqlite", "postgres"], indirect=True)
async def test_resume_with_an_update(world):
    # stock: "bad" for ever; 1.2.9 applies the first update twice
    thread = await world.thread(nested(asking("pay?"), 0))
    await thread.start()
    assert await thread.call(Command(resume=BAD, update={"log": ["one"]})) == REFUSED
    assert await thread.call(Command(resume="good", update={"log": ["two"]})) == gives("good")
    assert (await thread.state()).values["log"] == ["one", "two"]


@one_backend
async def test_resume_with_a_goto(world, ledger):
    def build(saver):
        graph = StateGraph(State)
        graph.add_node("gate", asking("pay?", ledger=ledger))
        graph.add_node("other", lambda _: {"log": ["other"]})
        graph.add_edge(START, "gate")
        return graph.compile(checkpointer=saver)

    thread = await world.thread(build)
    await thread.start()
    assert await thread.call(Command(resume=BAD, goto="other")) == REFUSED
    assert await thread.call(Command(resume="good", goto="other")) == gives("good")
    assert (await thread.state()).values["log"] == ["other"]
    assert ledger.fired("effect") == [["good"]]


# -- threads that LangGraph's own saver shares -----------------------------------------------------------------------


shared = pytest.mark.parametrize("world", ["memory", "sqlite", "apg"], indirect=True)


@shared
@pytest.mark.parametrize("shape", ["top", "subgraph2"])
async def test_thread_parked_by_stock(world, ledger, shape):
    build = SHAPES[shape](asking("a?", "b?", ledger=ledger))
    stock = await world.thread(build, stock=True)
    assert await stock.start() == asks("a?")
    thread = await world.thread(build)
    assert await thread.answer(BAD) == REFUSED
    assert await thread.answer("a") == asks("b?")
    assert await thread.go_on() == asks("b?")
    assert await thread.answer("b") == gives(["a", "b"])
    assert ledger.fired("effect") == [["a", "b"]]


@shared
@pytest.mark.parametrize("shape", ["top", "subgraph2"])
async def test_thread_failed_by_stock(world, ledger, shape):
    """Each answer goes to the question that was open when it was given."""
    build = SHAPES[shape](asking("a?", "b?", ledger=ledger))
    stock = await world.thread(build, stock=True)
    await stock.start()
    assert await stock.answer(BAD) == REFUSED
    thread = await world.thread(build)
    assert await thread.answer("a") == asks("b?")
    assert await thread.go_on() == asks("b?")
    assert await thread.answer("b") == gives(["a", "b"])
    assert ledger.fired("effect") == [["a", "b"]]


@shared
async def test_thread_failed_by_stock_at_its_second_question(world, ledger):
    build = nested(asking("a?", "b?", ledger=ledger), 0)
    stock = await world.thread(build, stock=True)
    await stock.start()
    assert await stock.answer("a") == asks("b?")
    assert await stock.answer(BAD) == REFUSED
    thread = await world.thread(build)
    assert await thread.answer(BAD) == REFUSED
    assert await thread.answer("b") == gives(["a", "b"])


@shared
async def test_thread_that_stock_retried_before_its_first_question(world):
    """Stock loaded "a", asked b?, and a retry failed before a?: the rows look as if "a" had been refused. REMIT cannot
    know which question is open; it must not serve the answer to a? to b?, nor the other way round."""
    build = nested(asking("a?", "b?"), 0)
    stock = await world.thread(build, stock=True)
    await stock.start()
    assert await stock.answer("a") == asks("b?")
    POINTS.fail_at("before")
    assert await stock.go_on() == TROUBLE
    thread = await world.thread(build)
    assert await thread.go_on() == asks("b?")
    assert await thread.answer("b") == gives(["a", "b"])


@shared
@pytest.mark.parametrize("shape", ["top", "subgraph2"])
async def test_stock_goes_on_with_a_thread_of_ours(world, ledger, shape):
    """A saver that is unwrapped again serves what was accepted, and asks what is open."""
    build = SHAPES[shape](asking("a?", "b?", ledger=ledger))
    thread = await world.thread(build)
    await thread.start()
    assert await thread.answer(BAD) == REFUSED
    stock = await world.thread(build, stock=True)
    assert await stock.go_on() == asks("a?")
    assert await thread.answer("a") == asks("b?")
    assert await thread.answer(BAD) == REFUSED
    assert await (await world.thread(build, stock=True)).answer("b") == gives(["a", "b"])
    assert ledger.fired("effect") == [["a", "b"]]


# -- what readers see ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("world", ["memory", "asqlite"], indirect=True)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("trouble", [None, "before", "after b?"])
async def test_get_state_shows_what_stock_would_show(world, shape, trouble):
    """Step by step, where stock is right: two threads in one store, the same calls, the same sights. A failure is of
    the node's own, and recovered with invoke(None). (After a failure between the questions stock gives the first
    answer to the second question.)"""
    build = SHAPES[shape](asking("a?", "b?"))
    threads = [await world.thread(build, stock=stock, id=f"stock {stock}") for stock in (True, False)]
    script = [("start", None), ("answer", "a"), ("answer", "b")]
    for name, value in script:
        sights = []
        for thread in threads:
            # (1.2.24 serves "a" to b? when a retry gets past a?: langgraph#8837)
            if trouble is not None and (value == "b" or (value == "a" and trouble == "before")):
                POINTS.fail_at(trouble)
            call = getattr(thread, name)
            result = await (call(value) if value is not None else call())
            shown = [(result, await thread.shown())]
            if result == TROUBLE:
                result = await thread.go_on()
                shown.append((result, await thread.shown()))
            sights.append(shown)
        assert sights[1] == sights[0]


@one_backend
async def test_answer_that_its_schema_refuses(world):
    """A guard: LangGraph 1.2.24 saves nothing of it, so that the question can be answered again."""
    if "response_schema" not in signature(interrupt).parameters:
        pytest.skip("this LangGraph has no response_schema")

    def node(_):
        return {"v": interrupt("how many?", response_schema=int)}

    thread = await world.thread(nested(node, 1))
    assert await thread.start() == asks("how many?")
    assert await thread.answer("many") == fails(ValidationError)
    assert await thread.answer_by_id({"how many?": "more"}) == fails(ValidationError)
    assert await thread.answer(3) == gives(3)


@one_backend
async def test_get_state_history_shows_what_stock_would_show(world):
    build = nested(asking("a?", "b?"), 0)
    histories = []
    for stock in (True, False):
        thread = await world.thread(build, stock=stock, id=f"stock {stock}")
        await thread.start()
        await thread.answer("a")
        await thread.answer("b")
        histories.append(
            [
                (s.values, s.next, s.metadata, [(t.name, t.error, [q.value for q in t.interrupts]) for t in s.tasks])
                for s in thread.graph.get_state_history(thread.config)
            ]
        )
    assert histories[1] == histories[0]


@one_backend
async def test_looking_changes_nothing(world):
    thread = await world.thread(nested(asking("a?", "b?"), 1))
    await thread.start()
    await thread.state()
    assert await thread.answer(BAD) == REFUSED
    for _ in range(3):
        await thread.state()
        list(thread.graph.get_state_history(thread.config))
        thread.graph.get_state(thread.config, subgraphs=True)
    assert await thread.answer("a") == asks("b?")
    thread.graph.get_state(thread.config, subgraphs=True)
    assert await thread.answer("b") == gives(["a", "b"])
