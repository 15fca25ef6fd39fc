"""Checkpointers whose fault shows in one corner only, and a saver of another hand that has none. Factories, as in defects.py.

The classes are their own factories. Names say what is done wrong; `test_corners.py` says by which cases it is seen.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

from defects import CONFORM_DB
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple, get_checkpoint_metadata
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from pydantic import ValidationError
from remit import RemitSaver
from remit.intent import current_call, follow_calls

NULL_TASK = "00000000-0000-0000-0000-000000000000"


def _place(config: Any) -> tuple[str, str, str | None]:
    configurable = config["configurable"]
    return configurable["thread_id"], configurable.get("checkpoint_ns", ""), configurable.get("checkpoint_id")


def _at(config: Any, **changed: Any) -> Any:
    return {**config, "configurable": {**config["configurable"], **changed}}


def _executes(config: Any) -> bool:
    return "__pregel_runtime" in config["configurable"]


def _is_ordinary(writes: Any) -> bool:
    return not any(channel.startswith("__") for channel, _ in writes)


def _has(found: Any, channel: str) -> bool:
    return any(name == channel for _, name, _ in found.pending_writes or [])


class _File(SqliteSaver):
    """On the file of the test, and aware of what this very saver has stored."""

    def __init__(self) -> None:
        super().__init__(sqlite3.connect(os.environ[CONFORM_DB], check_same_thread=False, timeout=60))
        self.own: set[str] = set()

    def put(self, config: Any, checkpoint: Any, *args: Any) -> Any:
        self.own.add(checkpoint["id"])
        return super().put(config, checkpoint, *args)

    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        self.own.add(task_id)
        super().put_writes(config, writes, task_id, task_path)


# PC


class CutsLongStrings(InMemorySaver):
    def put(self, config: Any, checkpoint: Any, *args: Any) -> Any:
        values = {k: v[:65536] if isinstance(v, str) else v for k, v in checkpoint["channel_values"].items()}
        return super().put(config, {**checkpoint, "channel_values": values}, *args)


class ListsMoreThanAsked(InMemorySaver):
    def list(self, config: Any, **options: Any) -> Iterator[CheckpointTuple]:
        options.pop("before", None)
        yield from super().list(config, **options)


class MixesCase(InMemorySaver):
    def get_tuple(self, config: Any) -> CheckpointTuple | None:
        return super().get_tuple(_at(config, thread_id=_place(config)[0].lower()))

    def put(self, config: Any, *args: Any) -> Any:
        return super().put(_at(config, thread_id=_place(config)[0].lower()), *args)

    def put_writes(self, config: Any, *args: Any) -> None:
        super().put_writes(_at(config, thread_id=_place(config)[0].lower()), *args)


class DeletesByPrefix(InMemorySaver):
    def delete_thread(self, thread_id: str) -> None:
        for thread in [thread for thread in self.storage if thread.startswith(thread_id)]:
            super().delete_thread(thread)


class GoesBackElsewhere(_File):
    """Another worker finds the checkpoint before the last, where nothing is pending."""

    def get_tuple(self, config: Any) -> CheckpointTuple | None:
        found = super().get_tuple(config)
        if found and _executes(config) and not found.pending_writes and found.parent_config:
            return found if found.checkpoint["id"] in self.own else super().get_tuple(found.parent_config)
        return found


# EO


class LosesATaskWhenAsync(InMemorySaver):
    def __init__(self) -> None:
        super().__init__()
        self.lost: set[Any] = set()

    async def aput_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        if not _is_ordinary(writes) or _place(config) in self.lost:
            return super().put_writes(config, writes, task_id, task_path)
        self.lost.add(_place(config))
        return None


class KeysWritesWithoutTheirTask(InMemorySaver):
    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        super().put_writes(config, writes, task_id, task_path)
        stored: Any = self.writes[_place(config)]  # type: ignore[index]
        for task, index in list(stored):
            if task != task_id and index >= 0 and (task_id, index) in stored:
                del stored[task, index]


class KeepsTenWrites(InMemorySaver):
    def get_tuple(self, config: Any) -> CheckpointTuple | None:
        found = super().get_tuple(config)
        return found and found._replace(pending_writes=(found.pending_writes or [])[:10])


class LosesWhatIsFalse(InMemorySaver):
    def put_writes(self, config: Any, writes: Any, *args: Any) -> None:
        super().put_writes(config, [w for w in writes if w[1] or w[0].startswith("__")], *args)


class ForgetsTheDead(_File):
    """The writes of a worker are seen by no other one."""

    def get_tuple(self, config: Any) -> CheckpointTuple | None:
        found = super().get_tuple(config)
        kept = [w for w in (found and found.pending_writes) or [] if w[1].startswith("__") or w[0] in self.own]
        return found and found._replace(pending_writes=kept)


# FD


class IgnoresIdsInNamespaces(InMemorySaver):
    def get_tuple(self, config: Any) -> CheckpointTuple | None:
        return super().get_tuple(_at(config, checkpoint_id=None) if _place(config)[1] else config)


class GivesTwoForksOneId(InMemorySaver):
    def put(self, config: Any, checkpoint: Any, metadata: Any, *args: Any) -> Any:
        thread, namespace, origin = _place(config)
        for id, (_, told, parent) in self.storage[thread][namespace].items():
            if origin and parent == origin and self.serde.loads_typed(told).get("step") == metadata.get("step"):
                checkpoint = {**checkpoint, "id": id}
        return super().put(config, checkpoint, metadata, *args)


class TakesTheDeepestForTheHead(InMemorySaver):
    def get_tuple(self, config: Any) -> CheckpointTuple | None:
        thread, namespace, id = _place(config)
        if id:
            return super().get_tuple(config)
        listed = super().list({"configurable": {"thread_id": thread, "checkpoint_ns": namespace}})
        return max(listed, key=lambda found: found.metadata["step"], default=None)


class HangsForksOnTheHead(InMemorySaver):
    def put(self, config: Any, *args: Any) -> Any:
        thread, namespace, id = _place(config)
        head = max(self.storage[thread][namespace], default=None)
        return super().put(_at(config, checkpoint_id=head) if id and head else config, *args)


def serves_the_first_answer_by_name(validator: Any = None) -> RemitSaver:
    saver = RemitSaver(InMemorySaver(), validator=validator, cross_process_gate=True)
    shown = saver.get_tuple

    def get_tuple(config: Any) -> CheckpointTuple | None:
        call = current_call()
        by_name = call is not None and isinstance(getattr(call.input, "resume", None), dict)
        return saver.inner.get_tuple(config) if by_name else shown(config)

    saver.get_tuple = get_tuple  # type: ignore[method-assign]
    return saver


def serves_the_first_answer_when_async(validator: Any = None) -> RemitSaver:
    saver = RemitSaver(InMemorySaver(), validator=validator, cross_process_gate=True)
    saver.aget_tuple = saver.inner.aget_tuple  # type: ignore[method-assign]
    return saver


# CV


class Validates(InMemorySaver):
    """Refuses what is invalid, in checkpoints and in writes: right as far as CV goes."""

    def __init__(self, validator: Any = None) -> None:
        super().__init__()
        self.schema = validator
        self.refused = 0

    def invalid(self, values: Any) -> set[str]:
        return {name for name, value in values.items() if not self._allows(name, value)}

    def refuse(self) -> None:
        raise ValueError("invalid")

    def put(self, config: Any, checkpoint: Any, metadata: Any, versions: Any) -> Any:
        if self.invalid(checkpoint["channel_values"]):
            self.refuse()
        return super().put(config, checkpoint, metadata, versions)

    def put_writes(self, config: Any, writes: Any, *args: Any) -> None:
        if self.invalid(dict(writes)):
            self.refuse()
        super().put_writes(config, writes, *args)

    def _allows(self, name: str, value: Any) -> bool:
        if self.schema is None or name not in self.schema.model_fields:
            return True
        try:
            self.schema.model_validate({name: value})
        except ValidationError:
            return False
        return True


class ValidatesCheckpointsOnly(Validates):
    def put_writes(self, config: Any, writes: Any, *args: Any) -> None:
        InMemorySaver.put_writes(self, config, writes, *args)


class ValidatesTheFirstTime(Validates):
    def refuse(self) -> None:
        self.refused += 1
        if self.refused == 1:
            super().refuse()


class StoresTheValidPart(Validates):
    def put(self, config: Any, checkpoint: Any, metadata: Any, versions: Any) -> Any:
        values = checkpoint["channel_values"]
        invalid = self.invalid(values)
        valid = {**checkpoint, "channel_values": {k: v for k, v in values.items() if k not in invalid}}
        stored = super().put(config, valid, metadata, versions)
        if invalid:
            self.refuse()
        return stored

    def put_writes(self, config: Any, writes: Any, *args: Any) -> None:
        invalid = self.invalid(dict(writes))
        InMemorySaver.put_writes(self, config, [w for w in writes if w[0] not in invalid], *args)
        if invalid:
            self.refuse()


class ValidatesWhenSync(Validates):
    async def aput(self, *args: Any) -> Any:
        return InMemorySaver.put(self, *args)

    async def aput_writes(self, *args: Any) -> None:
        InMemorySaver.put_writes(self, *args)


class DropsWhatIsInvalid(Validates):
    """Silently."""

    def refuse(self) -> None:
        pass

    def put(self, config: Any, checkpoint: Any, metadata: Any, versions: Any) -> Any:
        if self.invalid(checkpoint["channel_values"]):
            return _at(config, checkpoint_id=checkpoint["id"])
        return super().put(config, checkpoint, metadata, versions)

    def put_writes(self, config: Any, writes: Any, *args: Any) -> None:
        invalid = self.invalid(dict(writes))
        super().put_writes(config, [w for w in writes if w[0] not in invalid], *args)


class ValidatesChanges(Validates):
    """Changes from outside, and not what steps return."""

    def put(self, config: Any, checkpoint: Any, metadata: Any, versions: Any) -> Any:
        put = super().put if metadata.get("source") == "update" else super(Validates, self).put
        return put(config, checkpoint, metadata, versions)

    def put_writes(self, config: Any, writes: Any, *args: Any) -> None:
        InMemorySaver.put_writes(self, config, writes, *args)


# CO-e


class ServesTheLastAnswerAgain(InMemorySaver):
    """A question that has no answer gets the thread's last one."""

    def __init__(self) -> None:
        super().__init__()
        self.last: dict[str, Any] = {}

    def put_writes(self, config: Any, writes: Any, *args: Any) -> None:
        for channel, value in writes:
            if channel == "__resume__":
                self.last[_place(config)[0]] = value[0] if isinstance(value, list) else value
        super().put_writes(config, writes, *args)

    def get_tuple(self, config: Any) -> CheckpointTuple | None:
        found, last = super().get_tuple(config), self.last.get(_place(config)[0])
        if found is None or last is None or not _executes(config) or not _has(found, "__interrupt__"):
            return found
        if _has(found, "__resume__"):
            return found
        return found._replace(pending_writes=[*(found.pending_writes or []), (NULL_TASK, "__resume__", last)])


