"""Chaos for the gate: a seeded driver of competing processes, and a reference that knows nothing of REMIT.

A schedule is a thread of a graph and some rounds. In a round several workers, each a process with a connection of its
own, do something to the thread at once: answer (bare, by name), retry, send a new input, edit, look; some are killed
with SIGKILL or stopped with SIGSTOP in the middle of a node, some nodes fail. Then one worker, alone, brings the thread to
its end, and in the last round several deliver one named fork at once.

The oracle is an effect ledger outside the checkpointer's database, and the thread as LangGraph's own saver reads it. A
gated node charges once it was served its answers. A charge counts if nothing was done to its worker: one that was
killed, stopped or made to fail may have charged in vain, which an effect ledger must prevent and no gate can. The
reference says:

- no effect twice for one authority: a question is charged once at most, and the thread records it once at most;
- no authority lost: every question of the thread's last round is charged, and what was charged is recorded;
- every thread completes, in PATIENCE calls of the worker that is alone, who is never refused;
- a fork that is delivered several times at once is charged once, and the thread it forked from is as it was.

    python tests/chaos/chaos.py --backend sqlite --schedules 200 --seed 7
"""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import operator
import os
import random
import signal
import sqlite3
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypedDict

sys.path.insert(0, str(Path(__file__).parents[1]))

from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt
from private_postgres import private_postgres
from remit import RemitConsumeConflict, RemitSaver, RemitStrayResume
from stores import Store

CONTEXT = multiprocessing.get_context("forkserver")
DEADLINE_S = 120
LEASE_S = 3.0
STILL_S = 5 * LEASE_S
"""How long nobody says anything until those that are asleep are woken."""
PATIENCE = 12
SHAPES = ("row", "two", "fan", "child")


class Charged(TypedDict, total=False):
    charged: Annotated[list[str], operator.add]


class Notes(TypedDict, total=False):
    notes: Annotated[list[str], operator.add]


class State(Charged, Notes, total=False):
    """What was charged, and a note per input."""


class Trouble(RuntimeError):
    """A node fails for a reason of its own."""


class Ledger:
    """What happened outside: one autocommitted row per charge."""

    def __init__(self, path: str) -> None:
        self.path = path
        with closing(sqlite3.connect(path, isolation_level=None)) as file:
            file.execute("PRAGMA journal_mode = WAL")
            file.execute("CREATE TABLE IF NOT EXISTS charge (id INTEGER PRIMARY KEY, thread, worker, question)")

    def charge(self, *row: str) -> None:
        with closing(sqlite3.connect(self.path, timeout=60, isolation_level=None)) as file:
            file.execute("INSERT INTO charge (thread, worker, question) VALUES (?, ?, ?)", row)

    def charges(self, thread: str) -> list[tuple[str, str]]:
        """(worker, question), in order."""
        with closing(sqlite3.connect(self.path, timeout=60)) as file:
            return file.execute(
                "SELECT worker, question FROM charge WHERE thread = ? ORDER BY id", (thread,)
            ).fetchall()


class Job(NamedTuple):
    """What a worker is to do. `harm`: what is done to it ("fail", "kill", "stop"), at the point `at` of a node."""

    name: str
    shape: str
    thread: str
    act: str
    harm: str | None = None
    at: str = ""
    address: str | None = None
    jitter_s: float = 0.0


class Said(NamedTuple):
    """How it went: "ends", "refused" (a conflict), "stray", "fenced" (it lost its claim), or what else was raised."""

    job: Job
    how: str
    detail: str = ""


# -- the graphs ----------------------------------------------------------------------------------------------------


def build(ledger: Ledger, job: Job, harm: Callable[[str], None]) -> StateGraph[Any]:
    """Gates that charge. A question is named after the node and the number of inputs that the thread has had."""

    def ask(state: State, name: str) -> str:
        question = f"{name}/{len(state.get('notes') or ())}"
        harm("before")
        interrupt(question)
        harm("served")
        return question

    def charge(*questions: str) -> dict[str, list[str]]:
        for question in questions:
            ledger.charge(job.thread, job.name, question)
        harm("charged")
        return {"charged": list(questions)}

    def gate(name: str) -> Any:
        return lambda state: charge(ask(state, name))

    def two(state: State) -> Any:
        return charge(ask(state, "a"), ask(state, "b"))

    below = {"input_schema": Notes, "output_schema": Charged} if job.shape == "child" else {}
    builder = StateGraph(State, **below)
    if job.shape == "fan":
        for name in ("a", "b"):
            builder.add_node(name, gate(name)).add_edge(START, name)
    elif job.shape == "row":
        builder.add_node("a", gate("a")).add_node("b", gate("b")).add_edge(START, "a").add_edge("a", "b")
    else:
        builder.add_node("two", two).add_edge(START, "two")
    if job.shape == "child":
        builder = StateGraph(State).add_node("child", builder.compile()).add_edge(START, "child")
    return builder


