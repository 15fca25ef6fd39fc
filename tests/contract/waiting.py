"""What must end is run in a thread that may be left behind: a deadlock is then a failure, not a test run that hangs."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Any

DEADLINE_S = 15


def ends(work: Callable[[], Any]) -> Any:
    """The outcome of a piece of work, run in a thread of its own. It must end."""
    outcome: list[Any] = []

    def run() -> None:
        try:
            outcome.append((work(), None))
        except BaseException as e:
            outcome.append((None, e))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(DEADLINE_S)
    assert outcome, "deadlock: it did not end"
    result, error = outcome[0]
    if error is not None:
        raise error
    return result


def aends(work: Callable[[], Awaitable[Any]]) -> Any:
    """The same for a coroutine function, on an event loop of its own."""

    async def main() -> Any:
        return await work()

    return ends(lambda: asyncio.run(main()))
