"""LangGraphFork's two rules, held against LangGraph: LGF-A is the stock saver, LGF-B is RemitSaver.

The protocols of `forks.txt` are not those that the rule was found with. `forks.jsonl` is what the model predicts of
them (`cargo run -p remit-model -- predict tests/model/forks.txt`); it was in the repository before they were first run.
A protocol is a row of answers: `c1=va` sends va to the checkpoint where the first question was asked, `c2` is the next
checkpoint at which the thread parked, braces stand for an answer by interrupt id, and the dash for a stray: sent to no
checkpoint, after the thread had finished.
"""

from __future__ import annotations

import json
import operator
import warnings
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt
from remit import RemitStrayResume

PREDICTED = [json.loads(line) for line in Path(__file__).with_name("forks.jsonl").read_text().splitlines()]
UNKNOWN_ID = "f" * 32


class State(TypedDict, total=False):
    log: Annotated[list[str], operator.add]


class Thread:
    """A thread of one gate after the other: as many as the protocol has answers in a row."""

    def __init__(self, saver: Any, gates: int) -> None:
        self.served: list[tuple[int, str]] = []
        builder, last = StateGraph(State), START
        for gate in range(gates):
            builder.add_node(f"n{gate}", self._gate(gate)).add_edge(last, f"n{gate}")
            last = f"n{gate}"
        self.graph: Any = builder.compile(checkpointer=saver)
        self.parked: list[tuple[str, int, str]] = []  # checkpoint, gate, interrupt id
        self.call({"log": []})

    def _gate(self, gate: int) -> Any:
        def node(_: State) -> State:
            answer = interrupt(gate)
            self.served.append((gate, answer))
            return {"log": [answer]}

        return node

    def call(self, input: Any, checkpoint: str | None = None) -> list[tuple[int, str]]:
        """What the gates were served in this call."""
        self.served.clear()
        thread = {"configurable": {"thread_id": "t"}}
        address = {"checkpoint_id": checkpoint} if checkpoint is not None else {}
        self.graph.invoke(input, {"configurable": {**thread["configurable"], **address}})
        head = self.graph.get_state(thread)
        at = head.config["configurable"]["checkpoint_id"]
        for question in head.interrupts:
            if at not in [p[0] for p in self.parked]:
                self.parked.append((at, question.value, question.id))
        return list(self.served)


def run(saver: Any, steps: str) -> list[str]:
    """What each answer was served. A stray must be served nothing."""
    words = [step.split("=") for step in steps.split()]
    thread = Thread(saver, 2 if any(place == "c2" for place, _ in words) else 1)
    served = []
    for place, word in words:
        value = word.strip("{}")
        if place == "-":
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RemitStrayResume)
                assert thread.call(Command(resume={UNKNOWN_ID: value} if word != value else value)) == []
            continue
        checkpoint, gate, id = thread.parked[int(place[1:]) - 1]
        answered = thread.call(Command(resume={id: value} if word != value else value), checkpoint)
        assert [g for g, _ in answered] == [gate]
        served.append(answered[0][1])
    return served


@pytest.mark.parametrize("protocol", PREDICTED, ids=lambda p: p["protocol"])
def test_the_stock_saver_follows_the_rule_of_the_checkpoint(saver_factory, protocol):
    assert run(saver_factory.inner(), protocol["steps"]) == protocol["LGF-A"]


@pytest.mark.parametrize("protocol", PREDICTED, ids=lambda p: p["protocol"])
def test_the_wrapped_saver_follows_the_rule_of_the_ordinal(saver_factory, protocol):
    assert run(saver_factory.wrapped(), protocol["steps"]) == protocol["LGF-B"]
