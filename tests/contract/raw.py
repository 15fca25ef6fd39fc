"""What a store really holds: every row of the savers' tables, read past LangGraph and REMIT, to be compared."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import Any

import psycopg

TABLES = {"sqlite": ("checkpoints", "writes"), "postgres": ("checkpoints", "checkpoint_blobs", "checkpoint_writes")}


def rows(store: Any) -> list[str]:
    """The rows of a store of stores.py, as text, sorted. Two lists are equal iff nothing was stored in between."""
    if store.backend == "memory":
        saver = store._memory
        if saver is None:
            return []
        kept = [
            ("checkpoint", thread, namespace, id, value)
            for thread, namespaces in saver.storage.items()
            for namespace, checkpoints in namespaces.items()
            for id, value in checkpoints.items()
        ]
        written = [("writes", key, n, value) for key, rows in saver.writes.items() for n, value in rows.items()]
        return sorted(map(repr, [*kept, *written]))
    if store.backend in ("sqlite", "asqlite"):
        with closing(sqlite3.connect(store.place)) as file:
            return sorted(repr((t, row)) for t in TABLES["sqlite"] for row in file.execute(f"SELECT * FROM {t}"))
    with psycopg.connect(store.place) as server:
        return sorted(repr((t, row)) for t in TABLES["postgres"] for row in server.execute(f"SELECT * FROM {t}"))
