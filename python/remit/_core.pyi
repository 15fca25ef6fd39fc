"""The decisions of REMIT, in Rust (`crates/remit-core`, bound by `crates/remit-py`)."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import ClassVar, final

__all__ = [
    "Batch",
    "ClaimInput",
    "ClaimVerdict",
    "Class",
    "Doubt",
    "EffectOwner",
    "EffectVerdict",
    "Fate",
    "Intent",
    "Kind",
    "Ledger",
    "Operation",
    "Planes",
    "Policy",
    "Prefix",
    "RemitConsumeConflict",
    "RemitDuplicateEffect",
    "RemitEffectInDoubt",
    "RemitError",
    "RemitOrderViolation",
    "RemitPrefixViolation",
    "RemitStrayResume",
    "RemitValidityError",
    "Show",
    "Thread",
    "Verdict",
    "__version__",
    "admit_effect",
    "binds_to",
    "branch_name",
    "branch_ordinal",
    "decide",
    "errors",
    "fate_of",
    "fork",
    "is_in_doubt",
    "is_over",
    "is_present",
    "judge",
    "on_retry",
    "open_question",
    "parse_row",
    "refuse",
    "resolve_effect",
    "row_id",
    "settle_effect",
    "shows_output",
    "store",
    "unfinished",
    "view",
    "word",
]

__version__: str

class RemitError(Exception):
    """The base of all errors of REMIT. `code` is stable; the other attributes are the fields of the message."""

    code: str
    thread: str
    namespace: str
    checkpoint: str | None

class RemitStrayResume(RemitError, UserWarning):
    """A resume that answers nothing."""

    named: str
    open: str

class RemitConsumeConflict(RemitError):
    """Another run has the right to answer, or has answered. `holder` is a `remit.gate.Owner`."""

    interrupts: list[str]
    holder: object | None
    since: datetime | None
    lease_end: datetime | None

class RemitDuplicateEffect(RemitError):
    """An effect that another caller is firing, or that was fired with other arguments. `owner` is a
    `remit.gate.Owner`."""

    effect: str
    owner: object
    since: datetime

class RemitEffectInDoubt(RemitError):
    """An effect of which nobody can say whether it fired. `owner` is a `remit.gate.Owner`, `index` its place in
    `saver.effects(thread)`."""

    effect: str
    index: int
    owner: object
    since: datetime
    fingerprint: str | None

class RemitValidityError(RemitError):
    """A state that its schema refuses."""

    field: str | None
    value_type: str | None
    errors: list[dict[str, object]]
    detail: str

class RemitOrderViolation(RemitError):
    """An operation out of its plane's order."""

    parent: str | None
    frontier: str

class RemitPrefixViolation(RemitError):
    """A step that is durable already was about to be stored again."""

    step: str

@final
class Batch:
    """What a batch of writes says about its task."""

    PARKED: ClassVar[Batch]
    FAILED: ClassVar[Batch]
    OTHER: ClassVar[Batch]
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __int__(self) -> int: ...

@final
class ClaimVerdict:
    """What the caller is told. The fields of a verdict are those of the row that comes with it."""

    GRANTED: ClassVar[ClaimVerdict]
    RENEWED: ClassVar[ClaimVerdict]
    ACCEPTED: ClassVar[ClaimVerdict]
    REFUSED: ClassVar[ClaimVerdict]
    STALE: ClassVar[ClaimVerdict]
    ALREADY_CONSUMED: ClassVar[ClaimVerdict]
    ILLEGAL: ClassVar[ClaimVerdict]
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __int__(self) -> int: ...

@final
class Class:
    """Which channel a write is under."""

    RESUME: ClassVar[Class]
    INTERRUPT: ClassVar[Class]
    ERROR: ClassVar[Class]
    ORDINARY: ClassVar[Class]
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __int__(self) -> int: ...

@final
class Doubt:
    """What the user wants of an effect in doubt."""

    RAISE: ClassVar[Doubt]
    RETRY: ClassVar[Doubt]
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __int__(self) -> int: ...

@final
class EffectOwner:
    """What is known of whoever was admitted last."""

    ALIVE: ClassVar[EffectOwner]
    GONE: ClassVar[EffectOwner]
    UNKNOWN: ClassVar[EffectOwner]
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __int__(self) -> int: ...

@final
class EffectVerdict:
    """What the caller of an effect is told."""

    FRESH: ClassVar[EffectVerdict]
    REPLAY: ClassVar[EffectVerdict]
    RACER: ClassVar[EffectVerdict]
    IN_DOUBT: ClassVar[EffectVerdict]
    MISMATCH: ClassVar[EffectVerdict]
    FENCED: ClassVar[EffectVerdict]
    ACCEPTED: ClassVar[EffectVerdict]
    STALE: ClassVar[EffectVerdict]
    ILLEGAL: ClassVar[EffectVerdict]
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __int__(self) -> int: ...

@final
class Fate:
    """How a run that held the claim ended."""

    PUT: ClassVar[Fate]
    ANSWERED: ClassVar[Fate]
    PARKED: ClassVar[Fate]
    FAILED: ClassVar[Fate]
    GONE: ClassVar[Fate]
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __int__(self) -> int: ...

