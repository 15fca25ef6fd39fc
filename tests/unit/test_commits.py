"""Group commit: whoever waits for the connection is stored together, in order, durable before anybody is told."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Sequence
from typing import Any

import pytest
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.sqlite import SqliteSaver
from remit import RemitSaver
from remit._core import Kind, Operation, Planes
from remit.commits import GroupCommit, Grouped, OutOfTurn, Write


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


def test_what_a_call_stored_is_durable_when_it_returns(tmp_path: Any) -> None:
    """Sixteen threads store at once through one connection, and look for what they stored through another."""
    path = str(tmp_path / "db")
    connection = sqlite3.connect(path, check_same_thread=False)
    inner = SqliteSaver(connection)
    inner.setup()
    commits: list[str] = []
    connection.set_trace_callback(lambda s: commits.append(s) if s == "COMMIT" else None)
    saver = RemitSaver(inner)
    together, missing = threading.Barrier(16), []

    def work(n: int) -> None:
        with SqliteSaver.from_conn_string(path) as other:
            for k in range(20):
                together.wait(10)
                stored = saver.put(config(n), {**empty_checkpoint(), "id": f"{k:03}"}, {"step": k}, {})
                saver.put_writes(stored, [("a", [n, k])], "task")
                seen = other.get_tuple(stored)
                if seen is None or seen.pending_writes != [("task", "a", [n, k])]:
                    missing.append((n, k))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    assert missing == []
    assert 0 < len(commits) < 16 * 20 * 2, "nothing was stored together"
    connection.close()


def test_what_a_saver_cannot_store_fails_alone(tmp_path: Any) -> None:
    """Among writes that are stored together, one that the serializer refuses."""
    inner = SqliteSaver(sqlite3.connect(str(tmp_path / "db"), check_same_thread=False))
    inner.setup()
    saver = RemitSaver(inner)
    stored = saver.put(config(0), empty_checkpoint(), {"step": 0}, {})
    said: dict[int, Any] = {}

    def work(n: int) -> None:
        try:
            said[n] = saver.put_writes(stored, [("a", threading.Lock() if n == 3 else n)], f"task {n}")
        except Exception as e:
            said[n] = e

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    groups = saver._protocol.store.groups
    assert groups is not None
    with inner.lock:  # so that they all wait
        for thread in threads:
            thread.start()
        while len(groups._waiting) < 5:
            threads[0].join(0.001)
    for thread in threads:
        thread.join(10)
    assert isinstance(said.pop(3), TypeError) and set(said.values()) == {None}
    seen = inner.get_tuple(stored)
    assert seen is not None and {w[2] for w in seen.pending_writes or ()} == {0, 1, 2, 4, 5}
    inner.conn.close()


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