# -- a worker ------------------------------------------------------------------------------------------------------


def work(pipe: Connection, place: tuple[str, str], ledger: Ledger) -> None:
    """A worker process: one job after the other, until the other end closes."""
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    while True:
        try:
            job = pipe.recv()
        except EOFError:
            return
        pipe.send(do(job, place, ledger, pipe))


def do(job: Job, place: tuple[str, str], ledger: Ledger, pipe: Connection | None) -> Said:
    """Does a job over a connection of its own."""
    left = [job.harm] if job.harm else []

    def harm(point: str) -> None:
        if point != job.at or not left:
            return
        kind = left.pop()
        if kind == "fail":
            raise Trouble(point)
        assert pipe is not None
        if kind == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        pipe.send("stopped")
        os.kill(os.getpid(), signal.SIGSTOP)

    time.sleep(job.jitter_s)
    waits = job.act.startswith("wait")
    with Store(*place) as store:
        saver = RemitSaver(
            store.inner(),
            cross_process_gate=True,
            claim_lease=LEASE_S,
            on_conflict="wait" if waits else "raise",
            conflict_timeout=DEADLINE_S,
        )
        graph = build(ledger, job, harm).compile(checkpointer=saver)
        config: Any = {"configurable": {"thread_id": job.thread}}
        try:
            return Said(job, "ends", act(graph, config, job))
        except RemitConsumeConflict as e:
            return Said(job, "fenced" if e.code == "conflict-fenced" else "refused", e.code)
        except RemitStrayResume as e:
            return Said(job, "stray", e.code)
        except Trouble:
            return Said(job, "fails")
        except Exception as e:
            if "multiple pending interrupts" in str(e):  # LangGraph's own refusal of a bare answer to two questions
                return Said(job, "stray", "ambiguous")
            if "database is locked" in str(e):  # one that sleeps in SQLite's transaction holds everybody up
                return Said(job, "locked")
            return Said(job, type(e).__name__, str(e)[:200])


def act(graph: Any, config: Any, job: Job) -> str:
    """One call."""
    what = job.act.removeprefix("wait ")
    if what == "start":
        graph.invoke({"notes": []}, config)
    elif what == "input":
        graph.invoke({"notes": ["input"]}, config)
    elif what == "edit":
        graph.update_state(config, {"notes": ["edit"]}, as_node=START)
    elif what == "look":
        graph.get_state(config)
        list(graph.get_state_history(config))
    elif what == "retry":
        graph.invoke(None, config)
    elif what == "bare":
        graph.invoke(Command(resume="yes"), config)
    elif what == "fork":
        named = {**config["configurable"], "checkpoint_id": job.address, "remit_fork": "again"}
        graph.invoke(Command(resume="yes"), {"configurable": named})
    else:
        state = graph.get_state(config)
        open = [question.id for question in state.interrupts]
        if what == "named":
            graph.invoke(Command(resume=dict.fromkeys(open, "yes")), config)
        elif what == "one":
            graph.invoke(Command(resume=dict.fromkeys(open[:1], "yes")), config)
        else:
            assert what == "finish", what
            if not state.next and not open:  # LangGraph 1.2.9 has no `next` where a node waits at its second question
                return "done"
            try:
                graph.invoke(Command(resume=dict.fromkeys(open, "yes")) if open else None, config)
            except RemitStrayResume as e:
                if e.code != "stray-some-unknown":
                    raise
                # 1.2.9 also shows the questions of tasks that are done: as the hint says, the others again
                graph.invoke(Command(resume=dict.fromkeys(e.open.split(", "), "yes")), config)
    return ""


class Workers:
    """Processes that wait for jobs."""

    def __init__(self, place: tuple[str, str], ledger: Ledger) -> None:
        self._call = (place, ledger)
        self._idle: list[Worker] = []
        self._all: list[Worker] = []

    def give(self, job: Job) -> Worker:
        if not self._idle:
            self._all.append(Worker(*self._call))
            self._idle.append(self._all[-1])
        worker = self._idle.pop()
        worker.pipe.send(job)
        worker.job = job
        return worker

    def take_back(self, worker: Worker) -> None:
        if worker.process.is_alive():
            self._idle.append(worker)

    def close(self) -> None:
        for worker in self._all:
            worker.pipe.close()
            if worker not in self._idle:
                worker.process.kill()  # after a failure: it may be asleep
            worker.process.join()


