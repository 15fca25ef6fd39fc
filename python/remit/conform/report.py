"""What was found, as data, as a table, as JSON. Nothing in it differs between two runs that saw the same."""

from __future__ import annotations

import json
import platform
from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Literal

from .cases.registry import Case
from .trial import PROMISES, Promise, Reach

Verdict = Literal["holds", "violated", "not run"]

PACKAGES = (
    "langgraph",
    "langgraph-checkpoint",
    "langgraph-checkpoint-sqlite",
    "langgraph-checkpoint-postgres",
    "langgraph-checkpoint-remit",
)


@dataclass(frozen=True)
class Finding:
    """What one case came to.

    Attributes:
        checks: sentences, and whether each held.
        notes: what was seen, beside that.
        effects: what the ledger has, in order.
        not_run: why it was not run.
    """

    case: Case
    checks: list[tuple[str, bool]] = field(default_factory=list)
    notes: dict[str, Any] = field(default_factory=dict)
    effects: list[str] = field(default_factory=list)
    not_run: str | None = None

    @property
    def broken(self) -> list[str]:
        """The sentences that did not hold. A case that checked nothing has shown nothing."""
        return [sentence for sentence, held in self.checks if not held] if self.checks else ["something is checked"]

    @property
    def verdict(self) -> Verdict:
        if self.not_run is not None:
            return "not run"
        return "violated" if self.broken else "holds"

    def as_dict(self) -> dict[str, Any]:
        """One entry of the JSON."""
        told = {"id": self.case.id, "promise": self.case.promise, "title": self.case.title, "verdict": self.verdict}
        if self.not_run is not None:
            return {**told, "not_run": self.not_run}
        return {**told, "broken": self.broken, "checked": len(self.checks), "notes": self.notes}


@dataclass(frozen=True)
class Report:
    """All findings on one factory.

    Attributes:
        hung: how many cases did not end. While their threads are there the interpreter does not end by itself.
    """

    spec: str
    reach: Reach
    versions: dict[str, str]
    findings: list[Finding]
    hung: int = 0

    def of(self, promise: Promise) -> list[Finding]:
        """The findings about one promise."""
        return [finding for finding in self.findings if finding.case.promise == promise]

    def verdict(self, promise: Promise) -> Verdict:
        """A promise holds if each of its cases does; with none run, nothing is known."""
        verdicts = {finding.verdict for finding in self.of(promise)}
        if "violated" in verdicts:
            return "violated"
        return "holds" if "holds" in verdicts else "not run"

    def violated(self) -> list[str]:
        """The ids of the cases that are violated."""
        return [finding.case.id for finding in self.findings if finding.verdict == "violated"]

    def as_dict(self) -> dict[str, Any]:
        """The JSON document."""
        return {
            "factory": self.spec,
            "modes": list(self.reach.modes),
            "seen by a second saver": self.reach.reopens,
            "seen by other processes": self.reach.processes,
            "versions": self.versions,
            "promises": {promise: self.verdict(promise) for promise in PROMISES if self.of(promise)},
            "cases": [finding.as_dict() for finding in self.findings],
        }

    def as_json(self) -> str:
        return json.dumps(self.as_dict(), indent=2, default=str)

    def as_text(self) -> str:
        """A plain table: promises, and under each its cases with what was broken."""
        shared = {True: "seen", False: "not seen"}
        lines = [
            f"{self.spec}: {' and '.join(self.reach.modes)}, {shared[self.reach.reopens]} by a second saver, "
            f"{shared[self.reach.processes]} by other processes",
            ", ".join(f"{name} {number}" for name, number in self.versions.items()),
        ]
        for promise, text in PROMISES.items():
            if not self.of(promise):
                continue
            lines += ["", f"{promise:6}{self.verdict(promise):10}{text}"]
            for finding in self.of(promise):
                lines += _lines(finding)
        return "\n".join([*lines, "", self.summary()])

    def summary(self) -> str:
        """One sentence, computed."""
        counts = {verdict: 0 for verdict in ("holds", "violated", "not run")}
        for finding in self.findings:
            counts[finding.verdict] += 1
        return f"{counts['holds']} cases hold, {counts['violated']} violated, {counts['not run']} not run."


def _lines(finding: Finding) -> Iterable[str]:
    yield f"      {finding.verdict:10}{finding.case.id:20}{finding.case.title}"
    if finding.verdict == "violated":
        yield from (f"{'':16}- not so: {sentence}" for sentence in finding.broken)
        if finding.notes:
            yield f"{'':16}  seen: " + ", ".join(f"{name}={value}" for name, value in finding.notes.items())
    if finding.not_run is not None:
        yield f"{'':16}  {finding.not_run}"


def versions() -> dict[str, str]:
    """What was run, by name; a package that is not installed is left out."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
