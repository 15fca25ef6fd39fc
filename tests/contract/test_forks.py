"""FD: a resume that is a fork is served its own value, on its own branch, and each branch has its own effects.

On the stock savers the first answer given at a checkpoint is served to every later one there, whoever gives it and
in whatever form (public report langgraph#6663, both version sets). Tests marked "guard" are right on stock, too.
"""

from __future__ import annotations

import re
from typing import Annotated, TypedDict

import pytest
from forking import (
    LANGGRAPH,
    address_of,
    answer,
    call,
    flow,
    gate,
    gates,
    nest,
    read,
    row,
    said,
    saved,
    side_by_side,
    start,
    states,
    two_in_one,
    work,
)
from graphs import BAD, State, accept, asks
from langgraph.graph import START, StateGraph
from langgraph.types import Command, Send, interrupt
from remit import RemitError, RemitStrayResume

pytestmark = pytest.mark.filterwarnings("error::remit.RemitStrayResume")

# one memory, one file, one server, and both ways of calling: what does not touch SQL need not run on all six
SOME = pytest.mark.parametrize("world", ["memory", "sqlite", "apg"], indirect=True)
MEMORY = pytest.mark.parametrize("world", ["memory", "amemory"], indirect=True)
DURABILITY = pytest.mark.parametrize("durability", ["sync", "async", "exit"])


# -- one question --------------------------------------------------------------------------------------------------


@DURABILITY
@pytest.mark.parametrize("named", [False, True])
async def test_each_answer_at_one_checkpoint_is_served_its_own(world, ledger, named, durability):
    """Stock serves yes, yes, yes; with durability exit it is right, since it stores nothing of an answer there."""
    thread = await world.thread(gates("q1", ledger=ledger), durability=durability)
    ids = await start(thread)
    old = await address_of(thread)
    for value in ("yes", "no", "maybe"):
        assert await answer(thread, {ids["q1"]: value} if named else value, old) == [value]
    assert ledger.fired("charge") == ["yes", "no", "maybe"]


@MEMORY
@pytest.mark.parametrize("value", [False, 0, "", [], None])
async def test_a_falsy_answer_forks_like_any_other(world, value):
    thread = await world.thread(gates("q1"))
    ids = await start(thread)
    old = await address_of(thread)
    assert await answer(thread, "yes") == ["yes"]
    assert await answer(thread, {ids["q1"]: value}, old) == [value]


@SOME
async def test_an_answer_that_failed_is_not_served_to_the_next_fork(world):
    """Nor is the next fork's to the one after it."""

    def node(_):
        return {"log": [accept(interrupt("q1"))]}

    thread = await world.thread(saved(row(node)))
    await start(thread)
    old = await address_of(thread)
    assert await answer(thread, "yes") == ["yes"]
    for _ in range(2):
        with pytest.raises(ValueError, match=BAD):
            await answer(thread, BAD, old)
        assert await answer(thread, "good", old) == ["good"]


@SOME
async def test_the_update_of_a_command_is_the_forks_own(world):
    thread = await world.thread(gates("q1"))
    await start(thread)
    old = await address_of(thread)
    assert said(await call(thread, Command(resume="yes", update={"log": ["main"]}))) == ["main", "yes"]
    assert said(await call(thread, Command(resume="no", update={"log": ["fork"]}), old)) == ["fork", "no"]


# -- where a fork forks from ---------------------------------------------------------------------------------------


@SOME
async def test_a_fork_at_the_head_leaves_the_earlier_answers_of_the_thread_alone(world):
    """The main line has answered one of two questions; the fork asks both, the main line goes on with its one."""
    thread = await world.thread(two_in_one())
    await start(thread)
    assert await answer(thread, "m1") == asks("q2")
    assert await answer(thread, "f1", remit_fork=True) == asks("q2")
    assert await answer(thread, "m2") == ["m1", "m2"]


@SOME
async def test_a_fork_of_a_fork(world):
    thread = await world.thread(gates("q1", "q2"))
    await start(thread)
    old = await address_of(thread)
    assert await answer(thread, "m1") == asks("q2")
    assert await answer(thread, "m2") == ["m1", "m2"]
    assert await answer(thread, "f1", old) == asks("q2")
    parked = await address_of(thread)
    assert await answer(thread, "f2") == ["f1", "f2"]
    assert await answer(thread, "g2", parked) == ["f1", "g2"]
    assert await answer(thread, "h2", parked) == ["f1", "h2"]
    assert await answer(thread, "h1", old) == asks("q2")


