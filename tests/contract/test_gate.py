"""The consume gate inside one process: of the runs that would answer the same questions one does, and nobody who is
right is refused. Workers are threads, over async savers tasks, each with a saver and a connection of its own."""

from __future__ import annotations

import asyncio
import os
import threading
from typing import Any

import pytest
from forking import ThirdParty, address_of, answer, call, gates, row, said, saved, side_by_side, start
from gating import (
    CONFLICT,
    DAY_S,
    Hold,
    answered,
    becomes,
    begin,
    begin_to_wait,
    by_name,
    gated,
    hearts_of,
    states,
    trail,
)
from graphs import BAD, POINTS, REFUSED, SHAPES, STOCK, TROUBLE, State, asking, asks, fails, gives, nested, unsaved
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphRecursionError
from langgraph.graph import START, StateGraph
from langgraph.types import Command
from remit import RemitConfig, RemitConsumeConflict, RemitError, RemitSaver, RemitStrayResume
from remit.gate import Owner

pytestmark = pytest.mark.skipif(STOCK, reason="LangGraph's own savers have no gate")

STRAY = fails(RemitStrayResume)
ONE = pytest.mark.parametrize("world", ["sqlite"], indirect=True)
TWO = pytest.mark.parametrize("world", ["sqlite", "apg"], indirect=True)
RACES = [
    *((world, "async") for world in ("memory", "sqlite", "postgres", "amemory", "asqlite", "apg")),
    *((world, durability) for world in ("sqlite", "apg") for durability in ("sync", "exit")),
]


def one_gate(ledger: Any = None) -> Any:
    return nested(asking("q1", ledger=ledger), 0)


def fan(ledger: Any = None) -> Any:
    """Two gates in one superstep, which log what they were told."""
    return saved(side_by_side(a=logged("a", ledger), b=logged("b", ledger)))


def work(name: str, ledger: Any) -> Any:
    """A node that asks nothing."""

    def node(_: Any) -> None:
        POINTS("working")
        ledger.fire("work", name)

    return node


async def update(thread: Any, values: Any) -> None:
    if thread.is_async:
        await thread.graph.aupdate_state(thread.config, values)
    else:
        thread.graph.update_state(thread.config, values)


def logged(question: str, ledger: Any) -> Any:
    node = asking(question, ledger=ledger, effect=question)
    return lambda state: {"log": [node(state)["v"]]}


# -- racers --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("world", "durability"), RACES, indirect=["world"])
async def test_of_racers_one_runs_and_the_others_are_refused_before_anything_runs(world, durability, ledger):
    workers = [await gated(world, one_gate(ledger), durability=durability) for _ in range(4)]
    assert await workers[0].start() == asks("q1")
    hold = Hold("after q1")
    running = [begin(worker, answered(n)) for n, worker in enumerate(workers)]
    await hold.reached()
    losers, winner = set(running), None
    while len(losers) > 1:
        done, losers = await asyncio.wait(losers, return_when=asyncio.FIRST_COMPLETED)
        assert [task.result() for task in done] == [CONFLICT] * len(done)
    winner = losers.pop()
    hold.go()
    n = running.index(winner)
    assert await winner == gives(n)
    assert ledger.fired("effect") == [[n]]
    assert (await workers[n - 1].state()).values["v"] == n
    assert await states(workers[0]) == [("consumed", "consumed")]


@pytest.mark.parametrize("shape", SHAPES)
@TWO
async def test_in_every_shape_one_runs_a_failure_frees_and_the_second_question_is_open(world, shape, ledger):
    node = asking("q1", "q2", ledger=ledger)
    build = SHAPES[shape](node)
    first, second = await gated(world, build), await gated(world, build)
    assert await first.start() == asks("q1")
    hold = Hold("after q1")
    running = begin(first, answered("x"))
    await hold.reached()
    assert await second.answer("x") == CONFLICT
    hold.go()
    assert await running == asks("q2")
    POINTS.fail_at("after q2")
    assert await first.answer("y") == TROUBLE
    hold = Hold("after q2")
    running = begin(second, None)  # a retry
    await hold.reached()
    assert await first.go_on() == CONFLICT
    assert await first.answer("z") == CONFLICT
    hold.go()
    assert await running == gives(["x", "y"])
    assert ledger.fired("effect") == [["x", "y"]]


