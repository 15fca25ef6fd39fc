"""What every store does, as protocols over single statements. SQL is in the file of its database."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

from .._core import fork, refuse
from ..commits import GroupCommit, Write
from ..drivers import Call, Land, Steps

VERSION = 1

T = TypeVar("T")


class Key(NamedTuple):
    """What a claim is on: a checkpoint and the questions that were open there together. `line` is the branch that its
    run is on, empty for none; `question` is a digest of the questions' identities, see `gate.Gate`. Thread, namespace
    and line are the claim's plane, where one run executes at a time."""

    thread: str
    namespace: str
    line: str
    checkpoint: str
    question: str


class Grant(NamedTuple):
    """One grant of a claim. Times are microseconds since 1970 by the store's own clock.

    Attributes:
        key: what it is on.
        fence: its number, from 1 on; the highest of a key is the claim's present state.
        state: `"held"`, `"free"` (given back, or freed by others) or `"consumed"`.
        running: may its run still execute? At most one grant of a plane is.
        owner: the run that it was given to, see `gate.Owner`.
        since, lease_end, settled: when it was given, until when it is the owner's alone, when it was settled.
        outcome: what settled it, a word.
        interrupts: the ids of the questions.
        answer_id, digest: the answer's idempotency key, and a digest of its value, never the value.
    """

    key: Key
    fence: int
    state: str
    running: bool
    owner: str
    since: int
    lease_end: int
    settled: int | None
    outcome: str | None
    interrupts: tuple[str, ...]
    answer_id: str | None
    digest: str | None


class Effect(NamedTuple):
    """An effect's identity.

    Attributes:
        thread, branch: where it fires; the main line's branch is `""`.
        task: the id of the task that fires it, `""` in thread scope.
        name: the effect id that the user gives.
        key: which of that name: `"=key"` as the user gives it, or `"#n"` for the n-th call of a task's run, after the id
            of the tool call if it is in a tool.
        digest: all of these, in a form of fixed length: what an API takes as its idempotency key.
    """

    thread: str
    branch: str
    task: str
    name: str
    key: str
    digest: str


class Admission(NamedTuple):
    """One admission of an effect. Times are microseconds since 1970 by the store's own clock.

    Attributes:
        id: its number in the store.
        effect: what was admitted.
        fence: which admission of the effect it is, from 1 on; the highest is the effect's present state.
        state: `"admitted"`, `"done"` or `"released"` (it did not fire).
        owner: who was admitted, see `gate.Owner`.
        since, until, settled: when it was admitted, until when an owner out of sight is taken for alive, when it was
            settled.
        outcome: what settled it, a word; `"superseded"` if it was in doubt and another admission came after it.
        namespace, checkpoint: where its task ran.
        fingerprint: a digest of its arguments; None if its key alone tells it.
        result: what it returned, as the saver's serializer stores it; None if it is not known.
    """

    id: int
    effect: Effect
    fence: int
    state: str
    owner: str
    since: int
    until: int
    settled: int | None
    outcome: str | None
    namespace: str
    checkpoint: str
    fingerprint: str | None
    result: tuple[str, bytes] | None


