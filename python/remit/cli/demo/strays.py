"""Listening for the strays that REMIT reports: that they are said, when, and that no legitimate answer is called one."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from remit import RemitStrayResume

NO_FALSE_ALARM = "no legitimate answer is reported as a stray"


@contextmanager
def listening(progress: Callable[[], object] = lambda: None) -> Iterator[list[object]]:
    """Collect one entry per reported stray: how far the app had come, by `progress`, when it was reported.

    Other warnings go where they went before.
    """
    heard: list[object] = []
    with warnings.catch_warnings():
        others = warnings.showwarning
        warnings.simplefilter("always", RemitStrayResume)

        def listen(message: Warning | str, category: type[Warning], *rest: object) -> None:
            if issubclass(category, RemitStrayResume):
                heard.append(progress())
            else:
                others(message, category, *rest)  # type: ignore[arg-type]

        # Assigned, and not `record=True`: what counts is when it was said, not only that it was.
        warnings.showwarning = listen  # type: ignore[assignment]
        yield heard
