"""FI: the word `remit_fork` tells a fork from a retry, and which branch is meant. Branches are durable, and apart.

LangGraph has no such word: on the stock savers every call below is a resume of the thread's one line, so each test
that answers twice fails there at its second answer.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest
from crash import run_elsewhere, run_killed
from forking import (
    PROCESSES,
    ThirdParty,
    address_of,
    answer,
    call,
    fork_many,
    gate,
    gates,
    gates_with_ledger,
    labels,
    nest,
    ordinals,
    read,
    row,
    said,
    saved,
    side_by_side,
    start,
    states,
    two_in_one,
)
from graphs import POINTS, Trouble, asks
from langgraph.types import Command
from remit import RemitSaver, RemitStrayResume

pytestmark = pytest.mark.filterwarnings("error::remit.RemitStrayResume")

SOME = pytest.mark.parametrize("world", ["memory", "sqlite", "apg"], indirect=True)
MEMORY = pytest.mark.parametrize("world", ["memory", "amemory"], indirect=True)
DURABLE = pytest.mark.parametrize("world", ["sqlite", "postgres", "asqlite", "apg"], indirect=True)
DURABILITY = pytest.mark.parametrize("durability", ["sync", "async", "exit"])


# -- a token names a branch ----------------------------------------------------------------------------------------


@DURABILITY
async def test_the_same_token_is_the_same_branch(world, ledger, durability):
    """Two branches and the main line take turns at one node that asks twice."""
    thread = await world.thread(two_in_one(ledger), durability=durability)
    await start(thread)
    old = await address_of(thread)
    for token in "xy":
        assert await answer(thread, f"{token}1", old, remit_fork=token) == asks("q2")
    assert await answer(thread, "m1") == asks("q2")
    assert await answer(thread, "m2") == ["m1", "m2"]
    for token in "yx":
        assert await answer(thread, f"{token}2", old, remit_fork=token) == [f"{token}1", f"{token}2"]
    assert ledger.fired("charge") == [["m1", "m2"], ["y1", "y2"], ["x1", "x2"]]


@DURABILITY
async def test_a_branch_that_moved_on_is_found_again(world, durability):
    """By another connection, too."""
    thread = await world.thread(gates("q1", "q2", "q3"), durability=durability)
    await start(thread)
    old = await address_of(thread)
    for n in (1, 2, 3):
        for token in "xy":
            if world.store.backend != "memory":
                thread = await world.thread(gates("q1", "q2", "q3"), durability=durability)
            logged = [f"{token}{i}" for i in range(1, n + 1)]
            expected = logged if n == 3 else asks(f"q{n + 1}")
            assert await answer(thread, f"{token}{n}", old, remit_fork=token) == expected


@SOME
async def test_true_is_a_fresh_branch_each_time(world):
    thread = await world.thread(gates("q1", "q2"))
    await start(thread)
    old = await address_of(thread)
    for value in ("f1", "g1"):
        assert await answer(thread, value, old, remit_fork=True) == asks("q2")
        assert (await thread.state()).values["log"] == [value]


@SOME
async def test_a_redelivery_after_the_branch_ended_is_inert(world, ledger):
    thread = await world.thread(gates("q1", ledger=ledger))
    await start(thread)
    old = await address_of(thread)
    assert await answer(thread, "x1", old, remit_fork="x") == ["x1"]
    for value in ("x1", "other"):
        with pytest.warns(RemitStrayResume):
            assert await answer(thread, value, old, remit_fork="x") == ["x1"]
    assert ledger.fired("charge") == ["x1"]


@SOME
async def test_a_redelivery_by_name_after_the_branch_parked_again_is_inert(world, ledger):
    """By name it cannot be taken for an answer to the next question. (A bare one can, see fact 15 of the design.)"""
    thread = await world.thread(gates("q1", "q2", ledger=ledger))
    ids = await start(thread)
    old = await address_of(thread)
    assert await answer(thread, {ids["q1"]: "x1"}, old, remit_fork="x") == asks("q2")
    with pytest.raises(RemitStrayResume):
        await answer(thread, {ids["q1"]: "x1"}, old, remit_fork="x")
    assert ledger.fired("charge") == ["x1"]
    assert await answer(thread, "x2", old, remit_fork="x") == ["x1", "x2"]


@SOME
async def test_a_token_without_an_address_names_its_branch_for_ever(world, ledger):
    """The first call forks at the head. When it is delivered again, the head is the branch's own, which waits for the
    next answer or for none: the token must not name a second branch there."""
    thread = await world.thread(gates("q1", "q2", ledger=ledger))
    ids = await start(thread)
    old = await address_of(thread)
    assert await answer(thread, {ids["q1"]: "x1"}, remit_fork="x") == asks("q2")
    with pytest.raises(RemitStrayResume):
        await answer(thread, {ids["q1"]: "x1"}, remit_fork="x")
    assert await answer(thread, "x2", remit_fork="x") == ["x1", "x2"]
    with pytest.warns(RemitStrayResume):
        assert await answer(thread, "x2", remit_fork="x") == ["x1", "x2"]
    assert ledger.fired("charge") == ["x1", "x2"]
    assert await labels(thread) == {f"{old['configurable']['checkpoint_id']}.0": 2}


@MEMORY
async def test_a_token_without_an_address_is_found_after_another_branch_moved_the_head(world):
    thread = await world.thread(gates("q1", "q2"))
    await start(thread)
    old = await address_of(thread)
    assert await answer(thread, "x1", remit_fork="x") == asks("q2")
    assert await answer(thread, "y1", old, remit_fork="y") == asks("q2")
    assert await answer(thread, "y2") == ["y1", "y2"]
    assert await answer(thread, "x2", remit_fork="x") == ["x1", "x2"]


@MEMORY
async def test_a_token_is_the_checkpoints_own(world):
    """The same word at another address is another branch."""
    thread = await world.thread(gates("q1", "q2"))
    await start(thread)
    one = await address_of(thread)
    assert await answer(thread, "m1") == asks("q2")
    two = await address_of(thread)
    assert await answer(thread, "m2") == ["m1", "m2"]
    assert await answer(thread, "x1", one, remit_fork="x") == asks("q2")
    assert await answer(thread, "y2", two, remit_fork="x") == ["m1", "y2"]
    assert await answer(thread, "x2", one, remit_fork="x") == ["x1", "x2"]


@MEMORY
async def test_a_branch_that_was_edited_goes_on_from_the_edit(world):
    """`update_state` at the branch's newest checkpoint is part of the branch."""
    thread = await world.thread(gates("q1", "q2"))
    await start(thread)
    old = await address_of(thread)
    assert await answer(thread, "x1", old, remit_fork="x") == asks("q2")
    if thread.is_async:
        await thread.graph.aupdate_state(thread.config, {"log": ["edit"]})
    else:
        thread.graph.update_state(thread.config, {"log": ["edit"]})
    assert await answer(thread, "x2", old, remit_fork="x") == ["x1", "edit", "x2"]


