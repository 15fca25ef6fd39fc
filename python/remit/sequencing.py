"""The order in which a plane's operations land, for threads and event loops alike.

The decision is the core's (`sequencer`). Here operations arrive, wait to be woken, and are forgotten when a plane
is idle, so memory is bounded by what is under way.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from threading import Lock

from ._core import Kind, Sequencer

PlaneKey = tuple[str, str]


class _Plane:
    __slots__ = ("key", "sequencer", "wakers")

    def __init__(self, key: PlaneKey) -> None:
        self.key = key
        self.sequencer = Sequencer()
        self.wakers: list[Callable[[], None]] = []


class Operation:
    """One operation's place in its plane."""

    __slots__ = ("_plane", "_planes", "_seq")

    def __init__(self, planes: Planes, plane: _Plane, seq: int) -> None:
        self._planes = planes
        self._plane = plane
        self._seq = seq

    def is_ready(self) -> bool:
        """May it land now?"""
        self._planes.settle()
        return self._plane.sequencer.is_ready(self._seq)

    def wake(self, waker: Callable[[], None]) -> None:
        """Calls `waker`, from any thread, whenever something of the plane has landed. Ask `is_ready` again after
        this, and after each call."""
        self._plane.wakers.append(waker)

    def finish(self) -> None:
        """It has landed, or failed."""
        self._planes.finish(self._plane, self._seq)

    def abandon(self) -> None:
        """It will never run. Safe in a finalizer: takes no lock."""
        self._planes.abandoned.append((self._plane, self._seq))
        for waker in self._plane.wakers:
            waker()


class Planes:
    """The planes that have something under way."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._planes: dict[PlaneKey, _Plane] = {}
        self.abandoned: deque[tuple[_Plane, int]] = deque()

    def __len__(self) -> int:
        return len(self._planes)

    def arrive(self, key: PlaneKey, kind: Kind) -> Operation:
        """Numbers an operation of a plane."""
        self.settle()
        with self._lock:
            plane = self._planes.get(key)
            if plane is None:
                plane = self._planes[key] = _Plane(key)
            return Operation(self, plane, plane.sequencer.arrive(kind))

    def finish(self, plane: _Plane, seq: int) -> None:
        with self._lock:
            if plane.sequencer.finish(seq) and self._planes.get(plane.key) is plane:
                del self._planes[plane.key]
        for waker in plane.wakers:
            waker()

    def settle(self) -> None:
        """Finishes what was abandoned."""
        while self.abandoned:
            try:
                plane, seq = self.abandoned.popleft()
            except IndexError:
                return
            self.finish(plane, seq)
