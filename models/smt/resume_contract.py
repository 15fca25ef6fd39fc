"""`ResumeContract.tla` without bounds: its contract as an inductive invariant.

NTasks, IP, the set of values, MaxResumes, MaxCrashes and MaxExtra are constants without a value here, so what is
proved is proved for all of them. The file follows the module: constants, Init, actions, contract. Of an action only
what it changes is written; the rest is unchanged. `prove.py` asks the solvers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from z3 import (
    And,
    ArraySort,
    Bool,
    BoolSort,
    BoolVal,
    Const,
    DeclareSort,
    Exists,
    ForAll,
    FreshInt,
    If,
    Implies,
    Int,
    IntSort,
    IntVal,
    K,
    Not,
    Or,
    Select,
    Store,
)

# -- constants ---------------------------------------------------------------------------------------------------------

Answer = DeclareSort("Answer")  # Values and None
NONE = Const("None", Answer)
N, IP = Int("NTasks"), Int("IP")
MaxResumes, MaxCrashes, MaxExtra = Int("MaxResumes"), Int("MaxCrashes"), Int("MaxExtra")

FAULTS = ("Replay", "ForkIgnore", "InvalidPersist", "NondetRecovery", "DoubleConsume", "PrefixReplay")
Fault: dict[str, Any] = {name: Bool(f"Fault{name}") for name in FAULTS}

_v = Const("v", Answer)
ASSUME = And(N >= 1, IP >= 1, IP <= N, MaxResumes >= 1, MaxCrashes >= 0, MaxExtra >= 0, Exists(_v, _v != NONE))

# -- variables ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Seq:
    """A sequence, indexed from 1: its length, and an array for each field of its elements."""

    length: Any
    fields: tuple[Any, ...]

    def cleared(self) -> Seq:
        return Seq(IntVal(0), self.fields)

    def append(self, *element: Any) -> Seq:
        n = self.length + 1
        return Seq(n, tuple(Store(f, n, x) for f, x in zip(self.fields, element, strict=True)))

    def all(self, holds: Callable[..., Any]) -> Any:
        """For every element."""
        i = FreshInt("i")
        return ForAll(i, Implies(And(i >= 1, i <= self.length), holds(*(Select(f, i) for f in self.fields))))

    def equals(self, other: Seq) -> Any:
        return And(self.length == other.length, *(a == b for a, b in zip(self.fields, other.fields, strict=True)))


@dataclass(frozen=True)
class State:
    """The module's variables. A decision is a Boolean: `True` is "reexec"."""

    pc: Any
    effects: Any
    log: Seq
    dur: Any
    waiting: Any
    consumed: Any
    forkVals: Seq
    forkOuts: Seq
    crashes: Any
    recHist: Seq
    prefixRegressed: Any
    extra: Any

    def equals(self, other: State) -> Any:
        pairs = ((getattr(self, name), getattr(other, name)) for name in self.__dataclass_fields__)
        return And(*(a.equals(b) if isinstance(a, Seq) else a == b for a, b in pairs))


_unused = count()


def any_state() -> State:
    """A state of which nothing is known."""
    n = next(_unused)

    def array(name: str, sort: Any) -> Any:
        return Const(f"{name}_{n}", ArraySort(IntSort(), sort))

    def seq(name: str, **sorts: Any) -> Seq:
        return Seq(Int(f"Len_{name}_{n}"), tuple(array(f"{name}_{f}", s) for f, s in sorts.items()))

    return State(
        pc=Int(f"pc_{n}"),
        effects=array("effects", IntSort()),
        log=seq("log", task=IntSort(), valid=BoolSort()),
        dur=Int(f"dur_{n}"),
        waiting=Bool(f"waiting_{n}"),
        consumed=Const(f"consumed_{n}", Answer),
        forkVals=seq("forkVals", value=Answer),
        forkOuts=seq("forkOuts", value=Answer),
        crashes=Int(f"crashes_{n}"),
        recHist=seq("recHist", frontier=IntSort(), decision=BoolSort()),
        prefixRegressed=Bool(f"prefixRegressed_{n}"),
        extra=Int(f"extra_{n}"),
    )


