"""A tap on a saver's writes: counts them, says what has landed, and can stop them after exactly n.

The tap sits on the saver's class, so that LangGraph's clones of the saver are counted too, and is taken off again.
Operations are counted as LangGraph makes them, one `put` or `put_writes` each.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

LIMIT_S = 60
"""How long an operation over the budget waits for those before it."""


class Frozen(RuntimeError):
    """The store takes nothing more: what is durable is what landed before."""


@dataclass
class Tap:
    """What passes, and how much may.

    Attributes:
        budget: the number of operations that land; `None` is all of them.
        at_end: called at the first operation over the budget, when all before it have ended. If it returns, that
            operation and every later one fails with `Frozen`.
        admitted, ended, landed: operations let through, those that are over, and those that the saver has reported
            as stored.
        writes: what landed by `put_writes`, as (channel, value).
    """

    budget: int | None = None
    at_end: Callable[[], None] = lambda: None
    admitted: int = 0
    ended: int = 0
    landed: int = 0
    writes: list[tuple[str, Any]] = field(default_factory=list)
    _changed: threading.Condition = field(default_factory=threading.Condition)

    def has_landed(self, names: Sequence[str]) -> bool:
        """Whether each of the names has been put into the channel `log` by a landed write."""
        return set(names) <= set(self.names_landed())

    def names_landed(self, channel: str = "log") -> list[Any]:
        """What landed writes have put into a channel that is a list."""
        return [item for name, value in self.writes if name == channel and isinstance(value, list) for item in value]

    def wait_for(self, reached: Callable[[], bool], limit_s: float = LIMIT_S) -> bool:
        """Wait until it holds of what has landed. `False` if it never did within the limit."""
        with self._changed:
            return self._changed.wait_for(reached, limit_s)

    @contextmanager
    def on(self, saver_class: type, is_async: bool) -> Iterator[Tap]:
        """Put it on a saver's class, and take it off at the end."""
        names = ("aput", "aput_writes") if is_async else ("put", "put_writes")
        own = {name: vars(saver_class).get(name) for name in names}
        for name in names:
            method = getattr(saver_class, name)
            setattr(saver_class, name, self._apassing(method) if is_async else self._passing(method))
        try:
            yield self
        finally:
            for name, was in own.items():
                if was is None:
                    delattr(saver_class, name)
                else:
                    setattr(saver_class, name, was)

    def _admit(self) -> bool:
        with self._changed:
            if self.budget is not None and self.admitted >= self.budget:
                return False
            self.admitted += 1
            return True

    def _end(self, stored: bool, args: tuple[Any, ...]) -> None:
        with self._changed:
            self.ended += 1
            self.landed += stored
            if stored and not isinstance(args[1], dict):  # put_writes; put has a checkpoint there
                self.writes += args[1]
            self._changed.notify_all()

    def _freeze(self) -> None:
        self.at_end()
        raise Frozen(f"frozen after {self.budget} operations")

    def _passing(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def passing(saver: Any, *args: Any, **kwargs: Any) -> Any:
            if not self._admit():
                self.wait_for(lambda: self.ended == self.admitted)
                self._freeze()
            stored = False
            try:
                result = method(saver, *args, **kwargs)
                stored = True
                return result
            finally:
                self._end(stored, args)

        return passing

    def _apassing(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def passing(saver: Any, *args: Any, **kwargs: Any) -> Any:
            # The operation is made when LangGraph makes it, and awaited when LangGraph awaits it.
            landing = method(saver, *args, **kwargs) if self._admit() else None

            async def land() -> Any:
                if landing is None:
                    while self.ended < self.admitted:
                        await asyncio.sleep(0)
                    self._freeze()
                    return None
                stored = False
                try:
                    result = await landing
                    stored = True
                    return result
                finally:
                    self._end(stored, args)

            return land()

        return passing
