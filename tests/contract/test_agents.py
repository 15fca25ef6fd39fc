"""langchain's agents with human review, over a scripted chat model: decisions reach the calls they are for.

Stock: a malformed decision is served for ever, the thread never recovers.
"""

from __future__ import annotations

from typing import Any

import pytest
from graphs import Thread
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.types import Command

agents = pytest.importorskip("langchain.agents", reason="langchain is not installed")
middleware = pytest.importorskip("langchain.agents.middleware")

backends = pytest.mark.parametrize("world", ["memory", "sqlite", "postgres", "asqlite", "apg"], indirect=True)
one_backend = pytest.mark.parametrize("world", ["sqlite"], indirect=True)

APPROVE: Any = {"type": "approve"}
MALFORMED: Any = {"type": "aprove"}
REJECT: Any = {"type": "reject", "message": "too much"}


def edit(order):
    return {"type": "edit", "edited_action": {"name": "refund", "args": {"order": order}}}


class Script(BaseChatModel):
    """In turn k the model calls the refund tool for the orders in `turns[k]`; after the last it says goodbye."""

    turns: list[list[str]]

    @property
    def _llm_type(self) -> str:
        return "script"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        turn = sum(isinstance(message, AIMessage) for message in messages)
        calls = [
            {"name": "refund", "args": {"order": order}, "id": f"{turn}-{order}"}
            for order in (self.turns[turn] if turn < len(self.turns) else [])
        ]
        reply = AIMessage("" if calls else "goodbye", tool_calls=calls)
        return ChatResult(generations=[ChatGeneration(message=reply)])


def agent(ledger, *turns, **review):
    def build(saver):
        @tool
        def refund(order: str) -> str:
            """Pay an order back."""
            ledger.fire("refund", order)
            return f"paid {order}"

        gate = middleware.HumanInTheLoopMiddleware(interrupt_on={"refund": True}, **review)
        return agents.create_agent(Script(turns=list(turns)), tools=[refund], middleware=[gate], checkpointer=saver)

    return build


class Review:
    """A reviewer of an agent's thread."""

    def __init__(self, thread: Thread) -> None:
        self.thread = thread

    async def _call(self, input: Any) -> Any:
        graph, config = self.thread.graph, self.thread.config
        try:
            result = await graph.ainvoke(input, config) if self.thread.is_async else graph.invoke(input, config)
        except Exception as e:
            return type(e).__name__
        if "__interrupt__" in result:
            return "asks"
        return str(result["messages"][-1].text)

    async def start(self) -> Any:
        return await self._call({"messages": [("user", "please")]})

    async def decide(self, *decisions: Any) -> Any:
        return await self._call(Command(resume={"decisions": list(decisions)}))

    async def decide_by_id(self, *decisions: Any) -> Any:
        [id] = await self._ids()
        return await self._call(Command(resume={id: {"decisions": list(decisions)}}))

    async def decide_each(self, decisions: dict[str, Any]) -> Any:
        """One decision per tool call, by the order it is about (`per_call`)."""
        tasks = (await self.thread.state()).tasks
        ids = {q.value["args"]["order"]: q.id for task in tasks for q in task.interrupts}
        return await self._call(Command(resume={ids[order]: decision for order, decision in decisions.items()}))

    async def go_on(self) -> Any:
        return await self._call(None)

    async def _ids(self) -> list[str]:
        return [q.id for task in (await self.thread.state()).tasks for q in task.interrupts]

    async def answers(self) -> list[str]:
        messages = (await self.thread.state()).values["messages"]
        return [str(m.content) for m in messages if isinstance(m, ToolMessage)]


@backends
@pytest.mark.parametrize("form", ["bare", "id"])
async def test_malformed_decision_then_a_right_one(world, ledger, form):
    build = agent(ledger, ["A"])
    review = Review(await world.thread(build))
    decide = review.decide if form == "bare" else review.decide_by_id
    assert await review.start() == "asks"
    assert await decide(MALFORMED) == "ValueError"
    assert await decide(MALFORMED) == "ValueError"
    assert ledger.fired() == []
    later = Review(await world.thread(build))
    assert await (later.decide if form == "bare" else later.decide_by_id)(APPROVE) == "goodbye"
    assert ledger.fired("refund") == ["A"]