def initial() -> State:
    s = any_state()
    return State(
        pc=IntVal(1),
        effects=K(IntSort(), IntVal(0)),
        log=s.log.cleared(),
        dur=IntVal(0),
        waiting=BoolVal(False),
        consumed=NONE,
        forkVals=s.forkVals.cleared(),
        forkOuts=s.forkOuts.cleared(),
        crashes=IntVal(0),
        recHist=s.recHist.cleared(),
        prefixRegressed=BoolVal(False),
        extra=IntVal(0),
    )


# -- actions: the guard, and the state after ---------------------------------------------------------------------------

Step = tuple[Any, State]


def fire(s: State, t: Any) -> Any:
    return Store(s.effects, t, Select(s.effects, t) + 1)


def commit(s: State, t: Any) -> State:
    return replace(
        s,
        log=s.log.append(t, Not(And(Fault["InvalidPersist"], t == N))),
        dur=If(s.dur >= t, s.dur, t),
        prefixRegressed=Or(s.prefixRegressed, t <= s.dur),
        pc=t + 1,
    )


def exec_task(s: State) -> Step:
    served = And(Fault["PrefixReplay"], s.pc == IP, Select(s.effects, s.pc) > 0)
    guard = And(Not(s.waiting), s.pc >= 1, s.pc <= N, Implies(s.pc == IP, s.consumed != NONE))
    return guard, commit(replace(s, effects=If(served, s.effects, fire(s, s.pc))), s.pc)


def emit_interrupt(s: State) -> Step:
    return And(Not(s.waiting), s.pc == IP, s.consumed == NONE), replace(s, waiting=BoolVal(True))


def consume(s: State, v: Any) -> Step:
    taken = replace(
        s,
        waiting=BoolVal(False),
        consumed=v,
        effects=fire(s, IP),
        forkVals=s.forkVals.cleared().append(v),
        forkOuts=s.forkOuts.cleared().append(v),
    )
    return And(s.waiting, v != NONE), commit(taken, IP)


def fork_resume(s: State, v: Any) -> Step:
    outcome = If(Fault["ForkIgnore"], Select(s.forkOuts.fields[0], 1), v)
    guard = And(s.consumed != NONE, s.forkVals.length < MaxResumes, v != NONE)
    return guard, replace(s, forkVals=s.forkVals.append(v), forkOuts=s.forkOuts.append(outcome))


def crash_recover(s: State, reexec: Any) -> Step:
    from_one = Or(Fault["Replay"], Fault["PrefixReplay"])
    may = Or(Fault["NondetRecovery"], reexec == from_one)
    guard = And(Not(s.waiting), s.pc >= 2, s.pc <= N, s.crashes < MaxCrashes, may)
    restart = If(reexec, If(from_one, 1, s.dur), s.dur + 1)
    return guard, replace(s, pc=restart, recHist=s.recHist.append(s.dur, reexec), crashes=s.crashes + 1)


def extra_resume(s: State) -> Step:
    guard = And(s.pc == N + 1, s.extra < MaxExtra)
    return guard, replace(s, extra=s.extra + 1, effects=If(Fault["DoubleConsume"], fire(s, IP), s.effects))


# each with an answer and a decision at hand, in the order of Next
ACTIONS: dict[str, Callable[[State, Any, Any], Step]] = {
    "ExecTask": lambda s, v, d: exec_task(s),
    "EmitInterrupt": lambda s, v, d: emit_interrupt(s),
    "Consume": lambda s, v, d: consume(s, v),
    "ForkResume": lambda s, v, d: fork_resume(s, v),
    "CrashRecover": lambda s, v, d: crash_recover(s, d),
    "ExtraResume": lambda s, v, d: extra_resume(s),
}
FAIR = ("ExecTask", "EmitInterrupt", "Consume")

# -- the contract ------------------------------------------------------------------------------------------------------


