"""The store in a SQLite database: the connection and the lock are the inner saver's."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, nullcontext
from copy import copy
from typing import Any

from langgraph.checkpoint.sqlite import SqliteSaver

from .._core import refuse
from ..commits import GroupCommit, Write
from .base import VERSION, Store, is_stock, on_its_loop, to_the_end

_NOW = "CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000"
"""Whole milliseconds, the resolution of the database's clock: a finer product would only show a double's rounding."""
_COLUMNS = (
    "thread_id, checkpoint_ns, line, checkpoint_id, question, fence, state, running, owner, since, lease_end, settled,"
    " outcome, interrupts, answer_id, digest"
)
_PLANE = "thread_id = ? AND checkpoint_ns = ? AND line = ?"
_KEY = f"{_PLANE} AND checkpoint_id = ? AND question = ?"
_SOURCE = "json_extract(CAST(metadata AS TEXT), '$.source')"
_BRANCH = "json_extract(CAST(metadata AS TEXT), '$.remit_branch')"
_EFFECT_COLUMNS = (
    "id, thread_id, branch, task_id, effect, effect_key, digest, fence, state, owner, since, until, settled, outcome,"
    " checkpoint_ns, checkpoint_id, fingerprint, result_type, result"
)
_NEW_EFFECT = (
    "INSERT INTO remit_effects (digest, fence, thread_id, branch, task_id, effect, effect_key, checkpoint_ns,"
    " checkpoint_id, fingerprint, owner, until, since, state)"
)
_CLAIM_HELD = (
    "(? IS NULL OR EXISTS (SELECT 1 FROM remit_claims WHERE thread_id = ? AND checkpoint_ns = ? AND line = ?"
    " AND checkpoint_id = ? AND question = ? AND fence = ? AND running = 1))"
)
_ASKS = "checkpoint_ns = '' AND (channel = '__interrupt__' OR substr(task_id, -2) = '|q')"
"""Of the saver's table `writes`: the rows that ask in a root graph, `|q` on a fork."""


def _line(table: str) -> str:
    return f"coalesce(json_extract(CAST({table}.metadata AS TEXT), '$.remit_branch'), '')"


