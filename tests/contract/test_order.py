"""Order: a checkpoint never lands before the pending writes that arrived before it, and nothing waits for ever.

The stock savers land operations in whatever order their threads and tasks happen to run (public reports
langgraph#8039, #8234): a process that dies in `put` then runs a finished task again.
"""

from __future__ import annotations

import asyncio
import contextlib
import operator
import os
import signal
import sqlite3
import threading
from typing import Annotated, Any, TypedDict

import aiosqlite
import pytest
from conftest import STOCK
from crash import CONTEXT, DEADLINE_S
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import START, StateGraph
from ledger import Ledger
from remit import RemitOrderViolation, RemitPrefixViolation, RemitSaver
from waiting import aends, ends

# How long delayed writes wait for the checkpoint that must not come. Only this long is what is right delayed.
PATIENCE_S = 0.3
ROOT: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}


def wrap(inner: Any) -> Any:
    return inner if STOCK else RemitSaver(inner)


def at(checkpoint: Any, thread: str = "t", namespace: str = "") -> Any:
    return {"configurable": {"thread_id": thread, "checkpoint_ns": namespace, "checkpoint_id": checkpoint["id"]}}


def under_way(saver: Any) -> int:
    return 0 if STOCK else len(saver._protocol.planes)


class Log(TypedDict, total=False):
    log: Annotated[list[Any], operator.add]


class Delaying(InMemorySaver):
    """Pending writes take until a checkpoint has come, or until it is clear that none comes."""

    def __init__(self) -> None:
        super().__init__()
        self.landed: list[str] = []
        self.came = threading.Event()
        self.begun = threading.Event()

    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        self.begun.set()
        self.came.wait(PATIENCE_S)
        super().put_writes(config, writes, task_id, task_path)
        self.landed.append("writes")

    def put(self, config: Any, *args: Any) -> Any:
        self.came.set()
        stored = super().put(config, *args)
        self.landed.append("checkpoint")
        return stored

    async def aput_writes(self, *args: Any) -> None:
        await asyncio.to_thread(self.put_writes, *args)

    async def aput(self, *args: Any) -> Any:
        return await asyncio.to_thread(self.put, *args)


def test_checkpoint_waits_for_earlier_writes() -> None:
    """Stock lands the checkpoint first."""
    inner = Delaying()
    saver, first = wrap(inner), empty_checkpoint()
    writing = threading.Thread(target=saver.put_writes, args=(at(first), [("a", 1)], "task"))
    writing.start()
    assert inner.begun.wait(DEADLINE_S)
    ends(lambda: saver.put(at(first), empty_checkpoint(), {}, {}))
    writing.join()
    assert inner.landed == ["writes", "checkpoint"]
    assert under_way(saver) == 0


def test_checkpoint_waits_for_earlier_writes_async() -> None:
    """Stock lands the checkpoint first."""
    inner = Delaying()
    saver, first = wrap(inner), empty_checkpoint()

    async def main() -> None:
        writing = asyncio.ensure_future(saver.aput_writes(at(first), [("a", 1)], "task"))
        await saver.aput(at(first), empty_checkpoint(), {}, {})
        await writing

    aends(main)
    assert inner.landed == ["writes", "checkpoint"]
    assert under_way(saver) == 0


@pytest.mark.parametrize("other", [("t2", ""), ("t", "child:1")])
def test_other_planes_do_not_wait(other: tuple[str, str]) -> None:
    """Guard: another thread's or namespace's checkpoint lands while these writes are under way."""
    inner = Delaying()
    saver, first = wrap(inner), empty_checkpoint()
    writing = threading.Thread(target=saver.put_writes, args=(at(first), [("a", 1)], "task"))
    writing.start()
    assert inner.begun.wait(DEADLINE_S)
    ends(lambda: saver.put(at(first, *other), empty_checkpoint(), {}, {}))
    writing.join()
    assert inner.landed == ["checkpoint", "writes"]


