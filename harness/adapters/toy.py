"""Planes that are ours: one that keeps the contract, and for each promise one that breaks it. They test the harness.

A run is a JSON file. An effect is made once by an idempotency key that the outside world honours: before it fires, the
plane writes down how often the ledger has it, and after a crash it looks whether that has grown.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any


class Right:
    """Keeps every promise."""

    wrong = ""

    def __init__(self, world: Any) -> None:
        self.world = world
        self.file = world.store / "run.json"

    def start_gated(self) -> str:
        run = self._load() or {"kind": "gated", "version": 1, "done": [], "branches": {}}
        self._do(run, "before")
        self._save(run)
        return "parked"

    def answer(self, value: str) -> Any:
        return self._answer("main", value)

    def fork(self, value: str) -> Any:
        run = self._read()
        if self.wrong == "FD" and run["branches"]:
            value = next(iter(run["branches"].values()))["value"]
        return self._answer(f"fork-{len(run['branches'])}", value)

    def duplicate(self, value: str) -> Any:
        self.answer(value)
        return self.answer(value)

    stray = duplicate

    def _answer(self, branch: str, value: str) -> Any:
        if not self._claim(branch):
            raise RuntimeError("another process is at it")
        try:
            run = self._read()
            if self.wrong == "PC":
                self.world.fire("before")
            if self.wrong == "LIVE" and branch in run["branches"]:
                raise RuntimeError("it was begun already")
            state = run["branches"].setdefault(branch, {"value": value, "ended": False})
            if state["ended"] and self.wrong not in ("CO-e", "FI"):
                return "finished"  # a stray: it fires nothing
            self._save(run)
            self.world.point("answered")
            # What was answered first stays the answer of its branch.
            self._do(run, f"after={state['value']}", key=f"{branch}" if self.wrong not in ("CO-e", "FI") else None)
            if self.wrong == "EO":
                self.world.fire(f"after={state['value']}")
            self.world.point("fired")
            state["ended"] = True
            self._save(run)
            return "finished"
        finally:
            self._release(branch)

    def start_steps(self) -> str:
        run = self._load() or {"kind": "steps", "version": 1, "done": [], "branches": {}}
        self._save(run)
        return self._steps(run)

    def go_on(self) -> str:
        run = self._read()
        if self.wrong == "PC":
            run["done"] = []
        return self._steps(run)

    def _steps(self, run: dict[str, Any]) -> str:
        for step in ("one", "two"):
            if step == "two" and step not in run["done"]:
                self.world.point("two")
            if self.wrong == "RD" and step == "two" and self.world.store.name.startswith("copy"):
                continue
            self._do(run, step)
            if step == "one":
                self.world.point("one-done")
            self._save(run)
        return "finished"

    def invalid(self) -> Any:
        if self.wrong == "CV":
            return "finished", "invalid"
        raise ValueError("the state must be valid")

    def unserializable(self) -> Any:
        json.dumps({"value": object()})
        return "finished"

    def corrupt(self, kind: str) -> str:
        run = self._read()
        if kind == "empty":
            self.file.write_text("")
        elif kind == "truncated":
            self.file.write_text(json.dumps(run)[:-10])
        else:
            run |= {"type": {"done": "x"}, "missing": {}, "tag": {"kind": "x"}, "version": {"version": 9}}[kind]
            if kind == "missing":
                del run["done"]
            self._save(run)
        return "finished"

    def abandon(self) -> str:
        self._read()
        return "parked"

    def _do(self, run: dict[str, Any], effect: str, key: str | None = "") -> None:
        name = f"{key} {effect}"
        if name in run["done"] and key is not None:
            return
        counts = run.setdefault("counts", {})
        now = self._count(effect)
        if key is None or counts.setdefault(name, now) == now:
            self._save(run)
            self.world.fire(effect)
        run["done"].append(name)

    def _count(self, effect: str) -> int:
        effects: list[str] = self.world._ledger.read(self.world.run)
        return effects.count(effect)

    def _load(self) -> dict[str, Any] | None:
        return self._read() if self.file.exists() else None

    def _read(self) -> dict[str, Any]:
        run: dict[str, Any] = json.loads(self.file.read_text())
        if run["kind"] not in ("gated", "steps") or run["version"] != 1 or not isinstance(run.get("done"), list):
            raise ValueError("a damaged record")
        return run

    def _save(self, run: dict[str, Any]) -> None:
        part = self.file.with_suffix(f".{os.getpid()}")
        part.write_text(json.dumps(run))
        part.replace(self.file)

    def _claim(self, branch: str) -> bool:
        if self.wrong == "CO-c":
            return True
        claim = self.world.store / f"claim-{branch}"
        try:
            with claim.open("x") as file:
                file.write(str(os.getpid()))
            return True
        except FileExistsError:
            owner = claim.read_text()
            if owner and not Path(f"/proc/{owner}").exists():
                claim.unlink()
                return self._claim(branch)
            return False

    def _release(self, branch: str) -> None:
        (self.world.store / f"claim-{branch}").unlink(missing_ok=True)


def _wrong(promise: str) -> type[Right]:
    return type(f"Wrong{promise}", (Right,), {"wrong": promise})


SURFACES = {
    "right": Right,
    **{f"wrong-{p}": _wrong(p) for p in ("PC", "EO", "FD", "FI", "CV", "CO-e", "CO-c", "RD", "LIVE")},
}
