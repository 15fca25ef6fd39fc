"""What wrapping costs: the full interrupt protocol, stock against wrapped, in interleaved pairs.

    python benchmarks/python/protocol.py [--rounds N] [--backend memory|sqlite|postgres]... [--async]

One protocol is a fresh thread from its input to its end: two nodes, a gate that parks the run, the answer, one node
more. A round is a pair: the protocol once per column, one directly after the other, and the column that goes first
alternates. What is reported is the median of the rounds' ratios, with a bootstrap 95% interval, and both columns'
medians. See benchmarks/README.md for the other options and for what the numbers mean.

Timer: `time.perf_counter_ns` around the two calls of a protocol, nothing else. Garbage collection: after the warm-up
the heap is frozen; the collector is off while a protocol runs and is run before each, untimed, so that a collection
does not fall on one column by chance (`--gc on` leaves the collector alone, as an application would).
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import multiprocessing
import operator
import sys
import tempfile
import time
import uuid
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AsyncExitStack
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Annotated, Any, TypedDict, TypeVar

import backends
import record
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

RESULTS = Path(__file__).resolve().parent.parent / "results"
T = TypeVar("T")


class State(TypedDict, total=False):
    """A list that grows by a reducer, and the answer."""

    log: Annotated[list[int], operator.add]
    answer: str


def build(saver: Any) -> Any:
    """The graph: two nodes, the gate, one node."""

    def step(number: int) -> Any:
        return lambda state: {"log": [number]}

    def gate(state: State) -> State:
        return {"answer": interrupt("go on?")}

    builder = StateGraph(State)
    builder.add_node("first", step(1))
    builder.add_node("second", step(2))
    builder.add_node("gate", gate)
    builder.add_node("last", step(3))
    builder.add_edge(START, "first")
    builder.add_edge("first", "second")
    builder.add_edge("second", "gate")
    builder.add_edge("gate", "last")
    builder.add_edge("last", END)
    return builder.compile(checkpointer=saver)


class Column:
    """One column's graph, and how a protocol on it is timed."""

    def __init__(self, saver: Any, name: str, args: argparse.Namespace) -> None:
        if name != "stock":
            # Imported here: with `--processes`, the stock column's process must not know the package.
            from remit import RemitSaver

            saver = RemitSaver(saver, cross_process_gate=name == "gated")
        self._graph, self._args = build(saver), args

    async def round(self, number: int) -> int:
        """Run one protocol on a fresh thread and return its nanoseconds."""
        if number == self._args.warmup:
            gc.collect()
            gc.freeze()
        if self._args.gc == "off":
            gc.enable()
            gc.collect()
            gc.disable()
        config = {"configurable": {"thread_id": uuid.uuid4().hex}}
        start: dict[str, list[int]] = {"log": []}
        answer: Command[Any] = Command(resume="yes")
        if self._args.is_async:
            began = time.perf_counter_ns()
            await self._graph.ainvoke(start, config)
            result = await self._graph.ainvoke(answer, config)
        else:
            began = time.perf_counter_ns()
            self._graph.invoke(start, config)
            result = self._graph.invoke(answer, config)
        took = time.perf_counter_ns() - began
        # A wrong result must not be measured as a fast one.
        if result != {"log": [1, 2, 3], "answer": "yes"}:
            raise RuntimeError(f"the protocol came to {result!r}")
        return took


Round = Callable[[int], Awaitable[int]]


async def measure(first: Round, second: Round, args: argparse.Namespace) -> list[tuple[int, int]]:
    """The rounds after the warm-up, each as nanoseconds (first column, second column)."""
    pairs: list[tuple[int, int]] = []
    for number in range(args.warmup + args.rounds):
        if number % 2:
            b, a = await second(number), await first(number)
        else:
            a, b = await first(number), await second(number)
        if number >= args.warmup:
            pairs.append((a, b))
    return pairs


async def in_one_process(
    backend: str, places: list[str], columns: list[str], args: argparse.Namespace
) -> list[tuple[int, int]]:
    """Both columns here, by turns."""
    async with AsyncExitStack() as stack:
        savers = [await backends.open_saver(backend, place, args.is_async, stack) for place in places]
        first, second = (Column(saver, name, args) for saver, name in zip(savers, columns, strict=True))
        try:
            return await measure(first.round, second.round, args)
        finally:
            gc.enable()
            gc.unfreeze()


