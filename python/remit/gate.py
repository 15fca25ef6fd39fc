"""The consume gate: of the runs that would answer the same questions, one does, across threads, processes and hosts.

A claim is on a checkpoint, the newest of its line, and the questions that are open there together. A run takes it
when it reads, before anything runs; its fate settles it: what the run took the thread on from is consumed, anything
else is given back. Until it ends, the run has its line to itself. Who may have a claim is the core's decision
(`claim`); a store keeps the grants (`claims`); here runs are followed and verdicts carried out.
"""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import os
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timezone
from functools import cache, partial
from hashlib import blake2b
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Any, NamedTuple
from weakref import finalize

from langgraph.checkpoint.base import CheckpointTuple
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from ._core import ClaimInput, ClaimVerdict, Fate, Intent, decide, fate_of, is_over, is_present, refuse, word
from .claims import Admission, Claims, Grant, Key
from .config import RemitConfig
from .drivers import Ask, Keep, Pause, Steps, adrive, drive
from .intent import current_call
from .rows import INTERRUPT, Loaded, triggers
from .run import Run

log = logging.getLogger("remit")

GATE = "cross_process_gate"
ANSWER_ID = "remit_answer_id"
BRANCH = "remit_branch"
_MICROSECONDS = 1_000_000
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.01, 0.25
_BEATS_PER_LEASE = 4
_LOOK_S = 0.05


_clock: Callable[[], float] = (
    partial(time.clock_gettime, time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic
)
"""Seconds that pass also while the process, or the machine, is stopped."""


class Owner(NamedTuple):
    """Whose run holds a claim. A process is told by its host and that one's boot, its space of process ids, its id and
    its start: ids are reused, and mean nothing in another space; a machine that was cloned shares its boot."""

    host: str
    boot: str
    pids: str
    pid: int
    start: str
    run: str

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}"

    @property
    def is_dead(self) -> bool:
        """Is it known that the run is over? Of a process elsewhere nothing is known."""
        if (self.host, self.boot, self.pids) != _here()[:3] or not self.boot:
            return False
        if (self.pid, self.start) == (os.getpid(), _here().start):
            if self.run in _unfollowed:
                gc.collect()
            return self.run not in _live
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        except PermissionError:
            pass
        start = _start_of(self.pid)
        return start is not None and start != self.start


_live: set[str] = set()
"""The runs of this process that hold a claim."""
_unfollowed: set[str] = set()
"""Those whose end nobody tells: they are over when nothing refers to them, which only the collector finds out, since
LangGraph's loops refer to themselves."""


@cache
def _here() -> Owner:
    """This process, without a run."""
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            boot = file.read().strip()
        pids = os.readlink("/proc/self/ns/pid")
    except OSError:  # not a Linux: a dead process's claim waits for its lease
        boot = pids = ""
    return Owner(platform.node(), boot, pids, os.getpid(), _start_of(os.getpid()) or "", "")


@cache
def _here_as_text() -> str:
    return json.dumps(_here()._asdict(), separators=(",", ":")).removesuffix('""}')


def owner_text(run: str) -> str:
    """A run of this process, as a grant and an admission keep it."""
    return f'{_here_as_text()}"{run}"}}'


