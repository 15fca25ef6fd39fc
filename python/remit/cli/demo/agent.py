"""The same correction through langchain's `create_agent` with its human-in-the-loop middleware.

The chat model is scripted: it asks for the refund tool once, and says goodbye when the tool has answered.
"""

from __future__ import annotations

import re
from importlib.util import find_spec
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.types import Command

from remit.cli.demo.app import ORDER, PRICE_CENTS, Plane, Saver, attempt, effects_of
from remit.cli.demo.model import Delivery, Observation, Scenario
from remit.cli.demo.scenarios import TRIES
from remit.cli.demo.strays import NO_FALSE_ALARM, listening

GOODBYE = "The refund is done."
_CONFIG: RunnableConfig = {"configurable": {"thread_id": "refund-agent"}}


class ScriptedModel(BaseChatModel):
    """A chat model without a model: a function of whether the tool has answered yet."""

    @property
    def _llm_type(self) -> str:
        return "remit-demo-scripted"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        """The script knows its one tool already."""
        return self

    def _generate(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **_: Any) -> ChatResult:
        if any(isinstance(message, ToolMessage) for message in messages):
            reply = AIMessage(GOODBYE)
        else:
            arguments = {"order": ORDER, "amount_cents": PRICE_CENTS}
            reply = AIMessage("", tool_calls=[{"name": "refund", "args": arguments, "id": "call-1"}])
        return ChatResult(generations=[ChatGeneration(message=reply)])


def agent(plane: Plane) -> Observation:
    """The reviewer's decision has a type that does not exist; then it is right."""
    with plane.saver() as saver, listening() as reports:
        graph = _build(saver, plane)
        asked = attempt(lambda: graph.invoke({"messages": [("user", f"Refund order {ORDER}.")]}, _CONFIG))
        served = [_decide(graph, plane, decision) for decision in ("aprove", "approve")]
        while len(served) <= TRIES and served[-1].outcome != "finished":
            served.append(_decide(graph, plane, "approve"))
        messages = graph.get_state(_CONFIG).values["messages"]
    ledger = plane.ledger.read(plane.name, "agent")
    return Observation(
        served,
        ledger,
        notes={"last message": repr(str(messages[-1].text))},
        checks={
            "the agent asks before it acts": asked == "waiting",
            "the malformed decision is refused by the middleware": served[0].outcome == ValueError.__name__,
            "the next decision completes the thread": served[1].outcome == "finished",
            "the refund is paid once": ledger == effects_of("approve")[:1],
            "the agent says goodbye": messages[-1].text == GOODBYE,
            NO_FALSE_ALARM: not reports,
        },
    )


def _decide(graph: Any, plane: Plane, decision: str) -> Delivery:
    """Give a decision. What the middleware was handed shows in what it refuses, or in the tool's effect."""
    before = plane.ledger.read(plane.name, "agent")
    refusals: list[str] = []
    resume: Command[Any] = Command(resume={"decisions": [{"type": decision}]})
    outcome = attempt(lambda: graph.invoke(resume, _CONFIG), refusals)
    refused = re.search(r"type '(\w+)' is not allowed", "".join(refusals))
    if refused is not None:
        return Delivery(decision, refused[1], outcome)
    tool_ran = plane.ledger.read(plane.name, "agent") != before
    return Delivery(decision, "the tool ran" if tool_ran else None, outcome)


def _build(saver: Saver, plane: Plane) -> Any:
    # Imported late: langchain is the one package that the demo can do without.
    from langchain.agents import create_agent
    from langchain.agents.middleware import HumanInTheLoopMiddleware

    @tool
    def refund(order: str, amount_cents: int) -> str:
        """Pay an order back."""
        plane.ledger.record(plane.name, "agent", "pay", f"{order} {amount_cents} cents")
        return "paid"

    gated: dict[str, Any] = {"refund": {"allowed_decisions": ["approve", "reject"]}}
    review: Any = HumanInTheLoopMiddleware(interrupt_on=gated)
    return create_agent(ScriptedModel(), tools=[refund], middleware=[review], checkpointer=saver)


def _unavailable() -> str | None:
    return None if find_spec("langchain") else "langchain is not installed"


AGENT = Scenario(
    "agent",
    "re-answer in an agent",
    "create_agent with human review: a malformed decision, then the right one",
    agent,
    _unavailable,
)
