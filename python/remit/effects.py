"""Effects: outside actions that fire once, whatever crashes and resumes happen.

An effect is admitted in the saver's database before it fires, under a checkpoint that is durable, and what it returned
is recorded when it has. Who may fire is the core's decision (`effect`); the store keeps the admissions (`claims`); here
an effect is told from every other, and verdicts are carried out.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import os
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar, Token
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, ParamSpec, TypeVar, cast, overload

from langchain_core.runnables.config import var_child_runnable_config
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from pydantic import BaseModel

from ._core import Doubt, EffectOwner, EffectVerdict, admit_effect, is_in_doubt, refuse, resolve_effect, settle_effect
from .claims import Admission, Effect, Key, Store
from .drivers import Ask, Do, Steps, adrive, drive, is_async
from .gate import Claim, Gate, _here, _live, _when, owner_of, owner_text
from .intent import Call, enclosing
from .reviving import strictly
from .run import Run
from .turns import is_on_a_loop

if TYPE_CHECKING:
    from .protocol import Protocol
    from .saver import RemitSaver

T = TypeVar("T")
P = ParamSpec("P")
Scope = Literal["task", "thread"]
InDoubt = Literal["raise", "retry"]

_DOUBT = {"raise": Doubt.RAISE, "retry": Doubt.RETRY}
_SAVER = "__pregel_checkpointer"
_DURABILITY = "__pregel_durability"
_MICROSECONDS = 1_000_000

_firing: ContextVar[Effect | None] = ContextVar("remit_effect", default=None)


@overload
def effect(
    effect_id: str,
    fn: Callable[..., T],
    /,
    *args: Any,
    key: str | None = None,
    scope: Scope = "task",
    in_doubt: InDoubt = "raise",
    **kwargs: Any,
) -> T: ...
@overload
def effect(effect_id: str, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any: ...
def effect(
    effect_id: str,
    fn: Callable[..., Any],
    /,
    *args: Any,
    key: str | None = None,
    scope: Scope = "task",
    in_doubt: InDoubt = "raise",
    **kwargs: Any,
) -> Any:
    """Fires an effect once: calls `fn(*args, **kwargs)`, or returns what it returned before.

    To be called in a node, a task, an entrypoint or a tool of a graph whose checkpointer is a `RemitSaver`, from a
    blocking function; in an async one, `await aeffect(...)`.

    Args:
        effect_id: names the effect, as `"charge"`.
        fn: what fires it. What it returns must be something that the saver's serializer can store. If it raises an
            `Exception`, it has not fired; if it is cancelled or killed, nobody knows.
        *args, **kwargs: for `fn`. A changed argument under the same identity is refused.
        key: which effect of that name this is. Without it, the n-th call in one run of the task is the n-th effect
            (in a tool: of the tool call).
        scope: `"task"`: it is the task's, and another task (also one that a new delivery of the same input starts) has
            its own. `"thread"`: the key tells it in all of the thread's branch; it needs a key.
        in_doubt: what becomes of it when it was admitted and its process died before it said whether it fired:
            `"raise"`, or `"retry"`, for what is received by somebody who knows it again by its `effect_key()`.

    Returns:
        What `fn` returned, as the serializer gives it back.

    Raises:
        RemitDuplicateEffect: another caller is firing it, or it was fired with other arguments.
        RemitEffectInDoubt: it may have fired.
        RemitConsumeConflict: the run lost its claim.
        RemitError: it is called wrongly, or where it could not be recorded.
    """
    return _fire(_Wish(effect_id, fn, args, kwargs, key, scope, in_doubt))


@overload
async def aeffect(
    effect_id: str,
    fn: Callable[..., Awaitable[T]],
    /,
    *args: Any,
    key: str | None = None,
    scope: Scope = "task",
    in_doubt: InDoubt = "raise",
    **kwargs: Any,
) -> T: ...
@overload
async def aeffect(
    effect_id: str,
    fn: Callable[..., T],
    /,
    *args: Any,
    key: str | None = None,
    scope: Scope = "task",
    in_doubt: InDoubt = "raise",
    **kwargs: Any,
) -> T: ...
async def aeffect(
    effect_id: str,
    fn: Callable[..., Any],
    /,
    *args: Any,
    key: str | None = None,
    scope: Scope = "task",
    in_doubt: InDoubt = "raise",
    **kwargs: Any,
) -> Any:
    """The same as `effect`, awaiting. `fn` is a coroutine function, or a blocking one, which is called in a thread."""
    return await _afire(_Wish(effect_id, fn, args, kwargs, key, scope, in_doubt))


@overload
def once(fn: Callable[P, T], /) -> Callable[P, T]: ...
@overload
def once(
    *,
    effect_id: str | None = None,
    key: Callable[..., str] | None = None,
    scope: Scope = "task",
    in_doubt: InDoubt = "raise",
) -> Callable[[Callable[P, T]], Callable[P, T]]: ...
def once(
    fn: Callable[..., Any] | None = None,
    /,
    *,
    effect_id: str | None = None,
    key: Callable[..., str] | None = None,
    scope: Scope = "task",
    in_doubt: InDoubt = "raise",
) -> Any:
    """Makes a function an effect: each call of it is `effect(...)`, or `aeffect(...)` if it is a coroutine function.

    Args:
        effect_id: by default the function's qualified name.
        key: makes the key from the call's arguments.
        scope, in_doubt: as of `effect`.
    """

    def decorate(fn: Callable[..., Any]) -> Callable[..., Any]:
        name = effect_id if effect_id is not None else f"{fn.__module__}.{fn.__qualname__}"

        def wish(args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Wish:
            return _Wish(name, fn, args, kwargs, key(*args, **kwargs) if key is not None else None, scope, in_doubt)

        if is_async(fn):

            @functools.wraps(fn)
            async def acall(*args: Any, **kwargs: Any) -> Any:
                return await _afire(wish(args, kwargs))

            return acall

        @functools.wraps(fn)
        def call(*args: Any, **kwargs: Any) -> Any:
            return _fire(wish(args, kwargs))

        return call

    return decorate if fn is None else decorate(fn)


def effect_key(effect_id: str | None = None, *, key: str | None = None, scope: Scope = "task") -> str:
    """The idempotency key of an effect, for APIs that take one: 64 hex digits, the same in every retry and after
    every crash, another on another branch.

    Args:
        effect_id: the effect that the next `effect(effect_id, ...)` here would be, with this key and scope; by default
            the one that is firing.

    Raises:
        RemitError: nothing is firing, or there is no run.
    """
    if effect_id is not None:
        wish = _Wish(effect_id, effect_key, (), {}, key, scope, "raise")
        return _place(wish, peek=True).effect.digest
    firing = _firing.get()
    if firing is None:
        raise refuse("effect-outside", effect="", detail="no effect is being fired here")
    return firing.digest


class Transaction:
    """A transaction on the saver's own database, in a running node: effects in it commit with their record, so that
    they are never in doubt. See `RemitSaver.transaction`."""

    def __init__(self, saver: RemitSaver) -> None:
        self.saver = saver
        self.store: Store | None = None
        self.has_failed = False
        self._context: Any = None
        self._outer: Token[Transaction | None] | None = None

    def __enter__(self) -> Any:
        drive(self.saver.inner, self._prepare())
        self._context = self.saver.effects_of_run.store.transaction()
        return self._entered(self._context.__enter__())

    def __exit__(self, *raised: Any) -> bool:
        error, raised = self._left(raised)
        closed = bool(self._context.__exit__(*raised))
        if error is not None:
            raise error
        return closed

    async def __aenter__(self) -> Any:
        await adrive(self.saver.inner, self._prepare())
        self._context = self.saver.effects_of_run.store.atransaction()
        return self._entered(await self._context.__aenter__())

    async def __aexit__(self, *raised: Any) -> bool:
        error, raised = self._left(raised)
        closed = bool(await self._context.__aexit__(*raised))
        if error is not None:
            raise error
        return closed

    def _prepare(self) -> Steps[None]:
        """Waits for what could not be stored while the transaction is open."""
        if _transaction.get() is not None:
            raise refuse("bad-transaction", detail="another one is open here")
        wish = _Wish("transaction", type(self), (), {}, None, "task", "raise")
        yield from self.saver.effects_of_run.prepare(wish, _place(wish, peek=True))

    def _entered(self, opened: tuple[Any, Store]) -> Any:
        connection, self.store = opened
        self._outer = _transaction.set(self)
        return connection

    def _left(self, raised: tuple[Any, ...]) -> tuple[Exception | None, tuple[Any, ...]]:
        """What is to be raised after the end, and what the transaction is told."""
        if self._outer is not None:
            _transaction.reset(self._outer)
        if not self.has_failed or raised[0] is not None:
            return None, raised
        error = refuse("bad-transaction", detail="an effect in it failed, so that it was rolled back")
        return error, (type(error), error, None)


_transaction: ContextVar[Transaction | None] = ContextVar("remit_transaction", default=None)


class _Wish(NamedTuple):
    """What a caller wants to fire."""

    name: str
    fn: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    key: str | None
    scope: str
    in_doubt: str


class Place(NamedTuple):
    """Where an effect fires. `needs`: the checkpoints, with their runs, that make its task's id what it is."""

    saver: RemitSaver
    effect: Effect
    run: Run
    checkpoint: str
    needs: list[tuple[Run, str]]
    is_exit: bool


