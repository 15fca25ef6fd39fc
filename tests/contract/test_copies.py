"""What is kept of a thread when it is copied or pruned. A copy knows what its source fired, and which forks it has; what
is asked there is its own.
"""

from __future__ import annotations

import pytest
from copying import taught_to_copy
from forking import LANGGRAPH, address_of, answer, gates, labels, two_in_one
from gating import DAY_S, blocking, gated, trail
from graphs import POINTS, TROUBLE, Thread, asking, asks, gives, nested, point
from remit import RemitSaver, ask, effect


def paying(ledger, **options):
    """A node that pays, and may fail after that."""

    def node(_):
        def pay(amount):
            point("before firing")
            ledger.fire("pay", amount)
            point("after firing")
            return f"receipt {amount}"

        receipt = effect("pay", pay, 5, **options)
        point("end")
        return {"v": receipt}

    return nested(node, 0)


async def wrapped(world, **options):
    inner = await world.saver(stock=True)
    saver = RemitSaver(taught_to_copy(inner), **options)
    if world.store.backend != "memory":
        await saver.setup() if world.is_async else saver.setup()
    return saver


async def copied(world, saver):
    await saver.acopy_thread("thread", "copy") if world.is_async else saver.copy_thread("thread", "copy")


async def both(world, build, **options):
    saver = await wrapped(world, **options)
    graph = build(saver)
    return saver, Thread(graph, world.is_async), Thread(graph, world.is_async, "copy")


async def test_what_the_source_fired_is_not_fired_again(world, ledger):
    saver, thread, copy = await both(world, paying(ledger))
    POINTS.fail_at("end")
    assert await thread.start() == TROUBLE
    await copied(world, saver)
    assert await copy.go_on() == gives("receipt 5")
    assert await thread.go_on() == gives("receipt 5")
    assert ledger.fired("pay") == [5]


async def test_what_the_source_had_not_fired_both_fire(world, ledger):
    saver, thread, copy = await both(world, paying(ledger))
    POINTS.fail_at("before firing")
    assert await thread.start() == TROUBLE
    await copied(world, saver)
    assert await copy.go_on() == await thread.go_on() == gives("receipt 5")
    assert ledger.fired("pay") == [5, 5]


async def test_in_thread_scope_too(world, ledger):
    saver, thread, copy = await both(world, paying(ledger, scope="thread", key="order 7"))
    await thread.start()
    await copied(world, saver)
    assert await copy.start() == gives("receipt 5")
    assert ledger.fired("pay") == [5]


async def test_what_is_in_doubt_is_in_doubt_in_both(world, ledger):
    saver, thread, copy = await both(world, paying(ledger))

    class Killed(BaseException):
        pass

    def die():
        raise Killed

    POINTS.do_at("after firing", die)
    with pytest.raises(Killed):
        await thread.start()
    await copied(world, saver)
    for one in (thread, copy):
        assert await one.go_on() == ("fails", "RemitEffectInDoubt")
    [row] = await saver.aeffects("copy") if world.is_async else saver.effects("copy")
    told = {"fired": True, "result": "receipt"}
    if world.is_async:
        await saver.aresolve_effect("copy", row.id, **told)
    else:
        saver.resolve_effect("copy", row.id, **told)
    assert await copy.go_on() == gives("receipt")
    assert await thread.go_on() == ("fails", "RemitEffectInDoubt")
    assert ledger.fired("pay") == [5]


async def test_a_copy_that_failed_may_be_made_again(world, ledger):
    saver, thread, copy = await both(world, paying(ledger))
    POINTS.fail_at("end")
    await thread.start()
    real = type(saver.inner).acopy_thread if world.is_async else type(saver.inner).copy_thread

    def fails(*_):
        raise OSError("the network is down")

    setattr(type(saver.inner), real.__name__, fails)
    with pytest.raises(OSError, match="network"):
        await copied(world, saver)
    setattr(type(saver.inner), real.__name__, real)
    await copied(world, saver)
    assert await copy.go_on() == gives("receipt 5")
    assert ledger.fired("pay") == [5]


