"""Two drivers for one protocol text.

A protocol is a generator of steps; a step names what is to be done, the driver does it, blocking or awaiting, and
sends the result back in, or throws what was raised.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import time
from collections.abc import Callable, Generator
from contextlib import AbstractAsyncContextManager, AbstractContextManager, aclosing, closing, nullcontext, suppress
from threading import Event
from typing import Any, NamedTuple, TypeVar

from ._core import Operation
from .commits import Grouped, Write
from .turns import await_for, wait_for

T = TypeVar("T")

log = logging.getLogger("remit")

_PATIENCE_S, _FIRST_PAUSE_S, _LONGEST_PAUSE_S = 10.0, 0.05, 1.0
_UNDONE = frozenset(("40001", "40P01"))
"""PostgreSQL's states for a transaction that it undid: a conflict, a deadlock."""
_SHUTDOWN = frozenset(("57P01", "57P02", "57P03", "08000", "08003", "08006"))
"""And for a connection that it ended, or could not make."""


class Ask(NamedTuple):
    """Call a method of the inner saver: `name`, or `aname`. `is_last`: it stores the last of its operation, so that what
    waits for that may be stored right behind it, see `commits`."""

    name: str
    args: tuple[Any, ...]
    is_last: bool = False


class Collect(NamedTuple):
    """The first checkpoint that the inner saver lists and `wanted` accepts, or None."""

    config: Any
    kwargs: dict[str, Any]
    wanted: Callable[[Any], bool]


class Call(NamedTuple):
    """Call a method of a store: `name`, or `aname`."""

    target: Any
    name: str
    args: tuple[Any, ...]


class Land(NamedTuple):
    """Run one statement of a store and a method of the inner saver in one transaction, see `commits.Write`."""

    store: Any
    name: str
    args: tuple[Any, ...]
    statement: str
    parameters: tuple[Any, ...]
    plane: tuple[str, str] | None = None


class Pause(NamedTuple):
    """Wait for some seconds."""

    seconds: float


class Keep(NamedTuple):
    """Keep a claim alive while its run lives: `keep`, or `akeep`, of a gate."""

    gate: Any
    claim: Any


