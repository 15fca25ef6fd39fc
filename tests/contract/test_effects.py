"""Effects fire once: after failures, on forks, in loops, tools and tasks, under races, and never before their checkpoint
is durable. What really fired is counted in a ledger that is neither LangGraph's nor REMIT's.
"""

from __future__ import annotations

import asyncio
import contextvars
import os
import signal
import sqlite3
import threading

import crash
import pytest
from graphs import POINTS, SHAPES, TROUBLE, Refused, State, asks, fails, gives, nested, point
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command, RetryPolicy, interrupt
from ledger import Ledger
from remit import RemitConsumeConflict, RemitError, RemitSaver, aeffect, effect, effect_key, once

durable_backends = pytest.mark.parametrize("world", ["sqlite", "postgres", "asqlite"], indirect=True)
sync_backends = pytest.mark.parametrize("world", ["memory", "sqlite", "postgres"], indirect=True)
async_backends = pytest.mark.parametrize("world", ["amemory", "asqlite", "apg"], indirect=True)
one_backend = pytest.mark.parametrize("world", ["sqlite"], indirect=True)
DUPLICATE, IN_DOUBT = ("fails", "RemitDuplicateEffect"), ("fails", "RemitEffectInDoubt")


async def history(thread):
    saver = thread.graph.checkpointer
    return await saver.aeffects("thread") if thread.is_async else saver.effects("thread")


async def resolve(thread, id, **said):
    saver = thread.graph.checkpointer
    if thread.is_async:
        return await saver.aresolve_effect("thread", id, **said)
    return saver.resolve_effect("thread", id, **said)


def charging(ledger, amount=10, **options):
    """A node that charges, and may fail after that."""

    def charge(value):
        point("before firing")
        ledger.fire("charge", value)
        point("after firing")
        return f"receipt {value}"

    def node(_):
        receipt = effect("charge", charge, amount, **options)
        point("end")
        return {"v": receipt}

    return node


# -- once ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
async def test_it_fires_once_and_its_node_gets_what_it_returned(world, ledger, shape):
    build = SHAPES[shape](charging(ledger))
    POINTS.fail_at("end")
    assert await (await world.thread(build)).start() == TROUBLE
    done = await (await world.thread(build)).go_on()
    assert done[0] == "gives"
    assert "receipt 10" in repr(done[1])
    assert ledger.fired("charge") == [10]
    [admission] = await history(await world.thread(build))
    assert (admission.state, admission.outcome, admission.fence) == ("done", "returned", 1)


@one_backend
async def test_without_it_the_node_fires_again(world, ledger):
    def node(_):
        ledger.fire("charge", 10)
        point("end")
        return {"v": 1}

    POINTS.fail_at("end")
    await (await world.thread(nested(node, 0))).start()
    await (await world.thread(nested(node, 0))).go_on()
    assert ledger.fired("charge") == [10, 10]


@sync_backends
async def test_a_retry_policy_does_not_fire_it_again(world, ledger):
    def build(saver):
        graph = StateGraph(State)
        graph.add_node(
            "gate",
            charging(ledger),
            retry_policy=RetryPolicy(max_attempts=3, initial_interval=0.001, retry_on=RuntimeError),
        )
        graph.add_edge(START, "gate")
        return graph.compile(checkpointer=saver)

    POINTS.fail_at("end")
    POINTS.fail_at("end")
    assert await (await world.thread(build)).start() == gives("receipt 10")
    assert ledger.fired("charge") == [10]


async def test_if_it_raises_it_has_not_fired(world, ledger):
    build = nested(charging(ledger), 0)
    POINTS.fail_at("before firing")
    assert await (await world.thread(build)).start() == TROUBLE
    assert await (await world.thread(build)).go_on() == gives("receipt 10")
    assert ledger.fired("charge") == [10]
    assert [a.state for a in await history(await world.thread(build))] == ["released", "done"]


@sync_backends
async def test_a_locked_database_of_its_own_does_not_fire_it_again(world, ledger):
    """REMIT does its own statements again when the database is busy, and what the user does not."""

    def fire():
        ledger.fire("charge")
        raise sqlite3.OperationalError("database is locked")

    assert (await (await world.thread(nested(lambda _: effect("charge", fire), 0))).start())[0] == "fails"
    assert ledger.fired("charge") == [None]


