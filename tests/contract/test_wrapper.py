"""The wrapper is its inner saver but for the promises: same capabilities, serializer, versions, errors, events, history.

Most of these are guards: what the stock saver gives, the wrapped one gives.
"""

from __future__ import annotations

import asyncio
import operator
import re
import uuid
import warnings
from typing import Annotated, Any, TypedDict

import psycopg
import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver, empty_checkpoint
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, Send, interrupt
from psycopg_pool import AsyncConnectionPool, ConnectionPool
from pydantic import BaseModel
from raw import rows
from remit import RemitSaver
from stores import POSTGRES_CONNECTION

CONFIG: Any = {"configurable": {"thread_id": "t"}}
METHODS = [
    *("get_tuple", "list", "put", "put_writes", "delete_thread", "copy_thread", "prune", "delete_for_runs"),
    *("aget_tuple", "alist", "aput", "aput_writes", "adelete_thread", "acopy_thread", "aprune", "adelete_for_runs"),
    *("get_delta_channel_history", "aget_delta_channel_history"),
]


class State(TypedDict, total=False):
    log: Annotated[list[Any], operator.add]
    k: int


class SyncOnly(BaseCheckpointSaver[Any]):
    """A third party's saver: sync only, and written before `task_path`."""

    def __init__(self) -> None:
        super().__init__()
        self.under = InMemorySaver()

    def get_tuple(self, config: Any) -> Any:
        return self.under.get_tuple(config)

    def list(self, config: Any, *, filter: Any = None, before: Any = None, limit: Any = None) -> Any:
        yield from self.under.list(config, filter=filter, before=before, limit=limit)

    def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        return self.under.put(config, checkpoint, metadata, new_versions)

    def put_writes(self, config: Any, writes: Any, task_id: str) -> None:
        self.under.put_writes(config, writes, task_id)

    def get_next_version(self, current: Any, channel: Any) -> Any:
        return self.under.get_next_version(current, channel)


class AsyncOnly(BaseCheckpointSaver[Any]):
    """The same, async only."""

    def __init__(self) -> None:
        super().__init__()
        self.under = InMemorySaver()

    async def aget_tuple(self, config: Any) -> Any:
        return self.under.get_tuple(config)

    async def alist(self, config: Any, *, filter: Any = None, before: Any = None, limit: Any = None) -> Any:
        for found in self.under.list(config, filter=filter, before=before, limit=limit):
            yield found

    async def aput(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        return self.under.put(config, checkpoint, metadata, new_versions)

    async def aput_writes(self, config: Any, writes: Any, task_id: str) -> None:
        self.under.put_writes(config, writes, task_id)

    def get_next_version(self, current: Any, channel: Any) -> Any:
        return self.under.get_next_version(current, channel)


class Copying(InMemorySaver):
    """A saver that can do more than LangGraph's own in memory."""

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        self.copied = (source_thread_id, target_thread_id)

    async def aprune(self, thread_ids: Any, *, strategy: str = "keep_latest") -> None:
        self.pruned = (thread_ids, strategy)


def gate(_: Any) -> Any:
    return {"log": [interrupt("?")]}


def asking(saver: Any) -> Any:
    return StateGraph(State).add_node("gate", gate).add_edge(START, "gate").compile(checkpointer=saver)


def said(graph: Any, config: Any = CONFIG) -> list[Any]:
    """A question, an answer, and another answer to the same question at its address."""
    graph.invoke({"log": []}, config)
    address = graph.get_state(config).config
    answers = [graph.invoke(Command(resume="yes"), config), graph.invoke(Command(resume="no"), address)]
    return [answer["log"] for answer in answers]


async def asaid(graph: Any, config: Any = CONFIG) -> list[Any]:
    await graph.ainvoke({"log": []}, config)
    address = (await graph.aget_state(config)).config
    answers = [await graph.ainvoke(Command(resume="yes"), config), await graph.ainvoke(Command(resume="no"), address)]
    return [answer["log"] for answer in answers]


BOTH = [["yes"], ["no"]]


# -- capabilities -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "inner",
    [InMemorySaver, SqliteSaver, AsyncSqliteSaver, PostgresSaver, AsyncPostgresSaver, SyncOnly, AsyncOnly, Copying],
)
def test_overrides_what_the_inner_saver_overrides(inner: Any, request: Any) -> None:
    """As LangGraph finds capabilities out."""

    def overridden(saver: type) -> set[str]:
        return {m for m in METHODS if getattr(saver, m, None) is not getattr(BaseCheckpointSaver, m, None)}

    saver = RemitSaver(object.__new__(inner)) if inner not in (SyncOnly, AsyncOnly, Copying) else RemitSaver(inner())
    assert overridden(type(saver)) == overridden(inner)
    assert isinstance(saver, RemitSaver) and isinstance(saver, BaseCheckpointSaver)