def test_writes_do_not_wait_for_writes() -> None:
    """Guard: parallel tasks stay parallel."""
    both = threading.Barrier(2, timeout=DEADLINE_S)

    class Meeting(InMemorySaver):
        def put_writes(self, *args: Any) -> None:
            both.wait()
            super().put_writes(*args)

    saver, first = wrap(Meeting()), empty_checkpoint()
    threads = [threading.Thread(target=saver.put_writes, args=(at(first), [("a", 1)], f"task{n}")) for n in "12"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not both.broken


# -- death ---------------------------------------------------------------------------------------------------------


class DyingSaver(SqliteSaver):
    came: threading.Event

    def put_writes(self, *args: Any) -> None:
        self.came.wait(PATIENCE_S)
        super().put_writes(*args)

    def put(self, config: Any, checkpoint: Any, metadata: Any, versions: Any) -> Any:
        if metadata["step"] == 1:
            self.came.set()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().put(config, checkpoint, metadata, versions)


class DyingAsyncSaver(AsyncSqliteSaver):
    came: asyncio.Event

    async def aput_writes(self, *args: Any) -> None:
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self.came.wait(), PATIENCE_S)
        await super().aput_writes(*args)

    async def aput(self, config: Any, checkpoint: Any, metadata: Any, versions: Any) -> Any:
        if metadata["step"] == 1:
            self.came.set()
            os.kill(os.getpid(), signal.SIGKILL)
        return await super().aput(config, checkpoint, metadata, versions)


def sending(saver: Any, ledger: Ledger) -> Any:
    def send(_: Any) -> Any:
        ledger.fire("send")
        return {"log": ["sent"]}

    return StateGraph(Log).add_node("send", send).add_edge(START, "send").compile(checkpointer=saver)


def _die(path: str, ledger: str, durability: Any) -> None:
    inner = DyingSaver(sqlite3.connect(path, check_same_thread=False))
    inner.came = threading.Event()
    sending(wrap(inner), Ledger(ledger)).invoke({"log": []}, ROOT, durability=durability)


def _die_async(path: str, ledger: str, durability: Any) -> None:
    async def main() -> None:
        async with aiosqlite.connect(path) as file:
            inner = DyingAsyncSaver(file)
            inner.came = asyncio.Event()
            await sending(wrap(inner), Ledger(ledger)).ainvoke({"log": []}, ROOT, durability=durability)

    asyncio.run(main())


@pytest.mark.parametrize("durability", ["sync", "async"])
@pytest.mark.parametrize("die", [_die, _die_async])
def test_death_in_put_runs_nothing_again(die: Any, durability: str, ledger: Ledger, tmp_path: Any) -> None:
    """Stock has lost the finished task's writes, and sends twice."""
    path = str(tmp_path / "store.db")
    process = CONTEXT.Process(target=die, args=(path, ledger.path, durability))
    process.start()
    process.join(DEADLINE_S)
    assert process.exitcode == -signal.SIGKILL
    file = sqlite3.connect(path, check_same_thread=False)
    try:
        graph = sending(wrap(SqliteSaver(file)), ledger)
        assert graph.invoke(None, ROOT) == {"log": ["sent"]}
    finally:
        file.close()
    assert ledger.fired("send") == [None]


# -- nothing waits for ever ------------------------------------------------------------------------------------------


async def _node(_: Any) -> Any:
    return {"log": [1]}


def wide(saver: Any, width: int, steps: int = 1) -> Any:
    builder = StateGraph(Log)
    for n in range(width):
        for step in range(steps):
            builder.add_node(f"n{n}.{step}", _node)
            builder.add_edge(f"n{n}.{step - 1}" if step else START, f"n{n}.{step}")
    return builder.compile(checkpointer=saver)


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
@pytest.mark.parametrize("concurrency", [1, 2])
@pytest.mark.parametrize("width", [1, 3])
def test_few_tasks_at_a_time(width: int, concurrency: int, durability: Any) -> None:
    """Guard. The checkpoint holds one of the loop's few places while it waits, so it must not wait for the writes
    of a later step, which need a place themselves."""
    graph = wide(wrap(InMemorySaver()), width, 2)
    config = {**ROOT, "max_concurrency": concurrency}
    assert len(aends(lambda: graph.ainvoke({"log": []}, config, durability=durability))["log"]) == 2 * width