def _fire(wish: _Wish) -> Any:
    place = _place(wish)
    if place.run.is_async and is_on_a_loop():
        raise refuse("effect-on-loop", effect=wish.name)
    if is_async(wish.fn):
        raise refuse("bad-effect", effect=wish.name, detail="fn is a coroutine function, which aeffect awaits")
    return drive(place.saver.inner, place.saver.effects_of_run.fire(wish, place))


async def _afire(wish: _Wish) -> Any:
    place = _place(wish)
    return await adrive(place.saver.inner, place.saver.effects_of_run.fire(wish, place))


def _place(wish: _Wish, peek: bool = False) -> Place:
    """Where the caller is. `peek`: nothing is counted."""
    if wish.name == _ASK and wish.fn is not place_of_question:
        raise refuse("bad-effect", effect=wish.name, detail="the name is taken")
    for what, text in (("effect_id", wish.name), ("key", wish.key)):
        if not (text is None and what == "key") and not _is_storable(text):
            raise refuse("bad-effect", effect=str(wish.name)[:80], detail=f"{what} {text!r:.80} is not a stored text")
    if wish.scope not in ("task", "thread") or wish.in_doubt not in _DOUBT:
        raise refuse("bad-effect", effect=wish.name, detail=f"scope={wish.scope!r}, in_doubt={wish.in_doubt!r}")
    if wish.scope == "thread" and wish.key is None:
        raise refuse("bad-effect", effect=wish.name, detail="thread scope without a key")
    conf: Mapping[str, Any] = (var_child_runnable_config.get() or {}).get("configurable") or {}
    if "__pregel_task_id" not in conf:
        raise refuse("effect-outside", effect=wish.name, detail="there is no running task here")
    saver = conf.get(_SAVER)
    if not hasattr(saver, "effects_of_run"):
        raise refuse("effect-no-saver", effect=wish.name, given=type(saver).__name__ if saver is not None else "none")
    thread = str(conf["thread_id"])
    found = enclosing(thread)
    if found is None:
        raise refuse("effect-outside", effect=wish.name, detail="its run is not known (its context was not passed on)")
    runs, call = found
    stored = conf["checkpoint_map"]
    run = runs[0]
    branch = run.lineage or ""
    task = "" if wish.scope == "thread" else _task(conf["checkpoint_ns"], stored, run.namespace)
    key = f"={wish.key}" if wish.key is not None else _occurrence(call, wish.name, peek)
    effect = Effect(thread, branch, task, wish.name, key, _digest_of(thread, branch, task, wish.name, key))
    needs = [(r, stored[r.namespace]) for r in runs if r.namespace in stored]
    return Place(cast("RemitSaver", saver), effect, run, stored[run.namespace], needs, conf.get(_DURABILITY) == "exit")


