"""Runs the cases against a factory."""

from __future__ import annotations

import asyncio
import inspect
import os
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from .._core import RemitStrayResume
from .cases import CASES, Case
from .factory import Factory, FactoryError, Mode
from .ledger import Ledger
from .report import Finding, Report, versions
from .trial import Reach, Trial
from .zygote import Processes

ALONE = "the factory's savers are seen by no other process"


class Runner:
    """The cases on one factory. Use it as a context manager: it has a temporary directory and a process of its own.

    Args:
        spec: `module:callable`, see `Factory`. The current directory is searched too.
        mode: how the savers are called; `None` is found out.
        processes: whether other processes see the store; `None` is found out. `True` makes it a failure if they do not.

    Raises:
        FactoryError: the factory cannot be used.
    """

    def __init__(self, spec: str, *, mode: Mode | None = None, processes: bool | None = None) -> None:
        if "" not in sys.path and os.getcwd() not in sys.path:
            sys.path.insert(0, os.getcwd())
        self.factory = Factory.find(spec)
        self._mode: Mode | None = mode
        self._wants_processes = processes
        self._temporary = tempfile.TemporaryDirectory(prefix="remit-conform-", ignore_cleanup_errors=True)
        self._zygote: Processes | None = None
        self.reach = Reach("sync", False, False)

    def __enter__(self) -> Runner:
        self._directory = Path(self._temporary.name)
        self._ledger = Ledger(self._directory / "effects")
        command = [sys.executable, "-m", "remit.conform.zygote", "remit.conform.stage:run_job"]
        path = os.pathsep.join(part or os.getcwd() for part in sys.path)
        self._zygote = Processes(command, self._directory, {**os.environ, "PYTHONPATH": path})
        try:
            self.reach = asyncio.run(self._find_reach())
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._zygote is not None:
            self._zygote.close()
        self._temporary.cleanup()

    def run(self, case: Case) -> Finding:
        """One case. What it raises is a finding too: a plane that makes a case fail has kept nothing."""
        if case.needs == "processes" and not self.reach.processes:
            return Finding(case, not_run=ALONE)
        trial = self._trial(self.reach)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RemitStrayResume)  # strays are sent on purpose
                asyncio.run(self._play(case, trial))
        except FactoryError:
            raise
        except Exception as error:
            trial.check(f"the case can be played ({type(error).__name__}: {str(error)[:200]})", False)
            if os.environ.get("REMIT_CONFORM_DEBUG"):
                traceback.print_exc()
        return Finding(case, checks=trial.checks, notes=trial.notes, effects=trial.effects)

    async def _play(self, case: Case, trial: Trial) -> None:
        try:
            await case.body(trial)
        finally:
            await trial.forget()

    def _trial(self, reach: Reach) -> Trial:
        return Trial(self.factory, reach, self._ledger, self._directory, self._zygote if reach.processes else None)

    async def _find_reach(self) -> Reach:
        """One thread, stored by one saver; who else sees it?"""
        async with self.factory.open() as (saver, found):
            mode: Mode = self._mode or found
            setup: Callable[[], Any] | None = getattr(saver, "setup", None)
            made = setup() if setup is not None else None
            if inspect.isawaitable(made):
                await made
            trial = self._trial(Reach(mode, reopens=True, processes=True))
            # Both savers are open at once, so that a store that is gone with its saver is no shared one either way.
            async with trial.graph("gate") as (graph, _):
                stored = await graph.start()
                if stored.raised:
                    raise FactoryError(f"a graph on the factory's saver raises {stored.ended}: {stored.message}")
                async with trial.graph("gate") as (other, _):
                    reopens = bool((await other.state()).values)
                processes = reopens and self._wants_processes is not False and await self._is_seen_outside(trial)
                await trial.forget()
        if self._wants_processes and not processes:
            raise FactoryError("another process does not see what a saver of the factory has stored")
        return Reach(mode, reopens, processes)

    async def _is_seen_outside(self, trial: Trial) -> bool:
        looked = await trial.process("gate", "state")
        return bool(looked.values.get("next"))


def run(
    spec: str,
    *,
    only: Iterable[str] = (),
    mode: Mode | None = None,
    processes: bool | None = None,
    told: Callable[[Finding], None] = lambda finding: None,
) -> Report:
    """Run the cases against the checkpointers of a factory.

    Args:
        spec: `module:callable`, see `Factory`.
        only: ids of cases, or promises; empty is all of them.
        mode, processes: see `Runner`.
        told: called with each finding as it is made.

    Raises:
        FactoryError: the factory, or an id, cannot be used.
    """
    wanted = set(only)
    cases = [case for case in CASES.values() if not wanted or wanted & {case.id, case.promise}]
    unknown = wanted - {name for case in CASES.values() for name in (case.id, case.promise)}
    if unknown:
        raise FactoryError(f"there is no case or promise {', '.join(sorted(unknown))}")
    findings = []
    with Runner(spec, mode=mode, processes=processes) as runner:
        for case in cases:
            findings.append(runner.run(case))
            told(findings[-1])
        return Report(spec, runner.reach, versions(), findings)
