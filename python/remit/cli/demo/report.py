"""The rows as JSON, as plain text (a pipe) and as rich tables (a terminal): three views of the same cells."""

from __future__ import annotations

import json
import platform
import textwrap
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from itertools import zip_longest
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from remit.cli.demo.model import Column, Observation, Row

COLUMNS: tuple[Column, Column] = ("stock", "remit")
HEADINGS: dict[Column, str] = {"stock": "stock SqliteSaver", "remit": "RemitSaver over SqliteSaver"}
PACKAGES = (
    "langgraph-checkpoint-remit",
    "langgraph",
    "langgraph-checkpoint",
    "langgraph-checkpoint-sqlite",
    "langchain",
)
LABEL_WIDTH, CELL_WIDTH, TEXT_WIDTH = 10, 46, 100
"""Of the plain text, in characters; fixed, so that the output does not depend on who reads it."""


def as_json(rows: list[Row]) -> str:
    """One JSON document: versions, rows, and the number of promises kept per column."""
    document: dict[str, Any] = {
        "versions": versions(),
        "rows": [row.as_dict() for row in rows],
        "kept": {column: kept(rows, column) for column in COLUMNS},
        "run": ran(rows),
    }
    return json.dumps(document, indent=2)


def versions() -> dict[str, str]:
    """What was run, by name; a package that is not installed is left out."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def ran(rows: list[Row]) -> int:
    """The number of scenarios that were run."""
    return sum(row.not_run is None for row in rows)


def kept(rows: list[Row], column: Column) -> int:
    """The number of promises that a column kept."""
    return sum(row.observed[column].kept for row in rows if row.not_run is None)


def cells(observation: Observation) -> dict[str, list[str]]:
    """One column's part of a row: label to lines."""
    notes = [f"{label}: {text}" for label, text in observation.notes.items()]
    verdict = ["kept"] if observation.kept else ["BROKEN: it is not so that", *(f"- {s}" for s in observation.broken)]
    return {
        "served": [str(delivery) for delivery in observation.served] or ["nothing"],
        "ledger": observation.ledger or ["no effect"],
        "seen": notes,
        "promise": verdict,
    }


def lines(row: Row) -> Iterator[tuple[str, dict[Column, list[str]]]]:
    """A row's lines of cells, by label; a label with nothing in any column is left out."""
    by_column = {column: cells(observation) for column, observation in row.observed.items()}
    for label in ("served", "ledger", "seen", "promise"):
        line: dict[Column, list[str]] = {column: by_column[column][label] for column in COLUMNS}
        if any(line.values()):
            yield label, line


def summary(rows: list[Row]) -> str:
    """One sentence, computed."""
    total = ran(rows)
    parts = [f"{HEADINGS[column]} keeps {kept(rows, column)} of {total}" for column in COLUMNS]
    return "Promises kept: " + "; ".join(parts) + "."


def as_text(rows: list[Row]) -> str:
    """Plain ASCII without colour, boxes or trailing blanks."""
    out = textwrap.wrap(", ".join(f"{name} {number}" for name, number in versions().items()), TEXT_WIDTH)
    for row in rows:
        out += ["", heading(row)]
        if row.not_run is not None:
            out.append(f"  {'':{LABEL_WIDTH}}not run ({row.not_run})")
            continue
        out += _side_by_side("", {column: [HEADINGS[column]] for column in COLUMNS})
        for label, line in lines(row):
            out += _side_by_side(label, line)
    return "\n".join([*out, "", summary(rows)])


def heading(row: Row) -> str:
    """A row's first line."""
    return f"[{row.scenario.promise}] {row.scenario.title}"


def _side_by_side(label: str, line: dict[Column, list[str]]) -> Iterator[str]:
    left, right = ([part for text in line[column] for part in _wrap(text)] for column in COLUMNS)
    labels = [label] + [""] * max(len(left), len(right), 1)
    for name, a, b in zip_longest(labels[: max(len(left), len(right))], left, right, fillvalue=""):
        yield f"  {name:{LABEL_WIDTH}}{a:{CELL_WIDTH}}{b}".rstrip()


def _wrap(text: str) -> list[str]:
    return textwrap.wrap(text, CELL_WIDTH - 2, subsequent_indent="  ") or [""]


def print_rich(rows: list[Row]) -> None:
    """One table per scenario, on a terminal."""
    console = Console()
    for row in rows:
        console.print()
        console.print(Text(heading(row), style="bold"))
        if row.not_run is not None:
            console.print(Text(f"not run ({row.not_run})", style="dim"))
            continue
        table = Table("", *HEADINGS.values(), show_lines=True)
        for label, line in lines(row):
            table.add_row(label, *(_styled(label, row, column, line[column]) for column in COLUMNS))
        console.print(table)
    console.print()
    console.print(Text(summary(rows), style="bold"))


def _styled(label: str, row: Row, column: Column, text: list[str]) -> Text:
    # `Text`, never markup: what was served may hold brackets.
    style = ("green" if row.observed[column].kept else "red") if label == "promise" else ""
    return Text("\n".join(text), style=style)
