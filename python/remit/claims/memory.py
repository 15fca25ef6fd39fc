"""The store in this process's memory: beside `InMemorySaver`, and beside savers whose database is not known."""

from __future__ import annotations

import time
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
    """Forks and claims of this process only. What an earlier process forked is told by the rows that it left in the
    saver."""

    select_version = "select_version"
    select_forks = "select_forks"
    select_token = "select_token"
    insert_fork = "insert_fork"
    delete_forks = "delete_forks"
    insert_grant = "insert_grant"
    select_grants = "select_grants"
    settle_grant = "settle_grant"
    settle_grant_as_seen = "settle_grant"
    renew_grant = "renew_grant"
    select_answered = "select_answered"
    select_trail = "select_trail"
    delete_grants = "delete_grants"
    is_durable = False

    def __init__(self) -> None:
        self._lock = Lock()
        self._forks: dict[tuple[str, str, str], list[str | None]] = {}
        self._claims: dict[tuple[str, ...], list[list[Any]]] = {}
        self._running: dict[tuple[str, ...], list[Any]] = {}

    def execute(self, statement: str, parameters: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        with self._lock:
            rows: list[tuple[Any, ...]] = getattr(self, "_" + statement)(*parameters)
            return rows

    async def aexecute(self, statement: str, parameters: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        return self.execute(statement, parameters)

    def _select_version(self) -> list[tuple[Any, ...]]:
        return [(VERSION,)]

    def _select_forks(self, thread: str, namespace: str, checkpoint: str) -> list[tuple[Any, ...]]:
        return [(token,) for token in self._forks.get((thread, namespace, checkpoint), ())]

    def _select_token(self, thread: str, namespace: str, token: str) -> list[tuple[Any, ...]]:
        named = [k[2] for k, forks in self._forks.items() if k[:2] == (thread, namespace) and token in forks]
        return [(max(named),)] if named else []

    def _insert_fork(
        self, thread: str, namespace: str, checkpoint: str, ordinal: int, token: str | None
    ) -> list[tuple[Any, ...]]:
        forks = self._forks.get((thread, namespace, checkpoint), [])
        if ordinal != len(forks) or (token is not None and token in forks):
            return []
        self._forks[thread, namespace, checkpoint] = [*forks, token]
        return [(ordinal,)]

    def _delete_forks(self, thread: str) -> list[tuple[Any, ...]]:
        for key in [k for k in self._forks if k[0] == thread]:
            del self._forks[key]
        return []

    def _insert_grant(self, *parameters: Any) -> list[tuple[Any, ...]]:
        key, (fence, owner, lease, interrupts, answer_id, digest) = parameters[:5], parameters[5:]
        grants = self._claims.setdefault(key, [])
        if fence <= len(grants) or key[:3] in self._running:
            return []
        now = _now()
        grant = [*key, fence, "held", 1, owner, now, now + lease, None, None, interrupts, answer_id, digest]
        grants.append(grant)
        self._running[key[:3]] = grant
        return [(now + lease,)]

    def _select_grants(self, *key: Any) -> list[tuple[Any, ...]]:
        grants, running = self._claims.get(key[:5]), self._running.get(key[:3])
        return [(*grant, _now()) for grant in (grants[-1] if grants else None, running) if grant is not None]

    def _runs(self, key: tuple[Any, ...], fence: int) -> list[Any] | None:
        running = self._running.get(key[:3])
        return running if running is not None and (*running[:5], running[5]) == (*key, fence) else None

    def _settle_grant(self, running: int, outcome: str, state: str, *where: Any) -> list[tuple[Any, ...]]:
        grant = self._runs(where[:5], where[5])
        if grant is None or (len(where) == 7 and grant[10] != where[6]):
            return []
        if grant[6] == "held":
            grant[6], grant[11], grant[12] = state, _now(), outcome
        grant[7] = running
        if not running:
            del self._running[where[:3]]
        return [(where[5],)]

    def _renew_grant(self, lease: int, *where: Any) -> list[tuple[Any, ...]]:
        grant = self._runs(where[:5], where[5])
        if grant is None:
            return []
        grant[10] = max(grant[10], _now() + lease)
        return [(grant[10],)]

    def _of_thread(self, thread: str) -> list[tuple[Any, ...]]:
        rows = [tuple(grant) for key, grants in self._claims.items() if key[0] == thread for grant in grants]
        return sorted(rows, key=lambda row: row[9])

    def _select_answered(self, thread: str, answer_id: str) -> list[tuple[Any, ...]]:
        return [row for row in self._of_thread(thread) if row[14] == answer_id]

    def _select_trail(self, thread: str) -> list[tuple[Any, ...]]:
        return self._of_thread(thread)

    def _delete_grants(self, thread: str) -> list[tuple[Any, ...]]:
        for key in [k for k in self._claims if k[0] == thread]:
            del self._claims[key]
            self._running.pop(key[:3], None)
        return []


def _now() -> int:
    return time.time_ns() // 1000