@MEMORY
async def test_a_branch_that_only_looks_asks_again_and_can_then_be_answered(world):
    """A fork without an answer: the question is asked anew on the branch."""
    for depth in (0, 1):
        builder = row(gate("q1"), gate("q2"))
        thread = await world.thread(saved(nest(builder, depth)), id=f"depth {depth}")
        await start(thread)
        old = await address_of(thread)
        assert said(await call(thread, None, remit_fork="x")) == asks("q1")
        assert await answer(thread, "x1", remit_fork="x") == asks("q2")
        assert await answer(thread, "x2", old if depth else None, remit_fork="x") == ["x1", "x2"]


# -- branches are apart --------------------------------------------------------------------------------------------


@SOME
@pytest.mark.parametrize("named", [False, True])
async def test_the_main_line_of_a_subgraph_is_not_the_forks(world, named):
    """A fork parked further on in the subgraph, whose namespace it shares. The thread still shows the first question,
    and an answer to it must not be served to the fork's second one."""
    thread = await world.thread(saved(nest(row(gate("q1"), gate("q2")))))
    ids = await start(thread)
    old = await address_of(thread)
    for token in "xy":
        assert await answer(thread, f"{token}1", remit_fork=token) == asks("q2")
    assert await answer(thread, {ids["q1"]: "m1"} if named else "m1") == asks("q2")
    assert await answer(thread, "m2") == ["m1", "m2"]
    for token in "yx":
        assert await answer(thread, f"{token}2", old, remit_fork=token) == [f"{token}1", f"{token}2"]


@MEMORY
async def test_the_main_line_of_a_subgraph_is_not_the_finished_forks(world):
    """The fork ended in the subgraph, and another branch of the parent waits: the subgraph's newest checkpoint is
    not the main line's."""
    thread = await world.thread(saved(side_by_side(one=row(gate("q1")).compile(), two=gate("q2"))))
    ids = await start(thread)
    assert await answer(thread, {ids["q1"]: "x1"}, remit_fork="x") == asks("q2")
    assert await answer(thread, {ids["q1"]: "m1"}) == asks("q2")
    assert await answer(thread, {ids["q2"]: "m2"}) == ["m1", "m2"]


