"""Stored objects that come back as something else.

LangGraph's serializer rebuilds an object by its class's module and name. Where there is no such class any more, where
it does not take its old fields, or where it is not allowed, the object comes back as the data that it was made of, or
as None, and nothing is raised. So the hook that the serializer calls for each stored object is watched: a read of plain
data costs nothing, an object one more call.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from copy import copy
from importlib import import_module
from typing import Any, TypeVar

import ormsgpack
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.checkpoint.serde import jsonplus
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from ._core import refuse

log = logging.getLogger("remit")

Shown = TypeVar("Shown", CheckpointTuple, CheckpointTuple | None)

_DATA = frozenset((type(None), dict, list, tuple, str, bytes, int, float, bool))
"""What an object's data may look like. (A constructor's result is none of these but by its class's own doing.)"""
_NUMPY = 6
_MOST_REPORTED = 1000
_reported: set[str] = set()
_found: ContextVar[Losses | None] = ContextVar("remit_lost", default=None)


class Lost:
    """What a strict read has in place of an object that could not be rebuilt, until the read is refused.

    Attributes:
        type: module and name of the class.
        reason: why.
    """

    __slots__ = ("reason", "type")

    def __init__(self, type: str, reason: str) -> None:
        self.type = type
        self.reason = reason

    def __repr__(self) -> str:
        return f"<lost {self.type}>"

    def _is_no_value(self, *_: Any) -> Any:
        raise TypeError(f"{self.type} could not be rebuilt")

    # a constructor that it is handed to must not make a value of it
    __bool__ = __str__ = __len__ = __iter__ = __int__ = __float__ = __index__ = _is_no_value


def watch(saver: BaseCheckpointSaver[Any]) -> None:
    """Watches a saver's serializer from now on. A copy of it: others may use the original."""
    serde = _watched(saver.serde)
    if serde is not saver.serde:
        saver.serde = serde


def _watched(serde: Any) -> Any:
    if type(serde) is EncryptedSerializer:
        within = _watched(serde.serde)
        if within is serde.serde:
            return serde
        clone: Any = copy(serde)
        clone.serde = within
        return clone
    make = getattr(jsonplus, "_create_msgpack_ext_hook", None)
    if not isinstance(serde, JsonPlusSerializer) or getattr(serde, "_custom_unpack_ext_hook", True) or make is None:
        return serde  # whoever has a hook of his own decides himself what comes back
    if getattr(serde._unpack_ext_hook, "is_watched", False):
        return serde
    original: Callable[[int, bytes], Any] = make(serde._allowed_msgpack_modules)

    def hook(code: int, data: bytes) -> Any:
        value = original(code, data)
        return value if type(value) not in _DATA else _examined(code, data, value)

    hook.is_watched = True  # type: ignore[attr-defined]
    # objects within objects are rebuilt by the original calling itself
    code: Any = getattr(original, "__code__", None)
    if code is not None and "ext_hook" in code.co_freevars:
        cells: Any = getattr(original, "__closure__", ())
        cells[code.co_freevars.index("ext_hook")].cell_contents = hook
    clone = copy(serde)
    clone._unpack_ext_hook = hook
    revive = JsonPlusSerializer._reviver.__get__(clone)

    def revived(value: dict[str, Any]) -> Any:
        result = revive(value)
        if value.get("lc") == 2 and value.get("type") == "constructor" and type(result) in _DATA and value.get("id"):
            *module, name = value["id"]
            return _judged(".".join(module), name, result)
        return result

    clone._reviver = revived
    return clone


def _examined(code: int, data: bytes, value: Any) -> Any:
    if code == _NUMPY:
        return _lost("numpy.ndarray", "numpy cannot be imported, or does not take it", value)
    try:
        parts = ormsgpack.unpackb(data, ext_hook=lambda *_: None, option=ormsgpack.OPT_NON_STR_KEYS)
        module, name = str(parts[0]), str(parts[1])
    except Exception:
        return _lost(f"(extension {code})", "the installed langgraph-checkpoint does not know it", value)
    return _judged(module, name, value)


