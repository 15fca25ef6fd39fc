"""Runs an adapter's operations, in its framework's own environment: `python host.py ADAPTER [ARGUMENT...]`.

Started by `stage.Stage`. The framework is imported once, before anything of it exists; each process of a case is a fork
of that state. Only the standard library and the framework are needed here.
"""

from __future__ import annotations

import importlib.util
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

HERE = Path(__file__).resolve().parent
SHARED = HERE.parent / "python" / "remit" / "conform"
WAIT_S = 60
MEETING_S = 20


def load(name: str, file: Path) -> ModuleType:
    """A module by its file, known as `name` to whoever unpickles."""
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None and spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Injected(RuntimeError):
    """The fault that a case has planned."""


class World:
    """What an adapter has: the directory of all that is durable, the ledger, and the points of its nodes."""

    def __init__(self, job: dict[str, Any], ledger: Any) -> None:
        self.run: str = job["run"]
        self.store = Path(job["store"])
        self._ledger = ledger
        self._job = job

    def fire(self, effect: str) -> None:
        """Do an effect."""
        self._ledger.fire(self.run, effect)

    def point(self, name: str) -> None:
        """The node is here. What the case has planned for this point happens."""
        if name == "answered" and self._job.get("meets"):
            self._meet("inside", MEETING_S)
        if name != self._job.get("at"):
            return
        if self._job["do"] == "raise":
            raise Injected(name)
        Path(self._job["barrier"]).touch()
        while True:
            signal.pause()

    def wait_for(self, reached: Callable[[], bool]) -> bool:
        """Wait until something is durable. `False` if it is not in a minute."""
        deadline = time.monotonic() + WAIT_S
        while not reached():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.01)
        return True

    def start_line(self) -> None:
        """Racers start together."""
        if self._job.get("meets"):
            self._meet("ready", WAIT_S)

    def ended(self) -> None:
        """A racer is through: the others need not wait for it."""
        if self._job.get("meets"):
            (Path(self._job["meets"]) / f"ended.{os.getpid()}").touch()

    def _meet(self, where: str, limit_s: float) -> None:
        place = Path(self._job["meets"])
        (place / f"{where}.{os.getpid()}.{threading.get_ident()}").touch()
        deadline = time.monotonic() + limit_s
        while len([*place.glob(f"{where}.*"), *place.glob("ended.*")]) < self._job["parties"]:
            if time.monotonic() > deadline:
                return
            time.sleep(0.002)


def run_job(job: dict[str, Any]) -> list[dict[str, Any]]:
    """A zygote's function: operations on a surface, in turn. What one raises is what it came to."""
    world = World(job, LEDGER.Ledger(job["ledger"]))
    surface = ADAPTER.SURFACES[job["surface"]](world)
    world.start_line()
    told = []
    try:
        for op in job["ops"]:
            told.append(_operate(surface, op))
    finally:
        world.ended()
    return told


def _operate(surface: Any, op: str) -> dict[str, Any]:
    name, _, argument = op.partition(" ")
    if name == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    method = getattr(surface, name, None)
    if method is None:
        # Not `raised`: a case that does not apply must be in exclusions.yaml, with a reason.
        raise NotImplementedError(f"{type(surface).__name__} has no operation {name}")
    try:
        ended = method(*([argument] if argument else []))
    except Exception as error:
        if isinstance(error, AttributeError | KeyError | NameError | ImportError | TypeError) and _is_ours(error):
            raise  # this harness's mistake, and no framework's refusal
        return {"ended": "raised", "error": type(error).__name__, "message": str(error)[:300]}
    state = None
    if isinstance(ended, tuple):
        ended, state = ended
    assert ended in ("parked", "finished", "refused"), ended
    return {"ended": ended, "state": state}


def _is_ours(error: BaseException) -> bool:
    """Whether the adapter's own line raised it."""
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    return frame is not None and Path(frame.tb_frame.f_code.co_filename).parent == HERE / "adapters"


if __name__ == "__main__":
    sys.path.pop(0)
    LEDGER = load("harness_ledger", SHARED / "ledger.py")
    ADAPTER = load(f"harness_{sys.argv[1]}", HERE / "adapters" / f"{sys.argv[1]}.py")
    load("harness_zygote", SHARED / "zygote.py").serve(run_job)