@SOME
async def test_without_forking_on_an_address_only_the_word_forks(world):
    def build(saver):
        saver = type(saver)(saver.inner, fork_on_explicit_checkpoint=False) if hasattr(saver, "inner") else saver
        return gates("q1")(saver)

    thread = await world.thread(build)
    await start(thread)
    old = await address_of(thread)
    assert await answer(thread, "yes") == ["yes"]
    assert await answer(thread, "no", old, remit_fork=True) == ["no"]
    assert await answer(thread, "maybe", old, remit_fork="token") == ["maybe"]


@MEMORY
async def test_guard_an_address_at_the_head_is_not_a_fork(world):
    """LangGraph Studio sends the head's id with every resume (public report langgraph PR#7561)."""
    for build in (two_in_one(), saved(nest(row(lambda _: {"log": [interrupt("q1"), interrupt("q2")]})))):
        thread = await world.thread(build, id=str(build))
        await start(thread)
        assert await answer(thread, "A", await address_of(thread)) == asks("q2")
        assert await answer(thread, "B", await address_of(thread)) == ["A", "B"]


@MEMORY
async def test_guard_an_address_at_the_head_keeps_the_answer_by_name_of_a_parallel_question(world):
    thread = await world.thread(saved(side_by_side(one=gate("q1"), two=gate("q2"))))
    ids = await start(thread)
    assert await answer(thread, {ids["q1"]: "A"}, await address_of(thread)) == asks("q2")
    assert await answer(thread, {ids["q2"]: "B"}, await address_of(thread)) == ["A", "B"]


# -- side by side --------------------------------------------------------------------------------------------------


@SOME
async def test_a_fork_that_answers_one_of_two_parallel_questions(world, ledger):
    """It waits for the other on its branch, where a bare answer then is enough; the thread is as it was."""
    build = saved(side_by_side(one=gate("q1", ledger), two=gate("q2", ledger), free=work("free", ledger)))
    thread = await world.thread(build)
    ids = await start(thread)
    old = await address_of(thread)
    before = [read(state) for state in await states(thread)]
    assert await answer(thread, {ids["q1"]: "x1"}, remit_fork="x") == asks("q2")
    assert await answer(thread, {ids["q2"]: "y2"}, remit_fork="y") == asks("q1")
    assert [read(state) for state in await states(thread)] == before
    assert await answer(thread, {ids["q1"]: "m1"}) == asks("q2")
    assert await answer(thread, "x2", remit_fork="x") == ["free", "x1", "x2"]
    assert await answer(thread, {ids["q1"]: "y1"}, old, remit_fork="y") == ["free", "y1", "y2"]
    again = [] if LANGGRAPH >= (1, 2, 24) else ["y2"]  # 1.2.9 runs what has finished again wherever a run is addressed
    assert sorted(ledger.fired("charge")) == sorted(["m1", "x1", "x2", "y1", "y2", *again])


@SOME
async def test_the_line_that_answered_one_parallel_question_goes_on_after_a_fork_parked(world):
    thread = await world.thread(saved(side_by_side(one=gate("q1"), two=gate("q2"))))
    ids = await start(thread)
    assert await answer(thread, {ids["q1"]: "m1"}) == asks("q2")
    assert await answer(thread, {ids["q2"]: "x2"}, remit_fork="x") == asks("q1")
    assert await answer(thread, "m2") == ["m1", "m2"]


@SOME
async def test_a_finished_sibling_is_not_run_again_on_a_fork(world, ledger):
    """LangGraph 1.2.9 runs it again wherever a run is addressed, even at the head: no saver can prevent that. Its
    outcome counts once in either case, and a fork without an address does not run it again. On the stock saver of
    1.2.24 a fork runs it again."""
    thread = await world.thread(saved(side_by_side(one=gate("q1"), free=work("free", ledger))))
    await start(thread)
    old = await address_of(thread)
    assert await answer(thread, "x", remit_fork="x") == ["free", "x"]
    assert ledger.fired("work") == ["free"]
    for value in ("y", "z"):
        assert await answer(thread, value, old) == ["free", value]
    assert len(ledger.fired("work")) == (1 if LANGGRAPH >= (1, 2, 24) else 3)