def tasks(holds: Callable[[Any], Any]) -> Any:
    t = FreshInt("t")
    return ForAll(t, Implies(And(t >= 1, t <= N), holds(t)))


def type_ok(s: State) -> Any:
    return And(
        s.pc >= 1,
        s.pc <= N + 1,
        tasks(lambda t: Select(s.effects, t) >= 0),
        s.log.length >= 0,
        s.log.all(lambda task, valid: And(task >= 1, task <= N)),
        s.dur >= 0,
        s.dur <= N,
        s.forkVals.length >= 0,
        s.forkVals.all(lambda v: v != NONE),
        s.forkOuts.all(lambda v: v != NONE),
        s.forkVals.length == s.forkOuts.length,
        s.forkVals.length <= MaxResumes,
        s.crashes >= 0,
        s.crashes <= MaxCrashes,
        s.recHist.length >= 0,
        s.recHist.all(lambda frontier, decision: And(frontier >= 0, frontier <= N)),
        s.extra >= 0,
        s.extra <= MaxExtra,
    )


def fd(s: State) -> Any:
    pairs = Seq(s.forkVals.length, s.forkVals.fields + s.forkOuts.fields)
    return pairs.all(lambda supplied, served: served == supplied)


def rd(s: State) -> Any:
    return s.recHist.all(lambda f, d: s.recHist.all(lambda g, e: Implies(f == g, d == e)))


CONTRACT: dict[str, Callable[[State], Any]] = {
    "TypeOK": type_ok,
    "PC": lambda s: Not(s.prefixRegressed),
    "EO": lambda s: tasks(lambda t: Select(s.effects, t) <= 1),
    "FD": fd,
    "CV": lambda s: s.log.all(lambda task, valid: valid),
    "CO": lambda s: Select(s.effects, IP) <= 1,
    "RD": rd,
}

# -- what makes it inductive -------------------------------------------------------------------------------------------

LEMMAS: dict[str, Callable[[State], Any]] = {
    "the run stands behind its frontier": lambda s: s.pc == s.dur + 1,
    "what is durable has fired once, the rest has not": lambda s: tasks(
        lambda t: Select(s.effects, t) == If(t <= s.dur, 1, 0)
    ),
    "a parked run is at the gate": lambda s: Implies(s.waiting, And(s.pc == IP, s.consumed == NONE)),
    "every recovery skips": lambda s: s.recHist.all(lambda frontier, decision: Not(decision)),
}

# -- and it goes on ----------------------------------------------------------------------------------------------------


def remaining(s: State) -> Any:
    """How many fair steps are left at most: two for each task, less one while parked."""
    return 2 * (N - s.dur) - If(s.waiting, 1, 0)


# -- all of it ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class System:
    """A module, as it is asked about. Its switches are off if nothing else is said."""

    name: str
    any_state: Callable[[], Any]
    initial: Callable[[], Any]
    actions: dict[str, Callable[[Any, Any, Any], tuple[Any, Any]]]
    contract: dict[str, Callable[[Any], Any]]
    invariant: dict[str, Callable[[Any], Any]]
    switches: dict[str, Any]

    def assuming(self, *on: str) -> Any:
        """The module's assumption, with these switches on."""
        assert set(on) <= set(self.switches), on
        return And(ASSUME, *(s if name in on else Not(s) for name, s in self.switches.items()))

    def is_safe(self, s: Any) -> Any:
        return And(*(holds(s) for holds in self.contract.values()))

    def is_known(self, s: Any) -> Any:
        return And(*(holds(s) for holds in self.invariant.values()))

    def is_enabled(self, action: str, s: Any) -> Any:
        """Of `Consume`: with some answer."""
        guard, _ = self.actions[action](s, v := Const("some", Answer), BoolVal(False))
        return Exists(v, guard) if action == "Consume" else guard


INVARIANT = {name: CONTRACT[name] for name in ("TypeOK", "PC", "FD", "CV")} | LEMMAS
RESUME_CONTRACT = System("ResumeContract", any_state, initial, ACTIONS, CONTRACT, INVARIANT, Fault)
