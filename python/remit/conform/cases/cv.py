"""CV, checkpoint validity. The factory is told the state's schema if it takes an argument `validator`."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from ..graphs import Typed
from ..stage import Graph
from ..trial import Trial
from .registry import case


async def _invalid(graph: Graph) -> list[str]:
    """What is durable although the schema does not allow it: the channels' names."""
    return sorted({channel for channel, value in await graph.stored() if not _allowed(channel, value)})


def _allowed(channel: str, value: Any) -> bool:
    if channel not in Typed.model_fields:
        return True  # a channel of the framework's own
    try:
        Typed.model_validate({channel: value})
    except ValidationError:
        return False
    return True


async def _refused(t: Trial, shape: str, effects: list[str]) -> None:
    async with t.graph(shape, validator=Typed, fails_at="writer") as (graph, _):
        broken = await graph.start({"items": ["a"]})
    async with t.graph(shape, validator=Typed, fails_at="writer") as (graph, _):
        again = await graph.go_on()
    async with t.graph(shape, validator=Typed) as (graph, _):
        invalid = await _invalid(graph)
        try:
            seen: Any = (await graph.state()).values.get("items")
        except ValueError as error:
            seen = type(error).__name__
        before = t.effects
        fixed = await graph.go_on()
    t.note(raised=broken.ended, invalid=invalid, state=seen)
    t.check("the invalid update is refused loudly", broken.raised)
    t.check("and is again", again.raised)
    t.check("nothing invalid is durable", not invalid)
    t.check("the last valid state is what is seen", seen == ["a"])
    t.check("nothing acts on the invalid state", before == [])
    t.check("after the fix the thread completes", fixed.finished and fixed.values.get("items") == ["good"])
    t.check("each effect happens once", t.effects == effects)


@case("CV", "cv-end", "the last step returns what the schema does not allow; then the code is fixed")
async def at_the_end(t: Trial) -> None:
    await _refused(t, "schema", [])


@case("CV", "cv-middle", "the same with a step after it")
async def in_the_middle(t: Trial) -> None:
    await _refused(t, "schema_then", ["after"])


@case("CV", "cv-update", "a change from outside that the schema does not allow")
async def from_outside(t: Trial) -> None:
    async with t.graph("schema", validator=Typed) as (graph, _):
        await graph.start({"items": ["a"]})
        try:
            await graph.update({"items": [None]}, as_node="writer")
            raised = ""
        except Exception as error:
            raised = type(error).__name__
        invalid = await _invalid(graph)
    t.note(raised=raised, invalid=invalid)
    t.check("it is refused loudly", bool(raised))
    t.check("nothing invalid is durable", not invalid)


@case("CV", "cv-valid", "a valid run and a valid change are not refused")
async def valid(t: Trial) -> None:
    async with t.graph("schema_then", validator=Typed) as (graph, _):
        ran = await graph.start({"items": ["a"]})
        await graph.update({"items": ["b"]}, as_node="writer")
        changed = await graph.state()
    t.check("the run completes", ran.finished and ran.values.get("n") == 1)
    t.check("the change is stored", changed.values.get("items") == ["b"])
