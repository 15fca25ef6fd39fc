"""Runs the cases against a factory."""

from __future__ import annotations

import asyncio
import inspect
import os
import sys
import tempfile
import threading
import traceback
import warnings
from collections.abc import Callable, Coroutine, Iterable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from .._core import RemitStrayResume
from .cases import CASES, Case
from .factory import Factory, FactoryError, Mode
from .ledger import Ledger
from .report import Finding, Report, versions
from .trial import Reach, Trial
from .zygote import Processes

ALONE = "the factory's savers are seen by no other process"
HUNG = "cases before this one did not end"

LIMIT_S = 180
"""How long a case may take, in one mode. A saver that waits for ever breaks what it was asked; it must not hide the rest."""

HUNG_LIMIT = 3
"""How many cases may not end before no more are begun."""


class Hung(TimeoutError):
    """A case did not end. Its thread is left behind."""


class Runner:
    """The cases on one factory. Use it as a context manager: it has a temporary directory and a process of its own.

    Args:
        spec: `module:callable`, see `Factory`. The current directory is searched too.
        mode: how the savers are called; `None` is each of the ways that they can be called.
        processes: whether other processes see the store; `None` is found out. `True` makes it a failure if they do not.
        limit_s: how long a case may take in one mode, in seconds.

    Attributes:
        reach: how the savers can be called, and who sees their store.
        hung: how many cases did not end. Their threads are still there, and hold up the interpreter's own end.

    Raises:
        FactoryError: the factory cannot be used.
    """

    def __init__(
        self, spec: str, *, mode: Mode | None = None, processes: bool | None = None, limit_s: float = LIMIT_S
    ) -> None:
        if "" not in sys.path and os.getcwd() not in sys.path:
            sys.path.insert(0, os.getcwd())
        self.factory = Factory.find(spec)
        self._mode: Mode | None = mode
        self._wants_processes = processes
        self._limit_s = limit_s
        self.hung = 0
        self._temporary = tempfile.TemporaryDirectory(prefix="remit-conform-", ignore_cleanup_errors=True)
        self._zygote: Processes | None = None
        self.reach = Reach((), False, False)

    def __enter__(self) -> Runner:
        self._directory = Path(self._temporary.name)
        self._ledger = Ledger(self._directory / "effects")
        self._zygote = self._new_zygote()
        try:
            self.reach = self._in_time(self._find_reach())
        except Hung:
            self.__exit__()
            raise FactoryError(f"a graph on the factory's saver does not end within {self._limit_s:g} s") from None
        except BaseException:
            self.__exit__()
            raise
        return self

    def _new_zygote(self) -> Processes:
        command = [sys.executable, "-m", "remit.conform.zygote", "remit.conform.stage:run_job"]
        path = os.pathsep.join(part or os.getcwd() for part in sys.path)
        directory = Path(tempfile.mkdtemp(dir=self._directory))
        return Processes(command, directory, {**os.environ, "PYTHONPATH": path})

    def __exit__(self, *_: object) -> None:
        if self._zygote is not None:
            self._zygote.close()
        self._temporary.cleanup()

    def run(self, case: Case) -> Finding:
        """One case, in each mode."""
        if case.needs == "processes" and not self.reach.processes:
            return Finding(case, not_run=ALONE)
        if self.hung >= HUNG_LIMIT:
            return Finding(case, not_run=HUNG)
        return in_each_mode(case, {mode: self._run(case, mode) for mode in self.reach.modes})

    def _run(self, case: Case, mode: Mode) -> Finding:
        """What it raises is a finding too: a plane that makes a case fail has kept nothing."""
        trial = self._trial(self.reach, mode)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RemitStrayResume)  # strays are sent on purpose
                self._in_time(self._play(case, trial))
        except FactoryError:
            raise
        except Hung:
            trial.check(f"the case ends within {self._limit_s:g} s", False)
            self.hung += 1
            self._replace_zygote()
        except Exception as error:
            trial.check(f"the case can be played ({type(error).__name__}: {str(error)[:200]})", False)
            if os.environ.get("REMIT_CONFORM_DEBUG"):
                traceback.print_exc()
        return Finding(case, checks=list(trial.checks), notes=trial.notes, effects=trial.effects)

    def _in_time(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Run it in a thread of its own, which is left behind if it does not end.

        Raises:
            Hung: it does not.
        """
        ended: list[Callable[[], Any]] = []

        def call() -> None:
            try:
                result = asyncio.run(work)
                ended.append(lambda: result)
            except BaseException as error:
                ended.append(partial(_raise, error))

        thread = threading.Thread(target=call, name="remit-conform", daemon=True)
        thread.start()
        thread.join(self._limit_s)
        if not ended:
            raise Hung
        return ended[0]()

    def _replace_zygote(self) -> None:
        """The thread that was left behind may be waiting for the old one."""
        if self._zygote is not None:
            with suppress(OSError):
                self._zygote.abandon()
        self._zygote = self._new_zygote()

    async def _play(self, case: Case, trial: Trial) -> None:
        try:
            await case.body(trial)
        finally:
            await trial.forget()

    def _trial(self, reach: Reach, mode: Mode) -> Trial:
        return Trial(
            self.factory, reach, mode, self._ledger, self._directory, self._zygote if reach.processes else None
        )

    async def _find_reach(self) -> Reach:
        """One thread, stored by one saver; who else sees it?"""
        async with self.factory.open() as (saver, found):
            setup: Callable[[], Any] | None = getattr(saver, "setup", None)
            made = setup() if setup is not None else None
            if inspect.isawaitable(made):
                await made
            wanted: tuple[Mode, ...] = found if self._mode is None else (self._mode,)
            modes: list[Mode] = [mode for mode in wanted if await self._is_offered(mode)]
            if not modes:
                raise FactoryError("the factory's saver has neither sync nor async methods that store")
            trial = self._trial(Reach((modes[0],), reopens=True, processes=True), modes[0])
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
        return Reach(tuple(modes), reopens, processes)

    async def _is_offered(self, mode: Mode) -> bool:
        """Whether the saver has these calls: one that has them only to say that it has not raises NotImplementedError."""
        trial = self._trial(Reach((mode,), reopens=False, processes=False), mode)
        async with trial.graph("gate") as (graph, _):
            started = await graph.start()
        await trial.forget()
        return started.ended != NotImplementedError.__name__

    async def _is_seen_outside(self, trial: Trial) -> bool:
        looked = await trial.process("gate", "state")
        return bool(looked.values.get("next"))


def in_each_mode(case: Case, findings: Mapping[Mode, Finding]) -> Finding:
    """One finding of several: a sentence that came out differently is told of each mode."""
    first = next(iter(findings.values()))
    checks = []
    for sentence in dict.fromkeys(said for finding in findings.values() for said, _ in finding.checks):
        held = {mode: _held(finding, sentence) for mode, finding in findings.items() if _says(finding, sentence)}
        if len(held) == len(findings) and len(set(held.values())) == 1:
            checks.append((sentence, next(iter(held.values()))))
        else:
            checks += [(f"{mode}: {sentence}", was_so) for mode, was_so in held.items()]
    others: dict[str, Any] = {mode: finding.notes for mode, finding in findings.items() if finding.notes != first.notes}
    return Finding(case, checks=checks, notes={**first.notes, **others}, effects=first.effects)


def _says(finding: Finding, sentence: str) -> bool:
    return any(said == sentence for said, _ in finding.checks)


def _held(finding: Finding, sentence: str) -> bool:
    return all(held for said, held in finding.checks if said == sentence)


def leave(status: int) -> NoReturn:
    """End a process in which cases did not end: the interpreter would wait for their threads."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def _raise(error: BaseException) -> NoReturn:
    raise error


def run(
    spec: str,
    *,
    only: Iterable[str] = (),
    mode: Mode | None = None,
    processes: bool | None = None,
    limit_s: float = LIMIT_S,
    told: Callable[[Finding], None] = lambda finding: None,
) -> Report:
    """Run the cases against the checkpointers of a factory.

    Args:
        spec: `module:callable`, see `Factory`.
        only: ids of cases, or promises; empty is all of them.
        mode, processes, limit_s: see `Runner`.
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
    with Runner(spec, mode=mode, processes=processes, limit_s=limit_s) as runner:
        for case in cases:
            findings.append(runner.run(case))
            told(findings[-1])
        return Report(spec, runner.reach, versions(), findings, runner.hung)
