"""`remit demo`, the README's main job: what it prints is what happened, and its exit status can be trusted.

The rows are checked in this process; the command itself in a process of its own, where the extra `cli` is installed.
"""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from remit import RemitSaver, RemitStrayResume
from remit.cli import demo

STOCK_BREAKS = {
    "fork": "each answer is served as it was given",
    "corrected": "the next answer is served as it was given",
    "invalid": "nothing invalid is durable",
    "stray": "a stray to the finished thread is reported",
    "agent": "the next decision completes the thread",
}
"""Per scenario, what the stock saver is known to break; measured with both supported sets of LangGraph."""

PAID = ["pay A-1042 1250 cents", "mail A-1042 paid"]
DECLINED = ["mail A-1042 declined"]
CLI_IS_INSTALLED = all(find_spec(name) for name in ("click", "rich"))
needs_cli = pytest.mark.skipif(not CLI_IS_INSTALLED, reason="the extra `cli` is not installed")


def broken(rows: list[demo.Row], column: str) -> dict[str, list[str]]:
    """Scenario to the checks that did not hold in a column; a scenario without any is left out."""
    cells = {row.scenario.key: row.observed[column] for row in rows if row.not_run is None}
    return {key: observation.broken for key, observation in cells.items() if not observation.kept}


def python(code: str, tmp_path: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """Run `code` in a fresh interpreter whose temporary directory is `tmp_path`."""
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path), **env},
        check=False,
    )


def command(tmp_path: Path, *args: str) -> subprocess.CompletedProcess[str]:
    """Run `python -m remit.cli demo ARGS`, with its output on a pipe."""
    return subprocess.run(
        [sys.executable, "-m", "remit.cli", "demo", *args],
        capture_output=True,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path), "FORCE_COLOR": "1"},
        check=False,
    )


@pytest.fixture(scope="module")
def rows() -> list[demo.Row]:
    """The demo, run once."""
    return demo.run_all()


def row(rows: list[demo.Row], key: str) -> dict[str, Any]:
    """One scenario's row, as data."""
    (found,) = [row.as_dict() for row in rows if row.scenario.key == key]
    if found["not_run"] is not None:
        pytest.skip(found["not_run"])
    return found


def test_every_scenario_is_there_and_only_the_agent_may_be_missing(rows: list[demo.Row]) -> None:
    assert [r.scenario.key for r in rows] == list(STOCK_BREAKS)
    missing = {r.scenario.key: r.not_run for r in rows if r.not_run is not None}
    assert missing == ({} if find_spec("langchain") else {"agent": "langchain is not installed"})


def test_remit_keeps_every_promise(rows: list[demo.Row]) -> None:
    assert broken(rows, "remit") == {}
    assert demo.exit_status(rows) == 0


@pytest.mark.parametrize("key", STOCK_BREAKS)
def test_stock_breaks_what_it_is_known_to_break(rows: list[demo.Row], key: str) -> None:
    assert row(rows, key)["stock"]["checks"][STOCK_BREAKS[key]] is False


def test_fork_the_rejected_branch_pays_nothing(rows: list[demo.Row]) -> None:
    found = row(rows, "fork")
    assert [d["served"] for d in found["stock"]["served"]] == ["approve", "approve"]
    assert found["stock"]["ledger"] == PAID + PAID
    assert [d["served"] for d in found["remit"]["served"]] == ["approve", "reject"]
    assert found["remit"]["ledger"] == PAID + DECLINED


def test_corrected_the_right_answer_is_served_at_once(rows: list[demo.Row]) -> None:
    found = row(rows, "corrected")
    assert [d["answer"] for d in found["stock"]["served"]] == ["aprove", "approve", "approve", "approve"]
    assert {d["served"] for d in found["stock"]["served"]} == {"aprove"}
    assert found["stock"]["ledger"] == []
    assert [d["served"] for d in found["remit"]["served"]] == ["aprove", "approve"]
    assert found["remit"]["ledger"] == PAID


def test_invalid_nothing_of_it_is_stored_and_the_thread_goes_on(rows: list[demo.Row]) -> None:
    found = row(rows, "invalid")
    assert "12.50 euro" in found["stock"]["notes"]["invalid in the file"]
    assert found["stock"]["ledger"] == []
    assert found["remit"]["notes"]["invalid in the file"] == "nothing"
    assert found["remit"]["notes"]["invalid update"] == "RemitValidityError"
    assert found["remit"]["ledger"] == PAID


