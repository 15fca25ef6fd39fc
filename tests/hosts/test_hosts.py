"""The gate between hosts: two workers and a PostgreSQL server, each behind a network of its own. See `network`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from langgraph.checkpoint.postgres import PostgresSaver
from network import Network, hosts
from remit import RemitSaver
from stores import POSTGRES_CONNECTION

sys.path.insert(0, str(Path(__file__).parents[1] / "contract"))
from graphs import asking, nested
from ledger import Ledger

DAY_S = 86_400.0
LEASE_S = 2.0
WAITS: dict[str, Any] = {"on_conflict": "wait", "conflict_timeout": DAY_S}


@pytest.fixture(scope="module")
def shared() -> Iterator[Network]:
    with hosts() as network:
        yield network


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger.db")


@pytest.fixture
def network(shared: Network, ledger: Ledger) -> Iterator[Network]:
    """The network with an empty database, where a thread is parked at its question."""
    with psycopg.connect(shared.local, **POSTGRES_CONNECTION) as connection:
        connection.execute("DROP SCHEMA public CASCADE")
        connection.execute("CREATE SCHEMA public")
        saver = RemitSaver(PostgresSaver(connection), cross_process_gate=True)
        saver.setup()
        config: Any = {"configurable": {"thread_id": "thread"}}
        nested(asking("q1", ledger=ledger), 0)(saver).invoke({"log": []}, config)
    yield shared


def state(network: Network) -> tuple[Any, list[tuple[str, str | None]]]:
    """What the thread says, and the trail of its question."""
    with psycopg.connect(network.local, **POSTGRES_CONNECTION) as connection:
        saver = RemitSaver(PostgresSaver(connection))
        values = nested(asking("q1"), 0)(saver).get_state({"configurable": {"thread_id": "thread"}}).values
        return values.get("v"), [(grant.state, grant.outcome) for grant in saver.claims("thread") if grant.interrupts]


def test_of_two_hosts_one_answers(network: Network, ledger: Ledger) -> None:
    a, b = network.worker("a", ledger.path, "a"), network.worker("b", ledger.path, "b")
    assert a.goes_on() == ["holds"]
    assert b.goes_on() == ["refused", "conflict-held", "worker-a"]
    assert a.goes_on() == ["gives", "a"]
    assert ledger.fired("effect") == [["a"]]
    assert state(network) == ("a", [("consumed", "consumed")])


def test_a_host_that_died_is_waited_for_until_its_lease_is_over(network: Network, ledger: Ledger) -> None:
    a = network.worker("a", ledger.path, "a", claim_lease=LEASE_S)
    b = network.worker("b", ledger.path, "b", **WAITS)
    assert a.goes_on() == ["holds"]
    a.process.kill()
    assert b.goes_on() == ["holds"]
    assert b.goes_on() == ["gives", "b"]
    assert state(network) == ("b", [("free", "expired"), ("consumed", "consumed")])


def test_the_holder_is_cut_off_and_comes_back(network: Network, ledger: Ledger) -> None:
    a = network.worker("a", ledger.path, "a", claim_lease=LEASE_S)
    b = network.worker("b", ledger.path, "b", **WAITS)
    assert a.goes_on() == ["holds"]
    with network.partition("a"):
        assert b.goes_on() == ["holds"]  # once the lease is over
        assert b.goes_on() == ["gives", "b"]
        a.go()  # its node ends while nobody hears it
    assert a.says()[:2] == ["refused", "conflict-fenced"]
    assert state(network) == ("b", [("free", "expired"), ("consumed", "consumed")])


def test_the_holder_is_cut_off_and_nobody_comes(network: Network, ledger: Ledger) -> None:
    a = network.worker("a", ledger.path, "a", claim_lease=LEASE_S)
    assert a.goes_on() == ["holds"]
    with network.partition("a"):
        a.go()
    assert a.says() == ["gives", "a"]
    assert state(network) == ("a", [("consumed", "consumed")])


@pytest.mark.parametrize("how", [{"delay_s": 0.1}, {"loss": 0.1}], ids=["200 ms there and back", "10 % lost"])
def test_of_two_hosts_on_a_bad_network_one_answers(network: Network, ledger: Ledger, how: Any) -> None:
    network.disturb(**how)
    try:
        workers = [network.worker(host, ledger.path, host) for host in ("a", "b")]
        for worker in workers:
            worker.go()
        said = [worker.says() for worker in workers]
        winner = said.index(["holds"])
        assert said[1 - winner] == ["refused", "conflict-held", f"worker-{'ab'[winner]}"]
        assert workers[winner].goes_on() == ["gives", "ab"[winner]]
    finally:
        network.disturb()
    assert ledger.fired("effect") == [["ab"[winner]]]