_ASK = "remit.ask"


def place_of_question() -> Place:
    """Where the caller asks. (A fork asks what its line asked, so a question is no branch's.)"""
    place = _place(_Wish(_ASK, place_of_question, (), {}, None, "task", "raise"))
    return place._replace(effect=place.effect._replace(branch=""))


def question(asked: Effect, turn: int) -> Effect:
    """What is kept of a question that is asked for the n-th time, since what it shows changed."""
    key = f"{asked.key}.{turn}"
    return asked._replace(key=key, digest=_digest_of(asked.thread, "", asked.task, asked.name, key))


def is_asked(admission: Admission) -> bool:
    """Is it a question, and no effect?"""
    return admission.effect.name == _ASK


def _is_storable(text: Any) -> bool:
    if not isinstance(text, str) or not text or "\0" in text:
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _task(namespace: str, stored: Mapping[str, str], above: str) -> str:
    """The id of the task of the run in the namespace `above` in which the caller is. A graph below that stores nothing
    has no ids that outlive it; a task of the functional API that is called by another one has."""
    prefix, task = above, ""
    for part in (namespace[len(above) + 1 :] if above else namespace).split("|"):
        prefix = f"{prefix}|{part}" if prefix else part
        task = part.rpartition(":")[2]
        if stored.get(prefix) != stored[above]:
            break
    return task