@sync_backends
async def test_a_statement_that_is_repeated_admits_and_settles_once(world, ledger):
    """A connection is lost after the statement was committed: it is done again."""
    saver = await world.saver()
    store = type(saver._protocol.store)
    original = store.execute

    def twice(self, statement, parameters):
        result = original(self, statement, parameters)
        if statement in (store.insert_effect, store.settle_effect):
            return original(self, statement, parameters)
        return result

    thread = await world.thread(lambda _: nested(charging(ledger), 0)(saver))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "execute", twice)
        assert await thread.start() == gives("receipt 10")
    assert ledger.fired("charge") == [10]
    assert [a.state for a in await history(thread)] == ["done"]


@sync_backends
@pytest.mark.parametrize("value", [None, {"a": [1, {2}]}, (1, "x"), b"\0", AIMessage("hi", id="1"), 2.5])
async def test_a_replay_returns_what_the_first_call_did(world, value):
    seen = []

    def node(_):
        seen.append(effect("look", lambda: value))
        point("end")
        return {}

    POINTS.fail_at("end")
    await (await world.thread(nested(node, 0))).start()
    await (await world.thread(nested(node, 0))).go_on()
    assert len(seen) == 2
    assert seen[0] == seen[1]
    assert type(seen[0]) is type(seen[1])


@sync_backends
async def test_a_loop_fires_each_of_its_effects_once(world, ledger):
    def node(_):
        for n in range(4):
            effect("send", ledger.fire, "send", n)
            point(f"sent {n}")
        return {"v": "sent"}

    for n in (1, 3):
        POINTS.fail_at(f"sent {n}")
    thread = await world.thread(nested(node, 0))
    assert await thread.start() == TROUBLE
    assert await thread.go_on() == TROUBLE
    assert await thread.go_on() == gives("sent")
    assert ledger.fired("send") == [0, 1, 2, 3]


@sync_backends
async def test_each_turn_of_a_cycle_has_its_own(world, ledger):
    def build(saver):
        graph = StateGraph(State)
        graph.add_node(
            "turn", lambda state: {"log": [effect("send", lambda n: ledger.fire("send", n), len(state["log"]))]}
        )
        graph.add_edge(START, "turn")
        graph.add_conditional_edges("turn", lambda state: "turn" if len(state["log"]) < 3 else "__end__")
        return graph.compile(checkpointer=saver)

    await (await world.thread(build)).start()
    assert ledger.fired("send") == [0, 1, 2]


# -- identity ------------------------------------------------------------------------------------------------


def asking_to_charge(ledger, **options):
    def node(_):
        amount = interrupt("how much?")
        point("answered")
        receipt = effect("charge", ledger.fire, "charge", amount, **options)
        point("end")
        return {"v": [amount, receipt]}

    return nested(node, 0)


async def test_a_corrected_answer_charges_no_other_amount(world, ledger):
    build = asking_to_charge(ledger)
    thread = await world.thread(build)
    assert await thread.start() == asks("how much?")
    POINTS.fail_at("end")
    assert await thread.answer(10) == TROUBLE
    assert await (await world.thread(build)).answer(20) == DUPLICATE
    assert ledger.fired("charge") == [10]
    assert await (await world.thread(build)).answer(10) == gives([10, None])
    assert ledger.fired("charge") == [10]


async def test_a_corrected_answer_before_it_fired_charges_the_corrected_amount(world, ledger):
    build = asking_to_charge(ledger)
    thread = await world.thread(build)
    await thread.start()
    POINTS.fail_at("answered")
    assert await thread.answer(10) == TROUBLE
    assert await thread.answer(20) == gives([20, None])
    assert ledger.fired("charge") == [20]


async def test_each_branch_fires_its_own_and_a_named_one_once(world, ledger):
    build = asking_to_charge(ledger)
    thread = await world.thread(build)
    await thread.start()
    parked = (await thread.state()).config["configurable"]["checkpoint_id"]
    assert await thread.answer(1) == gives([1, None])

    async def fork(name, amount):
        there = {"checkpoint_id": parked, "remit_fork": name}
        return await (await world.thread(build, configurable=there)).answer(amount)

    assert await fork("a", 2) == gives([2, None])
    POINTS.fail_at("end")
    assert await fork("b", 3) == TROUBLE
    assert await fork("b", 3) == gives([3, None])
    assert ledger.fired("charge") == [1, 2, 3]
    done = await history(thread)
    assert len({a.effect.branch for a in done}) == 3
    assert len({a.effect.task for a in done}) == 1, "the branch alone tells them apart"


