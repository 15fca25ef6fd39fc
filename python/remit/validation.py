"""Checks of what is about to become durable (DESIGN 8).

A *field check* is one per channel, made from the state's schema; a *whole check* sees all channel values at once.
An update of a channel that has a reducer need not be of the field's type: it is accepted if it is what the
reducer takes, or if what results from it is valid.
"""

from __future__ import annotations

import collections.abc
import copy
import dataclasses
import inspect
import typing
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from pydantic import BaseModel, TypeAdapter, ValidationError
from typing_extensions import get_type_hints, is_typeddict

from ._core import refuse

Values = Mapping[str, Any]

_REFUSALS = (ValidationError, ValueError, TypeError, AssertionError)
_START = "__start__"


def is_internal(channel: str) -> bool:
    """Is the channel LangGraph's own? Such values are no state."""
    return channel.startswith(("__", "branch:", "join:"))


class _Field:
    """The check of one channel."""

    def __init__(self, annotation: Any) -> None:
        self.adapter: TypeAdapter[Any] = TypeAdapter(annotation, config=_config(annotation))
        self.reducer = _reducer_of(annotation)
        self.takes = _second_parameter(self.reducer)
        self.empty = _empty_of(annotation)

    def check_update(self, value: Any, values: Values | None, channel: str) -> None:
        """Checks an update over the values that it updates; None: they are not known."""
        overwrite = _overwrite(value)
        if overwrite is not None:
            self.adapter.validate_python(overwrite[0])
        elif self.reducer is None:
            self.adapter.validate_python(value)
        else:
            self._check_reduced(value, values, channel)

    def reduced(self, value: Any, values: Values, channel: str) -> Any:
        """What results from an update.

        Raises:
            Exception: the reducer's own, or `LookupError` if it has nothing to start from.
        """
        overwrite = _overwrite(value)
        if overwrite is not None:
            return overwrite[0]
        if self.reducer is None:
            return value
        if channel not in values and self.empty is None:
            raise LookupError(channel)
        left = copy.deepcopy(values[channel]) if channel in values else self.empty() if self.empty else None
        return self.reducer(left, value)

    def _check_reduced(self, value: Any, values: Values | None, channel: str) -> None:
        try:
            (self.takes or self.adapter).validate_python(value)
            return
        except _REFUSALS as e:
            refusal = e
        if values is None:
            return  # what results is checked with the checkpoint
        try:
            result = self.reduced(value, values, channel)
        except LookupError:
            return
        except Exception:
            raise refusal from None
        self.adapter.validate_python(result)


def _empty_of(annotation: Any) -> Callable[[], Any] | None:
    """What a channel with a reducer starts from: its type's empty value, as LangGraph does it."""
    while typing.get_origin(annotation) is typing.Annotated:
        annotation = typing.get_args(annotation)[0]
    kind = typing.get_origin(annotation) or annotation
    kind = {collections.abc.Sequence: list, collections.abc.Set: set, collections.abc.Mapping: dict}.get(kind, kind)
    try:
        kind()
    except Exception:
        return None
    empty: Callable[[], Any] = kind
    return empty


def _config(annotation: Any) -> Any:
    """State may hold anything. A type that brings a configuration of its own takes none."""
    try:
        TypeAdapter(annotation)
    except Exception:
        return {"arbitrary_types_allowed": True}
    return None


def _reducer_of(annotation: Any) -> Callable[[Any, Any], Any] | None:
    metadata = getattr(annotation, "__metadata__", ())
    for item in reversed(metadata):
        if callable(item) and not isinstance(item, type):
            try:
                parameters = [
                    p
                    for p in inspect.signature(item).parameters.values()
                    if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
                ]
            except (TypeError, ValueError):
                continue
            if len(parameters) >= 2:
                reducer: Callable[[Any, Any], Any] = item
                return reducer
        if hasattr(item, "from_checkpoint"):  # a channel: its operator, or its update, reduces
            operator = getattr(item, "operator", None)
            return operator if callable(operator) else lambda left, right: right
    return None


def _second_parameter(reducer: Callable[[Any, Any], Any] | None) -> TypeAdapter[Any] | None:
    if reducer is None:
        return None
    try:
        hints = get_type_hints(reducer)
        second = list(inspect.signature(reducer).parameters)[1]
        return TypeAdapter(hints[second]) if second in hints else None
    except Exception:
        return None


def _overwrite(value: Any) -> tuple[Any] | None:
    """The value that replaces the channel's, if the update says so."""
    if type(value).__name__ == "Overwrite" and hasattr(value, "value"):
        return (value.value,)
    if isinstance(value, dict) and set(value) == {"__overwrite__"}:
        return (value["__overwrite__"],)
    return None


def _annotations(schema: Any) -> dict[str, Any] | None:
    """The fields of a schema, None if it has none that can be read."""
    if isinstance(schema, type) and issubclass(schema, BaseModel):
        return {name: _annotated(f) for name, f in schema.model_fields.items()}
    if is_typeddict(schema) or dataclasses.is_dataclass(schema):
        return {
            name: hint
            for name, hint in get_type_hints(schema, include_extras=True).items()
            if not _is_class_variable(hint)
        }
    return None


def _is_class_variable(hint: Any) -> bool:
    origin: Any = typing.get_origin(hint)
    return bool(origin is typing.ClassVar)


def _annotated(field: Any) -> Any:
    annotation = field.annotation
    for item in field.metadata:
        annotation = typing.Annotated[annotation, item]
    return annotation


