"""The command line's verbs, on a database with a parked thread, a fork and an effect whose process was killed."""

from __future__ import annotations

import json

import crash
import pytest
from click.testing import CliRunner
from graphs import State, gives
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt
from ledger import Ledger
from remit import effect
from remit.cli.commands import group

pytestmark = pytest.mark.parametrize("world", ["sqlite", "postgres"], indirect=True)


def refunds(path):
    """Pays, then asks."""
    ledger = Ledger(path)

    def pay(_):
        from graphs import point

        def fire(amount):
            ledger.fire("pay", amount)
            point("paid")
            return amount

        return {"log": [effect("pay", fire, 5)]}

    def ask(_):
        return {"v": interrupt({"refund": 5})}

    def build(saver):
        graph = StateGraph(State)
        graph.add_node("pay", pay)
        graph.add_node("ask", ask)
        graph.add_edge(START, "pay")
        graph.add_edge("pay", "ask")
        return graph.compile(checkpointer=saver)

    return build


def run(world, *args, status=0):
    done = CliRunner().invoke(group, list(args), env={"DATABASE_URL": url(world)})
    assert done.exit_code == status, done.output
    return done.stdout


def url(world):
    if world.store.backend == "sqlite":
        return world.store.place
    from psycopg.conninfo import conninfo_to_dict

    of = conninfo_to_dict(world.store.place)
    return f"postgresql://{of.get('user', '')}@/{of['dbname']}?host={of.get('host', '')}&port={of.get('port', '5432')}"


async def test_what_is_parked_is_listed_and_shown(world, ledger):
    thread = await world.thread(refunds(ledger.path))
    await thread.start()
    await (await world.thread(refunds(ledger.path), id="done")).start()
    await (await world.thread(refunds(ledger.path), id="done")).answer("yes")
    [parked] = json.loads(run(world, "threads", "--json"))
    assert (parked["thread"], parked["node"], parked["value"]) == ("thread", "ask", {"refund": 5})
    assert 'thread\task\t{"refund": 5}\t0s\t\t' in run(world, "threads", "--limit", "1", "--older-than", "0s")
    for nothing in (["--older-than", "1d"], ["--prefix", "done"]):
        assert json.loads(run(world, "threads", "--json", *nothing)) == []
    run(world, "threads", "--older-than", "soon", status=2)
    shown = json.loads(run(world, "show", "thread", "--json"))
    assert [n["questions"] for n in shown] == [[], [], [{"refund": 5}]]
    assert [n["effects"] for n in shown] == [[], ["pay #0: done"], []]
    assert "asks {'refund': 5}" in run(world, "show", "thread", "--mermaid")
    assert json.loads(run(world, "explain", "thread", "--json"))["tasks"][0]["step"] == "ask"
    assert "invoke(None): asks again in ask" in run(world, "explain", "thread")
    run(world, "doctor")
    assert (
        "no thread nowhere" in CliRunner().invoke(group, ["show", "nowhere"], env={"DATABASE_URL": url(world)}).output
    )


async def test_an_effect_in_doubt_is_told_and_resolved(world, ledger):
    crash.run_killed(world.place, refunds, (ledger.path,), {"log": []}, "paid", when_landed=False)
    assert "comes to pay, which is in doubt" in run(world, "explain", "thread", status=1)
    [doubt] = json.loads(run(world, "effects", "thread", "--json", status=1))
    assert doubt["state"] == "in doubt"
    assert "WRONG" in run(world, "doctor", status=1)
    run(world, "effects", "resolve", "thread", str(doubt["id"]), status=2)
    run(world, "effects", "resolve", "thread", str(doubt["id"]), "--fired", "--result", "{", status=2)
    assert "resolved" in run(world, "effects", "resolve", "thread", str(doubt["id"]), "--fired", "--result", "5")
    run(world, "effects", "resolve", "thread", str(doubt["id"]), "--not-fired", status=1)
    run(world, "doctor")
    thread = await world.thread(refunds(ledger.path))
    await thread.go_on()
    assert await thread.answer("yes") == gives("yes")
    assert ledger.fired("pay") == [5]


async def test_claims_are_listed_and_released(world, ledger):
    def holding(_):
        assert "\tTrue\t" in run(world, "claims", "thread")
        [freed] = json.loads(run(world, "claims", "release", "thread", "--json"))
        assert freed["running"]
        return {"v": 1}

    saver = await world.saver(cross_process_gate=True)
    graph = StateGraph(State).add_node("holding", holding).add_edge(START, "holding").compile(checkpointer=saver)
    with pytest.raises(Exception, match="lost its claim"):
        graph.invoke({"log": []}, {"configurable": {"thread_id": "thread"}})
    [claim] = json.loads(run(world, "claims", "thread", "--json"))
    assert not claim["running"]


async def test_a_look_writes_nothing(world, ledger):
    stock = await world.saver(stock=True)  # without tables of REMIT
    run(world, "doctor", status=1)
    rows = stock.conn.execute(
        "SELECT name FROM sqlite_master"
        if world.store.backend == "sqlite"
        else "SELECT tablename AS name FROM pg_tables"
    ).fetchall()
    names = {row["name"] if isinstance(row, dict) else row[0] for row in rows}
    assert "checkpoints" in names
    assert not {name for name in names if name.startswith("remit_")}


async def test_a_database_that_cannot_be_opened_is_said(world):
    done = CliRunner().invoke(group, ["doctor", "-d", "/nowhere/at/all.db"])
    assert done.exit_code == 1
    assert "no file" in done.output
    assert CliRunner().invoke(group, ["doctor"], env={"DATABASE_URL": ""}).exit_code == 2


class Forgetful(InMemorySaver):
    def put_writes(self, config, writes, task_id, task_path=""):
        pass


@pytest.mark.parametrize(("name", "status", "told"), [("InMemorySaver", 0, "sound"), ("Forgetful", 1, "WRONG")])
def test_a_checkpointer_is_checked_each_way_it_is_called(world, name, status, told):
    done = CliRunner().invoke(group, ["doctor", "--factory", f"test_cli:{name}"], env={"DATABASE_URL": ""})
    assert done.exit_code == status, done.output
    rows = [line.split("\t") for line in done.output.splitlines()[1:]]
    assert [row[:2] for row in rows] == [[f"{name}, sync", told], [f"{name}, async", told]]
    assert CliRunner().invoke(group, ["doctor", "--factory", "test_cli:absent"]).exit_code == 2