def test_checkpoint_does_not_wait_for_its_own_writes() -> None:
    """Guard: writes *to* a checkpoint may arrive before it is stored; only those to its parent come before it."""
    saver, first, second = wrap(InMemorySaver()), empty_checkpoint(), empty_checkpoint()

    async def main() -> None:
        later = saver.aput_writes(at(second), [("a", 1)], "task")
        await saver.aput(at(first), second, {}, {})
        await later

    aends(main)


def test_cancelled_writes_hold_up_nothing() -> None:
    """Guard. The task is kept, as by an exception's traceback or the caller's list of tasks."""
    saver, first = wrap(InMemorySaver()), empty_checkpoint()

    async def main() -> None:
        writing = asyncio.ensure_future(saver.aput_writes(at(first), [("a", 1)], "task"))
        writing.cancel()
        await asyncio.wait([writing])
        await saver.aput(at(first), empty_checkpoint(), {}, {})
        assert writing.cancelled()

    aends(main)
    assert under_way(saver) == 0


def test_cancelled_run_ends_and_the_next_goes_on() -> None:
    """Guard: a run is cancelled while its writes are under way; the next run of the thread completes."""

    class Gated(InMemorySaver):
        async def aput_writes(self, *args: Any) -> None:
            self.begun.set()
            await self.gate.wait()
            await super().aput_writes(*args)

    inner = Gated()
    saver = wrap(inner)

    async def main() -> Any:
        inner.begun, inner.gate = asyncio.Event(), asyncio.Event()
        graph = wide(saver, 2, 2)
        run = asyncio.ensure_future(graph.ainvoke({"log": []}, ROOT))
        await inner.begun.wait()
        run.cancel()
        await asyncio.sleep(0)
        inner.gate.set()
        with pytest.raises(asyncio.CancelledError) as held:
            await run
        result = await graph.ainvoke({"log": []}, ROOT)
        return result, held

    assert len(aends(main)[0]["log"]) >= 4
    assert under_way(saver) == 0


def test_blocking_put_on_the_loops_own_thread() -> None:
    """Guard: `update_state`, called on the thread of the event loop, cannot wait for a task of that loop."""
    saver, first = wrap(InMemorySaver()), empty_checkpoint()

    async def main() -> None:
        writing = asyncio.ensure_future(saver.aput_writes(at(first), [("a", 1)], "task"))
        saver.put(at(first), empty_checkpoint(), {}, {})
        await writing

    aends(main)
    assert under_way(saver) == 0


class Failing(InMemorySaver):
    error = RuntimeError("disk full")

    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        raise self.error

    # not a coroutine function: it fails when it is called, not when it is awaited
    def aput_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> Any:
        raise self.error


@pytest.mark.parametrize("task_id", ["task", "00000000-0000-0000-0000-000000000000"])
def test_failing_writes_hold_up_nothing(task_id: str) -> None:
    """Guard. The error is the inner saver's own, and is kept."""
    saver, first = wrap(Failing()), empty_checkpoint()
    with pytest.raises(RuntimeError) as held:
        saver.put_writes(at(first), [("a", 1)], task_id)
    ends(lambda: saver.put(at(first), empty_checkpoint(), {}, {}))
    assert held.value is Failing.error
    assert under_way(saver) == 0


@pytest.mark.parametrize("task_id", ["task", "00000000-0000-0000-0000-000000000000"])
def test_writes_that_fail_when_called_hold_up_nothing(task_id: str) -> None:
    """Guard."""
    saver, first = wrap(Failing()), empty_checkpoint()

    async def main() -> Any:
        with pytest.raises(RuntimeError) as held:
            await saver.aput_writes(at(first), [("a", 1)], task_id)
        await saver.aput(at(first), empty_checkpoint(), {}, {})
        return held.value

    assert aends(main) is Failing.error
    assert under_way(saver) == 0