@SOME
async def test_a_fork_of_a_fan_out_by_send(world, ledger):
    def worker(state):
        if state["v"] == 0:
            ledger.fire("work", 0)
            return {"log": [0]}
        return {"log": [interrupt(f"q{state['v']}")]}

    builder = StateGraph(State).add_node("worker", worker)
    builder.add_conditional_edges(START, lambda _: [Send("worker", {"v": n}) for n in range(3)], ["worker"])
    thread = await world.thread(saved(builder))
    ids = await start(thread)
    old = await address_of(thread)
    assert await answer(thread, {ids["q1"]: "m1", ids["q2"]: "m2"}) == [0, "m1", "m2"]
    assert await answer(thread, {ids["q1"]: "x1", ids["q2"]: "x2"}, old) == [0, "x1", "x2"]
    assert await answer(thread, {ids["q2"]: "y2"}, old, remit_fork="y") == asks("q1")
    assert await answer(thread, "y1", old, remit_fork="y") == [0, "y1", "y2"]
    assert len(ledger.fired("work")) == (1 if LANGGRAPH >= (1, 2, 24) else 4)


# -- subgraphs -----------------------------------------------------------------------------------------------------


@SOME
@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("depth", [1, 2])
async def test_each_answer_to_a_subgraphs_question_is_served_its_own(world, ledger, depth, named):
    """What the subgraph had finished before it asked is not run again."""
    thread = await world.thread(saved(nest(row(work("pre", ledger), gate("q1", ledger)), depth)))
    ids = await start(thread)
    old = await address_of(thread)
    for value in ("yes", "no", "maybe"):
        assert await answer(thread, {ids["q1"]: value} if named else value, old) == ["pre", value]
    assert ledger.fired() == [("work", "pre"), ("charge", "yes"), ("charge", "no"), ("charge", "maybe")]


@MEMORY
@DURABILITY
async def test_forks_in_a_subgraph_whatever_the_durability(world, durability):
    thread = await world.thread(saved(nest(row(gate("q1"), gate("q2")))), durability=durability)
    await start(thread)
    old = await address_of(thread)
    for token in "xy":
        assert await answer(thread, f"{token}1", old, remit_fork=token) == asks("q2")
    for token in "xy":
        assert await answer(thread, f"{token}2", old, remit_fork=token) == [f"{token}1", f"{token}2"]


@SOME
@pytest.mark.parametrize("depth", [1, 2])
async def test_each_answer_to_the_question_of_a_subgraph_that_keeps_its_state(world, ledger, depth):
    """A subgraph compiled with `checkpointer=True` has one namespace for all its calls."""
    builder = nest(row(work("pre", ledger), gate("q1", ledger)), depth, checkpointer=True)
    thread = await world.thread(saved(builder))
    await start(thread)
    old = await address_of(thread)
    for value in ("yes", "no", "maybe"):
        assert await answer(thread, value, old) == ["pre", value]
    assert ledger.fired() == [("work", "pre"), ("charge", "yes"), ("charge", "no"), ("charge", "maybe")]


@MEMORY
async def test_two_branches_in_a_subgraph_that_keeps_its_state_do_not_meet(world):
    thread = await world.thread(saved(nest(row(gate("q1"), gate("q2")), checkpointer=True)))
    await start(thread)
    assert await answer(thread, "x1", remit_fork="x") == asks("q2")
    assert await answer(thread, "y1", remit_fork="y") == asks("q2")
    old = await address_of(thread)
    assert await answer(thread, "x2", old, remit_fork="x") == ["x1", "x2"]
    assert await answer(thread, "y2", old, remit_fork="y") == ["y1", "y2"]


