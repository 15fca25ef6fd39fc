"""The unbounded proof of `models/smt`: what its solvers answer, and that it speaks of the system that is counted."""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import effects
import prove
import pytest
import resume_contract as system
import z3
from companions import CONSUME_COUNT, PARKED
from remit import _core
from resume_contract import FAULTS, LEMMAS, RESUME_CONTRACT

MODELS = Path(__file__).resolve().parents[2] / "models"
EFFECTS = "what is durable has fired once, the rest has not"


AGENDA = list(prove.agenda())
QUESTIONS = [(on, query, answer) for _, on, queries in AGENDA for query, answer in queries]


@pytest.mark.parametrize(
    ("on", "query", "answer"),
    QUESTIONS,
    ids=[" ".join((q.system.name, *on, q.name, str(len(q.system.invariant)))) for on, q, _ in QUESTIONS],
)
def test_both_solvers_answer_as_expected(on, query, answer):
    assert prove.ask(query.under(*on)) == (answer, answer)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_breaks_the_proof_in_its_action_and_a_step_is_shown(fault):
    for action in prove.BROKEN_IN[fault]:
        assert prove.broken_by(RESUME_CONTRACT, action, fault)
        assert "    to    " in prove.counterexample(prove.consecution(RESUME_CONTRACT, action), fault)


@pytest.mark.parametrize(
    ("switches", "broken"), [(prove.RACE, ["COc"]), (prove.FIRING_RACE, ["EO", "CO", "COc", EFFECTS])]
)
def test_a_second_consumer_breaks_the_count_and_what_it_fires(switches, broken):
    assert prove.broken_by(CONSUME_COUNT, "RaceConsume", *switches) == broken


@pytest.mark.parametrize("lemma", LEMMAS)
def test_each_lemma_is_needed(lemma):
    """Without it the rest is not inductive, or not enough."""
    rest = {name: holds for name, holds in RESUME_CONTRACT.invariant.items() if name != lemma}
    weaker = replace(RESUME_CONTRACT, invariant=rest)
    queries = (*prove.is_safe(weaker), *prove.goes_on(weaker))
    assert any(prove.ask_z3(prove.smt2(query.under())) == "sat" for query in queries)


@pytest.mark.parametrize("fault", FAULTS)
def test_runs_break_what_the_search_found_in_as_many_states(fault):
    runs = prove.shortest(fault)
    pinned = {name: depth for (of, name), depth in prove.counted().items() if of == fault}
    assert len(pinned) == 6
    assert {name: runs[name][0] if name in runs else None for name in pinned} == pinned