@one_backend
@pytest.mark.parametrize(
    ("decision", "paid"), [(APPROVE, ["A"]), (edit("B"), ["B"]), (REJECT, [])], ids=["approve", "edit", "reject"]
)
@pytest.mark.parametrize("malformed", [False, True])
async def test_each_decision(world, ledger, decision, paid, malformed):
    """Without the malformed one it is a guard."""
    review = Review(await world.thread(agent(ledger, ["A"])))
    await review.start()
    if malformed:
        assert await review.decide(MALFORMED) == "ValueError"
    assert await review.decide(decision) == "goodbye"
    assert ledger.fired("refund") == paid
    assert len(await review.answers()) == 1


@one_backend
async def test_wrong_number_of_decisions_for_parallel_calls(world, ledger):
    review = Review(await world.thread(agent(ledger, ["A", "B", "C"])))
    assert await review.start() == "asks"
    assert await review.decide(APPROVE) == "ValueError"
    assert await review.decide(APPROVE, MALFORMED, APPROVE) == "ValueError"
    assert ledger.fired() == []
    assert await review.decide(APPROVE, REJECT, edit("D")) == "goodbye"
    assert sorted(ledger.fired("refund")) == ["A", "D"]


@backends
async def test_each_turn_asks_anew(world, ledger):
    """A decision is for the turn it was made in."""
    build = agent(ledger, ["A"], ["B", "C"])
    review = Review(await world.thread(build))
    assert await review.start() == "asks"
    assert await review.decide(APPROVE) == "asks"
    assert await review.go_on() == "asks"
    assert ledger.fired("refund") == ["A"]
    assert await review.decide(MALFORMED, APPROVE) == "ValueError"
    assert await Review(await world.thread(build)).decide(REJECT, APPROVE) == "goodbye"
    assert ledger.fired("refund") == ["A", "C"]


@pytest.fixture
def per_call():
    """One question per tool call, each in a task of its own, checked against a response schema."""
    from inspect import signature

    if "interrupt_mode" not in signature(middleware.HumanInTheLoopMiddleware.__init__).parameters:
        pytest.skip("this langchain has no interrupt_mode")
    return {"interrupt_mode": "per_call"}


@pytest.mark.parametrize("world", ["memory", "sqlite", "apg"], indirect=True)
async def test_one_question_per_call_one_of_them_malformed(world, ledger, per_call):
    """A guard: LangGraph lets the right ones finish. They are not run again when the malformed one is corrected."""
    build = agent(ledger, ["A", "B", "C"], **per_call)
    review = Review(await world.thread(build))
    assert await review.start() == "asks"
    assert await review.decide_each({"A": APPROVE, "B": MALFORMED, "C": REJECT}) == "ValidationError"
    assert ledger.fired("refund") == ["A"]
    assert await Review(await world.thread(build)).decide_each({"B": edit("B")}) == "goodbye"
    assert ledger.fired("refund") == ["A", "B"]
    assert len(await review.answers()) == 3


@one_backend
async def test_question_per_call_answered_one_by_one(world, ledger, per_call):
    build = agent(ledger, ["A", "B"], **per_call)
    review = Review(await world.thread(build))
    assert await review.start() == "asks"
    assert await review.decide_each({"B": APPROVE}) == "asks"
    assert await Review(await world.thread(build)).decide_each({"A": APPROVE}) == "goodbye"
    assert ledger.fired("refund") == ["B", "A"]


@one_backend
async def test_bare_answer_that_the_schema_refuses(world, ledger, per_call):
    review = Review(await world.thread(agent(ledger, ["A"], **per_call)))
    assert await review.start() == "asks"
    assert await review._call(Command(resume=MALFORMED)) == "ValidationError"
    assert await review._call(Command(resume=MALFORMED)) == "ValidationError"
    assert await review._call(Command(resume=APPROVE)) == "goodbye"
    assert ledger.fired("refund") == ["A"]