@pytest.mark.parametrize(("scope", "count"), [("task", 2), ("thread", 1)])
async def test_the_same_input_again_is_another_task_but_the_same_thread(world, ledger, scope, count):
    build = nested(charging(ledger, key="order 17", scope=scope), 0)
    POINTS.fail_at("end")
    assert await (await world.thread(build)).start() == TROUBLE
    assert await (await world.thread(build)).start() == gives("receipt 10")
    assert ledger.fired("charge") == [10] * count
    other = await world.thread(build, id="another thread")
    assert await other.start() == gives("receipt 10")
    assert ledger.fired("charge") == [10] * (count + 1)


@one_backend
async def test_keys_tell_effects_apart_whatever_their_order(world, ledger):
    orders = [["a", "b"], ["b", "a"]]

    def node(_):
        for name in orders.pop(0):
            effect("send", ledger.fire, "send", name, key=name)
        point("end")
        return {"v": 1}

    POINTS.fail_at("end")
    thread = await world.thread(nested(node, 0))
    await thread.start()
    assert await thread.go_on() == gives(1)
    assert ledger.fired("send") == ["a", "b"]


@one_backend
async def test_arguments_are_compared_as_values(world, ledger):
    given = [({"a": 1, "b": {2, 3}}, "x"), ({"b": {3, 2}, "a": 1}, "x"), ({"a": 1, "b": {2}}, "x")]

    def node(_):
        value = given.pop(0)
        effect("send", lambda data, name: ledger.fire("send", name), value[0], name=value[1])
        point("end")
        return {"v": 1}

    POINTS.fail_at("end")
    POINTS.fail_at("end")
    thread = await world.thread(nested(node, 0))
    assert [await thread.start(), await thread.go_on(), await thread.go_on()] == [TROUBLE, TROUBLE, DUPLICATE]
    assert ledger.fired("send") == ["x"]


@one_backend
async def test_what_has_no_fingerprint_needs_a_key(world, ledger):
    def node(_):
        with pytest.raises(RemitError, match="key") as caught:
            effect("send", lambda lock: ledger.fire("send"), threading.Lock())
        assert caught.value.code == "effect-arguments"
        effect("send", lambda lock: ledger.fire("send"), threading.Lock(), key="x")
        point("end")
        return {"v": 1}

    POINTS.fail_at("end")
    thread = await world.thread(nested(node, 0))
    assert await thread.start() == TROUBLE
    assert await thread.go_on() == gives(1)
    assert ledger.fired("send") == [None]


@sync_backends
async def test_its_key_is_the_same_in_every_retry_and_another_elsewhere(world):
    keys = []

    def send(_):
        keys.append(effect_key())
        point("sending")

    def node(_):
        before = effect_key("send")
        effect("send", send, 1)
        assert keys[-1] == before != effect_key("send")
        assert effect_key("send", key="a") not in (
            effect_key("send", key="b"),
            effect_key("send", key="a", scope="thread"),
        )
        return {"v": 1}

    build = nested(node, 0)
    POINTS.fail_at("sending")
    thread = await world.thread(build)
    assert await thread.start() == TROUBLE
    assert await (await world.thread(build)).go_on() == gives(1)
    assert await (await world.thread(build, id="other")).start() == gives(1)
    assert keys[0] == keys[1] != keys[2]
    assert all(len(key) == 64 for key in keys)


# -- where it is called --------------------------------------------------------------------------------------


@sync_backends
@pytest.mark.parametrize("how", ["effect", "once"])
async def test_tool_calls_are_told_apart_by_their_ids(world, ledger, how):
    fire = once(effect_id="mail")(ledger.fire) if how == "once" else lambda *a: effect("mail", ledger.fire, *a)

    @tool
    def mail(to: str) -> str:
        """Sends a mail."""
        fire("mail", to)
        point(f"mailed {to}")
        return "sent"

    def build(saver):
        graph = StateGraph(MessagesState)
        graph.add_node("tools", ToolNode([mail], handle_tool_errors=False))
        graph.add_edge(START, "tools")
        return graph.compile(checkpointer=saver)

    calls = [{"name": "mail", "args": {"to": to}, "id": f"call {to}", "type": "tool_call"} for to in "abc"]
    thread = await world.thread(build)
    POINTS.fail_at("mailed b")
    assert await thread.call({"messages": [AIMessage("", tool_calls=calls)]}) == TROUBLE
    assert (await thread.go_on())[0] == "gives"
    assert sorted(ledger.fired("mail")) == ["a", "b", "c"]
    assert {a.effect.key for a in await history(thread)} == {f"call {to}#0" for to in "abc"}


