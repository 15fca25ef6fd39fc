"""Group commit: whoever waits for the connection is stored together, in order, durable before anybody is told."""

from __future__ import annotations

import asyncio
import inspect
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pytest
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.types import Interrupt
from psycopg_pool import ConnectionPool
from remit import RemitSaver
from remit._core import Kind, Operation, Planes
from remit.claims import Key
from remit.claims.postgres import PostgresStore
from remit.claims.sqlite import SqliteStore
from remit.commits import GroupCommit, Grouped, OutOfTurn, Write
from remit.drivers import drive
from stores import POSTGRES_CONNECTION
from stores import Store as SaverStore


class Store:
    """An inner saver and a committer, which notes what is stored in which transaction, and fails on demand."""

    def __init__(self) -> None:
        self.transactions: list[list[str]] = []
        self.fails: dict[str, BaseException] = {}
        self.entered, self.open = threading.Event(), threading.Event()
        self.open.set()

    def put(self, name: str) -> str:
        self.entered.set()
        assert self.open.wait(10)
        self.transactions.append(self._stored([name]))
        return f"stored {name}"

    def commit(self, writes: Sequence[Write]) -> list[tuple[bool, Any]]:
        names = [w.args[0] for w in writes]
        self.transactions.append(self._stored(names))
        return [(w.statement != "no", f"stored {w.args[0]}") for w in writes]

    def _stored(self, names: list[str]) -> list[str]:
        for name in names:
            if name in self.fails:
                raise self.fails[name]
        return names


class Callers:
    """Threads that store something, each in its turn: the next one begins when the one before waits."""

    def __init__(self, group: GroupCommit, store: Store) -> None:
        self.group, self.store = group, store
        self.said: dict[str, Any] = {}
        self.threads: list[threading.Thread] = []

    def call(self, name: str, statement: str = "", operation: Operation | None = None, is_last: bool = False) -> None:
        def run() -> None:
            try:
                self.said[name] = self.group.store(Write(self.store, "put", (name,), statement), operation, is_last)
            except BaseException as e:
                self.said[name] = e

        waiting = len(self.group._waiting)
        thread = threading.Thread(target=run)
        thread.start()
        self.threads.append(thread)
        if len(self.threads) == 1:
            assert self.store.entered.wait(10)
        else:
            while len(self.group._waiting) == waiting and thread.is_alive():
                thread.join(0.001)

    def end(self) -> dict[str, Any]:
        self.store.open.set()
        for thread in self.threads:
            thread.join(10)
            assert not thread.is_alive()
        return self.said


@pytest.fixture
def store() -> Store:
    return Store()


@pytest.fixture
def callers(store: Store) -> Callers:
    store.open.clear()
    callers = Callers(GroupCommit(store), store)
    callers.call("first")
    return callers


def test_alone_it_is_stored_as_it_is(store: Store) -> None:
    group = GroupCommit(store)
    for name in "ab":
        assert group.store(Write(store, "put", (name,))) == (True, f"stored {name}")
    assert store.transactions == [["a"], ["b"]]


def test_who_waits_is_stored_together_in_the_order_of_coming(store: Store, callers: Callers) -> None:
    for name in "abc":
        callers.call(name)
    assert callers.end() == {name: (True, f"stored {name}") for name in ("first", "a", "b", "c")}
    assert store.transactions == [["first"], ["a", "b", "c"]]


def test_who_fails_hears_of_it_and_the_others_are_stored(store: Store, callers: Callers) -> None:
    store.fails["b"] = ValueError("b")
    for name in "abc":
        callers.call(name)
    said = callers.end()
    assert said["b"] is store.fails["b"]
    assert [said[name] for name in "ac"] == [(True, "stored a"), (True, "stored c")]
    assert store.transactions == [["first"], ["a"], ["c"]]


def test_a_write_that_its_statement_forbids_says_so(store: Store, callers: Callers) -> None:
    callers.call("a")
    callers.call("b", "no")
    callers.call("c", "yes")
    said = callers.end()
    assert [said[name][0] for name in "abc"] == [True, False, True]


def test_the_first_one_is_interrupted_and_the_others_go_on(store: Store, callers: Callers) -> None:
    store.fails["first"] = KeyboardInterrupt()
    for name in "ab":
        callers.call(name)
    said = callers.end()
    assert isinstance(said["first"], KeyboardInterrupt)
    assert store.transactions == [["a", "b"]]