@ONE
async def test_a_subgraph_that_keeps_no_checkpoints(world, ledger):
    build = unsaved(asking("q1", ledger=ledger))
    first, second = await gated(world, build), await gated(world, build)
    await first.start()
    POINTS.fail_at("after q1")
    assert await first.answer("x") == TROUBLE
    hold = Hold("after q1")
    running = begin(first, answered("y"))
    await hold.reached()
    assert await second.answer("y") == CONFLICT
    hold.go()
    assert await running == gives("y")
    assert ledger.fired("effect") == [["y"]]


@TWO
async def test_two_answers_by_name_race(world, ledger):
    first, second = [await gated(world, one_gate(ledger)) for _ in range(2)]
    await first.start()
    command = await by_name(first, q1="yes")
    hold = Hold("after q1")
    running = begin(first, command)
    await hold.reached()
    assert await second.call(command) == CONFLICT
    hold.go()
    assert await running == gives("yes")
    assert await second.call(command) != CONFLICT  # a stray: it is nobody's rival now
    assert ledger.fired("effect") == [["yes"]]


@TWO
async def test_retries_of_a_failed_answer_race(world, ledger):
    first, second = [await gated(world, one_gate(ledger)) for _ in range(2)]
    await first.start()
    POINTS.fail_at("after q1")
    assert await first.answer("yes") == TROUBLE
    hold = Hold("after q1")
    running = begin(first, None)
    await hold.reached()
    assert await second.go_on() == CONFLICT
    hold.go()
    assert await running == gives("yes")
    assert ledger.fired("effect") == [["yes"]]


@ONE
async def test_a_retry_that_asks_again_gives_back_what_it_took(world):
    first, second = [await gated(world, one_gate()) for _ in range(2)]
    await first.start()
    assert await second.go_on() == asks("q1")
    assert await states(first) == [("free", "parked")]
    assert await first.answer("yes") == gives("yes")


@pytest.mark.parametrize("how", ["bare", "retry", "input", "update"])
@TWO
async def test_a_run_has_the_thread_to_itself_until_it_ends(world, how, ledger):
    """It has passed the gate, and executes the node after it: a duplicate must not run that again."""
    build = saved(row(asking("q1", ledger=ledger), work("next", ledger)))
    first, second = [await gated(world, build) for _ in range(2)]
    await first.start()
    hold = Hold("working")
    running = begin(first, answered("yes"))
    await hold.reached()
    if how == "update":
        with pytest.raises(RemitConsumeConflict):
            await update(second, {"log": ["note"]})
    else:
        assert await second.call({"bare": answered("yes"), "retry": None, "input": {"log": []}}[how]) == CONFLICT
    hold.go()
    assert await running == gives("yes")
    assert ledger.fired() == [("effect", ["yes"]), ("work", "next")]
    await update(second, {"log": ["note"]})
    assert (await first.state()).values["log"] == ["note"]


@TWO
async def test_a_node_after_the_gate_fails_and_is_run_again(world, ledger):
    build = saved(row(asking("q1", ledger=ledger), work("next", ledger)))
    first, second, third = [await gated(world, build) for _ in range(3)]
    await first.start()
    POINTS.fail_at("working")
    assert await first.answer("yes") == TROUBLE
    hold = Hold("working")
    running = begin(second, None)
    await hold.reached()
    assert await third.go_on() == CONFLICT
    hold.go()
    assert await running == gives("yes")
    assert ledger.fired() == [("effect", ["yes"]), ("work", "next")]