@runtime_checkable
class ClaimStore(Protocol):
    """Where claims are kept, for `RemitConfig.claim_store`: implement it for a database that REMIT does not know.

    Every method is one atomic step, durable when it returns. Each has a twin for `await`, named with an `a` before
    it. All times are the store's own clock's, in microseconds since 1970, and never run ahead of it.
    """

    def grant(
        self,
        key: Key,
        fence: int,
        owner: str,
        lease: int,
        interrupts: Sequence[str],
        answer_id: str | None,
        digest: str | None,
    ) -> int | None:
        """Adds the grant of a key with this number, held and running until `lease` microseconds from now: the lease's
        end. None, and nothing is changed, if the key has a grant with this number, or its plane has one that runs."""
        ...

    def look(self, key: Key) -> tuple[Grant | None, Grant | None, int]:
        """A key's grant with the highest number, the grant of its plane that runs, and the time."""
        ...

    def settle(self, key: Key, fence: int, state: str, outcome: str, running: bool, lease_end: int | None) -> bool:
        """Settles a grant that runs, and if `lease_end` is given, whose lease ends then: state and outcome are set if
        it is held, `running` is set always. False, and nothing is changed, if there is no such grant."""
        ...

    def renew(self, key: Key, fence: int, lease: int) -> int | None:
        """Lets a grant that runs last until `lease` microseconds from now, at least: the lease's end. None if it does
        not run."""
        ...

    def answered(self, thread: str, answer_id: str) -> list[Grant]:
        """A thread's grants with this answer id."""
        ...

    def trail(self, thread: str) -> list[Grant]:
        """A thread's grants, oldest first."""
        ...

    def forget(self, thread: str) -> None:
        """Deletes a thread's grants."""
        ...

    async def agrant(
        self,
        key: Key,
        fence: int,
        owner: str,
        lease: int,
        interrupts: Sequence[str],
        answer_id: str | None,
        digest: str | None,
    ) -> int | None: ...
    async def alook(self, key: Key) -> tuple[Grant | None, Grant | None, int]: ...
    async def asettle(
        self, key: Key, fence: int, state: str, outcome: str, running: bool, lease_end: int | None
    ) -> bool: ...
    async def arenew(self, key: Key, fence: int, lease: int) -> int | None: ...
    async def aanswered(self, thread: str, answer_id: str) -> list[Grant]: ...
    async def atrail(self, thread: str) -> list[Grant]: ...
    async def aforget(self, thread: str) -> None: ...


class Claims:
    """The claims as protocols, over a store of somebody else's."""

    lands_together = False
    """Are a checkpoint and its claim's settlement one transaction?"""

    def __init__(self, store: ClaimStore) -> None:
        self._store = store

    def grant(
        self,
        key: Key,
        fence: int,
        owner: str,
        lease: int,
        interrupts: Sequence[str],
        answer_id: str | None,
        digest: str | None,
    ) -> Steps[int | None]:
        result: int | None = yield Call(self._store, "grant", (key, fence, owner, lease, interrupts, answer_id, digest))
        return result

    def look(self, key: Key) -> Steps[tuple[Grant | None, Grant | None, int]]:
        result: tuple[Grant | None, Grant | None, int] = yield Call(self._store, "look", (key,))
        return result

    def settle(
        self, key: Key, fence: int, state: str, outcome: str, running: bool, lease_end: int | None = None
    ) -> Steps[bool]:
        result: bool = yield Call(self._store, "settle", (key, fence, state, outcome, running, lease_end))
        return result

    def renew(self, key: Key, fence: int, lease: int) -> Steps[int | None]:
        result: int | None = yield Call(self._store, "renew", (key, fence, lease))
        return result

    def answered(self, thread: str, answer_id: str) -> Steps[list[Grant]]:
        result: list[Grant] = yield Call(self._store, "answered", (thread, answer_id))
        return result

    def trail(self, thread: str) -> Steps[list[Grant]]:
        result: list[Grant] = yield Call(self._store, "trail", (thread,))
        return result

    def forget(self, thread: str) -> Steps[None]:
        yield Call(self._store, "forget", (thread,))

    def grant_with(
        self,
        key: Key,
        fence: int,
        owner: str,
        lease: int,
        interrupts: Sequence[str],
        answer_id: str | None,
        digest: str | None,
        name: str,
        args: tuple[Any, ...],
    ) -> Steps[bool]:
        """Adds a grant, as `grant` does, and stores something through the inner saver: was it granted? Nothing is
        stored if it was not."""
        raise NotImplementedError("only a store in the saver's own database can do it")
        yield

    def land(
        self, key: Key, fence: int, state: str, outcome: str, running: bool, name: str, args: tuple[Any, ...]
    ) -> Steps[tuple[bool, Any]]:
        """Stores something through the inner saver and settles a grant with it: (did it run, the saver's result).
        Nothing is stored if it did not."""
        raise NotImplementedError("only a store in the saver's own database can do it")
        yield