def test_the_command_says_the_same(tmp_path):
    command = [sys.executable, str(MODELS / "smt" / "prove.py"), "--smt2", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("\n0 answers are not as expected\n")
    assert "CO is broken after 7 states: ExecTask EmitInterrupt Consume CrashRecover ExecTask ExecTask\n" in done.stdout
    assert prove.ask_cvc5((tmp_path / "ResumeContract-safety.smt2").read_text()) == "unsat"


# -- effects -----------------------------------------------------------------------------------------------------------

ASKED = [(f"{heading}: {name}", asks, answer) for heading, asked in effects.agenda() for name, asks, answer in asked]


@pytest.mark.parametrize(("asks", "answer"), [q[1:] for q in ASKED], ids=[q[0] for q in ASKED])
def test_both_solvers_answer_as_expected_of_effects(asks, answer):
    assert prove.ask(asks, models=answer == "sat") == (answer, answer)


def test_every_wrong_rule_of_effects_stands_in_negative():
    files = {file.stem for file in (MODELS.parent / "negative").glob("effect_*.rs")}
    assert {f"effect_{name}" for name in effects.WRONG} == files


STATES = {"released": effects.FREE, "admitted": effects.ADMITTED, "done": effects.DONE}
SIGHTS = {_core.EffectOwner.ALIVE: effects.ALIVE, _core.EffectOwner.GONE: effects.GONE}
ROWS = [None, *itertools.product(STATES, (1, 2), (0, 2))]


def plain(term: Any) -> Any:
    """The number or truth value of a term without unknowns."""
    switches = [(switch, z3.BoolVal(False)) for switch in effects.Wrong.values()]
    value = z3.simplify(z3.substitute(term, *switches))
    return z3.is_true(value) if z3.is_bool(value) else value.as_long()


def numbered(row: Any) -> effects.Effect:
    state, fence, until = row or ("released", 0, 0)
    return effects.Effect(*(z3.IntVal(n) for n in (STATES[state], fence, until, fence)))


def given(**values: Any) -> effects.Given:
    terms = {k: z3.BoolVal(v) if isinstance(v, bool) else z3.IntVal(v) for k, v in values.items()}
    return replace(effects.GIVEN, **terms)


def verdict(term: Any) -> str:
    return effects.VERDICTS[plain(term)]


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_the_decision_in_the_formulas_is_the_shipped_one(row):
    e, owners, both = numbered(row), (*SIGHTS, _core.EffectOwner.UNKNOWN), (False, True)
    for now, holds, same, owner, retry in itertools.product((0, 1, 2), both, both, owners, both):
        doubt = _core.Doubt.RETRY if retry else _core.Doubt.RAISE
        sight = SIGHTS.get(owner, effects.UNKNOWN)
        fence, told = _core.admit_effect(row, now=now, lease=1, holds=holds, same=same, owner=owner, doubt=doubt)
        then, said = effects.ask(e, given(now=now, lease=1, holds=holds, same=same, owner=sight, retry=retry))
        assert (fence, told) == (plain(then.last), getattr(_core.EffectVerdict, verdict(said)))
        assert _core.is_in_doubt(row, now=now, owner=owner) == plain(
            effects.in_doubt(e, z3.IntVal(sight), z3.IntVal(now))
        )
    for fence, fired in itertools.product((0, 1, 2, 3), both):
        state, told = _core.settle_effect(row, fence, fired)
        then, said = effects.settle(e, z3.IntVal(fence), z3.BoolVal(fired))
        assert (STATES[state], told) == (plain(then.state), getattr(_core.EffectVerdict, verdict(said)))
        for now, owner in itertools.product((0, 1, 2), owners):
            state, told = _core.resolve_effect(row, fence, now=now, owner=owner, fired=fired)
            sight = SIGHTS.get(owner, effects.UNKNOWN)
            then, said = effects.resolve(e, given(fence=fence, now=now, owner=sight, said_fired=fired))
            assert (STATES[state], told) == (plain(then.state), getattr(_core.EffectVerdict, verdict(said)))


# -- the encoding is the module ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("of", "next_", "own"),
    [
        (RESUME_CONTRACT, "Next", None),
        (CONSUME_COUNT, "Next11", "consumes"),
        (PARKED, "NextP", "lost"),
    ],
    ids=lambda x: getattr(x, "name", None),
)
def test_names_are_the_modules(of, next_, own):
    base = (MODELS / "ResumeContract.tla").read_text()
    module = (MODELS / f"{of.name}.tla").read_text()
    variables = re.search(r"^vars == <<(.*?)>>", base, re.M | re.S)
    actions = re.search(rf"^{next_} ==\n(.*?)\n\n", module, re.M | re.S)
    assert variables and actions
    assert [*re.findall(r"\w+", variables[1]), *([own] if own else [])] == list(of.any_state().__dataclass_fields__)
    assert own is None or re.search(rf"^VARIABLE {own}\b", module, re.M)
    steps = re.sub(r"Alive\(|UNCHANGED \w+|\\E v \\in Values :", "", actions[1])
    assert re.findall(r"\b[A-Z]\w+", steps) == list(of.actions)
    for name in of.contract:
        assert re.search(rf"^{name} *==", base + module, re.M), name
    assert set(re.findall(r"Fault(\w+)", base)) == set(FAULTS)


def explored(fault: str) -> tuple[int, int]:
    """Generated and distinct states, by computing with the encoding itself at the matrix's bounds."""
    answers = [z3.Const(name, system.Answer) for name in ("v1", "v2")]
    values = [
        *((constant, z3.IntVal(n)) for constant, n in prove.bounds(fault)),
        *((switch, z3.BoolVal(name == fault)) for name, switch in system.Fault.items()),
    ]
    # distinct answers are distinct numbers where terms are compared
    numbered = [(a, z3.Const(f"answer!{n}", system.Answer)) for n, a in enumerate((system.NONE, *answers))]

    def plain(term: Any) -> Any:
        return z3.simplify(z3.substitute(term, *values, *numbered))

    def key(s: system.State) -> tuple[Any, ...]:
        def of(term: Any) -> Any:
            if isinstance(term, system.Seq):
                length = plain(term.length).as_long()
                return tuple(tuple(str(plain(z3.Select(f, i + 1))) for f in term.fields) for i in range(length))
            if isinstance(term.sort(), z3.ArraySortRef):
                return tuple(str(plain(z3.Select(term, t + 1))) for t in range(3))
            return str(plain(term))

        return tuple(of(getattr(s, name)) for name in system.State.__dataclass_fields__)

    def choices(action: str) -> list[tuple[Any, Any]]:
        no = z3.BoolVal(False)
        if action in ("Consume", "ForkResume"):
            return [(a, no) for a in answers]
        return [(answers[0], d) for d in ((no, z3.BoolVal(True)) if action == "CrashRecover" else (no,))]

    def is_true(guard: Any) -> bool:
        decided = plain(guard)
        # what is left are comparisons of named answers, which differ
        named = [c for _, c in numbered]
        solver = z3.Solver()
        solver.add(z3.Distinct(*named), decided)
        return bool(solver.check() == z3.sat)

    first = system.initial()
    seen, open_, generated = {key(first)}, [first], 1
    while open_:
        s = open_.pop()
        for action, act in system.ACTIONS.items():
            for v, d in choices(action):
                guard, after = act(s, v, d)
                if is_true(guard):
                    generated += 1
                    if (k := key(after)) not in seen:
                        seen.add(k)
                        open_.append(after)
    return generated, len(seen)


@pytest.mark.parametrize(("fault", "counts"), [("", (87, 59)), ("Replay", (108, 72)), ("DoubleConsume", (87, 59))])
def test_the_encoding_has_as_many_states_as_the_module(fault, counts):
    assert explored(fault) == counts
