"""Every page: its links lead somewhere, the files it names exist, and its Python blocks run like README.md's."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from test_readme import BLOCK, END, EXPECTED_LINE, RUNNER, TIMEOUT_S

ROOT = Path(__file__).parents[2]
PLACES_OF_PAGES = ("*.md", "docs/**/*.md", "models/*.md", "benchmarks/*.md", "examples/**/*.md")
PAGES = [page for place in PLACES_OF_PAGES for page in sorted(ROOT.glob(place))]
GUIDES = [page for page in PAGES if page.name != "README.md" and BLOCK.search(page.read_text(encoding="utf-8"))]

LINK = re.compile(r"\]\(([^)\s]+)\)")
# `tests/x.py` from the root; in the tables of tests `contract/x.py`, and `view.rs` in the core.
FILE = re.compile(r"`((?:[\w.-]+/)+[\w.-]+\.\w+)`|`(\w+\.rs)`")
PLACES = (
    *("", "tests", "python", "proof", "negative", "crates/remit-core/src", "crates/remit-core/tests"),
    *("crates/remit-model/src/systems", "crates/remit-model/tests"),
)
COMMAND = re.compile(r"(?:`|^)make ([a-z-]+)", re.MULTILINE)


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as the usual renderers make them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def broken_links(page: Path) -> Iterator[str]:
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        path, _, anchor = target.partition("#")
        there = page if not path else (page.parent / path).resolve()
        if not there.exists() or (anchor and anchor not in anchors(there)):
            yield target


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page: Path) -> None:
    assert not list(broken_links(page))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_named_files_exist(page: Path) -> None:
    named = ["".join(found) for found in FILE.findall(page.read_text(encoding="utf-8"))]
    made = "benchmarks/results/"  # by a command
    places = [ROOT / place for place in PLACES]
    assert not [file for file in named if not file.startswith(made) and not any((p / file).exists() for p in places)]


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_commands_name_targets_and_files_that_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    documented = re.findall(r"^([a-z-]+):.*## \S", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert set(COMMAND.findall(text)) <= set(documented)
    given = " ".join(re.findall(r'PYTEST_ARGS="?([^"`\n]+)', text))
    assert not [word for word in re.findall(r"tests/\S+", given) if not (ROOT / word).exists()]


def test_every_page_can_be_reached_from_the_readme() -> None:
    reached, left = set(), [ROOT / "README.md"]
    while left:
        page = left.pop()
        if page not in reached and page.suffix == ".md":
            reached.add(page)
            targets = [target.partition("#")[0] for target in LINK.findall(page.read_text(encoding="utf-8"))]
            left += [(page.parent / target).resolve() for target in targets if target]
    assert set(PAGES) <= reached


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_nothing_of_a_single_machine_is_named(page: Path) -> None:
    assert not re.findall(r"(?<![\w.])/(?:home|root|tmp|work|usr)/\S*", page.read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", GUIDES, ids=name)
def test_python_blocks_run_and_print_what_they_say(page: Path, tmp_path: Path, new_database: Callable[[], str]) -> None:
    blocks = BLOCK.findall(page.read_text(encoding="utf-8"))
    environment = dict(os.environ)
    if any("DATABASE_URL" in block for block in blocks):
        environment["DATABASE_URL"] = new_database()
    done = subprocess.run(
        [sys.executable, "-c", RUNNER, END, *blocks],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for block, output in zip(blocks, done.stdout.split(END + "\n"), strict=False):
        assert output.splitlines() == EXPECTED_LINE.findall(block)
