"""The consume gate between processes: killed with SIGKILL, stopped with SIGSTOP, forked, in other process namespaces.
Each process stands at a named point when something happens to it; see `gating`."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from crash import CONTEXT
from forking import address_of, gates_with_ledger
from gating import CONFLICT, DAY_S, Elsewhere, answered, becomes, gated, hearts_of, race, states, trail
from graphs import POINTS, STOCK, asking, asks, gives, in_task, nested
from langgraph.types import Command
from ledger import Ledger
from remit import RemitConsumeConflict, RemitSaver
from remit.claims import store_for
from remit.drivers import adrive, drive
from stores import Store

pytestmark = pytest.mark.skipif(STOCK, reason="LangGraph's own savers have no gate")

DURABLE = pytest.mark.parametrize("world", ["sqlite", "postgres", "asqlite", "apg"], indirect=True)
TWO = pytest.mark.parametrize("world", ["sqlite", "apg"], indirect=True)
ONE = pytest.mark.parametrize("world", ["sqlite"], indirect=True)


def one_gate(path: str, *questions: str) -> Any:
    return nested(asking(*(questions or ("q1",)), ledger=Ledger(path)), 0)


def in_subgraph(path: str) -> Any:
    """Two questions in one node of a subgraph."""
    return nested(asking("q1", "q2", ledger=Ledger(path)), 1)


def task_of_entrypoint(path: str) -> Any:
    return in_task(asking("q1", ledger=Ledger(path)))


@pytest.mark.parametrize(
    ("world", "durability"),
    [(w, "async") for w in ("sqlite", "postgres", "asqlite", "apg")] + [("sqlite", "exit"), ("apg", "sync")],
    indirect=["world"],
)
async def test_of_racing_processes_one_runs(world, durability, ledger):
    thread = await gated(world, one_gate(ledger.path))
    await thread.start()
    racers = [
        Elsewhere(world.place, one_gate, (ledger.path,), answered(n), stops=["after q1"], durability=durability)
        for n in range(4)
    ]
    winner, others = await race(racers, "after q1")
    assert others == [CONFLICT] * 3
    n = racers.index(winner)
    assert await winner.ends() == gives(n)
    assert ledger.fired("effect") == [[n]]
    assert await states(thread) == [("consumed", "consumed")]


@ONE
async def test_racing_processes_in_a_subgraphs_node_of_two_questions(world, ledger):
    thread = await gated(world, in_subgraph(ledger.path))
    await thread.start()
    for n, point in enumerate(("after q1", "after q2")):
        racers = [Elsewhere(world.place, in_subgraph, (ledger.path,), answered(n), stops=[point]) for _ in range(3)]
        winner, others = await race(racers, point)
        assert others == [CONFLICT] * 2
        assert await winner.ends() == (gives([0, 1]) if n else asks("q2"))
    assert ledger.fired("effect") == [[0, 1]]


@ONE
async def test_a_fork_with_a_name_is_delivered_to_two_processes_at_once(world, ledger):
    args = (ledger.path, "q1", "q2")
    thread = await gated(world, gates_with_ledger(*args))
    await thread.start()
    at = (await address_of(thread))["configurable"]["checkpoint_id"]
    await thread.answer("one")
    named = {"remit_fork": "again", "checkpoint_id": at}
    racers = [
        Elsewhere(world.place, gates_with_ledger, args, answered("fork"), stops=["after q1"], configurable=named)
        for _ in range(3)
    ]
    winner, others = await race(racers, "after q1")
    assert others == [CONFLICT] * 2
    assert await winner.ends() == asks("q2")
    assert ledger.fired("charge") == ["one", "fork"]


@pytest.mark.parametrize("point", ["before", "after q1", "end"])
@DURABLE
async def test_who_comes_after_a_killed_owner_runs_at_once(world, point, ledger):
    thread = await gated(world, one_gate(ledger.path))
    await thread.start()
    owner = await Elsewhere(world.place, one_gate, (ledger.path,), answered("old"), stops=[point]).go_to(point)
    assert await thread.answer("new") == CONFLICT
    owner.kill()
    assert await thread.answer("new") == gives("new")  # its lease is a day
    assert await states(thread) == [("free", "dead"), ("consumed", "consumed")]
    assert ledger.fired("effect") == ([["old"]] if point == "end" else []) + [["new"]]


@TWO
async def test_racers_after_a_killed_owner(world, ledger):
    thread = await gated(world, one_gate(ledger.path))
    await thread.start()
    (await Elsewhere(world.place, one_gate, (ledger.path,), answered(0), stops=["after q1"]).go_to("after q1")).kill()
    racers = [Elsewhere(world.place, one_gate, (ledger.path,), answered(n), stops=["after q1"]) for n in range(1, 4)]
    winner, others = await race(racers, "after q1")
    assert others == [CONFLICT] * 2
    await winner.ends()
    assert len(ledger.fired("effect")) == 1


@ONE
async def test_a_killed_owner_of_an_entrypoint(world, ledger):
    thread = await gated(world, task_of_entrypoint(ledger.path))
    await thread.start()
    owner = Elsewhere(world.place, task_of_entrypoint, (ledger.path,), answered("x"), stops=["after q1"])
    (await owner.go_to("after q1")).kill()
    assert await thread.answer("y") == gives("y")
    assert ledger.fired("effect") == [["y"]]


@TWO
async def test_a_start_that_was_killed_is_started_again(world, ledger):
    owner = await Elsewhere(world.place, one_gate, (ledger.path,), {"log": []}, stops=["before"]).go_to("before")
    thread = await gated(world, one_gate(ledger.path))
    assert await thread.start() == CONFLICT
    owner.kill()
    assert await thread.start() == asks("q1")
    assert await thread.answer("yes") == gives("yes")


@pytest.mark.parametrize(
    ("world", "how"),
    [
        *((world, how) for world in ("sqlite", "postgres") for how in ("closed", "interrupted", "outlives its loop")),
        *((world, how) for world in ("asqlite", "apg") for how in ("closed", "cancelled", "outlives its loop")),
    ],
    indirect=["world"],
)
async def test_a_call_that_went_away_frees_its_claim_though_its_process_lives(world, how, ledger):
    thread = await gated(world, one_gate(ledger.path), on_conflict="wait", conflict_timeout=DAY_S)
    await thread.start()
    input = answered("bad" if how == "outlives its loop" else "gone")
    owner = await Elsewhere(world.place, one_gate, (ledger.path,), input, how=how).go_to("lives on")
    assert await thread.answer("new") == gives("new")  # its lease is a day
    await owner.ends()
    assert ledger.fired("effect") == [["new"]]


@TWO
async def test_an_owner_that_sleeps_past_its_lease_stores_nothing(world, ledger):
    thread = await gated(world, one_gate(ledger.path), on_conflict="wait", conflict_timeout=DAY_S)
    await thread.start()
    owner = await Elsewhere(
        world.place, one_gate, (ledger.path,), answered("old"), stops=["after q1"], saver={"claim_lease": 2.0}
    ).go_to("after q1")
    owner.stop()
    assert await thread.answer("new") == gives("new")  # once the lease is over
    assert await states(thread) == [("free", "expired"), ("consumed", "consumed")]
    owner.wake()
    assert await owner.ends() == CONFLICT
    assert (await thread.state()).values["v"] == "new"
    assert not (await thread.state()).next


@TWO
async def test_an_owner_that_sleeps_past_its_lease_goes_on_if_nobody_came(world, ledger):
    thread = await gated(world, one_gate(ledger.path))
    await thread.start()
    owner = await Elsewhere(
        world.place, one_gate, (ledger.path,), answered("yes"), stops=["after q1"], saver={"claim_lease": 0.3}
    ).go_to("after q1")
    owner.stop()
    store = store_for(thread.graph.checkpointer.inner)

    async def over() -> bool:
        (grant,) = await trail(thread)
        look = await _look(thread, store, grant.key)
        return bool(look[2] > grant.lease_end)

    await becomes(True, over)
    owner.wake()
    assert await owner.ends() == gives("yes")
    assert ledger.fired("effect") == [["yes"]]


async def _look(thread: Any, store: Any, key: Any) -> Any:
    inner = thread.graph.checkpointer.inner
    return await adrive(inner, store.look(key)) if thread.is_async else drive(inner, store.look(key))


@TWO
async def test_who_waits_runs_after_a_killed_owner(world, ledger):
    thread = await gated(world, one_gate(ledger.path))
    await thread.start()
    owner = await Elsewhere(world.place, one_gate, (ledger.path,), answered("old"), stops=["after q1"]).go_to(
        "after q1"
    )
    waiting = Elsewhere(
        world.place, one_gate, (ledger.path,), answered("new"), saver={"on_conflict": "wait", "conflict_timeout": DAY_S}
    )
    await waiting.go()
    owner.kill()
    assert await waiting.ended() == gives("new")
    assert ledger.fired("effect") == [["new"]]


# -- fork ------------------------------------------------------------------------------------------------------------


def _forks(pipe: Any, place: tuple[str, str], path: str) -> None:
    """Holds a claim, forks in the middle of it, and lets the child end first."""
    with Store(*place) as store:
        graph = one_gate(path)(RemitSaver(store.inner(), cross_process_gate=True, claim_lease=DAY_S))

        def fork() -> None:
            child = os.fork()
            if child == 0:
                code = 1
                try:
                    code = _child(place, path)
                finally:
                    os._exit(code)
            pipe.send(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))

        POINTS.do_at("after q1", fork)
        config: Any = {"configurable": {"thread_id": "thread"}}
        pipe.send(graph.invoke(Command(resume="yes"), config)["v"])


def _child(place: tuple[str, str], path: str) -> int:
    """What a forked process may do: nothing of its parent's, all of its own."""
    if hearts_of(threading.enumerate()):
        return 2
    with Store(*place) as store:
        saver = RemitSaver(store.inner(), cross_process_gate=True, claim_lease=DAY_S)
        graph = one_gate(path)(saver)
        parents: Any = {"configurable": {"thread_id": "thread"}}
        try:
            graph.invoke(Command(resume="child"), parents)
            return 3
        except RemitConsumeConflict:
            pass
        own: Any = {"configurable": {"thread_id": "child"}}
        graph.invoke({"log": []}, own)
        if graph.invoke(Command(resume="own"), own)["v"] != "own":
            return 5
        return 0 if saver.claims("thread")[-1].state == "held" else 6