@TWO
async def test_of_two_first_inputs_one_starts_the_thread(world, ledger):
    first, second = [await gated(world, saved(row(work("first", ledger)))) for _ in range(2)]
    hold = Hold("working")
    running = begin(first, {"log": []})
    await hold.reached()
    assert await second.start() == CONFLICT
    hold.go()
    assert await running == gives(None)
    assert ledger.fired() == [("work", "first")]
    assert await second.start() == gives(None)  # the next input is another matter
    assert ledger.fired() == [("work", "first")] * 2


# -- nobody who is right is refused ----------------------------------------------------------------------------------


@pytest.mark.parametrize("world", ["memory", "sqlite", "postgres", "amemory", "asqlite", "apg"], indirect=True)
async def test_a_failed_node_frees_its_claim(world, ledger):
    first, second = [await gated(world, one_gate(ledger)) for _ in range(2)]
    await first.start()
    assert await first.answer(BAD) == REFUSED
    assert await states(second) == [("free", "failed")]
    assert await second.answer("yes") == gives("yes")
    assert await states(second) == [("free", "failed"), ("consumed", "consumed")]
    assert ledger.fired("effect") == [["yes"]]


@TWO
async def test_the_second_approver_of_a_fan_out(world, ledger):
    first, second = [await gated(world, fan(ledger)) for _ in range(2)]
    await first.start()
    a, b = await by_name(first, a=1), await by_name(first, b=2)
    hold = Hold("after a")
    running = begin(first, a)
    await hold.reached()
    assert await second.call(b) == CONFLICT  # both run the whole superstep
    hold.go()
    assert await running == asks("b")
    assert said(await call(second, b)) == [1, 2]
    assert ledger.fired() == [("a", [1]), ("b", [2])]
    assert [state for state, _ in await states(first)] == ["consumed", "consumed"]


@TWO
async def test_a_gate_that_fails_beside_one_that_parks_frees_both(world, ledger):
    first, second = [await gated(world, fan(ledger)) for _ in range(2)]
    await first.start()
    assert await first.call(await by_name(first, b=BAD)) == REFUSED
    assert said(await call(second, await by_name(second, a=1, b=2))) == [1, 2]
    assert sorted(ledger.fired()) == [("a", [1]), ("b", [2])]


@TWO
async def test_looking_takes_nothing(world):
    first, second = [await gated(world, one_gate()) for _ in range(2)]
    await first.start()
    for thread in (first, second):
        await thread.state()
        if world.is_async:
            assert [state async for state in thread.graph.aget_state_history(thread.config)]
        else:
            assert list(thread.graph.get_state_history(thread.config))
    assert await trail(first) == []
    assert await second.answer("yes") == gives("yes")


@TWO
async def test_a_run_that_only_inspects_takes_nothing(world):
    first, look = await gated(world, one_gate()), await gated(world, one_gate(), configurable={"remit_inspect": True})
    await first.start()
    assert await look.go_on() == asks("q1")
    assert await trail(first) == []
    hold = Hold("after q1")
    running = begin(first, answered("yes"))
    await hold.reached()
    assert (await look.state()).next
    hold.go()
    assert await running == gives("yes")


@pytest.mark.parametrize("edit", ["input", "update"])
@TWO
async def test_a_parked_thread_may_be_edited_unless_a_run_executes(world, edit, ledger):
    first, second = [await gated(world, one_gate(ledger)) for _ in range(2)]

    async def edits() -> Any:
        if edit == "input":
            return await second.call({"log": ["note"]})
        try:
            await update(second, {"log": ["note"]})
        except RemitConsumeConflict:
            return CONFLICT
        return asks("q1")

    await first.start()
    assert await edits() == asks("q1")
    if edit == "update":
        assert await second.go_on() == asks("q1")
    hold = Hold("after q1")
    running = begin(first, answered("yes"))
    await hold.reached()
    before = await second.shown()
    assert await edits() == CONFLICT
    assert await second.shown() == before
    hold.go()
    assert await running == gives("yes")
    assert (await second.state()).values["log"] == ["note"]
    assert ledger.fired("effect") == [["yes"]]