def _start_of(pid: int) -> str | None:
    """When a process started, in its kernel's ticks; "dead" for one that only waits for its parent; None if that is
    not to be read."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return None
    return "dead" if fields[0] in "ZX" else fields[19]


class Done(NamedTuple):
    """How a task of a checkpoint came out: the identity of what it asks, if it parked."""

    asks: str | None
    failed: bool
    parked: bool


class Claim:
    """A claim that a run of this process holds.

    Attributes:
        questions: the identities of the questions that it is on, by task.
        sure_until: by this process's clock: until then nobody else can have it.
        at: the checkpoint where its run stands.
        tasks: how many tasks are to run there, 0 if it is not known.
        done: those that are done and have it stored, there and at checkpoints that are yet to be stored.
        is_consumed: the thread was taken on from what it is on; its run still executes.
        is_settled: its run's end is recorded.
        answer, has_answer: what is to be stored with the first grant, and was.
        inner, loop: what the claim is kept alive through; `loop` is None in a blocking run.
    """

    __slots__ = (
        "__weakref__",
        "answer",
        "at",
        "beat",
        "claims",
        "done",
        "fence",
        "has_answer",
        "has_ended",
        "inner",
        "interrupts",
        "is_consumed",
        "is_settled",
        "key",
        "lease",
        "loop",
        "owner",
        "pid",
        "questions",
        "run_id",
        "sure_until",
        "tasks",
    )

    def __init__(self, key: Key, questions: dict[str, str], claims: Claims, lease: float) -> None:
        self.key = key
        self.questions = questions
        self.claims = claims
        self.lease = int(lease * _MICROSECONDS)
        self.pid = os.getpid()
        self.run_id = os.urandom(8).hex()
        self.owner = owner_text(self.run_id)
        self.fence = 0
        self.sure_until = 0.0
        self.interrupts: tuple[str, ...] = ()
        self.at = key.checkpoint
        self.tasks = 0
        self.done: dict[str, dict[str, Done]] = {}
        self.is_consumed = self.is_settled = self.has_ended = self.has_answer = False
        self.answer: tuple[Any, ...] | None = None
        self.inner: Any = None
        self.loop: asyncio.AbstractEventLoop | None = None
        self.beat: asyncio.TimerHandle | None = None

    @property
    def is_sure(self) -> bool:
        """Can nobody else have it now? Costs no look."""
        return _clock() < self.sure_until

    @property
    def fate(self) -> Fate:
        """How its run ended, if it has ended by now."""
        return self._fate(self.done.get(self.at, {}))

    def _fate(self, done: Mapping[str, Done]) -> Fate:
        return fate_of(self._outcomes(done))

    def _outcomes(self, done: Mapping[str, Done]) -> list[tuple[bool, bool, bool]]:
        own = self.questions
        return [(task in own and d.asks != own[task], d.failed, d.parked) for task, d in done.items()]

    def settles(self, fate: Fate) -> tuple[str, str]:
        """The state and the outcome of the grant after this fate."""
        return _settled(self.owner, self.fence, word(self.owner, self.fence, fate))

    def note(self, checkpoint: str, task: str, done: Done) -> None:
        """A task's outcome at a checkpoint is stored."""
        self.done.setdefault(checkpoint, {})[task] = done

    def stand_at(self, checkpoint: Mapping[str, Any]) -> None:
        """Its run stands at a checkpoint now, which is stored."""
        self.at, self.tasks = checkpoint["id"], _tasks_of(checkpoint)
        self.done = {at: done for at, done in list(self.done.items()) if at >= self.at}  # others note meanwhile

    def last_word(self, checkpoint: str, task: str, done: Done) -> Fate | None:
        """What became of the claim, if this task is its run's last one and no checkpoint will follow."""
        if checkpoint != self.at:
            return None
        all = {**self.done.get(checkpoint, {}), task: done}
        return self._fate(all) if is_over(self.tasks, self._outcomes(all)) else None

    def ends_at(self, checkpoint: Mapping[str, Any]) -> bool:
        """Is a checkpoint that is about to be stored the last thing that its run stores? What its tasks did may have
        been stored before it."""
        return is_over(_tasks_of(checkpoint), self._outcomes(self.done.get(checkpoint["id"], {})))

    def end(self) -> None:
        """Its run has ended: settles it."""
        if self._is_over() and self.loop is None:
            _settle_now(self)

    def vanish(self) -> None:
        """Its run is gone, and nobody said so: settles it elsewhere."""
        if self._is_over() and self.loop is None:
            _heart.bury(self)

    def _is_over(self) -> bool:
        """Marks its end, if there is something left to settle. That of a run on a loop is settled there."""
        if self.is_settled or self.has_ended or self.pid != os.getpid():
            return False
        self.has_ended = True
        _live.discard(self.run_id)
        _unfollowed.discard(self.run_id)
        if self.loop is not None and not self.loop.is_closed():
            if asyncio._get_running_loop() is self.loop:
                _settle_soon(self)
            else:
                self.loop.call_soon_threadsafe(_settle_soon, self)
        return True


def _tasks_of(checkpoint: Mapping[str, Any]) -> int:
    """How many tasks a checkpoint triggers, 0 if that is not known."""
    return triggers(checkpoint["channel_values"])


def _settled(owner: str, fence: int, input: ClaimInput) -> tuple[str, str]:
    (state, *_), _ = decide(("held", owner, fence, 0), input, 0)
    return state, "consumed" if input.what == "consume" else input.what


