"""Group commit: what several threads store through one connection at the same time is committed once.

A connection takes one transaction after the other, so whoever comes while one is under way waits anyway. The first
that comes leads: it stores its own; what came meanwhile the next one stores for all who wait, in the order in which
they came, in one transaction. Nobody is told that something is stored before it is durable, and where a group cannot
be stored, each of its members is stored alone and told of its own error.

An operation that has to land after others (`sequencer`) may be stored behind them in one transaction: it comes when the
last of what they store has come.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import Any, NamedTuple, Protocol

from ._core import Operation
from .turns import wait_for


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


class OutOfTurn(Exception):
    """What an operation comes after did not land: it is to wait, and to come again."""


class _Member:
    """A write that waits, in its thread, for an operation."""

    __slots__ = ("_wait", "error", "is_called", "is_done", "operation", "result", "write")

    def __init__(self, write: Write, operation: Operation | None) -> None:
        self.write = write
        self.operation = operation
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

    def store(self, write: Write, operation: Operation | None = None, is_last: bool = False) -> tuple[bool, Any]:
        """Stores a write: did it run, and what its method returned. Durable when it returns. `is_last`: its operation
        stores nothing after it.

        Raises:
            OutOfTurn: it is not its operation's turn after all.
        """
        member: _Member | None = None
        leads = False
        try:
            with self._lock:
                if operation is not None:
                    if not operation.is_ready():
                        raise OutOfTurn
                    if is_last:
                        operation.queue(True)
                if self._is_led:
                    member = _Member(write, operation)
                    self._waiting.append(member)
                else:  # nobody waits
                    leads = self._is_led = True
            if member is None:
                return self._store_one(write)
            member.wait()
            leads = not member.is_done
            if leads:
                self._lead(member)
            if member.error is not None:
                raise member.error
            return member.result
        except BaseException as e:
            if member is not None:
                self._leave(member, leads)
            elif leads and isinstance(e, Exception):
                self._step_out(operation, [])
            raise
        finally:
            if leads and member is None:
                self._hand_over()

    def _lead(self, leader: _Member) -> None:
        """Stores what waits by now, and hands over to whoever came since."""
        with self._lock:
            group, self._waiting = self._waiting, []
        try:
            self._store_all(group)
        finally:
            others = [member for member in group if member is not leader]
            # whom an interruption of this thread left undone stays in front
            self._hand_over([member for member in others if not member.is_done])
            for member in others:
                if member.is_done:
                    member.wake()

    def _hand_over(self, undone: Sequence[_Member] = ()) -> None:
        """Lets the first one lead that waits."""
        with self._lock:
            self._waiting[:0] = undone
            next = self._next()
        if next is not None:
            next.wake()

    def _next(self) -> _Member | None:
        """Whoever is to lead now, if anybody waits."""
        self._is_led = bool(self._waiting)
        return self._waiting[0] if self._waiting else None

    def _leave(self, member: _Member, leads: bool) -> None:
        """It failed, or its thread was interrupted: takes it out, unless somebody has it, or had it, already."""
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
            if member.is_done:
                continue
            try:
                member.result = self._store_one(member.write)
            except Exception as e:
                member.error = e
                self._step_out(member.operation, group)
            member.is_done = True

    def _step_out(self, operation: Operation | None, group: list[_Member]) -> None:
        """A write was not stored: whoever stands behind its operation and has to land after it, is to wait for it."""
        if operation is None:
            return
        with self._lock:
            operation.queue(False)
            for other in [*group, *self._waiting]:
                if not other.is_done and other.operation is not None and not other.operation.is_ready():
                    other.error, other.is_done = OutOfTurn(), True
            gone = [other for other in self._waiting if other.is_done]
            self._waiting = [other for other in self._waiting if not other.is_done]
        for other in gone:
            other.wake()

    def _store_one(self, write: Write) -> tuple[bool, Any]:
        if write.statement:
            return self._committer.commit([write])[0]
        return True, getattr(write.inner, write.name)(*write.args)


class Grouped:
    """An inner saver whose writes are committed in groups, as an operation uses it."""

    __slots__ = ("_group", "_operation", "inner")

    def __init__(self, inner: Any, group: GroupCommit, operation: Operation) -> None:
        self.inner = inner
        self._group = group
        self._operation = operation

    def put(self, *args: Any) -> Any:
        return self.store(Write(self.inner, "put", args))[1]

    def put_writes(self, *args: Any) -> None:
        self.store(Write(self.inner, "put_writes", args))

    def store(self, write: Write, is_last: bool = False) -> tuple[bool, Any]:
        """Stores a write when it is the operation's turn, see `GroupCommit.store`."""
        operation: Operation | None = self._operation
        while True:
            try:
                return self._group.store(write, operation, is_last)
            except OutOfTurn:
                wait_for(self._operation)
                if not self._operation.is_ready():
                    operation = None  # on a loop's thread, which must not wait

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)
