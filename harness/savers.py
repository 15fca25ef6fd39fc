"""LangGraph checkpointers for `remit conform`: three backends, sync and async, stock and under RemitSaver.

HARNESS_SQLITE names a file and HARNESS_PG a PostgreSQL database. Run in each LangGraph environment by `conform_rows.py`.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from remit import RemitSaver

POSTGRES: dict[str, Any] = {"autocommit": True, "prepare_threshold": 0}


def stock_memory() -> Any:
    return InMemorySaver()


@contextmanager
def stock_sqlite() -> Iterator[Any]:
    with closing(sqlite3.connect(os.environ["HARNESS_SQLITE"], check_same_thread=False, timeout=60)) as file:
        yield SqliteSaver(file)


@contextmanager
def stock_postgres() -> Iterator[Any]:
    import psycopg
    from langgraph.checkpoint.postgres import PostgresSaver
    from psycopg.rows import dict_row

    with psycopg.connect(os.environ["HARNESS_PG"], row_factory=dict_row, **POSTGRES) as connection:
        yield PostgresSaver(connection)


@asynccontextmanager
async def stock_async_sqlite() -> AsyncIterator[Any]:
    import aiosqlite
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

    async with aiosqlite.connect(os.environ["HARNESS_SQLITE"], timeout=60) as file:
        yield AsyncSqliteSaver(file)


@asynccontextmanager
async def stock_async_postgres() -> AsyncIterator[Any]:
    import psycopg
    from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
    from psycopg.rows import dict_row

    connecting = psycopg.AsyncConnection.connect(os.environ["HARNESS_PG"], row_factory=dict_row, **POSTGRES)
    async with await connecting as connection:
        yield AsyncPostgresSaver(connection)


def remit_memory(validator: Any = None) -> Any:
    return _wrapped(stock_memory(), validator)


@contextmanager
def remit_sqlite(validator: Any = None) -> Iterator[Any]:
    with stock_sqlite() as inner:
        yield _wrapped(inner, validator)


@contextmanager
def remit_postgres(validator: Any = None) -> Iterator[Any]:
    with stock_postgres() as inner:
        yield _wrapped(inner, validator)


@asynccontextmanager
async def remit_async_sqlite(validator: Any = None) -> AsyncIterator[Any]:
    async with stock_async_sqlite() as inner:
        yield _wrapped(inner, validator)


@asynccontextmanager
async def remit_async_postgres(validator: Any = None) -> AsyncIterator[Any]:
    async with stock_async_postgres() as inner:
        yield _wrapped(inner, validator)


def _wrapped(inner: Any, validator: Any) -> Any:
    return RemitSaver(inner, validator=validator, cross_process_gate=True)