@MEMORY
async def test_the_main_line_of_a_subgraph_is_not_the_failed_forks(world, ledger):
    """The fork failed behind the subgraph's gate."""

    def behind(state):
        POINTS("behind")
        ledger.fire("behind", state["log"])
        return {}

    thread = await world.thread(saved(nest(row(gate("q1"), behind))))
    await start(thread)
    old = await address_of(thread)
    POINTS.fail_at("behind")
    with pytest.raises(Trouble):
        await answer(thread, "x1", remit_fork="x")
    assert await answer(thread, "m1") == ["m1"]
    assert await answer(thread, "x1", old, remit_fork="x") == ["x1"]
    assert ledger.fired("behind") == [["m1"], ["x1"]]


@MEMORY
async def test_a_fork_that_failed_leaves_the_main_line_alone(world):
    def picky(_):
        answer = gate("q1")(_)
        POINTS("check")
        return answer

    thread = await world.thread(saved(row(picky)))
    await start(thread)
    old = await address_of(thread)
    before = [read(state) for state in await states(thread)]
    POINTS.fail_at("check")
    with pytest.raises(Trouble):
        await answer(thread, "x1", remit_fork="x")
    assert [read(state) for state in await states(thread)] == before
    assert await answer(thread, "corrected", remit_fork="x") == ["corrected"]
    assert await answer(thread, "m1", old, remit_fork="y") == ["m1"]


@MEMORY
async def test_threads_with_the_same_token_have_nothing_to_do_with_each_other(world):
    one, two = [await world.thread(gates("q1"), id=name) for name in ("one", "two")]
    for thread in (one, two):
        await start(thread)
    assert await answer(one, "x1", remit_fork="x") == ["x1"]
    assert await answer(two, "y1", remit_fork="x") == ["y1"]


@SOME
async def test_a_deleted_thread_has_no_branches(world):
    thread = await world.thread(gates("q1"))
    await start(thread)
    old = await address_of(thread)
    assert await answer(thread, "x1", old, remit_fork="x") == ["x1"]
    saver = thread.graph.checkpointer
    if thread.is_async:
        await saver.adelete_thread("thread")
    else:
        saver.delete_thread("thread")
    await start(thread)
    assert await answer(thread, "z1", remit_fork="x") == ["z1"]


# -- crashes -------------------------------------------------------------------------------------------------------


@DURABLE
@pytest.mark.parametrize("again", ["x1", "corrected"])
async def test_a_token_is_entered_again_after_its_process_was_killed_in_the_gated_node(world, ledger, again):
    """The fork's answer was durable. The redelivery, or another answer, is served on the same branch; the branch
    fires once, the main line is as it was and goes on."""
    build, args = gates_with_ledger, (ledger.path, "q1")
    thread = await world.thread(build(*args))
    await start(thread)
    old = await address_of(thread)
    before = [read(state) for state in await states(thread)]
    word = {"configurable": {"remit_fork": "x", **pick(old)}, "durability": "sync"}
    run_killed(world.place, build, args, Command(resume="x1"), "after q1", **word)
    assert ledger.fired() == []
    assert [read(state) for state in await states(thread)] == before
    outcome = run_elsewhere(world.place, build, args, Command(resume=again), **word)
    assert outcome[0] == "gives", outcome
    assert ledger.fired("charge") == [again]
    assert (await thread.state()).values["log"] == [again]
    assert await answer(thread, "y1", old, remit_fork="y") == ["y1"]
    assert ledger.fired("charge") == [again, "y1"]


@DURABLE
async def test_the_main_line_goes_on_after_a_forks_process_was_killed(world, ledger):
    build, args = gates_with_ledger, (ledger.path, "q1")
    thread = await world.thread(build(*args))
    await start(thread)
    run_killed(
        world.place, build, args, Command(resume="x1"), "after q1", configurable={"remit_fork": "x"}, durability="sync"
    )
    assert said(await call(thread, None)) == asks("q1")
    assert await answer(thread, "m1") == ["m1"]
    assert ledger.fired("charge") == ["m1"]


@pytest.mark.parametrize("world", ["sqlite", "apg"], indirect=True)
async def test_a_branch_whose_process_was_killed_in_a_later_node_goes_on_there(world, ledger):
    """The branch has moved on; what it had finished is not run again."""
    build, args = gates_with_ledger, (ledger.path, "q1", "q2")
    thread = await world.thread(build(*args))
    await start(thread)
    old = await address_of(thread)
    assert await answer(thread, "x1", old, remit_fork="x") == asks("q2")
    word = {"configurable": {"remit_fork": "x", **pick(old)}, "durability": "sync"}
    run_killed(world.place, build, args, Command(resume="x2"), "after q2", **word)
    assert await answer(thread, "x2", old, remit_fork="x") == ["x1", "x2"]
    assert ledger.fired("charge") == ["x1", "x2"]


