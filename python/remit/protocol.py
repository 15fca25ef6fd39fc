"""What a wrapped saver does, once for blocking and awaiting callers: generators of steps (see `drivers`).

Decisions are the core's; here facts are read from configs and tuples, and verdicts carried out.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from .drivers import Ask, Pause, Steps
from .reading import Reading
from .writing import Writing

log = logging.getLogger("remit")
log.addHandler(logging.NullHandler())

_REMEMBERED_DELETIONS = 10_000
_PAUSE_S = 0.002


class Protocol(Reading, Writing):
    """The protocols of one wrapped saver. Shared by its clones."""

    def is_paged(self, config: Any) -> bool:
        """Is a listing taken in pages? One of a thread is, where the saver is known to list newest first."""
        return self.store.is_durable and config is not None and "thread_id" in config.get("configurable", ())

    def pruned(self, thread_ids: Sequence[str], strategy: str) -> Steps[None]:
        """Threads were pruned: what REMIT keeps of what is gone goes too."""
        for thread in thread_ids:
            if strategy == "delete":
                yield from self.store.forget(str(thread))
                yield from self.gate.forget(str(thread))
            else:
                yield from self.store.prune(str(thread))

    def delete_thread(self, thread_id: str) -> Steps[None]:
        """Deletes a thread, and what REMIT keeps of it. Runs that execute on it store nothing more."""
        self.deletions += 1
        self.deleted[str(thread_id)] = self.deletions
        self.deleted.move_to_end(str(thread_id))
        for key in [key for key in self.lines if key[0] == str(thread_id)]:
            self.lines.pop(key, None)
        while len(self.deleted) > _REMEMBERED_DELETIONS:
            self.deleted.popitem(last=False)
        yield Ask("delete_thread", (thread_id,))
        if self.planes.is_busy(str(thread_id)):
            while self.planes.is_busy(str(thread_id)):
                yield Pause(_PAUSE_S)
            yield Ask("delete_thread", (thread_id,))
        yield from self.store.forget(str(thread_id))
        yield from self.gate.forget(str(thread_id))
