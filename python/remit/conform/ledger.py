"""The oracle: a ledger of effects that is no framework's.

One SQLite file, one autocommitted insert per effect. What a plane believes about its own effects does not matter; what
is in this file has happened. Standard library only, so that any framework's environment can load this file.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

TIMEOUT_S = 60
"""How long an insert waits for other processes' inserts."""


class Ledger:
    """The effects of one run of the contract, on a file that several processes share."""

    def __init__(self, path: Path | str) -> None:
        self.path = str(path)
        with closing(self._connect()) as connection:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("CREATE TABLE IF NOT EXISTS effects (run TEXT NOT NULL, effect TEXT NOT NULL)")

    def fire(self, run: str, effect: str) -> None:
        """Do an effect. When this returns it has happened, whatever becomes of the process."""
        with closing(self._connect()) as connection:
            connection.execute("INSERT INTO effects VALUES (?, ?)", (run, effect))

    def read(self, run: str) -> list[str]:
        """The effects of a run, in the order in which they happened."""
        with closing(self._connect()) as connection:
            rows = connection.execute("SELECT effect FROM effects WHERE run = ? ORDER BY rowid", (run,))
            return [row[0] for row in rows]

    def _connect(self) -> sqlite3.Connection:
        # A connection per effect: none is open when a process is killed or forked.
        return sqlite3.connect(self.path, timeout=TIMEOUT_S, isolation_level=None)
