"""What really happened outside, counted by neither LangGraph nor REMIT: one autocommitted row per effect."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any


class Ledger:
    """A SQLite file of its own. Effects of killed processes stay in it, and processes may share it."""

    def __init__(self, path: Path | str) -> None:
        self.path = str(path)
        with closing(self._connect()) as file:
            file.execute("CREATE TABLE IF NOT EXISTS effect (id INTEGER PRIMARY KEY, name TEXT, value TEXT)")

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(self.path, timeout=30, isolation_level=None)

    def fire(self, name: str, value: Any = None) -> None:
        """One effect."""
        with closing(self._connect()) as file:
            file.execute("INSERT INTO effect (name, value) VALUES (?, ?)", (name, json.dumps(value)))

    def fired(self, name: str | None = None) -> list[Any]:
        """The values of the effects of this name, or (name, value) of all, in order."""
        with closing(self._connect()) as file:
            rows = file.execute("SELECT name, value FROM effect ORDER BY id").fetchall()
        if name is None:
            return [(n, json.loads(v)) for n, v in rows]
        return [json.loads(v) for n, v in rows if n == name]
