"""The store in a PostgreSQL database: the connection, pool or pipeline is the inner saver's."""

from __future__ import annotations

import asyncio
from typing import Any

import psycopg

from .._core import refuse
from .base import VERSION, Store


class PostgresStore(Store):
    """For `PostgresSaver` and `AsyncPostgresSaver`."""

    # one statement, under a lock of its own: CREATE TABLE IF NOT EXISTS is not safe between racing sessions
    schema = (
        "DO $$ BEGIN"
        " PERFORM pg_advisory_xact_lock(hashtext('remit_schema'));"
        " CREATE TABLE IF NOT EXISTS remit_schema (id INTEGER PRIMARY KEY CHECK (id = 1), version INTEGER NOT NULL);"
        f" INSERT INTO remit_schema (id, version) VALUES (1, {VERSION}) ON CONFLICT (id) DO NOTHING;"
        " CREATE TABLE IF NOT EXISTS remit_forks (thread_id TEXT NOT NULL, checkpoint_ns TEXT NOT NULL,"
        " checkpoint_id TEXT NOT NULL, ordinal INTEGER NOT NULL, token TEXT,"
        " PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id, ordinal),"
        " UNIQUE (thread_id, checkpoint_ns, checkpoint_id, token));"
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
    delete_thread = "DELETE FROM remit_forks WHERE thread_id = %s"

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def is_missing(self, error: BaseException) -> bool:
        return isinstance(error, psycopg.errors.UndefinedTable)

    def is_denied(self, error: BaseException) -> bool:
        return isinstance(error, psycopg.errors.InsufficientPrivilege)

    def check(self) -> None:
        conn = getattr(self._inner, "conn", None)
        autocommit = getattr(conn, "autocommit", None)
        if autocommit is None:  # a pool: what it connects with
            kwargs = getattr(conn, "kwargs", None)
            autocommit = kwargs.get("autocommit", False) if isinstance(kwargs, dict) else True  # not known
        if not autocommit:
            raise refuse("not-autocommit")

    def execute(self, statement: str, parameters: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        if hasattr(self._inner, "loop"):  # an async saver, called from another thread than its loop's
            return asyncio.run_coroutine_threadsafe(self.aexecute(statement, parameters), self._inner.loop).result()
        with self._inner._cursor(pipeline=self._inner.pipe is not None) as cursor:
            cursor.execute(statement, parameters or None)
            return [tuple(row.values()) for row in cursor.fetchall()] if _returns_rows(statement) else []

    async def aexecute(self, statement: str, parameters: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        async with self._inner._cursor(pipeline=self._inner.pipe is not None) as cursor:
            await cursor.execute(statement, parameters or None)
            return [tuple(row.values()) for row in await cursor.fetchall()] if _returns_rows(statement) else []


def _returns_rows(statement: str) -> bool:
    """A cursor in pipeline mode does not know it before it has fetched."""
    return statement.startswith("SELECT") or "RETURNING" in statement