def test_failing_checkpoint_holds_up_nothing() -> None:
    """Guard."""

    class Once(InMemorySaver):
        failed = False

        def put(self, *args: Any) -> Any:
            if not self.failed:
                self.failed = True
                raise RuntimeError("locked")
            return super().put(*args)

    saver, first = wrap(Once()), empty_checkpoint()
    with pytest.raises(RuntimeError, match="locked"):
        saver.put(at(first), empty_checkpoint(), {}, {})
    ends(lambda: saver.put(at(first), empty_checkpoint(), {}, {}))
    assert under_way(saver) == 0


def test_interrupted_wait_holds_up_nothing() -> None:
    """Guard: Ctrl-C in the inner saver."""

    class Interrupted(InMemorySaver):
        def put_writes(self, *args: Any) -> None:
            raise KeyboardInterrupt

    saver, first = wrap(Interrupted()), empty_checkpoint()
    with pytest.raises(KeyboardInterrupt):
        saver.put_writes(at(first), [("a", 1)], "task")
    ends(lambda: saver.put(at(first), empty_checkpoint(), {}, {}))
    assert under_way(saver) == 0


def test_many_runs_at_once_leave_nothing_behind() -> None:
    """Guard: runs of several threads and of one thread, on one loop and in several threads."""
    saver = wrap(InMemorySaver())
    graph = wide(saver, 3, 2)

    async def main() -> Any:
        runs = [graph.ainvoke({"log": []}, {"configurable": {"thread_id": f"t{n % 4}"}}) for n in range(12)]
        return await asyncio.gather(*runs, return_exceptions=True)

    results = aends(main)
    stored = [result for result in results if not isinstance(result, Exception)]
    assert {type(result).__name__ for result in results} - {"dict"} <= {"RemitOrderViolation"}
    assert len(stored) >= 4, "of each thread's runs one is stored, by RemitSaver no other"
    assert all(len(result["log"]) >= 6 for result in stored)
    assert under_way(saver) == 0


@pytest.mark.filterwarnings("error")
def test_dropped_operations_leave_nothing_behind() -> None:
    """Guard: coroutines that are closed before they start keep no record, and no warning is shown of another one
    inside them that was never awaited."""
    saver, first = wrap(InMemorySaver()), empty_checkpoint()

    async def main() -> None:
        for n in range(100):
            dropped = saver.aput_writes(at(first), [("a", n)], "task")
            dropped.close()
            await saver.aput_writes(at(first), [("a", n)], f"task{n}")

    aends(main)
    assert under_way(saver) == 0


# -- lineage ---------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(STOCK, reason="stock has no such refusal")
def test_checkpoint_out_of_its_runs_line_is_refused(saver_factory: Any) -> None:
    """A run stores checkpoints on the one it stands on, and none twice. Stock stores whatever comes."""
    saver = saver_factory.wrapped()
    head = empty_checkpoint()
    saver.put(ROOT, head, {"source": "input", "step": -1, "parents": {}}, {})
    loop: Any = {"configurable": {**ROOT["configurable"], "__pregel_runtime": object()}}
    run = saver.get_tuple(loop).config["configurable"]  # as a loop reads, so that its writes are known for one run's

    def put(checkpoint: Any, parent: Any) -> Any:
        config = {"configurable": {**run, "checkpoint_id": parent["id"]}}
        return saver.put(config, checkpoint, {"source": "loop", "step": 1, "parents": {}}, {})

    first, second, stray = empty_checkpoint(), empty_checkpoint(), empty_checkpoint()
    put(first, head)
    with pytest.raises(RemitOrderViolation) as refused:
        put(stray, head)
    assert refused.value.code == "out-of-lineage"
    assert (refused.value.thread, refused.value.checkpoint) == ("t", stray["id"])
    put(second, first)
    with pytest.raises(RemitPrefixViolation):
        put(first, second)
    stored = {found.checkpoint["id"] for found in saver.list(ROOT)}
    assert stored == {head["id"], first["id"], second["id"]}