class OpensAnsweredQuestionsAgain(InMemorySaver):
    """As long as a sibling's is open."""

    def get_tuple(self, config: Any) -> CheckpointTuple | None:
        found = super().get_tuple(config)
        if found is None or not _executes(config):
            return found
        writes = found.pending_writes or []
        answered = {task for task, channel, _ in writes if channel == "__resume__"}
        return found._replace(pending_writes=[w for w in writes if w[0] not in answered or w[1] == "__interrupt__"])


class OpensTheFinishedAgain(InMemorySaver):
    """A run of a finished thread starts at the checkpoint before the last, without what was done there."""

    def get_tuple(self, config: Any) -> CheckpointTuple | None:
        return _before_the_end(super().get_tuple(config), config, super().get_tuple)


class OpensTheFinishedElsewhere(_File):
    """The same, for a worker that did not finish it."""

    def get_tuple(self, config: Any) -> CheckpointTuple | None:
        found = super().get_tuple(config)
        return (
            found
            if found is None or found.checkpoint["id"] in self.own
            else _before_the_end(found, config, super().get_tuple)
        )


def _before_the_end(found: CheckpointTuple | None, config: Any, get: Any) -> CheckpointTuple | None:
    if found is None or not _executes(config) or found.pending_writes or not found.parent_config:
        return found
    if any(channel.startswith("branch:to:") for channel in found.checkpoint["channel_values"]):
        return found
    before: CheckpointTuple = get(found.parent_config)
    return before._replace(pending_writes=[w for w in before.pending_writes or [] if w[1] == "__interrupt__"])