async def test_further_capabilities_are_passed_on() -> None:
    inner = Copying()
    saver: Any = RemitSaver(inner)
    saver.copy_thread("a", "b")
    await saver.aprune(["a"], strategy="delete")
    assert (inner.copied, inner.pruned) == (("a", "b"), (["a"], "delete"))


def test_sync_only_saver() -> None:
    assert said(asking(RemitSaver(SyncOnly()))) == BOTH


async def test_sync_only_saver_says_so_when_awaited() -> None:
    with pytest.raises(NotImplementedError):
        await asking(RemitSaver(SyncOnly())).ainvoke({"log": []}, CONFIG)


async def test_async_only_saver() -> None:
    run = asyncio.ensure_future(asaid(asking(RemitSaver(AsyncOnly()))))
    done, _ = await asyncio.wait([run], timeout=10)
    if not done:  # a deadlock cannot be cancelled, either
        run.cancel()
        pytest.fail("deadlock")
    assert await run == BOTH


def test_version_scheme_is_the_inner_savers() -> None:
    class Versions(InMemorySaver):
        def get_next_version(self, current: Any, channel: Any) -> Any:
            return (current or 0) + 7

    inner = Versions()
    assert RemitSaver(inner).get_next_version(3, None) == 10
    assert said(asking(RemitSaver(inner))) == BOTH


def test_attributes_are_the_inner_savers() -> None:
    inner = InMemorySaver()
    saver: Any = RemitSaver(inner)
    assert saver.storage is inner.storage
    assert saver.serde is inner.serde
    assert saver.config_specs == inner.config_specs
    with pytest.raises(AttributeError):
        _ = saver.nothing_of_that_name


def test_context_manager_gives_the_wrapper() -> None:
    with RemitSaver(InMemorySaver()) as saver:
        assert isinstance(saver, RemitSaver)
        assert said(asking(saver)) == BOTH


# -- serializers --------------------------------------------------------------------------------------------------------


class Secret(BaseModel):
    word: str


class _Cipher:
    """Not a cipher: it only makes sure that plain text is nowhere."""

    def encrypt(self, plaintext: bytes) -> tuple[str, bytes]:
        return "mask", bytes(b ^ 0x5A for b in plaintext)

    def decrypt(self, ciphername: str, ciphertext: bytes) -> bytes:
        return bytes(b ^ 0x5A for b in ciphertext)


def test_encrypted_answers_are_stored_encrypted(saver_factory: Any) -> None:
    inner = saver_factory.inner(serde=EncryptedSerializer(_Cipher()))
    graph = asking(RemitSaver(inner))
    graph.invoke({"log": []}, CONFIG)
    address = graph.get_state(CONFIG).config
    assert graph.invoke(Command(resume="plain-answer"), CONFIG)["log"] == ["plain-answer"]
    assert graph.invoke(Command(resume="plain-other"), address)["log"] == ["plain-other"]
    assert not any("plain-" in row for row in rows(saver_factory))


