"""The fork protocol with a live model: a tool call is gated, approved, then answered otherwise at the same checkpoint.

    OPENAI_API_KEY=... python harness/live/fork.py [--model gpt-4o-mini] [--trials 5]

Opt-in: it costs money and its outcome depends on a model. Without a key it says that it is skipped. It needs langchain-openai
beside what `requirements/newest.txt` has. What it counts is in no result of this repository.
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="gpt-4o-mini")
    parser.add_argument("--trials", type=int, default=5)
    args = parser.parse_args()
    if not os.environ.get("OPENAI_API_KEY"):
        print("skipped: OPENAI_API_KEY is not set; the same protocol without a model is `remit conform`, case fd-bare")
        return 0
    from langgraph.checkpoint.memory import InMemorySaver
    from remit import RemitSaver

    for name, make in (("stock", InMemorySaver), ("RemitSaver", lambda: RemitSaver(InMemorySaver()))):
        served = [trial(make(), args.model, f"trial-{n}") for n in range(args.trials)]
        kept = sum(answers == ["approve", "reject"] for answers in served)
        print(f"{name}: {kept} of {args.trials} forks were served their own decision; {served}")
    return 0


def trial(saver: Any, model: str, thread: str) -> list[Any]:
    """The decisions that the gate was served, of approve and then reject at one checkpoint."""
    from langchain_openai import ChatOpenAI
    from langgraph.graph import START, MessagesState, StateGraph
    from langgraph.types import Command, interrupt

    def ask(state: MessagesState) -> Any:
        return {"messages": [ChatOpenAI(model=model).invoke("Say in five words why order A-1042 should be refunded.")]}

    served: list[Any] = []

    def gate(state: MessagesState) -> Any:
        served.append(interrupt(state["messages"][-1].content))
        return {}

    builder: Any = StateGraph(MessagesState).add_node("ask", ask).add_node("gate", gate)
    graph = builder.add_edge(START, "ask").add_edge("ask", "gate").compile(checkpointer=saver)
    config: Any = {"configurable": {"thread_id": thread}}
    graph.invoke({"messages": []}, config)
    parked = graph.get_state(config).config
    for decision in ("approve", "reject"):
        graph.invoke(Command(resume=decision), parked)
    return served


if __name__ == "__main__":
    sys.exit(main())
