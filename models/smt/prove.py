"""Asks two SMT solvers whether the contract is an inductive invariant, and in which action each fault breaks it.

    python models/smt/prove.py             # exit status 1 if an answer of z3 or cvc5 is not the expected one
    python models/smt/prove.py --smt2 DIR  # also writes each query as an SMT-LIB file, for any other solver

`unsat`: no step of any run of any size does what the query asks for. `sat`: some step does, and is shown.
"""

from __future__ import annotations

import argparse
import csv
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cvc5
import effects
import z3
from companions import CONSUME_COUNT, PARKED, UNCOUNTED
from resume_contract import (
    FAIR,
    FAULTS,
    IP,
    NONE,
    RESUME_CONTRACT,
    Answer,
    MaxCrashes,
    MaxExtra,
    MaxResumes,
    N,
    Seq,
    State,
    System,
    any_state,
    remaining,
)
from z3 import And, Implies, Not, Or

ROOT = Path(__file__).resolve().parent.parent
TIMEOUT_MS = 60_000

# -- queries -----------------------------------------------------------------------------------------------------------

ANSWER, REEXEC = z3.Const("answer", Answer), z3.Bool("reexec")


@dataclass(frozen=True)
class Query:
    """What is asked for, of a step from one state to another (of one state, where they are the same)."""

    system: System
    name: str
    asks: Any
    before: State
    after: State

    def under(self, *on: str) -> Any:
        """With these switches on."""
        return And(self.system.assuming(*on), self.asks)


def step(of: System, action: str) -> tuple[State, Any, State]:
    """A state that satisfies the invariant, that the action is possible there, and the state after it."""
    s = of.any_state()
    guard, after = of.actions[action](s, ANSWER, REEXEC)
    return s, And(of.is_known(s), guard), after


def initiation(of: System) -> Query:
    s = of.initial()
    return Query(of, "initiation", Not(of.is_known(s)), s, s)


def consecution(of: System, action: str) -> Query:
    s, taken, after = step(of, action)
    return Query(of, f"consecution: {action}", And(taken, Not(of.is_known(after))), s, after)


def safety(of: System) -> Query:
    s = of.any_state()
    return Query(of, "safety", And(of.is_known(s), Not(of.is_safe(s))), s, s)


def stuck(of: System) -> Query:
    """EventuallyCompletes: a run that is not complete can do one of the fair actions."""
    s = of.any_state()
    enabled = (of.is_enabled(action, s) for action in FAIR)
    return Query(of, "progress: stuck", And(of.is_known(s), s.pc != N + 1, Not(Or(*enabled))), s, s)


def progress(of: System, action: str) -> Query:
    """And a fair action brings the end nearer; another one does not put it off, and leaves the fair ones possible."""
    s, taken, after = step(of, action)
    if action in FAIR:
        kept = And(remaining(after) >= 0, remaining(after) < remaining(s))
    else:
        possible = (Implies(of.is_enabled(f, s), of.is_enabled(f, after)) for f in FAIR)
        kept = And(remaining(after) == remaining(s), *possible)
    return Query(of, f"progress: {action}", And(taken, Not(kept)), s, after)


def possible(of: System, action: str) -> Query:
    s, taken, after = step(of, action)
    return Query(of, f"possible: {action}", taken, s, after)


def is_safe(of: System) -> Iterator[Query]:
    """What must be `unsat` for the contract to hold."""
    yield initiation(of)
    for action in of.actions:
        yield consecution(of, action)
    yield safety(of)


def goes_on(of: System) -> Iterator[Query]:
    """What must be `unsat`, too, for each run to complete."""
    yield stuck(of)
    for action in of.actions:
        yield progress(of, action)


# -- solvers -----------------------------------------------------------------------------------------------------------


def solver_for(*assertions: Any) -> z3.Solver:
    solver = z3.Solver()
    solver.set("timeout", TIMEOUT_MS)
    solver.add(*assertions)
    return solver


def smt2(asks: Any) -> str:
    """The query as SMT-LIB 2.6."""
    text: str = solver_for(asks).to_smt2()
    return "(set-logic ALL)\n" + re.sub(r"^;.*\n|^\(set-info .*\n", "", text, flags=re.M)


def ask_z3(text: str) -> str:
    solver = z3.Solver()
    solver.set("timeout", TIMEOUT_MS)
    solver.from_string(text)
    return str(solver.check())


