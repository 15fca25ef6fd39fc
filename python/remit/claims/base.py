"""What every store does, as protocols over single statements. SQL is in the file of its database."""

from __future__ import annotations

from typing import Any

from .._core import fork, refuse
from ..drivers import Query, Steps

VERSION = 1


class Store:
    """A store of REMIT's own rows. A subclass gives the statements and runs them.

    `execute(statement, parameters)` and `aexecute` run one statement, committed on its own, and return its rows as
    a list of tuples. `insert_fork` must insert nothing, and return no row, where the key or the token is taken.
    """

    schema: tuple[str, ...] = ()
    """Statements that make the tables; each may be repeated, also by racing processes."""
    select_version = ""
    select_forks = ""
    select_token = ""
    insert_fork = ""
    delete_thread = ""
    is_ready = False
    is_durable = True
    """Does the store outlive the process, as its saver does?"""

    def execute(self, statement: str, parameters: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        raise NotImplementedError("a store runs its statements in `execute`")

    async def aexecute(self, statement: str, parameters: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        raise NotImplementedError("a store runs its statements in `aexecute`")

    def is_missing(self, error: BaseException) -> bool:
        """Does the error say that the tables are not there?"""
        return False

    def is_denied(self, error: BaseException) -> bool:
        """Does the error say that the tables may not be made here?"""
        return False

    def setup(self) -> Steps[None]:
        """Makes the tables, once per store.

        Raises:
            RemitError: the tables are of a newer release, or may not be made.
        """
        if self.is_ready:
            return
        try:
            rows = yield Query(self, self.select_version, ())
        except Exception as e:
            if not self.is_missing(e):
                raise
            rows = []
        if not rows:
            try:
                for statement in self.schema:
                    yield Query(self, statement, ())
            except Exception as e:
                if self.is_denied(e):
                    raise refuse("tables-denied", detail=str(e).strip(), sql=";\n".join(self.schema) + ";") from e
                raise
            rows = yield Query(self, self.select_version, ())
        found = rows[0][0]
        if found > VERSION:
            raise refuse("tables-newer", found=found, known=VERSION)
        self.is_ready = True

    def check(self) -> None:
        """Checks the saver's connection.

        Raises:
            RemitError: nothing could become durable through it.
        """

    def fork(
        self, thread: str, namespace: str, checkpoint: str, token: str | None, seen: list[str | None]
    ) -> Steps[tuple[int, bool]]:
        """Names a fork: (ordinal, is it fresh). Two that fork at once get two ordinals, one token gets one. `seen`
        are the forks that left rows at the checkpoint, by ordinal, for a store that does not outlive them."""
        yield from self.setup()
        while True:
            rows = yield Query(self, self.select_forks, (thread, namespace, checkpoint))
            known: list[str | None] = [row[0] for row in rows]
            for ordinal in range(len(known), len(seen)):
                yield Query(self, self.insert_fork, (thread, namespace, checkpoint, ordinal, seen[ordinal]))
                known.append(seen[ordinal])
            ordinal, fresh = fork(known, token)
            if not fresh:
                return ordinal, False
            row = (thread, namespace, checkpoint, ordinal, token)
            if (yield Query(self, self.insert_fork, row)):
                return ordinal, True

    def find_fork(self, thread: str, namespace: str, token: str) -> Steps[str | None]:
        """The newest checkpoint at which a token named a fork."""
        yield from self.setup()
        rows = yield Query(self, self.select_token, (thread, namespace, token))
        return rows[0][0] if rows else None

    def forget(self, thread: str) -> Steps[None]:
        """Deletes what is kept of a thread."""
        try:
            yield Query(self, self.delete_thread, (thread,))
        except Exception as e:
            if not self.is_missing(e):
                raise
