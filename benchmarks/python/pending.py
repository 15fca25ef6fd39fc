"""What `saver.pending()` costs beside much history, with the index that `setup()` makes and without; and what that index
costs whoever writes.

    python benchmarks/python/pending.py [--threads N] [--open N] [--backend sqlite|postgres]... [--out DIRECTORY]

One thread is run by LangGraph up to its question, and one to its end; their rows are copied to many threads in SQL.
`pending_ms` lists all that is open, `page_ms` a page of ten; `write_ratio` is one batch of a node's ordinary writes through the
stock saver, with the index over without, in interleaved pairs; `question_ratio` the same of a batch that parks.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, TypedDict

import backends
import record
from langgraph.graph import START, StateGraph
from langgraph.types import Command, Interrupt, interrupt
from remit import RemitSaver

RESULTS = Path(__file__).parents[1] / "results"
COLUMNS = {
    "sqlite": {
        "checkpoints": "checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata",
        "writes": "checkpoint_ns, checkpoint_id, task_id, idx, channel, type, value",
    },
    "postgres": {
        "checkpoints": "checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata",
        "checkpoint_writes": "checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, blob",
    },
}


class State(TypedDict, total=False):
    """Nothing."""

    v: Any


def fill(saver: Any, backend: str, threads: int, parked: int) -> None:
    """Threads that ended, and some that are parked."""
    graph = (
        StateGraph(State)
        .add_node("ask", lambda _: {"v": interrupt("?")})
        .add_edge(START, "ask")
        .compile(checkpointer=saver)
    )
    for thread in ("parked", "ended"):
        graph.invoke({"v": 0}, {"configurable": {"thread_id": thread}})
    graph.invoke(Command(resume="yes"), {"configurable": {"thread_id": "ended"}})
    for thread, count in (("parked", parked), ("ended", threads - parked)):
        for table, columns in COLUMNS[backend].items():
            numbers = (
                f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count - 1})"
                if backend == "sqlite"
                else f"WITH n(i) AS (SELECT * FROM generate_series(1, {count - 1}))"
            )
            execute(
                saver,
                f"{numbers} INSERT INTO {table} (thread_id, {columns})"
                f" SELECT '{thread} ' || n.i, {columns} FROM {table}, n WHERE thread_id = '{thread}'",
            )
    execute(saver, "ANALYZE")


def execute(saver: Any, statement: str) -> None:
    """Runs one statement."""
    if hasattr(saver, "cursor"):
        with saver.cursor() as cursor:
            cursor.execute(statement)
    else:
        saver.conn.execute(statement)


def timed(call: Callable[[], Any], times: int) -> float:
    """The median, in milliseconds."""
    took = []
    for _ in range(times):
        began = time.perf_counter_ns()
        call()
        took.append(time.perf_counter_ns() - began)
    return round(statistics.median(took) / 1e6, 3)


def write_cost(first: Any, second: Any, rounds: int, channel: str, value: Any) -> dict[str, Any]:
    """One batch of writes, on a saver without the index and on one with it."""
    pairs = []
    for n in range(rounds):
        took = {}
        for saver in (first, second) if n % 2 else (second, first):
            config = {"configurable": {"thread_id": f"w{n % 50}", "checkpoint_ns": "", "checkpoint_id": f"{n:032x}"}}
            began = time.perf_counter_ns()
            saver.put_writes(config, [(channel, value)], f"{n:036x}")
            took[id(saver)] = time.perf_counter_ns() - began
        if n >= rounds // 10:
            pairs.append((took[id(first)], took[id(second)]))
    return record.summarize(pairs)["paired_ratio"]  # type: ignore[no-any-return]


async def benchmark(backend: str, args: argparse.Namespace) -> dict[str, Any]:
    """Measure one backend."""
    async with AsyncExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="remit-bench-")))
        places, server = backends.two_places(backend, directory, stack)
        stock, indexed = [await backends.open_saver(backend, place, False, stack) for place in places]
        question = (Interrupt(value="?", id="0" * 32),)
        result: dict[str, Any] = {}
        RemitSaver(indexed).setup()
        result["write_ratio"] = write_cost(stock, indexed, args.rounds, "v", 1)
        result["question_ratio"] = write_cost(stock, indexed, args.rounds, "__interrupt__", question)
        fill(stock, backend, args.threads, args.open)
        saver = RemitSaver(stock)
        assert len(saver.pending()) == args.open
        for name in ("without_index", "with_index"):
            result[name] = {
                "pending_ms": timed(saver.pending, args.times),
                "page_ms": timed(lambda: saver.pending(limit=10), args.times),
            }
            began = time.perf_counter_ns()
            saver.setup()
            result.setdefault("index_made_in_ms", round((time.perf_counter_ns() - began) / 1e6, 1))
            execute(stock, "ANALYZE")
    return {
        "benchmark": "pending",
        "backend": backend,
        "threads": args.threads,
        "open": args.open,
        "rounds": args.rounds,
        **result,
        "server": server,
        **record.environment(),
    }


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=100_000)
    parser.add_argument("--open", type=int, default=100)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=2000)
    parser.add_argument("--backend", action="append", choices=("sqlite", "postgres"))
    parser.add_argument("--out", type=Path, default=RESULTS, help="directory of the JSON files")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    for backend in args.backend or ("sqlite", "postgres"):
        result = asyncio.run(benchmark(backend, args))
        record.write(args.out / f"pending-{backend}.json", result)
        told = [f"{name}: {result[name]}" for name in ("without_index", "with_index")]
        ratios = [
            f"{name} {result[name]['median']:.4f} {result[name]['interval95']}"
            for name in ("write_ratio", "question_ratio")
        ]
        print(f"{backend:9} {'   '.join([*told, *ratios])}", flush=True)


if __name__ == "__main__":
    main()
