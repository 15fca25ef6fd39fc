"""Listening for the strays that REMIT reports: that they are said, when, and that no legitimate answer is called one."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from remit import RemitStrayResume

NO_FALSE_ALARM = "no legitimate answer is reported as a stray"


@dataclass
class Reports:
    """What was reported while we listened.

    Attributes:
        warned_at: one entry per warning: how far the app had come when it was given, as a number of steps.
        logged: the number of records on REMIT's logger.
    """

    warned_at: list[int] = field(default_factory=list)
    logged: int = 0

    def __bool__(self) -> bool:
        return bool(self.warned_at or self.logged)

    def __str__(self) -> str:
        return f"{len(self.warned_at)} warning(s), {self.logged} log record(s)" if self else "none"


@contextmanager
def listening(progress: Callable[[], int] = lambda: 0) -> Iterator[Reports]:
    """Collect the reports of strays; `progress` says how far the app has come. Other warnings go where they went."""
    reports = Reports()
    others = warnings.showwarning

    def on_warning(message: Warning | str, category: type[Warning], *rest: object) -> None:
        if issubclass(category, RemitStrayResume):
            reports.warned_at.append(progress())
        else:
            others(message, category, *rest)  # type: ignore[arg-type]

    class Counter(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            reports.logged += 1

    logger, counter = logging.getLogger("remit"), Counter()
    logger.addHandler(counter)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", RemitStrayResume)
            # Assigned, and not `record=True`: what counts is when it was said, not only that it was.
            warnings.showwarning = on_warning  # type: ignore[assignment]
            yield reports
    finally:
        logger.removeHandler(counter)