class Gate:
    """The gate of one wrapped saver. `claims` are where they outlive this process, `local` are in its memory."""

    def __init__(self, config: RemitConfig, claims: Claims | None, local: Claims, saver: str) -> None:
        self._config = config
        self._claims = claims
        self._local = local
        self._saver = saver
        if config.cross_process_gate and claims is None:
            raise refuse("gate-no-store", given=saver)

    def is_on(self, conf: Mapping[str, Any]) -> bool:
        """Is a call gated?

        Raises:
            RemitError: `cross_process_gate` is wrong, or there is no place for claims.
        """
        wanted = conf.get(GATE)
        if wanted is None:
            return self._config.cross_process_gate
        if not isinstance(wanted, bool):
            raise refuse("bad-gate", given=repr(wanted)[:80], thread=str(conf["thread_id"]))
        if wanted and self._claims is None:
            raise refuse("gate-no-store", given=self._saver, thread=str(conf["thread_id"]))
        return wanted

    def claims_of(self, conf: Mapping[str, Any]) -> Claims | None:
        """Where the claims of a call are kept, None if it needs none. An answer's id alone is known in this process.

        Raises:
            RemitError: an option in `configurable` is wrong.
        """
        answer_id = conf.get(ANSWER_ID)
        if answer_id is not None and not (isinstance(answer_id, str) and answer_id and answer_id.isprintable()):
            raise refuse("bad-answer-id", given=repr(answer_id)[:80], thread=str(conf["thread_id"]))
        return self._claims if self.is_on(conf) else self._local if answer_id is not None else None

    # -- taking a claim --------------------------------------------------------------------------------------

    def enter(
        self,
        run: Run,
        conf: Mapping[str, Any],
        tup: CheckpointTuple | None,
        loaded: Loaded,
        answer: tuple[Any, ...] | None = None,
    ) -> Steps[bool]:
        """A run is about to execute from what it read, and takes the claim on it. False: others may have taken the
        thread on meanwhile, so it is to be read again. `answer`: the arguments with which its answer is to be stored,
        which is done with the grant, where that can be; then `claim.has_answer`.

        Raises:
            RemitConsumeConflict: another run executes there, or has answered.
            RemitStrayResume: the answer was delivered before.
        """
        claims = self.claims_of(conf)
        if claims is None or run.is_nameless:
            return True
        key, questions = _key(run, tup, loaded)
        held = run.claim
        if held is not None:
            if held.key == key:
                return True
            # it is on what is the thread's past: whoever took that on did not live to say so
            run.claim = None
            yield from self._settle(held, Fate.PUT)
            run.beaten = True
        if run.beaten and run.answer is not None and not run.answer[0] and loaded.open:
            raise _conflict("conflict-consumed", key, loaded, None)
        answer_id = conf.get(ANSWER_ID) if run.answer is not None else None
        digest = None
        if answer_id is not None and run.answer is not None:
            digest = _digest(run.thread, answer_id, run.answer[1])
            yield from self._is_new(claims, key, answer_id, digest)
        claim = Claim(key, questions, claims, self._config.claim_lease)
        claim.interrupts = tuple(sorted(loaded.interrupts))
        if current_call() is None:
            _unfollowed.add(claim.run_id)
        if tup is not None:
            claim.tasks = _tasks_of(tup.checkpoint)
            if not conf.get("checkpoint_id"):  # else 1.2.9 runs again what had finished
                claim.tasks = max(claim.tasks - len(loaded.finished), 0)
        present = partial(
            is_present,
            is_new=tup is None,
            asks=bool(loaded.open),
            tasks=claim.tasks,
            is_untouched=tup is None or _is_untouched(tup),
        )
        if present(1) and claims.lands_together:
            claim.answer = answer
        taken = yield from self._take(claim, loaded, answer_id, digest)
        if not isinstance(taken, Claim):
            if run.beaten and run.answer is None and not _serves(loaded):
                return True  # it is the thread's present all the same: what followed it was deleted
            if run.beaten or (run.answer is not None and self._config.on_conflict == "raise"):
                raise _conflict("conflict-consumed", key, loaded, taken)
            run.beaten = True
            return False
        run.claim = claim
        finalize(run, claim.vanish).atexit = False
        yield Keep(self, claim)
        return present(claim.fence)

    def _take(
        self, claim: Claim, loaded: Loaded, answer_id: str | None, digest: str | None
    ) -> Steps[Claim | Grant | None]:
        """Acquires a claim, as the core decides. Where it was consumed: by whom."""
        pause, patience = _FIRST_PAUSE_S, _clock() + self._config.conflict_timeout
        last: Grant | None = None
        running: Grant | None = None
        now, before = 0, _clock()
        _live.add(claim.run_id)
        try:
            while True:
                row = None if last is None else (last.state, last.owner, last.fence, last.lease_end)
                (_, _, fence, _), verdict = decide(row, ClaimInput.acquire(claim.owner, claim.lease), now)
                if running is None and verdict == ClaimVerdict.GRANTED:
                    before = _clock()
                    row_of_grant = (claim.key, fence, claim.owner, claim.lease, claim.interrupts, answer_id, digest)
                    try:
                        if fence == 1 and claim.answer is not None:
                            granted = yield from claim.claims.grant_with(*row_of_grant, "put_writes", claim.answer)
                            claim.has_answer = granted
                        else:
                            granted = (yield from claim.claims.grant(*row_of_grant)) is not None
                    except (Exception, KeyboardInterrupt, asyncio.CancelledError):
                        with suppress(Exception):  # it may have been granted all the same
                            yield from claim.claims.settle(claim.key, fence, "free", "abandoned", False)
                        raise
                    if granted:
                        claim.fence, claim.sure_until = fence, before + claim.lease / _MICROSECONDS
                        return claim
                elif running is not None and running.owner == claim.owner:  # the answer to the grant was lost
                    claim.fence, claim.sure_until = running.fence, before + claim.lease / _MICROSECONDS
                    return claim
                elif verdict == ClaimVerdict.ALREADY_CONSUMED and (running is None or running.key == claim.key):
                    return last
                elif running is not None and (outcome := _ending(running, now)) is not None:
                    # if it just gave a sign of life, nothing is changed
                    yield from claim.claims.settle(running.key, running.fence, *outcome, False, running.lease_end)
                elif (self._config.on_conflict == "raise" or _clock() + pause >= patience) and not (
                    pause < _LONGEST_PAUSE_S and running is not None and owner_of(running).run in _unfollowed
                ):  # (what refers to a run that nobody ends may be a thread that is just about to let go)
                    raise _conflict("conflict-held", claim.key, loaded, running or last)
                else:
                    yield Pause(pause)
                    pause = min(pause * 2, _LONGEST_PAUSE_S)
                last, running, now = yield from claim.claims.look(claim.key)
        finally:
            if claim.fence == 0:
                _live.discard(claim.run_id)
                _unfollowed.discard(claim.run_id)

    def _is_new(self, claims: Claims, key: Key, answer_id: str, digest: str) -> Steps[None]:
        """An answer's id names one answer, which is delivered once."""
        where = {"thread": key.thread, "namespace": key.namespace, "checkpoint": key.checkpoint}
        for grant in (yield from claims.answered(key.thread, answer_id)):
            if grant.digest != digest:
                raise refuse("answer-id-reused", answer_id=answer_id, **where)
            if grant.state == "consumed":
                raise refuse("answer-delivered", answer_id=answer_id, named="none", open="unknown", **where)

    # -- while a run holds it --------------------------------------------------------------------------------

    def check(self, claim: Claim) -> Steps[None]:
        """A run is about to store something: does it still have its claim?

        Raises:
            RemitConsumeConflict: it does not.
        """
        if claim.is_settled or claim.is_sure:
            return
        before = _clock()
        if (yield from claim.claims.renew(claim.key, claim.fence, claim.lease)) is None:
            raise (yield from self.lost(claim))
        claim.sure_until = before + claim.lease / _MICROSECONDS

    def land(self, claim: Claim, fate: Fate, ends: bool, name: str, args: tuple[Any, ...]) -> Steps[Any]:
        """Stores what settles a claim, and settles it: together where the store can. `ends`: its run stores nothing
        after this.

        Raises:
            RemitConsumeConflict: somebody else has the claim; nothing is stored.
        """
        if claim.is_settled:
            return (yield Ask(name, args))
        if claim.is_consumed and not ends:
            yield from self.check(claim)
            return (yield Ask(name, args))
        state, outcome = claim.settles(fate)
        where = (claim.key, claim.fence, state, outcome, not ends)
        if claim.claims.lands_together:
            landed, result = yield from claim.claims.land(*where, name, args)
            if not landed:
                raise (yield from self.lost(claim))
        else:
            if (yield from claim.claims.renew(claim.key, claim.fence, claim.lease)) is None:
                raise (yield from self.lost(claim))
            result = yield Ask(name, args)
            yield from claim.claims.settle(*where)
        claim.is_consumed = state == "consumed"
        if ends:
            _let_go(claim)
        return result

    def lost(self, claim: Claim) -> Steps[Exception]:
        """A run's claim is another's: what the run is told."""
        _forget(claim)
        last, running, _ = yield from claim.claims.look(claim.key)
        return _conflict("conflict-fenced", claim.key, None, running or last, claim.interrupts)

    def _settle(self, claim: Claim, fate: Fate) -> Steps[None]:
        yield from claim.claims.settle(claim.key, claim.fence, *claim.settles(fate), False)
        _let_go(claim)

    def conclude(self, claim: Claim) -> Steps[None]:
        """Settles a claim whose run stores nothing more, if it is not settled yet. If that fails, the run's end does."""
        if not claim.is_settled:
            try:
                yield from self._settle(claim, claim.fate)
            except Exception:
                log.warning("the claim on thread %s could not be settled yet", claim.key.thread, exc_info=True)

    def keep(self, claim: Claim, inner: Any) -> None:
        """Keeps a claim alive in a blocking run."""
        claim.inner = inner
        _heart.take(claim)

    def akeep(self, claim: Claim, inner: Any) -> None:
        """Keeps a claim alive on the running loop."""
        claim.inner, claim.loop = inner, asyncio.get_running_loop()
        claim.beat = claim.loop.call_later(claim.lease / _MICROSECONDS / _BEATS_PER_LEASE, _beat_soon, claim)

    # -- edits -----------------------------------------------------------------------------------------------

    def edit(self, conf: Mapping[str, Any], tup: CheckpointTuple, loaded: Loaded) -> Steps[Claim | None]:
        """Somebody edits a thread (`update_state`), which takes it on: the claim, None if it is not gated, or an edit
        of the past.

        Raises:
            RemitConsumeConflict: a run is executing there.
        """
        claims = self._claims
        if claims is None or not self.is_on(conf):
            return None
        key, questions = _key(_editor(conf, tup), tup, loaded)
        claim = Claim(key, questions, claims, self._config.claim_lease)
        claim.interrupts = tuple(sorted(loaded.interrupts))
        taken = yield from self._take(claim, loaded, None, None)
        return taken if isinstance(taken, Claim) else None

    def give_back(self, claim: Claim) -> Steps[None]:
        """What a claim was taken for did not come about."""
        if not claim.is_settled:
            yield from self._settle(claim, Fate.GONE)

    def is_free(self, conf: Mapping[str, Any], tup: CheckpointTuple, loaded: Loaded) -> Steps[None]:
        """Somebody is about to edit a thread.

        Raises:
            RemitConsumeConflict: a run is executing there.
        """
        claims = self._claims
        if claims is None or not self.is_on(conf):
            return
        key, _ = _key(_editor(conf, tup), tup, loaded)
        _, running, now = yield from claims.look(key)
        if running is not None and _ending(running, now) is None:
            raise _conflict("conflict-held", key, loaded, running)

    # -- for people ------------------------------------------------------------------------------------------

    def trail(self, thread: str) -> Steps[list[Grant]]:
        """A thread's grants, oldest first."""
        return (yield from self._known().trail(thread))

    def holder(self, run: Run, tup: CheckpointTuple, loaded: Loaded) -> Steps[Grant | None]:
        """The grant of whoever has a run's line to itself now."""
        key, _ = _key(run, tup, loaded)
        _, running, now = yield from self._known().look(key)
        return running if running is not None and _ending(running, now) is None else None

    def release(self, thread: str) -> Steps[list[Grant]]:
        """Frees what is held on a thread: the grants that were."""
        claims = self._known()
        freed: list[Grant] = []
        for grant in (yield from claims.trail(thread)):
            if grant.running:
                state, outcome = _settled(grant.owner, grant.fence, ClaimInput.release(grant.owner, grant.fence))
                if (yield from claims.settle(grant.key, grant.fence, state, outcome, False)):
                    freed.append(grant)
        return freed

    def _known(self) -> Claims:
        return self._claims if self._claims is not None else self._local

    def forget(self, thread: str) -> Steps[None]:
        """Deletes a thread's grants, where another store than the saver's own has them."""
        if self._claims is not None and not hasattr(self._claims, "delete_grants"):
            yield from self._claims.forget(thread)