async def in_two_processes(
    backend: str, places: list[str], columns: list[str], args: argparse.Namespace
) -> list[tuple[int, int]]:
    """Each column in a process of its own, in lockstep: one waits while the other runs."""
    spawn = multiprocessing.get_context("spawn")
    rounds: list[Round] = []
    connections: list[Connection] = []
    workers = []
    for place, name in zip(places, columns, strict=True):
        here, there = spawn.Pipe()
        workers.append(spawn.Process(target=work, args=(there, backend, place, name, args), daemon=True))
        workers[-1].start()
        there.close()
        connections.append(here)

        async def round(number: int, connection: Connection = here) -> int:
            connection.send(number)
            return int(connection.recv())

        rounds.append(round)
    try:
        return await measure(rounds[0], rounds[1], args)
    finally:
        for connection in connections:
            connection.close()
        for worker in workers:
            worker.join()


def work(connection: Connection, backend: str, place: str, name: str, args: argparse.Namespace) -> None:
    """A worker process: one protocol for each number that comes in, until the other end closes."""

    async def serve() -> None:
        async with AsyncExitStack() as stack:
            column = Column(await backends.open_saver(backend, place, args.is_async, stack), name, args)
            while True:
                try:
                    number = connection.recv()
                except EOFError:
                    return
                connection.send(await column.round(number))

    run(serve(), args)


async def benchmark(backend: str, args: argparse.Namespace) -> dict[str, Any]:
    """Measure one backend and return what is written to its file."""
    columns = ["stock", "stock" if args.control else "gated" if args.gate else "remit"]
    async with AsyncExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="remit-bench-")))
        places, server = backends.two_places(backend, directory, stack)
        way = in_two_processes if args.processes else in_one_process
        pairs = await way(backend, places, columns, args)
    return {
        "benchmark": "protocol",
        "backend": backend,
        "mode": "async" if args.is_async else "sync",
        "columns": columns,
        "processes": 2 if args.processes else 1,
        "rounds": args.rounds,
        "warmup": args.warmup,
        "gc": args.gc,
        "timer": "time.perf_counter_ns",
        **record.summarize(pairs),
        "server": server,
        **record.environment(),
    }


def run(coroutine: Coroutine[Any, Any, T], args: argparse.Namespace) -> T:
    """Run a coroutine: on an event loop, or without one, for sync savers are measured as they are used."""
    if args.is_async:
        return asyncio.run(coroutine)
    try:
        coroutine.send(None)
    except StopIteration as stop:
        value: T = stop.value
        return value
    raise RuntimeError("a sync benchmark waited for an event loop")


def parse(argv: list[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=200, help="pairs that are measured (default 200)")
    parser.add_argument("--warmup", type=int, default=20, help="pairs before that (default 20)")
    parser.add_argument(
        "--backend", action="append", choices=backends.NAMES, help="can be repeated; all three if not given"
    )
    parser.add_argument("--async", dest="is_async", action="store_true", help="async savers and `ainvoke`")
    parser.add_argument("--control", action="store_true", help="stock against stock: what the method itself sees")
    parser.add_argument("--gate", action="store_true", help="the wrapped column has the consume gate on")
    parser.add_argument("--processes", action="store_true", help="each column in a process of its own, in lockstep")
    parser.add_argument("--gc", choices=("off", "on"), default="off", help="the collector during a round")
    parser.add_argument("--out", type=Path, default=RESULTS, help="directory of the JSON files")
    args = parser.parse_args(argv)
    if args.rounds < 2 or args.warmup < 0:
        parser.error("--rounds must be at least 2 and --warmup at least 0")
    return args


def main(argv: list[str] | None = None) -> None:
    """Measure, print, write."""
    args = parse(argv)
    args.out.mkdir(parents=True, exist_ok=True)
    for backend in args.backend or backends.NAMES:
        result = run(benchmark(backend, args), args)
        options = {
            "async": args.is_async,
            "control": args.control,
            "gate": args.gate,
            "processes": args.processes,
        }
        suffix = "".join(f"-{name}" for name, given in options.items() if given)
        path = args.out / f"protocol-{backend}{suffix}.json"
        record.write(path, result)
        print(record.line(result), flush=True)
        print(f"wrote {path.name}", file=sys.stderr)


if __name__ == "__main__":
    main()
