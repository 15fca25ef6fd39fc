"""The contract as tests of a pytest suite: `pytest --remit-factory module:callable`.

Each case is a test, `remit-conform::ID`, beside the suite's own: `-k`, `-x`, `--junitxml` and pytest-xdist see it as one.
A case that is not run is skipped. `--remit-known ID` says that a violation is known: it is an expected failure, and
fails if it holds.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .cases import Case
    from .report import Finding
    from .runner import Runner

# This module is loaded in every pytest run of an environment that has REMIT: it imports what it needs when asked for.


class Violated(AssertionError):
    """A case of the contract does not hold."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """The plugin's options."""
    group = parser.getgroup("remit", "REMIT: the contract, held against a checkpointer")
    group.addoption("--remit-factory", metavar="MODULE:CALLABLE", help="test the checkpointers that this gives")
    group.addoption("--remit-known", metavar="ID", action="append", default=[], help="a violation that is known")
    group.addoption("--remit-limit", metavar="SECONDS", type=float, default=180, help="how long a case may take")


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Generator[None, Any, Any]:
    """Adds the contract to what the session has collected."""
    report: Any = yield
    spec = collector.config.getoption("--remit-factory")
    if spec and isinstance(collector, pytest.Session) and report.passed:
        report.result.append(_Contract.from_parent(collector, name="remit-conform", spec=spec))
    return report


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int | pytest.ExitCode) -> None:
    """Sees to it that a run with a case that did not end has an end of its own."""
    for runner in _RUNNERS:
        if runner.hung:
            from .runner import leave

            session.config.add_cleanup(lambda: leave(int(exitstatus)))


_RUNNERS: list[Runner] = []


class _Contract(pytest.Collector):
    def __init__(self, *, spec: str, **options: Any) -> None:
        super().__init__(**options, nodeid="remit-conform")
        self._spec = spec
        self._runner: Runner | None = None

    def collect(self) -> Iterator[pytest.Item]:
        from .cases import CASES

        known: set[str] = set(self.config.getoption("--remit-known") or ())
        if known - set(CASES):
            raise pytest.UsageError(f"--remit-known: there is no case {', '.join(sorted(known - set(CASES)))}")
        for case in CASES.values():
            yield _Case.from_parent(self, name=case.id, case=case, is_known=case.id in known)

    def runner(self) -> Runner:
        """One for the session, made when a first case is run."""
        if self._runner is None:
            from .runner import Runner

            limit_s: Any = self.config.getoption("--remit-limit")
            self._runner = Runner(self._spec, limit_s=limit_s).__enter__()
            self.config.add_cleanup(self._runner.__exit__)
            _RUNNERS.append(self._runner)
        return self._runner


class _Case(pytest.Item):
    parent: _Contract

    def __init__(self, *, case: Case, is_known: bool, **options: Any) -> None:
        super().__init__(**options)
        self._case = case
        self._is_known = is_known

    def runtest(self) -> None:
        finding = self.parent.runner().run(self._case)
        if finding.not_run is not None:
            pytest.skip(finding.not_run)
        if self._is_known and finding.verdict == "violated":
            pytest.xfail(_said(finding))
        if self._is_known:
            raise Violated(f"{self._case.id} is named by --remit-known, and holds")
        if finding.verdict == "violated":
            raise Violated(_said(finding))

    def repr_failure(self, excinfo: Any, style: Any = None) -> Any:
        return str(excinfo.value) if isinstance(excinfo.value, Violated) else super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[str, None, str]:
        return "remit-conform", None, f"{self._case.promise}: {self._case.title}"


def _said(finding: Finding) -> str:
    broken = "\n".join(f"- not so: {sentence}" for sentence in finding.broken)
    return f"{finding.case.promise}: {finding.case.title}\n{broken}\neffects: {finding.effects}\nseen: {finding.notes}"