@MEMORY
async def test_each_answer_to_the_question_of_a_graph_that_a_node_calls(world, ledger):
    inner = row(work("pre", ledger), gate("q1")).compile()
    thread = await world.thread(saved(row(lambda _: {"log": inner.invoke({"log": []})["log"]})))
    await start(thread)
    old = await address_of(thread)
    for value in ("yes", "no", "maybe"):
        assert await answer(thread, value, old) == ["pre", value]
    assert ledger.fired() == [("work", "pre")]


@MEMORY
async def test_a_fork_of_parallel_subgraphs_answers_one_at_a_time(world, ledger):
    one, two = (row(work(n, ledger), gate(f"q{n}")).compile() for n in (1, 2))
    thread = await world.thread(saved(side_by_side(one=one, two=two)))
    ids = await start(thread)
    old = await address_of(thread)
    for token in "xy":
        assert await answer(thread, {ids["q1"]: f"{token}1"}, old, remit_fork=token) == asks("q2")
    for token in "xy":
        assert await answer(thread, {ids["q2"]: f"{token}2"}, old, remit_fork=token) == [1, f"{token}1", 2, f"{token}2"]
    assert sorted(ledger.fired("work")) == [1, 2]


@MEMORY
async def test_a_fork_asks_again_what_the_main_line_answered_in_a_parallel_subgraph(world):
    """The main line has answered one of two. A fork that answers the other one waits for the first on its branch."""
    thread = await world.thread(saved(side_by_side(one=row(gate("q1")).compile(), two=row(gate("q2")).compile())))
    ids = await start(thread)
    assert await answer(thread, {ids["q1"]: "m1"}) == asks("q2")
    assert await answer(thread, {ids["q2"]: "x2"}, remit_fork="x") == asks("q1")
    assert await answer(thread, {ids["q1"]: "x1"}, remit_fork="x") == ["x1", "x2"]


@MEMORY
async def test_the_same_in_a_subgraph_where_only_the_word_forks(world):
    def build(saver):
        saver = type(saver)(saver.inner, fork_on_explicit_checkpoint=False) if hasattr(saver, "inner") else saver
        return saved(nest(row(gate("q1")), 2))(saver)

    thread = await world.thread(build)
    await start(thread)
    old = await address_of(thread)
    for value in ("yes", "no", "maybe"):
        assert await answer(thread, value, old, remit_fork=True) == [value]


@MEMORY
async def test_guard_an_answer_at_a_subgraphs_own_checkpoint_is_for_the_question_it_asks(world):
    """`get_state(subgraphs=True)` gives the address. The subgraph has asked twice since: the parent shows the second
    question, the address is the first one's."""
    thread = await world.thread(saved(nest(row(gate("q1"), gate("q2")))))
    await start(thread)
    graph, sub = thread.graph, {"subgraphs": True}
    at_head = await graph.aget_state(thread.config, **sub) if thread.is_async else graph.get_state(thread.config, **sub)
    inside = at_head.tasks[0].state.config
    assert await answer(thread, "m1") == asks("q2")
    assert await answer(thread, "m2") == ["m1", "m2"]
    assert await answer(thread, "f1", inside) == asks("q2")


# -- the functional API --------------------------------------------------------------------------------------------


@SOME
async def test_forks_of_a_workflow_that_waits_for_its_first_answer(world, ledger):
    thread = await world.thread(flow(ledger))
    await start_flow(thread)
    for token in "xy":
        assert await answer(thread, f"{token}1", remit_fork=token) == asks("q2")
    for token in "xy":
        assert await answer(thread, f"{token}2", await fork_point(thread), remit_fork=token) == served(token)
        assert LANGGRAPH < (1, 2, 24) or ledger.fired("charge") == ["order"]


@MEMORY
@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("finished", [False, True])
async def test_a_fork_of_a_workflow_that_has_recorded_an_answer(world, ledger, named, finished):
    """Its tasks asked one after the other at one checkpoint, so a bare answer is for the one that asks first."""
    thread = await world.thread(flow(ledger))
    first = await start_flow(thread)
    old = await address_of(thread)
    assert await answer(thread, "m1") == asks("q2")
    if finished:
        assert await answer(thread, "m2") == ["receipt", "m1", "m2"]
    value = {first["q1"]: "f1"} if named else "f1"
    if finished and not named and LANGGRAPH < (1, 2, 24):
        # it would serve an addressed bare answer to both tasks, see below: the answer must be named
        with pytest.raises(RuntimeError, match="multiple pending interrupts"):
            await answer(thread, value, old, remit_fork="f")
        return
    assert await answer(thread, value, old if finished else None, remit_fork="f") == asks("q2")
    if not finished:
        assert await answer(thread, "m2") == ["receipt", "m1", "m2"]


