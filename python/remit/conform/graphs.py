"""The graphs that the cases run: each is the smallest one that shows its promise.

Nodes act by `site.fire(effect)` and say where they are by `site.point(name)`; what happens at a point (nothing, a
failure, a barrier) is the trial's choice.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Annotated, Any, Protocol, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, Send, interrupt
from pydantic import BaseModel


class Site(Protocol):
    """What a node can do to the world."""

    def fire(self, effect: str) -> None: ...

    def point(self, name: str) -> None: ...


class State(TypedDict, total=False):
    log: Annotated[list[Any], operator.add]
    v: Any


class Typed(BaseModel):
    """A state with a schema. LangGraph holds a node's input against it, not what a node returns."""

    items: list[str] = []
    n: int = 0


BAD = "bad"
"""An answer that the gate does not accept."""


class Refused(ValueError):
    """The node does not accept the answer."""


class Trouble(RuntimeError):
    """The node failed for a reason of its own."""


Node = Callable[[Any], Any]


def gate(site: Site) -> Any:
    """An effect, then a question, then an effect that depends on the answer."""

    def before(_: Any) -> Any:
        site.fire("before")
        return {"log": ["before"]}

    return _line(before=before, gate=_asking(site, "approve?", "after"))


def two_gates(site: Site) -> Any:
    """Two nodes that ask, one after the other."""
    return _line(first=_asking(site, "first?", "first"), second=_asking(site, "second?", "second"))


def two_questions(site: Site) -> Any:
    """One node that asks twice and acts on both answers."""

    def node(_: Any) -> Any:
        answers = [interrupt("first?"), interrupt("second?")]
        if BAD in answers:
            raise Refused(BAD)
        site.point("answered")
        site.fire(f"answers={answers[0]}+{answers[1]}")
        return {"v": answers}

    return _line(node=node)


def three_questions(site: Site) -> Any:
    """One node that asks three times and acts on all answers."""

    def node(_: Any) -> Any:
        answers = [interrupt(f"{ordinal}?") for ordinal in ("first", "second", "third")]
        site.fire(f"answers={'+'.join(answers)}")
        return {"v": answers}

    return _line(node=node)


def echo(_: Site) -> Any:
    """One node that keeps what it was answered."""
    return _line(node=lambda _: {"v": interrupt("value?")})


def two_askers(site: Site) -> Any:
    """Two nodes of one superstep that ask."""
    return _parallel(a=_asking(site, "a?", "a", keeps=False), b=_asking(site, "b?", "b", keeps=False))


def nested(site: Site) -> Any:
    """The gate inside a subgraph."""
    graph = StateGraph(State).add_node("child", gate(site).compile())
    return graph.add_edge(START, "child").add_edge("child", END)


def steps(site: Site) -> Any:
    """Three steps that act, one after the other."""
    return _line(one=_acting(site, "one"), two=_acting(site, "two"), three=_acting(site, "three"))


def siblings(site: Site) -> Any:
    """Three nodes of one superstep that act, and one after them."""
    return _parallel(a=_acting(site, "a"), b=_acting(site, "b"), c=_acting(site, "c"), then=_acting(site, "end"))


MANY = 24
"""More tasks than a page or a batch is likely to hold, and few enough to be quick."""


def many(site: Site) -> Any:
    """As many tasks of one superstep, of one node."""

    def work(given: Any) -> Any:
        site.point(f"task {given['v']}")
        site.fire(f"task {given['v']}")
        return {"log": [given["v"]]}

    graph: Any = StateGraph(State)
    graph.add_node("work", work).add_edge("work", END)
    return graph.add_conditional_edges(START, lambda _: [Send("work", {"v": n}) for n in range(MANY)], ["work"])


def several_writes(site: Site) -> Any:
    """Two nodes of one superstep; one of them writes twice to one channel, and `False`."""

    def a(_: Any) -> Any:
        site.fire("a")
        return Command(update=[("log", ["a1"]), ("log", ["a2"]), ("v", False)])

    return _parallel(a=a, b=_acting(site, "b"))


def schema(site: Site) -> Any:
    """A last step that breaks the state's schema, unless its point says otherwise."""
    return _typed(site).add_edge("writer", END)


def schema_then(site: Site) -> Any:
    """A step that breaks the schema, and a step after it that acts."""

    def after(_: Any) -> Any:
        site.fire("after")
        return {"n": 1}

    return _typed(site).add_node("after", after).add_edge("writer", "after").add_edge("after", END)


SHAPES: dict[str, Callable[[Site], Any]] = {
    function.__name__: function
    for function in (
        gate,
        two_gates,
        two_questions,
        three_questions,
        echo,
        two_askers,
        nested,
        steps,
        siblings,
        many,
        several_writes,
        schema,
        schema_then,
    )
}


def _asking(site: Site, question: str, effect: str, keeps: bool = True) -> Node:
    def node(_: Any) -> Any:
        answer = interrupt(question)
        if answer == BAD:
            raise Refused(answer)
        site.point("answered")
        site.fire(f"{effect}={answer}")
        site.point("fired")
        # `v` takes one value per superstep: parallel nodes cannot all keep their answer there.
        return {"log": [f"{effect}={answer}"], **({"v": answer} if keeps else {})}

    return node


def _acting(site: Site, name: str) -> Node:
    def node(_: Any) -> Any:
        site.point(name)
        site.fire(name)
        return {"log": [name]}

    return node


def _typed(site: Site) -> Any:
    def writer(_: Any) -> Any:
        try:
            site.point("writer")
        except Trouble:
            return {"items": [None]}
        return {"items": ["good"]}

    graph: Any = StateGraph(Typed)
    return graph.add_node("writer", writer).add_edge(START, "writer")


def _line(**nodes: Node) -> Any:
    graph: Any = StateGraph(State)
    last = START
    for name, node in nodes.items():
        graph.add_node(name, node)
        graph.add_edge(last, name)
        last = name
    graph.add_edge(last, END)
    return graph


def _parallel(then: Node | None = None, **nodes: Node) -> Any:
    graph: Any = StateGraph(State)
    for name, node in nodes.items():
        graph.add_node(name, node)
        graph.add_edge(START, name)
    if then is None:
        for name in nodes:
            graph.add_edge(name, END)
    else:
        graph.add_node("then", then)
        graph.add_edge(list(nodes), "then")
        graph.add_edge("then", END)
    return graph
