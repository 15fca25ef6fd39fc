"""What the pages say twice is compared: generated pages, keys, the table of strays, versions."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from remit import _core
from remit._core import Policy, Thread, Verdict, judge
from remit.facts import KEYS

ROOT = Path(__file__).parents[2]
GENERATE = ROOT / "docs" / "generate.py"
CONFIG = (ROOT / "docs" / "reference" / "config.md").read_text(encoding="utf-8")
POLICIES = [Policy.WARN, Policy.RAISE, Policy.IGNORE]

# An example of each stray: thread, names in the map (None: bare), how many are open, how many may take a bare answer, does
# LangGraph refuse it, are bare answers refused.
STRAYS = {
    "stray-no-thread": (Thread.ABSENT, None, 0, 0, False, False),
    "stray-no-checkpoint": (Thread.NO_SUCH_CHECKPOINT, None, 0, 0, False, False),
    "stray-not-waiting": (Thread.FINISHED, None, 0, 0, False, False),
    "stray-unknown-interrupt": (Thread.PARKED, 2, 0, 1, False, False),
    "stray-some-unknown": (Thread.PARKED, 2, 1, 1, False, False),
    "stray-empty-map": (Thread.PARKED, 0, 0, 1, False, False),
    "stray-unnamed": (Thread.PARKED, None, 0, 1, False, True),
    "stray-ambiguous": (Thread.PARKED, None, 0, 2, False, False),
}


def test_reference_is_what_the_code_says() -> None:
    done = subprocess.run([sys.executable, str(GENERATE), "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_stale_page_is_noticed(tmp_path: Path) -> None:
    copy = tmp_path / "generate.py"
    copy.write_text(GENERATE.read_text(encoding="utf-8"), encoding="utf-8")
    run = [sys.executable, str(copy)]
    assert subprocess.run(run, check=False).returncode == 0
    page = tmp_path / "reference" / "errors.md"
    page.write_text(page.read_text(encoding="utf-8") + "more\n", encoding="utf-8")
    done = subprocess.run([*run, "--check"], capture_output=True, text=True, check=False)
    assert (done.returncode, "errors.md" in done.stderr, "config.md" in done.stderr) == (1, True, False)


def test_keys_are_those_that_are_known() -> None:
    for page in (CONFIG, (ROOT / "README.md").read_text(encoding="utf-8")):
        rows = set(re.findall(r"^\| `(\w+)`", page.partition("Per call")[2].partition("\n## ")[0], re.MULTILINE))
        assert rows - {"checkpoint_id"} == KEYS


def test_all_strays_are_in_the_table() -> None:
    assert set(STRAYS) == {row[0] for row in _core.errors() if row[0].startswith("stray-")}


@pytest.mark.parametrize("code", STRAYS)
def test_strays_are_judged_as_the_page_says(code: str) -> None:
    page = (ROOT / "docs" / "concepts" / "strays.md").read_text(encoding="utf-8")
    row = re.search(rf"^\|[^|]*\| `{code}` \| (\w+) \| (\w+) \| (\w+) \|$", page, re.MULTILINE)
    assert row is not None
    word = {Verdict.REPORT: "reported", Verdict.REFUSE: "refused", Verdict.ACCEPT: "silent"}
    verdicts = [judge(*STRAYS[code], policy) for policy in POLICIES]
    assert list(row.groups()) == [word[verdict] for verdict, _ in verdicts]
    assert {found for _, found in verdicts} <= {code, None}


@pytest.mark.parametrize(("column", "requirements"), [(1, "pins.txt"), (2, "newest.txt")])
def test_compat_names_the_required_versions(column: int, requirements: str) -> None:
    pinned = dict(re.findall(r"^([\w-]+)==(\S+)", (ROOT / "requirements" / requirements).read_text(), re.MULTILINE))
    page = (ROOT / "COMPAT.md").read_text(encoding="utf-8")
    rows = {
        cells[0]: cells[column]
        for cells in ([cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines())
        if cells[0] in pinned
    }
    assert {"langgraph", "langgraph-checkpoint"} <= rows.keys()
    assert rows == {name: pinned[name] for name in rows}


def test_changelog_has_this_version() -> None:
    assert re.search(rf"^## {re.escape(_core.__version__)}\b", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
