"""The store in this process's memory: beside `InMemorySaver`, and beside savers whose database is not known."""

from __future__ import annotations

from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

from .base import VERSION, Store

_stores: WeakKeyDictionary[Any, MemoryStore] = WeakKeyDictionary()
_stores_lock = Lock()


def memory_store(inner: Any) -> MemoryStore:
    """The store of a saver object, the same for all its wrappers."""
    with _stores_lock:
        try:
            store = _stores.get(inner)
            if store is None:
                store = _stores[inner] = MemoryStore()
        except TypeError:  # it cannot be a key: neither hashed nor referenced weakly
            return MemoryStore()
        return store


class MemoryStore(Store):
    """Forks of this process only. What an earlier process forked is told by the rows that it left in the saver."""

    select_version = "version"
    select_forks = "forks"
    select_token = "token"
    insert_fork = "insert"
    delete_thread = "delete"
    is_durable = False

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
            if statement == self.select_token:
                thread, namespace, token = parameters
                named = [k[2] for k, forks in self._forks.items() if k[:2] == (thread, namespace) and token in forks]
                return [(max(named),)] if named else []
            forks = self._forks.get(parameters[:3], [])
            if statement == self.select_forks:
                return [(token,) for token in forks]
            ordinal, token = parameters[3:]
            if ordinal != len(forks) or (token is not None and token in forks):
                return []
            self._forks[parameters[:3]] = [*forks, token]
            return [(ordinal,)]

    async def aexecute(self, statement: str, parameters: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        return self.execute(statement, parameters)