class Store(Claims):
    """A store of REMIT's own rows. A subclass gives the statements and runs them.

    `execute(statement, parameters)` and `aexecute` run one statement, committed on its own, and return its rows as
    a list of tuples. `insert_fork` must insert nothing, and return no row, where the key or the token is taken;
    `insert_grant` where the grant is; `insert_effect` where the admission is, or the claim that it is asked under is not
    held; `take_effect_over` also where the admission before it is settled. `commit` and `acommit` store writes in one
    transaction, see `commits.Committer`.
    """

    schema: tuple[str, ...] = ()
    """Statements that make the tables; each may be repeated, also by racing processes."""
    select_version = ""
    select_forks = ""
    select_token = ""
    insert_fork = ""
    delete_forks = ""
    insert_grant = ""
    select_grants = ""
    settle_grant = ""
    settle_grant_as_seen = ""
    renew_grant = ""
    select_answered = ""
    select_trail = ""
    delete_grants = ""
    insert_effect = ""
    take_effect_over = ""
    select_effect = ""
    settle_effect = ""
    store_result = ""
    select_effects = ""
    delete_effects = ""
    prune_effects = ""
    prune_grants = ""
    select_threads = ""
    select_questions = ""
    """Empty where only a listing of the saver's tells."""
    select_asked = ""
    index_questions = ""
    copy_forks = ""
    copy_effect = ""
    is_newest = ""
    is_ready = False
    is_durable = True
    """Does the store outlive the process, as its saver does?"""
    is_native = True
    """Does the store live where its saver does? Else others see the saver's checkpoints, and nothing of the store."""
    groups: GroupCommit | None = None
    """The writes of several threads, where they can share a transaction of the saver's."""

    def __init__(self) -> None:
        pass

    def execute(self, statement: str, parameters: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        raise NotImplementedError("a store runs its statements in `execute`")

    async def aexecute(self, statement: str, parameters: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        raise NotImplementedError("a store runs its statements in `aexecute`")

    def commit(self, writes: Sequence[Write]) -> list[tuple[bool, Any]]:
        raise NotImplementedError("a store whose claims land with what settles them does so in `commit`")

    async def acommit(self, writes: Sequence[Write]) -> list[tuple[bool, Any]]:
        raise NotImplementedError("a store whose claims land with what settles them does so in `acommit`")

    def is_missing(self, error: BaseException) -> bool:
        """Does the error say that the tables are not there?"""
        return False

    def is_denied(self, error: BaseException) -> bool:
        """Does the error say that the tables may not be made here?"""
        return False

    def _query(self, statement: str, *parameters: Any) -> Steps[list[tuple[Any, ...]]]:
        rows: list[tuple[Any, ...]] = yield Call(self, "execute", (statement, parameters))
        return rows

    def setup(self) -> Steps[None]:
        """Makes the tables, once per store.

        Raises:
            RemitError: the tables are of a newer release, or may not be made.
        """
        if (yield from self.is_set_up()):
            return
        try:
            for statement in self.schema:
                yield from self._query(statement)
        except Exception as e:
            if self.is_denied(e):
                raise refuse("tables-denied", detail=str(e).strip(), sql=";\n".join(self.schema) + ";") from e
            raise
        yield from self.is_set_up()

    def is_set_up(self) -> Steps[bool]:
        """Are the tables there? Makes none.

        Raises:
            RemitError: they are of a newer release.
        """
        if self.is_ready:
            return True
        try:
            rows = yield from self._query(self.select_version)
        except Exception as e:
            if not self.is_missing(e):
                raise
            return False
        if not rows:
            return False
        found = rows[0][0]
        if found > VERSION:
            raise refuse("tables-newer", found=found, known=VERSION)
        self.is_ready = True
        return True

    def check(self) -> None:
        """Checks the saver's connection.

        Raises:
            RemitError: nothing could become durable through it.
        """

    def threads(self) -> Steps[list[str]]:
        """The threads that the saver has checkpoints of."""
        return [row[0] for row in (yield from self._query(self.select_threads))]

    # -- questions -------------------------------------------------------------------------------------------

    def questions(self, after: tuple[str, str], prefix: str, count: int) -> Steps[list[tuple[str, str]]]:
        """Where questions may be open in root graphs, as (checkpoint, thread), oldest first: wherever one was asked at
        a checkpoint that is its line's newest, or on a fork that has no checkpoint yet. From the saver's own rows.
        `after`: those before it, and itself, are left out; `prefix`: of the threads' ids; `count`: how many at most."""
        rows = yield from self._query(self.select_questions, *after, len(prefix), prefix, count)
        return [(checkpoint, thread) for checkpoint, thread in rows]

    def index_of_questions(self) -> Steps[None]:
        """Makes the index that finds questions without reading every row, where that may be made."""
        if not self.index_questions:
            return
        try:
            yield from self._query(self.index_questions)
        except Exception as e:
            if not (self.is_denied(e) or self.is_missing(e)):
                raise

    def asked(self, thread: str, task: str, checkpoint: str) -> Steps[int | None]:
        """When a task asked, by `remit.ask`, what is not answered there: microseconds since 1970. None if it is not
        known."""
        if not (yield from self.is_set_up()):
            return None
        rows = yield from self._query(self.select_asked, thread, task, checkpoint)
        return rows[0][0] if rows else None

    # -- forks -----------------------------------------------------------------------------------------------

    def fork(
        self, thread: str, namespace: str, checkpoint: str, token: str | None, seen: list[str | None]
    ) -> Steps[tuple[int, bool]]:
        """Names a fork: (ordinal, is it fresh). Two that fork at once get two ordinals, one token gets one. `seen`
        are the forks that left rows at the checkpoint, by ordinal, for a store that does not outlive them."""
        yield from self.setup()
        while True:
            rows = yield from self._query(self.select_forks, thread, namespace, checkpoint)
            known: list[str | None] = [row[0] for row in rows]
            for ordinal in range(len(known), len(seen)):
                yield from self._query(self.insert_fork, thread, namespace, checkpoint, ordinal, seen[ordinal])
                known.append(seen[ordinal])
            ordinal, fresh = fork(known, token)
            if not fresh:
                return ordinal, False
            if (yield from self._query(self.insert_fork, thread, namespace, checkpoint, ordinal, token)):
                return ordinal, True

    def find_fork(self, thread: str, namespace: str, token: str) -> Steps[str | None]:
        """The newest checkpoint at which a token named a fork."""
        yield from self.setup()
        rows = yield from self._query(self.select_token, thread, namespace, token)
        return rows[0][0] if rows else None

    def forks(self, thread: str, namespace: str, checkpoint: str) -> Steps[list[str | None]]:
        """The tokens of the forks at a checkpoint, by ordinal."""
        if not (yield from self.is_set_up()):
            return []
        return [row[0] for row in (yield from self._query(self.select_forks, thread, namespace, checkpoint))]

    def forget(self, thread: str) -> Steps[None]:
        """Deletes what is kept of a thread."""
        try:
            yield from self._query(self.delete_forks, thread)
            yield from self._query(self.delete_grants, thread)
            yield from self._query(self.delete_effects, thread)
        except Exception as e:
            if not self.is_missing(e):
                raise

    def copy(self, source: str, target: str, effects: Sequence[Admission]) -> Steps[None]:
        """Copies the forks of a thread; and adds admissions, or brings those up to date that are not settled."""
        if not (yield from self.is_set_up()):
            return
        yield from self._query(self.copy_forks, target, source)
        for a in effects:
            result = a.result if a.result is not None else (None, None)
            row = (a.fence, a.state, a.owner, a.since, a.until, a.settled, a.outcome, a.namespace, a.checkpoint)
            yield from self._query(self.copy_effect, *a.effect, *row, a.fingerprint, *result)

    def prune(self, thread: str) -> Steps[None]:
        """Deletes the effects of tasks that can run no more, and the claims on what is gone: settled, and their
        checkpoint is not there. An answer's id is kept: the answer may come again."""
        try:
            yield from self._query(self.prune_effects, thread)
            yield from self._query(self.prune_grants, thread)
        except Exception as e:
            if not self.is_missing(e):
                raise

    # -- claims ----------------------------------------------------------------------------------------------

    def grant(
        self,
        key: Key,
        fence: int,
        owner: str,
        lease: int,
        interrupts: Sequence[str],
        answer_id: str | None,
        digest: str | None,
    ) -> Steps[int | None]:
        yield from self.setup()
        ids = json.dumps(list(interrupts))
        rows = yield from self._query(self.insert_grant, *key, fence, owner, lease, ids, answer_id, digest)
        return rows[0][0] if rows else None

    def grant_with(
        self,
        key: Key,
        fence: int,
        owner: str,
        lease: int,
        interrupts: Sequence[str],
        answer_id: str | None,
        digest: str | None,
        name: str,
        args: tuple[Any, ...],
    ) -> Steps[bool]:
        yield from self.setup()
        parameters = (*key, fence, owner, lease, json.dumps(list(interrupts)), answer_id, digest)
        granted, _ = yield Land(self, name, args, self.insert_grant, parameters)
        return bool(granted)

    def look(self, key: Key) -> Steps[tuple[Grant | None, Grant | None, int]]:
        if not (yield from self.is_set_up()):
            return None, None, 0
        rows = yield from self._query(self.select_grants, *key, *key[:3])
        grants = [_grant(row) for row in rows]
        last = next((g for g in grants if g.key == key), None)
        return last, next((g for g in grants if g.running), None), rows[0][-1] if rows else 0

    def settle(
        self, key: Key, fence: int, state: str, outcome: str, running: bool, lease_end: int | None = None
    ) -> Steps[bool]:
        parameters = (int(running), outcome, state, *key, fence)
        if lease_end is None:
            return bool((yield from self._query(self.settle_grant, *parameters)))
        return bool((yield from self._query(self.settle_grant_as_seen, *parameters, lease_end)))

    def renew(self, key: Key, fence: int, lease: int) -> Steps[int | None]:
        rows = yield from self._query(self.renew_grant, lease, *key, fence)
        return rows[0][0] if rows else None

    def answered(self, thread: str, answer_id: str) -> Steps[list[Grant]]:
        yield from self.setup()
        return [_grant(row) for row in (yield from self._query(self.select_answered, thread, answer_id))]

    def trail(self, thread: str) -> Steps[list[Grant]]:
        if not (yield from self.is_set_up()):
            return []
        return [_grant(row) for row in (yield from self._query(self.select_trail, thread))]

    def land(
        self, key: Key, fence: int, state: str, outcome: str, running: bool, name: str, args: tuple[Any, ...]
    ) -> Steps[tuple[bool, Any]]:
        parameters = (int(running), outcome, state, *key, fence)
        landed: tuple[bool, Any] = yield Land(self, name, args, self.settle_grant, parameters)
        return landed

    # -- lines -----------------------------------------------------------------------------------------------

    def follow(
        self, plane: tuple[str, str], line: str | None, parent: str | None, checkpoint: str, args: tuple[Any, ...]
    ) -> Steps[tuple[bool, Any]]:
        """Stores a checkpoint through the inner saver, if no run took its line on from the parent meanwhile: (did it,
        the saver's result). An edit of the state (`update_state`) takes nothing on, nor does a fork."""
        where = (*plane, parent or "", parent, line, checkpoint)
        landed: tuple[bool, Any] = yield Land(self, "put", args, self.is_newest, where, plane)
        return landed

    # -- effects ---------------------------------------------------------------------------------------------

    def transaction(self) -> AbstractContextManager[tuple[Any, Store]]:
        """A transaction on the saver's database: the connection, and this store within it. It keeps the connection from
        everybody else, is committed at the end and rolled back if it raises.

        Raises:
            RemitError: there is none.
        """
        raise refuse("bad-transaction", detail="the saver keeps its checkpoints in no database that REMIT knows")

    def atransaction(self) -> AbstractAsyncContextManager[tuple[Any, Store]]:
        """The same, awaiting."""
        raise refuse("bad-transaction", detail="the saver keeps its checkpoints in no database that REMIT knows")

    def admit(
        self,
        effect: Effect,
        fence: int,
        takes_over: bool,
        owner: str,
        lease: int,
        namespace: str,
        checkpoint: str,
        fingerprint: str | None,
        claim: tuple[Key, int] | None,
    ) -> Steps[bool]:
        """Adds the admission of an effect with this number, if it has none and the claim is held; `takes_over`: if the
        one before is not settled. False, and nothing is changed, otherwise."""
        yield from self.setup()
        row = (effect.digest, fence, *effect[:5], namespace, checkpoint, fingerprint, owner, lease)
        prior = (effect.digest, fence - 1) if takes_over else ()
        rows = yield from self._query(
            self.take_effect_over if takes_over else self.insert_effect, *self.ordered(row, (*prior, *_held(claim)))
        )
        return bool(rows)

    def ordered(self, row: tuple[Any, ...], condition: tuple[Any, ...]) -> tuple[Any, ...]:
        """The parameters of an admission, in the order of its statement."""
        return (*row, *condition)

    def last_effect(self, effect: Effect, claim: tuple[Key, int] | None) -> Steps[tuple[Admission, int, bool] | None]:
        """An effect's admission with the highest number, the time, and whether the claim is held (True if there is
        none to hold)."""
        rows = yield from self._query(self.select_effect, *_held(claim), effect.digest)
        return (_admission(rows[0]), rows[0][-2], bool(rows[0][-1])) if rows else None

    def settle_admission(
        self, digest: str, fence: int, state: str, outcome: str, result: tuple[str, bytes] | None
    ) -> Steps[bool]:
        """Settles an effect's last admission. False, and nothing is changed, if it is settled, or not the last."""
        kind, data = result if result is not None else (None, None)
        return bool((yield from self._query(self.settle_effect, state, outcome, kind, data, digest, fence)))

    def give_result(self, digest: str, fence: int, result: tuple[str, bytes]) -> Steps[bool]:
        """Stores the result of an effect that is done without one."""
        return bool((yield from self._query(self.store_result, *result, digest, fence)))

    def effects(self, thread: str) -> Steps[list[Admission]]:
        """A thread's admissions, oldest first."""
        if not (yield from self.is_set_up()):
            return []
        rows = [_admission(row) for row in (yield from self._query(self.select_effects, thread))]
        last = {row.effect.digest: row.fence for row in rows}
        return [
            row._replace(outcome="superseded")
            if row.state == "admitted" and row.fence < last[row.effect.digest]
            else row
            for row in rows
        ]


def _held(claim: tuple[Key, int] | None) -> tuple[Any, ...]:
    """The parameters of the condition that a claim is held, which begins with "or there is none"."""
    if claim is None:
        return (None, *("",) * len(Key._fields), 0)
    return (claim[1], *claim[0], claim[1])


def _admission(row: tuple[Any, ...]) -> Admission:
    """An admission from its row, whose columns are in the order of the fields."""
    number, thread, branch, task, name, key, digest, fence, state, owner, since, until, settled, outcome = row[:14]
    namespace, checkpoint, fingerprint, kind, data = row[14:19]
    effect = Effect(thread, branch, task, name, key, digest)
    result = (kind, bytes(data)) if kind is not None else None
    return Admission(
        number, effect, fence, state, owner, since, until, settled, outcome, namespace, checkpoint, fingerprint, result
    )


def _grant(row: tuple[Any, ...]) -> Grant:
    """A grant from its row, whose columns are in the order of the fields."""
    fence, state, running, owner, since, lease_end, settled, outcome, ids, answer_id, digest = row[5:16]
    interrupts = tuple(json.loads(ids))
    key = Key(*row[:5])
    return Grant(
        key, fence, state, bool(running), owner, since, lease_end, settled, outcome, interrupts, answer_id, digest
    )


_unfinished: set[asyncio.Task[Any]] = set()


async def to_the_end(steps: Coroutine[Any, Any, T]) -> T:
    """Awaits what must not be left halfway: cancelled or closed, the caller goes, and a transaction ends all the same."""
    task = asyncio.ensure_future(steps)
    _unfinished.add(task)
    task.add_done_callback(_finished)
    return await asyncio.shield(task)


def _finished(task: asyncio.Task[Any]) -> None:
    _unfinished.discard(task)
    if not task.cancelled():
        task.exception()  # told to whoever still waits


def is_stock(inner: Any, saver: type, *names: str) -> bool:
    """Is it such a saver, with these methods as its class has them? Others may count on their own lock, or their own
    connection."""
    return isinstance(inner, saver) and all(
        getattr(type(inner), name) is getattr(saver, name) and name not in vars(inner) for name in names
    )


def check_loop(inner: Any) -> None:
    """Checks that a blocking call of an async saver's does not stop the loop that it waits for.

    Raises:
        RemitError: it is called in the loop's thread.
    """
    try:
        here: asyncio.AbstractEventLoop | None = asyncio.get_running_loop()
    except RuntimeError:
        return
    if here is inner.loop:
        raise refuse("sync-on-loop", saver=type(inner).__name__)


def on_its_loop(inner: Any, steps: Coroutine[Any, Any, T]) -> T:
    """Does something of an async saver's from another thread than its loop's, and waits for it.

    Raises:
        RemitError: called in the loop's thread, which could not go on.
    """
    try:
        check_loop(inner)
    except Exception:
        steps.close()
        raise
    return asyncio.run_coroutine_threadsafe(steps, inner.loop).result()
