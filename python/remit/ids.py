"""Checkpoint ids that grow along a thread, whatever the clocks of its workers say.

LangGraph makes a checkpoint's id from its process's clock, and the newest checkpoint of a thread is the one with the
greatest id: one that a worker with a slow clock stores would lie in the thread's past. So a process that reads a
checkpoint makes no id below it from then on.
"""

from __future__ import annotations

import re
import time
from importlib import import_module
from typing import Any

_EPOCH = 0x01B21DD213814000
"""Units of 100 ns from the calendar's reform, where these ids count from, to 1970."""

_LANGGRAPHS = re.compile("[0-9a-f]{8}-[0-9a-f]{4}-6[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
"""A UUID of version 6: its time is its digits in order, but for the version's."""

_ids: Any = import_module("langgraph.checkpoint.base.id")


def follow(checkpoint: str) -> None:
    """Ids that this process makes from now on are greater than this one."""
    if not _LANGGRAPHS.fullmatch(checkpoint):
        return
    ticks = int(checkpoint[:8] + checkpoint[9:13] + checkpoint[15:18], 16)
    if ticks >= time.time_ns() // 100 + _EPOCH and ticks > (getattr(_ids, "_last_v6_timestamp", None) or 0):
        _ids._last_v6_timestamp = ticks
