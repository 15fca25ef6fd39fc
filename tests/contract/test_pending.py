"""Open questions, across threads: every one is listed, none that is not open, whoever asked and whoever moved on.

What is listed is answered as the listing says, so a question that could not be answered would be found out.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import suppress
from datetime import datetime, timedelta, timezone

import psycopg
import pytest
from forking import (
    LANGGRAPH,
    ThirdParty,
    address_of,
    answer,
    flow,
    gate,
    gates,
    saved,
    side_by_side,
    states,
    two_in_one,
)
from gating import CONFLICT, Elsewhere, Hold, begin, gated
from graphs import BAD, REFUSED, SHAPES, Thread, asking, asks, gives, nested
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.types import Command
from remit import RemitError, RemitSaver, ask
from remit.drivers import drive
from remit.pending import _at
from stores import POSTGRES_CONNECTION, Store

sync_backends = pytest.mark.parametrize("world", ["memory", "sqlite", "postgres"], indirect=True)
databases = pytest.mark.parametrize("world", ["sqlite", "postgres"], indirect=True)
durable = pytest.mark.parametrize("world", ["sqlite", "postgres", "asqlite", "apg"], indirect=True)


async def pending(world, **wanted):
    """The listing, by a saver over a connection of its own."""
    saver = await world.saver()
    return await saver.apending(**wanted) if world.is_async else saver.pending(**wanted)


async def listed(world, **wanted):
    return [(q.thread, q.value) for q in await pending(world, **wanted)]


async def give(thread, question, value):
    """Answers a question as the listing says."""
    return await Thread(thread.graph, thread.is_async, **_own(question.config["configurable"])).call(
        Command(resume={question.id: value})
    )


def by_the_clock_of_any_store(time):
    """SQLite's clock shows whole milliseconds."""
    return time.replace(microsecond=time.microsecond // 1000 * 1000)


def _own(conf):
    return {"id": conf["thread_id"], "configurable": {k: v for k, v in conf.items() if k != "thread_id"}}


# -- asked, and answered -------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("stock", [False, True])
async def test_a_question_is_listed_until_it_is_answered(world, shape, stock):
    build = SHAPES[shape](asking("q1"))
    before = datetime.now(timezone.utc)
    thread = await world.thread(build, stock)
    assert await listed(world) == []
    await thread.start()
    [question] = await pending(world)
    ids = await thread.ids()
    assert (question.thread, question.value, question.id, question.branch) == ("thread", "q1", ids["q1"], None)
    assert question.checkpoint == (await thread.state()).config["configurable"]["checkpoint_id"]
    below = {"subgraph": ["child1"], "subgraph2": ["child2", "child1"]}.get(shape, [])
    assert [part.partition(":")[0] for part in question.namespace.split("|") if part] == below
    assert question.node == {"top": "gate", "subgraph": "child1", "subgraph2": "child2"}.get(shape)
    assert before <= question.since <= datetime.now(timezone.utc)
    assert (question.holder, question.held_since, question.is_answered) == (None, None, False)
    assert await give(await world.thread(build, stock), question, "yes") == gives("yes")
    assert await listed(world) == []


async def test_each_question_of_a_step_is_listed(world):
    build = saved(side_by_side(a=gate("q1"), b=gate("q2"), c=gate("q3")))
    thread = await world.thread(build)
    await thread.start()
    assert sorted(await listed(world)) == [("thread", f"q{n}") for n in (1, 2, 3)]
    await thread.answer_by_id({"q2": "b"})
    assert sorted(await listed(world)) == [("thread", "q1"), ("thread", "q3")]
    for question in await pending(world):
        await give(thread, question, question.value)
    assert await listed(world) == []
    assert sorted((await thread.state()).values["log"]) == ["b", "q1", "q3"]


async def test_of_a_node_that_asks_twice_the_second_is_listed(world):
    thread = await world.thread(two_in_one())
    await thread.start()
    [first] = await pending(world)
    await thread.answer("one")
    [second] = await pending(world)
    assert (first.value, second.value, second.checkpoint) == ("q1", "q2", first.checkpoint)
    await give(thread, second, "two")
    assert (await thread.state()).values["log"] == ["one", "two"]
    assert await listed(world) == []


async def test_a_task_that_asks_again_is_listed_once(world, ledger):
    thread = await world.thread(flow(ledger))
    await thread.start()
    assert await listed(world) == [("thread", "q1")]
    await thread.answer("one")
    assert await listed(world) == [("thread", "q2")]
    [question] = await pending(world)
    assert await give(thread, question, "two") == gives(["receipt", "one", "two"])


async def test_one_that_another_worker_answered_is_gone(world):
    build = gates("q1", "q2")
    await (await world.thread(build)).start()
    await (await world.thread(build, stock=True)).answer("yes")
    assert await listed(world) == [("thread", "q2")]
    await (await world.thread(build)).answer("yes")
    assert await listed(world) == []


async def test_one_whose_answer_was_refused_is_listed_as_answered(world):
    build = nested(asking("q1"), 1)
    thread = await world.thread(build)
    await thread.start()
    assert await thread.answer(BAD) == REFUSED
    [question] = await pending(world)
    assert (question.value, question.is_answered) == ("q1", True)
    assert await give(thread, question, "good") == gives("good")
    assert await listed(world) == []


# -- withdrawn -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("by", ["input", "edit"])
@pytest.mark.parametrize("stock", [False, True])
async def test_one_that_the_thread_left_is_gone(world, by, stock):
    build = gates("q1", "q2")
    await (await world.thread(build)).start()
    thread = await world.thread(build, stock)
    if by == "input":
        await thread.start()
        assert await listed(world) == [("thread", "q1")]
        assert len(await pending(world)) == 1
        return
    if thread.is_async:
        await thread.graph.aupdate_state(thread.config, {"log": ["edited"]}, as_node="n1")
    else:
        thread.graph.update_state(thread.config, {"log": ["edited"]}, as_node="n1")
    assert await listed(world) == []
    await thread.go_on()
    assert await listed(world) == [("thread", "q2")]


@pytest.mark.parametrize("stock", [False, True])
async def test_one_of_a_deleted_thread_is_gone(world, stock):
    build = gates("q1")
    for id in ("kept", "gone"):
        await (await world.thread(build, id=id)).start()
    saver = await world.saver(stock)
    await saver.adelete_thread("gone") if world.is_async else saver.delete_thread("gone")
    assert await listed(world) == [("kept", "q1")]


@pytest.mark.parametrize("world", ["postgres", "apg"], indirect=True)
@pytest.mark.parametrize("strategy", ["keep_latest", "delete"])
@pytest.mark.skipif(LANGGRAPH < (1, 2, 24), reason="these savers do not prune")
async def test_pruning_leaves_what_is_open(world, strategy):
    build = gates("q1", "q2")
    thread = await world.thread(build)
    await thread.start()
    await thread.answer("yes")
    saver = await world.saver()
    prune = {"thread_ids": ["thread"], "strategy": strategy}
    await saver.aprune(**prune) if world.is_async else saver.prune(**prune)
    assert await listed(world) == ([("thread", "q2")] if strategy == "keep_latest" else [])


# -- forks ---------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::remit.RemitStrayResume")
async def test_each_line_has_its_own(world):
    build = gates("q1", "q2")
    thread = await world.thread(build)
    await thread.start()
    address = await address_of(thread)
    await thread.answer("main")
    await answer(thread, "fork", address)
    questions = await pending(world)
    assert [(q.value, q.branch is None) for q in questions] == [("q2", True), ("q2", False)]
    main, fork = questions
    await give(thread, main, "main2")
    await give(thread, fork, "stray")  # the thread has moved on since it was listed
    [again] = await pending(world)
    assert again.branch == fork.branch
    await give(thread, again, "fork2")
    assert await listed(world) == []
    logs = [s.values.get("log") for s in await _ends(thread)]
    assert sorted(logs) == [["fork", "fork2"], ["main", "main2"]]


async def _ends(thread):
    return [state for state in await states(thread) if not state.next]


async def test_a_fork_that_stock_makes_withdraws_the_line_s(world):
    build = gates("q1", "q2")
    thread = await world.thread(build, stock=True)
    await thread.start()
    address = await address_of(thread)
    await thread.answer("main")
    await answer(thread, "fork", address)
    assert await listed(world) == [("thread", "q2")]


@pytest.mark.parametrize("name", ["named", True])
async def test_a_fork_that_parks_where_it_forks_is_listed_if_it_can_be_answered(world, name):
    thread = await world.thread(two_in_one())
    await thread.start()
    address = await address_of(thread)
    assert await answer(thread, "fork", address, remit_fork=name) == asks("q2")
    questions = await pending(world)
    assert sorted(q.value for q in questions) == (["q1", "q2"] if name == "named" else ["q1"])
    await thread.answer("main")
    assert await listed(world) == [("thread", "q2")] * (2 if name == "named" else 1)
    while questions := await pending(world):
        await give(thread, questions[0], "main2" if questions[0].branch is None else "fork2")
    assert await listed(world) == []
    logs = [s.values["log"] for s in await _ends(thread)]
    assert sorted(logs) == ([["fork", "fork2"]] if name == "named" else []) + [["main", "main2"]]


# -- who holds it, since when --------------------------------------------------------------------------------


async def test_the_holder_is_told_while_it_executes(world):
    build = nested(asking("q1"), 0)
    await (await gated(world, build)).start()
    hold = Hold("after q1")
    running = begin(await gated(world, build), Command(resume="yes"))
    await hold.reached()
    [question] = await pending(world)
    assert question.holder == f"process {os.getpid()} on {os.uname().nodename}"
    assert question.since <= question.held_since <= datetime.now(timezone.utc)
    assert await give(await gated(world, build), question, "yes") == CONFLICT
    hold.go()
    assert await running == gives("yes")
    assert await listed(world) == []


@databases
async def test_a_dead_process_holds_nothing(world):
    build = nested(asking("q1"), 0)
    await (await gated(world, build)).start()
    elsewhere = Elsewhere(world.place, nested_asking, ("q1",), Command(resume="yes"), stops=["after q1"])
    await elsewhere.go_to("after q1")
    [question] = await pending(world)
    assert question.holder is not None
    elsewhere.kill()
    [question] = await pending(world)
    assert question.holder is None
    assert await give(await gated(world, build), question, "yes") == gives("yes")


def nested_asking(*questions):
    return nested(asking(*questions), 0)


async def test_a_second_question_is_not_as_old_as_the_first(world):
    build = two_in_one()
    await (await gated(world, build)).start()
    [first] = await pending(world)
    between = by_the_clock_of_any_store(datetime.now(timezone.utc))
    await (await gated(world, build)).answer("one")
    [second] = await pending(world)
    assert first.since < between <= second.since


@pytest.mark.parametrize("depth", [0, 1])
@sync_backends
async def test_what_was_asked_by_ask_has_its_own_time(world, depth):
    times = []

    def node(_):
        times.append(by_the_clock_of_any_store(datetime.now(timezone.utc)))
        return {"v": ask("q1")}

    thread = await world.thread(nested(node, depth))
    await thread.start()
    [question] = await pending(world)
    assert times[0] <= question.since
    assert await give(thread, question, "yes") == gives("yes")


# -- a page of them ------------------------------------------------------------------------------------------


async def test_filters_and_pages(world):
    build = saved(side_by_side(a=gate("q1"), b=gate("q2")))
    for n in range(4):
        thread = await world.thread(build, id=f"team{n % 2}/%_{n}", configurable={"tenant": n // 2})
        await thread.start()
    every = await pending(world)
    assert len(every) == 8
    assert [q.checkpoint for q in every] == sorted(q.checkpoint for q in every)
    assert {q.thread for q in await pending(world, prefix="team1/%_")} == {"team1/%_1", "team1/%_3"}
    assert await listed(world, prefix="team1/%_%") == []
    assert {q.thread for q in await pending(world, metadata={"tenant": 1})} == {"team0/%_2", "team1/%_3"}
    assert await listed(world, metadata={"tenant": None}) == []
    assert len(await pending(world, older_than=timedelta(0))) == 8
    assert await listed(world, older_than=timedelta(days=1)) == []
    for size in (1, 3, 8, 9):
        pages, last = [], None
        while page := await pending(world, limit=size, after=last):
            assert len(page) <= size
            pages, last = pages + page, page[-1]
        assert pages == every


async def test_more_than_one_batch(world):
    build = nested(asking("q1"), 0)
    thread = await world.thread(build)
    for n in range(205):
        await Thread(thread.graph, thread.is_async, f"t{n:03}").start()
    for n in range(0, 205, 2):
        await Thread(thread.graph, thread.is_async, f"t{n:03}").answer("yes")
    assert [q.thread for q in await pending(world)] == [f"t{n:03}" for n in range(1, 205, 2)]


@pytest.mark.parametrize(
    "wrong",
    [
        {"limit": 0},
        {"limit": "x"},
        {"older_than": 5},
        {"prefix": None},
        {"prefix": "\0"},
        {"after": "x"},
        {"metadata": 1},
    ],
)
@pytest.mark.parametrize("world", ["memory"], indirect=True)
async def test_a_wrong_call_is_refused(world, wrong):
    with pytest.raises(RemitError) as refused:
        await pending(world, **wrong)
    assert refused.value.code == "bad-page"


# -- it only reads -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("adopted", [False, True])
@databases
async def test_it_needs_no_more_than_to_read(world, adopted):
    """Also where REMIT never was."""
    build = nested(asking("q1"), 0)
    if adopted:
        await (await world.thread(build)).start()
    else:
        await (await world.thread(build, stock=True)).start()
    if world.store.backend == "sqlite":
        connection = sqlite3.connect(f"file:{world.store.place}?mode=ro", uri=True, check_same_thread=False)
        inner = SqliteSaver(connection)
        inner.is_setup = True
    else:
        options = {"options": "-c default_transaction_read_only=on", **POSTGRES_CONNECTION}
        connection = psycopg.connect(world.store.place, **options)
        inner = PostgresSaver(connection)
    try:
        saver = RemitSaver(inner)
        assert [(q.thread, q.value) for q in saver.pending()] == [("thread", "q1")]
        assert saver.explain({"configurable": {"thread_id": "thread"}}).state == "parked"
    finally:
        connection.close()


@sync_backends
async def test_over_a_saver_that_is_not_known_every_checkpoint_is_looked_at(world):
    build = gates("q1", "q2")
    await (await world.thread(build, id="other")).start()
    thread = await world.thread(build)
    await thread.start()
    await thread.answer("yes")
    saver = RemitSaver(ThirdParty(await world.saver(stock=True)))
    assert [(q.thread, q.value) for q in saver.pending()] == [("other", "q1"), ("thread", "q2")]
    assert [q.thread for q in saver.pending(prefix="th", limit=1)] == ["thread"]


@databases
async def test_setup_makes_the_index_that_it_uses(world):
    saver = await world.saver()
    await (await world.thread(gates("q1"))).start()
    statement, values = saver._protocol.store.select_questions, ("", "", 0, "", 100)
    if world.store.backend == "sqlite":
        plan = str(saver.inner.conn.execute(f"EXPLAIN QUERY PLAN {statement}", values).fetchall())
    else:
        with psycopg.connect(world.store.place) as connection:
            connection.execute("SET enable_seqscan = off")
            plan = str(connection.execute(f"EXPLAIN {statement}", values).fetchall())
    assert "remit_questions" in plan


async def test_without_the_index_the_listing_is_the_same(world):
    await (await world.thread(gates("q1"))).start()
    if world.store.backend not in ("memory",):
        drop = "DROP INDEX remit_questions"
        if "sqlite" in world.store.backend:
            with sqlite3.connect(world.store.place) as connection:
                connection.execute(drop)
        else:
            with psycopg.connect(world.store.place) as connection:
                connection.execute(drop)
    assert [(q.thread, q.value) for q in await _unset(world)] == [("thread", "q1")]


async def _unset(world):
    """The listing of a saver that is not set up."""
    inner = await world.saver(stock=True)
    return await RemitSaver(inner).apending() if world.is_async else RemitSaver(inner).pending()


@pytest.mark.parametrize("world", ["postgres"], indirect=True)
async def test_a_role_that_owns_no_tables_lists_without_the_index(world):
    await (await world.thread(gates("q1"), stock=True)).start()
    role = f"r{os.urandom(6).hex()}"
    with psycopg.connect(world.store.place, **POSTGRES_CONNECTION) as connection:
        connection.execute(f"CREATE ROLE {role}")
        connection.execute(f"GRANT CREATE ON SCHEMA public TO {role}")
        connection.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {role}")
        connection.execute(f"SET ROLE {role}")
        lesser = RemitSaver(PostgresSaver(connection))
        lesser.setup()
        assert [q.value for q in lesser.pending()] == ["q1"]
        connection.execute("RESET ROLE")
        assert connection.execute("SELECT to_regclass('remit_questions') AS found").fetchone()["found"] is None
        connection.execute(f"DROP OWNED BY {role}")
        connection.execute(f"DROP ROLE {role}")


# -- any history ---------------------------------------------------------------------------------------------

acts = st.tuples(
    st.sampled_from(["start", "answer", "bad", "go on", "fork", "edit", "delete", "stock answer", "stock start"]),
    st.sampled_from(["a", "b"]),
    st.integers(0, 5),
)


@pytest.mark.filterwarnings("ignore::remit.RemitStrayResume")
@pytest.mark.parametrize("backend", ["memory", "sqlite", "postgres"])
def test_after_any_history_every_open_question_is_listed_and_no_other(backend, new_place, tmp_path):
    """Listed is what would be found by looking at every checkpoint; on a thread that was not forked, what LangGraph
    shows; and all of it can be answered, until nothing is open."""

    def node(state):
        from langgraph.types import interrupt

        return {"log": [accepted(interrupt("q1")), accepted(interrupt("q2"))]}

    def accepted(value):
        if value == BAD:
            raise ValueError(value)
        return value

    build = saved(side_by_side(a=gate("qa"), b=node))

    @settings(max_examples=60 if backend == "memory" else 15, suppress_health_check=list(HealthCheck))
    @given(st.lists(acts, min_size=1, max_size=8))
    def check(history):
        with Store(backend, new_place(backend)) as store:
            graph, stock = build(store.wrapped()), build(store.inner())
            forked = set()
            for act, id, n in history:
                config = {"configurable": {"thread_id": id}}
                try:
                    _act(act, graph, stock, config, n, forked)
                except (ValueError, RemitError, RuntimeError):
                    continue
            saver = store.reopen()
            for _ in range(40):
                found = saver.pending()
                assert _keys(found) == _keys(_exhaustive(saver))
                for id in {"a", "b"} - forked:
                    shown = graph.get_state({"configurable": {"thread_id": id}})
                    ids = {i.id for t in shown.tasks if not t.result for i in t.interrupts}
                    assert {q.id for q in found if q.thread == id} == ids
                if not found:
                    break
                question = found[0]
                with suppress(ValueError):  # another node is served its bad answer again
                    graph.invoke(Command(resume={question.id: "ok"}), question.config)
            else:
                raise AssertionError(f"what was answered is listed again: {found}")

    check()


def _keys(questions):
    return sorted((q.thread, q.checkpoint, q.branch or "", q.id) for q in questions)


def _exhaustive(saver):
    found = []
    for tup in list(saver.inner.list(None)):
        conf = tup.config["configurable"]
        if not conf.get("checkpoint_ns"):
            found += drive(saver.inner, _at(saver._protocol, conf["thread_id"], tup.checkpoint["id"]))
    return found


def _act(act, graph, stock, config, n, forked):
    shown = graph.get_state(config)
    ids = [i.id for t in shown.tasks for i in t.interrupts]
    resume = Command(resume={ids[n % len(ids)]: BAD if act == "bad" else f"v{n}"}) if ids else None
    if act == "start":
        graph.invoke({"log": []}, config)
    elif act == "stock start":
        stock.invoke({"log": []}, config)
    elif act in ("answer", "bad") and resume is not None:
        graph.invoke(resume, config)
    elif act == "stock answer" and resume is not None:
        stock.invoke(resume, config)
    elif act == "go on" and shown.next:
        graph.invoke(None, config)
    elif act == "edit" and shown.values:
        graph.update_state(config, {"log": ["edited"]}, as_node="a")
    elif act == "delete":
        graph.checkpointer.delete_thread(config["configurable"]["thread_id"])
        forked.discard(config["configurable"]["thread_id"])
    elif act == "fork":
        past = [s for s in graph.get_state_history(config) if any(t.interrupts for t in s.tasks)]
        if past:
            chosen = past[n % len(past)]
            ids = [i.id for t in chosen.tasks for i in t.interrupts]
            forked.add(config["configurable"]["thread_id"])
            at = {"configurable": {**chosen.config["configurable"], "remit_fork": f"f{n % 2}"}}
            graph.invoke(Command(resume={ids[n % len(ids)]: f"v{n}"}), at)