def test_allowlist_reaches_the_inner_saver() -> None:
    inner = InMemorySaver(serde=JsonPlusSerializer(allowed_msgpack_modules=None))
    saver = RemitSaver(inner)
    clone: Any = saver.with_allowlist([(Secret.__module__, "Secret")])
    assert isinstance(clone, RemitSaver) and type(clone) is type(saver)
    back = clone.serde.loads_typed(saver.serde.dumps_typed(Secret(word="w")))
    assert back == Secret(word="w")
    first, second = empty_checkpoint(), empty_checkpoint()
    clone.put({"configurable": {"thread_id": "t", "checkpoint_ns": ""}}, first, {}, {})
    assert saver.get_tuple(CONFIG) is not None, "a clone is a view of the same store"
    assert second["id"] != first["id"]


# -- connections --------------------------------------------------------------------------------------------------------


def test_postgres_pool(new_database: Any) -> None:
    with ConnectionPool(new_database(), kwargs=POSTGRES_CONNECTION, min_size=1, max_size=2, open=True) as pool:
        saver = RemitSaver(PostgresSaver(pool))
        saver.setup()
        assert said(asking(saver)) == BOTH


async def test_async_postgres_pool(new_database: Any) -> None:
    kwargs = POSTGRES_CONNECTION
    async with AsyncConnectionPool(new_database(), kwargs=kwargs, min_size=1, max_size=2, open=False) as pool:
        saver = RemitSaver(AsyncPostgresSaver(pool))
        await saver.setup()
        assert await asaid(asking(saver)) == BOTH


def test_postgres_pipeline(new_database: Any) -> None:
    place = new_database()
    with PostgresSaver.from_conn_string(place) as inner:
        inner.setup()  # the stock saver's own cannot be done in a pipeline
    with PostgresSaver.from_conn_string(place, pipeline=True) as inner:
        assert said(asking(RemitSaver(inner))) == BOTH


async def test_async_postgres_pipeline(new_database: Any) -> None:
    place = new_database()
    async with AsyncPostgresSaver.from_conn_string(place) as inner:
        await inner.setup()
    async with AsyncPostgresSaver.from_conn_string(place, pipeline=True) as inner:
        assert await asaid(asking(RemitSaver(inner))) == BOTH


def test_postgres_with_plain_rows(new_database: Any) -> None:
    """The inner saver asks for the rows it needs; so does ours."""
    with psycopg.connect(new_database(), autocommit=True, prepare_threshold=0) as connection:
        saver = RemitSaver(PostgresSaver(connection))
        saver.setup()
        assert said(asking(saver)) == BOTH


async def test_sync_calls_of_async_savers_from_another_thread(new_place: Any, tmp_path: Any) -> None:
    """As LangGraph's async savers allow."""
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "store.db")) as inner:
        graph = asking(RemitSaver(inner))
        assert await asyncio.to_thread(said, graph) == BOTH
        await asyncio.to_thread(graph.checkpointer.delete_thread, "t")
        assert (await graph.aget_state(CONFIG)).values == {}
        with pytest.raises(asyncio.InvalidStateError):
            graph.get_state(CONFIG)


# -- ids and errors -------------------------------------------------------------------------------------------------------

IDS = {
    "quotes": "a'b\"c;--%s",
    "long": "x" * 10_000,
    "unicode": "ü💥\u202e",
    "separators": "a|fb|a1",
    "nul": "a\0b",
    "int": 7,
    "uuid": uuid.UUID(int=7),
}


@pytest.mark.parametrize("id", list(IDS))
def test_odd_thread_ids(saver_factory: Any, id: str) -> None:
    """Whatever id the stock saver takes, the wrapped one takes; else its error is the stock saver's."""
    config: Any = {"configurable": {"thread_id": IDS[id]}}

    def outcome(saver: Any, want: Any) -> Any:
        try:
            return said(asking(saver), config) == want
        except Exception as e:
            return type(e)

    stock = outcome(saver_factory.inner(), [["yes"], ["yes"]])
    saver_factory.inner().delete_thread(str(IDS[id])) if stock is True else None
    assert outcome(saver_factory.wrapped(), BOTH) == stock


