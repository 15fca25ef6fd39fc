"""FD, fork determinism: resumes that address the checkpoint where the question was asked."""

from __future__ import annotations

from typing import Any

from ..stage import Graph, Outcome
from ..trial import Trial
from .registry import case


async def _ask(t: Trial, shape: str = "gate") -> tuple[Any, Outcome]:
    """Park, and give the address of the checkpoint that asked."""
    async with t.graph(shape) as (graph, _):
        asked = await graph.start()
        return (await graph.state()).config, asked


async def _answers(t: Trial, at: Any, values: list[Any], shape: str = "gate") -> list[Outcome]:
    """Answers at an address, each by another worker."""
    outcomes = []
    for value in values:
        async with t.graph(shape) as (graph, _):
            outcomes.append(await graph.answer(value, at))
    return outcomes


def _judge(t: Trial, outcomes: list[Outcome], answers: list[str], effects: list[str]) -> None:
    t.note(served=[outcome.answer for outcome in outcomes])
    t.check("each answer is served as it was given", [outcome.answer for outcome in outcomes] == answers)
    t.check("each branch runs to its end", all(outcome.finished for outcome in outcomes))
    t.check("each branch has its own effect", t.effects == effects)


@case("FD", "fd-bare", "two answers at one checkpoint: yes, then no, then no")
async def bare(t: Trial) -> None:
    at, _ = await _ask(t)
    answers = ["yes", "no", "no"]
    _judge(t, await _answers(t, at, answers), answers, ["before", "after=yes", "after=no", "after=no"])


@case("FD", "fd-map", "the same, by the interrupt's id")
async def by_id(t: Trial) -> None:
    at, asked = await _ask(t)
    answers = ["yes", "no", "no"]
    named = [{asked.id_of("approve?"): answer} for answer in answers]
    _judge(t, await _answers(t, at, named), answers, ["before", "after=yes", "after=no", "after=no"])


@case("FD", "fd-same", "the same answer twice at one checkpoint")
async def same(t: Trial) -> None:
    at, _ = await _ask(t)
    answers = ["yes", "yes"]
    _judge(t, await _answers(t, at, answers), answers, ["before", "after=yes", "after=yes"])


@case("FD", "fd-second-gate", "two answers at the second of two gates")
async def second_gate(t: Trial) -> None:
    async with t.graph("two_gates") as (graph, _):
        await graph.start()
        await graph.answer("one")
        at = (await graph.state()).config
    answers = ["yes", "no"]
    outcomes = await _answers(t, at, answers, "two_gates")
    _judge(t, outcomes, answers, ["first=one", "second=yes", "second=no"])


@case("FD", "fd-nested", "two answers at one checkpoint, to a question in a subgraph")
async def nested(t: Trial) -> None:
    at, _ = await _ask(t, "nested")
    answers = ["yes", "no"]
    _judge(t, await _answers(t, at, answers, "nested"), answers, ["before", "after=yes", "after=no"])


@case("FD", "fd-apart", "a fork leaves the first branch as it was")
async def apart(t: Trial) -> None:
    at, _ = await _ask(t)
    async with t.graph("gate") as (graph, _):
        await graph.answer("yes")
        first = (await graph.state()).config
        await graph.answer("no", at)
    async with t.graph("gate") as (graph, _):
        kept, asking, fork = await graph.state(first), await graph.state(at), await graph.state()
        asked = await graph.state(fork.parent_config)
    t.check("the first branch keeps its answer", kept.values.get("v") == "yes" and not kept.next)
    t.check("the fork's origin keeps its question", asking.next == ("gate",) and asking.values["log"] == ["before"])
    t.check("the fork is a checkpoint of its own, and the head", _id(fork.config) != _id(first) and not fork.next)
    t.check("it leads back to its origin", _id(at) in (_id(asked.config), _id(asked.parent_config)))


@case("FD", "fd-address", "an address is the checkpoint that it names")
async def address(t: Trial) -> None:
    async with t.graph("steps") as (graph, _):
        await graph.start()
    async with t.graph("steps") as (graph, _):
        snapshots = await graph.history()
        found = [await graph.state(snapshot.config) for snapshot in snapshots]
        again = await _run_from(graph, snapshots)
    t.check("each address gives its own state", [s.values for s in found] == [s.values for s in snapshots])
    t.check("a run from an address continues there", again.values.get("log") == ["one", "two", "three"])
    t.check("and runs only what comes after it", t.effects == ["one", "two", "three", "two", "three"])


async def _run_from(graph: Graph, snapshots: list[Any]) -> Outcome:
    origin = next((snapshot for snapshot in snapshots if snapshot.next == ("two",)), None)
    return Outcome("lost") if origin is None else await graph.call(None, origin.config)


@case("FD", "fd-edit", "a change at an earlier address is a branch of its own, and the head")
async def edit(t: Trial) -> None:
    async with t.graph("steps") as (graph, _):
        await graph.start()
    async with t.graph("steps") as (graph, _):
        snapshots = await graph.history()
        at = next(snapshot.config for snapshot in snapshots if snapshot.next == ("two",))
        edited = await graph.update({"log": ["edited"]}, at, as_node="one")
    async with t.graph("steps") as (graph, _):
        head, shown = await graph.state(), await graph.state(edited)
        went_on = await graph.go_on()
    async with t.graph("steps") as (graph, _):
        first, origin = await graph.state(snapshots[0].config), await graph.state(at)
    t.check("the branch is the head", _id(head.config) == _id(edited) and head.values == shown.values)
    t.check("it follows the address", _id(head.parent_config) == _id(at))
    t.check("it goes on from there", went_on.values.get("log") == ["one", "edited", "two", "three"])
    t.check("it runs only what comes after it", t.effects == ["one", "two", "three", "two", "three"])
    t.check("the first branch is as it was", first.values.get("log") == ["one", "two", "three"] and not first.next)
    t.check("so is the address", origin.values.get("log") == ["one"] and origin.next == ("two",))


@case("FD", "fd-nested-address", "an address in a subgraph is the checkpoint that it names")
async def nested_address(t: Trial) -> None:
    async with t.graph("nested") as (graph, _):
        await graph.start()
        parked = (await graph.state(subgraphs=True)).tasks[0].state
        await graph.answer("yes")
    async with t.graph("nested") as (graph, _):
        found = await graph.state(parked.config)
    t.check("it waits where it waited", parked.next == found.next == ("gate",))
    t.check("its state is what it was", found.values == parked.values)


def _id(config: Any) -> Any:
    return config and config["configurable"].get("checkpoint_id")