def ask_cvc5(text: str, models: bool = True) -> str:
    solver = cvc5.Solver()
    solver.setOption("tlimit-per", str(TIMEOUT_MS))
    # the quantifiers run over bounded integers; with this it finds models, too
    for option in ("fmf-bound", "arrays-exp") if models else ():
        solver.setOption(option, "true")
    parser = cvc5.InputParser(solver)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, text, "query")
    symbols = parser.getSymbolManager()
    said = ""
    while not (command := parser.nextCommand()).isNull():
        said += command.invoke(solver, symbols)
    return said.strip()


def ask(asks: Any, models: bool = True) -> tuple[str, str]:
    """The answers of z3 and of cvc5 to the same text; `models`: let cvc5 look for one."""
    text = smt2(asks)
    return ask_z3(text), ask_cvc5(text, models)


# -- counterexamples ---------------------------------------------------------------------------------------------------


def shown(s: State, model: z3.ModelRef) -> dict[str, str]:
    """A state of a model, as TLC would write it."""
    answers = {str(model.eval(NONE, model_completion=True)): "None"}

    def value(term: Any) -> str:
        text = str(model.eval(term, model_completion=True))
        if term.sort() == Answer:
            return answers.setdefault(text, f"v{len(answers)}")
        return {"True": "TRUE", "False": "FALSE"}.get(text, text)

    def element(seq: Seq, i: int) -> str:
        fields = [value(z3.Select(f, i)) for f in seq.fields]
        return fields[0] if len(fields) == 1 else f"<<{', '.join(fields)}>>"

    def written(term: Any) -> str:
        if isinstance(term, Seq):
            return f"<<{', '.join(element(term, i + 1) for i in range(int(value(term.length))))}>>"
        if isinstance(term.sort(), z3.ArraySortRef):
            return f"<<{', '.join(value(z3.Select(term, t + 1)) for t in range(int(value(N))))}>>"
        return value(term)

    return {name: written(getattr(s, name)) for name in s.__dataclass_fields__}


def changed(before: Mapping[str, str], after: Mapping[str, str]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in after.items() if before.get(name) != value)


def counterexample(query: Query, *on: str) -> str:
    """A small step that a satisfiable query asks for."""
    s = query.before
    small = And(N <= 3, *(seq.length <= 2 for seq in (s.log, s.forkVals, s.recHist)))
    solver = solver_for(query.under(*on), small)
    assert solver.check() == z3.sat, f"{query.name}: no small counterexample"
    model = solver.model()
    before, after = shown(s, model), shown(query.after, model)
    constants = ", ".join(f"{c} = {model.eval(c, model_completion=True)}" for c in (N, IP, MaxResumes))
    text = f"    {constants}\n    from  {changed({}, before)}\n"
    return text if query.after is s else f"{text}    to    {changed(before, after)}\n"


def broken_by(of: System, action: str, *on: str) -> list[str]:
    """The parts of contract and invariant that one step can break."""
    _, taken, after = step(of, action)
    every = of.contract | of.invariant
    asked = {name: solver_for(of.assuming(*on), taken, Not(holds(after))) for name, holds in every.items()}
    return [name for name, solver in asked.items() if solver.check() == z3.sat]


# -- runs from Init ----------------------------------------------------------------------------------------------------

DEPTH = 11  # states; no run at these bounds is longer


def bounds(fault: str) -> list[tuple[Any, int]]:
    """Those of the fault matrix: two crashes where recoveries are to differ."""
    crashes = 2 if fault == "NondetRecovery" else 1
    return [(N, 3), (IP, 2), (MaxResumes, 2), (MaxCrashes, crashes), (MaxExtra, 1)]


def shortest(fault: str) -> dict[str, tuple[int, list[str]]]:
    """For each property that some run from Init breaks: how many states the shortest such run has, and its actions."""
    of = RESUME_CONTRACT
    solver = solver_for(of.assuming(fault), *(constant == n for constant, n in bounds(fault)))
    s, taken = of.initial(), []
    found: dict[str, tuple[int, list[str]]] = {}
    for depth in range(1, DEPTH + 1):
        for name, holds in of.contract.items():
            if name in found:
                continue
            solver.push()
            solver.add(Not(holds(s)))
            if solver.check() == z3.sat:
                found[name] = depth, [list(of.actions)[solver.model().eval(a).as_long()] for a in taken]
            solver.pop()
        t, number = any_state(), z3.Int(f"action_{depth}")
        v, d = z3.Const(f"answer_{depth}", Answer), z3.Bool(f"reexec_{depth}")
        steps = ((n, *act(s, v, d)) for n, act in enumerate(of.actions.values()))
        solver.add(Or(*(And(number == n, guard, t.equals(after)) for n, guard, after in steps)))
        taken.append(number)
        s = t
    return found