def _ending(grant: Grant, now: int) -> tuple[str, str] | None:
    """State and outcome of a grant that runs, if it is known to be over."""
    held = ("held", grant.owner, grant.fence, grant.lease_end)
    if decide(held, ClaimInput.acquire("anybody else", 0), now)[1] == ClaimVerdict.GRANTED:
        return "free", "expired"
    if (holder := owner_of(grant)).is_dead:
        log.info("%s is dead; thread %s is free again", holder, grant.key.thread)
        return _settled(grant.owner, grant.fence, ClaimInput.declare_dead(grant.owner, grant.fence))
    return None


def _is_untouched(tup: CheckpointTuple) -> bool:
    """Is there nothing at a checkpoint but questions?"""
    return all(channel == INTERRUPT for _, channel, _ in tup.pending_writes or ())


def _serves(loaded: Loaded) -> bool:
    """Does an open question have an answer already, which a retry serves?"""
    return any(loaded.tasks[id].waiting.get(loaded.tasks[id].recorded) for id in loaded.open)


def _editor(conf: Mapping[str, Any], tup: CheckpointTuple) -> Run:
    """Who edits a thread, as far as a claim's key goes. A subgraph is part of its root's runs: whoever edits it must not
    find one executing."""
    run = Run(str(conf["thread_id"]), "", Intent.NEW_INPUT, None)
    metadata: Mapping[str, Any] = tup.metadata
    run.lineage = metadata.get(BRANCH)
    return run


