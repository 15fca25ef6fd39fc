"""What every place for claims must do, as one text for REMIT's own stores and for those from outside."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

from remit.claims import Grant, Key
from remit.drivers import adrive, drive

MINUTE = 60_000_000
ODD = "o'clock \N{SNOWMAN} \"'; -- #{}" + "x" * 500


class Blocking:
    """The claims of a store, without generators. Every way of calling them has the same methods."""

    def __init__(self, claims: Any, inner: Any = None) -> None:
        self._claims, self._inner = claims, inner

    def __getattr__(self, name: str) -> Callable[..., Any]:
        async def call(*args: Any) -> Any:
            return drive(self._inner, getattr(self._claims, name)(*args))

        return call


class Awaiting(Blocking):
    """The same, by the methods for `await`."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        async def call(*args: Any) -> Any:
            return await adrive(self._inner, getattr(self._claims, name)(*args))

        return call


def key(thread: str = "t", namespace: str = "", line: str = "", checkpoint: str = "c1", question: str = "q") -> Key:
    return Key(thread, namespace, line, checkpoint, question)


async def give(claims: Any, key: Key, fence: int = 1, owner: str = "me", lease: int = MINUTE, **more: Any) -> Any:
    return await claims.grant(
        key, fence, owner, lease, more.get("interrupts", ("i1",)), more.get("answer_id"), more.get("digest")
    )


async def check_a_grant_is_what_was_granted(claims: Any) -> None:
    assert (await claims.look(key()))[:2] == (None, None)
    end = await give(claims, key(), owner=ODD, interrupts=("i1", ODD), answer_id=ODD, digest="d")
    last, running, now = await claims.look(key())
    assert last == running
    assert last == Grant(key(), 1, "held", True, ODD, last.since, end, None, None, ("i1", ODD), ODD, "d")
    assert end - MINUTE - 1_000_000 < last.since <= end - MINUTE
    assert last.since <= now < end
    assert await claims.trail("t") == await claims.answered("t", ODD) == [last]
    assert await claims.answered("t", "another") == await claims.trail("other") == []


async def check_one_grant_of_a_number_and_one_that_runs(claims: Any) -> None:
    assert await give(claims, key())
    assert await give(claims, key(), 1) is None
    assert await give(claims, key(), 2) is None  # the first one runs
    assert await give(claims, key(checkpoint="c2")) is None
    assert await give(claims, key(question="q2")) is None
    for elsewhere in (key(thread="u"), key(namespace="n"), key(line="l"), key(thread=ODD, namespace=ODD, line=ODD)):
        assert await give(claims, elsewhere)
    assert len(await claims.trail("t")) == 3
    assert await claims.settle(key(), 1, "free", "failed", False, None)
    assert await give(claims, key(), 1) is None  # the number is taken for ever
    assert await give(claims, key(), 2)
    assert [g.fence for g in await claims.trail("t") if g.key == key()] == [1, 2]


async def check_what_was_settled_stays_so(claims: Any) -> None:
    await give(claims, key())
    assert await claims.settle(key(), 2, "free", "failed", False, None) is False
    assert await claims.settle(key(checkpoint="c2"), 1, "free", "failed", False, None) is False
    assert await claims.settle(key(), 1, "consumed", "consumed", True, None)
    last, running, now = await claims.look(key())
    assert (last.state, last.outcome, last.running) == ("consumed", "consumed", True)
    assert last == running
    assert last.since <= last.settled <= now
    assert await claims.settle(key(), 1, "free", "failed", False, None)  # its run is over, and it stays consumed
    last, running, _ = await claims.look(key())
    assert (last.state, last.outcome, last.running, running) == ("consumed", "consumed", False, None)
    assert await claims.settle(key(), 1, "free", "failed", False, None) is False
    assert await claims.renew(key(), 1, MINUTE) is None


async def check_a_grant_is_settled_as_it_was_seen(claims: Any) -> None:
    end = await give(claims, key())
    assert await claims.settle(key(), 1, "free", "expired", False, end - 1) is False
    later = await claims.renew(key(), 1, 2 * MINUTE)
    assert await claims.settle(key(), 1, "free", "expired", False, end) is False  # it was renewed meanwhile
    assert await claims.settle(key(), 1, "free", "expired", False, later)


async def check_a_lease_is_never_shortened(claims: Any) -> None:
    end = await give(claims, key())
    assert await claims.renew(key(), 1, 1) == end
    later = await claims.renew(key(), 1, 2 * MINUTE)
    assert end + MINUTE <= later <= (await claims.look(key()))[2] + 2 * MINUTE
    assert await claims.renew(key(), 2, MINUTE) is None
    assert await give(claims, key(thread="u"), lease=2**53 - 2**51)  # as long as it may be


async def check_a_thread_is_forgotten(claims: Any) -> None:
    await give(claims, key(), answer_id="a", digest="d")
    await give(claims, key(thread="u"))
    await claims.forget("t")
    assert await claims.trail("t") == await claims.answered("t", "a") == []
    assert (await claims.look(key()))[:2] == (None, None)
    assert await claims.renew(key(), 1, MINUTE) is None
    assert len(await claims.trail("u")) == 1
    assert await give(claims, key())


CHECKS = [
    check_a_grant_is_what_was_granted,
    check_one_grant_of_a_number_and_one_that_runs,
    check_what_was_settled_stays_so,
    check_a_grant_is_settled_as_it_was_seen,
    check_a_lease_is_never_shortened,
    check_a_thread_is_forgotten,
]


def check_of_many_one_is_granted(stores: list[tuple[Any, Any]], rounds: int = 10) -> None:
    """Threads, each over a connection of its own, ask for one plane at once: by one key and by others."""
    barrier = Barrier(len(stores))

    def ask(n: int) -> list[bool]:
        claims, inner = stores[n]
        given = []
        for turn in range(rounds):
            barrier.wait(60)
            wanted = Key("t", "", "", f"c{turn}" if turn % 2 else f"c{turn}.{n % 2}", "q")
            given.append(drive(inner, claims.grant(wanted, 1, f"w{n}", MINUTE, (), None, None)) is not None)
            barrier.wait(60)
            if given[-1]:
                assert drive(inner, claims.settle(wanted, 1, "consumed", "consumed", False))
        return given

    with ThreadPoolExecutor(len(stores)) as pool:
        all = list(pool.map(ask, range(len(stores))))
    assert [sum(given[turn] for given in all) for turn in range(rounds)] == [1] * rounds
