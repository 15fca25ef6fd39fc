"""Group commit: what several threads store through one connection at the same time is committed once.

A connection takes one transaction after the other, so whoever comes while one is under way waits anyway. The first
that comes leads: it stores its own; what came meanwhile the next one stores for all who wait, in the order in which
they came, in one transaction. Nobody is told that something is stored before it is durable, and where a group cannot
be stored, each of its members is stored alone and told of its own error.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import Any, NamedTuple, Protocol


class Write(NamedTuple):
    """A call of a method of an inner saver that stores something: it runs if the statement returns a row, or there is
    none. With a `plane`, a thread and a namespace, no other write with it is between the two."""

    inner: Any
    name: str
    args: tuple[Any, ...]
    statement: str = ""
    parameters: tuple[Any, ...] = ()
    plane: tuple[str, str] | None = None


class Committer(Protocol):
    """Whoever can store several writes in one transaction."""

    def commit(self, writes: Sequence[Write]) -> list[tuple[bool, Any]]:
        """Of each: did it run, and what its method returned. Stores all of them or, if it raises, none."""
        ...


class _Member:
    """A write that waits, in its thread."""

    __slots__ = ("_wait", "error", "is_called", "is_done", "result", "write")

    def __init__(self, write: Write) -> None:
        self.write = write
        self.result: tuple[bool, Any] = (False, None)
        self.error: BaseException | None = None
        self.is_called = self.is_done = False
        self._wait = Lock()
        self._wait.acquire()

    def wake(self) -> None:
        """It is done, or its thread is to lead."""
        self.is_called = True
        self._wait.release()

    def wait(self) -> None:
        self._wait.acquire()


class GroupCommit:
    """The writes of all threads through one connection."""

    def __init__(self, committer: Committer) -> None:
        self._committer = committer
        self._lock = Lock()
        self._waiting: list[_Member] = []
        self._is_led = False

    def store(self, write: Write) -> tuple[bool, Any]:
        """Stores a write: did it run, and what its method returned. Durable when it returns."""
        member = _Member(write)
        leads = False
        try:
            with self._lock:
                self._waiting.append(member)
                leads, self._is_led = not self._is_led, True
            if not leads:
                member.wait()
                leads = not member.is_done
            if leads:
                self._lead()
        except BaseException:
            self._leave(member, leads)
            raise
        if member.error is not None:
            raise member.error
        return member.result

    def _lead(self) -> None:
        """Stores what waits by now, and hands over to whoever came since."""
        with self._lock:
            group, self._waiting = self._waiting, []
        try:
            self._store_all(group)
        finally:
            with self._lock:
                # whom an interruption of this thread left undone stays in front
                self._waiting[:0] = [member for member in group[1:] if not member.is_done]
                next = self._next()
            for member in group[1:]:
                if member.is_done:
                    member.wake()
            if next is not None:
                next.wake()

    def _next(self) -> _Member | None:
        """Whoever is to lead now, if anybody waits."""
        self._is_led = bool(self._waiting)
        return self._waiting[0] if self._waiting else None

    def _leave(self, member: _Member, leads: bool) -> None:
        """Its thread was interrupted before it was stored, unless somebody has it already."""
        with self._lock:
            if member not in self._waiting:
                return
            self._waiting.remove(member)
            next = self._next() if leads or member.is_called else None
        if next is not None:
            next.wake()

    def _store_all(self, group: list[_Member]) -> None:
        if len(group) > 1:
            try:
                results = self._committer.commit([member.write for member in group])
            except Exception:
                pass  # nothing of it is stored: whose fault it was, shows when each is alone
            else:
                for member, result in zip(group, results, strict=True):
                    member.result, member.is_done = result, True
                return
        for member in group:
            try:
                member.result = self._store_one(member.write)
            except Exception as e:
                member.error = e
            member.is_done = True

    def _store_one(self, write: Write) -> tuple[bool, Any]:
        if write.statement:
            return self._committer.commit([write])[0]
        return True, getattr(write.inner, write.name)(*write.args)


class Grouped:
    """An inner saver whose writes are committed in groups."""

    __slots__ = ("_group", "inner")

    def __init__(self, inner: Any, group: GroupCommit) -> None:
        self.inner = inner
        self._group = group

    def put(self, *args: Any) -> Any:
        return self._group.store(Write(self.inner, "put", args))[1]

    def put_writes(self, *args: Any) -> None:
        self._group.store(Write(self.inner, "put_writes", args))

    def store(self, write: Write) -> tuple[bool, Any]:
        return self._group.store(write)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)