@async_backends
async def test_in_async_nodes_it_is_awaited(world, ledger):
    async def fire(name):
        await asyncio.sleep(0)
        ledger.fire("send", [name, effect_key()])
        return name

    def fire_blocking(name):
        ledger.fire("send", [name, effect_key()])
        return name

    @once(key=lambda name: name)
    async def decorated(name):
        return await fire(name)

    async def node(_):
        sent = [await aeffect("send", fire, "a"), await aeffect("send", fire_blocking, "b"), await decorated("c")]
        with pytest.raises(RemitError, match="event loop"):
            effect("send", fire_blocking, "d")
        point("end")
        return {"v": sent}

    POINTS.fail_at("end")
    thread = await world.thread(nested(node, 0))
    assert await thread.start() == TROUBLE
    assert await thread.go_on() == gives(["a", "b", "c"])
    fired = ledger.fired("send")
    assert [name for name, _ in fired] == ["a", "b", "c"]
    assert len({key for _, key in fired}) == 3


@async_backends
async def test_cancelled_it_is_in_doubt(world, ledger):
    started = asyncio.Event()

    async def fire():
        ledger.fire("send")
        if started.is_set():
            return
        started.set()
        await asyncio.Event().wait()

    async def node(_):
        await aeffect("send", fire)
        return {"v": 1}

    thread = await world.thread(nested(node, 0))
    running = asyncio.ensure_future(thread.start())
    await started.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert await thread.go_on() == IN_DOUBT
    [admission] = await history(thread)
    await resolve(thread, admission.id, fired=True)
    assert await thread.go_on() == gives(1)
    assert ledger.fired("send") == [None]


@sync_backends
async def test_after_a_nested_call_it_is_still_in_its_node(world, ledger):
    from langchain_core.runnables import RunnableLambda

    def node(_):
        RunnableLambda(lambda x: effect("send", ledger.fire, "send", x)).invoke("inside")
        effect("send", ledger.fire, "send", "after")
        point("end")
        return {"v": 1}

    POINTS.fail_at("end")
    thread = await world.thread(nested(node, 0))
    assert await thread.start() == TROUBLE
    assert await thread.go_on() == gives(1)
    assert ledger.fired("send") == ["inside", "after"]


def test_outside_of_a_run_it_is_refused():
    with pytest.raises(RemitError, match="outside of a run") as caught:
        effect("send", print)
    assert caught.value.code == "effect-outside"
    with pytest.raises(RemitError, match="no effect is being fired"):
        effect_key()


@pytest.mark.parametrize("saver", [None, InMemorySaver()])
def test_under_another_saver_it_is_refused(saver):
    RemitSaver(InMemorySaver())  # calls are followed
    with pytest.raises(RemitError, match="not a RemitSaver"):
        nested(lambda _: effect("send", print), 0)(saver).invoke({}, {"configurable": {"thread_id": "t"}})


def test_where_it_could_not_be_recorded_it_is_refused():
    known = InMemorySaver()

    class Elsewhere(BaseCheckpointSaver):
        """A saver whose database is not known."""

    for name in ("get_tuple", "list", "put", "put_writes", "get_next_version"):
        setattr(Elsewhere, name, lambda self, *args, _name=name, **kwargs: getattr(known, _name)(*args, **kwargs))
    graph = nested(lambda _: {"v": effect("n", int, 3)}, 0)
    with pytest.raises(RemitError, match="does not know the database of Elsewhere"):
        graph(RemitSaver(Elsewhere())).invoke({}, {"configurable": {"thread_id": "t"}})
    assert graph(RemitSaver(known)).invoke({}, {"configurable": {"thread_id": "u"}})["v"] == 3


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda: effect("", int), "bad-effect"),
        (lambda: effect("a\0b", int), "bad-effect"),
        (lambda: effect("\ud800", int), "bad-effect"),
        (lambda: effect(3, int), "bad-effect"),
        (lambda: effect("a", int, key=""), "bad-effect"),
        (lambda: effect("a", int, key=3), "bad-effect"),
        (lambda: effect("a", int, scope="run"), "bad-effect"),
        (lambda: effect("a", int, scope="thread"), "bad-effect"),
        (lambda: effect("a", int, in_doubt="maybe"), "bad-effect"),
        (lambda: effect("a", asyncio.sleep, 1), "bad-effect"),
    ],
)
def test_a_wrong_call_fires_nothing(call, code):
    def node(_):
        with pytest.raises(RemitError) as caught:
            call()
        assert caught.value.code == code
        return {"v": "told"}

    saver = RemitSaver(InMemorySaver())
    graph = nested(node, 0)(saver)
    assert graph.invoke({}, {"configurable": {"thread_id": "t"}})["v"] == "told"
    assert saver.effects("t") == []


