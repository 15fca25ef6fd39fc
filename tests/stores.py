"""Stores that tests put savers on: one class for sync backends and one for async, with the same three methods.

A store starts empty. Each call opens a connection of its own to it (what another process would see), sets the saver up,
and the store closes all of them at the end. In memory there is one process and one object, so each call gives or wraps
the same InMemorySaver.

    store.inner(serde=...)         the stock saver
    store.wrapped(on_stray=...)    RemitSaver over a stock saver; arguments are RemitSaver's
    store.reopen(...)              the same as wrapped(), for tests about what is found by a second connection

Tests get them from the fixtures in conftest.py and seldom build them.
"""

from __future__ import annotations

import sqlite3
from contextlib import AsyncExitStack, ExitStack
from typing import Any

import aiosqlite
import psycopg
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from psycopg.rows import dict_row
from remit import RemitSaver

SYNC_BACKENDS = ("memory", "sqlite", "postgres")
ASYNC_BACKENDS = ("memory", "asqlite", "apg")

# Two connections of one test may write at once; SQLite's own default of five seconds is short on a busy machine.
SQLITE_TIMEOUT_S = 30

# What the PostgreSQL savers ask of a connection.
POSTGRES_CONNECTION: dict[str, Any] = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}


class Store:
    """A sync backend: "memory", "sqlite" (place: a file) or "postgres" (place: a libpq URL)."""

    def __init__(self, backend: str, place: str = "") -> None:
        assert backend in SYNC_BACKENDS, backend
        self.backend = backend
        self.place = place
        self._memory: InMemorySaver | None = None
        self._open = ExitStack()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def inner(self, **options: Any) -> BaseCheckpointSaver[Any]:
        """The stock saver over a new connection, set up."""
        if self.backend == "memory":
            if self._memory is None:
                self._memory = InMemorySaver(**options)
            else:
                assert not options, "there is one InMemorySaver per store; give its options at the first call"
            return self._memory
        saver: SqliteSaver | PostgresSaver
        if self.backend == "sqlite":
            file = sqlite3.connect(self.place, check_same_thread=False, timeout=SQLITE_TIMEOUT_S)
            self._open.callback(file.close)
            saver = SqliteSaver(file, **options)
        else:
            server = self._open.enter_context(psycopg.connect(self.place, **POSTGRES_CONNECTION))
            saver = PostgresSaver(server, **options)
        saver.setup()
        return saver

    def wrapped(self, **options: Any) -> RemitSaver:
        """RemitSaver over a new connection, set up."""
        saver = RemitSaver(self.inner(), **options)
        if self.backend != "memory":
            saver.setup()
        return saver

    reopen = wrapped


class AsyncStore:
    """An async backend: "memory", "asqlite" (place: a file) or "apg" (place: a libpq URL)."""

    def __init__(self, backend: str, place: str = "") -> None:
        assert backend in ASYNC_BACKENDS, backend
        self.backend = backend
        self.place = place
        self._memory: InMemorySaver | None = None
        self._open = AsyncExitStack()

    async def __aenter__(self) -> AsyncStore:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._open.aclose()

    async def inner(self, **options: Any) -> BaseCheckpointSaver[Any]:
        """The stock saver over a new connection, set up."""
        if self.backend == "memory":
            if self._memory is None:
                self._memory = InMemorySaver(**options)
            else:
                assert not options, "there is one InMemorySaver per store; give its options at the first call"
            return self._memory
        saver: AsyncSqliteSaver | AsyncPostgresSaver
        if self.backend == "asqlite":
            file = await self._open.enter_async_context(aiosqlite.connect(self.place, timeout=SQLITE_TIMEOUT_S))
            saver = AsyncSqliteSaver(file, **options)
        else:
            server = await psycopg.AsyncConnection.connect(self.place, **POSTGRES_CONNECTION)
            await self._open.enter_async_context(server)
            saver = AsyncPostgresSaver(server, **options)
        await saver.setup()
        return saver

    async def wrapped(self, **options: Any) -> RemitSaver:
        """RemitSaver over a new connection, set up."""
        saver = RemitSaver(await self.inner(), **options)
        if self.backend != "memory":
            await saver.setup()
        return saver

    reopen = wrapped
