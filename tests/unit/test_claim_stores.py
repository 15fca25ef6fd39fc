"""Every place for claims does the same: memory, SQLite, PostgreSQL, and an outside store of a few lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

import claim_stores
import pytest
from claim_stores import Awaiting, Blocking
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt
from remit import RemitError, RemitSaver
from remit.claims import Claims, ClaimStore, Grant, Key, MemoryStore, claims_for, store_for
from remit.drivers import adrive, drive
from stores import AsyncStore, Store


@dataclass
class TinyStore:
    """A claim store from outside, in memory, with a clock that a test sets."""

    time: int = 1_000
    grants: list[Grant] = field(default_factory=list)
    lock: Lock = field(default_factory=Lock)

    def grant(
        self,
        key: Key,
        fence: int,
        owner: str,
        lease: int,
        interrupts: Sequence[str],
        answer_id: str | None,
        digest: str | None,
    ) -> int | None:
        with self.lock:
            if any((g.key == key and g.fence == fence) or (g.running and g.key[:3] == key[:3]) for g in self.grants):
                return None
            end = self.time + lease
            self.grants.append(
                Grant(key, fence, "held", True, owner, self.time, end, None, None, tuple(interrupts), answer_id, digest)
            )
            return end

    def look(self, key: Key) -> tuple[Grant | None, Grant | None, int]:
        last = max((g for g in self.grants if g.key == key), key=lambda g: g.fence, default=None)
        running = next((g for g in self.grants if g.running and g.key[:3] == key[:3]), None)
        return last, running, self.time

    def settle(self, key: Key, fence: int, state: str, outcome: str, running: bool, lease_end: int | None) -> bool:
        with self.lock:
            for n, g in enumerate(self.grants):
                if (g.key, g.fence, g.running) == (key, fence, True) and lease_end in (None, g.lease_end):
                    held = {"state": state, "outcome": outcome, "settled": self.time} if g.state == "held" else {}
                    self.grants[n] = g._replace(running=running, **held)
                    return True
            return False

    def renew(self, key: Key, fence: int, lease: int) -> int | None:
        with self.lock:
            for n, g in enumerate(self.grants):
                if (g.key, g.fence, g.running) == (key, fence, True):
                    self.grants[n] = g._replace(lease_end=max(g.lease_end, self.time + lease))
                    return self.grants[n].lease_end
            return None

    def answered(self, thread: str, answer_id: str) -> list[Grant]:
        return [g for g in self.grants if (g.key.thread, g.answer_id) == (thread, answer_id)]

    def trail(self, thread: str) -> list[Grant]:
        return [g for g in self.grants if g.key.thread == thread]

    def forget(self, thread: str) -> None:
        self.grants[:] = [g for g in self.grants if g.key.thread != thread]

    async def agrant(self, *args: Any) -> int | None:
        return self.grant(*args)

    async def alook(self, *args: Any) -> Any:
        return self.look(*args)

    async def asettle(self, *args: Any) -> bool:
        return self.settle(*args)

    async def arenew(self, *args: Any) -> int | None:
        return self.renew(*args)

    async def aanswered(self, *args: Any) -> list[Grant]:
        return self.answered(*args)

    async def atrail(self, *args: Any) -> list[Grant]:
        return self.trail(*args)

    async def aforget(self, *args: Any) -> None:
        self.forget(*args)


@pytest.mark.parametrize("check", claim_stores.CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("ways", [Blocking, Awaiting])
async def test_a_store_from_outside(check: Any, ways: Any) -> None:
    await check(ways(Claims(TinyStore())))


@pytest.mark.parametrize("check", claim_stores.CHECKS, ids=lambda check: check.__name__)
async def test_the_own_stores(check: Any, saver_factory: Store) -> None:
    inner = saver_factory.inner()
    await check(Blocking(store_for(inner), inner))


@pytest.mark.parametrize("check", claim_stores.CHECKS, ids=lambda check: check.__name__)
async def test_the_own_stores_awaiting(check: Any, asaver_factory: AsyncStore) -> None:
    inner = await asaver_factory.inner()
    await check(Awaiting(store_for(inner), inner))


def test_of_many_threads_one_is_granted(saver_factory: Store) -> None:
    inners = [saver_factory.inner() for _ in range(6)]
    claim_stores.check_of_many_one_is_granted([(store_for(inner), inner) for inner in inners])


def test_a_store_is_told_by_its_methods() -> None:
    assert isinstance(TinyStore(), ClaimStore)
    assert not isinstance(MemoryStore(), ClaimStore)  # REMIT's own speak in steps
    inner = InMemorySaver()
    assert type(claims_for(inner, store_for(inner), TinyStore())) is Claims
    for wrong in (object(), "redis"):
        with pytest.raises(RemitError) as raised:
            claims_for(inner, store_for(inner), wrong)
        assert raised.value.code == "bad-option"


def test_a_gate_over_a_store_from_outside(saver_factory: Store) -> None:
    store = TinyStore()
    saver: Any = RemitSaver(saver_factory.inner(), cross_process_gate=True, claim_store=store)
    graph = StateGraph(dict).add_node("gate", lambda _: {"v": interrupt("q")}).add_edge(START, "gate").compile(saver)
    config: Any = {"configurable": {"thread_id": "t"}}
    graph.invoke({}, config)
    assert graph.invoke(Command(resume="yes"), config) == {"v": "yes"}
    assert [(g.state, g.running) for g in saver.claims("t")] == [("consumed", False)] * 2
    assert saver.claims("t") == store.grants
    saver.delete_thread("t")
    assert store.grants == []


# -- what lands with a claim ------------------------------------------------------------------------------------------


KEY = Key("thread", "", "", "1", "q")
AT: Any = {"configurable": {"thread_id": "thread", "checkpoint_ns": "", "checkpoint_id": "1"}}


def _landing(claims: Any, fence: int, value: Any) -> Any:
    return claims.land(KEY, fence, "consumed", "consumed", True, "put_writes", (AT, [("a", value)], "task"))


def _grant(claims: Any) -> Any:
    return claims.grant(KEY, 1, "owner", 60_000_000, (), None, None)


@pytest.mark.parametrize("saver_factory", ["sqlite", "postgres"], indirect=True)
def test_a_claims_settlement_lands_with_what_is_stored_or_neither_does(saver_factory: Store) -> None:
    inner: Any = saver_factory.inner()
    inner.setup()
    claims = store_for(inner)
    drive(inner, _grant(claims))
    inner.put(
        {"configurable": {**AT["configurable"], "checkpoint_id": None}}, {**empty_checkpoint(), "id": "1"}, {}, {}
    )

    def seen() -> tuple[str, list[Any]]:
        last, _, _ = drive(inner, claims.look(KEY))
        return last.state, [w[2] for w in inner.get_tuple(AT).pending_writes]

    with pytest.raises(TypeError):
        drive(inner, _landing(claims, 1, Lock()))  # which no serializer takes
    assert seen() == ("held", [])
    assert drive(inner, _landing(claims, 2, "of another grant")) == (False, None)
    assert seen() == ("held", [])
    assert drive(inner, _landing(claims, 1, "its own"))[0]
    assert seen() == ("consumed", ["its own"])


@pytest.mark.parametrize("asaver_factory", ["asqlite", "apg"], indirect=True)
async def test_the_same_awaiting(asaver_factory: AsyncStore) -> None:
    inner: Any = await asaver_factory.inner()
    await inner.setup()
    claims = store_for(inner)
    await adrive(inner, _grant(claims))
    before = {"configurable": {**AT["configurable"], "checkpoint_id": None}}
    await inner.aput(before, {**empty_checkpoint(), "id": "1"}, {}, {})

    async def seen() -> tuple[str, list[Any]]:
        last, _, _ = await adrive(inner, claims.look(KEY))
        return last.state, [w[2] for w in (await inner.aget_tuple(AT)).pending_writes]

    with pytest.raises(TypeError):
        await adrive(inner, _landing(claims, 1, Lock()))
    assert await seen() == ("held", [])
    assert await adrive(inner, _landing(claims, 2, "of another grant")) == (False, None)
    assert await seen() == ("held", [])
    assert (await adrive(inner, _landing(claims, 1, "its own")))[0]
    assert await seen() == ("consumed", ["its own"])


@pytest.mark.parametrize("saver_factory", ["sqlite", "postgres"], indirect=True)
@pytest.mark.parametrize("fence", [1, 2])
def test_a_connection_goes_on_after_what_was_not_stored(saver_factory: Store, fence: int) -> None:
    """Whether the serializer refused it or the claim was another's: what the connection had prepared is known."""
    inner: Any = saver_factory.inner()
    claims = store_for(inner)
    drive(inner, _grant(claims))
    inner.put_writes(AT, [("a", 0)], "task 0")
    for n in range(1, 4):
        if fence == 1:
            with pytest.raises(TypeError):
                drive(inner, _landing(claims, fence, Lock()))
        else:
            assert drive(inner, _landing(claims, fence, "another's")) == (False, None)
        for k in range(3):
            inner.put_writes(AT, [("a", n)], f"task {n}.{k}")
        assert drive(inner, claims.look(KEY))[0].state == "held"


@pytest.mark.parametrize("asaver_factory", ["asqlite", "apg"], indirect=True)
@pytest.mark.parametrize("fence", [1, 2])
async def test_an_async_connection_goes_on_after_what_was_not_stored(asaver_factory: AsyncStore, fence: int) -> None:
    inner: Any = await asaver_factory.inner()
    claims = store_for(inner)
    await adrive(inner, _grant(claims))
    await inner.aput_writes(AT, [("a", 0)], "task 0")
    for n in range(1, 4):
        if fence == 1:
            with pytest.raises(TypeError):
                await adrive(inner, _landing(claims, fence, Lock()))
        else:
            assert await adrive(inner, _landing(claims, fence, "another's")) == (False, None)
        for k in range(3):
            await inner.aput_writes(AT, [("a", n)], f"task {n}.{k}")
        assert (await adrive(inner, claims.look(KEY)))[0].state == "held"
