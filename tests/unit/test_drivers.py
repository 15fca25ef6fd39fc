"""One protocol text, two drivers; and the planes that it waits in: `Planes` and `Operation` of the extension."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
from remit._core import Kind, Planes
from remit.drivers import Ask, Await, Call, Collect, adrive, drive

DEADLINE_S = 30


class Inner:
    """A saver in which `double` works and `fail` fails, and whose listings say when they are closed."""

    closed = False

    def double(self, x: int) -> int:
        return 2 * x

    async def adouble(self, x: int) -> int:
        await asyncio.sleep(0)
        return 2 * x

    def fail(self) -> None:
        raise KeyError("inner")

    async def afail(self) -> None:
        raise KeyError("inner")

    def list(self, config: Any, **kwargs: Any) -> Iterator[int]:
        try:
            yield from range(config["from"], kwargs["to"])
        finally:
            self.closed = True

    async def alist(self, config: Any, **kwargs: Any) -> AsyncIterator[int]:
        try:
            for x in range(config["from"], kwargs["to"]):
                yield x
        finally:
            self.closed = True


class Table:
    def execute(self, statement: str, parameters: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        return [(statement, *parameters)]

    async def aexecute(self, statement: str, parameters: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        return [(statement, *parameters)]


def run_async(inner: Any, steps: Any) -> Any:
    return asyncio.run(asyncio.wait_for(adrive(inner, steps), DEADLINE_S))


both = pytest.mark.parametrize("run", [drive, run_async])
Run = Callable[[Any, Any], Any]


@both
def test_steps_are_done_in_turn_and_their_results_come_back(run: Run) -> None:
    def steps() -> Any:
        first = yield Ask("double", (4,))
        second = yield Ask("double", (first,))
        rows = yield Call(Table(), "execute", ("select", (1, "x")))
        return [first, second, rows]

    assert run(Inner(), steps()) == [8, 16, [("select", 1, "x")]]


@both
def test_a_protocol_without_steps_has_its_result(run: Run) -> None:
    def steps() -> Any:
        return 1
        yield

    assert run(Inner(), steps()) == 1


@both
def test_what_the_saver_raises_comes_up_in_the_protocol_and_may_be_caught_there(run: Run) -> None:
    def steps() -> Any:
        try:
            yield Ask("fail", ())
        except KeyError as e:
            return (yield Ask("double", (len(e.args),)))

    assert run(Inner(), steps()) == 2


@both
def test_what_the_saver_raises_passes_through_untouched(run: Run) -> None:
    ended = []

    def steps() -> Any:
        try:
            yield Ask("fail", ())
        finally:
            ended.append(True)

    with pytest.raises(KeyError, match="inner") as raised:
        run(Inner(), steps())
    assert ended == [True]
    assert raised.value.__cause__ is None


@both
def test_what_the_protocol_raises_passes_through(run: Run) -> None:
    def steps() -> Any:
        yield Ask("double", (1,))
        raise LookupError("protocol")

    with pytest.raises(LookupError, match="protocol"):
        run(Inner(), steps())


@both
@pytest.mark.parametrize(("wanted", "found"), [(3, 3), (99, None)])
def test_a_listing_ends_at_the_first_that_is_wanted_and_is_closed(run: Run, wanted: int, found: int | None) -> None:
    inner = Inner()

    def steps() -> Any:
        return (yield Collect({"from": 1}, {"to": 10}, lambda x: x == wanted))

    assert run(inner, steps()) == found
    assert inner.closed


@both
def test_a_listing_is_closed_when_the_wish_itself_fails(run: Run) -> None:
    inner = Inner()

    def steps() -> Any:
        return (yield Collect({"from": 1}, {"to": 10}, lambda x: 1 / 0))

    with pytest.raises(ZeroDivisionError):
        run(inner, steps())
    assert inner.closed


# -- waiting ---------------------------------------------------------------------------------------------------------


def waits_for(operation: Any, landed: list[str], name: str) -> Any:
    try:
        yield Await(operation)
        landed.append(name)
    finally:
        operation.finish()


@both
def test_what_is_ready_does_not_wait(run: Run) -> None:
    planes, landed = Planes(), []
    run(None, waits_for(planes.arrive("t", "", Kind.CHECKPOINT, "parent"), landed, "checkpoint"))
    assert landed == ["checkpoint"] and len(planes) == 0


@both
def test_a_checkpoint_waits_until_another_thread_has_landed_what_came_before(run: Run) -> None:
    planes, landed = Planes(), []
    writes = [planes.arrive("t", "", Kind.WRITES, "parent") for _ in range(3)]
    checkpoint = planes.arrive("t", "", Kind.CHECKPOINT, "parent")
    waiting = threading.Thread(target=run, args=(None, waits_for(checkpoint, landed, "checkpoint")))
    waiting.start()
    for operation in reversed(writes):
        assert landed == [] and not checkpoint.is_ready()
        operation.finish()
    waiting.join(DEADLINE_S)
    assert landed == ["checkpoint"] and len(planes) == 0


async def test_tasks_of_one_loop_wait_for_each_other() -> None:
    planes, landed = Planes(), []
    operations = [planes.arrive("t", "", Kind.CHECKPOINT, "parent") for _ in range(20)]
    steps = [waits_for(o, landed, str(n)) for n, o in enumerate(operations)]
    tasks = [asyncio.create_task(adrive(None, s)) for s in reversed(steps)]
    await asyncio.wait_for(asyncio.gather(*tasks), DEADLINE_S)
    assert landed == [str(n) for n in range(20)] and len(planes) == 0


async def test_a_cancelled_wait_holds_up_nothing() -> None:
    planes, landed = Planes(), []
    first = planes.arrive("t", "", Kind.CHECKPOINT, "parent")
    second = asyncio.create_task(
        adrive(None, waits_for(planes.arrive("t", "", Kind.CHECKPOINT, "parent"), landed, "second"))
    )
    third = asyncio.create_task(
        adrive(None, waits_for(planes.arrive("t", "", Kind.CHECKPOINT, "parent"), landed, "third"))
    )
    await asyncio.sleep(0)
    second.cancel()
    with pytest.raises(asyncio.CancelledError):
        await second
    assert landed == []
    first.finish()
    await asyncio.wait_for(third, DEADLINE_S)
    assert landed == ["third"] and len(planes) == 0


def test_a_waiter_whose_loop_is_closed_holds_up_nobody() -> None:
    planes, landed = Planes(), []
    first = planes.arrive("t", "", Kind.CHECKPOINT, "parent")
    loop = asyncio.new_event_loop()
    steps = waits_for(planes.arrive("t", "", Kind.CHECKPOINT, "parent"), landed, "never")
    task = loop.create_task(adrive(None, steps))
    loop.run_until_complete(asyncio.sleep(0))
    task.cancel()
    loop.run_until_complete(asyncio.gather(task, return_exceptions=True))
    third = planes.arrive("t", "", Kind.CHECKPOINT, "parent")
    loop.close()
    first.finish()
    drive(None, waits_for(third, landed, "third"))
    assert landed == ["third"] and len(planes) == 0


# -- planes ----------------------------------------------------------------------------------------------------------


def test_planes_do_not_wait_for_each_other_and_are_forgotten() -> None:
    planes = Planes()
    held = [planes.arrive(thread, namespace, Kind.WRITES, "parent") for thread in "ab" for namespace in ("", "n")]
    assert len(planes) == 4
    other = planes.arrive("c", "", Kind.CHECKPOINT, "parent")
    assert other.is_ready() and not planes.arrive("a", "", Kind.CHECKPOINT, "parent").is_ready()
    for operation in (other, *held):
        operation.finish()
        operation.finish()
    gc.collect()
    assert len(planes) == 0


def test_a_checkpoint_waits_for_writes_to_its_parent_only() -> None:
    planes = Planes()
    others = [planes.arrive("t", "", Kind.WRITES, "checkpoint"), planes.arrive("t", "", Kind.WRITES, "later")]
    checkpoint = planes.arrive("t", "", Kind.CHECKPOINT, "parent")
    assert checkpoint.is_ready()
    first = planes.arrive("u", "", Kind.CHECKPOINT, None)
    second = planes.arrive("u", "", Kind.CHECKPOINT, "parent")
    assert first.is_ready() and not second.is_ready(), "checkpoints land in order, whatever their parents"
    for operation in (checkpoint, first, second, *others):
        operation.finish()
    assert len(planes) == 0


def test_writes_wait_for_nothing() -> None:
    planes = Planes()
    checkpoint = planes.arrive("t", "", Kind.CHECKPOINT, "parent")
    writes = planes.arrive("t", "", Kind.WRITES, "parent")
    assert writes.is_ready()
    writes.finish()
    checkpoint.finish()
    assert len(planes) == 0


def test_an_operation_that_is_dropped_holds_up_nothing() -> None:
    """A coroutine that is never awaited, a run that is killed in this process."""
    planes, woken = Planes(), []
    dropped = planes.arrive("t", "", Kind.WRITES, "parent")
    checkpoint = planes.arrive("t", "", Kind.CHECKPOINT, "parent")
    checkpoint.wake(lambda: woken.append(True))
    assert not checkpoint.is_ready() and not woken
    del dropped
    gc.collect()
    assert checkpoint.is_ready() and woken == [True]
    checkpoint.finish()
    assert len(planes) == 0


def test_a_waker_is_called_for_each_landing_until_its_own() -> None:
    planes, woken = Planes(), []
    first, second = planes.arrive("t", "", Kind.WRITES, "parent"), planes.arrive("t", "", Kind.WRITES, "parent")
    checkpoint = planes.arrive("t", "", Kind.CHECKPOINT, "parent")
    last = planes.arrive("t", "", Kind.WRITES, "parent")
    checkpoint.wake(lambda: woken.append(checkpoint.is_ready()))
    first.finish()
    second.finish()
    assert woken == [False, True]
    checkpoint.finish()
    last.finish()
    assert woken == [False, True] and len(planes) == 0


def test_a_waker_may_do_what_it_likes_with_the_plane() -> None:
    planes, more = Planes(), []
    first = planes.arrive("t", "", Kind.WRITES, "parent")
    checkpoint = planes.arrive("t", "", Kind.CHECKPOINT, "parent")

    def waker() -> None:
        checkpoint.finish()
        more.append(planes.arrive("t", "", Kind.WRITES, "parent"))
        checkpoint.wake(lambda: None)

    checkpoint.wake(waker)
    first.finish()
    assert len(more) == 1 and len(planes) == 1
    more.pop().finish()
    assert len(planes) == 0


def test_operations_keep_their_planes_alive_and_leave_no_cycle() -> None:
    class Waker:
        def __call__(self) -> None: ...

    import weakref

    planes = Planes()
    first = planes.arrive("t", "", Kind.WRITES, "parent")
    checkpoint = planes.arrive("t", "", Kind.CHECKPOINT, "parent")
    waker = Waker()
    freed = weakref.ref(waker)
    checkpoint.wake(waker)
    del planes, waker
    first.finish()
    assert freed() is not None
    checkpoint.finish()
    gc.collect()
    assert freed() is None, "the waker of an operation that has landed is kept"


def test_many_threads_land_in_order() -> None:
    """Eight threads, one plane: a checkpoint never lands before what arrived earlier, and nobody is stuck."""
    planes, lock = Planes(), threading.Lock()
    arrived: list[tuple[int, Kind]] = []
    landed: list[int] = []
    failures: list[BaseException] = []

    def steps(operation: Any, number: int) -> Any:
        try:
            if not operation.is_ready():
                yield Await(operation)
            with lock:
                landed.append(number)
        finally:
            operation.finish()

    def work(own: int) -> None:
        try:
            for n in range(100):
                kind = Kind.CHECKPOINT if (n + own) % 4 == 0 else Kind.WRITES
                with lock:
                    operation, number = planes.arrive("t", "", kind, "parent"), len(arrived)
                    arrived.append((number, kind))
                drive(None, steps(operation, number))
        except BaseException as e:
            failures.append(e)

    workers = [threading.Thread(target=work, args=(own,)) for own in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(DEADLINE_S)
    assert not failures and len(landed) == 800 and len(planes) == 0
    seen: set[int] = set()
    lowest = 0  # every number below it has landed
    for number in landed:
        if arrived[number][1] == Kind.CHECKPOINT:
            assert lowest == number, f"checkpoint {number} landed before {lowest}"
        seen.add(number)
        while lowest in seen:
            lowest += 1
