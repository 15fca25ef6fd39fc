"""Worlds: a store with whatever savers a test needs over it, so that one text runs sync and async on each backend.

    async def test_something(world):
        thread = await world.thread(build)           # a graph over RemitSaver, on a connection of its own
        stock = await world.thread(build, stock=True)  # the same thread, by LangGraph's own saver

`pytest.mark.parametrize("world", [...], indirect=True)` chooses the backends: see WORLDS.

REMIT_TEST_STOCK=1 puts LangGraph's own savers under every thread: tests of what stock does wrong must then fail, and
guards must pass.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from graphs import POINTS, STOCK, Build, Thread
from ledger import Ledger
from stores import AsyncStore, Store

WORLDS = ("memory", "sqlite", "postgres", "amemory", "asqlite", "apg")


class World:
    """A store, and threads of graphs on it."""

    def __init__(self, store: Store | AsyncStore, is_async: bool) -> None:
        self.store = store
        self.is_async = is_async
        self.place = (store.backend, store.place)

    async def saver(self, stock: bool = False, **options: Any) -> Any:
        """A saver over a new connection, as another process would make it."""
        stock = stock or STOCK
        if isinstance(self.store, AsyncStore):
            return await (self.store.inner() if stock else self.store.wrapped(**options))
        return self.store.inner() if stock else self.store.wrapped(**options)

    async def thread(self, build: Build, stock: bool = False, id: str = "thread", **options: Any) -> Thread:
        """A thread of the graph, over a saver of its own."""
        return Thread(build(await self.saver(stock)), self.is_async, id, **options)


@pytest.fixture(params=WORLDS)
async def world(request: pytest.FixtureRequest, new_place: Callable[[str], str]) -> AsyncIterator[World]:
    """An empty world, on each backend, sync and async."""
    name: str = request.param
    if name in ("asqlite", "apg", "amemory"):
        backend = "memory" if name == "amemory" else name
        async with AsyncStore(backend, new_place(backend)) as astore:
            yield World(astore, True)
    else:
        with Store(name, new_place(name)) as store:
            yield World(store, False)


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    """An empty ledger of effects."""
    return Ledger(tmp_path / "ledger.db")


@pytest.fixture(autouse=True)
def _points() -> Iterator[None]:
    """Failures that a test announced and that did not happen are not the next test's."""
    POINTS.clear()
    yield
    POINTS.clear()
