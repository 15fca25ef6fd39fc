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
    select_last = "select_last"
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
        self._claims: dict[tuple[str, str, str, str], list[list[Any]]] = {}

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

    def _insert_grant(
        self,
        thread: str,
        namespace: str,
        checkpoint: str,
        question: str,
        fence: int,
        owner: str,
        lease: int,
        interrupts: str,
        answer_id: str | None,
        digest: str | None,
    ) -> list[tuple[Any, ...]]:
        key = (thread, namespace, checkpoint, question)
        grants = self._claims.setdefault(key, [])
        if fence <= len(grants):
            return []
        now = _now()
        grants.append([*key, fence, "held", owner, now, now + lease, None, None, interrupts, answer_id, digest])
        return [(now + lease,)]

    def _select_last(self, *key: Any) -> list[tuple[Any, ...]]:
        grants = self._claims.get(key)
        return [(*grants[-1], _now())] if grants else []

    def _held(self, key: Any, fence: int) -> list[Any] | None:
        grants = self._claims.get(key, [])
        held = 1 <= fence <= len(grants) and grants[fence - 1][5] == "held"
        return grants[fence - 1] if held else None

    def _settle_grant(self, state: str, outcome: str, *where: Any) -> list[tuple[Any, ...]]:
        grant = self._held(where[:4], where[4])
        if grant is None or (len(where) == 6 and grant[8] != where[5]):
            return []
        grant[5], grant[9], grant[10] = state, _now(), outcome
        return [(grant[4],)]

    def _renew_grant(self, lease: int, *where: Any) -> list[tuple[Any, ...]]:
        grant = self._held(where[:4], where[4])
        if grant is None:
            return []
        grant[8] = max(grant[8], _now() + lease)
        return [(grant[8],)]

    def _of_thread(self, thread: str) -> list[tuple[Any, ...]]:
        rows = [tuple(grant) for key, grants in self._claims.items() if key[0] == thread for grant in grants]
        return sorted(rows, key=lambda row: row[7])

    def _select_answered(self, thread: str, answer_id: str) -> list[tuple[Any, ...]]:
        return [row for row in self._of_thread(thread) if row[12] == answer_id]

    def _select_trail(self, thread: str) -> list[tuple[Any, ...]]:
        return self._of_thread(thread)

    def _delete_grants(self, thread: str) -> list[tuple[Any, ...]]:
        for key in [k for k in self._claims if k[0] == thread]:
            del self._claims[key]
        return []


def _now() -> int:
    return time.time_ns() // 1000
