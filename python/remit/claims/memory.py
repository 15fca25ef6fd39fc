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
                store.is_native = is_memory(inner)
                store.writes = getattr(inner, "writes", None) if store.is_native else None
        except TypeError:  # it cannot be a key: neither hashed nor referenced weakly
            store = MemoryStore()
            store.is_native = is_memory(inner)
        return store


def is_memory(inner: Any) -> bool:
    """Does a saver keep its checkpoints in memory too?"""
    return any(
        f"{c.__module__}.{c.__name__}" == "langgraph.checkpoint.memory.InMemorySaver" for c in type(inner).__mro__
    )


class MemoryStore(Store):
    """Forks, claims and effects of this process only. What an earlier process forked is told by the rows that it left
    in the saver."""

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
    insert_effect = "insert_effect"
    take_effect_over = "take_effect_over"
    select_effect = "select_effect"
    settle_effect = "settle_effect"
    store_result = "store_result"
    select_effects = "select_effects"
    delete_effects = "delete_effects"
    prune_effects = "prune_effects"
    select_asked = "select_asked"
    prune_grants = "prune_grants"
    copy_forks = "copy_forks"
    copy_effect = "copy_effect"
    is_durable = False

    writes: dict[Any, Any] | None = None
    """The saver's pending writes, if it keeps them in memory too."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._forks: dict[tuple[str, str, str], list[str | None]] = {}
        self._claims: dict[tuple[str, ...], list[list[Any]]] = {}
        self._running: dict[tuple[str, ...], list[Any]] = {}
        self._effects: dict[str, list[list[Any]]] = {}
        self._admitted = 0

    @property
    def select_questions(self) -> str:  # type: ignore[override] # pyright: ignore[reportIncompatibleVariableOverride]
        """Other savers' rows are not seen from here."""
        return "select_questions" if self.writes is not None else ""

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

    def _is_held(self, some: int | None, *claim: Any) -> bool:
        return some is None or self._runs(tuple(claim[:5]), claim[5]) is not None

    def _insert_effect(self, digest: str, fence: int, *rest: Any) -> list[tuple[Any, ...]]:
        thread, branch, task, name, key, namespace, checkpoint, fingerprint, owner, lease, *claim = rest
        admissions = self._effects.get(digest, [])
        if fence <= len(admissions) or not self._is_held(*claim):
            return []
        self._admitted += 1
        now = _now()
        row = [self._admitted, thread, branch, task, name, key, digest, fence, "admitted", owner, now, now + lease]
        row += [None, None, namespace, checkpoint, fingerprint, None, None]
        self._effects.setdefault(digest, []).append(row)
        return [(self._admitted,)]

    def _take_effect_over(self, digest: str, fence: int, *rest: Any) -> list[tuple[Any, ...]]:
        row, (_, prior, *claim) = rest[:10], rest[10:]
        if self._effects[digest][prior - 1][8] != "admitted":
            return []
        return self._insert_effect(digest, fence, *row, *claim)

    def _select_effect(self, *where: Any) -> list[tuple[Any, ...]]:
        *claim, digest = where
        admissions = self._effects.get(digest)
        return [(*admissions[-1], _now(), self._is_held(*claim))] if admissions else []

    def _settle_effect(
        self, state: str, outcome: str, kind: str | None, data: bytes | None, digest: str, fence: int
    ) -> list[tuple[Any, ...]]:
        admissions = self._effects.get(digest, [])
        if fence != len(admissions) or not admissions or admissions[-1][8] != "admitted":
            return []
        row = admissions[-1]
        row[8], row[12], row[13], row[17], row[18] = state, _now(), outcome, kind, data
        return [(row[0],)]

    def _store_result(self, kind: str, data: bytes, digest: str, fence: int) -> list[tuple[Any, ...]]:
        admissions = self._effects.get(digest, [])
        if not 1 <= fence <= len(admissions) or admissions[fence - 1][8] != "done":
            return []
        row = admissions[fence - 1]
        if row[17] is not None:
            return []
        row[17], row[18] = kind, data
        return [(row[0],)]

    def _select_questions(self, checkpoint: str, thread: str, _: int, prefix: str, count: int) -> list[tuple[Any, ...]]:
        found = {
            (at, id)
            for (id, namespace, at), rows in list((self.writes or {}).items())
            if namespace == "" and (at, id) > (checkpoint, thread) and id.startswith(prefix)
            if any(row[1] == "__interrupt__" or row[0].endswith("|q") for row in list(rows.values()))
        }
        return sorted(found)[:count]

    def _select_asked(self, thread: str, task: str, checkpoint: str) -> list[tuple[Any, ...]]:
        since = [
            row[10]
            for rows in self._effects.values()
            for row in rows
            if (row[1], row[3], row[4], row[15], row[8]) == (thread, task, "remit.ask", checkpoint, "admitted")
        ]
        return [(max(since),)] if since else []

    def _select_effects(self, thread: str) -> list[tuple[Any, ...]]:
        return sorted(tuple(row) for rows in self._effects.values() for row in rows if row[1] == thread)

    def _copy_forks(self, target: str, source: str) -> list[tuple[Any, ...]]:
        for (thread, *place), forks in list(self._forks.items()):
            if thread == source:
                self._forks.setdefault((target, place[0], place[1]), list(forks))
        return []

    def _copy_effect(self, *row: Any) -> list[tuple[Any, ...]]:
        digest, fence = row[5:7]
        admissions = self._effects.setdefault(digest, [])
        if fence > len(admissions):
            self._admitted += 1
            admissions.append([self._admitted, *row])
        elif admissions[fence - 1][8] == "admitted":
            admissions[fence - 1][1:] = row
        return []

    def _prune_effects(self, thread: str) -> list[tuple[Any, ...]]:
        return []  # which checkpoints are left is not seen from here

    _prune_grants = _prune_effects

    def _delete_effects(self, thread: str) -> list[tuple[Any, ...]]:
        for digest in [d for d, rows in self._effects.items() if rows[0][1] == thread]:
            del self._effects[digest]
        return []


def _now() -> int:
    return time.time_ns() // 1000
