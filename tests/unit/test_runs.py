"""How the writes of a run on a new thread, which has no token, find their run."""

from __future__ import annotations

from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from pydantic import BaseModel
from remit import RemitOrderViolation, RemitSaver, RemitValidityError
from remit._core import Prefix


class State(BaseModel):
    n: int = 0


def test_run_that_is_kept_alive_after_its_end_is_not_taken_for_the_next() -> None:
    """The exception of a refused first run holds its frames, and they hold the run. The thread is still new."""
    saver = RemitSaver(InMemorySaver(), validator=State)
    protocol = saver._protocol
    seen: list[Any] = []

    def node(_: Any) -> Any:
        run = protocol.fresh.get(("t", ""))
        seen.append(run is not None and not run.has_ended and not run.is_ambiguous)
        return {"n": 1}

    graph: Any = StateGraph(dict).add_node("node", node).add_edge(START, "node").compile(checkpointer=saver)
    config: Any = {"configurable": {"thread_id": "t"}}
    kept = []
    for _ in range(2):
        with pytest.raises(RemitValidityError) as error:
            graph.invoke({"n": "many"}, config, durability="sync")
        kept.append((error.value, protocol.fresh.get(("t", ""))))
    assert all(run is not None and run.has_ended for _, run in kept)  # else this shows nothing
    seen.clear()
    graph.invoke({"n": 0}, config, durability="sync")
    assert seen == [True]


def test_two_runs_that_start_on_one_new_thread_are_nobodys() -> None:
    """Which of them writes cannot be told, so neither is named. But the line is theirs, and one took it on."""
    saver = RemitSaver(InMemorySaver())
    protocol = saver._protocol
    found: list[Any] = []

    def node(state: Any) -> Any:
        if not found:
            found.append(None)
            graph.invoke({"n": 2}, {"configurable": {"thread_id": "t", "checkpoint_ns": ""}})
        run = protocol.fresh.get(("t", ""))
        found.append(run is not None and run.is_ambiguous)
        return {"n": 1}

    graph: Any = StateGraph(dict).add_node("node", node).add_edge(START, "node").compile(checkpointer=saver)
    with pytest.raises(RemitOrderViolation):
        graph.invoke({"n": 0}, {"configurable": {"thread_id": "t"}}, durability="exit")
    assert found[-1] is True


def test_a_refused_checkpoint_leaves_no_trace_in_the_prefix() -> None:
    """Not even of its id: with another parent it is out of line as it would have been at first."""
    prefix = Prefix("head")
    assert prefix.commit("a", "head", False) == ("invalid-state", "")
    assert prefix.commit("a", "other", True) == ("out-of-lineage", "head")
    assert (prefix.commit("a", "head", True), prefix.head) == (None, "a")
    assert prefix.commit("a", "head", True) == ("durable-step", "0")
