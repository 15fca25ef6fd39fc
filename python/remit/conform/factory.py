"""Where the savers under test come from: a factory that a user names as `module:callable`."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Literal

from langgraph.checkpoint.base import BaseCheckpointSaver

Mode = Literal["sync", "async"]


class FactoryError(ValueError):
    """The factory cannot be used; nothing was run."""


@dataclass(frozen=True)
class Factory:
    """A callable that gives a checkpointer on one and the same store at each call.

    What it returns is a `BaseCheckpointSaver`, or a context manager or an awaitable of one, sync or async. If it takes
    an argument `validator`, it is given the schema of a state (a pydantic model) where a case is about validity, and
    `None` elsewhere.

    Attributes:
        spec: `module:callable`; other processes find it by this.
        make: the callable.
    """

    spec: str
    make: Callable[..., Any]

    @classmethod
    def find(cls, spec: str) -> Factory:
        """The factory that a spec names.

        Raises:
            FactoryError: there is none.
        """
        module, colon, path = spec.partition(":")
        if not (module and colon and path):
            raise FactoryError(f"{spec!r} is not of the form module:callable")
        try:
            found: Any = importlib.import_module(module)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{module}.".startswith(f"{error.name}."):
                raise
            raise FactoryError(f"there is no module {error.name!r} (the current directory is searched too)") from error
        for name in path.split("."):
            try:
                found = getattr(found, name)
            except AttributeError as error:
                raise FactoryError(f"{module!r} has no {path!r}") from error
        if not callable(found):
            raise FactoryError(f"{spec} is not callable")
        return cls(spec, found)

    @property
    def takes_validator(self) -> bool:
        """Whether it can be told the schema of the state."""
        try:
            return "validator" in inspect.signature(self.make).parameters
        except (TypeError, ValueError):
            return False

    @asynccontextmanager
    async def open(self, validator: Any = None) -> AsyncIterator[tuple[BaseCheckpointSaver[Any], tuple[Mode, ...]]]:
        """A saver, closed at the end if the factory says how, and the calls it may be for.

        Raises:
            FactoryError: what the factory returned is no saver.
        """
        made = self.make(**({"validator": validator} if self.takes_validator else {}))
        is_async = inspect.isawaitable(made)
        if is_async:
            made = await made
        if isinstance(made, BaseCheckpointSaver):
            yield made, _modes(made, is_async)
        elif hasattr(made, "__aenter__"):
            async with made as saver:
                yield _checked(saver), ("async",)
        elif hasattr(made, "__enter__"):
            with made as saver:
                yield _checked(saver), _modes(saver, is_async)
        else:
            _checked(made)


def _checked(saver: Any) -> BaseCheckpointSaver[Any]:
    if not isinstance(saver, BaseCheckpointSaver):
        raise FactoryError(f"the factory gave a {type(saver).__name__}, which is no BaseCheckpointSaver")
    return saver


def _modes(saver: BaseCheckpointSaver[Any], is_async: bool) -> tuple[Mode, ...]:
    """Those that its class has methods for. A saver that is made by an async call is for async calls."""
    if is_async:
        return ("async",)
    sync = type(saver).put is not BaseCheckpointSaver.put
    return (*(("sync",) if sync else ()), *(("async",) if type(saver).aput is not BaseCheckpointSaver.aput else ()))