@sync_backends
@pytest.mark.parametrize("name", ["'; DROP TABLE remit_effects; --", "x" * 10_000, "\N{SNOWMAN}\n%s ? {y}"])
async def test_any_text_names_an_effect(world, ledger, name):
    def node(_):
        effect(name, ledger.fire, "send", key=name)
        point("end")
        return {"v": 1}

    POINTS.fail_at("end")
    thread = await world.thread(nested(node, 0))
    await thread.start()
    assert await thread.go_on() == gives(1)
    assert ledger.fired("send") == [None]
    assert [(a.effect.name, a.effect.key) for a in await history(thread)] == [(name, f"={name}")]


# -- what it returns -----------------------------------------------------------------------------------------


async def test_a_result_that_cannot_be_stored_is_told_and_a_person_may_give_it(world, ledger):
    def node(_):
        def fire():
            ledger.fire("open")
            return threading.Lock()

        return {"v": effect("open", fire)}

    thread = await world.thread(nested(node, 0))
    assert await thread.start() == fails(RemitError)
    assert await thread.go_on() == fails(RemitError)
    assert ledger.fired("open") == [None], "it is known to have fired"
    [admission] = await history(thread)
    assert (admission.state, admission.result) == ("done", None)
    with pytest.raises(RemitError, match="the result"):
        await resolve(thread, admission.id, fired=True, result=threading.Lock())
    await resolve(thread, admission.id, fired=True, result="handle 1")
    assert await thread.go_on() == gives("handle 1")


# -- in doubt ------------------------------------------------------------------------------------------------


def charging_in(path, in_doubt):
    return nested(charging(Ledger(path), in_doubt=in_doubt), 0)


@durable_backends
@pytest.mark.parametrize(("at", "fired"), [("before firing", []), ("after firing", [10])])
@pytest.mark.parametrize("truth", [True, False])
async def test_killed_while_it_fires_it_is_in_doubt_until_a_person_says(world, ledger, at, fired, truth):
    crash.run_killed(world.place, charging_in, (ledger.path, "raise"), {"log": []}, at, when_landed=False)
    thread = await world.thread(charging_in(ledger.path, "raise"))
    assert await thread.go_on() == IN_DOUBT
    assert await thread.go_on() == IN_DOUBT
    assert ledger.fired("charge") == fired
    [admission] = await history(thread)
    assert admission.state == "admitted"
    resolved = await resolve(thread, admission.id, fired=truth, result="looked up" if truth else None)
    assert (resolved.state, resolved.outcome) == ("done" if truth else "released", "resolved")
    with pytest.raises(RemitError, match="not in doubt"):
        await resolve(thread, admission.id, fired=not truth)
    assert await thread.go_on() == gives("looked up" if truth else "receipt 10")
    assert ledger.fired("charge") == ([*fired] if truth else [*fired, 10])


@durable_backends
async def test_in_doubt_it_may_be_fired_again_with_the_same_key(world, ledger):
    crash.run_killed(world.place, charging_in, (ledger.path, "retry"), {"log": []}, "after firing", when_landed=False)
    thread = await world.thread(charging_in(ledger.path, "retry"))
    assert await thread.go_on() == gives("receipt 10")
    assert ledger.fired("charge") == [10, 10]
    first, second = await history(thread)
    assert first.effect == second.effect
    assert (first.outcome, second.fence, second.state) == ("superseded", 2, "done")