def _occurrence(call: Call, name: str, peek: bool) -> str:
    return f"{call.tool or ''}#{call.count(name, peek)}"


def _digest_of(*parts: str) -> str:
    return blake2b(json.dumps(parts).encode(), digest_size=32).hexdigest()


def fingerprint(value: Any) -> bytes:
    """A digest of a value that the serializer can store: the same for equal values, in every process.

    Raises:
        Exception: it cannot be stored.
    """
    if isinstance(value, dict):
        parts = [b"dict", *sorted(fingerprint(k) + fingerprint(v) for k, v in value.items())]
    elif isinstance(value, set | frozenset):
        parts = [b"set", *sorted(map(fingerprint, value))]
    elif isinstance(value, list | tuple):
        parts = [b"list", *map(fingerprint, value)]
    elif isinstance(value, BaseModel):
        parts = [_name_of(value), fingerprint(dict(value))]
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
        parts = [_name_of(value), fingerprint(fields)]
    else:
        kind, data = _serde.dumps_typed(value)
        parts = [b"value", kind.encode(), data]
    digest = blake2b(digest_size=16)
    for part in parts:
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.digest()


def _name_of(value: Any) -> bytes:
    return f"{type(value).__module__}.{type(value).__qualname__}".encode()


_serde = JsonPlusSerializer()
"""For fingerprints: the saver's own may encrypt, and then makes two texts of one value."""