@pytest.mark.parametrize("world", ["postgres"], indirect=True)  # SQLite forbids to fork while a file is open
async def test_a_forked_process_holds_nothing(world, ledger):
    thread = await gated(world, one_gate(ledger.path))
    await thread.start()
    here, there = CONTEXT.Pipe(duplex=False)
    process = CONTEXT.Process(target=_forks, args=(there, world.place, ledger.path))
    process.start()
    there.close()
    assert here.poll(90)
    assert here.recv() == 0, "the child's exit code tells which of its steps went wrong"
    assert here.recv() == "yes"
    process.join(30)
    assert await states(thread) == [("consumed", "consumed")]
    assert sorted(ledger.fired("effect")) == [["own"], ["yes"]]


# -- process namespaces ----------------------------------------------------------------------------------------------

CONTAINER = """
import os, sys
sys.path[:0] = {path!r}
from gating import answered
from graphs import POINTS
from ledger import Ledger
from stores import Store
from remit import RemitConsumeConflict, RemitSaver
from test_gate_processes import one_gate

def stay():
    print("holds", flush=True)
    if sys.stdin.readline() != "go\\n":
        os._exit(1)  # the pipe was closed: it is being killed

POINTS.do_at("after q1", stay)
with Store(*{place!r}) as store:
    saver = RemitSaver(store.inner(), cross_process_gate=True, claim_lease={lease!r})
    print(one_gate({ledger!r})(saver).invoke(answered("inside"), {{"configurable": {{"thread_id": "thread"}}}})["v"])
"""


