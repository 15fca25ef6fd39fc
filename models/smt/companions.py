"""Two modules that extend `ResumeContract.tla`, without bounds: `R11_ConsumeCount` and `ResumeContractParked`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from resume_contract import (
    ACTIONS,
    CONTRACT,
    INVARIANT,
    IP,
    NONE,
    Fault,
    MaxCrashes,
    MaxResumes,
    State,
    Step,
    System,
    any_state,
    crash_recover,
    fire,
    initial,
)
from z3 import And, Bool, BoolVal, FreshBool, FreshInt, If, Implies, IntVal, Not, Or

# -- R11_ConsumeCount: one approval, two consumers ---------------------------------------------------------------------

RaceEnabled, RaceFires = Bool("RaceEnabled"), Bool("RaceFires")


@dataclass(frozen=True)
class Counted(State):
    """With the number of times that authority was taken."""

    consumes: Any


def consume_counted(s: Counted, v: Any, d: Any) -> Step:
    guard, after = ACTIONS["Consume"](s, v, d)
    return guard, replace(after, consumes=s.consumes + 1)


def race_consume(s: Counted, v: Any, d: Any) -> Step:
    guard = And(RaceEnabled, s.consumes == 1, Not(s.waiting), s.pc == IP + 1, s.forkVals.length < MaxResumes, v != NONE)
    return guard, replace(
        s,
        consumes=IntVal(2),
        forkVals=s.forkVals.append(v),
        forkOuts=s.forkOuts.append(v),
        effects=If(RaceFires, fire(s, IP), s.effects),
    )


_counts = {"TypeOK11": lambda s: And(CONTRACT["TypeOK"](s), s.consumes >= 0, s.consumes <= 2)}
_once = {"COc": lambda s: s.consumes <= 1}
_unanswered = {"nothing is taken before the answer": lambda s: Implies(s.consumed == NONE, s.consumes == 0)}

CONSUME_COUNT = System(
    "R11_ConsumeCount",
    lambda: Counted(**vars(any_state()), consumes=FreshInt("consumes")),
    lambda: Counted(**vars(initial()), consumes=IntVal(0)),
    ACTIONS | {"Consume": consume_counted, "RaceConsume": race_consume},
    CONTRACT | _counts | _once,
    INVARIANT | _counts | _once | _unanswered,
    Fault | {"RaceEnabled": RaceEnabled, "RaceFires": RaceFires},
)
# what is left of it where the race is on
UNCOUNTED = replace(
    CONSUME_COUNT,
    contract={name: holds for name, holds in CONSUME_COUNT.contract.items() if name != "COc"},
    invariant={name: holds for name, holds in CONSUME_COUNT.invariant.items() if name != "COc"},
)

# -- ResumeContractParked: the process dies while it waits -------------------------------------------------------------

Volatile = Bool("VolatileParking")  # DurableParking = FALSE


@dataclass(frozen=True)
class Parked(State):
    """And whether the run is beyond restoring."""

    lost: Any


def alive(action: str) -> Any:
    def step(s: Parked, v: Any, d: Any) -> Step:
        guard, after = ACTIONS[action](s, v, d)
        return And(Not(s.lost), guard), after

    return step


def crash_parked(s: Parked, v: Any, reexec: Any) -> Step:
    # it decides and restarts as a crash elsewhere does
    _, elsewhere = crash_recover(s, reexec)
    from_one = Or(Fault["Replay"], Fault["PrefixReplay"])
    may = Or(Fault["NondetRecovery"], reexec == from_one)
    stays = Or(Not(reexec), Volatile)
    return And(s.waiting, s.crashes < MaxCrashes, may), replace(
        elsewhere,
        pc=If(stays, s.pc, elsewhere.pc),
        waiting=And(Not(reexec), Not(Volatile)),
        lost=Volatile,
    )


PARKED = System(
    "ResumeContractParked",
    lambda: Parked(**vars(any_state()), lost=FreshBool("lost")),
    lambda: Parked(**vars(initial()), lost=BoolVal(False)),
    {action: alive(action) for action in ACTIONS} | {"CrashParked": crash_parked},
    CONTRACT,
    INVARIANT | {"only volatile parking loses a run": lambda s: Implies(s.lost, Volatile)},
    Fault | {"VolatileParking": Volatile},
)
