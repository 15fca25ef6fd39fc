"""`ask`: an answer is taken for what was shown, and for nothing else."""

from __future__ import annotations

import threading
from datetime import datetime, timedelta, timezone

import pytest
from graphs import POINTS, TROUBLE, asks, fails, gives, nested, point
from langgraph.types import interrupt
from remit import RemitError, RemitStrayResume, aask, ask, effect

sync_backends = pytest.mark.parametrize("world", ["memory", "sqlite", "postgres"], indirect=True)
async_backends = pytest.mark.parametrize("world", ["amemory", "asqlite", "apg"], indirect=True)


def paying(prices, **options):
    """A node that shows a price, the next one in each of its runs, and pays what was agreed to."""

    def node(_):
        price = prices.pop(0)
        agreed = ask(f"pay {price}?", **options)
        point("end")
        return {"v": [price, agreed]}

    return nested(node, 0)


@sync_backends
async def test_an_answer_to_what_is_still_shown_is_taken(world):
    build = paying([5, 5, 5])
    assert await (await world.thread(build)).start() == asks("pay 5?")
    POINTS.fail_at("end")
    assert await (await world.thread(build)).answer("yes") == TROUBLE
    assert await (await world.thread(build)).go_on() == gives([5, "yes"])


@sync_backends
async def test_what_would_be_shown_now_is_asked_anew(world):
    build = paying([5, 9, 9, 9])
    assert await (await world.thread(build)).start() == asks("pay 5?")
    assert await (await world.thread(build)).answer("yes") == asks("pay 9?")
    assert await (await world.thread(build)).go_on() == asks("pay 9?")
    assert await (await world.thread(build)).answer("no") == gives([9, "no"])


@sync_backends
async def test_the_stock_question_takes_the_old_answer(world):
    prices = [5, 9]

    def node(_):
        price = prices.pop(0)
        return {"v": [price, interrupt(f"pay {price}?")]}

    thread = await world.thread(nested(node, 0))
    await thread.start()
    assert await thread.answer("yes") == gives([9, "yes"])


@sync_backends
async def test_what_is_shown_again_without_an_answer_is_what_counts(world):
    build = paying([5, 9, 9])
    assert await (await world.thread(build)).start() == asks("pay 5?")
    assert await (await world.thread(build)).go_on() == asks("pay 9?")
    assert await (await world.thread(build)).answer("yes") == gives([9, "yes"])


@sync_backends
async def test_it_is_bound_to_what_the_user_says(world):
    build = paying([5, 9], digest_of={"order": 17})
    assert await (await world.thread(build)).start() == asks("pay 5?")
    assert await (await world.thread(build)).answer("yes") == gives([9, "yes"])


@sync_backends
async def test_two_questions_of_a_node_have_their_own(world):
    second = ["a", "a", "b", "b"]

    def node(_):
        return {"v": [ask("first?"), ask(f"second {second.pop(0)}?")]}

    second.insert(0, "never shown")
    build = nested(node, 0)
    assert await (await world.thread(build)).start() == asks("first?")
    second.pop(0)
    assert await (await world.thread(build)).answer(1) == asks("second a?")
    second.pop(0)
    assert await (await world.thread(build)).answer(2) == asks("second b?")
    assert await (await world.thread(build)).answer(3) == gives([1, 3])


@sync_backends
async def test_a_fork_answers_what_its_line_showed(world):
    build = paying([5, 5, 5])
    thread = await world.thread(build)
    await thread.start()
    parked = (await thread.state()).config["configurable"]["checkpoint_id"]
    assert await thread.answer("yes") == gives([5, "yes"])
    fork = await world.thread(build, configurable={"checkpoint_id": parked})
    assert await fork.answer("no") == gives([5, "no"])


@async_backends
async def test_in_async_nodes_it_is_awaited(world):
    prices = [5, 9, 9]

    async def node(_):
        with pytest.raises(RemitError, match="event loop"):
            ask("?")
        price = prices.pop(0)
        return {"v": [price, await aask(f"pay {price}?")]}

    build = nested(node, 0)
    assert await (await world.thread(build)).start() == asks("pay 5?")
    assert await (await world.thread(build)).answer("yes") == asks("pay 9?")
    assert await (await world.thread(build)).answer("yes") == gives([9, "yes"])


@sync_backends
async def test_an_answer_that_is_too_late_is_refused(world):
    times = [datetime.now(timezone.utc) + timedelta(hours=1), datetime.now(timezone.utc) - timedelta(hours=1)]

    def node(_):
        answer = ask("pay?", expires_at=times[0])
        point("end")
        return {"v": answer}

    build = nested(node, 0)
    assert await (await world.thread(build)).start() == asks("pay?")
    POINTS.fail_at("end")
    assert await (await world.thread(build)).answer("in time") == TROUBLE
    times.reverse()
    assert await (await world.thread(build)).go_on() == gives("in time"), "it was taken before"
    late = await world.thread(build, id="late")
    assert await late.start() == asks("pay?")
    assert await late.answer("late") == fails(RemitStrayResume)
    times.reverse()
    assert await late.answer("in time") == gives("in time")


@sync_backends
async def test_questions_are_no_effects(world):
    def node(_):
        ask("pay?")
        effect("pay", int, 1)
        return {"v": 1}

    thread = await world.thread(nested(node, 0))
    await thread.start()
    saver = thread.graph.checkpointer
    assert saver.effects("thread") == []
    assert saver.explain(thread.config).effects == []
    assert await thread.answer(1) == gives(1)
    assert [a.effect.name for a in saver.effects("thread")] == ["pay"]


@pytest.mark.parametrize("world", ["memory"], indirect=True)
async def test_a_wrong_call_asks_nothing(world):
    def node(_):
        for wrong in ({"expires_at": datetime(2030, 1, 1)}, {"expires_at": 3}, {"digest_of": threading.Lock()}):
            with pytest.raises(RemitError):
                ask("?", **wrong)
        with pytest.raises(RemitError, match="the name is taken"):
            effect("remit.ask", int)
        return {"v": 1}

    assert await (await world.thread(nested(node, 0))).start() == gives(1)