async def test_an_effect_that_is_fired_while_the_thread_is_copied_is_known(world, ledger):
    """The source fires after its effects were copied, and before it is."""
    saver, thread, copy = await both(world, paying(ledger))
    POINTS.fail_at("end")
    real = type(saver.inner).acopy_thread if world.is_async else type(saver.inner).copy_thread

    def fires_first(self, source, target):
        assert blocking(thread.start()) == TROUBLE
        return real(self, source, target)

    async def afires_first(self, source, target):
        assert await thread.start() == TROUBLE
        return await real(self, source, target)

    setattr(type(saver.inner), real.__name__, afires_first if world.is_async else fires_first)
    await copied(world, saver)
    assert await copy.go_on() == gives("receipt 5")
    assert ledger.fired("pay") == [5]


async def test_its_question_is_its_own(world, ledger):
    build = nested(asking("q1", ledger=ledger), 0)
    saver, thread, copy = await both(world, build, cross_process_gate=True, claim_lease=DAY_S)
    await thread.start()
    await copied(world, saver)
    found = await saver.apending() if world.is_async else saver.pending()
    assert [(q.thread, q.value) for q in found] == [("copy", "q1"), ("thread", "q1")]
    assert await thread.answer("yes") == gives("yes")
    assert await copy.answer("no") == gives("no")
    grants = await saver.aclaims("copy") if world.is_async else saver.claims("copy")
    assert [g.key.thread for g in grants] == ["copy"]
    assert sorted(map(str, ledger.fired("effect"))) == ["['no']", "['yes']"]


@pytest.mark.parametrize("world", ["memory", "sqlite", "postgres"], indirect=True)
async def test_what_was_shown_counts_in_the_copy_too(world):
    prices = iter([5, 9, 9])
    saver, thread, copy = await both(world, nested(lambda _: {"v": ask(f"refund {next(prices)}?")}, 0))
    assert await thread.start() == asks("refund 5?")
    await copied(world, saver)
    assert await copy.answer("yes") == asks("refund 9?")
    assert await copy.answer("yes") == gives("yes")


async def test_its_forks_are_found_by_their_names(world):
    saver, thread, copy = await both(world, two_in_one())
    await thread.start()
    address = await address_of(thread)
    assert await answer(thread, "fork", address, remit_fork="named") == asks("q2")
    await copied(world, saver)
    at = {"configurable": {**address["configurable"], "thread_id": "copy"}}
    assert await answer(copy, "fork2", at, remit_fork="named") == ["fork", "fork2"]
    assert await answer(copy, "other", at, remit_fork="other") == asks("q2")
    assert await answer(thread, "fork3", address, remit_fork="named") == ["fork", "fork3"]


async def test_a_branch_that_moved_on_is_no_other_fork_s(world):
    saver, thread, copy = await both(world, gates("q1", "q2"))
    await thread.start()
    address = await address_of(thread)
    await thread.answer("main")
    await answer(thread, "fork", address, remit_fork="a")
    await copied(world, saver)
    at = {"configurable": {**address["configurable"], "thread_id": "copy"}}
    assert await answer(copy, "second", at, remit_fork="b") == asks("q2")
    assert sorted(label.rpartition(".")[2] for label in await labels(copy)) == ["0", "1"]


@pytest.mark.parametrize("world", ["postgres", "apg"], indirect=True)
@pytest.mark.skipif(LANGGRAPH < (1, 2, 24), reason="these savers do not prune")
async def test_claims_on_what_was_pruned_are_gone_and_answers_ids_are_not(world):
    build = gates("q1", "q2", "q3")
    await (await gated(world, build)).start()
    assert await (await gated(world, build)).answer("one") == asks("q2")
    second = await gated(world, build, configurable={"remit_answer_id": "two"})
    assert await second.answer("two") == asks("q3")
    assert [g.answer_id for g in await trail(second)] == [None, "two"]
    saver = second.graph.checkpointer
    await saver.aprune(["thread"]) if world.is_async else saver.prune(["thread"])
    assert [g.answer_id for g in await trail(second)] == ["two"]
    assert await second.answer("two") == ("fails", "RemitStrayResume")
    assert (await (await gated(world, build)).answer("three"))[0] == "gives"
