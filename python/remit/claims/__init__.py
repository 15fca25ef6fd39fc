"""Where REMIT keeps its own rows: one store per database, found from the inner saver."""

from __future__ import annotations

from typing import Any

from .base import Store
from .memory import MemoryStore, memory_store

__all__ = ["MemoryStore", "Store", "store_for"]


def store_for(inner: Any) -> Store:
    """The store beside an inner saver: in its own database where there is one, else in this process's memory."""
    names = {f"{c.__module__}.{c.__name__}" for c in type(inner).__mro__}
    if names & {"langgraph.checkpoint.sqlite.SqliteSaver", "langgraph.checkpoint.sqlite.aio.AsyncSqliteSaver"}:
        from .sqlite import SqliteStore

        return SqliteStore(inner)
    if names & {"langgraph.checkpoint.postgres.PostgresSaver", "langgraph.checkpoint.postgres.aio.AsyncPostgresSaver"}:
        from .postgres import PostgresStore

        return PostgresStore(inner)
    return memory_store(inner)
