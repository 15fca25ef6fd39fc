"""Racers: how many of k workers that answer one question fire, and how long a refusal takes.

    python benchmarks/python/race.py [--backend sqlite|postgres]... [--runs N] [--out DIRECTORY]

A run is a thread that is parked at a question, and k processes, each with a connection of its own, that answer it within
`jitter` ms of each other; the gated node takes `node` ms, then fires into a ledger that is not the checkpointer's. The
sweep is k in RACERS x jitter in JITTER_MS x node in NODE_MS. Every run must fire once: with another count the program
ends with status 1. Beside it, one run per cell on the stock saver, for comparison.

A racer that comes while the winner executes is refused; one that comes after it is a stray. `refused_ms` is the median
time from a loser's call to its refusal. Nothing is decided by a time that is measured here.
"""

from __future__ import annotations

import argparse
import json
import logging
import multiprocessing
import random
import sqlite3
import statistics
import sys
import tempfile
import time
import uuid
import warnings
from contextlib import ExitStack, closing
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, TypedDict

import backends
import record
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

RESULTS = Path(__file__).resolve().parent.parent / "results"
RACERS, JITTER_MS, NODE_MS = (2, 3, 4, 8, 16), (0, 1, 5, 25), (0, 50, 400)
LEAD_S = 0.05
"""How long before the first racer's start all are told of it."""


class State(TypedDict, total=False):
    answer: str


def fire(ledger: str, thread: str) -> None:
    with closing(sqlite3.connect(ledger, timeout=60, isolation_level=None)) as file:
        file.execute("INSERT INTO fired VALUES (?)", (thread,))


def fires(ledger: str, thread: str) -> int:
    with closing(sqlite3.connect(ledger, timeout=60)) as file:
        return int(file.execute("SELECT count(*) FROM fired WHERE thread = ?", (thread,)).fetchone()[0])


def build(saver: Any, ledger: str, thread: str, node_ms: float) -> Any:
    def gate(_: State) -> State:
        answer = interrupt("go on?")
        time.sleep(node_ms / 1000)
        fire(ledger, thread)
        return {"answer": answer}

    return StateGraph(State).add_node("gate", gate).add_edge(START, "gate").compile(checkpointer=saver)


def open_saver(backend: str, place: str, stack: ExitStack) -> Any:
    if backend == "postgres":
        return stack.enter_context(PostgresSaver.from_conn_string(place))
    connection = stack.enter_context(closing(sqlite3.connect(place, check_same_thread=False, timeout=60)))
    return SqliteSaver(connection)


def work(pipe: Connection, backend: str, place: str, ledger: str) -> None:
    """A racer's process: one answer for each thread that comes in. Says what came of it, and the milliseconds."""
    from remit import RemitConsumeConflict, RemitSaver, RemitStrayResume

    warnings.simplefilter("error", RemitStrayResume)
    logging.disable(logging.CRITICAL)
    with ExitStack() as stack:
        stock = open_saver(backend, place, stack)
        savers = {"stock": stock, "gated": RemitSaver(stock, cross_process_gate=True)}
        while True:
            try:
                column, thread, node_ms, start = pipe.recv()
            except EOFError:
                return
            graph = build(savers[column], ledger, thread, node_ms)
            time.sleep(max(0.0, start - time.monotonic()))
            began = time.perf_counter()
            try:
                graph.invoke(Command(resume="yes"), {"configurable": {"thread_id": thread}})
                said = "answered"
            except RemitConsumeConflict:
                said = "refused"
            except RemitStrayResume:
                said = "stray"
            pipe.send((said, (time.perf_counter() - began) * 1000))


def race(pipes: list[Connection], column: str, thread: str, jitter_ms: float, node_ms: float, dice: Any) -> list[Any]:
    """One run: what each racer says."""
    start = time.monotonic() + LEAD_S
    for pipe in pipes:
        pipe.send((column, thread, node_ms, start + dice.uniform(0, jitter_ms) / 1000))
    return [pipe.recv() for pipe in pipes]


