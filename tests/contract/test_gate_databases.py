"""The gate on what databases are like: kinds of connections, schemas, roles, restarts; journals, locks, files."""

from __future__ import annotations

import os
import signal
import sqlite3
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack, ExitStack, contextmanager
from typing import Any

import psycopg
import pytest
from crash import DEADLINE_S
from gating import CONFLICT, DAY_S, Elsewhere, Hold, answered, begin
from graphs import STOCK, Thread, asking, asks, gives, nested
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from psycopg import sql
from psycopg.conninfo import make_conninfo
from psycopg_pool import AsyncConnectionPool, ConnectionPool
from remit import RemitError, RemitSaver
from stores import POSTGRES_CONNECTION
from test_gate_processes import one_gate

pytestmark = pytest.mark.skipif(STOCK, reason="LangGraph's own savers have no gate")

GATED: dict[str, Any] = {"cross_process_gate": True, "claim_lease": DAY_S}


@contextmanager
def opened(kind: str, url: str) -> Iterator[PostgresSaver]:
    """A saver over a kind of connection, that was not set up."""
    with ExitStack() as stack:
        if kind == "pool":
            pool = ConnectionPool(url, kwargs=POSTGRES_CONNECTION, min_size=1, max_size=3, open=False)
            yield PostgresSaver(stack.enter_context(pool))
            return
        connection = stack.enter_context(psycopg.connect(url, **POSTGRES_CONNECTION))
        pipe = stack.enter_context(connection.pipeline()) if kind == "pipeline" else None
        yield PostgresSaver(connection, pipe)


async def answers_once(first: Thread, second: Thread, ledger: Any) -> None:
    """One of two runs: the other is refused; a failure frees."""
    assert await first.start() == asks("q1")
    assert (await second.answer("bad"))[0] == "fails"
    hold = Hold("after q1")
    running = begin(first, answered("yes"))
    await hold.reached()
    assert await second.answer("yes") == CONFLICT
    hold.go()
    assert await running == gives("yes")
    assert ledger.fired("effect") == [["yes"]]


# -- PostgreSQL ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["connection", "pool", "pipeline"])
async def test_a_connection_a_pool_or_a_pipeline(kind, new_database, ledger):
    url = new_database()
    build = nested(asking("q1", ledger=ledger), 0)
    with opened("connection", url) as inner:  # PostgresSaver cannot set up in a pipeline
        RemitSaver(inner, **GATED).setup()
    with opened(kind, url) as a, opened(kind, url) as b:
        first, second = [Thread(build(RemitSaver(inner, **GATED)), False) for inner in (a, b)]
        await answers_once(first, second, ledger)


async def test_an_async_pool(new_database, ledger):
    url = new_database()
    build = nested(asking("q1", ledger=ledger), 0)
    async with AsyncExitStack() as stack:
        threads = []
        for _ in range(2):
            pool = AsyncConnectionPool(url, kwargs=POSTGRES_CONNECTION, min_size=1, max_size=3, open=False)
            saver = RemitSaver(AsyncPostgresSaver(await stack.enter_async_context(pool)), **GATED)
            await saver.setup()
            threads.append(Thread(build(saver), True))
        await answers_once(*threads, ledger)


def test_a_transactional_connection_is_refused(new_database):
    url = new_database()
    with psycopg.connect(url) as connection, pytest.raises(RemitError) as raised:
        RemitSaver(PostgresSaver(connection), **GATED)
    assert raised.value.code == "not-autocommit"
    with ConnectionPool(url, min_size=0, max_size=1, open=True) as pool, pytest.raises(RemitError) as raised:
        RemitSaver(PostgresSaver(pool), **GATED)
    assert raised.value.code == "not-autocommit"
    with opened("connection", url) as inner:
        assert RemitSaver(inner, **GATED)


async def test_another_schema_by_search_path(new_database, ledger):
    url = new_database()
    with psycopg.connect(url, autocommit=True) as server:
        server.execute("CREATE SCHEMA app")
    inside = make_conninfo(url, options="-csearch_path=app")
    build = nested(asking("q1", ledger=ledger), 0)
    with opened("connection", inside) as a, opened("connection", inside) as b:
        for inner in (a, b):
            RemitSaver(inner, **GATED).setup()
        await answers_once(*(Thread(build(RemitSaver(inner, **GATED)), False) for inner in (a, b)), ledger)
    with psycopg.connect(url) as server:
        found = server.execute("SELECT DISTINCT schemaname FROM pg_tables WHERE tablename LIKE 'remit%'").fetchall()
    assert found == [("app",)]


def test_a_role_that_may_not_create_tables_is_told_the_sql(new_database, ledger):
    url = new_database()
    role = f"app_{os.getpid()}"
    with psycopg.connect(url, **POSTGRES_CONNECTION) as server:
        PostgresSaver(server).setup()
        server.execute(sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(role)))
        try:
            grant = "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {}"
            server.execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
            server.execute(sql.SQL(grant).format(sql.Identifier(role)))
            with opened("connection", make_conninfo(url, user=role)) as inner:
                graph = nested(asking("q1", ledger=ledger), 0)(RemitSaver(inner, **GATED))
                config: Any = {"configurable": {"thread_id": "thread"}}
                with pytest.raises(RemitError) as raised:
                    graph.invoke({"log": []}, config)
                error: Any = raised.value
                assert error.code == "tables-denied"
                assert "remit_claims" in error.sql
                assert error.sql in str(error)
                # nothing was run or stored, and the administrator runs what was said
                assert graph.get_state(config).values == {}
                server.execute(error.sql)
                server.execute(sql.SQL(grant).format(sql.Identifier(role)))
                graph.invoke({"log": []}, config)
                assert graph.invoke(answered("yes"), config)["v"] == "yes"
        finally:
            server.execute(sql.SQL("DROP OWNED BY {}").format(sql.Identifier(role)))
            server.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(role)))