def _judged(module: str, name: str, value: Any) -> Any:
    """The value that a class's object came back as: itself, or lost."""
    try:
        made: Any = getattr(import_module(module), name)
    except ImportError:
        reason = "its module cannot be imported"
    except AttributeError:
        reason = "its module has no such class any more"
    except Exception as e:
        reason = f"its module cannot be imported: {type(e).__name__}"
    else:
        if not isinstance(made, type) or isinstance(value, made):
            return value
        reason = "the serializer's allowlist has it not, or the class does not take its stored fields"
    return _lost(f"{module}.{name}", reason, value)


def _lost(type: str, reason: str, value: Any) -> Any:
    found = _found.get()
    if found is not None:
        found.append(Lost(type, reason))
        return found[-1]
    if type not in _reported and len(_reported) < _MOST_REPORTED:
        _reported.add(type)
        log.warning(
            "a stored %s came back as %s: %s; strict_types=True refuses such reads",
            type,
            "None" if value is None else f"a bare {value.__class__.__name__}",
            reason,
            extra={"remit_code": "type-lost", "remit_type": type},
        )
    return value


class Losses(list[Lost]):
    """What a strict read could not rebuild."""

    def checked(self, tup: Shown) -> Shown:
        """A tuple of the read.

        Raises:
            RemitValidityError: something in it could not be rebuilt.
        """
        if self and tup is not None:
            conf: Mapping[str, Any] = tup.config.get("configurable", {})
            values: Mapping[str, Any] = tup.checkpoint["channel_values"]
            for channel, value in [*values.items(), *((w[1], w[2]) for w in tup.pending_writes or ())]:
                check_value(value, channel, conf)
        return tup


@contextmanager
def strictly(is_strict: bool = True) -> Iterator[Losses]:
    """What is read within has `Lost` in place of what could not be rebuilt, if the read is strict."""
    found = Losses()
    before = _found.set(found) if is_strict else None
    try:
        yield found
    finally:
        if before is not None:
            _found.reset(before)


class Strict:
    """A saver whose tuples are checked when they are read."""

    def __init__(self, inner: BaseCheckpointSaver[Any], losses: Losses) -> None:
        self._inner = inner
        self._losses = losses

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def get_tuple(self, config: Any) -> CheckpointTuple | None:
        return self._losses.checked(self._inner.get_tuple(config))

    async def aget_tuple(self, config: Any) -> CheckpointTuple | None:
        return self._losses.checked(await self._inner.aget_tuple(config))


def check_value(value: Any, channel: str, conf: Mapping[str, Any]) -> None:
    """Checks a channel's value that was read strictly.

    Raises:
        RemitValidityError: something in it could not be rebuilt.
    """
    lost = _lost_in(value, set())
    if lost is not None:
        raise refuse(
            "type-lost",
            field=channel,
            value_type=lost.type,
            errors=[],
            detail=lost.reason,
            thread=str(conf.get("thread_id")),
            namespace=conf.get("checkpoint_ns") or "",
            checkpoint=conf.get("checkpoint_id"),
        )


def _lost_in(value: Any, seen: set[int]) -> Lost | None:
    if type(value) is Lost:
        return value
    if id(value) in seen or isinstance(value, str | bytes | bytearray | int | float | type(None) | type):
        return None
    seen.add(id(value))
    parts: list[Any] = []
    if isinstance(value, Mapping):
        parts = [*value.keys(), *value.values()]
    elif isinstance(value, list | tuple | set | frozenset) or type(value).__name__ == "deque":
        parts = list(value)
    parts += getattr(value, "__dict__", {}).values()
    slots = (slot for kind in type(value).__mro__ for slot in getattr(kind, "__slots__", ()))
    parts += [getattr(value, slot, None) for slot in slots]
    return next((lost for part in parts if (lost := _lost_in(part, seen)) is not None), None)