def test_the_one_that_leads_a_group_is_interrupted_and_the_others_go_on(store: Store, callers: Callers) -> None:
    for name in "abc":
        callers.call(name)
    stored, interrupted = store._stored, []

    def interrupts(names: list[str]) -> list[str]:
        if len(names) > 1 and not interrupted:
            interrupted.append(names)
            raise KeyboardInterrupt
        return stored(names)

    store._stored = interrupts  # type: ignore[method-assign]
    said = callers.end()
    assert interrupted == [["a", "b", "c"]]
    assert isinstance(said["a"], KeyboardInterrupt)
    assert [said[name] for name in "bc"] == [(True, "stored b"), (True, "stored c")]
    assert store.transactions == [["first"], ["b", "c"]]
    # live: the next one finds nobody in its way
    assert callers.group.store(Write(store, "put", ("d",))) == (True, "stored d")


def test_who_waits_and_is_interrupted_is_in_nobodys_way(store: Store, callers: Callers) -> None:
    from remit.commits import _Member

    wait, interrupted = _Member.wait, []

    def interrupts(member: _Member) -> None:
        wait(member)
        if member.write.args == ("a",) and not interrupted:
            interrupted.append(member)
            raise KeyboardInterrupt

    _Member.wait = interrupts  # type: ignore[method-assign]
    try:
        for name in "abc":
            callers.call(name)
        said = callers.end()
    finally:
        _Member.wait = wait  # type: ignore[method-assign]
    assert isinstance(said["a"], KeyboardInterrupt)
    assert store.transactions == [["first"], ["b", "c"]]


# -- operations that land after others -----------------------------------------------------------------------


@pytest.fixture
def turns() -> dict[str, Operation]:
    """Two tasks' writes to a checkpoint, the checkpoint that follows, and the one of another thread."""
    planes = Planes()
    return {
        "a": planes.arrive("thread", "", Kind.WRITES, "parent"),
        "b": planes.arrive("thread", "", Kind.WRITES, "parent"),
        "child": planes.arrive("thread", "", Kind.CHECKPOINT, "parent"),
        "other": planes.arrive("other", "", Kind.CHECKPOINT, "parent"),
    }


def test_a_checkpoint_is_stored_behind_what_it_comes_after(
    store: Store, callers: Callers, turns: dict[str, Operation]
) -> None:
    for name in ("a", "b"):
        callers.call(name, operation=turns[name], is_last=True)
    callers.call("child", operation=turns["child"])
    assert callers.end() == {name: (True, f"stored {name}") for name in ("first", "a", "b", "child")}
    assert store.transactions == [["first"], ["a", "b", "child"]]


@pytest.mark.parametrize("is_last", [True, False])
def test_a_checkpoint_waits_for_what_has_not_come_or_is_not_all(
    store: Store, callers: Callers, turns: dict[str, Operation], is_last: bool
) -> None:
    callers.call("a", operation=turns["a"], is_last=is_last)
    if not is_last:
        callers.call("b", operation=turns["b"], is_last=True)
    callers.call("child", operation=turns["child"])
    callers.call("other", operation=turns["other"])
    said = callers.end()
    assert isinstance(said["child"], OutOfTurn)
    # live: another thread's does not wait, nor does this one for what has landed
    assert said["other"] == (True, "stored other")
    for name in ("a", "b"):
        turns[name].finish()
    assert callers.group.store(Write(store, "put", ("child",)), turns["child"]) == (True, "stored child")


def test_a_checkpoint_is_not_stored_before_what_failed_and_comes_again(
    store: Store, callers: Callers, turns: dict[str, Operation]
) -> None:
    store.fails["a"] = ValueError("a")
    for name in ("a", "b"):
        callers.call(name, operation=turns[name], is_last=True)
    callers.call("child", operation=turns["child"])
    callers.call("other", operation=turns["other"])
    said = callers.end()
    assert said["a"] is store.fails.pop("a") and isinstance(said["child"], OutOfTurn)
    assert store.transactions == [["first"], ["b"], ["other"]]
    callers.group.store(Write(store, "put", ("a",)), turns["a"], is_last=True)
    callers.group.store(Write(store, "put", ("child",)), turns["child"])
    assert store.transactions == [["first"], ["b"], ["other"], ["a"], ["child"]]


