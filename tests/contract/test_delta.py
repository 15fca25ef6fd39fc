"""Threads with DeltaChannels, whose values are rebuilt from pending writes: what REMIT stores there must not get in."""

from __future__ import annotations

from typing import Annotated, Any, TypedDict

import pytest
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt
from pydantic import BaseModel, model_validator
from remit import RemitError, RemitValidityError
from stores import Store

delta = pytest.importorskip("langgraph.channels.delta", reason="this LangGraph has no DeltaChannel")
CONFIG: Any = {"configurable": {"thread_id": "thread"}}


def extend(log: list[str] | None, writes: list[list[str]]) -> list[str]:
    return [*(log or ()), *(line for write in writes for line in write)]


class State(TypedDict, total=False):
    log: Annotated[list, delta.DeltaChannel(extend)]
    debit: int
    credit: int


class Balanced(BaseModel):
    debit: int = 0
    credit: int = 0

    @model_validator(mode="after")
    def balances(self) -> Any:
        if self.debit != self.credit:
            raise ValueError("debit and credit differ")
        return self


def test_outputs_that_were_taken_back_are_not_rebuilt(saver_factory: Store) -> None:
    """Two nodes side by side break a rule together. After the fix, what they put out then counts, and no more."""
    credit, mark = 2, "bad"

    def left(_: Any) -> Any:
        return {"log": [f"left {mark}"], "debit": 1}

    def right(_: Any) -> Any:
        return {"log": [f"right {mark}"], "credit": credit}

    builder = StateGraph(State).add_node("left", left).add_node("right", right)
    builder.add_node("after", lambda _: {"log": ["after"]})
    builder.add_edge(START, "left").add_edge(START, "right").add_edge(["left", "right"], "after")
    graph = builder.compile(checkpointer=saver_factory.wrapped(validator=Balanced))
    with pytest.raises(RemitValidityError):
        graph.invoke({"log": ["in"]}, CONFIG, durability="sync")
    assert graph.get_state(CONFIG).values["log"] == ["in"]
    credit, mark = 1, "good"
    expected = ["in", "left good", "right good", "after"]
    assert graph.invoke(None, CONFIG, durability="sync")["log"] == expected
    # langgraph-checkpoint 4.1 rebuilds the writes of one step in the order of their task ids
    assert sorted(graph.get_state(CONFIG).values["log"]) == sorted(expected)


def test_fork_where_the_line_still_stands_is_refused(saver_factory: Store) -> None:
    """Its rows would lie among the main line's. The main line is untouched, and goes on."""

    def node(_: Any) -> Any:
        return {"log": [interrupt("a?"), interrupt("b?")]}

    builder = StateGraph(State).add_node("node", node).add_edge(START, "node")
    graph = builder.compile(checkpointer=saver_factory.wrapped())
    graph.invoke({"log": ["in"]}, CONFIG)
    forked: Any = {"configurable": {"thread_id": "thread", "remit_fork": "x"}}
    with pytest.raises(RemitError, match="DeltaChannels") as error:
        graph.invoke(Command(resume="x1"), forked)
    assert error.value.code == "fork-delta"
    assert [q.value for q in graph.invoke(Command(resume="m1"), CONFIG)["__interrupt__"]] == ["b?"]
    assert graph.invoke(Command(resume="m2"), CONFIG)["log"] == ["in", "m1", "m2"]
    assert graph.get_state(CONFIG).values["log"] == ["in", "m1", "m2"]