def test_stray_runs_nothing_and_is_said_once(rows: list[demo.Row]) -> None:
    found = row(rows, "stray")
    stock, remit = found["stock"]["notes"], found["remit"]["notes"]
    assert stock["reports, finished thread"] == stock["reports, unknown thread"] == "none"
    # Stock takes the stray to an unknown thread for a start, and asks about a refund that nobody wants.
    assert stock["nodes run by strays"] == "intake, review"
    assert remit["reports, finished thread"] == "1 warning(s), 1 log record(s)"
    assert remit["nodes run by strays"] == "none"
    assert [d["outcome"] for d in found["remit"]["served"]] == ["finished", "finished", "RemitStrayResume"]
    assert found["stock"]["ledger"] == found["remit"]["ledger"] == PAID


def test_agent_recovers_from_a_malformed_decision(rows: list[demo.Row]) -> None:
    found = row(rows, "agent")
    assert {d["served"] for d in found["stock"]["served"]} == {"aprove"}
    assert found["stock"]["ledger"] == []
    assert [d["outcome"] for d in found["remit"]["served"]] == ["ValueError", "finished"]
    assert found["remit"]["ledger"] == PAID[:1]


def no_forks(inner: Any, validator: Any) -> Any:
    """A fork is not told from a retry."""
    return RemitSaver(inner, validator=validator, fork_on_explicit_checkpoint=False)


def no_validator(inner: Any, validator: Any) -> Any:
    """Nothing is validated."""
    return RemitSaver(inner)


def no_reports(inner: Any, validator: Any) -> Any:
    """Strays are not reported."""
    return RemitSaver(inner, validator=validator, on_stray="ignore")


def false_alarms(inner: Any, validator: Any) -> Any:
    """Every read is reported as a stray."""
    saver = RemitSaver(inner, validator=validator)
    get_tuple = saver.get_tuple

    def crying(config: Any) -> Any:
        warnings.warn("wolf", RemitStrayResume, stacklevel=2)
        return get_tuple(config)

    saver.get_tuple = crying  # type: ignore[method-assign]
    return saver


