"""Checkpointers with one fault each, and one that has a gate: factories for `remit conform`, in memory or on a file.

Each is a stock saver, or RemitSaver, with the smallest change that breaks a promise. CONFORM_DB names the file.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

from langgraph.checkpoint.base import CheckpointTuple
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from remit import RemitSaver

CONFORM_DB = "CONFORM_DB"


def stock_memory() -> InMemorySaver:
    return InMemorySaver()


@contextmanager
def stock_sqlite() -> Iterator[SqliteSaver]:
    with closing(_connection()) as connection:
        yield SqliteSaver(connection)


def remit_memory(validator: Any = None) -> RemitSaver:
    return RemitSaver(InMemorySaver(), validator=validator, cross_process_gate=True)


@contextmanager
def remit_sqlite(validator: Any = None) -> Iterator[RemitSaver]:
    with closing(_connection()) as connection:
        yield RemitSaver(SqliteSaver(connection), validator=validator, cross_process_gate=True)


def serves_the_old_answer_at_a_fork(validator: Any = None) -> RemitSaver:
    return RemitSaver(InMemorySaver(), validator=validator, fork_on_explicit_checkpoint=False)


def stores_invalid_values(validator: Any = None) -> RemitSaver:
    return RemitSaver(InMemorySaver())


class _LosesPendingWrites(InMemorySaver):
    def put_writes(self, *args: Any, **kwargs: Any) -> None:
        return None


class _LosesSomeWrites(InMemorySaver):
    lost = ""

    def put_writes(self, config: Any, writes: Any, *args: Any, **kwargs: Any) -> None:
        super().put_writes(config, [w for w in writes if w[0] != self.lost], *args, **kwargs)


class _LosesQuestions(_LosesSomeWrites):
    lost = "__interrupt__"


class _LosesAnswers(_LosesSomeWrites):
    lost = "__resume__"


class _IgnoresCheckpointId(InMemorySaver):
    def get_tuple(self, config: Any) -> CheckpointTuple | None:
        configurable = {k: v for k, v in config["configurable"].items() if k != "checkpoint_id"}
        return super().get_tuple({**config, "configurable": configurable})


class _GivesTheHeadBeforeLast(InMemorySaver):
    def get_tuple(self, config: Any) -> CheckpointTuple | None:
        if "checkpoint_id" in config["configurable"]:
            return super().get_tuple(config)
        tuples = list(self.list(config, limit=2))
        return tuples[-1] if tuples else None


class _ListsTheOldestFirst(InMemorySaver):
    def list(self, *args: Any, **kwargs: Any) -> Iterator[CheckpointTuple]:
        yield from reversed(list(super().list(*args, **kwargs)))


class _ForgetsParents(InMemorySaver):
    def get_tuple(self, config: Any) -> CheckpointTuple | None:
        found = super().get_tuple(config)
        return found and found._replace(parent_config=None)

    def list(self, *args: Any, **kwargs: Any) -> Iterator[CheckpointTuple]:
        for found in super().list(*args, **kwargs):
            yield found._replace(parent_config=None)


class _ReversesWrites(InMemorySaver):
    def get_tuple(self, config: Any) -> CheckpointTuple | None:
        found = super().get_tuple(config)
        return found and found._replace(pending_writes=list(reversed(found.pending_writes or [])))


class _ReversesAnswers(InMemorySaver):
    def put_writes(self, config: Any, writes: Any, *args: Any, **kwargs: Any) -> None:
        writes = [(c, list(reversed(v)) if c == "__resume__" and isinstance(v, list) else v) for c, v in writes]
        super().put_writes(config, writes, *args, **kwargs)


class _FiresAgainWhenFinished(InMemorySaver):
    """A resume of a finished thread finds the checkpoint that asked."""

    def get_tuple(self, config: Any) -> CheckpointTuple | None:
        found = super().get_tuple(config)
        if found is None or "__pregel_runtime" not in config["configurable"]:
            return found
        asking = [t for t in self.list(config) if any(w[1] == "__interrupt__" for w in t.pending_writes or [])]
        if not asking or found.pending_writes:
            return found
        return asking[0]._replace(pending_writes=[w for w in asking[0].pending_writes or [] if w[1] == "__interrupt__"])


class _Mixes(InMemorySaver):
    """One field of the configuration is not looked at."""

    ignored = ("", "")

    def _same(self, config: Any) -> Any:
        name, value = self.ignored
        return {**config, "configurable": {**config["configurable"], name: value}}

    def get_tuple(self, config: Any) -> CheckpointTuple | None:
        return super().get_tuple(self._same(config))

    def put(self, config: Any, *args: Any, **kwargs: Any) -> Any:
        return super().put(self._same(config), *args, **kwargs)

    def put_writes(self, config: Any, *args: Any, **kwargs: Any) -> None:
        super().put_writes(self._same(config), *args, **kwargs)


class _MixesThreads(_Mixes):
    ignored = ("thread_id", "one")


class _MixesNamespaces(_Mixes):
    ignored = ("checkpoint_ns", "")


class _RefusesTheSecondAnswer(InMemorySaver):
    """One claim per checkpoint: the second question of a checkpoint is never answered."""

    def __init__(self) -> None:
        super().__init__()
        self.claimed: set[Any] = set()

    def get_tuple(self, config: Any) -> CheckpointTuple | None:
        found = super().get_tuple(config)
        asks = found and any(w[1] == "__interrupt__" for w in found.pending_writes or [])
        if asks and "__pregel_runtime" in config["configurable"]:
            key = (config["configurable"]["thread_id"], found.checkpoint["id"])
            if key in self.claimed:
                raise RuntimeError("claimed already")
            self.claimed.add(key)
        return found


class _RefusesEveryAnswer(InMemorySaver):
    def get_tuple(self, config: Any) -> CheckpointTuple | None:
        found = super().get_tuple(config)
        if found and "__pregel_runtime" in config["configurable"] and found.pending_writes:
            raise RuntimeError("no")
        return found


def loses_pending_writes() -> InMemorySaver:
    return _LosesPendingWrites()


def loses_questions() -> InMemorySaver:
    return _LosesQuestions()


def loses_answers() -> InMemorySaver:
    return _LosesAnswers()


def ignores_checkpoint_id() -> InMemorySaver:
    return _IgnoresCheckpointId()


def gives_the_head_before_last() -> InMemorySaver:
    return _GivesTheHeadBeforeLast()


def lists_the_oldest_first() -> InMemorySaver:
    return _ListsTheOldestFirst()


def forgets_parents() -> InMemorySaver:
    return _ForgetsParents()


def reverses_writes() -> InMemorySaver:
    return _ReversesWrites()


def reverses_answers() -> InMemorySaver:
    return _ReversesAnswers()


def fires_again_when_finished() -> InMemorySaver:
    return _FiresAgainWhenFinished()


def mixes_threads() -> InMemorySaver:
    return _MixesThreads()


def mixes_namespaces() -> InMemorySaver:
    return _MixesNamespaces()


def refuses_the_second_answer() -> InMemorySaver:
    return _RefusesTheSecondAnswer()


def refuses_every_answer() -> InMemorySaver:
    return _RefusesEveryAnswer()


class _DefersWrites(SqliteSaver):
    """Pending writes are stored with the next checkpoint: a process that dies before it loses them."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        super().__init__(connection)
        self.deferred: list[Any] = []

    def put_writes(self, config: Any, writes: Any, *args: Any, **kwargs: Any) -> None:
        self.deferred.append((config, list(writes), args, kwargs))
        if any(channel.startswith("__") for channel, _ in writes):
            self._flush()

    def put(self, *args: Any, **kwargs: Any) -> Any:
        self._flush()
        return super().put(*args, **kwargs)

    def _flush(self) -> None:
        deferred, self.deferred = self.deferred, []
        for config, writes, args, kwargs in deferred:
            super().put_writes(config, writes, *args, **kwargs)


class _Gated(SqliteSaver):
    """The first to read a question takes it. It frees nothing, so it keeps CO-c and breaks liveness."""

    def get_tuple(self, config: Any) -> CheckpointTuple | None:
        found = super().get_tuple(config)
        asks = found and any(w[1] == "__interrupt__" for w in found.pending_writes or [])
        if asks and "__pregel_runtime" in config["configurable"] and not config["configurable"].get("checkpoint_ns"):
            key = f"{config['configurable']['thread_id']} {found.checkpoint['id']}"
            with self.cursor() as cursor:
                cursor.execute("CREATE TABLE IF NOT EXISTS taken (key TEXT PRIMARY KEY)")
                cursor.execute("INSERT INTO taken VALUES (?)", (key,))
        return found


@contextmanager
def defers_writes() -> Iterator[SqliteSaver]:
    with closing(_connection()) as connection:
        yield _DefersWrites(connection)


@contextmanager
def gated() -> Iterator[SqliteSaver]:
    with closing(_connection()) as connection:
        yield _Gated(connection)


def no_saver() -> object:
    return object()


def _connection() -> sqlite3.Connection:
    return sqlite3.connect(os.environ[CONFORM_DB], check_same_thread=False, timeout=60)