@TWO
async def test_a_subgraphs_state_may_be_edited_unless_a_run_executes(world, ledger):
    first, second = [await gated(world, nested(asking("q1", ledger=ledger), 1)) for _ in range(2)]
    await first.start()
    below: Any = (await first.state(subgraphs=True)).tasks[0].state.config

    async def edit(note: str) -> None:
        if second.is_async:
            await second.graph.aupdate_state(below, {"log": [note]})
        else:
            second.graph.update_state(below, {"log": [note]})

    await edit("while it waits")
    assert await second.go_on() == asks("q1")
    hold = Hold("after q1")
    running = begin(first, answered("yes"))
    await hold.reached()
    with pytest.raises(RemitConsumeConflict):
        await edit("while a run executes")
    hold.go()
    assert await running == gives("yes")
    assert ledger.fired("effect") == [["yes"]]
    assert (await second.state()).values["log"] == ["while it waits"]


@TWO
async def test_an_edit_closes_the_question_for_a_late_answer_only_once(world):
    first, second = [await gated(world, one_gate()) for _ in range(2)]
    await first.start()
    for _ in range(3):  # each input asks again, and each is free
        assert await second.call({"log": ["note"]}) == asks("q1")
    assert await first.answer("yes") == gives("yes")


@ONE
async def test_time_travel_stands_aside(world, ledger):
    build = gates("q1", "q2", ledger=ledger)
    first, second = [await gated(world, build) for _ in range(2)]
    await first.start()
    q1 = await address_of(first)
    assert await first.answer("one") == asks("q2")
    hold = Hold("after q2")
    running = begin(first, answered("two"))
    await hold.reached()
    # a fork, a retry and a look at an earlier checkpoint are nobody's rivals
    assert await answer(second, "other", q1) == ("asks", ["q2"])
    assert (await call(second, None, q1))["__interrupt__"]
    hold.go()
    await running
    assert sorted(ledger.fired("charge")) == ["one", "other", "two"]


@TWO
async def test_a_fork_that_is_named_is_delivered_once(world, ledger):
    build = gates("q1", "q2", ledger=ledger)
    first, second, third = [await gated(world, build) for _ in range(3)]
    await first.start()
    q1 = await address_of(first)
    await first.answer("one")
    at = {"remit_fork": "again", "checkpoint_id": q1["configurable"]["checkpoint_id"]}
    for thread in (second, third):
        thread.config["configurable"].update(at)
    hold = Hold("after q1")
    running = begin(second, answered("fork"))
    await hold.reached()
    assert await third.answer("fork") == CONFLICT
    hold.go()
    assert await running == asks("q2")
    assert ledger.fired("charge") == ["one", "fork"]
    assert await first.answer("two") == gives(None)  # the main line is free


@pytest.mark.parametrize("world", ["sqlite", "apg"], indirect=True)
async def test_an_answer_addressed_to_the_head_is_gated_once(world, ledger):
    """LangGraph 1.2.24 reads the head once more for an addressed run: that is no second resume."""
    first, second = [await gated(world, one_gate(ledger)) for _ in range(2)]
    await first.start()
    head = (await address_of(first))["configurable"]["checkpoint_id"]
    for thread in (first, second):
        thread.config["configurable"]["checkpoint_id"] = head
    hold = Hold("after q1")
    running = begin(first, answered("yes"))
    await hold.reached()
    assert await second.answer("yes") == CONFLICT
    hold.go()
    assert await running == gives("yes")
    assert ledger.fired("effect") == [["yes"]]
    assert len(await trail(first)) == 1


# -- waiting ---------------------------------------------------------------------------------------------------------


@TWO
async def test_who_waits_runs_after_a_failure(world, ledger):
    first = await gated(world, one_gate(ledger))
    second = await gated(world, one_gate(ledger), on_conflict="wait", conflict_timeout=DAY_S)
    await first.start()
    hold = Hold("after q1")
    POINTS.fail_at("after q1")
    running = begin(first, answered("yes"))
    await hold.reached()
    waiting = await begin_to_wait(second, answered("no"))
    hold.go()
    assert await running == TROUBLE
    assert await waiting == gives("no")
    assert ledger.fired("effect") == [["no"]]


