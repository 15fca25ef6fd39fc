"""Sixty-four threads at once on one saver, and on the core through its binding.

What holds a lock in Rust: `Planes` (the order of landing), `Ledger` and `Prefix` (one run's). The first is also run under
a scheduler, in `crates/remit-py/tests/planes.rs`; the other two are one call under one lock each.
"""

from __future__ import annotations

import operator
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt
from remit import RemitConsumeConflict, RemitSaver, RemitStrayResume
from remit._core import Kind, Ledger, Planes, Prefix, branch_ordinal
from remit.turns import wait_for

THREADS = 64
DEADLINE_S = 120


def at_once(work: Callable[[int], Any], count: int = THREADS) -> list[Any]:
    """The outcome of `work(n)` in each of as many threads, which begin together; an exception is an outcome."""
    barrier = threading.Barrier(count, timeout=DEADLINE_S)

    def run(n: int) -> Any:
        barrier.wait()
        try:
            return work(n)
        except Exception as e:
            return e

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(run, range(count), timeout=DEADLINE_S))


# -- the core ----------------------------------------------------------------------------------------------------------


def test_an_effect_is_admitted_to_one_thread():
    for _ in range(20):
        ledger = Ledger()
        assert sum(at_once(lambda _, of=ledger: of.admit("task", 0))) == 1
        # and other effects are admitted all the same
        assert all(at_once(lambda n, of=ledger: of.admit("task", n + 1)))


def test_a_run_goes_on_to_one_checkpoint():
    """Of many that claim the same parent one is stored, and the rest are refused."""
    for _ in range(20):
        prefix = Prefix("head")
        refused = at_once(lambda n, of=prefix: of.commit(f"child {n}", "head", True))
        (stored,) = [n for n, refusal in enumerate(refused) if refusal is None]
        assert prefix.head == f"child {stored}"
        assert {refusal for refusal in refused if refusal is not None} == {("out-of-lineage", f"child {stored}")}
        assert prefix.commit("next", prefix.head, True) is None


def test_checkpoints_land_one_after_the_other_in_the_order_of_their_arrival():
    planes, landed, inside = Planes(), [], []
    operations = [planes.arrive("thread", "", Kind.CHECKPOINT, str(n)) for n in range(THREADS)]

    def land(n: int) -> None:
        wait_for(operations[n])
        inside.append(n)
        assert inside == [n]
        landed.append(n)
        inside.remove(n)
        operations[n].finish()

    assert at_once(land) == [None] * THREADS
    assert landed == list(range(THREADS))
    assert len(planes) == 0


def test_arrivals_and_landings_of_many_threads_leave_nothing_behind():
    planes = Planes()

    def step(n: int) -> None:
        for checkpoint in range(20):
            writes = [planes.arrive(f"thread {n % 4}", "", Kind.WRITES, f"{n}.{checkpoint}") for _ in range(2)]
            operation = planes.arrive(f"thread {n % 4}", "", Kind.CHECKPOINT, f"{n}.{checkpoint}")
            for operation_of_task in writes:
                operation_of_task.finish()
            wait_for(operation)
            operation.finish()

    assert at_once(step) == [None] * THREADS
    assert len(planes) == 0


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_waker_that_fails_keeps_nobody_else_asleep():
    planes = Planes()
    first = planes.arrive("thread", "", Kind.WRITES, "a")
    others = [planes.arrive("thread", "", Kind.CHECKPOINT, "a") for _ in range(2)]
    woken: list[int] = []
    others[0].wake(lambda: 1 / 0)
    others[1].wake(lambda: woken.append(1))
    first.finish()
    assert woken == [1]


# -- one saver ---------------------------------------------------------------------------------------------------------

SAVERS = pytest.mark.parametrize("saver_factory", ["memory", "sqlite"], indirect=True)


class State(TypedDict, total=False):
    log: Annotated[list[Any], operator.add]


class App:
    """A graph of gates, and what their effects were, by answer."""

    def __init__(self, saver: Any, gates: int = 1) -> None:
        self.charged: Counter[Any] = Counter()
        self._lock = threading.Lock()
        self.before_charging: Callable[[], Any] = lambda: None
        builder, last = StateGraph(State), START
        for gate in (f"gate{n}" for n in range(gates)):
            builder.add_node(gate, self._gate).add_edge(last, gate)
            last = gate
        self.graph: Any = builder.compile(checkpointer=saver)

    def _gate(self, _: State) -> State:
        answer = interrupt("?")
        self.before_charging()
        with self._lock:
            self.charged[answer] += 1
        return {"log": [answer]}

    def call(self, input: Any, thread: str = "t", **configurable: Any) -> Any:
        return self.graph.invoke(input, {"configurable": {"thread_id": thread, **configurable}}).get("log")

    def address(self, thread: str = "t") -> str:
        state = self.graph.get_state({"configurable": {"thread_id": thread}})
        checkpoint: str = state.config["configurable"]["checkpoint_id"]
        return checkpoint

    def branches(self, checkpoint: str) -> list[int]:
        """The ordinals of the branches that have checkpoints, in order."""
        inner = self.graph.checkpointer.inner
        rows: Sequence[Any] = list(inner.list({"configurable": {"thread_id": "t", "checkpoint_ns": ""}}))
        labels = {row.metadata["remit_branch"] for row in rows if "remit_branch" in row.metadata}
        return sorted(branch_ordinal(label, checkpoint) for label in labels)