@durable_backends
async def test_killed_after_it_fired_it_is_not_fired_again(world, ledger):
    crash.run_killed(world.place, charging_in, (ledger.path, "raise"), {"log": []}, "end", when_landed=False)
    assert await (await world.thread(charging_in(ledger.path, "raise"))).go_on() == gives("receipt 10")
    assert ledger.fired("charge") == [10]


@one_backend
async def test_what_fires_is_not_resolved(world, ledger):
    told = []

    def fire():
        [admission] = saver.effects("thread")
        with pytest.raises(RemitError, match="is firing it"):
            saver.resolve_effect("thread", admission.id, fired=True)
        told.append(admission.state)

    thread = await world.thread(nested(lambda _: {"v": effect("send", fire)}, 0))
    saver = thread.graph.checkpointer
    assert await thread.start() == gives(None)
    assert told == ["admitted"]


# -- races and fences ----------------------------------------------------------------------------------------


@sync_backends
async def test_of_64_threads_one_fires(world, ledger):
    outcomes = []

    def node(_):
        barrier = threading.Barrier(64)

        def work():
            barrier.wait()
            try:
                outcomes.append(effect("charge", lambda: ledger.fire("charge", 1) or "receipt", key="one"))
            except RemitError as e:
                outcomes.append(e.code)

        context = contextvars.copy_context()
        threads = [threading.Thread(target=context.copy().run, args=(work,)) for _ in range(64)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        return {"v": 1}

    thread = await world.thread(nested(node, 0))
    assert await thread.start() == gives(1)
    assert ledger.fired("charge") == [1]
    assert len(outcomes) == 64
    assert set(outcomes) <= {"receipt", "effect-duplicate"}
    assert "receipt" in outcomes
    assert len(await history(thread)) == 1


@pytest.mark.parametrize("world", ["sqlite", "postgres"], indirect=True)
async def test_of_eight_connections_one_fires(world, ledger):
    build = asking_to_charge(ledger)
    await (await world.thread(build)).start()
    threads = [await world.thread(build) for _ in range(8)]
    barrier, outcomes = threading.Barrier(8), []

    def work(thread):
        barrier.wait()
        outcomes.append(asyncio.run(thread.answer(5)))

    workers = [threading.Thread(target=work, args=(t,)) for t in threads]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    assert ledger.fired("charge") == [5]
    assert len(outcomes) == 8
    assert gives([5, None]) in outcomes


@sync_backends
async def test_a_run_that_lost_its_claim_fires_nothing(world, ledger):
    def node(_):
        amount = interrupt("how much?")
        if amount == "lost":
            assert saver.release("thread")
            with pytest.raises(RemitConsumeConflict):
                effect("charge", ledger.fire, "charge", amount)
            with pytest.raises(RemitConsumeConflict):
                effect("charge", ledger.fire, "charge", amount)
        else:
            effect("charge", ledger.fire, "charge", amount)
        return {"v": amount}

    saver = await world.saver(cross_process_gate=True)
    graph = nested(node, 0)(saver)
    config = {"configurable": {"thread_id": "thread"}}
    graph.invoke({"log": []}, config)
    with pytest.raises(RemitConsumeConflict):
        graph.invoke(Command(resume="lost"), config)
    assert ledger.fired("charge") == []
    assert graph.invoke(Command(resume=3), config)["v"] == 3
    assert ledger.fired("charge") == [3]


# -- write-ahead ---------------------------------------------------------------------------------------------


class Held(SqliteSaver):
    """Its checkpoints from the second on wait until they are let through."""

    def __init__(self, *args):
        super().__init__(*args)
        self.puts, self.let_through = 0, threading.Event()
        self.fails = False

    def put(self, *args):
        self.puts += 1
        if self.puts > 1:
            assert self.let_through.wait(60)
            if self.fails:
                raise Refused("the disk is full")
        return super().put(*args)


def tell_when_waited(saver):
    """An event that is set when somebody waits for a checkpoint."""
    waits, expect = threading.Event(), saver._protocol.landings.expect

    def told(checkpoint):
        waits.set()
        return expect(checkpoint)

    saver._protocol.landings.expect = told
    return waits


@pytest.mark.parametrize("world", ["sqlite"], indirect=True)
@pytest.mark.parametrize("depth", [0, 1])
@pytest.mark.parametrize("ends", ["stored", "refused"])
async def test_nothing_fires_before_its_checkpoint_is_durable(world, ledger, depth, ends):
    inner = Held((await world.saver(stock=True)).conn)
    saver = RemitSaver(inner)
    waits = tell_when_waited(saver)
    graph = nested(charging(ledger), depth)(saver)
    outcome = []

    def run():
        try:
            outcome.append(graph.invoke({"log": []}, {"configurable": {"thread_id": "thread"}}, durability="async"))
        except Exception as e:
            outcome.append(e)

    running = threading.Thread(target=run)
    running.start()
    assert waits.wait(60)
    assert ledger.fired("charge") == [], "its checkpoint is not durable"
    inner.fails = ends == "refused"
    inner.let_through.set()
    running.join(60)
    if ends == "stored":
        assert outcome[0]["v"] == "receipt 10"
        assert ledger.fired("charge") == [10]
    else:
        assert isinstance(outcome[0], Exception)
        assert ledger.fired("charge") == []


def _killed_while_it_waits(result, file, path, depth):
    """Runs the graph until its effect waits for its checkpoint, and dies there."""
    inner = Held(sqlite3.connect(file, check_same_thread=False))
    saver = RemitSaver(inner)
    saver._protocol.landings.expect = lambda _: os.kill(os.getpid(), signal.SIGKILL)
    nested(charging(Ledger(path)), depth)(saver).invoke(
        {"log": []}, {"configurable": {"thread_id": "thread"}}, durability="async"
    )


@one_backend
@pytest.mark.parametrize("depth", [0, 1])
async def test_killed_before_its_checkpoint_is_durable_nothing_has_fired(world, ledger, depth):
    code, _ = crash.in_process(_killed_while_it_waits, world.place[1], ledger.path, depth)
    assert code == -signal.SIGKILL
    assert ledger.fired("charge") == []
    assert (await (await world.thread(nested(charging(ledger), depth))).start())[0] == "gives"
    assert ledger.fired("charge") == [10]


@one_backend
@pytest.mark.parametrize("depth", [0, 1])
async def test_under_exit_only_thread_scope_fires(world, ledger, depth):
    refused = nested(charging(ledger), depth)
    assert await (await world.thread(refused, durability="exit")).start() == fails(RemitError)
    assert ledger.fired("charge") == []
    build = nested(charging(ledger, scope="thread", key="order 17"), depth)
    POINTS.fail_at("end")
    assert await (await world.thread(build, durability="exit", id="other")).start() == TROUBLE
    assert await (await world.thread(build, durability="exit", id="other")).start() == gives("receipt 10")
    assert ledger.fired("charge") == [10]


@sync_backends
async def test_under_exit_an_answered_question_may_fire_since_its_checkpoint_is_there(world, ledger):
    build = asking_to_charge(ledger)
    await (await world.thread(build, durability="exit")).start()
    POINTS.fail_at("end")
    assert await (await world.thread(build, durability="exit")).answer(4) == TROUBLE
    assert await (await world.thread(build, durability="exit")).answer(4) == gives([4, None])
    assert ledger.fired("charge") == [4]


# -- what is kept --------------------------------------------------------------------------------------------


async def test_a_deleted_thread_leaves_no_effects(world, ledger):
    thread = await world.thread(nested(charging(ledger), 0))
    other = await world.thread(nested(charging(ledger), 0), id="other")
    await thread.start()
    await other.start()
    saver = thread.graph.checkpointer
    if thread.is_async:
        await saver.adelete_thread("thread")
    else:
        saver.delete_thread("thread")
    assert await history(thread) == []
    assert len(await saver.aeffects("other") if thread.is_async else saver.effects("other")) == 1


@pytest.mark.parametrize("world", ["postgres", "apg"], indirect=True)
@pytest.mark.parametrize(("strategy", "left"), [("keep_latest", ["thread"]), ("delete", [])])
async def test_a_pruned_thread_keeps_no_effects_of_what_is_gone(world, ledger, strategy, left):
    def node(_):
        for scope in ("task", "thread"):
            effect(scope, ledger.fire, scope, key="one", scope=scope)
        return {"v": 1}

    thread = await world.thread(nested(node, 0))
    saver = thread.graph.checkpointer
    if not hasattr(type(saver.inner), "prune") or type(saver.inner).prune is BaseCheckpointSaver.prune:
        pytest.skip("this release's saver has no prune")
    await thread.start()
    if thread.is_async:
        await saver.aprune(["thread"], strategy=strategy)
    else:
        saver.prune(["thread"], strategy=strategy)
    assert [a.effect.name for a in await history(thread)] == left


@one_backend
async def test_an_admission_reads_no_history(world):
    saver = await world.saver()
    store = saver._protocol.store
    for statement in (store.select_effect, store.insert_effect, store.settle_effect):
        plan = saver.conn.execute("EXPLAIN QUERY PLAN " + statement, [None] * statement.count("?")).fetchall()
        assert not [row for row in plan if "SCAN" in row[3] and "CONSTANT" not in row[3]], plan


# -- effects that are writes to the same database ------------------------------------------------------------


class Account:
    """A table beside the checkpoints."""

    def __init__(self, world):
        self.mark = "%s" if world.store.backend in ("postgres", "apg") else "?"

    @property
    def debit(self):
        return f"INSERT INTO account (amount) VALUES ({self.mark})"


async def account_of(world):
    saver = await world.saver()
    made = saver.conn.execute("CREATE TABLE account (amount INTEGER)")
    if world.is_async:
        await made
        await saver.conn.commit() if world.store.backend == "asqlite" else None
    return Account(world)


async def amounts(world):
    saver = await world.saver()
    cursor = saver.conn.execute("SELECT amount AS amount FROM account")
    rows = await (await cursor).fetchall() if world.is_async else cursor.fetchall()
    return [row["amount"] if isinstance(row, dict) else row[0] for row in rows]


def debiting(account, is_async):
    """A node whose effect is a write to the saver's database. It fails at points in and after the transaction."""

    def write(tx):
        tx.execute(account.debit, (7,))
        point("written")
        return "debited"

    async def awrite(tx):
        await tx.execute(account.debit, (7,))
        point("written")
        return "debited"

    def node(_):
        with saver().transaction() as tx:
            told = effect("debit", write, tx, key="debit")
            point("in")
        point("after")
        return {"v": told}

    async def anode(_):
        async with saver().transaction() as tx:
            told = await aeffect("debit", awrite, tx, key="debit")
            point("in")
        point("after")
        return {"v": told}

    def saver():
        return savers[-1]

    savers = []

    def build(saver):
        savers.append(saver)
        return nested(anode if is_async else node, 0)(saver)

    return build


transactional = pytest.mark.parametrize("world", ["sqlite", "postgres", "asqlite", "apg"], indirect=True)


@transactional
@pytest.mark.parametrize(("at", "then"), [("written", []), ("in", []), ("after", [7])])
async def test_a_write_commits_with_its_record(world, at, then):
    account = await account_of(world)
    build = debiting(account, world.is_async)
    POINTS.fail_at(at)
    assert await (await world.thread(build)).start() == TROUBLE
    assert await amounts(world) == then
    assert [a.state for a in await history(await world.thread(build))] == ["done"] * len(then)
    assert await (await world.thread(build)).go_on() == gives("debited")
    assert await amounts(world) == [7]
    [admission] = await history(await world.thread(build))
    assert (admission.state, admission.fence) == ("done", 1)


def debiting_sync(mark):
    account = Account.__new__(Account)
    account.mark = mark
    return debiting(account, False)


@pytest.mark.parametrize("world", ["sqlite", "postgres"], indirect=True)
@pytest.mark.parametrize("at", ["written", "in", "after"])
async def test_killed_in_a_transaction_nothing_is_in_doubt(world, at):
    account = await account_of(world)
    crash.run_killed(world.place, debiting_sync, (account.mark,), {"log": []}, at, when_landed=False)
    assert await amounts(world) == ([7] if at == "after" else [])
    assert await (await world.thread(debiting(account, False))).go_on() == gives("debited")
    assert await amounts(world) == [7]


@sync_backends
async def test_a_failed_effect_fails_its_transaction(world):
    def node(_):
        with saver.transaction() as tx:
            tx.execute("CREATE TABLE made (n INTEGER)")
            with pytest.raises(Refused):
                effect("debit", refuse_it)
        return {}

    def refuse_it():
        raise Refused("no")

    saver = await world.saver()
    thread = await world.thread(lambda _: nested(node, 0)(saver))
    assert await thread.start() == fails(RemitError)
    if world.store.backend != "memory":
        with pytest.raises(Exception, match="made"):
            saver.conn.execute("SELECT * FROM made")
    assert await history(thread) == []