def _key(run: Run, tup: CheckpointTuple | None, loaded: Loaded) -> tuple[Key, dict[str, str]]:
    """The key of what a run reads, and the identities of the questions by task."""
    questions = {id: identity(id, loaded.tasks[id].number, loaded.tasks[id].asker) for id in loaded.open}
    digest = blake2b("\n".join(sorted(questions.values())).encode(), digest_size=16).hexdigest()
    checkpoint = tup.checkpoint["id"] if tup is not None else ""
    return Key(run.thread, run.namespace, run.lineage or "", checkpoint, digest), questions


def identity(task: str, number: int, asker: str | None) -> str:
    """A question's identity: its task, how many answers that had when it asked, and who asked below it. Nothing that
    is recorded beside an open question is part of it."""
    return f"{task}.{number}" if asker is None else f"{task}.{number}/{asker}"


def _digest(thread: str, answer_id: str, value: Any) -> str:
    digest = blake2b(f"{thread}\0{answer_id}\0".encode(), digest_size=16)
    for part in JsonPlusSerializer().dumps_typed(value):
        digest.update(part if isinstance(part, bytes) else part.encode())
    return digest.hexdigest()


def owner_of(grant: Grant | Admission) -> Owner:
    """Whose run a grant was given to."""
    return Owner(**json.loads(grant.owner))


