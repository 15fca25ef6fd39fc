"""Two drivers for one protocol text.

A protocol is a generator of steps; a step names what is to be done, the driver does it, blocking or awaiting, and
sends the result back in, or throws what was raised.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from contextlib import aclosing, closing
from queue import SimpleQueue
from threading import get_ident
from typing import Any, NamedTuple, TypeVar

from ._core import Operation

T = TypeVar("T")


class Ask(NamedTuple):
    """Call a method of the inner saver: `name`, or `aname`."""

    name: str
    args: tuple[Any, ...]


class Collect(NamedTuple):
    """The first checkpoint that the inner saver lists and `wanted` accepts, or None."""

    config: Any
    kwargs: dict[str, Any]
    wanted: Callable[[Any], bool]


class Query(NamedTuple):
    """Run one statement of a claim store: rows, as tuples."""

    store: Any
    statement: str
    parameters: tuple[Any, ...]


class Await(NamedTuple):
    """Wait until an operation may land."""

    operation: Operation


Step = Ask | Collect | Query | Await
Steps = Generator[Step, Any, T]


def drive(inner: Any, steps: Steps[T]) -> T:
    """Drives a protocol, blocking."""
    try:
        step = next(steps)
        while True:
            try:
                result = _do(inner, step)
            except BaseException as e:
                step = steps.throw(e)
            else:
                step = steps.send(result)
    except StopIteration as e:
        value: T = e.value
        return value


async def adrive(inner: Any, steps: Steps[T]) -> T:
    """Drives a protocol, awaiting."""
    try:
        step = next(steps)
        while True:
            try:
                result = await _ado(inner, step)
            except BaseException as e:
                step = steps.throw(e)
            else:
                step = steps.send(result)
    except StopIteration as e:
        value: T = e.value
        return value


def _do(inner: Any, step: Step) -> Any:
    if type(step) is Ask:
        return getattr(inner, step.name)(*step.args)
    if type(step) is Await:
        woken: SimpleQueue[None] = SimpleQueue()
        step.operation.wake(lambda: woken.put(None))
        while not step.operation.is_ready():
            woken.get()
        return None
    if type(step) is Collect:
        with closing(inner.list(step.config, **step.kwargs)) as items:
            return next((item for item in items if step.wanted(item)), None)
    assert type(step) is Query
    return step.store.execute(step.statement, step.parameters)


async def _ado(inner: Any, step: Step) -> Any:
    if type(step) is Ask:
        return await getattr(inner, "a" + step.name)(*step.args)
    if type(step) is Await:
        loop, thread = asyncio.get_running_loop(), get_ident()
        woken = asyncio.Event()

        def wake() -> None:
            if get_ident() == thread:
                woken.set()
            elif not loop.is_closed():
                loop.call_soon_threadsafe(woken.set)

        step.operation.wake(wake)
        while not step.operation.is_ready():
            await woken.wait()
            woken.clear()
        return None
    if type(step) is Collect:
        async with aclosing(inner.alist(step.config, **step.kwargs)) as items:
            async for item in items:
                if step.wanted(item):
                    return item
        return None
    assert type(step) is Query
    return await step.store.aexecute(step.statement, step.parameters)
