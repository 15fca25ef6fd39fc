"""The store in a SQLite database: the connection and the lock are the inner saver's."""

from __future__ import annotations

import asyncio
import sqlite3
from typing import Any

from .base import VERSION, Store


class SqliteStore(Store):
    """For `SqliteSaver` and `AsyncSqliteSaver`."""

    schema = (
        "CREATE TABLE IF NOT EXISTS remit_schema (id INTEGER PRIMARY KEY CHECK (id = 1), version INTEGER NOT NULL)",
        f"INSERT INTO remit_schema (id, version) VALUES (1, {VERSION}) ON CONFLICT (id) DO NOTHING",
        "CREATE TABLE IF NOT EXISTS remit_forks (thread_id TEXT NOT NULL, checkpoint_ns TEXT NOT NULL,"
        " checkpoint_id TEXT NOT NULL, ordinal INTEGER NOT NULL, token TEXT,"
        " PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id, ordinal),"
        " UNIQUE (thread_id, checkpoint_ns, checkpoint_id, token))",
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
    delete_thread = "DELETE FROM remit_forks WHERE thread_id = ?"

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def is_missing(self, error: BaseException) -> bool:
        return isinstance(error, sqlite3.OperationalError) and "no such table" in str(error)

    def is_denied(self, error: BaseException) -> bool:
        return isinstance(error, sqlite3.OperationalError) and "readonly" in str(error)

    def execute(self, statement: str, parameters: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        if hasattr(self._inner, "loop"):  # an async saver, called from another thread than its loop's
            return asyncio.run_coroutine_threadsafe(self.aexecute(statement, parameters), self._inner.loop).result()
        with self._inner.cursor() as cursor:
            return list(cursor.execute(statement, parameters).fetchall())

    async def aexecute(self, statement: str, parameters: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        inner = self._inner
        await inner.setup()
        async with inner.lock, inner.conn.execute(statement, parameters) as cursor:
            rows = await cursor.fetchall()
            await inner.conn.commit()
        return [tuple(row) for row in rows]
