"""The store in a SQLite database: the connection and the lock are the inner saver's."""

from __future__ import annotations

import sqlite3
from contextlib import nullcontext
from copy import copy
from typing import Any

from .base import VERSION, Store, on_its_loop

_NOW = "CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER)"
_COLUMNS = (
    "thread_id, checkpoint_ns, line, checkpoint_id, question, fence, state, running, owner, since, lease_end, settled,"
    " outcome, interrupts, answer_id, digest"
)
_PLANE = "thread_id = ? AND checkpoint_ns = ? AND line = ?"
_KEY = f"{_PLANE} AND checkpoint_id = ? AND question = ?"


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
    lands_together = True

    def __init__(self, inner: Any) -> None:
        self._inner = inner

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
        inner = self._inner
        await inner.setup()
        async with inner.lock, inner.conn.execute(statement, parameters) as cursor:
            rows = await cursor.fetchall()
            await inner.conn.commit()
        return [tuple(row) for row in rows]

    def together(
        self, inner: Any, statement: str, parameters: tuple[Any, ...], name: str, args: tuple[Any, ...]
    ) -> tuple[bool, Any]:
        if hasattr(inner, "loop"):
            return on_its_loop(inner, self.atogether(inner, statement, parameters, name, args))
        with inner.lock:
            inner.setup()
            conn = inner.conn
            if not conn.in_transaction:
                conn.execute("BEGIN IMMEDIATE")
            try:
                if not conn.execute(statement, parameters).fetchall():
                    conn.rollback()
                    return False, None
                result = getattr(_within(inner), name)(*args)
                conn.commit()
            except BaseException:
                conn.rollback()
                raise
        return True, result

    async def atogether(
        self, inner: Any, statement: str, parameters: tuple[Any, ...], name: str, args: tuple[Any, ...]
    ) -> tuple[bool, Any]:
        await inner.setup()
        async with inner.lock:
            conn = inner.conn
            if not conn.in_transaction:
                await conn.execute("BEGIN IMMEDIATE")
            try:
                if not await conn.execute_fetchall(statement, parameters):
                    await conn.rollback()
                    return False, None
                result = await getattr(_within(inner), "a" + name)(*args)
                await conn.commit()
            except BaseException:
                await conn.rollback()
                raise
        return True, result


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
