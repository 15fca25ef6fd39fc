"""Traces of the contract's model, replayed on a graph with RemitSaver on SQLite: what the model predicts must happen.

`traces.jsonl` holds the shortest counterexample of each faulty model, as far as it is made of what the outside does
(answers, crashes, strays), and random sequences, each with the reference's prediction after every step. It is printed
by `cargo run -p remit-model -- traces`. REMIT_TRACES names another such file: `make model-traces COUNT=500 SEED=1000`.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from plane import Driver

TRACES = [
    json.loads(line)
    for line in Path(os.environ.get("REMIT_TRACES", Path(__file__).with_name("traces.jsonl"))).read_text().splitlines()
]
FORKED = [t for t in TRACES if len({v for step in t["steps"] for v in step["served"]}) > 1]


def replayed(trace: dict[str, Any], driver: Driver, is_stock: bool = False) -> list[Any]:
    """The values served at the end; on the way every step must be as predicted. Of a stock saver nothing is expected
    of what is served, and no word of a stray."""
    for number, predicted in enumerate(trace["steps"], 1):
        action = predicted["action"]
        driver.perform(action)
        seen = {"action": action, **driver.seen()}
        if is_stock:
            seen["served"] = predicted["served"]
        assert seen == predicted, f"step {number}"
        strays = ["RemitStrayResume"] if action == "ExtraResume" and not is_stock else []
        assert driver.said == strays, f"step {number}"
    # what the model does not have: each branch runs to its end, and fires each effect from the gate on once
    tail = list(range(trace["gate"], trace["tasks"] + 1))
    assert driver.branches() == [tail] * driver.forks
    return driver.seen()["served"]


def shown(trace: dict[str, Any]) -> str:
    name: str = trace["name"]
    return name.replace("/", "-")


@pytest.fixture
def driver(tmp_path, trace, options):
    driver = Driver(tmp_path, trace, options)
    yield driver
    driver.close()


@pytest.mark.parametrize("options", [{}], ids=["plain"])
@pytest.mark.parametrize("trace", TRACES, ids=shown)
def test_what_the_model_predicts_happens(trace, driver, options):
    replayed(trace, driver)


@pytest.mark.parametrize("options", [{"cross_process_gate": True}], ids=["gated"])
@pytest.mark.parametrize("trace", [t for t in TRACES if not t["name"].startswith("seed")], ids=shown)
def test_the_gate_refuses_nothing_that_the_model_allows(trace, driver, options):
    """One consumer, and however often it crashes it is no conflict with itself."""
    replayed(trace, driver)


@pytest.mark.parametrize("options", [None], ids=["stock"])
@pytest.mark.parametrize("trace", FORKED[:4], ids=shown)
def test_a_stock_saver_does_what_the_fault_switch_predicts(trace, driver, options):
    """FaultForkIgnore: every later answer at the gate's checkpoint is served the first outcome. All else is the same."""
    served = replayed(trace, driver, is_stock=True)
    answers = trace["steps"][-1]["served"]
    assert served == [answers[0]] * len(answers) != answers


def test_the_traces_are_not_about_nothing():
    """Each action happens, forks before and after a crash, and a run that is brought to its end."""
    actions = [step["action"].partition("(")[0] for t in TRACES for step in t["steps"]]
    assert set(actions) >= {"ExecTask", "EmitInterrupt", "Consume", "ForkResume", "CrashRecover", "ExtraResume"}
    assert FORKED and any(t["steps"] and t["steps"][-1]["pc"] == t["tasks"] + 1 for t in TRACES)