def sweep(backend: str, runs: int, seed: int) -> list[dict[str, Any]]:
    """All cells on one backend."""
    from remit import RemitSaver

    dice = random.Random(seed)
    cells: list[dict[str, Any]] = []
    spawn = multiprocessing.get_context("spawn")
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="remit-race-")))
        ledger = str(directory / "ledger.db")
        with closing(sqlite3.connect(ledger)) as file:
            file.execute("PRAGMA journal_mode = WAL")
            file.execute("CREATE TABLE fired (thread)")
        (place, _), _ = backends.two_places(backend, directory, stack)
        inner = open_saver(backend, place, stack)
        saver = RemitSaver(inner, cross_process_gate=True)
        saver.setup()
        pipes = []
        for _ in range(max(RACERS)):
            here, there = spawn.Pipe()
            worker = spawn.Process(target=work, args=(there, backend, place, ledger), daemon=True)
            worker.start()
            there.close()
            stack.callback(worker.join)
            stack.callback(here.close)
            pipes.append(here)
        for racers in RACERS:
            for jitter_ms in JITTER_MS:
                for node_ms in NODE_MS:
                    fired, said, stock = [], [], 0
                    for number in range(runs + 1):
                        column, thread = "gated" if number < runs else "stock", uuid.uuid4().hex
                        starter = saver if column == "gated" else inner
                        build(starter, ledger, thread, 0).invoke({}, {"configurable": {"thread_id": thread}})
                        heard = race(pipes[:racers], column, thread, jitter_ms, node_ms, dice)
                        if column == "stock":
                            stock = fires(ledger, thread)
                        else:
                            fired.append(fires(ledger, thread))
                            said += heard
                    refused = [ms for what, ms in said if what == "refused"]
                    cells.append(
                        {
                            "racers": racers,
                            "jitter_ms": jitter_ms,
                            "node_ms": node_ms,
                            "runs": runs,
                            "fires": sorted(set(fired)),
                            "refused": len(refused),
                            "strays": sum(what == "stray" for what, _ in said),
                            "refused_ms": round(statistics.median(refused), 1) if refused else None,
                            "stock_fires": stock,
                        }
                    )
    return cells


def table(results: dict[str, list[dict[str, Any]]], about: str) -> str:
    """The sweep as a page."""
    lines = [
        "# Racers\n",
        about + "\n",
        "| backend | racers | jitter ms | node ms | runs | fires in each run | refused | strays | refused after ms | stock fires |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for backend, cells in results.items():
        for c in cells:
            told = ", ".join(map(str, c["fires"]))
            row = (c["racers"], c["jitter_ms"], c["node_ms"], c["runs"], told, c["refused"], c["strays"])
            last = ("" if c["refused_ms"] is None else c["refused_ms"], c["stock_fires"])
            lines.append("| " + " | ".join(map(str, (backend, *row, *last))) + " |")
    return "\n".join(lines) + "\n"


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--backend", action="append", choices=("sqlite", "postgres"), help="both if not given")
    parser.add_argument("--runs", type=int, default=3, help="runs per cell (default 3)")
    parser.add_argument("--seed", type=int, default=0, help="of the jitter")
    parser.add_argument("--out", type=Path, default=RESULTS, help="directory of the results")
    args = parser.parse_args(argv)
    args.out.mkdir(parents=True, exist_ok=True)
    results = {backend: sweep(backend, args.runs, args.seed) for backend in args.backend or ("sqlite", "postgres")}
    machine = record.environment()
    record.write(args.out / "race.json", {"benchmark": "race", "seed": args.seed, "cells": results, **machine})
    about = (
        f"Written by `python benchmarks/python/race.py --runs {args.runs}`. One stock run per cell. "
        "The machine, the versions and the build are in `race.json`."
    )
    (args.out / "race.md").write_text(table(results, about), encoding="utf-8")
    wrong = [cell for cells in results.values() for cell in cells if cell["fires"] != [1]]
    print(json.dumps(wrong or "every gated run fired once"))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
