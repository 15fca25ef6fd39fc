"""`remit conform`: stock savers show exactly their known faults, each planted fault is caught, a fault-free saver passes.

The cases, the oracle and the kills are themselves under test here; a case that could not fail would be caught by its
defect in defects.py.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from defects import CONFORM_DB
from remit.conform.cases import CASES
from remit.conform.factory import FactoryError
from remit.conform.ledger import Ledger
from remit.conform.report import Finding, Report
from remit.conform.runner import run
from remit.conform.trial import PROMISES

HERE = Path(__file__).parent
CLI_IS_INSTALLED = all(find_spec(name) for name in ("click", "rich"))

STOCK = {
    *("fd-bare", "fd-map", "fd-second-gate", "fd-nested"),
    *("cv-end", "cv-middle", "cv-update"),
    *("co-unknown", "co-threads"),
    *("live-failed-answer", "live-failed-named", "live-second-answer"),
}
"""What LangGraph does wrong on any stock saver, in both supported sets."""

RACES = {"co-race", "co-race-many", "co-race-named", "co-race-differ", "co-race-nested"}

DEFECTS = {
    "serves_the_old_answer_at_a_fork": {"fd-bare", "fd-map", "fd-nested", "fd-second-gate"},
    "ignores_checkpoint_id": {"fd-address", "pc-history"},
    "stores_invalid_values": {"cv-end", "cv-middle", "cv-update"},
    "loses_pending_writes": {"eo-sibling-raised", "eo-frozen", "rd-answers"},
    "loses_questions": {"live-look", "live-part"},
    "loses_answers": {"live-retry", "rd-answers"},
    "gives_the_head_before_last": {"pc-gate", "pc-raised", "pc-history"},
    "lists_the_oldest_first": {"pc-history"},
    "forgets_parents": {"pc-history"},
    "reverses_writes": {"rd-writes"},
    "reverses_answers": {"rd-recorded"},
    "fires_again_when_finished": {"co-stray"},
    "mixes_threads": {"eo-frozen", "rd-orders"},
    "mixes_namespaces": {"pc-nested"},
    "refuses_the_second_answer": {"live-part", "rd-answers"},
    "refuses_every_answer": {"pc-gate", "live-look"},
}
"""A planted fault, and the cases that must be violated because of it, and are not on the saver it was made from."""


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A file for the factories, and the factories on the path of every process."""
    monkeypatch.setenv(CONFORM_DB, str(tmp_path / "conform.db"))
    monkeypatch.syspath_prepend(str(HERE))
    yield tmp_path / "conform.db"


@pytest.fixture(autouse=True)
def _path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(HERE))


def not_run(report: Report) -> set[str]:
    return {finding.case.id for finding in report.findings if finding.verdict == "not run"}


def test_every_promise_has_cases() -> None:
    assert {case.promise for case in CASES.values()} == set(PROMISES)


def test_the_stock_saver_in_memory_has_exactly_the_known_faults() -> None:
    report = run("defects:stock_memory")
    assert set(report.violated()) == STOCK
    assert not_run(report) == {case.id for case in CASES.values() if case.needs == "processes"}


def test_the_stock_saver_on_a_file_has_exactly_the_known_faults(database: Path) -> None:
    report = run("defects:stock_sqlite")
    assert set(report.violated()) == STOCK | RACES
    assert not not_run(report)
    frozen = next(finding for finding in report.findings if finding.case.id == "eo-frozen")
    # The input's checkpoint and writes, a checkpoint, three tasks, a checkpoint, a task, a checkpoint. What is not
    # durable when the store stops is done again: at three, two and one of the three tasks, and at the last one.
    assert frozen.notes == {"writes": 9, "fired_again": {0: 0, 1: 0, 2: 0, 3: 3, 4: 2, 5: 1, 6: 0, 7: 1, 8: 0}}


def test_remit_with_its_gate_keeps_all_of_it_in_memory() -> None:
    assert run("defects:remit_memory").violated() == []


def test_remit_with_its_gate_keeps_all_of_it_on_a_file(database: Path) -> None:
    report = run("defects:remit_sqlite")
    assert report.violated() == []
    assert not not_run(report)


@pytest.mark.parametrize("defect", DEFECTS)
def test_a_planted_fault_is_caught(defect: str) -> None:
    assert not DEFECTS[defect] & STOCK or defect in ("serves_the_old_answer_at_a_fork", "stores_invalid_values")
    report = run(f"defects:{defect}", only=DEFECTS[defect])
    assert set(report.violated()) == DEFECTS[defect]


def test_writes_that_wait_for_a_checkpoint_are_caught_by_a_kill(database: Path) -> None:
    report = run("defects:defers_writes", only={"eo-sibling-killed", "eo-sibling-raised"})
    assert "eo-sibling-killed" in report.violated()