# CO-c


class _Claims(_File):
    def claim(self, key: object, owner: object = "") -> None:
        """The first owner of a key keeps it."""
        with self.cursor() as cursor:
            cursor.execute("CREATE TABLE IF NOT EXISTS claims (key TEXT PRIMARY KEY, owner TEXT)")
            taken = cursor.execute("INSERT OR IGNORE INTO claims VALUES (?, ?)", (repr(key), repr(owner))).rowcount == 0
            row = cursor.execute("SELECT owner FROM claims WHERE key = ?", (repr(key),)).fetchone()
        if taken and (not owner or row[0] != repr(owner)):
            raise RuntimeError("taken")


class ClaimsTheAnswerWithItsValue(_Claims):
    """Two racers with different answers do not see each other."""

    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        if task_id == NULL_TASK and writes and writes[0][0] == "__resume__":
            self.claim((_place(config), writes[0][1]))
        super().put_writes(config, writes, task_id, task_path)


class ClaimsBareAnswers(_Claims):
    def __init__(self) -> None:
        super().__init__()
        follow_calls()

    def get_tuple(self, config: Any) -> CheckpointTuple | None:
        found, call = super().get_tuple(config), current_call()
        by_name = call is not None and isinstance(getattr(call.input, "resume", None), dict)
        if found and _executes(config) and _has(found, "__interrupt__") and not by_name:
            self.claim(_place(found.config))
        return found