@MEMORY
async def test_an_addressed_bare_answer_to_a_workflow(world, ledger):
    """LangGraph 1.2.9 runs the finished tasks of an addressed workflow again, and loses meanwhile that the answer
    was consumed: both questions get it, at the head too. It is never written where a saver could hide it."""
    thread = await world.thread(flow(ledger))
    await start_flow(thread)
    outcome = await answer(thread, "m1", await address_of(thread))
    assert outcome == (asks("q2") if LANGGRAPH >= (1, 2, 24) else ["receipt", "m1", "m1"])


async def start_flow(thread):
    result = await call(thread, "order")
    return {question.value: question.id for question in result["__interrupt__"]}


async def fork_point(thread):
    """The checkpoint at which the workflow asked: its only one, until it returns."""
    return next(state for state in await states(thread) if state.next).config


def served(token):
    return ["receipt", f"{token}1", f"{token}2"]


# -- streaming -----------------------------------------------------------------------------------------------------


@SOME
@pytest.mark.parametrize("mode", ["values", "updates", "debug"])
async def test_a_fork_can_be_streamed(world, mode):
    thread = await world.thread(gates("q1"))
    await start(thread)
    old = await address_of(thread)
    for value in ("yes", "no"):
        if thread.is_async:
            stream = [event async for event in thread.graph.astream(Command(resume=value), old, stream_mode=mode)]
        else:
            stream = list(thread.graph.stream(Command(resume=value), old, stream_mode=mode))
        assert repr([value]) in repr(stream)
        assert (await thread.state()).values["log"] == [value]
        assert ours_in(stream) == []


@MEMORY
async def test_an_abandoned_stream_of_a_fork_leaves_the_next_fork_alone(world):
    thread = await world.thread(gates("q1", "q2"))
    await start(thread)
    old = await address_of(thread)
    if thread.is_async:
        stream = thread.graph.astream(Command(resume="gone"), old)
        await stream.__anext__()
        await stream.aclose()
    else:
        stream = thread.graph.stream(Command(resume="gone"), old)
        next(stream)
        stream.close()
    assert await answer(thread, "f1", old) == asks("q2")
    assert (await thread.state()).values["log"] == ["f1"]


# -- what others see -----------------------------------------------------------------------------------------------


def ours_in(value):
    """What REMIT keeps for itself, wherever it shows. The user's own word, which LangGraph keeps, does not count."""
    return [word for word in re.findall(r"\w*remit\w*", repr(value)) if word != "remit_fork"]


@SOME
async def test_states_after_forks_are_what_langgraph_would_show(world):
    """The addressed checkpoint shows the main line; the branches are checkpoints among the others."""
    thread = await world.thread(gates("q1", "q2"))
    await start(thread)
    old = await address_of(thread)
    await answer(thread, "m1")
    await answer(thread, "m2")
    before = [read(state) for state in await states(thread)]
    for value in ("f1", "g1"):
        await answer(thread, value, old)
    after = [read(state) for state in await states(thread)]
    new, kept = after[: -len(before)], after[-len(before) :]
    assert kept == before
    assert [(parent, values["log"]) for _, parent, values, _, _ in new] == [
        (old["configurable"]["checkpoint_id"], ["g1"]),
        (old["configurable"]["checkpoint_id"], ["f1"]),
    ]
    assert [tasks for _, _, _, tasks, _ in new] == [[("n2", "None", ["q2"], "None")]] * 2
    assert ours_in(await states(thread)) == []


@SOME
async def test_a_stock_saver_on_the_same_database_answers_the_main_line_as_if_there_were_no_fork(world):
    """The fork is parked at the main line's checkpoint. (In a subgraph a stock saver cannot tell the lines apart: it
    takes the newest checkpoint of the subgraph's namespace, whoever's it is; docs/guides/adopting.md says so.)"""
    thread = await world.thread(two_in_one())
    await start(thread)
    assert await answer(thread, "x1", remit_fork="x") == asks("q2")
    stock = await world.thread(two_in_one(), stock=True)
    assert await answer(stock, "m1") == asks("q2")
    assert await answer(stock, "m2") == ["m1", "m2"]