@TWO
async def test_who_waits_finds_an_answered_thread(world, ledger):
    first = await gated(world, one_gate(ledger))
    second = await gated(world, one_gate(ledger), on_conflict="wait", conflict_timeout=DAY_S, on_stray="raise")
    await first.start()
    hold = Hold("after q1")
    running = begin(first, answered("yes"))
    await hold.reached()
    waiting = await begin_to_wait(second, answered("yes"))
    hold.go()
    assert await running == gives("yes")
    assert await waiting == STRAY
    assert ledger.fired("effect") == [["yes"]]


@pytest.mark.parametrize("named", [False, True], ids=["bare", "named"])
@TWO
async def test_who_waits_does_not_answer_the_next_question(world, named, ledger):
    build = gates("q1", "q2", ledger=ledger)
    first = await gated(world, build)
    second = await gated(world, build, on_conflict="wait", conflict_timeout=DAY_S)
    await first.start()
    duplicate = await by_name(first, q1="yes") if named else answered("yes")
    hold = Hold("after q1")
    running = begin(first, answered("yes"))
    await hold.reached()
    waiting = await begin_to_wait(second, duplicate)
    hold.go()
    assert await running == asks("q2")
    assert await waiting == (STRAY if named else CONFLICT)
    assert ledger.fired("charge") == ["yes"]


@TWO
async def test_who_waits_goes_on_with_the_other_question(world, ledger):
    first = await gated(world, fan(ledger))
    second = await gated(world, fan(ledger), on_conflict="wait", conflict_timeout=DAY_S)
    await first.start()
    a, b = await by_name(first, a=1), await by_name(first, b=2)
    hold = Hold("after a")
    running = begin(first, a)
    await hold.reached()
    waiting = await begin_to_wait(second, b)
    hold.go()
    assert await running == asks("b")
    assert await waiting == gives(None)  # all is answered
    assert ledger.fired() == [("a", [1]), ("b", [2])]


@TWO
async def test_who_waits_gives_up_in_the_end(world, ledger):
    first = await gated(world, one_gate(ledger))
    second = await gated(world, one_gate(ledger), on_conflict="wait", conflict_timeout=0.05)
    await first.start()
    hold = Hold("after q1")
    running = begin(first, answered("yes"))
    await hold.reached()
    assert await second.answer("yes") == CONFLICT
    hold.go()
    assert await running == gives("yes")


# -- the answer's id -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("gate", [True, False], ids=["gated", "ungated"])
@TWO
async def test_an_answer_with_an_id_is_delivered_once(world, gate, ledger):
    build = gates("q1", "q2", ledger=ledger)
    saver = await world.saver(cross_process_gate=gate)

    async def worker(id: str) -> Any:
        thread = await gated(world, build, configurable={"remit_answer_id": id}, cross_process_gate=gate)
        if not gate:  # without the gate an id is known to the savers of one object only
            thread.graph = build(saver)
        return thread

    first = await worker("click-1")
    assert await first.start() == asks("q1")
    assert await first.answer("yes") == asks("q2")
    # parked at the next gate, a bare duplicate would approve it
    assert await (await worker("click-1")).answer("yes") == STRAY
    assert await (await worker("click-1")).answer("no") == CONFLICT  # one id, two answers
    assert ledger.fired("charge") == ["yes"]
    assert await (await worker("click-2")).answer("yes") == gives(None)
    assert ledger.fired("charge") == ["yes", "yes"]


@TWO
async def test_an_answers_id_may_be_sent_again_until_it_is_answered(world, ledger):
    first, second = [await gated(world, one_gate(ledger), configurable={"remit_answer_id": "click"}) for _ in range(2)]
    await first.start()
    POINTS.fail_at("after q1")
    assert await first.answer("yes") == TROUBLE
    assert await second.answer("no") == CONFLICT
    assert await second.answer("yes") == gives("yes")
    assert ledger.fired("effect") == [["yes"]]
    assert [grant.answer_id for grant in await trail(first)] == ["click", "click"]