class ClaimsForAProcess(_Claims):
    """Threads of one process do not see each other, and nobody ever sees that a process has died."""

    def get_tuple(self, config: Any) -> CheckpointTuple | None:
        found = super().get_tuple(config)
        if found and _executes(config) and _has(found, "__interrupt__"):
            self.claim(_place(found.config), os.getpid())
        return found


class ClaimsWithTheResult(_Claims):
    """The loser is told when its effect has happened."""

    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        if task_id != NULL_TASK and _is_ordinary(writes):
            self.claim((_place(config), task_id))
        super().put_writes(config, writes, task_id, task_path)


# RD


class LooksConsume(InMemorySaver):
    def get_tuple(self, config: Any) -> CheckpointTuple | None:
        found = super().get_tuple(config)
        if found and not _executes(config):
            self.writes.pop(_place(found.config), None)  # type: ignore[call-overload]
        return found


class KeepsAnswersOnce(InMemorySaver):
    """Two alike are one."""

    def put_writes(self, config: Any, writes: Any, *args: Any) -> None:
        alike = [(c, list(dict.fromkeys(v)) if c == "__resume__" and isinstance(v, list) else v) for c, v in writes]
        super().put_writes(config, alike, *args)


class HidesTheSiblingsOfAFailure(InMemorySaver):
    def get_tuple(self, config: Any) -> CheckpointTuple | None:
        found = super().get_tuple(config)
        if found is None or not _has(found, "__error__"):
            return found
        return found._replace(pending_writes=[w for w in found.pending_writes or [] if w[1].startswith("__")])


# LIVE


class LocksUntilTheNextCheckpoint(InMemorySaver):
    """A run that fails before it leaves the lock taken; the next one waits for ever."""

    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.Lock()

    def get_tuple(self, config: Any) -> CheckpointTuple | None:
        found = super().get_tuple(config)
        if found and _executes(config) and found.pending_writes:
            self.lock.acquire()
        return found

    def put(self, *args: Any) -> Any:
        if self.lock.locked():
            self.lock.release()
        return super().put(*args)


class TakesLooksForRuns(InMemorySaver):
    """A checkpoint that was looked at twice is not run."""

    def __init__(self) -> None:
        super().__init__()
        self.looks: dict[str, int] = defaultdict(int)

    def get_tuple(self, config: Any) -> CheckpointTuple | None:
        found = super().get_tuple(config)
        if found and not _executes(config):
            self.looks[found.checkpoint["id"]] += 1
        elif found and self.looks[found.checkpoint["id"]] > 2:
            raise RuntimeError("in use")
        return found


class RunsOnce(InMemorySaver):
    """A finished thread takes no new input."""

    def put(self, config: Any, checkpoint: Any, metadata: Any, versions: Any) -> Any:
        before = super().get_tuple(config) if _place(config)[2] else None
        if before and metadata.get("source") == "input" and not before.pending_writes:
            raise RuntimeError("finished")
        return super().put(config, checkpoint, metadata, versions)


class RefusesWhatWasEdited(InMemorySaver):
    def get_tuple(self, config: Any) -> CheckpointTuple | None:
        found = super().get_tuple(config)
        if found and _executes(config) and found.metadata["source"] == "update":
            raise RuntimeError("edited")
        return found


class ListsNoQuestions(InMemorySaver):
    def list(self, *args: Any, **options: Any) -> Iterator[CheckpointTuple]:
        for found in super().list(*args, **options):
            yield found._replace(pending_writes=[])


# Of another hand


