"""What an effect costs: a node's `effect(...)` beside the bare call, in interleaved pairs.

    python benchmarks/python/effect.py [--rounds N] [--backend memory|sqlite|postgres]...

One node fires all effects, each after a bare call of the same function or before it, by turns; the function does nothing.
`first_ms` is the bare call, `second_ms` the effect, `added_ms` the difference of the medians: an admission and a
settlement, each one statement that is committed. The thread is new, and what is stored of it grows with the rounds: the
medians of the first and the last tenth are told, to show whether an admission's cost grows with history.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import tempfile
import time
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, TypedDict

import backends
import record
from langgraph.graph import START, StateGraph
from remit import RemitSaver, effect


class State(TypedDict, total=False):
    """Nothing."""

    v: int


def nothing(number: int) -> int:
    """The effect."""
    return number


def measure(saver: Any, rounds: int, warmup: int) -> list[tuple[int, int]]:
    """Pairs of nanoseconds, (bare call, effect)."""
    pairs: list[tuple[int, int]] = []

    def bare(number: int) -> int:
        began = time.perf_counter_ns()
        nothing(number)
        return time.perf_counter_ns() - began

    def recorded(number: int) -> int:
        began = time.perf_counter_ns()
        effect("nothing", nothing, number)
        return time.perf_counter_ns() - began

    def node(_: State) -> State:
        for number in range(warmup + rounds):
            if number % 2:
                b, a = recorded(number), bare(number)
            else:
                a, b = bare(number), recorded(number)
            if number >= warmup:
                pairs.append((a, b))
        return {}

    graph = StateGraph(State).add_node("node", node).add_edge(START, "node").compile(checkpointer=RemitSaver(saver))
    graph.invoke({"v": 0}, {"configurable": {"thread_id": "t"}})
    return pairs


async def benchmark(backend: str, args: argparse.Namespace) -> dict[str, Any]:
    """Measure one backend."""
    async with AsyncExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="remit-bench-")))
        places, server = backends.two_places(backend, directory, stack)
        saver = await backends.open_saver(backend, places[0], False, stack)
        pairs = await asyncio.to_thread(measure, saver, args.rounds, args.warmup)
    tenth = max(1, len(pairs) // 10)
    summary = record.summarize(pairs)
    return {
        "benchmark": "effect",
        "backend": backend,
        "rounds": args.rounds,
        "added_ms": round(summary["second_ms"]["median"] - summary["first_ms"]["median"], 4),
        "first_tenth_ms": round(statistics.median(b for _, b in pairs[:tenth]) / 1e6, 4),
        "last_tenth_ms": round(statistics.median(b for _, b in pairs[-tenth:]) / 1e6, 4),
        "first_ms": summary["first_ms"],
        "second_ms": summary["second_ms"],
        "server": server,
    }


def main() -> None:
    """Measure, and print one JSON line per backend."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=2000)
    parser.add_argument("--warmup", type=int, default=50)
    parser.add_argument("--backend", action="append", choices=backends.NAMES)
    args = parser.parse_args()
    for backend in args.backend or backends.NAMES:
        print(json.dumps(asyncio.run(benchmark(backend, args))), flush=True)


if __name__ == "__main__":
    main()
