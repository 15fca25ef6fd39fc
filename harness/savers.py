"""LangGraph checkpointers for `remit conform`: three backends, stock and under RemitSaver.

HARNESS_SQLITE names a file and HARNESS_PG a PostgreSQL database. Run in each LangGraph environment by `conform_rows.py`.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from remit import RemitSaver


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

    options: dict[str, Any] = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
    with psycopg.connect(os.environ["HARNESS_PG"], **options) as connection:
        yield PostgresSaver(connection)


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


def _wrapped(inner: Any, validator: Any) -> Any:
    return RemitSaver(inner, validator=validator, cross_process_gate=True)