@SAVERS
def test_threads_of_their_own_do_not_mix(saver_factory):
    app = App(saver_factory.wrapped())

    def use(n: int) -> Any:
        thread = str(n)
        app.call({"log": []}, thread)
        asked = app.address(thread)
        first = app.call(Command(resume=f"yes {n}"), thread)
        return first, app.call(Command(resume=f"no {n}"), thread, checkpoint_id=asked)

    assert at_once(use) == [([f"yes {n}"], [f"no {n}"]) for n in range(THREADS)]
    assert app.charged == Counter(f"{a} {n}" for n in range(THREADS) for a in ("yes", "no"))


@SAVERS
def test_forks_of_one_checkpoint_have_ordinals_without_gaps(saver_factory):
    app = App(saver_factory.wrapped())
    app.call({"log": []})
    asked = app.address()
    assert app.call(Command(resume="main")) == ["main"]
    served = at_once(lambda n: app.call(Command(resume=n), checkpoint_id=asked))
    assert served == [[n] for n in range(THREADS)]
    assert app.charged == Counter(["main", *range(THREADS)])
    assert app.branches(asked) == list(range(THREADS))


@SAVERS
@pytest.mark.parametrize("policy", ["raise", "ignore"])
def test_racing_strays_are_inert(saver_factory, policy):
    """They fire nothing and store no checkpoint; each is said where it is to be. A fork beside them is served."""
    app = App(saver_factory.wrapped(on_stray=policy))
    app.call({"log": []})
    asked = app.address()
    app.call(Command(resume="yes"))
    done = app.address()

    def send(n: int) -> Any:
        if n == 0:
            return app.call(Command(resume="no"), checkpoint_id=asked)
        return app.call(Command(resume="stray"), checkpoint_id=done)

    fork, *strays = at_once(send)
    assert fork == ["no"]
    if policy == "raise":
        assert {type(stray) for stray in strays} == {RemitStrayResume}
    else:
        assert strays == [["yes"]] * (THREADS - 1)
    assert app.charged == Counter(["yes", "no"])
    assert app.branches(asked) == [0]
    assert app.call(None, checkpoint_id=done) == ["yes"]


@SAVERS
@pytest.mark.parametrize("named", [False, True])
def test_with_the_gate_one_of_many_answers_is_taken(saver_factory, named):
    """The others are refused before anything runs, and the run goes on: the next question is answered, too. A bare
    answer that comes too late would be the next question's, so there is no next one then."""
    gates = 2 if named else 1
    app = App(saver_factory.wrapped(cross_process_gate=True, on_stray="raise"), gates)
    app.call({"log": []})
    log = []
    for gate in range(gates):
        (asked,) = app.graph.get_state({"configurable": {"thread_id": "t"}}).interrupts
        answers = [f"{gate}.{n}" for n in range(THREADS)]
        said = at_once(lambda n, a=answers, q=asked: app.call(Command(resume={q.id: a[n]} if named else a[n])))
        (taken,) = [n for n, outcome in enumerate(said) if not isinstance(outcome, Exception)]
        refused = {type(outcome) for n, outcome in enumerate(said) if n != taken}
        assert refused <= {RemitConsumeConflict, RemitStrayResume}
        log.append(answers[taken])
        assert said[taken] == log
    assert app.charged == Counter(log)


@SAVERS
def test_without_the_gate_all_of_them_run(saver_factory):
    """So the test above is about the gate."""
    app = App(saver_factory.wrapped())
    app.call({"log": []})
    inside = threading.Barrier(2, timeout=DEADLINE_S)
    app.before_charging = inside.wait
    at_once(lambda n: app.call(Command(resume=n)), 2)
    assert app.charged == Counter([0, 1])


class SlowReader(InMemorySaver):
    """Its first read in a thread of the name "late" is handed out only when it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.has_read, self.may_return = threading.Event(), threading.Event()

    def get_tuple(self, config: Any) -> Any:
        tup = super().get_tuple(config)
        if threading.current_thread().name == "late" and not self.has_read.is_set():
            self.has_read.set()
            assert self.may_return.wait(DEADLINE_S)
        return tup


def test_with_the_gate_a_late_reader_does_not_run_what_has_been_run():
    """It read where the answered run stood in the middle, and goes on when that run is over."""
    inner = SlowReader()
    app = App(RemitSaver(inner, cross_process_gate=True, on_stray="raise"), 1)
    in_tail, may_end, ran = threading.Event(), threading.Event(), []

    def tail(_: State) -> State:
        ran.append(threading.current_thread().name)
        in_tail.set()
        assert may_end.wait(DEADLINE_S)
        return {"log": ["tail"]}

    builder = StateGraph(State).add_node("gate", app._gate).add_node("tail", tail)
    app.graph = builder.add_edge(START, "gate").add_edge("gate", "tail").compile(checkpointer=app.graph.checkpointer)
    app.call({"log": []})
    said: dict[str, Any] = {}

    def answer(name: str) -> None:
        try:
            config = {"configurable": {"thread_id": "t"}}
            said[name] = app.graph.invoke(Command(resume=name), config, durability="sync")["log"]
        except Exception as e:
            said[name] = type(e)

    first, late = (threading.Thread(target=answer, args=(name,), name=name) for name in ("first", "late"))
    first.start()
    assert in_tail.wait(DEADLINE_S)
    late.start()
    assert inner.has_read.wait(DEADLINE_S)
    may_end.set()
    first.join(DEADLINE_S)
    inner.may_return.set()
    late.join(DEADLINE_S)
    assert said["first"] == ["first", "tail"]
    assert said["late"] in (RemitConsumeConflict, RemitStrayResume)
    assert (app.charged, len(ran)) == (Counter(["first"]), 1)
