"""The command line, `remit` (extra `cli`).

`main` is importable without the extra, so that a missing package is one clear line and not a traceback.
The click group itself is `remit.cli.commands.group`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

__all__ = ["main"]

_EXTRA = frozenset({"click", "rich", "langgraph"})
"""Top-level packages that the command line imports and the bare package does not require."""


def main(args: Sequence[str] | None = None) -> None:
    """Run `remit` with `args` (default: the process's arguments) and exit the process.

    Exit status: 0 all good, 1 a promise is broken, 2 wrong usage or a missing package.
    """
    try:
        from remit.cli.commands import group

        group.main(args=None if args is None else list(args), prog_name="remit")
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if missing.partition(".")[0] not in _EXTRA:
            raise
        print(
            f"remit: the command line needs {missing}, which is not installed; "
            "install it with: pip install 'langgraph-checkpoint-remit[cli]'",
            file=sys.stderr,
        )
        raise SystemExit(2) from None
