"""Two runs on one thread without the gate: of two that would take one checkpoint on, in whatever processes, one is
refused when it stores, and whoever is right is not. With `detect_overtaken="database"`."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from typing import Any

import pytest
from gating import DEADLINE_S, Elsewhere, answered
from graphs import POINTS, REFUSED, SHAPES, STOCK, State, Thread, asking, asks, fails, gives, nested, point
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt
from ledger import Ledger
from remit import RemitError, RemitOrderViolation, RemitSaver

pytestmark = pytest.mark.skipif(STOCK, reason="about what REMIT says")

OVERTAKEN = fails(RemitOrderViolation)
SHARED = pytest.mark.parametrize("world", ["sqlite", "postgres", "asqlite", "apg"], indirect=True)
SOME = pytest.mark.parametrize("world", ["memory", "sqlite", "apg"], indirect=True)
LOOKS = {"detect_overtaken": "database"}
HERE = {**LOOKS, "cross_process_gate": False}


def working() -> Any:
    """Notes its input, at a point of its own."""

    def build(saver: Any) -> Any:
        def work(state: Any) -> Any:
            point(f"work {state['v']}")
            return {"log": [state["v"]]}

        graph = StateGraph(State)
        graph.add_node("work", work)
        graph.add_edge(START, "work")
        return graph.compile(checkpointer=saver)

    return build


async def looking(world: Any, build: Any, **options: Any) -> Thread:
    return Thread(build(await world.saver(**LOOKS)), world.is_async, **options)


def elsewhere(world: Any, build: Any, args: Any, input: Any, **options: Any) -> Elsewhere:
    return Elsewhere(world.place, build, args, input, saver=HERE, **options)


@SHARED
@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
async def test_a_run_that_another_process_overtook_is_refused(world, durability):
    thread = await looking(world, working(), durability=durability)
    assert await thread.call({"v": "first"}) == gives("first")
    slow = elsewhere(world, working, (), {"v": "slow"}, stops=("work slow",), durability=durability)
    await slow.go_to("work slow")
    outcomes = [await thread.call({"v": "fast"}), await slow.ends()]
    # with durability="async" it is open whether the slow one's input is in the database when the fast one reads
    if durability != "async":
        assert outcomes == [gives("fast"), OVERTAKEN]
    assert sorted(outcome == OVERTAKEN for outcome in outcomes) == [False, True], outcomes
    won, lost = ("fast", "slow") if outcomes[1] == OVERTAKEN else ("slow", "fast")
    assert (await thread.state()).values["log"] == ["first", won]
    # the loser's input again: nothing stands in its way
    again = elsewhere(world, working, (), {"v": lost}, durability=durability)
    assert await again.ends() == gives(lost)
    assert (await thread.state()).values["log"] == ["first", won, lost]


@SHARED
async def test_of_two_processes_that_answer_one_question_one_is_told(world, ledger):
    build = (asking("q", ledger=ledger), 0)
    thread = await looking(world, nested(*build))
    assert await thread.start() == asks("q")
    calls = [elsewhere(world, answering, (str(ledger.path),), answered(v), stops=("after q",)) for v in "ab"]
    for call in calls:
        await call.go_to("after q")
    assert await calls[0].ends() == gives("a")
    assert await calls[1].ends() == OVERTAKEN
    assert (await thread.state()).values["v"] == "a"
    assert ledger.fired("effect") == [["a"], ["b"]]  # without the gate both have acted; now it is known


def answering(path: str) -> Any:
    return nested(asking("q", ledger=Ledger(path)), 0)


@SHARED
async def test_of_two_processes_that_begin_a_thread_one_is_told(world):
    calls = [elsewhere(world, working, (), {"v": v}, stops=(f"work {v}",), durability="exit") for v in "ab"]
    for call, v in zip(calls, "ab", strict=True):
        await call.go_to(f"work {v}")
    assert await calls[0].ends() == gives("a")
    assert await calls[1].ends() == OVERTAKEN
    assert (await (await looking(world, working())).state()).values["log"] == ["a"]


@SHARED
async def test_two_stores_at_one_moment_are_told_apart(world):
    """Both have read, and store at once, many times: exactly one of them is stored each time."""
    savers = [await world.saver(**LOOKS) for _ in range(2)]
    met = threading.Barrier(2)

    def build(saver: Any) -> Any:
        def work(state: Any) -> Any:
            with suppress(threading.BrokenBarrierError):
                met.wait(DEADLINE_S)
            return {"log": [state["v"]]}

        graph = StateGraph(State)
        graph.add_node("work", work)
        graph.add_edge(START, "work")
        return graph.compile(checkpointer=saver)

    threads = [Thread(build(saver), world.is_async, durability="exit") for saver in savers]
    for turn in range(8):
        if world.is_async:
            running = [asyncio.create_task(t.call({"v": (turn, n)})) for n, t in enumerate(threads)]
        else:
            running = [
                asyncio.create_task(asyncio.to_thread(lambda t=t, v=(turn, n): asyncio.run(t.call({"v": v}))))
                for n, t in enumerate(threads)
            ]
        outcomes = [await task for task in running]
        assert sorted(o == OVERTAKEN for o in outcomes) == [False, True], outcomes
        won = outcomes.index(OVERTAKEN) ^ 1
        assert (await threads[0].state()).values["log"][-1] in ((turn, won), [turn, won])
    assert len((await threads[0].state()).values["log"]) == 8


@SOME
@pytest.mark.parametrize("shape", SHAPES)
async def test_guard_answers_retries_and_forks_follow_their_lines(world, shape):
    build = SHAPES[shape](asking("one", "two"))
    thread = await looking(world, build)
    assert await thread.start() == asks("one")
    asked = (await thread.state()).config
    assert await thread.answer("bad") == REFUSED
    other = await looking(world, build)
    assert await other.answer("a") == asks("two")
    assert await (await looking(world, build)).go_on() == asks("two")
    assert await thread.answer("b") == gives(["a", "b"])
    if shape in ("top", "subgraph"):
        forked = Thread(other.graph, world.is_async, configurable=asked["configurable"])
        assert await forked.answer("c") == asks("two")


@SOME
async def test_guard_edits_by_others_overtake_nobody(world):
    """An edit while a run executes, and one by a node itself."""

    def build(saver: Any) -> Any:
        graph = StateGraph(State)
        graph.add_node("ask", lambda state: {"v": interrupt("q")})
        graph.add_node("work", lambda state: point("work") or {"log": ["worked"]})
        graph.add_edge(START, "ask")
        graph.add_edge("ask", "work")
        return graph.compile(checkpointer=saver)

    thread, other = await looking(world, build), await looking(world, build)
    assert await thread.start() == asks("q")

    async def edit(values: Any) -> None:
        if world.is_async:
            await other.graph.aupdate_state(other.config, values)
        else:
            other.graph.update_state(other.config, values)

    await edit({"log": ["before"]})
    assert await thread.go_on() == asks("q")
    if not world.is_async:
        POINTS.do_at("work", lambda: other.graph.update_state(other.config, {"log": ["during"]}))
    assert await thread.answer("yes") == gives("yes")
    assert "worked" in (await thread.state()).values["log"]


@SOME
async def test_guard_time_travel_beside_the_thread(world):
    """A new input at an old checkpoint, and a replay of it, take nobody's line on."""
    thread = await looking(world, working())
    assert await thread.call({"v": "first"}) == gives("first")
    old = (await thread.state()).config["configurable"]
    assert await thread.call({"v": "second"}) == gives("second")
    back = await looking(world, working(), configurable=old)
    assert await back.call({"v": "other"}) == gives("other")
    assert await back.go_on() == gives("first")
    assert (await thread.call({"v": "third"}))[0] == "gives"