class Do(NamedTuple):
    """Call a function of the user. Awaited if it is to be; on an event loop a blocking one runs in a thread."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


class Await(NamedTuple):
    """Wait until an operation may land."""

    operation: Operation


Step = Ask | Collect | Call | Land | Keep | Pause | Do | Await
Steps = Generator[Step, Any, T]


def drive(inner: Any, steps: Steps[T]) -> T:
    """Drives a protocol, blocking."""
    try:
        step = next(steps)
        while True:
            try:
                try:
                    result = _do_once(inner, step)
                except Exception as error:
                    result = do_again(inner, step, error)
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
                try:
                    result = await _ado_once(inner, step)
                except Exception as error:
                    result = await ado_again(inner, step, error)
            except BaseException as e:
                step = steps.throw(e)
            else:
                step = steps.send(result)
    except StopIteration as e:
        value: T = e.value
        return value


def do_again(inner: Any, step: Step, error: Exception) -> Any:
    """Does a step again whose failure passes, for a while.

    Raises:
        Exception: `error`, if it does not pass, or the last one.
    """
    until, pause = time.monotonic() + _PATIENCE_S, _FIRST_PAUSE_S
    while True:
        _give_up(inner, step, error, until)
        time.sleep(pause)
        pause = min(pause * 2, _LONGEST_PAUSE_S)
        try:
            return _do_once(inner, step)
        except Exception as again:
            error = again


async def ado_again(inner: Any, step: Step, error: Exception) -> Any:
    """The same, awaiting."""
    until, pause = time.monotonic() + _PATIENCE_S, _FIRST_PAUSE_S
    while True:
        _give_up(inner, step, error, until)
        await asyncio.sleep(pause)
        pause = min(pause * 2, _LONGEST_PAUSE_S)
        try:
            return await _ado_once(inner, step)
        except Exception as again:
            error = again


def _give_up(inner: Any, step: Step, error: Exception, until: float) -> None:
    """Raises an error that does not pass, or did not in time. Every step can be done again where it left no trace; a
    lost connection may have left one, which a statement that is repeated does not mind, and a transaction would."""
    is_pool = hasattr(getattr(inner, "conn", None), "getconn")
    state = getattr(error, "sqlstate", None)
    is_locked = type(error).__module__ == "sqlite3" and ("locked" in str(error) or "busy" in str(error))
    is_undone = state in _UNDONE
    is_lost = is_pool and type(step) in (Ask, Call) and (state in _SHUTDOWN or _is_lost(error))
    if type(step) is Do or not (is_locked or is_undone or is_lost) or time.monotonic() >= until:
        raise error  # what the user's function did is not known
    log.warning("the database said %s; trying again", str(error).strip() or type(error).__name__)


def _is_lost(error: Exception) -> bool:
    return type(error).__name__ == "OperationalError" and getattr(error, "sqlstate", "") is None


def _do_once(inner: Any, step: Step) -> Any:
    if type(step) is Ask:
        if step.is_last and type(inner) is Grouped:
            return inner.store(Write(inner.inner, step.name, step.args), is_last=True)[1]
        return getattr(inner, step.name)(*step.args)
    if type(step) is Await:
        return wait_for(step.operation)
    if type(step) is Collect:
        with closing_if(inner.list(step.config, **step.kwargs)) as items:
            return next((item for item in items if step.wanted(item)), None)
    if type(step) is Call:
        return getattr(step.target, step.name)(*step.args)
    if type(step) is Land:
        if type(inner) is Grouped:
            return inner.store(Write(inner.inner, *step[1:]))
        return step.store.commit([Write(inner, *step[1:])])[0]
    if type(step) is Keep:
        return step.gate.keep(step.claim, inner)
    if type(step) is Do:
        return step.function(*step.args, **step.kwargs)
    assert type(step) is Pause
    return time.sleep(step.seconds)


async def _ado_once(inner: Any, step: Step) -> Any:
    if type(step) is Ask:
        return await getattr(inner, "a" + step.name)(*step.args)
    if type(step) is Await:
        return await await_for(step.operation)
    if type(step) is Collect:
        async with aclosing_if(inner.alist(step.config, **step.kwargs)) as items:
            async for item in items:
                if step.wanted(item):
                    return item
        return None
    if type(step) is Call:
        return await getattr(step.target, "a" + step.name)(*step.args)
    if type(step) is Land:
        return (await step.store.acommit([Write(inner, *step[1:])]))[0]
    if type(step) is Keep:
        return step.gate.akeep(step.claim, inner)
    if type(step) is Do:
        if is_async(step.function):
            return await step.function(*step.args, **step.kwargs)
        result = await asyncio.to_thread(step.function, *step.args, **step.kwargs)
        return await result if inspect.isawaitable(result) else result
    assert type(step) is Pause
    return await asyncio.sleep(step.seconds)


class Expected:
    """Something that others will tell of, once."""

    def __init__(self) -> None:
        self._told = Event()
        self._wake: Callable[[], object] | None = None

    def tell(self) -> None:
        """It has come about. From any thread."""
        self._told.set()
        if self._wake is not None:
            self._wake()

    def come(self, seconds: float) -> None:
        """Waits for it, this long at most."""
        self._told.wait(seconds)

    async def acome(self, seconds: float) -> None:
        loop, woken = asyncio.get_running_loop(), asyncio.Event()

        def wake() -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(woken.set)

        self._wake = wake
        if not self._told.is_set():  # else it was told before there was somebody to wake
            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(woken.wait(), seconds)


def is_async(function: Any) -> bool:
    """Is it a coroutine function, or an object that is called like one?"""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004


def closing_if(items: Any) -> AbstractContextManager[Any]:
    """Closes an iterator at the end, if it can be closed: a generator that is left early may hold a lock."""
    return closing(items) if hasattr(items, "close") else nullcontext(items)


def aclosing_if(items: Any) -> AbstractAsyncContextManager[Any]:
    """The same for an asynchronous iterator."""
    return aclosing(items) if hasattr(items, "aclose") else nullcontext(items)
