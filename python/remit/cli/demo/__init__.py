"""`remit demo`: one refund-approval app, once on the stock saver and once on RemitSaver.

`app` is the application and its effect ledger, `scenarios` and `agent` are what is done to it, `model` is what is
recorded, `report` prints it. Every verdict is computed from the ledger and from what came out of the calls.
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from remit import RemitSaver
from remit.cli.demo.agent import AGENT
from remit.cli.demo.app import Factory, Ledger, Plane, Saver, Validator
from remit.cli.demo.model import Column, Observation, Row, Scenario
from remit.cli.demo.scenarios import CORRECTED, FORK, INVALID, STRAY

__all__ = ["SCENARIOS", "KeepError", "bare", "exit_status", "run_all", "silence_tracing", "wrapped"]

SCENARIOS: tuple[Scenario, ...] = (FORK, CORRECTED, INVALID, STRAY, AGENT)


class KeepError(ValueError):
    """The files cannot be kept where they were asked to be kept; nothing was run."""


def bare(inner: Saver, validator: Validator) -> Saver:
    """The stock column: the saver as it is (it has no use for a validator)."""
    return inner


def wrapped(inner: Saver, validator: Validator) -> Saver:
    """The remit column: the same saver inside a `RemitSaver`."""
    return RemitSaver(inner, validator=validator)


def run_all(factory: Factory | None = None, *, keep: Path | None = None) -> list[Row]:
    """Run every scenario on the stock saver and on what `factory` makes of it.

    Args:
        factory: makes the remit column's saver of a stock `SqliteSaver`; `wrapped` if not given. A test gives a
            broken one here.
        keep: where to keep the files; see `remit demo --help`.

    Raises:
        KeepError: `keep` is taken or cannot be written.
    """
    with _workspace(keep) as directory, closing(Ledger(directory / "effects")) as ledger:
        planes: dict[Column, Plane] = {
            "stock": Plane("stock", directory / "stock", bare, ledger),
            # `wrapped` is looked up now and not bound as a default, so that it can be replaced from outside.
            "remit": Plane("remit", directory / "remit", factory or wrapped, ledger),
        }
        return [_run(scenario, planes) for scenario in SCENARIOS]


def _run(scenario: Scenario, planes: dict[Column, Plane]) -> Row:
    reason = scenario.unavailable()
    observed: dict[Column, Observation] = {}
    if not reason:
        observed = {column: scenario.observe(plane) for column, plane in planes.items()}
    return Row(scenario, observed, not_run=reason)


def exit_status(rows: list[Row]) -> int:
    """1 if a scenario that ran broke a promise in the remit column, else 0; a scenario not run does not count."""
    return int(any(not row.observed["remit"].kept for row in rows if row.not_run is None))


def silence_tracing() -> None:
    """Turn LangSmith's tracing off in this process: the demo must not talk to the network, whatever is set outside."""
    for name in ("LANGSMITH_TRACING", "LANGSMITH_TRACING_V2", "LANGCHAIN_TRACING", "LANGCHAIN_TRACING_V2"):
        os.environ[name] = "false"


@contextmanager
def _workspace(keep: Path | None) -> Iterator[Path]:
    """A temporary directory, always removed; its databases are copied out at the end, also after a failure."""
    targets = {} if keep is None else _targets(keep)
    with tempfile.TemporaryDirectory(prefix="remit-demo-", ignore_cleanup_errors=True) as name:
        directory = Path(name)
        try:
            yield directory
        finally:
            for part, target in targets.items():
                _copy(directory / part, target)


def _targets(keep: Path) -> dict[str, Path]:
    targets = {"effects": keep, "stock": Path(f"{keep}.stock"), "remit": Path(f"{keep}.remit")}
    for target in targets.values():
        if target.exists():
            raise KeepError(f"{target} exists already")
    if not os.access(keep.parent, os.W_OK):
        raise KeepError(f"{keep.parent} is not a directory that can be written")
    return targets


def _copy(source: Path, target: Path) -> None:
    # SQLite's own backup and not a copy of the file: what is still in a write-ahead log comes along.
    with closing(sqlite3.connect(source)) as from_conn, closing(sqlite3.connect(target)) as to_conn:
        from_conn.backup(to_conn)
