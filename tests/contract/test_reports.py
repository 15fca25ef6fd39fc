"""Faults that users reported and that are no promise's own: edits and inputs that withdraw a question, runs that
overtake each other, deleted threads, slow clocks, busy databases, savers that lose things. See docs/faults.md."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import aiosqlite
import pytest
from graphs import STOCK, Refused, State, Thread, asking, asks, fails, gives, nested
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.base import id as ids
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt
from remit import RemitError, RemitOrderViolation, RemitSaver, RemitStrayResume, RemitValidityError

pytestmark = pytest.mark.skipif(STOCK, reason="about what REMIT says")

SOME = pytest.mark.parametrize("world", ["memory", "sqlite", "apg"], indirect=True)
LOCAL = pytest.mark.parametrize("world", ["memory", "asqlite"], indirect=True)
DURABLE = pytest.mark.parametrize("world", ["sqlite", "postgres", "asqlite", "apg"], indirect=True)
ONE = pytest.mark.parametrize("world", ["memory"], indirect=True)
DEADLINE_S = 60


class Heard(logging.Handler):
    """The codes of what REMIT logged."""

    def __init__(self) -> None:
        super().__init__()
        self.codes: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.codes.append(getattr(record, "remit_code", record.getMessage()))


@pytest.fixture
def heard() -> Iterator[Heard]:
    heard = Heard()
    logging.getLogger("remit").addHandler(heard)
    yield heard
    logging.getLogger("remit").removeHandler(heard)


async def edit(thread: Thread, values: Any, **options: Any) -> None:
    if thread.is_async:
        await thread.graph.aupdate_state(thread.config, values, **options)
    else:
        thread.graph.update_state(thread.config, values, **options)


def mailing(saver: Any) -> Any:
    """Asks about what the state holds."""
    graph = StateGraph(State)
    graph.add_node("draft", lambda state: {"v": state["v"]})
    graph.add_node("send", lambda state: {"log": [state["v"], interrupt(f"send to {state['v']}?")]})
    graph.add_edge(START, "draft")
    graph.add_edge("draft", "send")
    return graph.compile(checkpointer=saver)


# -- withdrawn questions --------------------------------------------------------------------------------------------


@SOME
async def test_an_answer_to_a_question_that_an_edit_withdrew_is_not_the_edited_questions(world):
    thread = await world.thread(mailing)
    assert await thread.call({"v": "a"}) == asks("send to a?")
    await edit(thread, {"v": "b"})
    assert await thread.answer("yes") == fails(RemitStrayResume)
    assert await thread.go_on() == asks("send to b?")
    await thread.answer("yes")
    assert (await thread.state()).values["log"] == ["b", "yes"]


@SOME
async def test_guard_an_answer_to_a_question_that_an_edit_did_not_touch(world):
    """The edit adds a note, and the question is still the one that was asked."""
    thread = await world.thread(mailing)
    assert await thread.call({"v": "a"}) == asks("send to a?")
    await edit(await world.thread(mailing), {"log": ["note"]})
    await thread.answer("yes")
    assert (await thread.state()).values["log"] == ["note", "a", "yes"]


@SOME
async def test_guard_an_edit_that_answers(world):
    """`update_state(as_node=...)` in place of an answer, also from another process."""
    thread = await world.thread(mailing)
    assert await thread.call({"v": "a"}) == asks("send to a?")
    await edit(await world.thread(mailing), {"log": ["edited"]}, as_node="send")
    assert await thread.go_on() == gives("a")
    assert (await thread.state()).values["log"] == ["edited"]
    assert (await thread.state()).next == ()


@ONE
async def test_a_new_input_says_which_questions_it_withdraws(world, heard):
    thread = await world.thread(mailing)
    assert await thread.call({"v": "a"}) == asks("send to a?")
    assert heard.codes == []
    assert await thread.call({"v": "b"}) == asks("send to b?")
    assert heard.codes == ["question-withdrawn"]


@SOME
async def test_an_answer_to_a_subgraphs_question_that_an_edit_withdrew(world):
    """The edit is of the subgraph's own state."""
    build = nested(lambda state: {"log": [state["v"], interrupt(f"send to {state['v']}?")]}, 1)
    thread = await world.thread(build)
    assert await thread.call({"v": "a"}) == asks("send to a?")

    async def edit_below(values: Any) -> None:
        if world.is_async:
            below = (await thread.graph.aget_state(thread.config, subgraphs=True)).tasks[0].state.config
            await thread.graph.aupdate_state(below, values)
        else:
            below = thread.graph.get_state(thread.config, subgraphs=True).tasks[0].state.config
            thread.graph.update_state(below, values)

    await edit_below({"v": "b"})
    assert await thread.answer("yes") == fails(RemitStrayResume)
    assert await thread.go_on() == asks("send to b?")
    await edit_below({"log": ["note"]})  # what the question shows stays
    await thread.answer("yes")
    assert (await thread.state()).values["log"] == ["note", "b", "yes"]