def _conflict(
    code: str, key: Key, loaded: Loaded | None, grant: Grant | None, interrupts: Sequence[str] = ()
) -> Exception:
    return refuse(
        code,
        thread=key.thread,
        namespace=key.namespace,
        checkpoint=key.checkpoint or None,
        interrupts=sorted(loaded.interrupts if loaded is not None else interrupts),
        holder=owner_of(grant) if grant is not None else None,
        since=_when(grant.since) if grant is not None else None,
        lease_end=_when(grant.lease_end) if grant is not None else None,
    )


def _when(microseconds: int) -> datetime:
    return datetime.fromtimestamp(microseconds / _MICROSECONDS, timezone.utc)


# -- keeping claims alive --------------------------------------------------------------------------------------


def _let_go(claim: Claim) -> None:
    """A claim is settled: its run may store the rest."""
    claim.is_settled = True
    _forget(claim)


def _forget(claim: Claim) -> None:
    """Nobody need keep a claim any more. Of one that is lost every later write of its run looks again, in vain."""
    claim.sure_until = 0.0
    _live.discard(claim.run_id)
    _unfollowed.discard(claim.run_id)
    if claim.beat is not None:
        claim.beat.cancel()
    elif claim.inner is not None:
        _heart.drop(claim)


def _settle_now(claim: Claim) -> None:
    try:
        drive(claim.inner, claim.claims.settle(claim.key, claim.fence, *claim.settles(claim.fate), False))
    except Exception:
        log.exception("the claim on thread %s could not be settled; it ends with its lease", claim.key.thread)
    _let_go(claim)