def test_a_gate_keeps_the_races_and_pays_with_liveness(database: Path) -> None:
    report = run("defects:gated", only={"co-race", "co-race-many", "co-threads", "co-apart", "live-part", "live-retry"})
    assert set(report.violated()) == {"live-part", "live-retry"}


def test_the_ledger_sees_what_happened_and_nothing_else(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "effects")
    ledger.fire("run", "a")
    ledger.fire("other", "b")
    Ledger(tmp_path / "effects").fire("run", "a")
    assert ledger.read("run") == ["a", "a"]


@pytest.mark.parametrize(("killed_before", "effects"), [(True, []), (False, ["a"])])
def test_a_kill_before_the_insert_is_not_counted_and_one_after_it_is(
    tmp_path: Path, killed_before: bool, effects: list[str]
) -> None:
    ledger = Ledger(tmp_path / "effects")
    kill = "os.kill(os.getpid(), signal.SIGKILL)"
    steps = [kill, "ledger.fire('run', 'a')"] if killed_before else ["ledger.fire('run', 'a')", kill]
    program = ["import os, signal", "from remit.conform.ledger import Ledger", f"ledger = Ledger({ledger.path!r})"]
    done = subprocess.run([sys.executable, "-c", "\n".join([*program, *steps])], check=False)
    assert done.returncode == -9
    assert ledger.read("run") == effects


def test_a_case_that_checks_nothing_is_no_success() -> None:
    assert Finding(next(iter(CASES.values()))).verdict == "violated"


@pytest.mark.parametrize("spec", ["defects", "defects:", "defects:nothing", "no_such_module:x", "defects:CONFORM_DB"])
def test_a_factory_that_is_not_there_is_said(spec: str) -> None:
    with pytest.raises(FactoryError):
        run(spec)


def test_a_factory_that_gives_no_saver_is_said() -> None:
    with pytest.raises(FactoryError, match="object"):
        run("defects:no_saver")


def test_a_store_of_one_process_is_refused_where_processes_are_asked_for() -> None:
    with pytest.raises(FactoryError, match="another process"):
        run("defects:stock_memory", processes=True)


def test_nothing_is_left_in_the_store(database: Path) -> None:
    import sqlite3

    run("defects:stock_sqlite", only={"FD"})
    with sqlite3.connect(database) as connection:
        assert connection.execute("SELECT count(*) FROM checkpoints").fetchone() == (0,)


def conform(*args: str, database: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "remit.cli", "conform", *args],
        cwd=HERE,
        env={**os.environ, CONFORM_DB: str(database)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.skipif(not CLI_IS_INSTALLED, reason="the extra `cli` is not installed")
@pytest.mark.parametrize(
    ("args", "status"),
    [
        (["--only", "fd-bare"], 1),
        (["--only", "fd-same"], 0),
        (["--only", "fd-bare", "--known", "fd-bare"], 0),
        (["--only", "fd-same", "--known", "fd-same"], 1),
        (["--only", "nothing"], 2),
        (["--known", "nothing"], 2),
    ],
)
def test_the_command_says_by_its_status_what_it_found(args: list[str], status: int, tmp_path: Path) -> None:
    done = conform("--factory", "defects:stock_memory", *args, database=tmp_path / "db")
    assert done.returncode == status, done.stdout + done.stderr


@pytest.mark.skipif(not CLI_IS_INSTALLED, reason="the extra `cli` is not installed")
def test_the_commands_json_says_the_same_twice(tmp_path: Path) -> None:
    said = []
    for name in ("one", "two"):
        options = ["--only", "PC", "--only", "eo-frozen", "--json", "--output", str(tmp_path / name)]
        done = conform("--factory", "defects:stock_sqlite", *options, database=tmp_path / "db")
        assert done.returncode == 0, done.stderr
        assert json.loads((tmp_path / name).read_text()) == json.loads(done.stdout)
        said.append(done.stdout)
    assert said[0] == said[1]
    assert json.loads(said[0])["promises"] == {"PC": "holds", "EO": "holds"}


def test_the_pytest_plugin_runs_the_cases_beside_a_suite(tmp_path: Path) -> None:
    (tmp_path / "test_own.py").write_text("def test_own():\n    pass\n")
    options = [
        "--remit-factory",
        "defects:stock_memory",
        "--remit-known",
        "fd-bare",
        "-k",
        "test_own or fd-same or fd-bare",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rA", *options, "test_own.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(HERE)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed" in done.stdout and "1 xfailed" in done.stdout
    failing = subprocess.run(
        [*done.args[:-1], "-k", "fd-map", "test_own.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(HERE)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert failing.returncode == 1
    assert "not so: each answer is served as it was given" in failing.stdout