# -- checkpoints that are not there ---------------------------------------------------------------------------------

NOWHERE = {"checkpoint_ns": "", "checkpoint_id": "1f000000-0000-6000-8000-000000000000"}


@SOME
async def test_an_input_or_an_edit_at_a_checkpoint_that_is_not_there_is_refused(world, ledger):
    """Stock begins anew there, and the thread's state is gone from its head."""
    build = nested(asking("q", ledger=ledger), 0)
    thread = await world.thread(build)
    assert await thread.call({"log": ["kept"]}) == asks("q")
    lost = await world.thread(build, configurable=NOWHERE)
    assert await lost.call({"log": ["new"]}) == fails(RemitStrayResume)
    with pytest.raises(RemitStrayResume):
        await edit(lost, {"log": ["new"]})
    assert (await thread.state()).values["log"] == ["kept"]
    assert await thread.answer("yes") == gives("yes")


@SOME
async def test_guard_an_input_at_a_checkpoint_of_a_thread_that_is_not_there_either(world):
    """Nothing is lost: it begins the thread, as it does over the stock saver."""
    thread = await world.thread(nested(asking("q"), 0), configurable=NOWHERE)
    assert await thread.call({"log": ["new"]}) == asks("q")
    head = await world.thread(nested(asking("q"), 0))
    assert await head.answer("yes") == gives("yes")


class Remembering(InMemorySaver):
    """Remembers the config of the last pending writes, with which a run's next checkpoint would come."""

    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        self.seen = config
        super().put_writes(config, writes, task_id, task_path)


def test_a_run_does_not_go_on_past_its_open_question(ledger):
    """LangGraph 1.2.9 does, where a question's exception gets the address of one that an error handler took."""
    inner = Remembering()
    saver = RemitSaver(inner)
    graph = nested(asking("pay?", ledger=ledger), 0)(saver)
    config: Any = {"configurable": {"thread_id": "t"}}
    graph.invoke({"log": []}, config)
    graph.invoke(None, config)  # asks again; what it stores is told by the config
    passed: Any = {**empty_checkpoint(), "channel_values": {"v": "unasked"}}
    with pytest.raises(RemitOrderViolation) as caught:
        saver.put(inner.seen, passed, {"source": "loop", "step": 1, "parents": {}}, {})
    assert caught.value.code == "question-passed-over"
    assert graph.get_state(config).next == ("gate",)
    assert graph.invoke(Command(resume="yes"), config)["v"] == "yes"
    assert ledger.fired("effect") == [["yes"]]


# -- two runs on one thread ----------------------------------------------------------------------------------------


def meeting(saver: Any, met: threading.Barrier) -> Any:
    """A run that goes on when as many are in its node as the barrier is for, or the barrier is given up."""

    def work(state: Any) -> Any:
        with suppress(threading.BrokenBarrierError):
            met.wait(DEADLINE_S)
        return {"log": [state["v"]]}

    graph = StateGraph(State)
    graph.add_node("work", work)
    graph.add_edge(START, "work")
    return graph.compile(checkpointer=saver)