def counted() -> dict[tuple[str, str], int | None]:
    """What the explicit-state search counted: the states of the shortest counterexample of each cell, if it has one."""
    with open(ROOT / "results.csv", newline="") as file:
        rows = [r for r in csv.DictReader(file) if r["module"] == "ResumeContract" and r["run"].startswith("matrix/")]
    cells = {}
    for r in rows:
        fault, cell = r["run"].removeprefix("matrix/").rsplit("_", 1)
        cells[fault, cell] = int(r["depth"]) if r["verdict"] != "all hold" else None
    return cells


# -- the command -------------------------------------------------------------------------------------------------------

# The actions in which each fault breaks the invariant; in all others it stays inductive.
BROKEN_IN = {
    "Replay": {"CrashRecover"},
    "ForkIgnore": {"ForkResume"},
    "InvalidPersist": {"ExecTask", "Consume"},
    "NondetRecovery": {"CrashRecover"},
    "DoubleConsume": {"ExtraResume"},
    "PrefixReplay": {"CrashRecover"},
}
RACE, FIRING_RACE = ("RaceEnabled",), ("RaceEnabled", "RaceFires")


def agenda() -> Iterator[tuple[str, tuple[str, ...], list[tuple[Query, str]]]]:
    """Under a heading, with some switches on: queries, and the answers they must have."""

    def unsat(*queries: Iterator[Query]) -> list[tuple[Query, str]]:
        return [(query, "unsat") for some in queries for query in some]

    def broken_in(of: System, actions: set[str]) -> list[tuple[Query, str]]:
        return [(consecution(of, a), "sat" if a in actions else "unsat") for a in of.actions]

    every = "for every number of tasks, answers, resumes, crashes and strays"
    for of in (RESUME_CONTRACT, CONSUME_COUNT, PARKED):
        yield f"{of.name}, {every}", (), unsat(is_safe(of), goes_on(of))
        yield f"{of.name} is not vacuous", (), [(possible(of, a), "sat") for a in of.actions if a != "RaceConsume"]
    for fault in FAULTS:
        yield f"Fault{fault}", (fault,), broken_in(RESUME_CONTRACT, BROKEN_IN[fault])
    yield "A second consumer", RACE, broken_in(CONSUME_COUNT, {"RaceConsume"})
    yield "A second consumer: all but the count holds", RACE, unsat(is_safe(UNCOUNTED), goes_on(UNCOUNTED))
    yield "A second consumer that fires", FIRING_RACE, broken_in(CONSUME_COUNT, {"RaceConsume"})
    yield "Volatile parking is safe", ("VolatileParking",), unsat(is_safe(PARKED))
    yield "Volatile parking is dead", ("VolatileParking",), [(stuck(PARKED), "sat")]


def runs_of(fault: str) -> Iterator[str]:
    """The shortest runs from Init that break something."""
    for name, (depth, actions) in shortest(fault).items():
        yield f"  {name} is broken after {depth} states: {' '.join(actions)}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smt2", type=Path, metavar="DIR", help="write each query there")
    directory: Path | None = parser.parse_args().smt2
    wrong = 0
    for heading, on, queries in agenda():
        print(f"\n{heading}:")
        for query, expected in queries:
            asks = query.under(*on)
            answers = ask(asks)
            wrong += answers != (expected, expected)
            print(f"{query.name:28} z3 {answers[0]:8} cvc5 {answers[1]}")
            if expected == answers[0] == "sat" and not query.name.startswith("possible"):
                if query.name.startswith("consecution"):
                    action = query.name.partition(": ")[2]
                    print(f"  {action} breaks: {'; '.join(broken_by(query.system, action, *on))}")
                print(counterexample(query, *on), end="")
            if directory is not None:
                directory.mkdir(parents=True, exist_ok=True)
                name = "-".join(re.findall(r"\w+", " ".join((query.system.name, *on, query.name))))
                (directory / f"{name}.smt2").write_text(smt2(asks))
        if on and on[0] in FAULTS:
            print(*runs_of(on[0]), sep="\n")
    for heading, asked in effects.agenda():
        print(f"\n{heading}:")
        for name, asks, expected in asked:
            answers = ask(asks, models=expected == "sat")
            wrong += answers != (expected, expected)
            print(f"{name:36} z3 {answers[0]:8} cvc5 {answers[1]}")
            if directory is not None:
                file = "-".join(re.findall(r"\w+", f"{heading} {name}"))
                (directory / f"{file}.smt2").write_text(smt2(asks))
    print(f"\n{wrong} answers are not as expected")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
