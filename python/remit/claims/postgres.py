"""The store in a PostgreSQL database: the connection, pool or pipeline is the inner saver's."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, nullcontext, suppress
from copy import copy
from typing import Any

import psycopg
from langgraph.checkpoint.postgres import PostgresSaver

from .._core import refuse
from ..commits import GroupCommit, Write
from .base import VERSION, Store, is_stock, on_its_loop, to_the_end

_NOW = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
_COLUMNS = (
    "thread_id, checkpoint_ns, line, checkpoint_id, question, fence, state, running, owner, since, lease_end, settled,"
    " outcome, interrupts, answer_id, digest"
)
_PLANE = "thread_id = %s AND checkpoint_ns = %s AND line = %s"
_KEY = f"{_PLANE} AND checkpoint_id = %s AND question = %s"
_EFFECT_COLUMNS = (
    "id, thread_id, branch, task_id, effect, effect_key, digest, fence, state, owner, since, until, settled, outcome,"
    " checkpoint_ns, checkpoint_id, fingerprint, result_type, result"
)
_NEW_EFFECT = (
    "INSERT INTO remit_effects (digest, fence, thread_id, branch, task_id, effect, effect_key, checkpoint_ns,"
    " checkpoint_id, fingerprint, owner, until, since, state)"
)
_CLAIM_HELD = (
    "(%s::bigint IS NULL OR EXISTS (SELECT 1 FROM remit_claims WHERE thread_id = %s AND checkpoint_ns = %s"
    " AND line = %s AND checkpoint_id = %s AND question = %s AND fence = %s AND running = 1))"
)
_ASKS = "checkpoint_ns = '' AND (channel = '__interrupt__' OR right(task_id, 2) = '|q')"
"""Of the saver's table `checkpoint_writes`: the rows that ask in a root graph, `|q` on a fork."""


