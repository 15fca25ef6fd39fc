"""A short run of the chaos driver, always of the same schedules; `make chaos` is the long one, with a seed of its own."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import chaos
import pytest
from stores import Store

SCHEDULES = 6
SEED = 780949


@pytest.mark.parametrize("backend", ["sqlite", "postgres"])
def test_schedules_are_as_the_reference_says(backend: str, new_place: Callable[[str], str]) -> None:
    place = new_place(backend)
    with Store(backend, place) as store:
        store.wrapped()
    happened = chaos.run((backend, place), SCHEDULES, SEED)
    assert happened["ends"], happened


@pytest.mark.parametrize(
    ("fault", "said"),
    [("twice", "charged twice"), ("lost", "of the last round"), ("unrecorded", "not recorded"), ("raised", "raised")],
)
def test_the_reference_refuses_a_planted_fault(fault: str, said: str, tmp_path: Path) -> None:
    place = ("sqlite", str(tmp_path / "chaos.db"))
    ledger = chaos.Ledger(str(tmp_path / "ledger.db"))
    with Store(*place) as store:
        store.wrapped()
    heard = [
        chaos.do(chaos.Job(f"w{n}", "row", "thread", act), place, ledger, None)
        for n, act in enumerate(("start", "bare", "bare"))
    ]
    assert [one.how for one in heard] == ["ends"] * 3
    chaos.check(place, "thread", ledger.charges("thread"), heard)  # it holds
    charges = ledger.charges("thread")
    if fault == "twice":
        charges.append(("w9", "a/0"))
    elif fault == "lost":
        with closing(sqlite3.connect(place[1])) as file:
            newest = file.execute("SELECT max(checkpoint_id) FROM checkpoints").fetchone()[0]
            file.execute("DELETE FROM checkpoints WHERE checkpoint_id = ?", (newest,))
            file.commit()
    elif fault == "unrecorded":
        charges.append(("w9", "c/0"))
    else:
        heard.append(chaos.Said(heard[0].job, "KeyError"))
    with pytest.raises(AssertionError, match=said):
        chaos.check(place, "thread", charges, heard)


def test_without_the_gate_the_reference_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two answers at once: stock fires twice, and the reference says so."""
    place = ("sqlite", str(tmp_path / "chaos.db"))
    ledger = chaos.Ledger(str(tmp_path / "ledger.db"))
    wrapped = chaos.RemitSaver
    monkeypatch.setattr(
        chaos, "RemitSaver", lambda inner, **options: wrapped(inner, **{**options, "cross_process_gate": False})
    )
    start = chaos.do(chaos.Job("w0", "two", "thread", "start"), place, ledger, None)
    chaos.do(chaos.Job("w1", "two", "thread", "bare"), place, ledger, None)
    first = chaos.Job("w2", "two", "thread", "bare")
    heard = [start]

    def meanwhile(point: str, *, seen: list[str] = []) -> None:  # noqa: B006
        if point == "served" and not seen:
            seen.append(point)
            heard.append(chaos.do(chaos.Job("w3", "two", "thread", "bare"), place, ledger, None))

    plain = chaos.build
    monkeypatch.setattr(
        chaos, "build", lambda ledger, job, harm: plain(ledger, job, meanwhile if job.name == "w2" else harm)
    )
    heard.append(chaos.do(first, place, ledger, None))
    with pytest.raises(AssertionError, match="charged twice"):
        chaos.check(place, "thread", ledger.charges("thread"), heard)
