"""The matrix: verdicts on the stable results. `results/matrix.json`, `matrix.md` and `matrix.svg`.

python harness/matrix.py   # from what is stored, without playing anything
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

import yaml
from contract import CASES
from contract.play import PROMISES
from contract.verdict import MEANING, Document, Verdict, decide, documents, find
from environments import version_key

HERE = Path(__file__).resolve().parent
ORDER = ("error", "violated", "undocumented", "documented", "refused", "holds", "excluded")
"""From the worst to what says nothing."""

COLOUR = {
    "holds": "#3a9d5d",
    "violated": "#c0392b",
    "undocumented": "#e08a2e",
    "documented": "#e6c84f",
    "refused": "#7f8fb5",
    "excluded": "#e8e8e8",
    "error": "#000000",
}


@dataclass
class Row:
    """A plane at the versions that came out alike: case to verdict."""

    plane: str
    title: str
    versions: list[str]
    cells: dict[str, Any]

    @property
    def verdicts(self) -> dict[str, Verdict]:
        return {id: judge(self.plane, id, seen)[0] for id, seen in self.cells.items()}

    def of(self, promise: str) -> list[Verdict]:
        return [verdict for id, verdict in self.verdicts.items() if CASES[id].promise == promise]


def judge(plane: str, case: str, seen: dict[str, Any]) -> tuple[Verdict, Document | None]:
    """The verdict on what was seen, and what the documentation says, if it decides it."""
    document = find(_documents(), plane, case)
    verdict = decide(seen, document)
    return verdict, document if verdict in ("violated", "documented") else None


@cache
def _documents() -> list[Document]:
    return documents(yaml.safe_load((HERE / "documents.yaml").read_text(encoding="utf-8")))


def rows(results: Path) -> list[Row]:
    """The rows in the order of planes.yaml; versions with the same stable result are one row."""
    found: list[Row] = []
    stored = [json.loads(file.read_text(encoding="utf-8")) for file in (results / "stable").glob("*.json")]
    stored.sort(key=lambda env: version_key(env["version"]))
    for entry in yaml.safe_load((HERE / "planes.yaml").read_text(encoding="utf-8")):
        of_plane: list[Row] = []
        for env in stored:
            cells = env["planes"].get(entry["plane"]) if env["framework"] == entry["framework"] else None
            if cells is None:
                continue
            row = Row(entry["plane"], entry["title"], [env["version"]], cells)
            same = next((other for other in of_plane if other.verdicts == row.verdicts), None)
            if same is not None:
                same.versions += row.versions
            else:
                of_plane.append(row)
        found += of_plane
    return found


def conform_rows(results: Path) -> dict[str, dict[str, dict[str, str]]]:
    """`remit conform`: factory to LangGraph version to case to verdict."""
    found: dict[str, dict[str, dict[str, str]]] = {}
    for file in sorted((results / "stable").glob("langgraph-*.json")):
        env = json.loads(file.read_text(encoding="utf-8"))
        for factory, cases in env.get("conform", {}).items():
            found.setdefault(factory, {})[env["version"]] = {id: case["verdict"] for id, case in cases.items()}
    return found


def write_matrix(results: Path) -> None:
    """Write the three files."""
    for name, text in matrix(results).items():
        (results / name).write_text(text, encoding="utf-8")


def matrix(results: Path) -> dict[str, str]:
    """The three files' names and texts."""
    table, conform = rows(results), conform_rows(results)
    data = {
        "rows": [{"plane": r.plane, "versions": r.versions, "verdicts": r.verdicts} for r in table],
        "conform": conform,
    }
    return {
        "matrix.json": json.dumps(data, indent=1) + "\n",
        "matrix.md": "\n".join([*_markdown(table), *_conform_markdown(conform)]) + "\n",
        "matrix.svg": _svg(table),
    }


def _markdown(table: list[Row]) -> Iterable[str]:
    yield "# Who keeps the promises"
    yield ""
    yield "Made by `make harness` from `results/stable`. How to read it: [frameworks](../../docs/frameworks.md)."
    yield ""
    yield "![The matrix](matrix.svg)"
    yield ""
    yield "| plane | versions | " + " | ".join(PROMISES) + " |"
    yield "|---" * (len(PROMISES) + 2) + "|"
    for row in table:
        yield f"| {row.title} | {', '.join(row.versions)} | " + " | ".join(_cell(row.of(p)) for p in PROMISES) + " |"
    yield ""
    yield "## What does not hold"
    for row in table:
        yield ""
        yield f"### {row.title}, {', '.join(row.versions)}"
        yield ""
        lines = [_line(row, id) for id, verdict in row.verdicts.items() if verdict not in ("holds", "excluded")]
        applies = any(verdict != "excluded" for verdict in row.verdicts.values())
        yield from lines or ["Every case that applies holds." if applies else "No case applies."]
        whys: dict[str, list[str]] = {}
        for id, cell in row.cells.items():
            if "excluded" in cell:
                whys.setdefault(cell["excluded"], []).append(f"`{id}`")
        if whys:
            yield ""
            yield from (f"- not played: {', '.join(ids)}: {why}" for why, ids in whys.items())