def in_a_container(place: tuple[str, str], ledger: Ledger, lease: float) -> subprocess.Popen[str]:
    """A run in a process namespace of its own, as in another container on the same volume. It stays at its node."""
    try:
        subprocess.run(["unshare", "--pid", "--fork", "--mount-proc", "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as e:
        print(f"no process namespaces here: {e}")
        pytest.skip(f"no process namespaces here: {e}")
    program = CONTAINER.format(path=sys.path, place=place, ledger=ledger.path, lease=lease)
    run = subprocess.Popen(
        ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert run.stdout is not None
    assert run.stdout.readline() == "holds\n"
    return run


@pytest.mark.skipif(shutil.which("unshare") is None, reason="no unshare here")
@ONE
async def test_a_process_id_of_another_container_says_nothing(world, ledger):
    thread = await gated(world, one_gate(ledger.path))
    await thread.start()
    with in_a_container(world.place, ledger, DAY_S) as inside:
        (grant,) = await trail(thread)
        pid = int(grant.owner.partition('"pid":')[2].partition(",")[0])
        assert not Path(f"/proc/{pid}/stat").exists() or pid < 100  # another process here, or none
        assert await thread.answer("outside") == CONFLICT
        assert inside.stdin is not None and inside.stdout is not None
        inside.stdin.write("go\n")
        inside.stdin.flush()
        assert inside.stdout.read() == "inside\n"
    assert ledger.fired("effect") == [["inside"]]


@pytest.mark.skipif(shutil.which("unshare") is None, reason="no unshare here")
@ONE
async def test_a_killed_container_is_waited_for_until_its_lease_is_over(world, ledger):
    thread = await gated(world, one_gate(ledger.path), on_conflict="wait", conflict_timeout=DAY_S)
    await thread.start()
    with in_a_container(world.place, ledger, 1.0) as inside:
        inside.kill()
    assert await thread.answer("outside") == gives("outside")
    assert await states(thread) == [("free", "expired"), ("consumed", "consumed")]
    assert ledger.fired("effect") == [["outside"]]


# -- an owner is who it says ------------------------------------------------------------------------------------------


@ONE
async def test_a_process_id_that_was_given_again_is_another_process(world, ledger):
    """The owner's id is alive, but started later: the owner is dead."""
    thread = await gated(world, one_gate(ledger.path))
    await thread.start()
    owner = await Elsewhere(world.place, one_gate, (ledger.path,), answered("old"), stops=["after q1"]).go_to(
        "after q1"
    )
    (grant,) = await trail(thread)
    owner.kill()
    text = grant.owner.replace(f'"pid":{owner.process.pid}', f'"pid":{os.getppid()}')
    assert text != grant.owner
    _rewrite(world.place[1], text)
    assert await thread.answer("new") == gives("new")


@ONE
async def test_an_owner_on_another_host_is_not_looked_for(world, ledger):
    thread = await gated(world, one_gate(ledger.path))
    await thread.start()
    (
        await Elsewhere(world.place, one_gate, (ledger.path,), answered("old"), stops=["after q1"]).go_to("after q1")
    ).kill()
    (grant,) = await trail(thread)
    boot = grant.owner.partition('"boot":"')[2].partition('"')[0]
    _rewrite(world.place[1], grant.owner.replace(boot, "0" * 8))
    assert await thread.answer("new") == CONFLICT
    thread.graph.checkpointer.release("thread")
    assert await thread.answer("new") == gives("new")


def _rewrite(file: str, owner: str) -> None:
    with closing(sqlite3.connect(file, isolation_level=None)) as database:
        database.execute("UPDATE remit_claims SET owner = ? WHERE state = 'held'", (owner,))


# -- the tables ------------------------------------------------------------------------------------------------------


@DURABLE
async def test_processes_may_make_the_tables_at_once(world, ledger):
    """Nobody called `setup` of REMIT: the first use makes its tables."""
    if world.is_async:
        await world.store.inner()
    else:
        world.store.inner()
    racers = [Elsewhere(world.place, one_gate, (ledger.path,), {"log": []}, id=f"thread {n}") for n in range(5)]
    for racer in racers:
        await racer.go()
    assert [await racer.ended() for racer in racers] == [asks("q1")] * 5