class Worker:
    """One of them."""

    job: Job

    def __init__(self, place: tuple[str, str], ledger: Ledger) -> None:
        self.pipe, there = CONTEXT.Pipe()
        self.process = CONTEXT.Process(target=work, args=(there, place, ledger), daemon=True)
        self.process.start()
        there.close()

    def says(self) -> Said | None:
        """How it went; None if it was stopped."""
        assert self.pipe.poll(DEADLINE_S), f"{self.job} does not end"
        try:
            said = self.pipe.recv()
        except EOFError:
            self.process.join()
            assert self.job.harm == "kill", f"{self.job} died"
            return Said(self.job, "killed")
        return None if said == "stopped" else said

    def wake(self) -> None:
        """Lets it go on after it was stopped. It said so just before it stopped."""
        assert self.process.pid is not None
        deadline = time.monotonic() + DEADLINE_S
        while Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()[0] != "T":
            assert time.monotonic() < deadline, f"{self.job} does not stop"
            time.sleep(0.001)
        os.kill(self.process.pid, signal.SIGCONT)


# -- a schedule ----------------------------------------------------------------------------------------------------

ACTS = ("bare", "bare", "named", "named", "one", "retry", "wait bare", "wait named", "input", "look", "edit")
HARMS = (None, None, None, None, "fail", "kill", "stop")
POINTS = ("before", "served", "charged")


def schedule(number: int, workers: Workers, place: tuple[str, str], ledger: Ledger, seed: int) -> Counter[str]:
    """Runs one schedule and holds it against the reference: what happened, counted."""
    dice = random.Random(f"{seed}/{number}")
    shape, thread = dice.choice(SHAPES), f"{seed}-{number}"
    happened: Counter[str] = Counter()
    heard: list[Said] = []
    count = iter(range(10_000))

    def job(act: str, **more: Any) -> Job:
        return Job(f"w{next(count)}", shape, thread, act, jitter_s=dice.choice((0, 0, 0.001, 0.005)), **more)

    def hear(worker: Worker, said: Said) -> None:
        heard.append(said)
        workers.take_back(worker)

    def together(jobs: list[Job], asleep: list[Worker], woken: Sequence[Worker] = ()) -> list[Worker]:
        """Lets workers do these at once and those that are woken go on, beside those that are asleep: who is asleep then.
        One that stops in the middle of SQLite's transaction, as its heartbeat may be, holds the whole file up: if nobody
        moves any more, all are woken."""
        for worker in woken:
            worker.wake()
        left, deadline = [*(workers.give(job) for job in jobs), *woken], time.monotonic() + DEADLINE_S
        while left:
            ready = wait([worker.pipe for worker in left], STILL_S)
            assert ready or time.monotonic() < deadline, f"{[worker.job for worker in left]} do not end"
            if not ready:
                for worker in asleep:
                    worker.wake()
                left, asleep = [*left, *asleep], []
            for worker in [worker for worker in left if worker.pipe in ready]:
                said = worker.says()
                left.remove(worker)
                if said is None:
                    asleep = [*asleep, worker]
                else:
                    hear(worker, said)
        return asleep

    together([job("start") for _ in range(dice.choice((1, 1, 2)))], [])
    stopped: list[Worker] = []
    for _ in range(dice.randint(1, 3)):
        acts = [dice.choice(ACTS) for _ in range(dice.choice((2, 2, 3, 4, 6)) if dice.random() < 0.95 else 16)]
        # who waits for one that is stopped waits for its lease
        before = stopped
        stopped = together([job(act, harm=dice.choice(HARMS), at=dice.choice(POINTS)) for act in acts], stopped)
        asleep = [worker for worker in stopped if worker not in before]
        stopped = together([], asleep, [worker for worker in stopped if worker in before])
    together([], [], stopped)

    for calls in range(PATIENCE + 1):
        assert calls < PATIENCE, "the thread does not complete"
        (said,) = (do(job("finish"), place, ledger, None),)
        assert said.how == "ends", f"alone, and {said}"
        if said.detail == "done":
            break
    happened.update(said.how for said in heard)
    check(place, thread, ledger.charges(thread), heard)

    before, parked = read(place, thread)
    assert parked is not None, "nothing was asked"
    if shape in ("row", "two"):
        forks = [job("fork", address=parked) for _ in range(dice.choice((2, 3)))]
        heard.clear()
        together(forks, [])
        forkers = {fork.name for fork in forks}
        charges = [question for worker, question in ledger.charges(thread) if worker in forkers]
        if shape == "row":
            assert Counter(charges).most_common(1)[0][1] == 1, f"a fork was charged {charges}"
        assert any(said.how == "ends" for said in heard), f"a fork was lost: {heard}"
        assert read(place, thread)[0] == before, "a fork changed the thread that it left"
        happened.update(f"fork {said.how}" for said in heard)
    return happened