@SOME
async def test_a_stock_saver_on_the_same_database_shows_and_continues_finished_branches(world):
    thread = await world.thread(gates("q1", "q2"))
    await start(thread)
    old = await address_of(thread)
    await answer(thread, "m1")
    await answer(thread, "f1", old)
    stock = await world.thread(gates("q1", "q2"), stock=True)
    assert [q.value for t in (await stock.state()).tasks for q in t.interrupts] == ["q2"]
    assert await answer(stock, "f2") == ["f1", "f2"]


# -- guards --------------------------------------------------------------------------------------------------------


@SOME
async def test_guard_time_travel_asks_again(world):
    thread = await world.thread(gates("q1", "q2"))
    await start(thread)
    old = await address_of(thread)
    await answer(thread, "m1")
    await answer(thread, "m2")
    assert said(await call(thread, None, old)) == asks("q1")
    assert await answer(thread, "t1") == asks("q2")
    assert await answer(thread, "t2") == ["t1", "t2"]


@SOME
async def test_time_travel_between_forks_asks_again_and_leaves_them_alone(world):
    thread = await world.thread(gates("q1"))
    await start(thread)
    old = await address_of(thread)
    assert await answer(thread, "m1") == ["m1"]
    assert await answer(thread, "f1", old) == ["f1"]
    assert said(await call(thread, None, old)) == asks("q1")
    assert await answer(thread, "t1") == ["t1"]
    assert await answer(thread, "g1", old) == ["g1"]


@SOME
async def test_guard_a_state_updated_at_an_old_checkpoint_asks_again(world):
    thread = await world.thread(gates("q1"))
    await start(thread)
    old = await address_of(thread)
    await answer(thread, "m1")
    if thread.is_async:
        edited = await thread.graph.aupdate_state(old, {"log": ["edit"]})
    else:
        edited = thread.graph.update_state(old, {"log": ["edit"]})
    assert said(await call(thread, None, edited)) == asks("q1")
    assert await answer(thread, "u1") == ["edit", "u1"]
    assert [state.values["log"] for state in await states(thread) if not state.next] == [["edit", "u1"], ["m1"]]


@SOME
async def test_an_edited_state_can_be_answered_twice(world):
    thread = await world.thread(gates("q1"))
    await start(thread)
    old = await address_of(thread)
    if thread.is_async:
        edited = await thread.graph.aupdate_state(old, {"log": ["edit"]})
    else:
        edited = thread.graph.update_state(old, {"log": ["edit"]})
    for value in ("u1", "v1"):
        assert await answer(thread, value, edited) == ["edit", value]


@MEMORY
@pytest.mark.parametrize("input", [None, Command(resume="go")])
async def test_guard_a_static_breakpoint_can_be_passed_again(world, ledger, input):
    """The node behind it runs on every branch."""
    build = saved(row(work("n1", ledger), work("n2", ledger)), interrupt_before=["n2"])
    thread = await world.thread(build)
    await call(thread, {"log": []})
    old = await address_of(thread)
    for count in (1, 2, 3):
        assert said(await call(thread, input, old)) == ["n1", "n2"]
        assert ledger.fired("work") == ["n1"] + ["n2"] * count


@MEMORY
async def test_the_node_behind_a_static_breakpoint_runs_on_each_fork(world, ledger):
    build = saved(row(work("n1", ledger), work("n2", ledger)), interrupt_before=["n2"])
    thread = await world.thread(build)
    await call(thread, {"log": []})
    old = await address_of(thread)
    for count, token in enumerate("xy", 1):
        assert await answer(thread, "go", old, remit_fork=token) == ["n1", "n2"]
        assert ledger.fired("work") == ["n1"] + ["n2"] * count