def refuses(inner: Any, validator: Any) -> Any:
    """Nothing is ever stored: safe because dead."""
    saver = RemitSaver(inner, validator=validator)

    def put(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("refused")

    saver.put = put  # type: ignore[method-assign]
    return saver


LEGITIMATE = {"fork", "corrected", "invalid", "agent"} if find_spec("langchain") else {"fork", "corrected", "invalid"}


@pytest.mark.filterwarnings("ignore:wolf")
@pytest.mark.parametrize(
    ("factory", "noticed_by"),
    [
        (demo.bare, LEGITIMATE | {"stray"}),
        (no_forks, {"fork"}),
        (no_validator, {"invalid"}),
        (no_reports, {"stray"}),
        (false_alarms, LEGITIMATE),
        (refuses, LEGITIMATE | {"stray"}),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
def test_a_broken_saver_is_noticed_where_it_is_broken(factory: Callable[..., Any], noticed_by: set[str]) -> None:
    rows = demo.run_all(factory)
    assert set(broken(rows, "remit")) == noticed_by
    assert demo.exit_status(rows) == 1


def test_a_scenario_that_is_not_run_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    # `None` in `sys.modules` is how an import is blocked: the package then counts as not installed.
    monkeypatch.setitem(sys.modules, "langchain", None)
    rows = demo.run_all()
    assert rows[-1].not_run == "langchain is not installed"
    assert demo.exit_status(rows) == 0


@needs_cli
def test_json_on_stdout_is_what_was_run(rows: list[demo.Row], tmp_path: Path) -> None:
    done = command(tmp_path, "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert [r["scenario"] for r in document["rows"]] == list(STOCK_BREAKS)
    assert document["kept"]["remit"] == document["run"] == sum(r["not_run"] is None for r in document["rows"])
    assert document["kept"]["stock"] == 0
    assert {"python", "langgraph", "langgraph-checkpoint"} <= set(document["versions"])
    # Nothing in the rows is random, so the process next door saw the same.
    assert document["rows"] == [r.as_dict() for r in rows]
    assert list(tmp_path.iterdir()) == []


@needs_cli
def test_on_a_pipe_it_is_plain_text(rows: list[demo.Row], tmp_path: Path) -> None:
    done = command(tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.isascii()
    assert "\x1b" not in done.stdout + done.stderr
    assert max(map(len, done.stdout.splitlines())) <= 110
    for r in rows:
        assert f"[{r.scenario.promise}] {r.scenario.title}" in done.stdout
    total = sum(r.not_run is None for r in rows)
    assert done.stdout.rstrip().endswith(f"RemitSaver over SqliteSaver keeps {total} of {total}.")


@needs_cli
def test_nothing_is_said_beside_the_report(tmp_path: Path) -> None:
    assert command(tmp_path, "--json").stderr == ""


@needs_cli
def test_a_broken_promise_is_the_exit_status(tmp_path: Path) -> None:
    code = "from remit.cli import demo, main; demo.wrapped = demo.bare; main(['demo', '--json'])"
    done = python(code, tmp_path)
    assert done.returncode == 1, done.stderr
    assert json.loads(done.stdout)["kept"] == {"stock": 0, "remit": 0}


@needs_cli
def test_kept_files_hold_the_effects_that_were_reported(tmp_path: Path) -> None:
    kept = tmp_path / "effects.db"
    done = command(tmp_path, "--json", "--keep", str(kept))
    assert done.returncode == 0, done.stderr
    with sqlite3.connect(kept) as conn:
        stored = conn.execute("SELECT saver, scenario, effect || ' ' || detail FROM effects ORDER BY n").fetchall()
    for r in json.loads(done.stdout)["rows"]:
        for column in ("stock", "remit"):
            if r["not_run"] is None:
                assert [text for *key, text in stored if key == [column, r["scenario"]]] == r[column]["ledger"]
    for column in ("stock", "remit"):
        with sqlite3.connect(f"{kept}.{column}") as conn:
            assert conn.execute("SELECT count(*) FROM checkpoints").fetchone()[0] > 0

    again = command(tmp_path, "--keep", str(kept))
    assert again.returncode == 2
    assert "exists already" in again.stderr
    nowhere = command(tmp_path, "--keep", str(tmp_path / "missing" / "effects.db"))
    assert nowhere.returncode == 2
    assert "not a directory" in nowhere.stderr


@needs_cli
def test_no_network_whatever_tracing_is_set_outside(tmp_path: Path) -> None:
    code = """
import os, socket, sys
def connect(*args):
    sys.stderr.write(f"connect{args[1:]}"); sys.stderr.flush(); os._exit(99)
socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = connect
from remit.cli import main
main(["demo", "--json"])
"""
    tracing = {"LANGSMITH_TRACING": "true", "LANGCHAIN_TRACING_V2": "true", "LANGSMITH_API_KEY": "none"}
    done = python(code, tmp_path, **tracing)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "missing",
    [
        "click",
        # Without click it is click that is found missing first.
        pytest.param("rich", marks=needs_cli),
        pytest.param("langgraph.checkpoint.sqlite", marks=needs_cli),
    ],
)
def test_a_missing_package_is_one_clear_line(missing: str, tmp_path: Path) -> None:
    code = f"import sys; sys.modules[{missing!r}] = None; from remit.cli import main; main(['demo'])"
    done = python(code, tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert missing in line
    assert "langgraph-checkpoint-remit[cli]" in line


@needs_cli
def test_on_a_terminal_it_is_tables(rows: list[demo.Row]) -> None:
    import pty

    parent, child = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "remit.cli", "demo"],
        stdout=child,
        stderr=subprocess.PIPE,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "120"},
    )
    os.close(child)
    output = b""
    while True:
        try:
            chunk = os.read(parent, 65536)
        except OSError:  # Linux's way of saying that the other end is closed
            break
        if not chunk:
            break
        output += chunk
    os.close(parent)
    _, errors = process.communicate()
    assert process.returncode == 0, errors
    assert b"\x1b[" in output
    assert f"of {sum(r.not_run is None for r in rows)}".encode() in output
