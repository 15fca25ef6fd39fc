"""A process of its own for one call, killed with SIGKILL at a named point of a node.

The processes are forked from a server that has imported what they need, and nothing of the test's: no connection and
no thread is shared with the test.
"""

from __future__ import annotations

import asyncio
import functools
import multiprocessing
import signal
from collections.abc import Callable
from typing import Any

from graphs import POINTS, Build, Thread
from remit import RemitSaver
from stores import ASYNC_BACKENDS, AsyncStore, Store

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(
    [
        "langgraph.func",
        "langgraph.graph",
        "langgraph.checkpoint.sqlite.aio",
        "langgraph.checkpoint.postgres.aio",
        "remit",
    ]
)
DEADLINE_S = 90


def _tells_when_landed(saver: Any, name: str) -> None:
    """Makes the stock saver say when an answer is in the database."""
    original = getattr(saver, name)

    def is_answer(writes: Any) -> bool:
        return any(channel == "__resume__" for channel, _ in writes)

    if name == "aput_writes":

        @functools.wraps(original)
        async def put(config: Any, writes: Any, *args: Any, **kwargs: Any) -> None:
            await original(config, writes, *args, **kwargs)
            if is_answer(writes):
                POINTS.landed.set()
    else:

        @functools.wraps(original)
        def put(config: Any, writes: Any, *args: Any, **kwargs: Any) -> None:
            original(config, writes, *args, **kwargs)
            if is_answer(writes):
                POINTS.landed.set()

    setattr(saver, name, put)


async def _call(
    backend: str, place: str, stock: bool, build: Callable[..., Build], args: Any, input: Any, at: Any, options: Any
) -> Any:
    if at is not None:
        POINTS.kill_at(*at)
    if backend in ASYNC_BACKENDS:
        async with AsyncStore(backend, place) as store:
            inner = await store.inner()
            _tells_when_landed(inner, "aput_writes")
            return await Thread(build(*args)(inner if stock else RemitSaver(inner)), True, **options).call(input)
    with Store(backend, place) as store:
        inner = store.inner()
        _tells_when_landed(inner, "put_writes")
        return await Thread(build(*args)(inner if stock else RemitSaver(inner)), False, **options).call(input)


def _main(result: Any, *call: Any) -> None:
    result.send(asyncio.run(_call(*call)))


def in_process(main: Callable[..., None], *call: Any) -> tuple[int | None, Any]:
    """Runs `main(pipe, *call)` in a process of its own: its exit code, and what it sent."""
    here, there = CONTEXT.Pipe(duplex=False)
    process = CONTEXT.Process(target=main, args=(there, *call))
    process.start()
    there.close()
    process.join(DEADLINE_S)
    if process.exitcode is None:
        process.kill()
        process.join()
        raise AssertionError("the process neither ended nor was killed in time")
    with here:
        said = here.recv() if process.exitcode == 0 else None
    code = process.exitcode
    process.close()
    return code, said


def run_killed(
    place: tuple[str, str],
    build: Callable[..., Build],
    args: tuple[Any, ...],
    input: Any,
    at: str,
    *,
    stock: bool = False,
    when_landed: bool = True,
    **options: Any,
) -> None:
    """Runs one call in a process that is killed at the point `at`. `build(*args)` makes the graph's builder there.
    `when_landed`: the kill waits until an answer is durable, so that it is decided what the database holds."""
    code, said = in_process(_main, *place, stock, build, args, input, (at, when_landed), options)
    assert code == -signal.SIGKILL, f"the process was not killed at {at!r}: {code}, {said}"


def run_elsewhere(
    place: tuple[str, str],
    build: Callable[..., Build],
    args: tuple[Any, ...],
    input: Any,
    *,
    stock: bool = False,
    **options: Any,
) -> Any:
    """Runs one call in another process, and returns its outcome."""
    code, said = in_process(_main, *place, stock, build, args, input, None, options)
    assert code == 0, f"the process ended with {code}"
    return said