@MEMORY
async def test_a_fork_of_a_thread_with_delta_channels_is_durable_or_refused(world):
    """The state of such a thread is made of rows by channel, and a stock saver ignores the fork's (m1 is served and
    stored). What a fork returns must be what the thread then holds."""
    delta = pytest.importorskip("langgraph.channels.delta", reason="this LangGraph has no DeltaChannel")

    def extend(old, writes):
        return (old or []) + [x for write in writes for x in write]

    # not a class: the annotation's names are this function's
    Delta = TypedDict("Delta", {"log": Annotated[list, delta.DeltaChannel(extend)]}, total=False)  # noqa: UP013
    builder = StateGraph(Delta).add_node("n1", gate("q1")).add_node("n2", gate("q2"))
    builder.add_edge(START, "n1").add_edge("n1", "n2")
    thread = await world.thread(saved(builder))
    await start(thread)
    old = await address_of(thread)
    assert await answer(thread, "m1") == asks("q2")
    try:
        assert await answer(thread, "f1", old) == asks("q2")
    except RemitError:
        assert await answer(thread, "m2") == ["m1", "m2"]
        return
    assert (await thread.state()).values["log"] == ["f1"]
    assert await answer(thread, "f2") == ["f1", "f2"]


# -- bad words -----------------------------------------------------------------------------------------------------


@SOME
@pytest.mark.parametrize("bad", ["", 0, 1, 1.5, b"x", [], {}, ("x",)], ids=repr)
async def test_a_bad_word_is_refused_and_nothing_is_stored(world, ledger, bad):
    thread = await world.thread(gates("q1", ledger=ledger))
    await start(thread)
    before = [read(state) for state in await states(thread)]
    with pytest.raises(RemitError, match="remit_fork must be"):
        await answer(thread, "x", remit_fork=bad)
    assert [read(state) for state in await states(thread)] == before
    assert ledger.fired() == []
    assert await answer(thread, "m1") == ["m1"]


@pytest.mark.parametrize("world", ["memory", "sqlite", "postgres", "apg"], indirect=True)
@pytest.mark.parametrize("token", ["a'b\"c", "|f.|a0", "%s ? :x", "\u00e9\U0001f642"], ids=ascii)
async def test_an_odd_token_is_a_token(world, token):
    thread = await world.thread(gates("q1", "q2"))
    await start(thread)
    old = await address_of(thread)
    assert await answer(thread, "a", old, remit_fork=token) == asks("q2")
    assert await answer(thread, "b", old, remit_fork=token) == ["a", "b"]


@pytest.mark.parametrize("world", ["memory", "sqlite", "postgres", "apg"], indirect=True)
@pytest.mark.parametrize("token", ["nul\0nul", "\ud800", "x" * 100_000], ids=["nul", "surrogate", "long"])
async def test_a_token_that_a_database_cannot_hold_is_refused_and_nothing_is_stored(world, ledger, token):
    """Where it can, it is a token like any other."""
    thread = await world.thread(gates("q1", "q2", ledger=ledger))
    await start(thread)
    old = await address_of(thread)
    before = [read(state) for state in await states(thread)]
    try:
        assert await answer(thread, "a", old, remit_fork=token) == asks("q2")
    except RemitError:
        assert [read(state) for state in await states(thread)] == before
        assert ledger.fired() == []
        assert await answer(thread, "m1") == asks("q2")
    else:
        assert await answer(thread, "b", old, remit_fork=token) == ["a", "b"]


@MEMORY
async def test_false_does_not_fork(world):
    thread = await world.thread(two_in_one())
    await start(thread)
    assert await answer(thread, "m1", remit_fork=False) == asks("q2")
    assert await answer(thread, "m2", remit_fork=False) == ["m1", "m2"]


@SOME
async def test_a_fork_at_a_checkpoint_that_does_not_exist_is_refused(world, ledger):
    thread = await world.thread(gates("q1", ledger=ledger))
    await start(thread)
    before = [read(state) for state in await states(thread)]
    nowhere = {"configurable": {"thread_id": "thread", "checkpoint_ns": "", "checkpoint_id": "1" * 36}}
    for word in ({}, {"remit_fork": True}, {"remit_fork": "x"}):
        with pytest.raises(RemitStrayResume):
            await answer(thread, "x", nowhere, **word)
    assert [read(state) for state in await states(thread)] == before
    assert await answer(thread, "m1") == ["m1"]
