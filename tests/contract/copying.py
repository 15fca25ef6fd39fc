"""Savers that copy threads: LangGraph's own do not yet, so here they are taught to."""

from __future__ import annotations

from typing import Any

_TABLES = {
    "checkpoints": "checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata",
    "writes": "checkpoint_ns, checkpoint_id, task_id, idx, channel, type, value",
}
_POSTGRES_TABLES = {
    "checkpoints": _TABLES["checkpoints"],
    "checkpoint_blobs": "checkpoint_ns, channel, version, type, blob",
    "checkpoint_writes": "checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, blob",
}


def _statements(tables: dict[str, str], mark: str) -> list[str]:
    return [
        f"INSERT INTO {table} (thread_id, {columns}) SELECT {mark}, {columns} FROM {table} WHERE thread_id = {mark}"
        for table, columns in tables.items()
    ]


def taught_to_copy(inner: Any) -> Any:
    """The saver, which can copy threads from now on."""
    kind: Any = type(inner)

    class Copying(kind):
        def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
            if "Memory" in kind.__name__:
                _copy_in_memory(self, source_thread_id, target_thread_id)
                return
            is_sqlite = "Sqlite" in kind.__name__
            with self.cursor() if is_sqlite else self._cursor() as cursor:
                for statement in _statements(*((_TABLES, "?") if is_sqlite else (_POSTGRES_TABLES, "%s"))):
                    cursor.execute(statement, (target_thread_id, source_thread_id))

        async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
            if "Memory" in kind.__name__:
                _copy_in_memory(self, source_thread_id, target_thread_id)
            elif "Sqlite" in kind.__name__:
                async with self.lock:
                    for statement in _statements(_TABLES, "?"):
                        await self.conn.execute(statement, (target_thread_id, source_thread_id))
                    await self.conn.commit()
            else:
                async with self._cursor() as cursor:
                    for statement in _statements(_POSTGRES_TABLES, "%s"):
                        await cursor.execute(statement, (target_thread_id, source_thread_id))

    inner.__class__ = Copying
    return inner


def _copy_in_memory(saver: Any, source: str, target: str) -> None:
    for namespace, checkpoints in list(saver.storage[source].items()):
        saver.storage[target][namespace].update(checkpoints)
    for store in (saver.writes, saver.blobs):
        for (thread, *rest), value in list(store.items()):
            if thread == source:
                store[(target, *rest)] = value.copy() if isinstance(value, dict) else value