@pytest.mark.parametrize("method", ["get_tuple", "put", "put_writes", "list", "delete_thread"])
@pytest.mark.parametrize(
    "error", [RuntimeError("inner"), KeyboardInterrupt(), SystemExit(3)], ids=lambda e: type(e).__name__
)
def test_inner_errors_pass_untouched(method: str, error: BaseException) -> None:
    class Raising(InMemorySaver):
        pass

    def fail(*_: Any, **__: Any) -> Any:
        raise error

    setattr(Raising, method, fail)
    saver: Any = RemitSaver(Raising())
    checkpoint = empty_checkpoint()
    config: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": "", "checkpoint_id": checkpoint["id"]}}
    arguments: dict[str, Any] = {
        "get_tuple": (config,),
        "put": (config, checkpoint, {}, {}),
        "put_writes": (config, [("a", 1)], "task"),
        "list": (config,),
        "delete_thread": ("t",),
    }
    with pytest.raises(type(error)) as raised:
        result = getattr(saver, method)(*arguments[method])
        next(iter(result))
    assert raised.value is error
    assert len(saver._protocol.planes) == 0


# -- events and history ----------------------------------------------------------------------------------------------------


def everything(saver: Any) -> Any:
    """Steps, fan-out, a subgraph that asks, and two questions in one node. One task at a time, so that the events
    have one order."""
    child = StateGraph(State)
    child.add_node("c1", lambda _: {"log": ["c1"]})
    child.add_node("c2", lambda _: {"log": [interrupt("child?")]})
    child.add_edge(START, "c1")
    child.add_edge("c1", "c2")
    builder = StateGraph(State)
    builder.add_node("first", lambda _: {"log": ["first"]})
    builder.add_node("worker", lambda state: {"log": [f"worker {state['k']}"]})
    builder.add_node("child", child.compile())
    builder.add_node("last", lambda _: {"log": [interrupt("1?"), interrupt("2?")]})
    builder.add_edge(START, "first")
    builder.add_conditional_edges("first", lambda _: [Send("worker", {"k": 1})])
    builder.add_edge("worker", "child")
    builder.add_edge("child", "last")
    return builder.compile(checkpointer=saver)


def normal(value: Any) -> str:
    """Text in which ids and times are numbered by their first occurrence."""
    seen: dict[str, str] = {}
    text = re.sub(r"\d{4}-\d\d-\d\dT[\d:.+]+", "TIME", repr(value))
    text = re.sub(r"\b(\d{32})\.0\.\d+", lambda found: f"version {int(found.group(1))}", text)
    id = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\b[0-9a-f]{32}\b"
    return re.sub(id, lambda found: seen.setdefault(found.group(), f"id{len(seen)}"), text)


MODES: Any = ["values", "updates", "debug", "tasks", "checkpoints", "messages", "custom"]
CALLS = ({"log": ["in"]}, Command(resume="C"), Command(resume="1"), Command(resume="2"), Command(update={"log": ["u"]}))


@pytest.mark.parametrize("subgraphs", [False, True])
@pytest.mark.parametrize("durability", ["sync", "exit"])
def test_events_states_and_history_are_stocks(durability: Any, subgraphs: bool) -> None:
    def story(saver: Any) -> list[str]:
        graph = everything(saver)
        told: list[Any] = []
        for input in CALLS:
            events = graph.stream(input, CONFIG, stream_mode=MODES, durability=durability, subgraphs=subgraphs)
            told += list(events)
            told.append(graph.get_state(CONFIG, subgraphs=True))
        told += list(graph.get_state_history(CONFIG))
        return normal(told).split(", ")

    assert story(RemitSaver(InMemorySaver())) == story(InMemorySaver())