class SqliteStore(Store):
    """For `SqliteSaver` and `AsyncSqliteSaver`."""

    schema = (
        "CREATE TABLE IF NOT EXISTS remit_schema (id INTEGER PRIMARY KEY CHECK (id = 1), version INTEGER NOT NULL)",
        "CREATE TABLE IF NOT EXISTS remit_forks (thread_id TEXT NOT NULL, checkpoint_ns TEXT NOT NULL,"
        " checkpoint_id TEXT NOT NULL, ordinal INTEGER NOT NULL, token TEXT,"
        " PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id, ordinal),"
        " UNIQUE (thread_id, checkpoint_ns, checkpoint_id, token))",
        "CREATE TABLE IF NOT EXISTS remit_claims (thread_id TEXT NOT NULL, checkpoint_ns TEXT NOT NULL,"
        " line TEXT NOT NULL, checkpoint_id TEXT NOT NULL, question TEXT NOT NULL, fence INTEGER NOT NULL,"
        " state TEXT NOT NULL, running INTEGER NOT NULL, owner TEXT NOT NULL, since INTEGER NOT NULL,"
        " lease_end INTEGER NOT NULL, settled INTEGER, outcome TEXT, interrupts TEXT NOT NULL, answer_id TEXT,"
        " digest TEXT, PRIMARY KEY (thread_id, checkpoint_ns, line, checkpoint_id, question, fence)) WITHOUT ROWID",
        "CREATE UNIQUE INDEX IF NOT EXISTS remit_claims_running ON remit_claims (thread_id, checkpoint_ns, line)"
        " WHERE running = 1",
        "CREATE INDEX IF NOT EXISTS remit_claims_answer ON remit_claims (thread_id, answer_id)"
        " WHERE answer_id IS NOT NULL",
        "CREATE TABLE IF NOT EXISTS remit_effects (id INTEGER PRIMARY KEY, thread_id TEXT NOT NULL, branch TEXT NOT NULL,"
        " task_id TEXT NOT NULL, effect TEXT NOT NULL, effect_key TEXT NOT NULL, digest TEXT NOT NULL,"
        " fence INTEGER NOT NULL, state TEXT NOT NULL, owner TEXT NOT NULL, since INTEGER NOT NULL,"
        " until INTEGER NOT NULL, settled INTEGER, outcome TEXT, checkpoint_ns TEXT NOT NULL,"
        " checkpoint_id TEXT NOT NULL, fingerprint TEXT, result_type TEXT, result BLOB, UNIQUE (digest, fence))",
        "CREATE INDEX IF NOT EXISTS remit_effects_thread ON remit_effects (thread_id)",
        f"INSERT INTO remit_schema (id, version) VALUES (1, {VERSION}) ON CONFLICT (id) DO NOTHING",
    )
    select_version = "SELECT version FROM remit_schema WHERE id = 1"
    select_forks = (
        "SELECT token FROM remit_forks WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ? ORDER BY ordinal"
    )
    select_token = (
        "SELECT checkpoint_id FROM remit_forks WHERE thread_id = ? AND checkpoint_ns = ? AND token = ?"
        " ORDER BY checkpoint_id DESC LIMIT 1"
    )
    insert_fork = (
        "INSERT INTO remit_forks (thread_id, checkpoint_ns, checkpoint_id, ordinal, token) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT DO NOTHING RETURNING ordinal"
    )
    delete_forks = "DELETE FROM remit_forks WHERE thread_id = ?"
    insert_grant = (
        "INSERT INTO remit_claims (thread_id, checkpoint_ns, line, checkpoint_id, question, fence, state, running,"
        " owner, since, lease_end, interrupts, answer_id, digest)"
        f" VALUES (?, ?, ?, ?, ?, ?, 'held', 1, ?, {_NOW}, {_NOW} + ?, ?, ?, ?)"
        " ON CONFLICT DO NOTHING RETURNING lease_end"
    )
    select_grants = (
        f"SELECT * FROM (SELECT {_COLUMNS}, {_NOW} FROM remit_claims WHERE {_KEY} ORDER BY fence DESC LIMIT 1) AS last"
        f" UNION ALL SELECT {_COLUMNS}, {_NOW} FROM remit_claims WHERE {_PLANE} AND running = 1"
    )
    # a grant that is held becomes what it is settled to; one that was consumed before stays so
    settle_grant = (
        "UPDATE remit_claims SET running = ?, settled = CASE state WHEN 'held' THEN"
        f" {_NOW} ELSE settled END, outcome = CASE state WHEN 'held' THEN ? ELSE outcome END,"
        f" state = CASE state WHEN 'held' THEN ? ELSE state END WHERE {_KEY} AND fence = ? AND running = 1"
        " RETURNING fence"
    )
    settle_grant_as_seen = settle_grant.replace("running = 1", "running = 1 AND lease_end = ?")
    renew_grant = (
        f"UPDATE remit_claims SET lease_end = max(lease_end, {_NOW} + ?) WHERE {_KEY} AND fence = ? AND running = 1"
        " RETURNING lease_end"
    )
    select_answered = f"SELECT {_COLUMNS} FROM remit_claims WHERE thread_id = ? AND answer_id = ? ORDER BY since, fence"
    select_trail = (
        f"SELECT {_COLUMNS} FROM remit_claims WHERE thread_id = ? ORDER BY since, checkpoint_id, question, fence"
    )
    delete_grants = "DELETE FROM remit_claims WHERE thread_id = ?"
    insert_effect = (
        f"{_NEW_EFFECT} SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, {_NOW} + ?, {_NOW}, 'admitted' WHERE {_CLAIM_HELD}"
        " ON CONFLICT DO NOTHING RETURNING id"
    )
    take_effect_over = (
        f"{_NEW_EFFECT} SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, {_NOW} + ?, {_NOW}, 'admitted' FROM remit_effects"
        f" WHERE digest = ? AND fence = ? AND state = 'admitted' AND {_CLAIM_HELD} ON CONFLICT DO NOTHING RETURNING id"
    )
    select_effect = f"SELECT {_EFFECT_COLUMNS}, {_NOW}, {_CLAIM_HELD} FROM remit_effects WHERE digest = ? ORDER BY fence DESC LIMIT 1"
    settle_effect = (
        f"UPDATE remit_effects SET state = ?, outcome = ?, result_type = ?, result = ?, settled = {_NOW}"
        " WHERE digest = ? AND fence = ? AND state = 'admitted' AND NOT EXISTS (SELECT 1 FROM remit_effects AS later"
        " WHERE later.digest = remit_effects.digest AND later.fence > remit_effects.fence) RETURNING id"
    )
    store_result = (
        "UPDATE remit_effects SET result_type = ?, result = ? WHERE digest = ? AND fence = ? AND state = 'done'"
        " AND result_type IS NULL RETURNING id"
    )
    select_effects = f"SELECT {_EFFECT_COLUMNS} FROM remit_effects WHERE thread_id = ? ORDER BY id"
    delete_effects = "DELETE FROM remit_effects WHERE thread_id = ?"
    prune_effects = (
        "DELETE FROM remit_effects WHERE thread_id = ? AND task_id <> '' AND state <> 'admitted' AND NOT EXISTS"
        " (SELECT 1 FROM checkpoints AS c WHERE c.thread_id = remit_effects.thread_id"
        " AND c.checkpoint_ns = remit_effects.checkpoint_ns AND c.checkpoint_id = remit_effects.checkpoint_id)"
    )
    prune_grants = (
        "DELETE FROM remit_claims WHERE thread_id = ? AND running = 0 AND answer_id IS NULL AND checkpoint_id <> ''"
        " AND NOT EXISTS (SELECT 1 FROM checkpoints AS c WHERE c.thread_id = remit_claims.thread_id"
        " AND c.checkpoint_ns = remit_claims.checkpoint_ns AND c.checkpoint_id = remit_claims.checkpoint_id)"
    )
    copy_forks = (
        "INSERT INTO remit_forks (thread_id, checkpoint_ns, checkpoint_id, ordinal, token) SELECT ?, checkpoint_ns,"
        " checkpoint_id, ordinal, token FROM remit_forks WHERE thread_id = ? ON CONFLICT DO NOTHING"
    )
    copy_effect = (
        "INSERT INTO remit_effects (thread_id, branch, task_id, effect, effect_key, digest, fence, state, owner,"
        " since, until, settled, outcome, checkpoint_ns, checkpoint_id, fingerprint, result_type, result)"
        f" VALUES ({', '.join(['?'] * 18)}) ON CONFLICT (digest, fence) DO UPDATE SET state = excluded.state,"
        " settled = excluded.settled, outcome = excluded.outcome, result_type = excluded.result_type,"
        " result = excluded.result WHERE remit_effects.state = 'admitted'"
    )
    select_threads = "SELECT DISTINCT thread_id FROM checkpoints WHERE checkpoint_ns = '' ORDER BY thread_id"
    select_questions = (
        f"SELECT DISTINCT checkpoint_id, thread_id FROM writes WHERE {_ASKS} AND (checkpoint_id, thread_id) > (?, ?)"
        " AND substr(thread_id, 1, ?) = ? AND (substr(task_id, -2) = '|q' OR NOT EXISTS (SELECT 1"
        " FROM checkpoints AS own JOIN checkpoints AS newer ON newer.thread_id = own.thread_id"
        " AND newer.checkpoint_ns = '' AND newer.checkpoint_id > own.checkpoint_id"
        " WHERE own.thread_id = writes.thread_id AND own.checkpoint_ns = '' AND own.checkpoint_id = writes.checkpoint_id"
        f" AND {_line('newer')} = {_line('own')})) ORDER BY checkpoint_id, thread_id LIMIT ?"
    )
    index_questions = f"CREATE INDEX IF NOT EXISTS remit_questions ON writes (checkpoint_id, thread_id) WHERE {_ASKS}"
    select_asked = (
        "SELECT max(since) FROM remit_effects WHERE thread_id = ? AND task_id = ? AND checkpoint_id = ?"
        " AND effect = 'remit.ask' AND state = 'admitted'"
    )
    is_newest = (
        "SELECT 1 WHERE NOT EXISTS (WITH RECURSIVE later (id, source) AS ("
        f"SELECT checkpoint_id, {_SOURCE} FROM checkpoints WHERE thread_id = ?1 AND checkpoint_ns = ?2"
        f" AND checkpoint_id > ?3 AND parent_checkpoint_id IS ?4 AND {_BRANCH} IS ?5"
        f" UNION ALL SELECT checkpoint_id, {_SOURCE} FROM later JOIN checkpoints ON thread_id = ?1"
        f" AND checkpoint_ns = ?2 AND checkpoint_id > later.id AND parent_checkpoint_id = later.id AND {_BRANCH} IS ?5"
        " WHERE later.source = 'update')"
        " SELECT 1 FROM later WHERE source IN ('input', 'loop') AND id <> ?6)"
    )
    lands_together = True

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        if is_stock(inner, SqliteSaver, "put", "put_writes", "cursor", "setup"):
            self.groups = GroupCommit(self)

    def is_missing(self, error: BaseException) -> bool:
        return isinstance(error, sqlite3.OperationalError) and "no such table" in str(error)

    def is_denied(self, error: BaseException) -> bool:
        return isinstance(error, sqlite3.OperationalError) and "readonly" in str(error)

    def execute(self, statement: str, parameters: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        if hasattr(self._inner, "loop"):  # an async saver, called from another thread than its loop's
            return on_its_loop(self._inner, self.aexecute(statement, parameters))
        with self._inner.cursor() as cursor:
            return list(cursor.execute(statement, parameters).fetchall())

    async def aexecute(self, statement: str, parameters: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        return await to_the_end(self._aexecute(statement, parameters))

    async def _aexecute(self, statement: str, parameters: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        inner = self._inner
        await inner.setup()
        if isinstance(inner.conn, _AsyncUncommitted):
            return [tuple(row) for row in await inner.conn.execute_fetchall(statement, parameters)]

        def run() -> list[tuple[Any, ...]]:
            raw = inner.conn._conn
            try:
                rows = raw.execute(statement, parameters).fetchall()
                raw.commit()
            except BaseException:
                raw.rollback()
                raise
            return [tuple(row) for row in rows]

        async with inner.lock:
            # in one go in the connection's thread: a connection that is closed in between would keep its lock
            rows: list[tuple[Any, ...]] = await inner.conn._execute(run)
        return rows

    @contextmanager
    def transaction(self) -> Iterator[tuple[Any, Store]]:
        inner = self._inner
        if hasattr(inner, "loop"):
            raise refuse(
                "bad-transaction", detail="the saver is an async one, whose transactions are entered with async with"
            )
        with inner.lock:
            inner.setup()
            conn = inner.conn
            if not conn.in_transaction:
                conn.execute("BEGIN IMMEDIATE")
            try:
                within = _within(inner)
                yield within.conn, self._with(within)
                conn.commit()
            except BaseException:
                conn.rollback()
                raise

    @asynccontextmanager
    async def atransaction(self) -> AsyncIterator[tuple[Any, Store]]:
        inner = self._inner
        if not hasattr(inner, "loop"):
            raise refuse(
                "bad-transaction", detail="the saver is a blocking one, whose transactions are entered with with"
            )
        await inner.setup()
        async with inner.lock:
            conn = inner.conn
            try:
                if not conn.in_transaction:
                    await conn.execute("BEGIN IMMEDIATE")
                within = _within(inner)
                yield within.conn, self._with(within)
                await conn.commit()
            except BaseException:
                await conn.rollback()
                raise

    def _with(self, inner: Any) -> Store:
        store = copy(self)
        store._inner = inner
        return store

    def commit(self, writes: Sequence[Write]) -> list[tuple[bool, Any]]:
        inner = writes[0].inner
        if hasattr(inner, "loop"):
            return on_its_loop(inner, self.acommit(writes))
        with inner.lock:
            inner.setup()
            conn = inner.conn
            if not conn.in_transaction:
                conn.execute("BEGIN IMMEDIATE")
            # savers differ by their serializers
            within = {id(w.inner): _within(w.inner) for w in writes}
            try:
                results = [
                    (True, getattr(within[id(w.inner)], w.name)(*w.args))
                    if not w.statement or conn.execute(w.statement, w.parameters).fetchall()
                    else (False, None)
                    for w in writes
                ]
                conn.commit()
            except BaseException:
                conn.rollback()
                raise
        return results

    async def acommit(self, writes: Sequence[Write]) -> list[tuple[bool, Any]]:
        return await to_the_end(self._acommit(writes))

    async def _acommit(self, writes: Sequence[Write]) -> list[tuple[bool, Any]]:
        inner = writes[0].inner
        await inner.setup()
        async with inner.lock:
            conn = inner.conn
            try:
                if not conn.in_transaction:
                    await conn.execute("BEGIN IMMEDIATE")
                results = [
                    (True, await getattr(_within(w.inner), "a" + w.name)(*w.args))
                    if not w.statement or await conn.execute_fetchall(w.statement, w.parameters)
                    else (False, None)
                    for w in writes
                ]
                await conn.commit()
            except BaseException:
                await conn.rollback()
                raise
        return results


def _within(inner: Any) -> Any:
    """The same saver, for whoever holds its lock and has a transaction open: it neither locks nor commits."""
    within = copy(inner)
    within.lock = nullcontext()
    within.conn = (_AsyncUncommitted if hasattr(inner, "loop") else _Uncommitted)(inner.conn)
    return within


class _Uncommitted:
    """A connection whose commits are somebody else's."""

    def __init__(self, conn: Any) -> None:
        self._conn = conn

    def __getattr__(self, name: str) -> Any:
        return getattr(self._conn, name)

    def commit(self) -> None:
        pass


class _AsyncUncommitted(_Uncommitted):
    async def commit(self) -> None:  # type: ignore[override] # pyright: ignore[reportIncompatibleMethodOverride]
        pass
