"""Where REMIT keeps its own rows: one store per database, found from the inner saver."""

from __future__ import annotations

from typing import Any

from .._core import refuse
from .base import Admission, Claims, ClaimStore, Effect, Grant, Key, Store, check_loop
from .memory import MemoryStore, memory_store

__all__ = [
    "Admission",
    "ClaimStore",
    "Claims",
    "Effect",
    "Grant",
    "Key",
    "MemoryStore",
    "Store",
    "check_loop",
    "claims_for",
    "memory_store",
    "store_for",
]


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


def claims_for(inner: Any, store: Store, given: Any) -> Claims | None:
    """Where the claims on a saver's threads are kept: in the store that the user gives, else beside the checkpoints.
    None if that would tell other processes nothing.

    Raises:
        RemitError: what the user gives is no claim store.
    """
    if given is not None:
        if not isinstance(given, ClaimStore):
            raise refuse("bad-option", detail=f"claim_store: {type(given).__name__} is no ClaimStore")
        return Claims(given)
    return store if store.is_durable or store.is_native else None
