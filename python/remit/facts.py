"""What configs and checkpoints say."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Any

from langgraph.checkpoint.base import CheckpointMetadata, CheckpointTuple

from ._core import Intent, Thread, refuse
from .gate import ANSWER_ID, BRANCH, GATE
from .rows import Loaded, Rows, triggers

TOKEN = "__pregel_remit_run"
EXECUTING = "__pregel_runtime"
DURABILITY = "__pregel_durability"
KEYS = frozenset(("remit_fork", "remit_inspect", ANSWER_ID, GATE))


def decoded_if(tup: CheckpointTuple | None) -> CheckpointTuple | None:
    return decoded(tup) if tup is not None else None


def decoded(tup: CheckpointTuple) -> CheckpointTuple:
    """A tuple as LangGraph would have stored it, for whoever looks."""
    if BRANCH in tup.metadata:
        tup = tup._replace(metadata=without_branch(tup.metadata))
    if not tup.pending_writes or not any("|" in w[0] for w in tup.pending_writes):
        return tup
    return tup._replace(pending_writes=Rows(tup.pending_writes).load(Intent.INSPECT).writes)


def without_branch(metadata: CheckpointMetadata) -> CheckpointMetadata:
    """Metadata as LangGraph wrote it. The branch stays in the database, where `list(filter=...)` finds it."""
    kept: Any = {k: v for k, v in metadata.items() if k != BRANCH}
    shown: CheckpointMetadata = kept
    return shown


def branch_of(tup: CheckpointTuple) -> str | None:
    """The branch that a checkpoint is of, if any."""
    metadata: Mapping[str, Any] = tup.metadata
    return metadata.get(BRANCH)


def fork_wish(conf: Mapping[str, Any], thread: str) -> bool | str | None:
    """What `remit_fork` says; other keys of ours are not known.

    Raises:
        RemitError: a value that names no branch, or an unknown key.
    """
    unknown = [k for k in conf if k.startswith("remit_") and k not in KEYS]
    if unknown:
        raise refuse("bad-key", given=", ".join(sorted(unknown)), thread=thread)
    wanted = conf.get("remit_fork")
    if wanted is None or isinstance(wanted, bool):
        return wanted
    if isinstance(wanted, str) and wanted and "\0" not in wanted and wanted.isprintable():
        return wanted
    raise refuse("bad-fork", given=repr(wanted)[:80], thread=thread)


def head_of(conf: Mapping[str, Any]) -> Any:
    """The config of a plane's newest checkpoint."""
    return {"configurable": {"thread_id": conf["thread_id"], "checkpoint_ns": conf.get("checkpoint_ns") or ""}}


def without_keys(config: Any) -> Any:
    """A config without our keys, which a saver would copy into the checkpoint's metadata."""
    conf = config["configurable"]
    if KEYS.isdisjoint(conf):
        return config
    return {**config, "configurable": {k: v for k, v in conf.items() if k not in KEYS}}


@cache
def interrupt_class() -> Any:
    return import_module("langgraph.types").Interrupt


@cache
def knows(name: str) -> bool:
    """Is this a LangGraph that keeps finished siblings of an addressed run, and numbers a task's questions
    (`checkpoint_superseded`), or that stores
    a delta channel whole in a run that starts from written-to checkpoints (`delta_channels_with_pending_writes`)?"""
    return hasattr(import_module("langgraph.pregel._checkpoint"), name)


def is_delta(tup: CheckpointTuple) -> bool:
    return "counters_since_delta_snapshot" in tup.metadata


def state_of(tup: CheckpointTuple, loaded: Loaded) -> Thread:
    """Whether a thread waits, read from its channels: those that trigger a node are empty in a finished one."""
    if loaded.open:
        return Thread.PARKED
    if "__start__" not in tup.checkpoint["channel_versions"]:
        return Thread.UNKNOWN
    return Thread.FINISHED if waits_for_nothing(tup.checkpoint) else Thread.UNFINISHED


def waits_for_nothing(checkpoint: Mapping[str, Any]) -> bool:
    """Does a StateGraph's checkpoint trigger no node? Of other graphs it is not known."""
    values = checkpoint["channel_values"]
    return "__start__" in checkpoint["channel_versions"] and "__start__" not in values and triggers(values) == 0


def runs_one_task(tup: CheckpointTuple) -> bool:
    """Is one task triggered, and no more? Only a StateGraph's checkpoint tells."""
    return triggers(tup.checkpoint["channel_values"]) == 1