class Effects:
    """The effects of one wrapped saver. `serde` is the serializer of the wrapper that is called, a clone perhaps."""

    def __init__(self, protocol: Protocol, serde: Any, saver: str) -> None:
        self._protocol = protocol
        open = _transaction.get()
        self._open = open if open is not None and open.saver._protocol is protocol else None
        self.store = protocol.store
        self._store: Store = self._open.store if self._open is not None and self._open.store is not None else self.store
        self._gate: Gate = protocol.gate
        self._lease = int(protocol.config.claim_lease * _MICROSECONDS)
        self._serde = serde
        self._saver = saver

    @property
    def is_kept(self) -> bool:
        """Is there a place for what is recorded?"""
        return self._protocol.has_store

    # -- firing ----------------------------------------------------------------------------------------------

    def fire(self, wish: _Wish, place: Place) -> Steps[Any]:
        """Fires an effect, or gives back what it returned."""
        digest = self._fingerprint(wish)
        if self._open is None:
            yield from self.prepare(wish, place)
        effect, run_id = place.effect, os.urandom(8).hex()
        owner = owner_text(run_id)
        _live.add(run_id)
        try:
            admitted = yield from self._admit(effect, place, owner, digest, _DOUBT[wish.in_doubt])
            if isinstance(admitted, Admission):
                return self._result(admitted)
            outer = _firing.set(effect)
            try:
                returned = yield Do(wish.fn, wish.args, wish.kwargs)
            except Exception:
                if self._open is not None:
                    self._open.has_failed = True
                else:
                    yield from self._settle(effect, admitted, owner, False, "raised", None)
                raise
            finally:
                _firing.reset(outer)
            result, error = self._stored(returned)
            yield from self._settle(effect, admitted, owner, True, "returned", result)
            if result is None:
                if self._open is not None:
                    self._open.has_failed = True
                number = yield from self._number(effect)
                detail = f"{type(returned).__name__} cannot be stored: {error}"
                raise refuse(
                    "effect-result", effect=effect.name, thread=effect.thread, index=number, detail=detail
                ) from error
            return self._serde.loads_typed(result)
        finally:
            _live.discard(run_id)

    def prepare(self, wish: _Wish, place: Place) -> Steps[None]:
        """Sees to it that an effect may be admitted."""
        if not self._protocol.has_store:
            raise refuse("effect-no-store", effect=wish.name, given=self._saver)
        yield from self.store.setup()
        if wish.scope == "task":
            yield from self._make_sure(wish, place)

    def _fingerprint(self, wish: _Wish) -> str | None:
        try:
            return fingerprint((wish.args, wish.kwargs)).hex()
        except Exception as e:
            if wish.key is not None:
                return None
            raise refuse(
                "effect-arguments", effect=wish.name, detail=str(e).splitlines()[0] if str(e) else repr(e)
            ) from e

    def _make_sure(self, wish: _Wish, place: Place) -> Steps[None]:
        """Nothing fires before the checkpoints are durable that its task will be known again by."""
        for run, checkpoint in place.needs:
            if checkpoint in (run.checkpoint, run.landed):
                continue
            if place.is_exit:
                raise refuse("effect-not-durable", effect=wish.name, thread=run.thread, namespace=run.namespace)
            if not (yield from self._protocol.is_durable(run, checkpoint)):
                where = {"thread": run.thread, "namespace": run.namespace, "checkpoint": checkpoint}
                raise refuse("effect-not-stored", effect=wish.name, **where)

    def _admit(
        self, effect: Effect, place: Place, owner: str, digest: str | None, doubt: Doubt
    ) -> Steps[int | Admission]:
        """The caller's admission, or what was recorded.

        Raises:
            RemitDuplicateEffect, RemitEffectInDoubt, RemitConsumeConflict: as of `effect`.
        """
        claim = yield from self._claim(place.run)
        last: Admission | None = None
        now, holds = 0, True
        while True:
            row = None if last is None else (last.state, last.fence, last.until)
            same = last is None or last.fingerprint is None or digest is None or last.fingerprint == digest
            who = _standing(last) if last is not None else EffectOwner.GONE
            fence, verdict = admit_effect(
                row, now=now, lease=self._lease, holds=holds, same=same, owner=who, doubt=doubt
            )
            if verdict == EffectVerdict.FENCED and place.run.claim is not None:
                raise (yield from self._gate.lost(place.run.claim))
            if verdict == EffectVerdict.FRESH:
                over = last is not None and last.state == "admitted"
                where = (place.run.namespace, place.checkpoint)
                if (yield from self._store.admit(effect, fence, over, owner, self._lease, *where, digest, claim)):
                    return fence
            elif verdict == EffectVerdict.REPLAY and last is not None:
                return last
            elif last is not None:
                raise _refusal(verdict, last)
            found = yield from self._store.last_effect(effect, claim)
            if found is not None:
                last, now, holds = found
                if last.owner == owner:  # the statement was repeated after its connection was lost
                    return last.fence
            else:  # no such effect yet, so it was not admitted because the claim is another's
                last, holds = None, claim is None

    def _claim(self, run: Run) -> Steps[tuple[Key, int] | None]:
        """The claim that the caller must hold, None if it need not, or that was seen to: where it is kept elsewhere than
        the effects, that is no single step with the admission."""
        claim: Claim | None = run.claim
        if claim is None or claim.is_settled:
            return None
        if claim.claims is self.store:
            return claim.key, claim.fence
        if (yield from claim.claims.renew(claim.key, claim.fence, claim.lease)) is None:
            raise (yield from self._gate.lost(claim))
        return None

    def _settle(
        self, effect: Effect, fence: int, owner: str, fired: bool, outcome: str, result: tuple[str, bytes] | None
    ) -> Steps[None]:
        state, _ = settle_effect(("admitted", fence, 0), fence, fired)
        if (yield from self._store.settle_admission(effect.digest, fence, state, outcome, result)):
            return
        found = yield from self._store.last_effect(effect, None)
        if found is None or (found[0].owner, found[0].state) == (owner, state):
            return  # the thread was deleted, or the statement was repeated after its connection was lost
        if fired:
            raise refuse("effect-superseded", effect=effect.name, thread=effect.thread)

    def _stored(self, returned: Any) -> tuple[tuple[str, bytes] | None, Exception | None]:
        try:
            kind, data = self._serde.dumps_typed(returned)
        except Exception as e:
            return None, e
        return (kind, bytes(data)), None

    def _number(self, effect: Effect) -> Steps[int]:
        found = yield from self._store.last_effect(effect, None)
        return found[0].id if found is not None else 0

    def _result(self, done: Admission) -> Any:
        detail = "its result was not stored"
        if done.result is not None:
            with strictly(self._protocol.config.strict_types) as lost:
                result = self._serde.loads_typed(done.result)
            if not lost:
                return result
            detail = f"its result holds a {lost[0].type} that could not be rebuilt: {lost[0].reason}"
        raise refuse("effect-result", effect=done.effect.name, thread=done.effect.thread, index=done.id, detail=detail)

    # -- for people ------------------------------------------------------------------------------------------

    def history(self, thread: str) -> Steps[list[Admission]]:
        """A thread's admissions, oldest first."""
        return [a for a in (yield from self._store.effects(thread)) if not is_asked(a)]

    def copy_thread(self, source: str, target: str) -> Steps[None]:
        """Copies a thread, with its forks and effects. These are there before the copy, which could fire them again
        otherwise; and brought up to date when it is made, if the source fires meanwhile."""
        yield from self._copy(source, target)
        yield Ask("copy_thread", (source, target))
        yield from self._copy(source, target)

    def _copy(self, source: str, target: str) -> Steps[None]:
        copies = []
        for a in (yield from self._store.effects(source)):
            _, branch, task, name, key, _ = a.effect
            effect = Effect(target, branch, task, name, key, _digest_of(target, branch, task, name, key))
            copies.append(a._replace(effect=effect))
        yield from self._store.copy(source, target, copies)

    def resolve(self, thread: str, number: int, fired: bool, result: Any) -> Steps[Admission]:
        """A person says what became of an effect in doubt, or what one returned whose result could not be stored.

        Raises:
            RemitError: it is not in doubt, or the result cannot be stored.
        """
        stored, error = self._stored(result)
        if stored is None:
            raise refuse("effect-unresolvable", index=number, thread=thread, detail=f"the result: {error}") from error
        admission = next((a for a in (yield from self._store.effects(thread)) if a.id == number), None)
        if admission is None:
            raise refuse("effect-unresolvable", index=number, thread=thread, detail="there is no such effect")
        effect, fence = admission.effect, admission.fence
        found = yield from self._store.last_effect(effect, None)
        if found is not None and found[0].fence == fence:
            last, now, _ = found
            row, who = (last.state, last.fence, last.until), _standing(last)
            state, verdict = resolve_effect(row, fence, now=now, owner=who, fired=fired)
            settled = False
            if verdict == EffectVerdict.ACCEPTED:
                outcome, given = ("resolved", stored) if fired else ("resolved", None)
                settled = yield from self._store.settle_admission(effect.digest, fence, state, outcome, given)
            elif fired and last.state == "done" and last.result is None:
                settled = yield from self._store.give_result(effect.digest, fence, stored)
            found = yield from self._store.last_effect(effect, None)
            if settled and found is not None:
                return found[0]
            if verdict == EffectVerdict.RACER:
                detail = f"{owner_of(last)} is firing it, or was seen less than a lease ago"
                raise refuse("effect-unresolvable", index=number, thread=thread, detail=detail)
        raise refuse("effect-unresolvable", index=number, thread=thread, detail=f"it is {admission.state}")