@pytest.mark.skipif(bool(os.environ.get("REMIT_TEST_PG")), reason="the server is somebody else's: it must not crash")
async def test_the_server_restarts_while_a_claim_is_held(new_database, ledger):
    """A back end dies, and the server throws every session out and recovers. A pool connects again."""
    url = new_database()
    build = nested(asking("q1", ledger=ledger), 0)
    with opened("pool", url) as a, opened("pool", url) as b:
        RemitSaver(a, **GATED).setup()
        first, second = [Thread(build(RemitSaver(inner, **{**GATED, "claim_lease": 600.0})), False) for inner in (a, b)]
        assert await first.start() == asks("q1")
        hold = Hold("after q1")
        running = begin(first, answered("yes"))
        await hold.reached()
        with psycopg.connect(url, autocommit=True) as victim:
            victim.execute("CHECKPOINT")  # the tests' server flushes nothing otherwise
            os.kill(victim.info.backend_pid, signal.SIGKILL)
            with pytest.raises(psycopg.OperationalError):
                victim.execute("SELECT 1")
        _until_it_is_back(url)
        assert await second.answer("yes") == CONFLICT  # what it had granted is durable
        hold.go()
        assert await running == gives("yes")
        assert ledger.fired("effect") == [["yes"]]


def _until_it_is_back(url: str) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while True:
        try:
            psycopg.connect(url, connect_timeout=60).close()
            return
        except psycopg.OperationalError:
            assert time.monotonic() < deadline, "the server does not come back"
            time.sleep(0.05)


# -- SQLite ----------------------------------------------------------------------------------------------------------


@contextmanager
def sqlite(place: str, timeout_s: float = 30, **options: Any) -> Iterator[SqliteSaver]:
    connection = sqlite3.connect(place, check_same_thread=False, timeout=timeout_s, **options)
    try:
        yield SqliteSaver(connection)
    finally:
        connection.close()


@pytest.mark.parametrize("journal", ["delete", "wal"])
async def test_a_rollback_journal_and_a_write_ahead_log(journal, tmp_path, ledger):
    place = str(tmp_path / "app.db")
    build = nested(asking("q1", ledger=ledger), 0)
    with sqlite(place) as a:
        RemitSaver(a, **GATED).setup()
        a.conn.execute(f"PRAGMA journal_mode = {journal}")
    with sqlite(place) as a, sqlite(place) as b:
        a.is_setup = b.is_setup = True  # SqliteSaver sets the journal when it is set up
        assert b.conn.execute("PRAGMA journal_mode").fetchone() == (journal,)
        await answers_once(*(Thread(build(RemitSaver(inner, **GATED)), False) for inner in (a, b)), ledger)
        assert b.conn.execute("PRAGMA journal_mode").fetchone() == (journal,)


async def test_processes_race_on_a_rollback_journal(tmp_path, ledger):
    place = str(tmp_path / "app.db")
    with sqlite(place) as inner:
        saver = RemitSaver(inner, **GATED)
        saver.setup()
        inner.conn.execute("PRAGMA journal_mode = delete")
        thread = Thread(one_gate(ledger.path)(saver), False)
        await thread.start()
        owner = await Elsewhere(("sqlite", place), one_gate, (ledger.path,), answered("x"), stops=["after q1"]).go_to(
            "after q1"
        )
        assert await thread.answer("y") == CONFLICT
        assert await owner.ends() == gives("x")


def test_a_locked_database_refuses_before_anything_runs(tmp_path, ledger, monkeypatch):
    monkeypatch.setattr("remit.drivers._PATIENCE_S", 0.2)
    place = str(tmp_path / "app.db")
    config: Any = {"configurable": {"thread_id": "thread"}}
    with sqlite(place) as inner, sqlite(place, timeout_s=0.05) as impatient:
        build = nested(asking("q1", ledger=ledger), 0)
        graph = build(RemitSaver(inner, **GATED))
        graph.invoke({"log": []}, config)
        late = build(RemitSaver(impatient, **GATED))
        late.get_state(config)
        inner.conn.execute("BEGIN IMMEDIATE")
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            late.invoke(answered("yes"), config)
        inner.conn.rollback()
        assert ledger.fired() == []
        assert late.invoke(answered("yes"), config)["v"] == "yes"
        assert ledger.fired("effect") == [["yes"]]


def test_a_file_that_may_only_be_read_refuses_before_anything_runs(tmp_path, ledger):
    place = str(tmp_path / "app.db")
    config: Any = {"configurable": {"thread_id": "thread"}}
    build = nested(asking("q1", ledger=ledger), 0)
    with sqlite(place) as inner:
        graph = build(RemitSaver(inner, **GATED))
        graph.invoke({"log": []}, config)
        with sqlite(f"file:{place}?mode=ro", uri=True) as only:
            only.is_setup = True
            reader = build(RemitSaver(only, **GATED))
            assert reader.get_state(config).next == ("gate",)  # looking is no matter
            with pytest.raises((sqlite3.OperationalError, RemitError), match="readonly"):
                reader.invoke(answered("yes"), config)
        assert ledger.fired() == []
        assert graph.invoke(answered("yes"), config)["v"] == "yes"
