"""A process that forks processes: each child starts from the same clean state, without importing anything again.

    python zygote.py MODULE:FUNCTION

imports the module once and then takes orders, one JSON object a line on stdin, one answer a line on stdout:

    {"do": "spawn", "job": ..., "result": FILE, "log": FILE}         -> {"pid": ...}
    {"do": "wait", "pid": ..., "kill_at": FILE or null, "limit_s": ...}  -> {"code": ..., "result": ...}

A child calls `FUNCTION(job)` and writes what it returns to `result`. `code` is its exit status, or minus the signal that
ended it. `kill_at` is a barrier: when the child has made that file it is killed with SIGKILL; it makes the file where it
is to die, and waits there. Standard library only. `Processes` is the other end.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

LIMIT_S = 300
"""How long a child may take, in seconds: a slow import on a busy machine is no finding."""

STEP_S = 0.005
"""How often a waiting zygote looks for the end of its child, and for the barrier."""


@dataclass(frozen=True)
class Ended:
    """A process that is over.

    Attributes:
        code: its exit status, or minus the signal.
        result: what its job returned; `None` if it was killed.
        log: the end of what it printed.
    """

    code: int
    result: Any
    log: str

    @property
    def killed(self) -> bool:
        return self.code == -signal.SIGKILL


class Processes:
    """Starts processes by way of a zygote, which is begun with the first of them and ended with `close`.

    Args:
        command: starts the zygote: an interpreter, this file, and its argument.
        directory: an empty directory for results and logs.
        env: the zygote's environment.
    """

    def __init__(self, command: list[str], directory: Path, env: Mapping[str, str] | None = None) -> None:
        self._directory = directory
        self._count = 0
        self._errors = directory / "zygote.log"
        self._command = command
        self._env = env
        self._zygote: subprocess.Popen[str] | None = None

    def start(self, job: Any) -> int:
        """Start a process for a job. Returns its pid."""
        self._count += 1
        pid: int = self._order(do="spawn", job=job, result=self._path("result"), log=self._path("log"))["pid"]
        return pid

    def end(self, pid: int, *, kill_at: Path | None = None, limit_s: float = LIMIT_S) -> Ended:
        """Wait for a process, or for the barrier where it is to be killed.

        Raises:
            RuntimeError: the process neither ended nor was killed because of an error of its own, or in time.
        """
        told = self._order(do="wait", pid=pid, kill_at=None if kill_at is None else str(kill_at), limit_s=limit_s)
        log = Path(told["log"]).read_text(errors="replace")[-2000:] if Path(told["log"]).exists() else ""
        ended = Ended(told["code"], told["result"], log)
        # A process that could not do its job has seen nothing: that must never look like a plane that did nothing.
        if told["code"] != 0 and not (ended.killed and not told["late"]):
            raise RuntimeError(f"a process ended with {told['code']}{' (too late)' if told['late'] else ''}:\n{log}")
        return ended

    def run(self, job: Any, *, kill_at: Path | None = None) -> Ended:
        """Start a process and wait for its end."""
        return self.end(self.start(job), kill_at=kill_at)

    def abandon(self) -> None:
        """Give it no more orders: it ends when its last one is over. For one whose caller waits and will not return."""
        if self._zygote is not None:
            assert self._zygote.stdin is not None
            self._zygote.stdin.close()

    def close(self) -> None:
        """End the zygote, and with it what it has started."""
        self.abandon()
        if self._zygote is not None:
            assert self._zygote.stdout is not None
            self._zygote.wait()
            self._zygote.stdout.close()

    def _path(self, kind: str) -> str:
        return str(self._directory / f"{self._count}.{kind}")

    def _begin(self) -> subprocess.Popen[str]:
        with self._errors.open("w") as errors:
            pipe = subprocess.PIPE
            return subprocess.Popen(self._command, stdin=pipe, stdout=pipe, stderr=errors, text=True, env=self._env)

    def _order(self, **order: Any) -> dict[str, Any]:
        if self._zygote is None:
            self._zygote = self._begin()
        assert self._zygote.stdin is not None
        assert self._zygote.stdout is not None
        try:
            self._zygote.stdin.write(json.dumps(order) + "\n")
            self._zygote.stdin.flush()
            line = self._zygote.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise RuntimeError(f"the zygote is gone:\n{self._errors.read_text(errors='replace')[-2000:]}")
        told: dict[str, Any] = json.loads(line)
        return told


def wait_to_be_killed(barrier: Path | str) -> NoReturn:
    """In a child: make the barrier, and go no further."""
    Path(barrier).touch()
    while True:
        signal.pause()


def serve(function: Callable[[Any], Any]) -> None:
    """Take orders until there are no more, and end the children that are left."""
    children: dict[int, dict[str, Any]] = {}
    # The orders' channel is this process's own: what a framework prints goes nowhere near it.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        order = json.loads(line)
        if order["do"] == "spawn":
            pid = os.fork()
            if pid == 0:
                _be_child(function, order)
            children[pid] = order
            answer: dict[str, Any] = {"pid": pid}
        else:
            answer = _wait(order, children.pop(order["pid"]))
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
    for pid in children:
        os.kill(pid, signal.SIGKILL)


def _wait(order: dict[str, Any], spawned: dict[str, Any]) -> dict[str, Any]:
    deadline, late = time.monotonic() + order["limit_s"], False
    while True:
        pid, status = os.waitpid(order["pid"], os.WNOHANG)
        if pid:
            break
        late = time.monotonic() > deadline
        if late or (order["kill_at"] is not None and os.path.exists(order["kill_at"])):
            os.kill(order["pid"], signal.SIGKILL)
            _, status = os.waitpid(order["pid"], 0)
            break
        time.sleep(STEP_S)
    code, result = os.waitstatus_to_exitcode(status), Path(spawned["result"])
    return {
        "code": code,
        "late": late,
        "result": json.loads(result.read_text()) if result.exists() else None,
        "log": spawned["log"],
    }


def _be_child(function: Callable[[Any], Any], order: dict[str, Any]) -> NoReturn:
    code = 1
    try:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        log = os.open(order["log"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(log, 1)
        os.dup2(log, 2)
        result = json.dumps(function(order["job"]), default=str)
        part = order["result"] + ".part"
        Path(part).write_text(result)
        os.replace(part, order["result"])
        code = 0
    except BaseException:
        os.write(2, traceback.format_exc().encode())
    os._exit(code)


if __name__ == "__main__":
    _module, _, _name = sys.argv[1].partition(":")
    serve(getattr(importlib.import_module(_module), _name))