@LOCAL
@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
@pytest.mark.parametrize("is_new", [False, True])
async def test_of_two_runs_on_a_thread_one_is_refused_and_none_is_lost(world, durability, is_new):
    met = threading.Barrier(2)
    graph = meeting(await world.saver(), met)
    threads = [Thread(graph, world.is_async, durability=durability) for _ in range(2)]
    before: list[str] = [] if is_new else ["first"]
    if not is_new:
        met.abort()
        await threads[0].call({"v": "first"})
        met.reset()

    def run(thread: Thread, value: str) -> Any:
        if world.is_async:
            return asyncio.create_task(thread.call({"v": value}))
        return asyncio.create_task(asyncio.to_thread(lambda: asyncio.run(thread.call({"v": value}))))

    running = [run(t, v) for t, v in zip(threads, "ab", strict=True)]
    await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
    met.abort()  # with durability="sync" one is refused before its node
    outcomes = [await task for task in running]
    assert sorted(o == fails(RemitOrderViolation) for o in outcomes) == [False, True], outcomes
    won, lost = ("a", "b") if outcomes[1] == fails(RemitOrderViolation) else ("b", "a")
    assert (await threads[0].state()).values["log"] == [*before, won]
    # the other's input again: nothing stands in its way
    assert (await threads[1].call({"v": lost}))[0] == "gives"
    assert (await threads[0].state()).values["log"][-1] == lost


@LOCAL
async def test_a_run_on_a_thread_that_was_deleted_does_not_make_it_again(world):
    started, deleted = threading.Event(), threading.Event()

    def work(state: Any) -> Any:
        started.set()
        assert deleted.wait(DEADLINE_S)
        return {"log": ["late"]}

    graph = StateGraph(State)
    graph.add_node("work", work)
    graph.add_edge(START, "work")
    saver = await world.saver()
    thread = Thread(graph.compile(checkpointer=saver), world.is_async)
    if world.is_async:
        running = asyncio.create_task(thread.call({"log": ["early"]}))
    else:
        running = asyncio.create_task(asyncio.to_thread(lambda: asyncio.run(thread.call({"log": ["early"]}))))
    await asyncio.to_thread(started.wait, DEADLINE_S)
    if world.is_async:
        await saver.adelete_thread("thread")
    else:
        saver.delete_thread("thread")
    deleted.set()
    assert await running == fails(RemitOrderViolation)
    assert (await thread.state()).values == {}
    assert (await thread.call({"log": ["anew"]}))[0] == "gives"
    assert (await thread.state()).values["log"] == ["anew", "late"]


# -- clocks --------------------------------------------------------------------------------------------------------


@DURABLE
async def test_a_worker_with_a_slow_clock_takes_the_thread_on(world, ledger, monkeypatch):
    build = nested(asking("pay?", ledger=ledger), 0)
    assert await (await world.thread(build)).start() == asks("pay?")
    now = time.time_ns
    monkeypatch.setattr(ids, "_last_v6_timestamp", None)
    monkeypatch.setattr(time, "time_ns", lambda: now() - 3600 * 10**9)
    thread = await world.thread(build)
    assert await thread.answer("yes") == gives("yes")
    monkeypatch.undo()
    later = await world.thread(build)
    assert (await later.state()).values["v"] == "yes"
    await later.go_on()
    assert ledger.fired("effect") == [["yes"]]