class DictSaver(BaseCheckpointSaver[int]):
    """A saver that shares no code with LangGraph's own: one dict of checkpoints, one of writes, whole checkpoints."""

    def __init__(self) -> None:
        super().__init__()
        self.checkpoints: dict[tuple[str, str], dict[str, Any]] = defaultdict(dict)
        self.tasks: dict[tuple[str, str, str], dict[tuple[str, str], Any]] = defaultdict(dict)
        self.lock = threading.RLock()

    def get_next_version(self, current: int | None, channel: None) -> int:
        return (current or 0) + 1

    def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        thread, namespace, parent = _place(config)
        kept = self.serde.dumps_typed((checkpoint, get_checkpoint_metadata(config, metadata)))
        with self.lock:
            self.checkpoints[thread, namespace][checkpoint["id"]] = (kept, parent)
        return self._config(thread, namespace, checkpoint["id"])

    def put_writes(self, config: Any, writes: Sequence[Any], task_id: str, task_path: str = "") -> None:
        thread, namespace, id = _place(config)
        with self.lock:
            of_task = self.tasks[thread, namespace, str(id)]
            # What a task returns is written once; what it says of itself (`__resume__`, ...) replaces what it said.
            special = [write for write in writes if write[0].startswith("__")]
            for channel, value in special:
                of_task[task_id, channel] = (task_path, [(channel, self.serde.dumps_typed(value))])
            if len(special) < len(writes) and (task_id, "") not in of_task:
                returned = [(c, self.serde.dumps_typed(v)) for c, v in writes if not c.startswith("__")]
                of_task[task_id, ""] = (task_path, returned)

    def get_tuple(self, config: Any) -> CheckpointTuple | None:
        thread, namespace, id = _place(config)
        with self.lock:
            id = id or max(self.checkpoints[thread, namespace], default=None)
            return self._tuple(thread, namespace, id) if id in self.checkpoints[thread, namespace] else None

    def list(self, config: Any, *, filter: Any = None, before: Any = None, limit: Any = None) -> Iterator[Any]:
        thread, _, id = _place(config) if config else (None, None, None)
        asked = config["configurable"].get("checkpoint_ns") if config else None
        with self.lock:
            keys = [(t, n, i) for (t, n), ids in self.checkpoints.items() for i in ids]
            found = [self._tuple(*key) for key in sorted(keys, key=lambda key: key[2], reverse=True)]
        found = [
            item
            for item in found
            if thread in (None, item.config["configurable"]["thread_id"])
            and asked in (None, item.config["configurable"]["checkpoint_ns"])
            and id in (None, item.checkpoint["id"])
            and (before is None or item.checkpoint["id"] < before["configurable"]["checkpoint_id"])
            and (filter or {}).items() <= dict(item.metadata).items()
        ]
        yield from found[:limit]

    def delete_thread(self, thread_id: str) -> None:
        with self.lock:
            for store in (self.checkpoints, self.tasks):
                for key in [key for key in store if key[0] == thread_id]:
                    del store[key]  # type: ignore[arg-type]

    async def aput(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        return self.put(config, checkpoint, metadata, new_versions)

    async def aput_writes(self, config: Any, writes: Sequence[Any], task_id: str, task_path: str = "") -> None:
        self.put_writes(config, writes, task_id, task_path)

    async def aget_tuple(self, config: Any) -> CheckpointTuple | None:
        return self.get_tuple(config)

    async def alist(self, config: Any, **options: Any) -> AsyncIterator[CheckpointTuple]:
        for item in self.list(config, **options):
            yield item

    async def adelete_thread(self, thread_id: str) -> None:
        self.delete_thread(thread_id)

    def _config(self, thread: str, namespace: str, id: str) -> Any:
        return {"configurable": {"thread_id": thread, "checkpoint_ns": namespace, "checkpoint_id": id}}

    def _tuple(self, thread: str, namespace: str, id: Any) -> CheckpointTuple:
        kept, parent = self.checkpoints[thread, namespace][id]
        checkpoint, metadata = self.serde.loads_typed(kept)
        tasks = sorted(self.tasks[thread, namespace, id].items(), key=lambda entry: (entry[1][0], entry[0]))
        writes = [(task, c, self.serde.loads_typed(v)) for (task, _), (_, told) in tasks for c, v in told]
        before = self._config(thread, namespace, parent) if parent else None
        return CheckpointTuple(self._config(thread, namespace, id), checkpoint, metadata, before, writes)


def remit_over_dict(validator: Any = None) -> RemitSaver:
    return RemitSaver(DictSaver(), validator=validator)