@SHARED
async def test_guard_a_run_may_go_on_beside_a_fork(world):
    build = nested(asking("one"), 0)
    thread = await looking(world, build)
    assert await thread.start() == asks("one")
    asked = (await thread.state()).config["configurable"]
    slow = elsewhere(world, nested_one, (), answered("slow"), stops=("after one",))
    await slow.go_to("after one")
    fork = await looking(world, build, configurable={**asked, "remit_fork": True})
    assert await fork.answer("forked") == gives("forked")
    assert await slow.ends() == gives("slow")
    assert (await thread.state()).values["v"] in ("slow", "forked")


def nested_one() -> Any:
    return nested(asking("one"), 0)


def test_a_saver_whose_database_is_not_known_cannot_be_looked_into():
    class Own(BaseCheckpointSaver[Any]):
        def get_tuple(self, config: Any) -> Any:
            return None

    with pytest.raises(RemitError, match="detect_overtaken") as caught:
        RemitSaver(Own(), detect_overtaken="database")
    assert caught.value.code == "bad-option"


async def test_guard_with_the_gate_the_claim_decides(world):
    if world.place[0] == "memory":
        pytest.skip("one process")
    saver = await world.saver(cross_process_gate=True, **LOOKS)
    thread = Thread(nested(asking("q"), 0)(saver), world.is_async)
    assert await thread.start() == asks("q")
    assert await thread.call(Command(resume="yes")) == gives("yes")