def in_doubt(admission: Admission, now: int) -> bool:
    """Is an effect in doubt, whose last admission this is? `now`: microseconds since 1970."""
    row = (admission.state, admission.fence, admission.until)
    return is_in_doubt(row, now=now, owner=_standing(admission))


def _standing(admission: Admission) -> EffectOwner:
    """What is known of an owner: of a process elsewhere, nothing."""
    who = owner_of(admission)
    if who.is_dead:
        return EffectOwner.GONE
    here = _here()
    return EffectOwner.ALIVE if who.boot and (who.boot, who.pids) == (here.boot, here.pids) else EffectOwner.UNKNOWN


_CODES = {
    EffectVerdict.RACER: "effect-duplicate",
    EffectVerdict.IN_DOUBT: "effect-in-doubt",
    EffectVerdict.MISMATCH: "effect-mismatch",
}


def _refusal(verdict: EffectVerdict, last: Admission) -> Exception:
    return refuse(
        _CODES[verdict],
        effect=last.effect.name,
        index=last.id,
        thread=last.effect.thread,
        namespace=last.namespace,
        checkpoint=last.checkpoint,
        key=last.effect.key,
        state=last.state,
        owner=owner_of(last),
        since=_when(last.since),
        fingerprint=last.fingerprint,
    )