def test_who_came_after_the_failure_is_told_too(store: Store, callers: Callers, turns: dict[str, Operation]) -> None:
    """A checkpoint that waits while the group of what it comes after is being stored, and fails."""
    callers.call("a", operation=turns["a"], is_last=True)
    callers.call("b", operation=turns["b"], is_last=True)
    stored, late = store._stored, []

    def meanwhile(names: list[str]) -> list[str]:
        if len(names) > 1 and not late:
            late.append(callers.call("child", operation=turns["child"]))
            late.append(callers.call("other", operation=turns["other"]))
            store.fails["b"] = ValueError("b")
        return stored(names)

    store._stored = meanwhile  # type: ignore[method-assign]
    said = callers.end()
    assert late and isinstance(said["child"], OutOfTurn) and said["other"] == (True, "stored other")
    assert store.transactions == [["first"], ["a"], ["other"]]


def test_a_checkpoint_that_is_out_of_turn_comes_again(
    store: Store, callers: Callers, turns: dict[str, Operation]
) -> None:
    store.fails["a"] = ValueError("a")
    for name in ("a", "b"):
        callers.call(name, operation=turns[name], is_last=True)
    writer = Grouped(store, callers.group, turns["child"])
    thread = threading.Thread(target=lambda: writer.put("child"))
    waiting = len(callers.group._waiting)
    thread.start()
    while len(callers.group._waiting) == waiting:
        thread.join(0.001)
    callers.end()
    turns["b"].finish()
    assert store.transactions == [["first"], ["b"]]
    turns["a"].finish()
    thread.join(10)
    assert not thread.is_alive() and store.transactions == [["first"], ["b"], ["child"]]


def test_on_a_loops_thread_nobody_waits_for_a_turn(store: Store, turns: dict[str, Operation]) -> None:
    async def on_a_loop() -> Any:
        return Grouped(store, GroupCommit(store), turns["child"]).put("child")

    assert asyncio.run(on_a_loop()) == "stored child"


# -- with a saver --------------------------------------------------------------------------------------------


def config(thread: int, checkpoint: str = "") -> Any:
    return {"configurable": {"thread_id": str(thread), "checkpoint_ns": "", "checkpoint_id": checkpoint or None}}


databases = pytest.mark.parametrize("saver_factory", ["sqlite", "postgres"], indirect=True)


@pytest.fixture
def sizes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many writes were stored in each transaction that had to be one."""
    sizes: list[int] = []
    for store in (SqliteStore, PostgresStore):
        commit = store.commit

        def counted(self: Any, writes: Sequence[Write], commit: Any = commit) -> list[tuple[bool, Any]]:
            sizes.append(len(writes))
            result: list[tuple[bool, Any]] = commit(self, writes)
            return result

        monkeypatch.setattr(store, "commit", counted)
    return sizes


def at_once(saver: Any, *calls: Callable[[], Any]) -> list[Any]:
    """What calls return or raise that all wait for the saver's connection, in the order of their coming."""
    said: list[Any] = [None] * len(calls)

    def run(n: int) -> None:
        try:
            said[n] = calls[n]()
        except Exception as e:
            said[n] = e

    threads = [threading.Thread(target=run, args=(n,)) for n in range(len(calls))]
    groups = saver._protocol.store.groups
    with saver.inner.lock:
        for n, thread in enumerate(threads):
            thread.start()
            # the first one leads, and waits for the lock
            deadline = time.monotonic() + 10
            while not groups._is_led or len(groups._waiting) < n:
                assert time.monotonic() < deadline, f"call {n} is not in the queue"
                thread.join(0.001)
    for thread in threads:
        thread.join(10)
        assert not thread.is_alive()
    return said


@databases
def test_what_a_call_stored_is_durable_when_it_returns(saver_factory: SaverStore, sizes: list[int]) -> None:
    """Sixteen threads store at once through one connection, and look for what they stored through another."""
    saver: Any = saver_factory.wrapped()
    others = [saver_factory.inner() for _ in range(16)]
    together, missing = threading.Barrier(16), []

    def work(n: int) -> None:
        for k in range(20):
            together.wait(30)
            stored = saver.put(config(n), {**empty_checkpoint(), "id": f"{k:03}"}, {"step": k}, {})
            saver.put_writes(stored, [("a", [n, k])], "task")
            seen = others[n].get_tuple(stored)
            if seen is None or seen.pending_writes != [("task", "a", [n, k])]:
                missing.append((n, k))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    assert missing == []
    assert max(sizes) > 1, "nothing was stored together"


