"""Stored objects whose class is gone: what a read says of them, and that data which is data raises no alarm."""

from __future__ import annotations

import enum
import importlib
import logging
import re
import sys
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, make_dataclass
from datetime import datetime, timezone
from decimal import Decimal
from pathlib import Path
from types import ModuleType
from typing import Any
from uuid import UUID

import pytest
from graphs import STOCK, State, Thread, asks, fails, gives
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.graph import START, StateGraph
from langgraph.types import Command, Send, interrupt
from pydantic import BaseModel
from remit import RemitSaver, RemitValidityError, reviving

pytestmark = pytest.mark.skipif(STOCK, reason="about what REMIT says")

APP = "app_of_yesterday"


class Heard(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.types: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if getattr(record, "remit_code", None) == "type-lost":
            self.types.append(record.remit_type)  # type: ignore[attr-defined]


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> Iterator[Heard]:
    monkeypatch.setattr(reviving, "_reported", set())
    heard = Heard()
    logging.getLogger("remit").addHandler(heard)
    yield heard
    logging.getLogger("remit").removeHandler(heard)


class App:
    """A module that the tests deploy, and change."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch
        self.module = ModuleType(APP)
        monkeypatch.setitem(sys.modules, APP, self.module)

    def has(self, made: Any, name: str) -> Any:
        made.__module__ = APP
        made.__name__ = made.__qualname__ = name
        setattr(self.module, name, made)
        return made

    def loses(self, name: str) -> None:
        delattr(self.module, name)

    def is_gone(self) -> None:
        self._monkeypatch.delitem(sys.modules, APP)


@pytest.fixture
def app(monkeypatch: pytest.MonkeyPatch) -> App:
    return App(monkeypatch)


def a_dataclass(app: App) -> Any:
    return app.has(make_dataclass("Order", [("cents", int), ("of", Any, None)]), "Order")(12)


def a_model(app: App) -> Any:
    class Order(BaseModel):
        cents: int

    return app.has(Order, "Order")(cents=12)


def an_enum(app: App) -> Any:
    return app.has(enum.Enum("Order", {"OPEN": "open"}), "Order").OPEN


def a_named_tuple(app: App) -> Any:
    from collections import namedtuple

    return app.has(namedtuple("Order", ["cents"]), "Order")(12)


def a_slotted_class(app: App) -> Any:
    @dataclass(slots=True)
    class Order:
        cents: int = 12

    return app.has(Order, "Order")()


def a_message(app: App) -> Any:
    class Order(HumanMessage):
        pass

    return app.has(Order, "Order")(content="hello", id="1")


def within_a_message(app: App) -> Any:
    return [AIMessage(content="hello", id="1", additional_kwargs={"order": an_enum(app)})]


def within_a_dataclass(app: App) -> Any:
    holder = app.has(make_dataclass("Holder", [("of", Any)]), "Holder")
    return {"list": [holder(an_enum(app))]}


def within_a_set(app: App) -> Any:
    return {an_enum(app), 1}


OBJECTS = [
    a_dataclass,
    a_model,
    an_enum,
    a_named_tuple,
    a_slotted_class,
    a_message,
    within_a_message,
    within_a_dataclass,
    within_a_set,
]
SOME = pytest.mark.parametrize("world", ["memory", "sqlite", "apg"], indirect=True)
ONE = pytest.mark.parametrize("world", ["memory"], indirect=True)


def parked(value: Any) -> Any:
    """Stores the value, and asks."""

    def build(saver: Any) -> Any:
        graph = StateGraph(State)
        graph.add_node("load", lambda _: {"v": value})
        graph.add_node("ask", lambda state: {"log": [type(state["v"]).__name__, interrupt("q")]})
        graph.add_edge(START, "load")
        graph.add_edge("load", "ask")
        return graph.compile(checkpointer=saver)

    return build


async def deployed(world: Any, build: Any, **options: Any) -> Thread:
    return Thread(build(await world.saver(**options)), world.is_async)


@SOME
@pytest.mark.parametrize("make", OBJECTS)
async def test_a_class_that_is_gone_refuses_the_read_before_anything_runs(world, app, make, heard):
    build = parked(make(app))
    assert await (await deployed(world, build, strict_types=True)).start() == asks("q")
    app.loses("Order")
    thread = await deployed(world, build, strict_types=True)
    with pytest.raises(RemitValidityError) as caught:
        await thread.state()
    assert (caught.value.code, caught.value.field, caught.value.value_type) == ("type-lost", "v", f"{APP}.Order")
    assert await thread.answer("yes") == fails(RemitValidityError)
    saver = thread.graph.checkpointer
    with pytest.raises(RemitValidityError):
        if world.is_async:
            assert [t async for t in saver.alist(thread.config)]
        else:
            assert list(saver.list(thread.config))
    assert heard.types == []
    make(app)  # the next deploy brings it back
    assert (await (await deployed(world, build, strict_types=True)).answer("yes"))[0] == "gives"


@SOME
@pytest.mark.parametrize("make", OBJECTS)
async def test_without_the_option_it_is_said_once_and_read_as_stock_reads_it(world, app, make, heard):
    build = parked(make(app))
    assert await (await deployed(world, build)).start() == asks("q")
    app.loses("Order")
    thread, stock = await deployed(world, build), await world.thread(build, stock=True)
    assert repr((await thread.state()).values) == repr((await stock.state()).values)
    assert (await thread.answer("yes"))[0] == "gives"
    assert heard.types == [f"{APP}.Order"]


@ONE
async def test_a_module_that_is_gone(world, app):
    build = parked(a_dataclass(app))
    thread = await deployed(world, build, strict_types=True)
    assert await thread.start() == asks("q")
    app.is_gone()
    with pytest.raises(RemitValidityError, match="module cannot be imported"):
        await thread.state()


@ONE
async def test_a_class_that_no_longer_takes_its_fields(world, app):
    build = parked(a_dataclass(app))
    thread = await deployed(world, build, strict_types=True)
    assert await thread.start() == asks("q")
    app.has(make_dataclass("Order", [("euros", int)]), "Order")
    with pytest.raises(RemitValidityError, match="does not take"):
        await thread.state()


@SOME
async def test_a_lost_answer_or_question_is_named_too(world, app):
    """It lies among the pending writes."""

    def build(saver: Any) -> Any:
        graph = StateGraph(State)
        graph.add_node("ask", lambda _: {"v": interrupt(question)})
        graph.add_edge(START, "ask")
        return graph.compile(checkpointer=saver)

    question = a_model(app)
    assert (await (await deployed(world, build, strict_types=True)).start())[0] == "asks"
    app.loses("Order")
    thread = await deployed(world, build, strict_types=True)
    with pytest.raises(RemitValidityError) as caught:
        await thread.state()
    assert caught.value.field == "__interrupt__"


PLAIN = [
    None,
    {},
    {"cents": 12, "lc": 2, "type": "constructor"},
    [None, {"a": None}, []],
    "text",
    b"bytes",
    1.5,
    datetime(2026, 1, 1, tzinfo=timezone.utc),
    UUID(int=1),
    Decimal("1.5"),
    Path("/a"),
    re.compile("a"),
    {1, 2},
    deque([1]),
    [HumanMessage(content="hello", id="1"), AIMessage(content="", id="2", tool_calls=[])],
    [Send("ask", {"v": None})],
    Command(update={"v": None}),
]


@SOME
@pytest.mark.parametrize("value", PLAIN, ids=lambda value: type(value).__name__)
async def test_guard_data_that_is_data_raises_no_alarm(world, heard, value):
    build = parked(value)
    assert await (await deployed(world, build, strict_types=True)).start() == asks("q")
    thread = await deployed(world, build, strict_types=True)
    assert repr((await thread.state()).values["v"]) == repr(value)
    assert (await thread.answer("yes"))[0] == "gives"
    assert (await (await deployed(world, build)).state()).values["log"][1] == "yes"
    assert heard.types == []


@ONE
@pytest.mark.parametrize("make", OBJECTS)
async def test_guard_an_object_whose_class_is_there(world, app, make, heard):
    build = parked(value := make(app))
    thread = await deployed(world, build, strict_types=True)
    assert await thread.start() == asks("q")
    assert repr((await thread.state()).values["v"]) == repr(value)
    assert (await thread.answer("yes"))[0] == "gives"
    assert heard.types == []


@ONE
async def test_a_lost_value_of_the_past_does_not_stop_the_present(world, app):
    def build(saver: Any) -> Any:
        graph = StateGraph(State)
        graph.add_node("load", lambda _: {"v": a_dataclass(app)})
        graph.add_node("drop", lambda _: {"v": "dropped"})
        graph.add_node("ask", lambda state: {"log": [interrupt("q")]})
        graph.add_edge(START, "load")
        graph.add_edge("load", "drop")
        graph.add_edge("drop", "ask")
        return graph.compile(checkpointer=saver)

    thread = await deployed(world, build, strict_types=True)
    assert await thread.start() == asks("q")
    asked = (await thread.state()).config
    app.loses("Order")
    assert await thread.answer("yes") == gives("dropped")
    # a fork looks for its line in the history
    forked = Thread(thread.graph, world.is_async, configurable=asked["configurable"])
    assert await forked.answer("no") == gives("dropped")


def test_what_an_allowlist_blocks_is_lost(app, heard):
    value = a_dataclass(app)
    inner = InMemorySaver(serde=JsonPlusSerializer(allowed_msgpack_modules=None))
    config: Any = {"configurable": {"thread_id": "t"}}
    graph = parked(value)(RemitSaver(inner, strict_types=True))
    graph.invoke({"log": []}, config)
    with pytest.raises(RemitValidityError, match="allowlist"):
        graph.get_state(config)
    allowed = InMemorySaver(serde=JsonPlusSerializer(allowed_msgpack_modules=[(APP, "Order")]))
    allowed.storage, allowed.blobs, allowed.writes = inner.storage, inner.blobs, inner.writes
    twin = parked(value)(RemitSaver(allowed, strict_types=True))
    assert twin.invoke(Command(resume="yes"), config)["log"] == ["Order", "yes"]
    assert heard.types == []


class Rot13:
    """A cipher of no use."""

    def encrypt(self, plaintext: bytes) -> tuple[str, bytes]:
        return "rot", plaintext[::-1]

    def decrypt(self, ciphername: str, ciphertext: bytes) -> bytes:
        return ciphertext[::-1]


def test_an_encrypted_serializer_and_its_clones_are_watched(app):
    value = a_model(app)
    serde = EncryptedSerializer(Rot13(), JsonPlusSerializer(allowed_msgpack_modules=[(APP, "Order")]))
    graph = parked(value)(RemitSaver(InMemorySaver(serde=serde), strict_types=True))
    clone = parked(value)(graph.checkpointer.with_allowlist([("another", "Class")]))
    config: Any = {"configurable": {"thread_id": "t"}}
    graph.invoke({"log": []}, config)
    assert clone.get_state(config).values["v"] == value
    app.loses("Order")
    for read in (graph, clone):
        with pytest.raises(RemitValidityError, match=f"{APP}.Order"):
            read.get_state(config)


def test_the_savers_own_serializer_is_left_alone(app, heard):
    """Others may share it: LangGraph's default is one object for all savers."""
    serde = JsonPlusSerializer()
    RemitSaver(InMemorySaver(serde=serde), strict_types=True)
    kind, data = serde.dumps_typed(a_dataclass(app))
    app.loses("Order")
    serde.loads_typed((kind, data))
    assert heard.types == []


def test_an_envelope_of_before_msgpack(app, heard):
    a_dataclass(app)
    inner = InMemorySaver(serde=JsonPlusSerializer(allowed_json_modules=[(APP, "Order")]))
    RemitSaver(inner)
    envelope = b'{"lc": 2, "type": "constructor", "id": ["%s", "Order"], "kwargs": {"cents": 12}}' % APP.encode()
    assert inner.serde.loads_typed(("json", envelope)).cents == 12
    assert heard.types == []
    app.loses("Order")
    assert inner.serde.loads_typed(("json", envelope)) is None
    assert heard.types == [f"{APP}.Order"]


def test_an_effects_result_is_not_served_as_something_else(app):
    from remit import RemitError, effect

    saver = RemitSaver(InMemorySaver(), strict_types=True)

    def pay(state: State) -> Any:
        effect("pay", a_dataclass, app, key="1")
        return {"log": [interrupt("q")]}

    graph = StateGraph(State).add_node("pay", pay).add_edge(START, "pay").compile(checkpointer=saver)
    config: Any = {"configurable": {"thread_id": "t"}}
    graph.invoke({"log": []}, config)
    app.loses("Order")
    with pytest.raises(RemitError, match=f"{APP}.Order") as caught:
        graph.invoke(Command(resume="yes"), config)
    assert caught.value.code == "effect-result"
    a_dataclass(app)
    assert graph.invoke(Command(resume="yes"), config)["log"] == ["yes"]


def test_the_test_module_is_not_importable_by_accident():
    with pytest.raises(ImportError):
        importlib.import_module(APP)
