"""Fixtures for every test below. Write a test once and it runs on every backend:

    def test_sync(saver_factory):                    # memory, sqlite, postgres
        saver = saver_factory.wrapped(on_stray="raise")
        graph = builder.compile(checkpointer=saver)
        ...
        again = saver_factory.reopen()               # a second connection to the same store
        stock = saver_factory.inner()                # a stock saver on the same store

    async def test_async(asaver_factory):            # memory, asqlite, apg
        saver = await asaver_factory.wrapped()

Each test has an empty store of its own, and all its connections are closed for it. `saver_factory.backend` is the
backend's name and `saver_factory.place` the file or the libpq string. A test that must choose a backend itself:

    @pytest.mark.parametrize("saver_factory", ["sqlite", "postgres"], indirect=True)

Also here: `new_database()` makes one more empty PostgreSQL database, `new_place(backend)` an empty place for a store
of stores.py, `postgres_url` is the server. One private server is started per test process (per xdist worker), when a
test first asks for it. REMIT_TEST_PG=postgresql://... names a server to use instead.
"""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from hypothesis import settings
from private_postgres import private_postgres
from psycopg import sql
from psycopg.conninfo import make_conninfo
from stores import ASYNC_BACKENDS, SYNC_BACKENDS, AsyncStore, Store

pytest.register_assert_rewrite("claim_stores")

# No deadline, because a busy machine is not a failure; the blob replays a failure that was found at random.
settings.register_profile("remit", deadline=None, print_blob=True)
settings.load_profile("remit")


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """A PostgreSQL server where databases may be created."""
    with private_postgres() as url:
        yield url


@pytest.fixture
def new_database(request: pytest.FixtureRequest) -> Iterator[Callable[[], str]]:
    """Makes empty databases; they are dropped when the test ends, with the connections that it left open."""
    made: list[str] = []

    def run(command: str, name: str) -> None:
        with psycopg.connect(request.getfixturevalue("postgres_url"), autocommit=True) as connection:
            connection.execute(sql.SQL(command).format(sql.Identifier(name)))

    def make() -> str:
        name = f"remit_{uuid.uuid4().hex}"
        run("CREATE DATABASE {}", name)
        made.append(name)
        return make_conninfo(request.getfixturevalue("postgres_url"), dbname=name)

    yield make
    for name in made:
        run("DROP DATABASE {} WITH (FORCE)", name)


@pytest.fixture
def new_place(tmp_path: Path, new_database: Callable[[], str]) -> Callable[[str], str]:
    """An empty place for a store: a file for SQLite, a database for PostgreSQL, nothing for memory."""

    def make(backend: str) -> str:
        if backend in ("sqlite", "asqlite"):
            return str(tmp_path / f"{uuid.uuid4().hex}.db")
        return new_database() if backend in ("postgres", "apg") else ""

    return make


@pytest.fixture(params=SYNC_BACKENDS)
def saver_factory(request: pytest.FixtureRequest, new_place: Callable[[str], str]) -> Iterator[Store]:
    """An empty store for sync savers, on each backend."""
    with Store(request.param, new_place(request.param)) as store:
        yield store


@pytest.fixture(params=ASYNC_BACKENDS)
async def asaver_factory(request: pytest.FixtureRequest, new_place: Callable[[str], str]) -> AsyncIterator[AsyncStore]:
    """An empty store for async savers, on each backend."""
    async with AsyncStore(request.param, new_place(request.param)) as store:
        yield store