@pytest.mark.parametrize("world", ["sqlite", "apg"], indirect=True)
async def test_a_fork_of_a_subgraph_is_entered_again_after_a_kill(world, ledger):
    build, args = nested_with_ledger, (ledger.path,)
    thread = await world.thread(build(*args))
    await start(thread)
    old = await address_of(thread)
    assert await answer(thread, "m1") == asks("q2")
    word = {"configurable": {"remit_fork": "x", **pick(old)}, "durability": "sync"}
    run_killed(world.place, build, args, Command(resume="x2"), "after q2", **word)
    assert await answer(thread, "m2") == ["m1", "m2"]
    assert (await answer(thread, "x2", old, remit_fork="x"))[-1] == "x2"
    assert sorted(ledger.fired("charge")) == ["m1", "m2", "x2"]


def nested_with_ledger(path):
    from ledger import Ledger

    ledger = Ledger(path)
    return saved(nest(row(gate("q1", ledger), gate("q2", ledger))))


def pick(address):
    return {"checkpoint_id": address["configurable"]["checkpoint_id"]}


# -- ordinals ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("world", ["memory", "sqlite", "postgres"], indirect=True)
async def test_threads_that_fork_at_once_get_ordinals_without_gaps(world):
    thread = await world.thread(gates("q1"))
    await start(thread)
    old = await address_of(thread)
    graph, count = thread.graph, 12

    def fork(n):
        config = {"configurable": {**old["configurable"], "remit_fork": True}}
        return graph.invoke(Command(resume=f"f{n}"), config)["log"]

    with ThreadPoolExecutor(count) as pool:
        assert list(pool.map(fork, range(count))) == [[f"f{n}"] for n in range(count)]
    assert await ordinals(thread, old) == list(range(count))


@pytest.mark.parametrize("world", ["amemory", "asqlite", "apg"], indirect=True)
async def test_tasks_that_fork_at_once_get_ordinals_without_gaps(world):
    thread = await world.thread(gates("q1"))
    await start(thread)
    old = await address_of(thread)
    forks = [answer(thread, f"f{n}", old, remit_fork=True) for n in range(8)]
    assert await asyncio.gather(*forks) == [[f"f{n}"] for n in range(8)]
    assert await ordinals(thread, old) == list(range(8))


@pytest.mark.parametrize("world", ["sqlite", "postgres"], indirect=True)
@pytest.mark.parametrize("token", [None, "x"])
async def test_two_processes_that_fork_at_once(world, token):
    """Without a token, each fork has an ordinal of its own; one token has one ordinal, whoever uses it."""
    thread = await world.thread(gates("q1"))
    await start(thread)
    old = await address_of(thread)
    barrier = PROCESSES.Barrier(2)
    answers = [[f"{p}{n}" for n in range(4)] for p in "ab"]
    processes = [PROCESSES.Process(target=fork_many, args=(world.place, old, a, token, barrier)) for a in answers]
    for process in processes:
        process.start()
    for process in processes:
        process.join(90)
        assert process.exitcode == 0
    assert await ordinals(thread, old) == (list(range(8)) if token is None else [0])


@DURABLE
async def test_ordinals_are_durable(world):
    """Each fork by another connection, an abandoned one between them."""
    thread = await world.thread(gates("q1"))
    await start(thread)
    old = await address_of(thread)
    for n in range(3):
        again = await world.thread(gates("q1"))
        if n == 1:
            POINTS.fail_at("after q1")
            with pytest.raises(Trouble):
                await answer(again, "lost", old, remit_fork=True)
        assert await answer(again, f"f{n}", old, remit_fork=True) == [f"f{n}"]
    assert await ordinals(thread, old) == [0, 2, 3]


@MEMORY
async def test_a_look_at_a_branch_does_not_name_one(world):
    """Reading with the word in the config is reading."""
    thread = await world.thread(gates("q1"))
    await start(thread)
    config = {"configurable": {**thread.config["configurable"], "remit_fork": True}}
    for _ in range(3):
        state = await thread.graph.aget_state(config) if thread.is_async else thread.graph.get_state(config)
        assert state.next == ("n1",)
    old = await address_of(thread)
    assert await answer(thread, "f1", remit_fork=True) == ["f1"]
    assert await ordinals(thread, old) == [0]


@pytest.mark.parametrize("world", ["memory", "sqlite"], indirect=True)
@pytest.mark.parametrize("known", [True, False])
async def test_a_second_wrapper_of_a_saver_does_not_take_over_a_branch(world, known):
    """Over the same `InMemorySaver`, or, after a restart, over a third-party saver that keeps its rows: an ordinal
    that begins anew would be served what the first wrapper's fork was."""

    def build(saver):
        return gates("q1")(saver if known else RemitSaver(ThirdParty(saver.inner)))

    thread = await world.thread(build)
    await start(thread)
    old = await address_of(thread)
    assert await answer(thread, "m1") == ["m1"]
    for value in ("f1", "g1", "h1"):
        thread = await world.thread(build)
        assert await answer(thread, value, old) == [value]
