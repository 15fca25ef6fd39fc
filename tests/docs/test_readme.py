"""README.md's Python blocks run, in the order of the page.

They share one namespace, like the page in one notebook, in a fresh process and an empty directory. Where a block has
lines with `# -> text`, its standard output is exactly those texts. DATABASE_URL names an empty PostgreSQL database.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

README = Path(__file__).parents[2] / "README.md"
BLOCK = re.compile(r"^```python[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
EXPECTED_LINE = re.compile(r"# -> ?(.*)$", re.MULTILINE)

# Runs the blocks given on the command line and ends each one's output with a line that no block prints.
RUNNER = textwrap.dedent("""
    import sys
    namespace = {"__name__": "__main__"}
    for number, block in enumerate(sys.argv[2:], 1):
        exec(compile(block, f"README.md, Python block {number}", "exec"), namespace)
        print(sys.argv[1], flush=True)
""")
END = "-- end of block --"
TIMEOUT_S = 120


def test_python_blocks_run_and_print_what_they_say(tmp_path: Path, new_database: Callable[[], str]) -> None:
    blocks = BLOCK.findall(README.read_text(encoding="utf-8"))
    assert blocks, "README.md has no ```python block"

    done = subprocess.run(
        [sys.executable, "-c", RUNNER, END, *blocks],
        cwd=tmp_path,
        env={**os.environ, "DATABASE_URL": new_database()},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    printed = done.stdout.split(END + "\n")
    for number, (block, output) in enumerate(zip(blocks, printed[:-1], strict=True), 1):
        expected = EXPECTED_LINE.findall(block)
        if expected:
            assert output.splitlines() == expected, f"Python block {number} prints something else"


@pytest.mark.parametrize(
    ("page", "found"),
    [("```python\nx = 1\n```\n", ["x = 1\n"]), ("```sh\nmake\n```\n", []), ("a ```python b\n", [])],
)
def test_blocks_are_found(page: str, found: list[str]) -> None:
    assert BLOCK.findall(page) == found