_tasks: set[asyncio.Task[None]] = set()


def _start(claim: Claim, steps: Any) -> None:
    task = asyncio.get_running_loop().create_task(steps)
    _tasks.add(task)
    task.add_done_callback(_tasks.discard)


def _settle_soon(claim: Claim) -> None:
    if not claim.is_settled:
        _start(claim, _asettle(claim))


async def _asettle(claim: Claim) -> None:
    try:
        await adrive(claim.inner, claim.claims.settle(claim.key, claim.fence, *claim.settles(claim.fate), False))
    except Exception:
        log.exception("the claim on thread %s could not be settled; it ends with its lease", claim.key.thread)
    _let_go(claim)


def _beat_soon(claim: Claim) -> None:
    if not claim.is_settled and not claim.has_ended:
        _start(claim, _abeat(claim))


async def _abeat(claim: Claim) -> None:
    if claim.run_id in _unfollowed:
        gc.collect()
        if claim.has_ended:
            return
    before = _clock()
    try:
        renewed = await adrive(claim.inner, claim.claims.renew(claim.key, claim.fence, claim.lease))
    except Exception:
        log.warning("the claim on thread %s could not be renewed", claim.key.thread, exc_info=True)
    else:
        if renewed is None:
            _forget(claim)
            return
        claim.sure_until = before + claim.lease / _MICROSECONDS
    if claim.loop is not None and not claim.is_settled:
        claim.beat = claim.loop.call_later(claim.lease / _MICROSECONDS / _BEATS_PER_LEASE, _beat_soon, claim)


class _Heart:
    """A thread that renews the claims of blocking runs, and settles those of runs that vanished. There is one while
    something is held, and soon after none: it looks, and is not woken, which each run would pay for."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._held: dict[Claim, float] = {}
        self._thread: Thread | None = None
        self._vanished: SimpleQueue[Claim] = SimpleQueue()

    def take(self, claim: Claim) -> None:
        with self._lock:
            self._held[claim] = _next_beat(claim)
            if self._thread is None:
                self._thread = Thread(target=self._run, name="remit-heartbeat", daemon=True)
                self._thread.start()

    def drop(self, claim: Claim) -> None:
        with self._lock:
            self._held.pop(claim, None)

    def bury(self, claim: Claim) -> None:
        """A claim's run vanished. Takes no lock: a finalizer may call it anywhere."""
        self._vanished.put(claim)

    def _run(self) -> None:
        while True:
            with suppress(Empty):
                vanished = self._vanished.get(timeout=_LOOK_S)
                if not vanished.is_settled:
                    _settle_now(vanished)
            with self._lock:
                if not self._held:
                    self._thread = None
                    return
                now = time.monotonic()
                due = [claim for claim, at in self._held.items() if at <= now]
                self._held |= {claim: _next_beat(claim) for claim in due}
            for claim in due:
                self._renew(claim)

    def _renew(self, claim: Claim) -> None:
        if claim.run_id in _unfollowed:
            gc.collect()
            if claim.has_ended:
                return
        before = _clock()
        try:
            renewed = drive(claim.inner, claim.claims.renew(claim.key, claim.fence, claim.lease))
        except Exception:
            log.warning("the claim on thread %s could not be renewed", claim.key.thread, exc_info=True)
            return
        if renewed is None:
            _forget(claim)
        else:
            claim.sure_until = before + claim.lease / _MICROSECONDS


def _next_beat(claim: Claim) -> float:
    return time.monotonic() + claim.lease / _MICROSECONDS / _BEATS_PER_LEASE


_heart = _Heart()


def _after_fork() -> None:
    """A forked process holds nothing: the claims are its parent's."""
    global _heart
    _heart = _Heart()
    _live.clear()
    _unfollowed.clear()
    _here.cache_clear()
    _here_as_text.cache_clear()


os.register_at_fork(after_in_child=_after_fork)