@ONE
async def test_answers_ids_of_other_threads_are_others(world):
    for id in ("one", "two"):
        thread = await gated(world, one_gate(), id=id, configurable={"remit_answer_id": "click"})
        await thread.start()
        assert await thread.answer("yes") == gives("yes")


@ONE
async def test_a_trail_holds_no_answers(world):
    thread = await gated(world, one_gate(), configurable={"remit_answer_id": "click"})
    await thread.start()
    await thread.answer("secret-word")
    assert "secret-word" not in repr(await trail(thread))


@pytest.mark.parametrize("id", ["", 7, True, b"x", "a\0b", "a\nb"], ids=repr)
@ONE
async def test_what_is_no_answer_id_is_refused(world, id):
    thread = await gated(world, one_gate())
    await thread.start()
    with pytest.raises(RemitError) as raised:
        await answer(thread, "yes", remit_answer_id=id)
    assert raised.value.code == "bad-answer-id"
    assert await thread.answer("yes") == gives("yes")


# -- what is said ----------------------------------------------------------------------------------------------------


@TWO
async def test_a_conflict_says_who_holds_what_since_when_and_until_when(world):
    first, second = [await gated(world, one_gate(), claim_lease=50.0) for _ in range(2)]
    ids = await start(first)
    head = (await address_of(first))["configurable"]["checkpoint_id"]
    hold = Hold("after q1")
    running = begin(first, answered("yes"))
    await hold.reached()
    with pytest.raises(RemitConsumeConflict) as raised:
        await answer(second, "yes")
    hold.go()
    await running
    error: Any = raised.value
    (grant,) = await trail(first)
    assert (error.thread, error.namespace, error.checkpoint) == ("thread", "", head)
    assert list(error.interrupts) == list(ids.values()) == list(grant.interrupts)
    assert isinstance(error.holder, Owner)
    assert error.holder.pid == os.getpid()
    assert int(error.since.timestamp() * 1e6) == pytest.approx(grant.since, abs=1)
    assert (error.lease_end - error.since).total_seconds() >= 50
    assert error.since.tzinfo is not None
    for part in (str(error.holder), head, "thread"):
        assert part in str(error)


@ONE
async def test_the_trail_tells_who_when_and_what_became_of_it(world):
    thread = await gated(world, gates("q1", "q2"))
    ids = await start(thread)
    assert await trail(thread) == []
    POINTS.fail_at("after q1")
    await thread.answer("x")
    await thread.answer("x")
    await thread.answer("y")
    grants = await trail(thread)
    assert [(g.state, g.outcome, g.fence) for g in grants] == [
        ("free", "failed", 1),
        ("consumed", "consumed", 2),
        ("consumed", "consumed", 1),
    ]
    assert [g.since for g in grants] == sorted(g.since for g in grants)
    assert all(g.since <= g.settled < g.lease_end for g in grants)
    assert grants[0].key == grants[1].key != grants[2].key
    assert list(grants[0].interrupts) == [ids["q1"]]


@TWO
async def test_a_person_may_release_what_a_run_holds(world, ledger):
    first, second = [await gated(world, one_gate(ledger)) for _ in range(2)]
    saver: Any = second.graph.checkpointer

    async def release() -> Any:
        return await saver.arelease("thread") if world.is_async else saver.release("thread")

    await first.start()
    assert await release() == []
    hold = Hold("end")
    running = begin(first, answered("old"))
    await hold.reached()
    assert [grant.fence for grant in await release()] == [1]
    assert await states(first) == [("free", "released")]
    assert await second.answer("new") == gives("new")
    hold.go()
    assert await running == CONFLICT  # what it was about to store is refused
    assert (await first.state()).values["v"] == "new"
    assert await release() == []
    assert await states(first) == [("free", "released"), ("consumed", "consumed")]