async def test_events_states_and_history_are_stocks_async() -> None:
    async def story(saver: Any) -> list[str]:
        graph = everything(saver)
        told: list[Any] = []
        for input in CALLS:
            told += [event async for event in graph.astream(input, CONFIG, stream_mode=MODES, durability="sync")]
            told.append(await graph.aget_state(CONFIG, subgraphs=True))
        told += [state async for state in graph.aget_state_history(CONFIG)]
        return normal(told).split(", ")

    assert await story(RemitSaver(InMemorySaver())) == await story(InMemorySaver())


# -- cost -------------------------------------------------------------------------------------------------------------------


class Counting(InMemorySaver):
    def __init__(self) -> None:
        super().__init__()
        self.calls: list[str] = []

    def get_tuple(self, config: Any) -> Any:
        self.calls.append("get_tuple")
        return super().get_tuple(config)

    def list(self, config: Any, **options: Any) -> Any:
        for found in super().list(config, **options):
            self.calls.append("list")
            yield found

    def put(self, *arguments: Any) -> Any:
        self.calls.append("put")
        return super().put(*arguments)

    def put_writes(self, *arguments: Any) -> None:
        self.calls.append("put_writes")
        super().put_writes(*arguments)


@pytest.mark.parametrize("call", ["answer", "fork", "look"])
def test_calls_do_not_depend_on_the_length_of_the_history(call: str) -> None:
    def cost(length: int) -> list[str]:
        inner = Counting()
        config: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
        for step in range(length):
            metadata: Any = {"source": "loop", "step": step, "parents": {}}
            config = inner.put(config, empty_checkpoint(), metadata, {})
        graph = asking(RemitSaver(inner))
        graph.invoke({"log": []}, CONFIG)
        address = graph.get_state(CONFIG).config
        if call == "fork":
            graph.invoke(Command(resume="yes"), CONFIG)
        inner.calls.clear()
        if call == "look":
            graph.get_state(CONFIG)
        else:
            graph.invoke(Command(resume="yes"), address if call == "fork" else CONFIG)
        return sorted(inner.calls)

    assert cost(2000) == cost(1)


def test_answer_costs_no_more_calls_than_stock() -> None:
    def cost(wrap: Any) -> list[str]:
        inner = Counting()
        graph = asking(wrap(inner))
        graph.invoke({"log": []}, CONFIG)
        graph.invoke(Command(resume="yes"), CONFIG)
        return sorted(inner.calls)

    assert cost(RemitSaver) == cost(lambda inner: inner)


# -- lists and deletion --------------------------------------------------------------------------------------------------------


def test_list_that_is_left_early_holds_nothing(saver_factory: Any) -> None:
    saver = saver_factory.wrapped()
    said(asking(saver))
    listing = saver.list(CONFIG)
    next(listing)
    listing.close()
    assert said(asking(saver), {"configurable": {"thread_id": "other"}}) == BOTH


async def test_async_list_that_is_left_early_holds_nothing(asaver_factory: Any) -> None:
    """AsyncSqliteSaver holds its lock while a listing is open: closing ours must close its, at once."""
    saver = await asaver_factory.wrapped()
    await asaid(asking(saver))
    listing = saver.alist(CONFIG)
    await anext(listing)
    await listing.aclose()
    lock = getattr(saver.inner, "lock", None)
    assert lock is None or not lock.locked()
    assert await asaid(asking(saver), {"configurable": {"thread_id": "other"}}) == BOTH


def test_deleted_thread_is_gone_and_its_branches_begin_again(saver_factory: Any) -> None:
    saver = saver_factory.wrapped()
    graph = asking(saver)
    said(graph)
    saver.delete_thread("t")
    assert saver.get_tuple(CONFIG) is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert said(graph) == BOTH