# -- the store -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("gate", [False, True])
def test_a_locked_database_is_waited_for(tmp_path, ledger, gate):
    """Longer than the connection itself waits: the effect has happened, and its record is not to be lost."""
    file = str(tmp_path / "db")
    conn = sqlite3.connect(file, check_same_thread=False, timeout=0.05)
    other = sqlite3.connect(file, isolation_level=None, check_same_thread=False)

    class Unlock(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if "trying again" in record.getMessage() and other.in_transaction:
                other.rollback()

    def pay(state: Any) -> Any:
        ledger.fire("pay")
        other.execute("BEGIN IMMEDIATE")
        return {"v": 1}

    graph = StateGraph(State)
    graph.add_node("pay", pay)
    graph.add_edge(START, "pay")
    saver = RemitSaver(SqliteSaver(conn), cross_process_gate=gate)
    saver.setup()
    unlock = Unlock()
    logging.getLogger("remit").addHandler(unlock)
    try:
        result = graph.compile(checkpointer=saver).invoke({"v": 0}, {"configurable": {"thread_id": "t"}})
    finally:
        logging.getLogger("remit").removeHandler(unlock)
    assert result["v"] == 1
    assert not other.in_transaction
    assert len(ledger.fired("pay")) == 1
    conn.close()
    other.close()


async def test_a_stream_and_a_connection_that_are_closed_early_lock_nobody_out(tmp_path):
    """The end of a run is recorded in one go: half of it would keep the database's lock for as long as the process."""
    config: Any = {"configurable": {"thread_id": "t"}}
    for answer in (None, "yes"):
        async with aiosqlite.connect(tmp_path / "db") as conn:
            saver = RemitSaver(AsyncSqliteSaver(conn), cross_process_gate=True)
            graph = nested(asking("q"), 0)(saver)
            if answer is None:
                await graph.ainvoke({"log": []}, config)
                stream = graph.astream(Command(resume="early"), config, stream_mode="tasks")
                await anext(stream)
                await stream.aclose()
            else:
                answered = await asyncio.wait_for(graph.ainvoke(Command(resume=answer), config), 5)
                assert answered["v"] in ("yes", "early")
    async with aiosqlite.connect(tmp_path / "db", timeout=0.1) as conn:
        await conn.execute("BEGIN IMMEDIATE")


@pytest.mark.parametrize("world", ["asqlite", "apg"], indirect=True)
async def test_a_paused_listing_blocks_nobody(world):
    thread = await world.thread(nested(asking("q"), 0))
    assert await thread.start() == asks("q")
    listing = thread.graph.checkpointer.alist(thread.config)
    first = await anext(listing)
    assert await asyncio.wait_for(thread.answer("yes"), DEADLINE_S) == gives("yes")
    rest = [tup async for tup in listing]
    assert first.checkpoint["id"] > rest[0].checkpoint["id"]


@DURABLE
async def test_a_listing_in_pages_is_the_listing(world):
    saver, where = await world.saver(), {"configurable": {"thread_id": "long", "checkpoint_ns": ""}}
    made: list[str] = []
    for step in range(150):
        checkpoint = {**empty_checkpoint(), "id": str(ids.uuid6(clock_seq=step))}
        args = (where, checkpoint, {"source": "loop", "step": step, "parity": step % 2, "parents": {}}, {})
        await saver.aput(*args) if world.is_async else saver.put(*args)
        made.insert(0, checkpoint["id"])

    async def listed(**options: Any) -> list[str]:
        if world.is_async:
            return [t.checkpoint["id"] async for t in saver.alist(where, **options)]
        return [t.checkpoint["id"] for t in saver.list(where, **options)]

    assert await listed() == made
    assert await listed(limit=70) == made[:70]
    assert await listed(limit=0) == []
    assert await listed(filter={"parity": 1}) == made[::2]
    before = {"configurable": {"thread_id": "long", "checkpoint_id": made[3]}}
    assert await listed(before=before, limit=100) == made[4:104]


@pytest.mark.parametrize("world", ["asqlite", "apg"], indirect=True)
async def test_a_blocking_call_on_the_loops_thread_is_an_error_and_no_hang(world):
    saver = await world.saver()
    with pytest.raises(RemitError, match="event loop") as caught:
        saver.claims("thread")
    assert caught.value.code == "sync-on-loop"
    checkpoint: Any = empty_checkpoint()
    where: Any = {"configurable": {"thread_id": "thread", "checkpoint_ns": "", "checkpoint_id": checkpoint["id"]}}
    for call in (
        lambda: saver.put(where, checkpoint, {"source": "loop", "step": 1, "parents": {}}, {}),
        lambda: saver.put_writes(where, [("v", 1)], "task"),
    ):
        with pytest.raises(RemitError, match="event loop"):
            call()
    assert await saver.aclaims("thread") == []
    assert await asyncio.to_thread(saver.claims, "thread") == []


# -- values and nodes ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("world", ["memory", "postgres", "apg"], indirect=True)
async def test_a_value_changed_in_place_is_refused_if_that_is_looked_for(world):
    def build(change: Any) -> Any:
        graph = StateGraph(State)
        graph.add_node("change", change)
        graph.add_node("ask", lambda state: {"v": [*state["v"], interrupt(f"{state['v']}?")]})
        graph.add_edge(START, "change")
        graph.add_edge("change", "ask")
        return graph

    in_place = build(lambda state: state["v"].append("fee") or {})
    anew = build(lambda state: {"v": [*state["v"], "fee"]})
    saver = await world.saver(detect_mutation=True)
    # in the background a checkpoint is serialized at any time: with the change, or without it
    thread = Thread(in_place.compile(checkpointer=saver), world.is_async, durability="sync")
    assert await thread.call({"v": ["book"]}) == fails(RemitValidityError)
    twin = Thread(anew.compile(checkpointer=saver), world.is_async, id="twin")
    assert await twin.call({"v": ["book"]}) == asks("['book', 'fee']?")
    assert await twin.answer("yes") == gives(["book", "fee", "yes"])


@SOME
async def test_an_answer_that_no_node_takes_is_said_and_stays_possible(world, heard):
    """The node that a thread waits in was renamed."""

    def named(name: str) -> Any:
        def build(saver: Any) -> Any:
            graph = StateGraph(State)
            graph.add_node(name, asking("q"))
            graph.add_edge(START, name)
            return graph.compile(checkpointer=saver)

        return build

    assert await (await world.thread(named("gate"))).start() == asks("q")
    renamed = await world.thread(named("approve"))
    with pytest.warns(RemitStrayResume, match="no node"):
        assert await renamed.answer("yes") == gives(None)
    assert heard.codes == ["answer-unheard"]
    assert await (await world.thread(named("gate"))).answer("yes") == gives("yes")
    assert heard.codes == ["answer-unheard"]


@SOME
async def test_an_answer_that_no_node_of_a_subgraph_takes_is_said(world, heard):
    def named(name: str) -> Any:
        def build(saver: Any) -> Any:
            below = StateGraph(State)
            below.add_node(name, asking("q"))
            below.add_edge(START, name)
            graph = StateGraph(State)
            graph.add_node("child", below.compile())
            graph.add_edge(START, "child")
            return graph.compile(checkpointer=saver)

        return build

    assert await (await world.thread(named("gate"))).start() == asks("q")
    with pytest.warns(RemitStrayResume, match="no node"):
        await (await world.thread(named("approve"))).answer("yes")
    assert heard.codes == ["answer-unheard"]


@LOCAL
@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
async def test_guard_an_answer_that_a_subgraphs_node_takes_is_heard(world, heard, durability):
    """Also where it is for one of two subgraphs that wait."""

    def build(saver: Any) -> Any:
        graph = StateGraph(State)
        for name in ("one", "two"):
            below = StateGraph(State)
            below.add_node("gate", lambda _, name=name: {"log": [interrupt(name)]})
            below.add_edge(START, "gate")
            graph.add_node(name, below.compile())
            graph.add_edge(START, name)
        return graph.compile(checkpointer=saver)

    thread = await world.thread(build, durability=durability)
    assert await thread.start() == asks("one", "two")
    ids = await thread.ids()
    await thread.call(Command(resume={ids["one"]: "a"}))
    await thread.call(Command(resume={ids["two"]: "b"}))
    assert sorted((await thread.state()).values["log"]) == ["a", "b"]
    assert heard.codes == []


@ONE
@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
async def test_guard_an_answer_that_a_node_takes_is_heard(world, heard, durability):
    thread = await world.thread(nested(asking("q"), 0), durability=durability)
    assert await thread.start() == asks("q")
    assert await thread.answer("yes") == gives("yes")
    assert heard.codes == []


@ONE
@pytest.mark.parametrize(("durability", "codes"), [("sync", []), ("async", ["late-validation"])])
async def test_a_durability_that_validates_late_is_said_once(world, heard, durability, codes):
    saver = await world.saver(validator=dict)
    thread = Thread(nested(asking("q"), 0)(saver), world.is_async, durability=durability)
    assert await thread.start() == asks("q")
    assert await thread.answer("yes") == gives("yes")
    assert heard.codes == codes


# -- answers that come twice ---------------------------------------------------------------------------------------


@SOME
async def test_an_answers_id_tells_a_redelivery_from_the_next_answer(world, ledger):
    """Without the gate, in one process."""
    saver = await world.saver()
    graph = nested(asking("first?", "second?", ledger=ledger), 0)(saver)

    def with_id(id: str | None) -> Thread:
        return Thread(graph, world.is_async, configurable={"remit_answer_id": id} if id else None)

    assert await with_id(None).start() == asks("first?")
    assert await with_id("m1").answer("bad") == fails(Refused)
    assert await with_id("m1").answer("bad") == fails(Refused)  # not delivered yet, so no duplicate
    assert await with_id("m2").answer("one") == asks("second?")
    assert await with_id("m2").answer("one") == fails(RemitStrayResume)
    assert (await with_id("m2").answer("other"))[1] == "RemitConsumeConflict"
    assert await with_id("m3").answer("two") == gives(["one", "two"])
    assert ledger.fired("effect") == [["one", "two"]]


# -- the saver -----------------------------------------------------------------------------------------------------


class Forgetful(InMemorySaver):
    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        pass


class HeadOnly(InMemorySaver):
    def get_tuple(self, config: Any) -> Any:
        kept = {k: v for k, v in config["configurable"].items() if k != "checkpoint_id"}
        return super().get_tuple({"configurable": kept})


class Backwards(InMemorySaver):
    def list(self, config: Any, **options: Any) -> Any:
        yield from reversed(list(super().list(config, **options)))


class ByArrival(InMemorySaver):
    """The newest checkpoint is the one that was stored last."""

    def put(self, config: Any, *args: Any) -> Any:
        stored = super().put(config, *args)
        self.last = {**getattr(self, "last", {}), stored["configurable"]["checkpoint_ns"]: stored}
        return stored

    def get_tuple(self, config: Any) -> Any:
        conf = config["configurable"]
        return super().get_tuple(config if conf.get("checkpoint_id") else self.last[conf["checkpoint_ns"]])


class Flat(InMemorySaver):
    """Knows no namespaces."""

    def put(self, config: Any, *args: Any) -> Any:
        return super().put({"configurable": {**config["configurable"], "checkpoint_ns": ""}}, *args)


@pytest.mark.parametrize(
    ("saver", "fault"),
    [
        (Forgetful, "pending writes"),
        (HeadOnly, "checkpoint_id"),
        (Backwards, "newest"),
        (ByArrival, "greatest id"),
        (Flat, "checkpoint_ns"),
    ],
)
def test_an_unsound_saver_is_refused(saver, fault):
    with pytest.raises(RemitError, match=fault) as caught:
        RemitSaver(saver(), self_check=True)
    assert caught.value.code == "unsound-saver"


async def test_a_sound_saver_passes_its_check_and_keeps_nothing_of_it(world):
    saver = await world.saver(self_check=True)
    thread = Thread(nested(asking("q"), 0)(saver), world.is_async)
    assert await thread.start() == asks("q")
    assert await thread.answer("yes") == gives("yes")
    every = [t async for t in saver.alist(None)] if world.is_async else list(saver.list(None))
    assert {t.config["configurable"]["thread_id"] for t in every} == {"thread"}


def test_guard_a_resume_of_nothing_else_is_heard(heard):
    """`Command(resume=...)` where it is a stray is one message, not two."""
    graph = nested(asking("q"), 0)(RemitSaver(InMemorySaver()))
    config: Any = {"configurable": {"thread_id": "t"}}
    graph.invoke({"log": []}, config)
    graph.invoke(Command(resume="yes"), config)
    with pytest.warns(RemitStrayResume):
        graph.invoke(Command(resume="yes"), config)
    assert heard.codes == ["stray-not-waiting"]