@pytest.mark.parametrize("world", ["memory", "sqlite", "postgres", "amemory", "asqlite", "apg"], indirect=True)
async def test_a_deleted_threads_claims_are_deleted(world):
    thread = await gated(world, one_gate(), configurable={"remit_answer_id": "click"})
    for _ in range(2):  # the same id may be used again: it is another thread
        await thread.start()
        assert await thread.answer("yes") == gives("yes")
        assert len(await trail(thread)) == 1
        saver: Any = thread.graph.checkpointer
        await saver.adelete_thread("thread") if world.is_async else saver.delete_thread("thread")
        assert await trail(thread) == []


@ONE
async def test_a_run_on_a_deleted_thread_stores_nothing(world):
    first, second = [await gated(world, one_gate()) for _ in range(2)]
    await first.start()
    hold = Hold("end")
    running = begin(first, answered("yes"))
    await hold.reached()
    second.graph.checkpointer.delete_thread("thread")
    hold.go()
    assert await running == CONFLICT
    assert (await second.state()).values == {}


# -- where the gate is ----------------------------------------------------------------------------------------------


@TWO
async def test_one_call_may_have_the_gate_or_not(world):
    ungated = {"cross_process_gate": False}
    on = {"configurable": {"cross_process_gate": True}}
    first, second = await gated(world, one_gate(), **ungated, **on), await gated(world, one_gate(), **ungated)
    third = await gated(world, one_gate(), **ungated, **on)
    await first.start()
    hold = Hold("after q1")
    running = begin(first, answered("yes"))
    await hold.reached()
    assert await third.answer("yes") == CONFLICT
    assert await second.answer("other") == gives("other")  # it did not ask for it
    hold.go()
    await running


@pytest.mark.parametrize("wrong", ["yes", 1, 0, [], {}], ids=repr)
@ONE
async def test_the_gate_of_a_call_is_on_or_off(world, wrong):
    thread = await gated(world, one_gate())
    await thread.start()
    with pytest.raises(RemitError) as raised:
        await answer(thread, "yes", cross_process_gate=wrong)
    assert raised.value.code == "bad-gate"
    assert await thread.answer("yes") == gives("yes")


def test_a_gate_without_a_store_is_refused() -> None:
    inner = ThirdParty(InMemorySaver())
    with pytest.raises(RemitError) as raised:
        RemitSaver(inner, cross_process_gate=True)
    assert raised.value.code == "gate-no-store"
    graph = one_gate()(RemitSaver(inner))
    config: Any = {"configurable": {"thread_id": "t"}}
    graph.invoke({"log": []}, config)
    with pytest.raises(RemitError) as raised:
        graph.invoke(Command(resume="yes"), {"configurable": {"thread_id": "t", "cross_process_gate": True}})
    assert raised.value.code == "gate-no-store"
    assert graph.invoke(Command(resume="yes"), config)["v"] == "yes"


@pytest.mark.parametrize(
    "option",
    [
        {"claim_lease": 0},
        {"claim_lease": float("inf")},
        {"claim_lease": 86_401},
        {"on_conflict": "ask"},
        {"conflict_timeout": -1},
        {"cross_process_gate": 1},
        {"claim_store": "redis"},
    ],
    ids=repr,
)
def test_a_wrong_option_is_refused(option: Any) -> None:
    with pytest.raises(RemitError) as raised:
        RemitSaver(InMemorySaver(), **option)
    assert raised.value.code == "bad-option"
    assert RemitSaver(InMemorySaver(), config=RemitConfig(cross_process_gate=True)).config.cross_process_gate


# -- staying alive ---------------------------------------------------------------------------------------------------


def hearts() -> list[str]:
    return hearts_of(threading.enumerate())


