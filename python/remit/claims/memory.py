"""The store in this process's memory: beside `InMemorySaver`, and beside savers whose database is not known."""

from __future__ import annotations

from threading import Lock
from typing import Any

from .base import VERSION, Store


class MemoryStore(Store):
    """Forks of this process only."""

    select_version = "version"
    select_forks = "select"
    insert_fork = "insert"
    delete_thread = "delete"

    def __init__(self) -> None:
        self._lock = Lock()
        self._forks: dict[tuple[str, str, str], list[str | None]] = {}

    def execute(self, statement: str, parameters: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        with self._lock:
            if statement == self.select_version:
                return [(VERSION,)]
            if statement == self.delete_thread:
                for key in [k for k in self._forks if k[0] == parameters[0]]:
                    del self._forks[key]
                return []
            forks = self._forks.setdefault(parameters[:3], [])
            if statement == self.select_forks:
                return [(token,) for token in forks]
            ordinal, token = parameters[3:]
            if ordinal != len(forks) or (token is not None and token in forks):
                return []
            forks.append(token)
            return [(ordinal,)]

    async def aexecute(self, statement: str, parameters: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        return self.execute(statement, parameters)