# -- the reference --------------------------------------------------------------------------------------------------


def check(place: tuple[str, str], thread: str, charges: list[tuple[str, str]], heard: list[Said]) -> None:
    """What must be so whatever happened."""
    unknown = [
        said for said in heard if said.how not in ("ends", "refused", "stray", "fails", "killed", "fenced", "locked")
    ]
    assert not unknown, f"raised: {unknown}"
    # a worker that was not harmed and was fenced did not get the processor for a whole lease: it may charge in vain too
    harmed = {said.job.name for said in heard if said.job.harm or said.how in ("fenced", "locked")}
    counts = Counter(question for worker, question in charges if worker not in harmed)
    told = [(said.job.name, said.job.act, said.job.harm, said.job.at, said.how) for said in heard]
    assert all(n == 1 for n in counts.values()), f"charged twice: {charges}; heard: {told}"
    recorded = read(place, thread)[0]
    assert charges, f"it is done, and nothing was charged: {told}"
    assert all(n == 1 for n in Counter(recorded).values()), f"recorded twice: {recorded}"
    assert set(recorded) <= {question for _, question in charges}, f"recorded and never charged: {recorded}"
    last = max(int(question.partition("/")[2]) for _, question in charges)
    final = {f"a/{last}", f"b/{last}"}
    assert final <= set(recorded), f"of the last round only {recorded} are recorded"
    lost = {question for question in counts if int(question.partition("/")[2]) == last} - set(recorded)
    assert not lost, f"charged and not recorded: {lost}"


def read(place: tuple[str, str], thread: str) -> tuple[list[str], str | None]:
    """What LangGraph's own saver has of the thread's main line: what was charged, and the checkpoint of its first
    question."""
    with Store(*place) as store:
        where: Any = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
        line = [tup for tup in store.inner().list(where) if "remit_branch" not in tup.metadata]
    parked = [tup for tup in line if any(write[1] == "__interrupt__" for write in tup.pending_writes or ())]
    newest = max(line, key=lambda tup: tup.checkpoint["id"])
    return list(newest.checkpoint["channel_values"].get("charged", ())), parked[-1].checkpoint["id"] if parked else None


# -- the driver ----------------------------------------------------------------------------------------------------


def run(place: tuple[str, str], schedules: int, seed: int, first: int = 0) -> Counter[str]:
    """Runs schedules, and counts what happened in them.

    Raises:
        AssertionError: the reference refuses one; the text has the command that runs it again.
    """
    happened: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as directory:
        ledger = Ledger(str(Path(directory) / "ledger.db"))
        workers = Workers(place, ledger)
        try:
            for number in range(first, first + schedules):
                try:
                    happened += schedule(number, workers, place, ledger, seed)
                except AssertionError as e:
                    again = f"--backend {place[0]} --seed {seed} --first {number} --schedules 1"
                    raise AssertionError(f"{e}\n\nhint: python tests/chaos/chaos.py {again}") from e
        finally:
            workers.close()
    return happened


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--backend", choices=("sqlite", "postgres"), default="sqlite")
    parser.add_argument("--schedules", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, help="the number of the first schedule")
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    args = parser.parse_args()
    print(f"{args.backend}: {args.schedules} schedules, seed {args.seed}", flush=True)
    began = time.monotonic()
    with ExitStack() as stack:
        if args.backend == "postgres":
            url = stack.enter_context(private_postgres())
        else:
            url = str(Path(stack.enter_context(tempfile.TemporaryDirectory())) / "chaos.db")
        with Store(args.backend, url) as store:
            store.wrapped()
        happened = run((args.backend, url), args.schedules, args.seed, args.first)
    print(f"as the reference says, in {time.monotonic() - began:.0f} s: {dict(sorted(happened.items()))}")


if __name__ == "__main__":
    main()