@TWO
async def test_a_long_node_keeps_its_claim(world):
    lease = 1.0
    first, second = [await gated(world, one_gate(), claim_lease=lease) for _ in range(2)]
    await first.start()
    hold = Hold("after q1")
    running = begin(first, answered("yes"))
    await hold.reached()

    async def outlived() -> bool:
        (grant,) = await trail(second)
        return bool(grant.state == "held" and grant.lease_end - grant.since > 2 * lease * 1e6)

    await becomes(True, outlived)
    hold.go()
    assert await running == gives("yes")


@pytest.mark.parametrize("world", ["memory", "sqlite", "amemory", "asqlite"], indirect=True)
async def test_no_thread_is_left_behind(world):
    threads = [await gated(world, one_gate(), id=str(n)) for n in range(3)]

    async def left() -> list[str]:
        return hearts()

    for thread in threads:
        await thread.start()
    await becomes([], left)
    holds = []
    for n, thread in enumerate(threads):
        holds.append((Hold("after q1"), begin(thread, answered(n))))
        await holds[-1][0].reached()
    assert len(hearts()) == (0 if world.is_async else 1)  # on a loop a timer does it
    for n, (hold, running) in enumerate(holds):
        hold.go()
        assert await running == gives(n)
    await becomes([], left)
    assert await threads[0].answer("again") != CONFLICT


# -- how a run may end ------------------------------------------------------------------------------------------------


@TWO
async def test_a_run_that_ends_at_a_limit_frees_its_claim(world):
    """It ends before its first checkpoint: by LangGraph's own limit of steps."""
    first, second = [await gated(world, one_gate()) for _ in range(2)]
    await first.start()
    POINTS.do_at("after q1", raise_(GraphRecursionError("limit")))
    assert await first.answer("yes") == fails(GraphRecursionError)
    assert await second.answer("yes") == gives("yes")


def raise_(error: BaseException) -> Any:
    def act() -> None:
        raise error

    return act


@ONE
async def test_a_run_that_nobody_ends_is_found_dead(world):
    """A stream that was left and forgotten: the claim is given back when Python drops it."""
    first, second = [await gated(world, one_gate()) for _ in range(2)]
    await first.start()
    stream = first.graph.stream(answered("x"), first.config, stream_mode="debug")
    next(stream)
    assert await states(second) == [("held", None)]
    del stream
    assert await second.answer("yes") == gives("yes")
    assert [state for state, _ in await states(second)] == ["free", "consumed"]


@ONE
async def test_a_breakpoint_after_the_gate(world, ledger):
    def build(saver: Any) -> Any:
        graph = StateGraph(State)
        graph.add_node("gate", asking("q1", ledger=ledger))
        graph.add_node("next", lambda state: ledger.fire("next"))
        graph.add_edge(START, "gate")
        graph.add_edge("gate", "next")
        return graph.compile(checkpointer=saver, interrupt_before=["next"])

    first, second = [await gated(world, build) for _ in range(2)]
    await first.start()
    await first.answer("yes")
    await second.go_on()
    assert ledger.fired() == [("effect", ["yes"]), ("next", None)]


@ONE
async def test_what_was_read_while_a_run_executed_is_read_again(world, ledger):
    """A duplicate reads while the answer's run is between two questions, and is late with its claim: by then the run
    is over, and a bare answer would be taken for the next question's."""
    first, second = [await gated(world, gates("q1", "q2", ledger=ledger)) for _ in range(2)]
    await first.start()
    claims = second.graph.checkpointer._protocol.gate._claims  # type: ignore[attr-defined]
    grant, reads, goes = claims.grant, threading.Event(), threading.Event()

    def late(*args: Any) -> Any:
        reads.set()
        assert goes.wait(60)
        return (yield from grant(*args))

    hold = Hold("before q2")
    running = begin(first, answered("yes"))
    await hold.reached()
    claims.grant = late
    duplicate = begin(second, answered("yes"))
    assert await asyncio.to_thread(reads.wait, 60)
    hold.go()
    assert await running == asks("q2")
    goes.set()
    assert await duplicate == CONFLICT
    assert ledger.fired("charge") == ["yes"]
    assert await first.answer("two") == gives(None)