class Validator:
    """The checks of one namespace."""

    def __init__(self, schema: Any) -> None:
        if isinstance(schema, TypeAdapter):
            adapter, schema = schema, schema._type
        else:
            adapter = None
        try:
            fields = _annotations(schema)
            self._fields = None if fields is None else {name: _Field(a) for name, a in fields.items()}
        except Exception as e:
            detail = f"no validator can be built from {schema!r:.80}: {type(e).__name__}: {e}"
            raise refuse("bad-option", detail=detail) from e
        self._required: frozenset[str] = frozenset()
        self._whole: Callable[[Any], Any] | None = None
        if self._fields is not None and isinstance(schema, type) and issubclass(schema, BaseModel):
            self._required = frozenset(n for n, f in schema.model_fields.items() if f.is_required())
            self._whole = schema.model_validate
        elif self._fields is None and adapter is not None:
            self._whole = adapter.validate_python
        elif self._fields is None and callable(schema):
            self._whole = schema
        elif self._fields is None:
            raise refuse("bad-option", detail=f"validator is neither a schema nor callable: {schema!r:.80}")

    def check_updates(self, updates: list[tuple[str, Any]], values: Values | None, alone: bool = False) -> None:
        """Checks one task's writes over the values that the task saw, None if they are not known. `alone`: no other
        task writes in its step, so what results is the next state.

        Raises:
            RemitValidityError: one is invalid; the field and pydantic's errors are attributes.
        """
        updates = [(c, v) for c, v in updates if not is_internal(c)]
        if not updates:
            return
        for channel, value in updates:
            field = self._fields.get(channel) if self._fields is not None else None
            if field is not None:
                self._run(partial(field.check_update, value, values, channel), channel, value)
        if not alone or values is None:
            return  # the next state is checked with its checkpoint
        if self._fields is None:
            self._check_results(updates, values)
        else:
            self._check_whole(updates, values, self._fields)

    def _check_whole(self, updates: list[tuple[str, Any]], values: Values, fields: dict[str, _Field]) -> None:
        state = {c: v for c, v in values.items() if c in fields}
        try:
            for channel, value in updates:
                if channel in fields:
                    state[channel] = fields[channel].reduced(value, state, channel)
        except Exception:
            return  # it fails in the run too, and is not stored
        if self._whole is not None and self._required <= state.keys():
            self._run(partial(self._whole, state), None, state)

    def check_state(self, values: Values) -> None:
        """Checks all channel values of a checkpoint.

        Raises:
            RemitValidityError: they are invalid.
        """
        state = {c: v for c, v in values.items() if not is_internal(c)}
        start = values.get(_START)
        if isinstance(start, dict):
            self.check_updates(list(start.items()), state, alone=True)
        known = state if self._fields is None else {c: v for c, v in state.items() if c in self._fields}
        if self._whole is not None and known and self._required <= known.keys():
            self._run(partial(self._whole, known), None, known)
            return
        if self._fields is None:
            return
        for channel, value in known.items():
            self._run(partial(self._fields[channel].adapter.validate_python, value), channel, value)

    def _check_results(self, updates: list[tuple[str, Any]], values: Values) -> None:
        """A callable knows no reducers: the updates are accepted if one plausible result of them is."""
        state = {c: v for c, v in values.items() if not is_internal(c)}
        replaced = {**state, **dict(updates)}
        assert self._whole is not None
        try:
            self._whole(replaced)
            return
        except Exception:
            added = dict(state)
            for channel, value in updates:
                try:
                    added[channel] = added[channel] + value if channel in added else value
                except Exception:
                    added[channel] = value
        whole = self._whole
        try:
            whole(added)
        except Exception:
            self._run(partial(whole, replaced), None, replaced)

    def _run(self, check: Callable[[], Any], channel: str | None, value: Any) -> None:
        try:
            check()
        except _REFUSALS as e:
            raise _refusal("invalid-state", e, channel, value) from e
        except Exception as e:
            raise _refusal("validator-failed", e, channel, value) from e


def _refusal(code: str, error: Exception, channel: str | None, value: Any) -> BaseException:
    if isinstance(error, ValidationError):
        errors = error.errors(include_url=False)
        where = [".".join(map(str, ([channel] if channel else []) + list(x["loc"]))) or "state" for x in errors]
        detail = "; ".join(
            f"{w}: {x['msg']} (got {type(x['input']).__name__})" for w, x in zip(where, errors, strict=True)
        )
        if channel is None and errors and errors[0]["loc"]:
            channel, value = str(errors[0]["loc"][0]), errors[0]["input"]
    else:
        errors = []
        detail = f"{channel + ': ' if channel else ''}{type(error).__name__}: {error}"
    refusal: BaseException = refuse(
        code, detail=detail, field=channel, value_type=type(value).__name__ if channel else None, errors=errors
    )
    return refusal


class Validators:
    """The validators of all namespaces."""

    def __init__(self, option: Any) -> None:
        given = option if isinstance(option, Mapping) else {"": option}
        for path in given:
            if not isinstance(path, str):
                raise refuse("bad-option", detail=f"a namespace in validator must be a string, not {path!r:.80}")
        self._by_path = {path: Validator(schema) for path, schema in given.items() if schema is not None}

    def __bool__(self) -> bool:
        return bool(self._by_path)

    def of(self, namespace: str) -> Validator | None:
        """The validator of a checkpoint namespace, whose task ids do not count."""
        if not namespace:
            return self._by_path.get("")
        path = "|".join(part.split(":", 1)[0] for part in namespace.split("|") if not part.isdigit())
        return self._by_path.get(path)
