"""Bad input gets a typed, clear error, and changes nothing (DESIGN 14)."""

from __future__ import annotations

import operator
import sqlite3
from contextlib import closing
from typing import Annotated, Any, TypedDict

import psycopg
import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt
from psycopg.conninfo import make_conninfo
from psycopg.rows import dict_row
from psycopg_pool import ConnectionPool, PoolClosed
from raw import rows
from remit import RemitConfig, RemitError, RemitSaver
from stores import POSTGRES_CONNECTION

CONFIG: Any = {"configurable": {"thread_id": "t"}}


class State(TypedDict, total=False):
    log: Annotated[list[Any], operator.add]


def asking(saver: Any) -> Any:
    builder = StateGraph(State)
    builder.add_node("gate", lambda _: {"log": [interrupt("?")]})
    builder.add_edge(START, "gate")
    return builder.compile(checkpointer=saver)


def parked_and_answered(saver: Any) -> Any:
    """A thread that was answered; the address of its question."""
    graph = asking(saver)
    graph.invoke({"log": []}, CONFIG)
    address = graph.get_state(CONFIG).config
    graph.invoke(Command(resume="yes"), CONFIG)
    return address


# -- what is wrapped, and how ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "name"), [(None, "NoneType"), (5, "int"), (InMemorySaver, "class InMemorySaver"), ("store.db", "str")]
)
def test_what_is_no_saver(given: Any, name: str) -> None:
    with pytest.raises(RemitError) as error:
        RemitSaver(given)
    assert error.value.code == "not-a-saver"
    assert name in str(error.value) and "hint: pass an instance" in str(error.value)


def test_nothing_to_wrap() -> None:
    with pytest.raises(RemitError) as error:
        RemitSaver()  # type: ignore[call-arg]
    assert error.value.code == "not-a-saver"


def test_wrapped_twice() -> None:
    with pytest.raises(RemitError) as error:
        RemitSaver(RemitSaver(InMemorySaver()))
    assert error.value.code == "already-wrapped"