@databases
def test_what_a_saver_cannot_store_fails_alone(saver_factory: SaverStore, sizes: list[int]) -> None:
    """Among writes that are stored together, one that the serializer refuses."""
    saver: Any = saver_factory.wrapped()
    stored = saver.put(config(0), empty_checkpoint(), {"step": 0}, {})
    values = [0, 1, 2, threading.Lock(), 4, 5]
    said = at_once(saver, *(partial(saver.put_writes, stored, [("a", v)], f"task {n}") for n, v in enumerate(values)))
    assert isinstance(said.pop(3), TypeError) and set(said) == {None}
    seen = saver_factory.inner().get_tuple(stored)
    assert seen is not None and {w[2] for w in seen.pending_writes or ()} == {0, 1, 2, 4, 5}
    assert sizes == [5]


@databases
def test_what_its_statement_forbids_is_not_stored_and_the_others_are(saver_factory: SaverStore) -> None:
    saver: Any = saver_factory.wrapped()
    store, claims = saver._protocol.store, Key("thread", "", "", "1", "q")
    stored = saver.put(config(0), empty_checkpoint(), {"step": 0}, {})
    assert drive(saver.inner, store.grant(claims, 1, "me", 60_000_000, (), None, None))

    def settled(fence: int, value: str) -> Callable[[], Any]:
        parameters = (1, "consumed", "consumed", *claims, fence)
        args = (stored, [("a", value)], value)
        write = Write(saver.inner, "put_writes", args, store.settle_grant, parameters)
        return lambda: store.groups.store(write)

    said = at_once(
        saver,
        partial(saver.put_writes, stored, [("a", "first")], "first"),
        partial(saver.put_writes, stored, [("a", "plain")], "plain"),
        settled(2, "another grant's"),
        settled(1, "its own"),
    )
    assert [s if s is None else s[0] for s in said] == [None, None, False, True]
    seen = saver_factory.inner().get_tuple(stored)
    assert seen is not None and {w[2] for w in seen.pending_writes or ()} == {"first", "plain", "its own"}


@databases
@pytest.mark.parametrize("channel", ["a", "__interrupt__"])
def test_a_checkpoint_is_one_transaction_with_the_writes_it_comes_after(
    saver_factory: SaverStore, sizes: list[int], channel: str
) -> None:
    """Whether they are stored as they are or are kept apart by the protocol."""
    saver: Any = saver_factory.wrapped()
    protocol = saver._protocol
    parent = saver.put(config(0), {**empty_checkpoint(), "id": "1"}, {"step": 0}, {})

    def child() -> Any:
        operation = protocol.planes.arrive("0", "", Kind.CHECKPOINT, "1")
        writer = Grouped(saver.inner, protocol.store.groups, operation)
        return writer.put(parent, {**empty_checkpoint(), "id": "2"}, {"step": 1}, {})

    writes = [(channel, [Interrupt(value="q", id="1")])]
    said = at_once(saver, *(partial(saver.put_writes, parent, writes, f"task {n}") for n in range(3)), child)
    # the first task's writes are stored by the thread that came first, by themselves
    assert said[:3] == [None] * 3 and said[3]["configurable"]["checkpoint_id"] == "2"
    assert sizes == [3]


def test_the_signature_is_the_methods_own_and_is_made_once() -> None:
    """LangGraph asks for it at each run, and passes a task's path to whoever takes one."""
    saver = RemitSaver(InMemorySaver())
    for method in (saver.put_writes, saver.aput_writes):
        function: Any = method.__func__  # type: ignore[attr-defined]
        code = function.__code__
        assert list(inspect.signature(method).parameters) == list(code.co_varnames[1 : code.co_argcount])
        assert "__signature__" in vars(function)


def test_a_saver_that_changed_how_it_stores_is_left_alone() -> None:
    class Counting(SqliteSaver):
        puts = 0

        def put(self, *args: Any) -> Any:
            self.puts += 1
            return super().put(*args)

    inner = Counting(sqlite3.connect(":memory:", check_same_thread=False))
    saver = RemitSaver(inner)
    assert saver._protocol.store.groups is None
    saver.put(config(0), empty_checkpoint(), {}, {})
    assert inner.puts == 1


def test_a_pool_and_a_pipeline_are_left_alone(new_place: Callable[[str], str]) -> None:
    place = new_place("postgres")
    with ConnectionPool(place, kwargs=POSTGRES_CONNECTION, open=True) as pool:
        assert RemitSaver(PostgresSaver(pool))._protocol.store.groups is None
    with PostgresSaver.from_conn_string(place, pipeline=True) as inner:
        assert RemitSaver(inner)._protocol.store.groups is None
    with PostgresSaver.from_conn_string(place) as inner:
        assert RemitSaver(inner)._protocol.store.groups is not None
