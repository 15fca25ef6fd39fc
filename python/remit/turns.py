"""The turn of an operation: waiting for it, and ending the operation whatever becomes of its caller.

When it is an operation's turn, the core's sequencer says (`sequencer`, docs/concepts/order.md).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Generator
from functools import partial
from queue import SimpleQueue
from threading import get_ident
from typing import Any

from ._core import Operation


def wait_for(operation: Operation) -> None:
    """Blocks until an operation may land."""
    if is_on_a_loop():
        return  # what it waits for may need this very thread; a blocking call there has no order to keep
    woken: SimpleQueue[None] = SimpleQueue()
    operation.wake(partial(woken.put, None))
    while not operation.is_ready():
        woken.get()


async def await_for(operation: Operation) -> None:
    """Awaits that an operation may land."""
    loop, thread = asyncio.get_running_loop(), get_ident()
    woken = asyncio.Event()

    def wake() -> None:
        if get_ident() == thread:
            woken.set()
        elif not loop.is_closed():
            loop.call_soon_threadsafe(woken.set)

    operation.wake(wake)
    while not operation.is_ready():
        await woken.wait()
        woken.clear()


def is_on_a_loop() -> bool:
    """Is an event loop running in this thread?"""
    return asyncio._get_running_loop() is not None


class Landing(Coroutine[Any, Any, Any]):
    """The coroutine of an operation that has arrived. Cancelled or closed before it was ever started, it ends the
    operation all the same: an ordinary coroutine's `finally` would not run then."""

    __slots__ = ("_begin", "_coroutine", "_operation")

    def __init__(self, operation: Operation, begin: Callable[[], Coroutine[Any, Any, Any]]) -> None:
        self._operation = operation
        self._begin = begin
        self._coroutine: Coroutine[Any, Any, Any] | None = None

    def _started(self) -> Coroutine[Any, Any, Any]:
        if self._coroutine is None:
            try:
                self._coroutine = self._begin()
            except BaseException:
                self._operation.finish()
                raise
        return self._coroutine

    def send(self, value: Any) -> Any:
        try:
            return self._started().send(value)
        except BaseException:  # it has ended, one way or another
            self._operation.finish()
            raise

    def throw(self, kind: Any, value: Any = None, traceback: Any = None) -> Any:
        error = kind if value is None else value
        if self._coroutine is None:
            self._operation.finish()
            raise error
        try:
            return self._coroutine.throw(error)
        except BaseException:
            self._operation.finish()
            raise

    def close(self) -> None:
        if self._coroutine is not None:
            self._coroutine.close()
        self._operation.finish()

    def __await__(self) -> Generator[Any, Any, Any]:
        try:
            return (yield from self._started().__await__())
        finally:
            self._operation.finish()
