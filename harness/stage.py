"""Starts an adapter's processes in its framework's environment. The other end is `host.py`."""

from __future__ import annotations

import os
import tempfile
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from host import HERE, SHARED, load

LEDGER = load("harness_ledger", SHARED / "ledger.py")
ZYGOTE = load("harness_zygote", SHARED / "zygote.py")

QUIET = {
    "PYTHONDONTWRITEBYTECODE": "1",
    "LANGSMITH_TRACING": "false",
    "LANGCHAIN_TRACING_V2": "false",
    "OTEL_SDK_DISABLED": "true",
    "CREWAI_DISABLE_TELEMETRY": "true",
    "CREWAI_DISABLE_TRACKING": "true",
    "CREWAI_TRACING_ENABLED": "false",
    "CREWAI_TESTING": "true",
    "OPENAI_AGENTS_DISABLE_TRACING": "1",
    "DBOS_CONDUCTOR_KEY": "",
}
"""No framework is to talk to the network, or to write where it is not told to."""


class Stage:
    """Processes of one adapter's surface. A context manager; all it makes is in a temporary directory.

    Args:
        python: the environment's interpreter.
        adapter: a file in `adapters/`, without its ending.
        surface: one of its `SURFACES`.
        env: more of the environment's variables.
    """

    def __init__(
        self, python: Path | str, adapter: str, surface: str = "", env: Mapping[str, str] | None = None
    ) -> None:
        self.surface = surface
        self._temporary = tempfile.TemporaryDirectory(prefix="remit-harness-", ignore_cleanup_errors=True)
        self.home = Path(self._temporary.name)
        home = self.home / "home"
        home.mkdir()
        own = {**QUIET, "HOME": str(home), "TMPDIR": str(home), "CREWAI_STORAGE_DIR": str(home / "crewai")}
        command = [str(python), str(HERE / "host.py"), adapter]
        self.ledger: Any = LEDGER.Ledger(self.home / "effects")
        self._processes: Any = ZYGOTE.Processes(command, self.home, {**os.environ, **own, **(env or {})})

    def __enter__(self) -> Stage:
        return self

    def __exit__(self, *_: object) -> None:
        self._processes.close()
        self._temporary.cleanup()

    def new_store(self) -> Path:
        """An empty directory for what is durable."""
        store = self.home / f"store-{uuid.uuid4().hex}"
        store.mkdir()
        return store

    def start(
        self,
        run: str,
        store: Path,
        ops: Sequence[str],
        *,
        at: str | None = None,
        do: str = "raise",
        meets: str = "",
        parties: int = 0,
    ) -> tuple[int, Path | None]:
        """Start a process for operations; see `Play.process` and `Play.race`."""
        dies = (at is not None and do == "kill") or "die" in ops
        barrier = self.home / f"barrier-{uuid.uuid4().hex}"
        job = {"surface": self.surface, "ledger": self.ledger.path, "run": run, "store": str(store), "ops": list(ops)}
        job |= {"at": at, "do": do, "barrier": str(barrier), "meets": meets, "parties": parties}
        return self._processes.start(job), barrier if dies else None

    def end(self, started: tuple[int, Path | None]) -> list[Any] | None:
        """Wait for it. `None` if it was killed, else what its operations came to.

        Raises:
            RuntimeError: it could do its job neither way: the harness's failure, and no finding.
        """
        pid, barrier = started
        ended = self._processes.end(pid, kill_at=barrier)
        if ended.killed and barrier is None:
            raise RuntimeError("a process was killed that nobody meant to kill")
        return None if ended.killed else ended.result
