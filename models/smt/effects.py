"""The machine of `proof/effect_system.rs` for one effect, without bounds: what holds of it as an inductive invariant.

Any number of callers ask, fire, die on either side of firing, and have their words told late, twice or never; a person
may be wrong. `decide` is the shipped decision (`crates/remit-core/src/effect.rs`); whether a caller holds its claim, what
it sees of another and the time are whatever they are. Each switch is the wrong rule of that name in `negative/`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from z3 import (
    And,
    ArraySort,
    Bool,
    BoolSort,
    BoolVal,
    Const,
    ForAll,
    FreshInt,
    If,
    Implies,
    Int,
    IntSort,
    IntVal,
    Not,
    Or,
    Select,
    Store,
)

FREE, ADMITTED, DONE = range(3)
ALIVE, GONE, UNKNOWN = range(3)
VERDICTS = ("FRESH", "REPLAY", "RACER", "IN_DOUBT", "MISMATCH", "FENCED", "ACCEPTED", "STALE", "ILLEGAL")
FRESH, REPLAY, RACER, IN_DOUBT, MISMATCH, FENCED, ACCEPTED, STALE, ILLEGAL = range(len(VERDICTS))
MAX = 2**64 - 1

WRONG = (
    *("doubt_fired_again", "late_release_frees", "result_overwritten"),
    *("lease_outweighs_sight", "claim_unread", "in_doubt_for_ever"),
)
Wrong: dict[str, Any] = {name: Bool(name) for name in WRONG}
Callers = Int("Callers")


@dataclass(frozen=True)
class Effect:
    """The stored row. `fence` and `until` mean something where it is not free."""

    state: Any
    fence: Any
    until: Any
    last: Any


@dataclass(frozen=True)
class World:
    """The row, its result, every admission by its fence, and what each caller has in hand: a fence, or 0."""

    effect: Effect
    result: Any  # 0: none is recorded
    owner: Any
    fired: Any  # 0: it has not; else what it returned
    overruled: Any
    carried: Any


@dataclass(frozen=True)
class Given:
    """What comes from outside: an admission, its caller, a value, and what is read and wished in the same step."""

    fence: Any
    caller: Any
    value: Any
    now: Any
    lease: Any
    owner: Any
    holds: Any
    same: Any
    retry: Any
    said_fired: Any
    heard: Any


GIVEN = Given(
    *(Int(name) for name in ("fence", "caller", "value", "now", "lease", "sight")),
    *(Bool(name) for name in ("holds", "same", "retry", "said_fired", "heard")),
)
OUTSIDE = And(
    *(GIVEN.fence >= 0, GIVEN.fence <= MAX, GIVEN.caller >= 1, GIVEN.caller <= Callers, GIVEN.value >= 1),
    *(GIVEN.now >= 0, GIVEN.now <= MAX, GIVEN.lease >= 0, GIVEN.lease <= MAX, GIVEN.owner >= 0, GIVEN.owner <= 2),
)


def either(condition: Any, a: Any, b: Any) -> Any:
    """`If`, for dataclasses too."""
    if not hasattr(a, "__dataclass_fields__"):
        return If(condition, a, b)
    return replace(
        a, **{name: either(condition, getattr(a, name), getattr(b, name)) for name in a.__dataclass_fields__}
    )


# -- the decision ------------------------------------------------------------------------------------------------------

Decided = tuple[Effect, Any]


def choose(*cases: tuple[Any, Decided], otherwise: Decided) -> Decided:
    """The first case that holds."""
    effect, verdict = otherwise
    for condition, (e, v) in reversed(cases):
        effect, verdict = either(condition, e, effect), If(condition, v, verdict)
    return effect, verdict


def in_doubt(e: Effect, owner: Any, now: Any) -> Any:
    over = now >= e.until
    alive = And(owner == ALIVE, Wrong["lease_outweighs_sight"], over)
    return And(e.state == ADMITTED, Or(owner == GONE, And(owner == UNKNOWN, over), alive))


def open_at(e: Effect, fence: Any) -> Any:
    return And(e.state == ADMITTED, e.fence == fence)


def admit(e: Effect, g: Given) -> Decided:
    until = If(g.now + g.lease > MAX, MAX, g.now + g.lease)
    admitted = Effect(IntVal(ADMITTED), e.last + 1, until, e.last + 1)
    return choose((e.last == MAX, (e, IntVal(ILLEGAL))), otherwise=(admitted, IntVal(FRESH)))


def settle(e: Effect, fence: Any, fired: Any) -> Decided:
    settled = replace(e, state=If(fired, IntVal(DONE), IntVal(FREE)), fence=fence)
    taken = Or(
        open_at(e, fence),
        And(Wrong["late_release_frees"], e.state == ADMITTED),
        And(Wrong["result_overwritten"], fired, e.state == DONE),
    )
    stale = And(fence >= 1, fence <= e.last)
    return choose((taken, (settled, IntVal(ACCEPTED))), (stale, (e, IntVal(STALE))), otherwise=(e, IntVal(ILLEGAL)))


def ask(e: Effect, g: Given) -> Decided:
    may_retry = Or(And(g.retry, Not(Wrong["in_doubt_for_ever"])), And(Not(g.retry), Wrong["doubt_fired_again"]))
    return choose(
        (And(Not(g.holds), Not(Wrong["claim_unread"])), (e, IntVal(FENCED))),
        (e.state == FREE, admit(e, g)),
        (Not(g.same), (e, IntVal(MISMATCH))),
        (e.state == DONE, (e, IntVal(REPLAY))),
        (Not(in_doubt(e, g.owner, g.now)), (e, IntVal(RACER))),
        (may_retry, admit(e, g)),
        otherwise=(e, IntVal(IN_DOUBT)),
    )


def resolve(e: Effect, g: Given) -> Decided:
    at_it = And(open_at(e, g.fence), Not(in_doubt(e, g.owner, g.now)))
    return choose((at_it, (e, IntVal(RACER))), otherwise=settle(e, g.fence, g.said_fired))


# -- actions: the guard, and the world after ---------------------------------------------------------------------------

Step = tuple[Any, World]


def is_gone(w: World, fence: Any) -> Any:
    """Nobody will fire under this admission any more."""
    c = FreshInt("c")
    return ForAll(c, Implies(And(c >= 1, c <= Callers), Select(w.carried, c) != fence))


def requested(w: World, g: Given) -> Step:
    e, verdict = ask(w.effect, g)
    passed_over = And(w.effect.state == ADMITTED, g.retry)
    overruled = If(passed_over, Store(w.overruled, w.effect.fence, True), w.overruled)
    fresh = World(
        e,
        w.result,
        Store(w.owner, e.last, g.caller),
        Store(w.fired, e.last, 0),
        Store(overruled, e.last, False),
        If(g.heard, Store(w.carried, g.caller, e.last), w.carried),
    )
    return Select(w.carried, g.caller) == 0, either(verdict == FRESH, fresh, replace(w, effect=e))


def fires(w: World, g: Given) -> Step:
    fence = Select(w.carried, g.caller)
    return And(fence != 0, Select(w.fired, fence) == 0), replace(w, fired=Store(w.fired, fence, g.value))


def told(w: World, g: Given, decided: Decided, value: Any) -> World:
    e, verdict = decided
    result = If(e.state == DONE, value, w.result)
    return either(verdict == ACCEPTED, replace(w, effect=e, result=result), replace(w, effect=e))


def was_made(w: World, fence: Any) -> Any:
    return And(fence >= 1, fence <= w.effect.last)


def says_done(w: World, g: Given) -> Step:
    is_true = Implies(was_made(w, g.fence), Select(w.fired, g.fence) == g.value)
    return is_true, told(w, g, settle(w.effect, g.fence, BoolVal(True)), g.value)


def says_released(w: World, g: Given) -> Step:
    is_true = Implies(was_made(w, g.fence), And(Select(w.fired, g.fence) == 0, is_gone(w, g.fence)))
    return is_true, told(w, g, settle(w.effect, g.fence, BoolVal(False)), g.value)


def person_says(w: World, g: Given) -> Step:
    decided = resolve(w.effect, g)
    after = told(w, g, decided, g.value)
    overruled = If(decided[1] == ACCEPTED, Store(w.overruled, g.fence, True), w.overruled)
    return BoolVal(True), replace(after, overruled=overruled)


def leaves(w: World, g: Given) -> Step:
    return BoolVal(True), replace(w, carried=Store(w.carried, g.caller, 0))


ACTIONS: dict[str, Callable[[World, Given], Step]] = {
    "Ask": requested,
    "Fire": fires,
    "Done": says_done,
    "Release": says_released,
    "Resolve": person_says,
    "Leave": leaves,
}

# -- the invariant -----------------------------------------------------------------------------------------------------


def any_world() -> World:
    """A world of which nothing is known."""

    def array(name: str, sort: Any) -> Any:
        return Const(name, ArraySort(IntSort(), sort))

    return World(
        Effect(Int("state"), Int("current"), Int("until"), Int("last")),
        Int("result"),
        array("owner", IntSort()),
        array("fired", IntSort()),
        array("overruled", BoolSort()),
        array("carried", IntSort()),
    )


def is_first(w: World) -> Any:
    c = FreshInt("c")
    idle = ForAll(c, Implies(And(c >= 1, c <= Callers), Select(w.carried, c) == 0))
    return And(w.effect.state == FREE, w.effect.last == 0, w.result == 0, idle)


def stands(w: World, fence: Any) -> Any:
    return And(fence == w.effect.last, w.effect.state != FREE)


def accounted(w: World, fence: Any) -> Any:
    return Or(Select(w.overruled, fence), stands(w, fence), Select(w.fired, fence) == 0)


def fits(w: World, caller: Any) -> Any:
    fence = Select(w.carried, caller)
    kept = Or(Select(w.overruled, fence), stands(w, fence))
    return Or(fence == 0, And(was_made(w, fence), Select(w.owner, fence) == caller, kept))


def is_known(w: World) -> Any:
    f, c, e = FreshInt("f"), FreshInt("c"), w.effect
    returned = Or(Select(w.overruled, e.fence), Select(w.fired, e.fence) == w.result)
    return And(
        *(e.state >= FREE, e.state <= DONE, e.last >= 0, e.last <= MAX, w.result >= 0),
        Implies(e.state != FREE, And(e.fence == e.last, e.last >= 1)),
        If(e.state == DONE, And(w.result != 0, returned), w.result == 0),
        ForAll(f, Implies(And(f >= 1, f <= e.last), And(accounted(w, f), Select(w.fired, f) >= 0))),
        ForAll(c, Implies(And(c >= 1, c <= Callers), fits(w, c))),
    )


# -- the theorems ------------------------------------------------------------------------------------------------------


def theorems(w: World, g: Given) -> Iterator[tuple[str, Any, Any]]:
    """Of each: its name, what is given, and what follows."""
    e, other = w.effect, Int("other")
    earlier = And(was_made(w, g.fence), Not(stands(w, g.fence)), Not(Select(w.overruled, g.fence)))
    both = And(g.fence >= 1, g.fence < other, other <= e.last, *(Select(w.fired, f) != 0 for f in (g.fence, other)))
    yield "an earlier admission is void", earlier, And(Select(w.fired, g.fence) == 0, is_gone(w, g.fence))
    yield "it fires once, but by wish", both, Select(w.overruled, g.fence)
    for action, act in ACTIONS.items():
        guard, after = act(w, g)
        kept = And(after.effect.state == DONE, after.effect.fence == e.fence, after.result == w.result)
        yield f"a result is kept: {action}", And(e.state == DONE, guard), kept
    seen = Or(And(g.owner == ALIVE, Not(is_gone(w, e.last))), And(g.owner == GONE, is_gone(w, e.last)))
    gone = And(e.state == ADMITTED, w.result == 0, is_gone(w, e.last))
    yield "in doubt is admitted and gone", seen, in_doubt(e, g.owner, g.now) == gone
    yield "without the claim it is fenced", Not(g.holds), ask(e, g)[1] == FENCED
    for action in ("Done", "Release", "Resolve"):
        guard, after = ACTIONS[action](w, g)
        same = And(after.effect.state == e.state, after.effect.fence == e.fence, after.result == w.result)
        yield f"a late word changes nothing: {action}", And(guard, was_made(w, g.fence), g.fence < e.last), same
    free_or_left = Or(e.state == FREE, And(e.state == ADMITTED, g.owner == GONE, g.retry))
    yield "no effect is stuck", And(free_or_left, g.holds, g.same, e.last < MAX), ask(e, g)[1] == FRESH


# What each wrong rule breaks, and nothing else.
BREAKS = {
    "doubt_fired_again": {"consecution: Ask"},
    "late_release_frees": {
        f"{of}: {word}"
        for of in ("consecution", "a late word changes nothing")
        for word in ("Done", "Release", "Resolve")
    },
    "result_overwritten": {
        f"{of}: {word}"
        for of in ("consecution", "a result is kept", "a late word changes nothing")
        for word in ("Done", "Resolve")
    },
    "lease_outweighs_sight": {"in doubt is admitted and gone"},
    "claim_unread": {"without the claim it is fenced"},
    "in_doubt_for_ever": {"no effect is stuck"},
}


def agenda() -> Iterator[tuple[str, list[tuple[str, Any, str]]]]:
    """Under a heading: queries by name, and the answers they must have."""
    w = any_world()
    queries = {"initiation": And(is_first(w), Not(is_known(w)))}
    possible = []
    for action, act in ACTIONS.items():
        guard, after = act(w, GIVEN)
        queries[f"consecution: {action}"] = And(is_known(w), guard, Not(is_known(after)))
        possible.append((f"possible: {action}", And(is_known(w), w.effect.state == ADMITTED, guard), "sat"))
    for name, given, follows in theorems(w, GIVEN):
        queries[name] = And(is_known(w), given, Not(follows))
    for wrong in (None, *WRONG):
        switches = And(Callers >= 1, OUTSIDE, *(s if name == wrong else Not(s) for name, s in Wrong.items()))
        broken: set[str] = BREAKS[wrong] if wrong else set()
        asked = [(name, And(switches, q), "sat" if name in broken else "unsat") for name, q in queries.items()]
        if wrong:
            yield f"Effects, wrong rule {wrong}", asked
        else:
            yield "Effects, for every number of callers and admissions", asked
            yield "Effects are not vacuous", [(name, And(switches, q), answer) for name, q, answer in possible]
