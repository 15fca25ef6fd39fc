"""Checkpoint ids that grow along a thread, whatever the clocks of its workers say.

LangGraph makes a checkpoint's id from its process's clock, and the newest checkpoint of a thread is the one with the
greatest id: one that a worker with a slow clock stores would lie in the thread's past. So a process that reads a
checkpoint makes no id below it from then on.
"""

from __future__ import annotations

import time
from importlib import import_module
from typing import Any
from uuid import UUID

_EPOCH = 0x01B21DD213814000
"""Units of 100 ns from the calendar's reform, where these ids count from, to 1970."""

_ids: Any = import_module("langgraph.checkpoint.base.id")


def follow(checkpoint: str) -> None:
    """Ids that this process makes from now on are greater than this one."""
    try:
        made = UUID(checkpoint)
    except ValueError:
        return  # not LangGraph's
    if made.version != 6:
        return
    value = made.int
    ticks = ((value >> 80) << 12) | ((value >> 64) & 0x0FFF)
    if ticks >= time.time_ns() // 100 + _EPOCH and ticks > (getattr(_ids, "_last_v6_timestamp", None) or 0):
        _ids._last_v6_timestamp = ticks
