"""The unbounded proof of `models/smt`: what its solvers answer, and that it speaks of the system that is counted."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import prove
import pytest
import resume_contract as system
import z3

MODELS = Path(__file__).resolve().parents[2] / "models"


@pytest.mark.parametrize("query", list(prove.proof()), ids=lambda q: q.name)
def test_the_contract_is_proved(query):
    assert prove.ask(query.under()) == ("unsat", "unsat")


@pytest.mark.parametrize("action", system.ACTIONS)
def test_the_invariant_allows_each_action(action):
    """Else the proof would be about nothing."""
    assert prove.ask(prove.possible(action).under()) == ("sat", "sat")


@pytest.mark.parametrize("fault", system.FAULTS)
def test_a_fault_breaks_the_proof_in_its_action(fault):
    broken = {a for a in system.ACTIONS if prove.ask(prove.consecution(a).under(fault)) == ("sat", "sat")}
    sound = {a for a in system.ACTIONS if prove.ask(prove.consecution(a).under(fault)) == ("unsat", "unsat")}
    assert (broken, broken | sound) == (prove.BROKEN_IN[fault], set(system.ACTIONS))
    for action in broken:
        assert "    to    " in prove.counterexample(prove.consecution(action), fault)


@pytest.mark.parametrize("lemma", system.LEMMAS)
def test_each_lemma_is_needed(monkeypatch, lemma):
    """Without it the rest is not inductive, or not enough."""
    monkeypatch.delitem(system.INVARIANT, lemma)
    assert any(prove.ask_z3(prove.smt2(query.under())) == "sat" for query in prove.proof())


@pytest.mark.parametrize("fault", system.FAULTS)
def test_runs_break_what_the_search_found_in_as_many_states(fault):
    runs = prove.shortest(fault)
    pinned = {name: depth for (of, name), depth in prove.counted().items() if of == fault}
    assert len(pinned) == 6
    assert {name: runs[name][0] if name in runs else None for name in pinned} == pinned


# -- the encoding is the module ----------------------------------------------------------------------------------------


def test_names_are_the_modules():
    module = (MODELS / "ResumeContract.tla").read_text()
    variables = re.search(r"^vars == <<(.*?)>>", module, re.M | re.S)
    actions = re.search(r"^Next ==\n(.*?)\n\n", module, re.M | re.S)
    assert variables and actions
    assert re.findall(r"\w+", variables[1]) == list(system.State.__dataclass_fields__)
    assert re.findall(r"([A-Z]\w+)(?:\(v\))?$", actions[1], re.M) == list(system.ACTIONS)
    for name in system.CONTRACT:
        assert re.search(rf"^{name} *==", module, re.M), name
    assert set(re.findall(r"Fault(\w+)", module)) == set(system.FAULTS)


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
