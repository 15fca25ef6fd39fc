"""What README.md tells the reader to type exists in the Makefile."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def mentioned() -> list[str]:
    """Targets of `make TARGET`, in the order of the page, in shell blocks and inline code."""
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    code = re.findall(r"^```(?:sh|bash|console)?\n(.*?)^```|`(make [^`\n]+)`", page, re.MULTILINE | re.DOTALL)
    return re.findall(r"\bmake ([a-z-]+)", "\n".join(block or inline for block, inline in code))


def documented() -> set[str]:
    """Targets with a help text."""
    return set(re.findall(r"^([a-z-]+):.*## \S", (ROOT / "Makefile").read_text(), re.MULTILINE))


def test_first_two_commands_are_demo_and_test() -> None:
    in_order = list(dict.fromkeys(mentioned()))
    assert in_order[:2] == ["demo", "test"]


def test_every_command_is_a_target_with_a_help_text() -> None:
    assert set(mentioned()) <= documented()


def test_ci_runs_the_test_command() -> None:
    assert re.search(r"^exec make test\b", (ROOT / ".ci" / "run").read_text(), re.MULTILINE)
