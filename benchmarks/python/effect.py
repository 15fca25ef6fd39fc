"""What an effect costs: a node's `effect(...)` beside the bare call, and beside a step of DBOS.

    python benchmarks/python/effect.py [--rounds N] [--backend memory|sqlite|postgres]... [--dbos PYTHON] [--out DIRECTORY]

One node fires all effects, each after a bare call of the same function or before it, by turns; the function does nothing.
`first_ms` is the bare call, `second_ms` the effect, `added_ms` the difference of the medians: an admission and a
settlement, each one statement that is committed. The thread is new, and what is stored of it grows with the rounds: the
medians of the first and the last tenth are told, to show whether an admission's cost grows with history.

`--dbos`: the interpreter of an environment that has DBOS. A process of it runs one workflow with as many steps, on the
same kind of database, in blocks that alternate with the effects' blocks. `effect_over_step` is the median over the blocks
of (median effect / median step). A step is one committed insert, after its function has run: it tells a recorded step
from others, and not one whose process died while it ran from one that never began. (`make bench-effect` does all this.)
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sqlite3
import statistics
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import AsyncExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, TypedDict

import backends
import record
from langgraph.graph import START, StateGraph
from remit import RemitSaver, effect

Pairs = list[tuple[int, int]]
BLOCK = 50
RESULTS = Path(__file__).parents[1] / "results"


class State(TypedDict, total=False):
    """Nothing."""

    v: int


class Steps:
    """The process that runs DBOS."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.version: str = self._read()

    def _read(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"DBOS ended with status {self._process.wait()}")
        return json.loads(line)

    def block(self, size: int) -> Pairs:
        """Pairs of nanoseconds, (bare call, step)."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{size}\n")
        self._process.stdin.flush()
        return [(bare, step) for bare, step in self._read()]


@contextmanager
def running(python: str, url: str) -> Iterator[Steps]:
    """DBOS, until it has been told that there is no more to do."""
    script = str(Path(__file__).parent / "dbos_step.py")
    with subprocess.Popen([python, script, url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Steps(process)
        assert process.stdin is not None
        process.stdin.close()


@contextmanager
def dbos_place(backend: str, place: str, directory: Path) -> Iterator[str]:
    """The URL of an empty database of DBOS's own, where the saver's is."""
    if backend == "sqlite":
        yield f"sqlite:///{directory}/dbos.db"
        return
    import psycopg
    from psycopg.conninfo import conninfo_to_dict
    from psycopg.sql import SQL, Identifier

    at = {k: str(v) for k, v in conninfo_to_dict(place).items()}
    login = at.get("user", "") + (f":{at['password']}" if "password" in at else "")
    name = f"remit_bench_{uuid.uuid4().hex[:12]}"
    with closing(psycopg.connect(place, autocommit=True)) as conn:
        conn.execute(SQL("CREATE DATABASE {}").format(Identifier(name)))
        try:
            yield f"postgresql://{login}@/{name}?host={at.get('host', '')}&port={at.get('port', '5432')}"
        finally:
            conn.execute(SQL("DROP DATABASE {} WITH (FORCE)").format(Identifier(name)))


def nothing(number: int) -> int:
    """The effect."""
    return number


def measure(saver: Any, rounds: int, warmup: int, steps: Steps | None) -> tuple[list[Pairs], list[Pairs]]:
    """Blocks of pairs of nanoseconds: (bare call, effect), and (bare call, step)."""
    effects: list[Pairs] = []
    others: list[Pairs] = []

    def block(first: int, size: int) -> Pairs:
        pairs = []
        for number in range(first, first + size):
            took = {}
            for fires in (True, False) if number % 2 else (False, True):
                began = time.perf_counter_ns()
                if fires:
                    effect("nothing", nothing, number)
                else:
                    nothing(number)
                took[fires] = time.perf_counter_ns() - began
            pairs.append((took[False], took[True]))
        return pairs

    def node(_: State) -> State:
        block(0, warmup)
        if steps is not None:
            steps.block(warmup)
        for n, first in enumerate(range(warmup, warmup + rounds, BLOCK)):
            size = min(BLOCK, warmup + rounds - first)
            if steps is not None and n % 2:
                others.append(steps.block(size))
            effects.append(block(first, size))
            if steps is not None and n % 2 == 0:
                others.append(steps.block(size))
        return {}

    graph = StateGraph(State).add_node("node", node).add_edge(START, "node").compile(checkpointer=RemitSaver(saver))
    graph.invoke({"v": 0}, {"configurable": {"thread_id": "t"}})
    return effects, others


async def benchmark(backend: str, args: argparse.Namespace) -> dict[str, Any]:
    """Measure one backend."""
    async with AsyncExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="remit-bench-")))
        places, server = backends.two_places(backend, directory, stack)
        saver = await backends.open_saver(backend, places[0], False, stack)
        steps, url = None, ""
        if args.dbos and backend != "memory":
            url = stack.enter_context(dbos_place(backend, places[0], directory))
            steps = stack.enter_context(running(args.dbos, url))
        effects, others = await asyncio.to_thread(measure, saver, args.rounds, args.warmup, steps)
        dbos = None
        if steps is not None:
            dbos = {"version": steps.version, **_beside(effects, others)}
            if backend == "sqlite":
                with closing(sqlite3.connect(directory / "dbos.db")) as file:
                    dbos["journal_mode"] = file.execute("PRAGMA journal_mode").fetchone()[0]
    pairs = [pair for block in effects for pair in block]
    tenth = max(1, len(pairs) // 10)
    summary = record.summarize(pairs)
    return {
        "benchmark": "effect",
        "backend": backend,
        "columns": ["bare call", "effect"],
        "rounds": args.rounds,
        "warmup": args.warmup,
        "timer": "time.perf_counter_ns",
        "first_ms": summary["first_ms"],
        "second_ms": summary["second_ms"],
        "added_ms": _added(pairs),
        "first_tenth_ms": round(statistics.median(b for _, b in pairs[:tenth]) / 1e6, 4),
        "last_tenth_ms": round(statistics.median(b for _, b in pairs[-tenth:]) / 1e6, 4),
        "dbos": dbos,
        "server": server,
        "load_average": round(os.getloadavg()[0], 2),
        **record.environment(),
    }


def _added(pairs: Pairs) -> float:
    bare, wrapped = (statistics.median(pair[column] for pair in pairs) for column in (0, 1))
    return round((wrapped - bare) / 1e6, 4)


def _beside(effects: list[Pairs], others: list[Pairs]) -> dict[str, Any]:
    ratios = [
        statistics.median(b for _, b in ours) / statistics.median(b for _, b in theirs)
        for ours, theirs in zip(effects, others, strict=True)
    ]
    low, high = record.interval(ratios)
    pairs = [pair for block in others for pair in block]
    return {
        "columns": ["bare call", "step"],
        "second_ms": record.summarize(pairs)["second_ms"],
        "added_ms": _added(pairs),
        "effect_over_step": {
            "median": round(statistics.median(ratios), 4),
            "interval95": [round(low, 4), round(high, 4)],
            "blocks": len(ratios),
        },
    }


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=2000)
    parser.add_argument("--warmup", type=int, default=50)
    parser.add_argument("--backend", action="append", choices=backends.NAMES)
    parser.add_argument("--dbos", metavar="PYTHON", help="an interpreter that has DBOS")
    parser.add_argument("--out", type=Path, default=RESULTS, help="directory of the JSON files")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    for backend in args.backend or backends.NAMES:
        result = asyncio.run(benchmark(backend, args))
        record.write(args.out / f"effect-{backend}.json", result)
        dbos = result["dbos"]
        beside = (
            f"   step {dbos['second_ms']['median']:8.3f} ms (effect/step {dbos['effect_over_step']['median']:.2f})"
            if dbos
            else ""
        )
        print(
            f"{backend:9} bare {result['first_ms']['median']:8.4f} ms   effect {result['second_ms']['median']:8.3f} ms{beside}"
        )


if __name__ == "__main__":
    main()
