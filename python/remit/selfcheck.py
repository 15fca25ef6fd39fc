"""A check of a saver, before threads are entrusted to it: `RemitSaver(inner, self_check=True)`.

It stores a few checkpoints on a thread of its own, reads them back in the ways LangGraph does, and deletes them.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any

from langgraph.checkpoint.base import CheckpointTuple, empty_checkpoint
from langgraph.checkpoint.base.id import uuid6

from ._core import refuse
from .drivers import Ask, Collect, Steps

_TASK = "7d9b1f6e-3a52-4c0e-9d0c-2f8f6f1f0a11"


def check(saver: str) -> Steps[None]:
    """Checks the saver that the driver asks. `saver` is its name.

    Raises:
        RemitError: it does not keep what LangGraph relies on; the message says what.
    """
    thread = f"remit-self-check-{os.urandom(8).hex()}"
    try:
        faults = yield from _faults(thread)
    finally:
        with suppress(NotImplementedError):  # an old saver's thread stays
            yield Ask("delete_thread", (thread,))
    if faults:
        raise refuse("unsound-saver", saver=saver, detail="; ".join(faults), thread=thread)


def _faults(thread: str) -> Steps[list[str]]:
    found: list[str] = []
    where: Any = {"thread_id": thread, "checkpoint_ns": ""}
    ids = [str(uuid6(clock_seq=n)) for n in range(4)]
    # the greatest id before a smaller one, as from workers whose clocks differ; then a subgraph's, greater than both
    for n in (0, 2, 1, 3):
        checkpoint: Any = {**empty_checkpoint(), "id": ids[n], "channel_values": {"step": n}}
        checkpoint["channel_versions"] = versions = {"step": f"{n + 1:032}.0"}
        place = {**where, "checkpoint_ns": "below"} if n == 3 else where
        parent = {"configurable": {**place, **({"checkpoint_id": ids[0]} if n in (1, 2) else {})}}
        stored = yield Ask("put", (parent, checkpoint, {"source": "loop", "step": n, "parents": {}}, versions))
        if (stored or {}).get("configurable", {}).get("checkpoint_id") != checkpoint["id"]:
            found.append("put does not return the config of what it stored")
    first = {"configurable": {**where, "checkpoint_id": ids[0]}}
    head = {"configurable": where}
    yield Ask("put_writes", (first, [("__interrupt__", "question")], _TASK))
    yield Ask("put_writes", (first, [("__resume__", ["old"])], _TASK))
    yield Ask("put_writes", (first, [("__resume__", ["new"])], _TASK))
    at_head: CheckpointTuple | None = yield Ask("get_tuple", (head,))
    at_first: CheckpointTuple | None = yield Ask("get_tuple", (first,))
    nowhere: CheckpointTuple | None = yield Ask(
        "get_tuple", ({"configurable": {**where, "checkpoint_id": str(uuid6(clock_seq=0))}},)
    )
    newest: CheckpointTuple | None = yield Collect(head, {}, lambda _: True)
    if at_head is not None and at_head.checkpoint["id"] == ids[3]:
        found.append("checkpoint_ns is ignored: a subgraph's checkpoint is read")
    elif at_head is None or at_head.checkpoint["id"] != ids[2]:
        found.append("a thread's newest checkpoint is not the one with the greatest id")
    elif at_head.parent_config is None or at_head.parent_config.get("configurable", {}).get("checkpoint_id") != ids[0]:
        found.append("a checkpoint's parent is lost")
    if newest is None or newest.checkpoint["id"] != ids[2]:
        found.append("list does not begin with the newest checkpoint")
    if at_first is None or at_first.checkpoint["id"] != ids[0]:
        found.append("checkpoint_id is ignored: another checkpoint is read")
    elif at_first.checkpoint["channel_values"].get("step") != 0:
        found.append("a checkpoint's values are those of another one")
    else:
        writes = {(w[0], w[1]): w[2] for w in at_first.pending_writes or ()}
        if (_TASK, "__interrupt__") not in writes:
            found.append("pending writes are lost")
        elif writes.get((_TASK, "__resume__")) != ["new"]:
            found.append("a later answer of a task does not take the place of its earlier one")
    if nowhere is not None:
        found.append("a checkpoint that does not exist is answered with another one")
    if at_head is not None and at_head.checkpoint["id"] != ids[0] and at_head.pending_writes:
        found.append("pending writes are shown at another checkpoint")
    return found