@final
class Intent:
    """What a call wants."""

    INSPECT: ClassVar[Intent]
    FORK: ClassVar[Intent]
    RETRY: ClassVar[Intent]
    ANSWER: ClassVar[Intent]
    NEW_INPUT: ClassVar[Intent]
    UNKNOWN: ClassVar[Intent]
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __int__(self) -> int: ...

@final
class Kind:
    """What arrived at a plane."""

    WRITES: ClassVar[Kind]
    CHECKPOINT: ClassVar[Kind]
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __int__(self) -> int: ...

@final
class Policy:
    """What the user wants done with strays."""

    WARN: ClassVar[Policy]
    RAISE: ClassVar[Policy]
    IGNORE: ClassVar[Policy]
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __int__(self) -> int: ...

@final
class Show:
    """The verdict on a write."""

    KEEP: ClassVar[Show]
    HIDE: ClassVar[Show]
    ALL_BUT_LAST: ClassVar[Show]
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __int__(self) -> int: ...

@final
class Thread:
    """What is known of the thread that a resume addresses."""

    ABSENT: ClassVar[Thread]
    NO_SUCH_CHECKPOINT: ClassVar[Thread]
    FINISHED: ClassVar[Thread]
    PARKED: ClassVar[Thread]
    UNFINISHED: ClassVar[Thread]
    UNKNOWN: ClassVar[Thread]
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __int__(self) -> int: ...

@final
class Verdict:
    """The verdict on a resume."""

    ACCEPT: ClassVar[Verdict]
    REPORT: ClassVar[Verdict]
    REFUSE: ClassVar[Verdict]
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __int__(self) -> int: ...

@final
class ClaimInput:
    """What is asked of a claim, and for whom. Leases are in the unit of the store's time."""

    @property
    def owner(self) -> str:
        """For whom."""

    @property
    def fence(self) -> int | None:
        """The grant that it speaks for; None where it asks for one."""

    @property
    def what(self) -> str:
        """What is asked, for an audit trail; of a release, why."""

    @staticmethod
    def acquire(owner: str, lease: int) -> ClaimInput:
        """To have it. An owner is one run."""

    @staticmethod
    def renew(owner: str, fence: int, lease: int) -> ClaimInput:
        """To keep it longer. Never shortens the lease."""

    @staticmethod
    def consume(owner: str, fence: int) -> ClaimInput:
        """To settle it for good."""

    @staticmethod
    def release(owner: str, fence: int) -> ClaimInput:
        """To give it back, because a person decided so. Runs settle their claims with `word`."""

    @staticmethod
    def declare_dead(owner: str, fence: int) -> ClaimInput:
        """To free it for a holder that is known to be dead."""

    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...

@final
class Ledger:
    """What one run has admitted, once each."""

    def __new__(cls) -> Ledger: ...
    def admit(self, task: str, effect: int) -> bool:
        """Admits an effect of a task; False if it was admitted before."""

@final
class Prefix:
    """The checkpoints of one run, from the one it loaded on."""

    def __new__(cls, head: str | None) -> Prefix: ...
    @property
    def head(self) -> str | None:
        """The checkpoint at which the run stands."""

    def commit(self, id: str, parent: str | None, valid: bool) -> tuple[str, str] | None:
        """Extends the prefix, or refuses and changes nothing: the refusal's code and its detail, or None."""

@final
class Planes:
    """The planes of one saver that have something under way."""

    def __new__(cls) -> Planes: ...
    def __len__(self) -> int: ...
    def arrive(self, thread: str, namespace: str, kind: Kind, checkpoint: str | None) -> Operation:
        """Numbers an operation of a plane (thread and namespace): writes to a checkpoint, or one with this parent."""

    def arrive_as(self, configurable: Mapping[str, object], kind: Kind) -> Operation:
        """The same, as a call's `configurable` says: `thread_id`, `checkpoint_ns`, `checkpoint_id`.

        Raises:
            KeyError: there is no `thread_id`.
            TypeError: `checkpoint_ns` or `checkpoint_id` is no string.
        """

    def is_busy(self, thread: str) -> bool:
        """Has a thread something under way?"""

@final
class Operation:
    """One operation's place in its plane. Dropped before it has finished, it holds up nothing."""

    def is_ready(self) -> bool:
        """May it land now, behind what stands in the queue?"""

    def queue(self, is_queued: bool) -> None:
        """It stands in the queue through which everything of its saver is stored, in order; or has left it, and did not
        land. What waits for it may queue behind it."""

    def wake(self, waker: Callable[[], object]) -> None:
        """Calls `waker`, from any thread, whenever something of the plane has landed or stands in the queue."""

    def finish(self) -> None:
        """It has landed, or failed."""

def admit_effect(
    row: tuple[str, int, int] | None,
    *,
    now: int,
    lease: int,
    holds: bool,
    same: bool,
    owner: EffectOwner,
    doubt: Doubt,
) -> tuple[int, EffectVerdict]:
    """Somebody asks to fire an effect: the number of the admission that is to be added if it is fresh, else of the one
    that is there; and the verdict.

    A row is (state, fence, until): "released", "admitted" or "done"; the last admission's number; until when its owner
    is taken for alive. None stands for no row. `now` is the store's clock in whole units (microseconds), `lease` in the
    same.

    Raises:
        ValueError: no such state.
        OverflowError: a negative number.
    """