def _cell(verdicts: list[Verdict]) -> str:
    played = [verdict for verdict in verdicts if verdict != "excluded"]
    if not played:
        return "–"
    counts = {verdict: played.count(verdict) for verdict in ORDER if verdict in played}
    if list(counts) == ["holds"]:
        return f"holds {len(played)}"
    return ", ".join(
        f"{'**' if v == 'violated' else ''}{v}{'**' if v == 'violated' else ''} {n}" for v, n in counts.items()
    )


def _line(row: Row, id: str) -> str:
    seen = row.cells[id]
    verdict, document = judge(row.plane, id, seen)
    said = f" ([its documentation]({document.at}))" if document else ""
    broken = "; ".join(sentence for _, sentence in seen["not so"])
    effects = f"effects: `{' '.join(seen['effects'])}`" if seen["effects"] else "no effect"
    return f"- {verdict}{said}: `{id}`, {CASES[id].title}. Not so: {broken}; {effects}"


def _conform_markdown(conform: dict[str, dict[str, dict[str, str]]]) -> Iterable[str]:
    if not conform:
        return
    yield ""
    yield "## LangGraph in detail: `remit conform`"
    yield ""
    yield "What is violated, by release. A case that needs processes is not run in memory."
    yield ""
    yield "| saver | releases | holds | violated | not run |"
    yield "|---|---|---|---|---|"
    for factory, by_version in conform.items():
        alike: list[tuple[list[str], dict[str, str]]] = []
        for version in sorted(by_version, key=version_key):
            verdicts = by_version[version]
            same = next((entry for entry in alike if entry[1] == verdicts), None)
            if same:
                same[0].append(version)
            else:
                alike.append(([version], verdicts))
        for versions, verdicts in alike:
            violated = ", ".join(f"`{id}`" for id, verdict in verdicts.items() if verdict == "violated") or "none"
            counts = list(verdicts.values())
            yield (
                f"| {factory.replace('_', ', ')} | {', '.join(versions)} | {counts.count('holds')} | {violated} | "
                f"{counts.count('not run')} |"
            )


CELL, LEFT, TOP = 18, 330, 150
"""Pixels: a cell's side, and the room for the names."""


def _svg(table: list[Row]) -> str:
    columns = list(CASES.values())
    width, height = LEFT + CELL * len(columns) + 20, TOP + CELL * len(table) + 50
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'font-family="sans-serif" font-size="11">',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
    ]
    for i, case in enumerate(columns):
        x = LEFT + CELL * i + CELL - 5
        out.append(f'<text transform="translate({x},{TOP - 6}) rotate(-60)">{escape(case.id)}</text>')
    for j, row in enumerate(table):
        y = TOP + CELL * j
        label = f"{row.title} {', '.join(row.versions)}"
        short = label if len(label) < 62 else label[:59] + "..."
        out.append(f'<text x="{LEFT - 8}" y="{y + 13}" text-anchor="end">{escape(short)}</text>')
        verdicts = row.verdicts
        for i, case in enumerate(columns):
            verdict = verdicts.get(case.id, "excluded")
            out.append(
                f'<rect x="{LEFT + CELL * i}" y="{y}" width="{CELL - 2}" height="{CELL - 2}" fill="{COLOUR[verdict]}">'
                f"<title>{escape(f'{label}: {case.id}: {verdict}')}</title></rect>"
            )
    x, y = LEFT, TOP + CELL * len(table) + 20
    for verdict in MEANING:
        if verdict == "error":
            continue
        out.append(f'<rect x="{x}" y="{y}" width="12" height="12" fill="{COLOUR[verdict]}"/>')
        out.append(f'<text x="{x + 16}" y="{y + 10}">{verdict}</text>')
        x += 100
    return "\n".join([*out, "</svg>", ""])


if __name__ == "__main__":
    write_matrix(HERE / "results")