class PostgresStore(Store):
    """For `PostgresSaver` and `AsyncPostgresSaver`."""

    # one statement, under a lock of its own: CREATE TABLE IF NOT EXISTS is not safe between racing sessions
    schema = (
        "DO $$ BEGIN"
        " PERFORM pg_advisory_xact_lock(hashtext('remit_schema'));"
        " CREATE TABLE IF NOT EXISTS remit_schema (id INTEGER PRIMARY KEY CHECK (id = 1), version INTEGER NOT NULL);"
        " CREATE TABLE IF NOT EXISTS remit_forks (thread_id TEXT NOT NULL, checkpoint_ns TEXT NOT NULL,"
        " checkpoint_id TEXT NOT NULL, ordinal INTEGER NOT NULL, token TEXT,"
        " PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id, ordinal),"
        " UNIQUE (thread_id, checkpoint_ns, checkpoint_id, token));"
        " CREATE TABLE IF NOT EXISTS remit_claims (thread_id TEXT NOT NULL, checkpoint_ns TEXT NOT NULL,"
        " line TEXT NOT NULL, checkpoint_id TEXT NOT NULL, question TEXT NOT NULL, fence BIGINT NOT NULL,"
        " state TEXT NOT NULL, running INTEGER NOT NULL, owner TEXT NOT NULL, since BIGINT NOT NULL,"
        " lease_end BIGINT NOT NULL, settled BIGINT, outcome TEXT, interrupts TEXT NOT NULL, answer_id TEXT,"
        " digest TEXT, PRIMARY KEY (thread_id, checkpoint_ns, line, checkpoint_id, question, fence));"
        " CREATE UNIQUE INDEX IF NOT EXISTS remit_claims_running ON remit_claims (thread_id, checkpoint_ns, line)"
        " WHERE running = 1;"
        " CREATE INDEX IF NOT EXISTS remit_claims_answer ON remit_claims (thread_id, answer_id)"
        " WHERE answer_id IS NOT NULL;"
        " CREATE TABLE IF NOT EXISTS remit_effects (id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,"
        " thread_id TEXT NOT NULL, branch TEXT NOT NULL, task_id TEXT NOT NULL, effect TEXT NOT NULL,"
        " effect_key TEXT NOT NULL, digest TEXT NOT NULL, fence BIGINT NOT NULL, state TEXT NOT NULL,"
        " owner TEXT NOT NULL, since BIGINT NOT NULL, until BIGINT NOT NULL, settled BIGINT, outcome TEXT,"
        " checkpoint_ns TEXT NOT NULL, checkpoint_id TEXT NOT NULL, fingerprint TEXT, result_type TEXT, result BYTEA,"
        " UNIQUE (digest, fence));"
        " CREATE INDEX IF NOT EXISTS remit_effects_thread ON remit_effects (thread_id);"
        f" INSERT INTO remit_schema (id, version) VALUES (1, {VERSION}) ON CONFLICT (id) DO NOTHING;"
        " END $$",
    )
    select_version = "SELECT version FROM remit_schema WHERE id = 1"
    select_forks = (
        "SELECT token FROM remit_forks WHERE thread_id = %s AND checkpoint_ns = %s AND checkpoint_id = %s"
        " ORDER BY ordinal"
    )
    select_token = (
        "SELECT checkpoint_id FROM remit_forks WHERE thread_id = %s AND checkpoint_ns = %s AND token = %s"
        " ORDER BY checkpoint_id DESC LIMIT 1"
    )
    insert_fork = (
        "INSERT INTO remit_forks (thread_id, checkpoint_ns, checkpoint_id, ordinal, token) VALUES (%s, %s, %s, %s, %s)"
        " ON CONFLICT DO NOTHING RETURNING ordinal"
    )
    delete_forks = "DELETE FROM remit_forks WHERE thread_id = %s"
    insert_grant = (
        "INSERT INTO remit_claims (thread_id, checkpoint_ns, line, checkpoint_id, question, fence, state, running,"
        " owner, since, lease_end, interrupts, answer_id, digest)"
        f" VALUES (%s, %s, %s, %s, %s, %s, 'held', 1, %s, {_NOW}, {_NOW} + %s, %s, %s, %s)"
        " ON CONFLICT DO NOTHING RETURNING lease_end"
    )
    select_grants = (
        f"SELECT * FROM (SELECT {_COLUMNS}, {_NOW} FROM remit_claims WHERE {_KEY} ORDER BY fence DESC LIMIT 1) AS last"
        f" UNION ALL SELECT {_COLUMNS}, {_NOW} FROM remit_claims WHERE {_PLANE} AND running = 1"
    )
    # a grant that is held becomes what it is settled to; one that was consumed before stays so
    settle_grant = (
        "UPDATE remit_claims SET running = %s, settled = CASE state WHEN 'held' THEN"
        f" {_NOW} ELSE settled END, outcome = CASE state WHEN 'held' THEN %s ELSE outcome END,"
        f" state = CASE state WHEN 'held' THEN %s ELSE state END WHERE {_KEY} AND fence = %s AND running = 1"
        " RETURNING fence"
    )
    settle_grant_as_seen = settle_grant.replace("running = 1", "running = 1 AND lease_end = %s")
    renew_grant = (
        f"UPDATE remit_claims SET lease_end = greatest(lease_end, {_NOW} + %s) WHERE {_KEY} AND fence = %s"
        " AND running = 1 RETURNING lease_end"
    )
    select_answered = (
        f"SELECT {_COLUMNS} FROM remit_claims WHERE thread_id = %s AND answer_id = %s ORDER BY since, fence"
    )
    select_trail = (
        f"SELECT {_COLUMNS} FROM remit_claims WHERE thread_id = %s ORDER BY since, checkpoint_id, question, fence"
    )
    delete_grants = "DELETE FROM remit_claims WHERE thread_id = %s"
    insert_effect = (
        f"{_NEW_EFFECT} SELECT %s, %s::bigint, %s, %s, %s, %s, %s, %s, %s, %s, %s, {_NOW} + %s, {_NOW}, 'admitted'"
        f" WHERE {_CLAIM_HELD} ON CONFLICT DO NOTHING RETURNING id"
    )
    # the mark makes whoever settles the earlier admission at the same time wait, and then find it
    take_effect_over = (
        "WITH prior AS (UPDATE remit_effects SET outcome = 'superseded' WHERE digest = %s AND fence = %s"
        f" AND state = 'admitted' AND outcome IS NULL AND {_CLAIM_HELD} RETURNING id)"
        f" {_NEW_EFFECT} SELECT %s, %s::bigint, %s, %s, %s, %s, %s, %s, %s, %s, %s, {_NOW} + %s, {_NOW}, 'admitted'"
        " FROM prior ON CONFLICT DO NOTHING RETURNING id"
    )
    select_effect = (
        f"SELECT {_EFFECT_COLUMNS}, {_NOW} AS now, {_CLAIM_HELD} AS held FROM remit_effects WHERE digest = %s"
        " ORDER BY fence DESC LIMIT 1"
    )
    settle_effect = (
        f"UPDATE remit_effects SET state = %s, outcome = %s, result_type = %s, result = %s, settled = {_NOW}"
        " WHERE digest = %s AND fence = %s AND state = 'admitted' AND outcome IS NULL RETURNING id"
    )
    store_result = (
        "UPDATE remit_effects SET result_type = %s, result = %s WHERE digest = %s AND fence = %s AND state = 'done'"
        " AND result_type IS NULL RETURNING id"
    )
    select_effects = f"SELECT {_EFFECT_COLUMNS} FROM remit_effects WHERE thread_id = %s ORDER BY id"
    delete_effects = "DELETE FROM remit_effects WHERE thread_id = %s"
    prune_effects = (
        "DELETE FROM remit_effects WHERE thread_id = %s AND task_id <> '' AND state <> 'admitted' AND NOT EXISTS"
        " (SELECT 1 FROM checkpoints AS c WHERE c.thread_id = remit_effects.thread_id"
        " AND c.checkpoint_ns = remit_effects.checkpoint_ns AND c.checkpoint_id = remit_effects.checkpoint_id)"
    )
    prune_grants = (
        "DELETE FROM remit_claims WHERE thread_id = %s AND running = 0 AND answer_id IS NULL AND checkpoint_id <> ''"
        " AND NOT EXISTS (SELECT 1 FROM checkpoints AS c WHERE c.thread_id = remit_claims.thread_id"
        " AND c.checkpoint_ns = remit_claims.checkpoint_ns AND c.checkpoint_id = remit_claims.checkpoint_id)"
    )
    copy_forks = (
        "INSERT INTO remit_forks (thread_id, checkpoint_ns, checkpoint_id, ordinal, token) SELECT %s, checkpoint_ns,"
        " checkpoint_id, ordinal, token FROM remit_forks WHERE thread_id = %s ON CONFLICT DO NOTHING"
    )
    copy_effect = (
        "INSERT INTO remit_effects (thread_id, branch, task_id, effect, effect_key, digest, fence, state, owner,"
        " since, until, settled, outcome, checkpoint_ns, checkpoint_id, fingerprint, result_type, result)"
        f" VALUES ({', '.join(['%s'] * 18)}) ON CONFLICT (digest, fence) DO UPDATE SET state = excluded.state,"
        " settled = excluded.settled, outcome = excluded.outcome, result_type = excluded.result_type,"
        " result = excluded.result WHERE remit_effects.state = 'admitted'"
    )
    select_threads = "SELECT DISTINCT thread_id FROM checkpoints WHERE checkpoint_ns = '' ORDER BY thread_id"
    select_questions = (
        f"SELECT DISTINCT checkpoint_id, thread_id FROM checkpoint_writes WHERE {_ASKS}"
        " AND (checkpoint_id, thread_id) > (%s, %s) AND substr(thread_id, 1, %s) = %s"
        " AND (right(task_id, 2) = '|q' OR NOT EXISTS (SELECT 1"
        " FROM checkpoints AS own JOIN checkpoints AS newer ON newer.thread_id = own.thread_id"
        " AND newer.checkpoint_ns = '' AND newer.checkpoint_id > own.checkpoint_id"
        " WHERE own.thread_id = checkpoint_writes.thread_id AND own.checkpoint_ns = ''"
        " AND own.checkpoint_id = checkpoint_writes.checkpoint_id"
        " AND coalesce(newer.metadata->>'remit_branch', '') = coalesce(own.metadata->>'remit_branch', '')))"
        " ORDER BY checkpoint_id, thread_id LIMIT %s"
    )
    # one statement, and no lock on the table where the index is there
    index_questions = (
        "DO $$ BEGIN"
        " PERFORM pg_advisory_xact_lock(hashtext('remit_schema'));"
        " IF to_regclass('remit_questions') IS NULL THEN"
        f" CREATE INDEX remit_questions ON checkpoint_writes (checkpoint_id, thread_id) WHERE {_ASKS};"
        " END IF; END $$"
    )
    select_asked = (
        "SELECT max(since) FROM remit_effects WHERE thread_id = %s AND task_id = %s AND checkpoint_id = %s"
        " AND effect = 'remit.ask' AND state = 'admitted'"
    )
    is_newest = (
        "WITH RECURSIVE plane (thread, ns, after, parent, line, own) AS (SELECT %s::text, %s::text, %s::text, %s::text,"
        " %s::text, %s::text), later (id, source) AS ("
        "SELECT checkpoint_id, metadata->>'source' FROM checkpoints, plane WHERE thread_id = thread"
        " AND checkpoint_ns = ns AND checkpoint_id > after AND parent_checkpoint_id IS NOT DISTINCT FROM parent"
        " AND metadata->>'remit_branch' IS NOT DISTINCT FROM line"
        " UNION ALL SELECT checkpoint_id, metadata->>'source' FROM plane, later JOIN checkpoints"
        " ON parent_checkpoint_id = later.id AND checkpoint_id > later.id WHERE thread_id = thread"
        " AND checkpoint_ns = ns AND metadata->>'remit_branch' IS NOT DISTINCT FROM line AND later.source = 'update')"
        " SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM later, plane WHERE source IN ('input', 'loop') AND id <> own)"
    )
    lock_plane = "SELECT pg_advisory_xact_lock(hashtextextended(%s || chr(10) || %s, 0))"
    lands_together = True

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        # a pool has a connection for each thread, and a pipeline sends together what comes together
        is_alone = not hasattr(getattr(inner, "conn", None), "getconn") and not getattr(inner, "pipe", None)
        if is_alone and is_stock(inner, PostgresSaver, "put", "put_writes", "_cursor"):
            self.groups = GroupCommit(self)

    def ordered(self, row: tuple[Any, ...], condition: tuple[Any, ...]) -> tuple[Any, ...]:
        # what is taken over comes first there
        return (*condition, *row) if len(condition) > 7 else (*row, *condition)

    def is_missing(self, error: BaseException) -> bool:
        return isinstance(error, psycopg.errors.UndefinedTable)

    def is_denied(self, error: BaseException) -> bool:
        return isinstance(error, psycopg.errors.InsufficientPrivilege)

    def check(self) -> None:
        conn = getattr(self._inner, "conn", None)
        autocommit = getattr(conn, "autocommit", None)
        if autocommit is None:  # a pool: what it connects with
            kwargs = getattr(conn, "kwargs", None) or {}
            is_known = isinstance(kwargs, dict) and getattr(conn, "_configure", None) is None
            autocommit = kwargs.get("autocommit", False) if is_known and hasattr(conn, "getconn") else True
        if not autocommit:
            raise refuse("not-autocommit")

    def execute(self, statement: str, parameters: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        if hasattr(self._inner, "loop"):  # an async saver, called from another thread than its loop's
            return on_its_loop(self._inner, self.aexecute(statement, parameters))
        with self._inner._cursor(pipeline=self._inner.pipe is not None) as cursor:
            cursor.execute(statement, parameters or None)
            return [tuple(row.values()) for row in cursor.fetchall()] if _returns_rows(statement) else []

    async def aexecute(self, statement: str, parameters: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        return await to_the_end(self._aexecute(statement, parameters))

    async def _aexecute(self, statement: str, parameters: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        async with self._inner._cursor(pipeline=self._inner.pipe is not None) as cursor:
            await cursor.execute(statement, parameters or None)
            return [tuple(row.values()) for row in await cursor.fetchall()] if _returns_rows(statement) else []

    @contextmanager
    def transaction(self) -> Iterator[tuple[Any, Store]]:
        inner = self._inner
        if hasattr(inner, "loop"):
            raise refuse(
                "bad-transaction", detail="the saver is an async one, whose transactions are entered with async with"
            )
        with inner.lock, _connection(inner) as conn:
            try:
                with conn.transaction():
                    yield conn, self._with(_within(inner, conn))
            finally:
                if inner.pipe:
                    inner.pipe.sync()

    @asynccontextmanager
    async def atransaction(self) -> AsyncIterator[tuple[Any, Store]]:
        inner = self._inner
        if not hasattr(inner, "loop"):
            raise refuse(
                "bad-transaction", detail="the saver is a blocking one, whose transactions are entered with with"
            )
        async with inner.lock, _connection(inner) as conn:
            try:
                async with conn.transaction():
                    yield conn, self._with(_within(inner, conn))
            finally:
                if inner.pipe:
                    await inner.pipe.sync()

    def _with(self, inner: Any) -> Store:
        store = copy(self)
        store._inner = inner
        return store

    def commit(self, writes: Sequence[Write]) -> list[tuple[bool, Any]]:
        inner = writes[0].inner
        if hasattr(inner, "loop"):
            return on_its_loop(inner, self.acommit(writes))
        results: list[tuple[bool, Any]] = []
        with inner.lock, _connection(inner) as conn:
            # savers differ by their serializers
            within = {id(w.inner): _within(w.inner, conn, _Unsent()) for w in writes}
            try:
                with _pipeline(inner, conn), conn.cursor() as cursor:
                    cursor.execute("BEGIN")
                    for w in writes:
                        if w.plane is not None:  # by itself: a statement sees what was there before it
                            cursor.execute(self.lock_plane, w.plane)
                        if w.statement:
                            cursor.execute(_or_nothing(w.statement), w.parameters)
                        results.append((True, getattr(within[id(w.inner)], w.name)(*w.args)))
                    cursor.execute("COMMIT")
                    if inner.pipe:
                        inner.pipe.sync()
            except psycopg.errors.DivisionByZero:
                if len(writes) > 1:
                    raise  # one of them found nothing, and which is not known
                return [(False, None)]
            finally:
                with suppress(psycopg.Error):  # of a connection that is lost
                    # what failed: a commit has left nothing. Not in the pipeline, which would go on with statements that
                    # a rollback makes the connection forget
                    conn.rollback()
        return results

    async def acommit(self, writes: Sequence[Write]) -> list[tuple[bool, Any]]:
        return await to_the_end(self._acommit(writes))

    async def _acommit(self, writes: Sequence[Write]) -> list[tuple[bool, Any]]:
        (w,) = writes  # groups are for threads
        inner = w.inner
        async with inner.lock, _connection(inner) as conn:
            try:
                async with _pipeline(inner, conn), conn.cursor() as cursor:
                    await cursor.execute("BEGIN")
                    if w.plane is not None:
                        await cursor.execute(self.lock_plane, w.plane)
                    await cursor.execute(_or_nothing(w.statement), w.parameters)
                    result = await getattr(_within(inner, conn, _AsyncUnsent()), "a" + w.name)(*w.args)
                    await cursor.execute("COMMIT")
                    if inner.pipe:
                        await inner.pipe.sync()
            except psycopg.errors.DivisionByZero:
                return [(False, None)]
            finally:
                with suppress(psycopg.Error):
                    await conn.rollback()
        return [(True, result)]


def _returns_rows(statement: str) -> bool:
    """A cursor in pipeline mode does not know it before it has fetched."""
    return statement.startswith("SELECT") or "RETURNING" in statement


def _connection(inner: Any) -> Any:
    """The saver's connection, or one of its pool's, as a context."""
    return inner.conn.connection() if hasattr(inner.conn, "getconn") else nullcontext(inner.conn)


def _pipeline(inner: Any, conn: Any) -> Any:
    """A pipeline saves round trips, where the saver has none of its own."""
    return conn.pipeline() if inner.supports_pipeline and not inner.pipe else nullcontext()


def _within(inner: Any, conn: Any, pipe: Any = None) -> Any:
    """The same saver, for whoever holds its lock and has a transaction open on its connection. `pipe`: a pipeline that
    the connection is in."""
    within = copy(inner)
    within.lock = nullcontext()
    within.conn = conn
    if pipe is not None and inner.supports_pipeline:
        within.pipe = pipe
    return within


def _or_nothing(statement: str) -> str:
    """A statement that fails where the given one returns no row, and with it the transaction: so nobody has to wait for
    what it says before the rest is sent."""
    return f"WITH found AS ({statement}) SELECT 1 / count(*) FROM found"


class _Unsent:
    """A pipeline that sends nothing yet: all of a transaction goes in one round trip."""

    def sync(self) -> None:
        pass


class _AsyncUnsent:
    async def sync(self) -> None:
        pass