OPTIONS: list[dict[str, Any]] = [
    {"validatr": dict},
    {"on_stray": "shout"},
    {"on_stray": None},
    {"require_named_answers": "perhaps"},
    {"fork_on_explicit_checkpoint": None},
    {"validator": 5},
    {"validator": "State"},
    {"validator": {"": 5}},
    {"validator": {5: State}},
    {"config": {"on_stray": "warn"}},
    {"config": RemitConfig(), "on_stray": "shout"},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_wrong_options(options: Any) -> None:
    with pytest.raises(RemitError) as error:
        RemitSaver(InMemorySaver(), **options)
    assert error.value.code == "bad-option"
    wrong = next(reversed(options))
    assert wrong in str(error.value) and "hint: " in str(error.value)


def test_right_options() -> None:
    """The twin."""
    config = RemitConfig(on_stray="raise", validator=State)
    saver = RemitSaver(InMemorySaver(), config=config, on_stray="ignore")
    assert (saver.config.on_stray, saver.config.validator) == ("ignore", State)
    assert config.on_stray == "raise"


@pytest.mark.parametrize("wanted", ["", 5, [], b"x", 0.5, "a\0b"], ids=repr)
def test_wrong_fork(saver_factory: Any, wanted: Any) -> None:
    graph = asking(saver_factory.wrapped())
    graph.invoke({"log": []}, CONFIG)
    before = rows(saver_factory)
    with pytest.raises(RemitError) as error:
        graph.invoke(Command(resume="yes"), {"configurable": {"thread_id": "t", "remit_fork": wanted}})
    assert error.value.code == "bad-fork"
    assert rows(saver_factory) == before
    assert graph.invoke(Command(resume="yes"), CONFIG)["log"] == ["yes"]


# -- databases ---------------------------------------------------------------------------------------------------------------


def read_only(place: str) -> Any:
    file = sqlite3.connect(f"file:{place}?mode=ro", uri=True, check_same_thread=False)
    inner = SqliteSaver(file)
    inner.is_setup = True  # as its tables are there; its own setup() would write
    return closing(file), RemitSaver(inner)


@pytest.mark.parametrize("tables", [False, True], ids=["without-tables", "with-tables"])
@pytest.mark.parametrize("saver_factory", ["sqlite"], indirect=True)
def test_read_only_sqlite(saver_factory: Any, tables: bool) -> None:
    """One can look; a fork says what it lacks, and with the SQL where the tables are missing."""
    address = parked_and_answered(saver_factory.wrapped() if tables else saver_factory.inner())
    before = rows(saver_factory)
    file, saver = read_only(saver_factory.place)
    with file:
        graph = asking(saver)
        assert graph.get_state(CONFIG).values["log"] == ["yes"]
        assert len(list(graph.get_state_history(CONFIG))) == 3
        with pytest.raises(RemitError if not tables else (RemitError, sqlite3.OperationalError)) as error:
            graph.invoke(Command(resume="no"), address)
        assert "readonly" in str(error.value)
        if tables:
            assert "could not create" not in str(error.value), "the tables are there"
        else:
            assert error.value.code == "tables-denied"
            assert "CREATE TABLE IF NOT EXISTS remit_forks" in str(error.value)
    assert rows(saver_factory) == before


@pytest.mark.parametrize("saver_factory", ["sqlite", "postgres"], indirect=True)
def test_tables_of_a_newer_release(saver_factory: Any) -> None:
    address = parked_and_answered(saver_factory.wrapped())
    newer = "UPDATE remit_schema SET version = 99"
    if saver_factory.backend == "sqlite":
        with closing(sqlite3.connect(saver_factory.place)) as file, file:
            file.execute(newer)
    else:
        with psycopg.connect(saver_factory.place, autocommit=True) as server:
            server.execute(newer)
    before = rows(saver_factory)
    graph = asking(RemitSaver(saver_factory.inner()))
    for attempt in (
        lambda: RemitSaver(saver_factory.inner()).setup(),
        lambda: graph.invoke(Command(resume=1), address),
    ):
        with pytest.raises(RemitError) as error:
            attempt()
        assert error.value.code == "tables-newer"
        assert "99" in str(error.value) and "upgrade" in str(error.value)
    assert rows(saver_factory) == before


@pytest.fixture
def restricted(new_database: Any) -> Any:
    """A database with the stock saver's tables, and the address of a role that may not create any."""
    place = new_database()
    role = f"role_{place.rpartition('remit_')[2][:12]}"
    with psycopg.connect(place, **POSTGRES_CONNECTION) as owner:
        PostgresSaver(owner).setup()
        owner.execute(f"CREATE ROLE {role} LOGIN")
        grant = f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {role}"
        owner.execute(grant)
        owner.execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
        yield owner, grant, make_conninfo(place, user=role)
        owner.execute(f"DROP OWNED BY {role}")
        owner.execute(f"DROP ROLE {role}")


def test_postgres_role_that_may_not_create_tables(restricted: Any) -> None:
    """The error's own SQL, run by an administrator, is what is needed."""
    owner, grant, place = restricted
    with psycopg.connect(place, **POSTGRES_CONNECTION) as connection:
        saver = RemitSaver(PostgresSaver(connection))
        address = parked_and_answered(saver)  # needs no table of ours
        graph = asking(saver)
        with pytest.raises(RemitError) as error:
            graph.invoke(Command(resume="no"), address)
        assert error.value.code == "tables-denied"
        assert graph.get_state(CONFIG).values["log"] == ["yes"]
        saver.delete_thread("other")

        owner.execute(error.value.sql)
        owner.execute(grant)
        assert graph.invoke(Command(resume="no"), address)["log"] == ["no"]


def test_postgres_role_with_tables_made_for_it(restricted: Any) -> None:
    owner, grant, place = restricted
    RemitSaver(PostgresSaver(owner)).setup()
    owner.execute(grant)
    with psycopg.connect(place, **POSTGRES_CONNECTION) as connection:
        saver = RemitSaver(PostgresSaver(connection))
        address = parked_and_answered(saver)
        assert asking(saver).invoke(Command(resume="no"), address)["log"] == ["no"]


@pytest.mark.parametrize("saver_factory", ["postgres"], indirect=True)
def test_connection_in_a_transaction(saver_factory: Any) -> None:
    """What is stored through it is gone if it is rolled back: such a connection is refused (DESIGN 14)."""
    saver_factory.wrapped()
    with psycopg.connect(saver_factory.place, row_factory=dict_row) as connection:
        with pytest.raises(RemitError) as error:
            graph = asking(RemitSaver(PostgresSaver(connection)))
            graph.invoke({"log": []}, CONFIG)
        assert "autocommit" in str(error.value)
    assert rows(saver_factory) == []


@pytest.mark.parametrize("saver_factory", ["sqlite"], indirect=True)
def test_closed_sqlite(saver_factory: Any) -> None:
    saver = saver_factory.wrapped()
    graph = asking(saver)
    graph.invoke({"log": []}, CONFIG)
    saver.inner.conn.close()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        graph.invoke(Command(resume="yes"), CONFIG)
    assert asking(saver_factory.reopen()).invoke(Command(resume="yes"), CONFIG)["log"] == ["yes"]


def test_closed_pool(new_database: Any) -> None:
    place = new_database()
    with ConnectionPool(place, kwargs=POSTGRES_CONNECTION, min_size=1, max_size=1, open=True) as pool:
        saver = RemitSaver(PostgresSaver(pool))
        saver.setup()
        graph = asking(saver)
        graph.invoke({"log": []}, CONFIG)
    with pytest.raises(PoolClosed):
        graph.invoke(Command(resume="yes"), CONFIG)
    with psycopg.connect(place, **POSTGRES_CONNECTION) as connection:
        assert asking(RemitSaver(PostgresSaver(connection))).invoke(Command(resume="yes"), CONFIG)["log"] == ["yes"]


def test_unserializable_answer(saver_factory: Any) -> None:
    """Guard: the serializer's own error; the question stays open."""
    graph = asking(saver_factory.wrapped())
    graph.invoke({"log": []}, CONFIG)
    with pytest.raises(TypeError, match="serializable"):
        graph.invoke(Command(resume=object()), CONFIG, durability="sync")
    assert len(graph.get_state(CONFIG).interrupts) == 1
    assert graph.invoke(Command(resume="yes"), CONFIG)["log"] == ["yes"]


class Unresolved(TypedDict):
    item: NoSuchName  # type: ignore[name-defined]  # noqa: F821


def test_validator_that_cannot_be_built() -> None:
    with pytest.raises(RemitError) as error:
        RemitSaver(InMemorySaver(), validator=Unresolved)
    assert error.value.code == "bad-option"
    assert "NoSuchName" in str(error.value)