def binds_to(parked: bool, failed: bool, marked: bool, recorded: int) -> tuple[int, bool] | None:
    """The question that a bare answer is bound to, and whether it takes its place in the list."""

def branch_name(checkpoint: str, ordinal: int) -> str:
    """The name of a branch."""

def branch_ordinal(branch: str, checkpoint: str) -> int | None:
    """The ordinal of a branch, if it forks from this checkpoint."""

def decide(
    row: tuple[str, str | None, int, int] | None, input: ClaimInput, now: int
) -> tuple[tuple[str, str | None, int, int], ClaimVerdict]:
    """What becomes of a claim: its row, to be written if it differs, and the verdict.

    A row is (state, owner, fence, lease_end): "free", "held" or "consumed"; who holds it or took it; the last fence
    that was granted; when the lease ends. None stands for no row. `now` is the store's clock, read after the row was
    locked or before, in whole units (microseconds); it may lag, never lead.

    Raises:
        ValueError: no such state.
        OverflowError: a negative number.
    """

def errors() -> list[tuple[str, str, str, str]]:
    """The table of errors: (code, class, message, hint) each."""

def fork(entries: list[str | None], token: str | None) -> tuple[int, bool]:
    """The ordinal of a fork at one checkpoint, and whether it is fresh."""

def is_in_doubt(row: tuple[str, int, int] | None, *, now: int, owner: EffectOwner) -> bool:
    """Is an effect in doubt: admitted, with nobody there to say what became of it?"""

def judge(
    thread: Thread, names: int | None, open: int, takers: int, refused: bool, named_only: bool, policy: Policy
) -> tuple[Verdict, str | None]:
    """Judges a resume: the verdict, and the refusal's code or None."""

def on_retry(*, recorded: bool, parked: bool, answered: bool, failed: bool, handled: bool) -> tuple[str, str]:
    """What a bare retry does with a task ("skip", "ask" or "run"), and why, as a word."""

def open_question(parked: bool, failed: bool, marked: bool, recorded: int) -> int | None:
    """The question that a task has open, if it is known."""

def parse_row(id: str) -> tuple[str, str | None, int | None, bool, int | None]:
    """Takes a row id apart: task, branch, question it waits for, is it a question, attempt."""

def refuse(code: str, **fields: object) -> RemitError:
    """The exception of a code, ready to be raised or warned."""

def resolve_effect(
    row: tuple[str, int, int] | None, fence: int, *, now: int, owner: EffectOwner, fired: bool
) -> tuple[str, EffectVerdict]:
    """A person says what became of an effect in doubt: the state that is to be stored, and the verdict."""

def row_id(
    task: str,
    branch: str | None = None,
    *,
    waits_for: int | None = None,
    asks: bool = False,
    attempt: int | None = None,
) -> str:
    """Puts a row id together."""

def settle_effect(row: tuple[str, int, int] | None, fence: int, fired: bool) -> tuple[str, EffectVerdict]:
    """The owner of an admission says what became of its effect: the state that is to be stored, and the verdict."""

def shows_output(
    intent: Intent,
    null: bool,
    own: bool,
    asked: bool,
    answered: bool,
    failed: bool,
    handled: bool,
    marked: bool,
) -> bool:
    """Does a load with this intent show a task's recorded outputs?"""

def store(
    batch: Batch, given: int | None, recorded: int, marked: bool, failed: bool
) -> tuple[int | None, bool, int | None, int | None, bool]:
    """How to store a batch: kept answers, restore, question it waits for, question to mark, drop outputs."""

def unfinished(recorded: list[int], tasks: list[int]) -> list[int]:
    """Which of the tasks run again."""

def view(
    writes: list[tuple[int | None, Class, int, tuple[int, int] | None]],
    intent: Intent,
    answered: list[int],
    alone: bool,
) -> list[Show]:
    """What a load shows of the pending writes: a verdict for each."""

def word(owner: str, fence: int, fate: Fate) -> ClaimInput:
    """What settles the claim of a run that has ended: it is consumed, or given back."""

def fate_of(tasks: Sequence[tuple[bool, bool, bool]]) -> Fate:
    """What becomes of the claim of a run that stores nothing more, by what is stored of its tasks: does one ask no more
    what the claim is on, did it fail, does it ask something."""

def is_over(triggered: int, tasks: Sequence[tuple[bool, bool, bool]]) -> bool:
    """Does no checkpoint follow the one that triggers so many tasks (0: not known), of which these are done?"""

def is_present(fence: int, *, is_new: bool, asks: bool, tasks: int, is_untouched: bool) -> bool:
    """Is the position that a run read before its grant, the fence-th, still the present one? Else it is to be read again.

    The position: there was no checkpoint; a question is open; how many tasks are to run (0: not known); nothing but
    questions is recorded.
    """
