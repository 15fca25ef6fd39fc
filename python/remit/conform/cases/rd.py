"""RD, recovery determinism: what is durable decides, whatever the order in which it landed."""

from __future__ import annotations

from typing import Any

from ..trial import Trial
from .registry import case


@case("RD", "rd-orders", "the writes of two steps land in both orders before a third fails")
async def orders(t: Trial) -> None:
    seen: list[Any] = []
    for first, second in ("ab", "ba"):
        t.again()
        async with t.graph("siblings", fails_at="c", after=["a", "b"], order=[first, second]) as (graph, tap):
            await graph.start()
        landed = [name for name in tap.names_landed() if name in ("a", "b")]
        async with t.graph("siblings") as (graph, _):
            recovered = await graph.go_on()
        t.check(f"{first} lands before {second}", landed == [first, second])
        seen.append((recovered.ended, recovered.values, sorted(t.effects)))
    t.check("recovery is the same", seen[0] == seen[1])
    t.check("and is whole", seen[0][1].get("log") == ["a", "b", "c", "end"])


@case("RD", "rd-writes", "a step that writes twice to one channel is recovered from its writes")
async def writes(t: Trial) -> None:
    async with t.graph("several_writes", fails_at="b", after=["a1", "a2"]) as (graph, _):
        await graph.start()
    async with t.graph("several_writes") as (graph, _):
        recovered = await graph.go_on()
    t.note(log=recovered.values.get("log"))
    t.check("the step is not run again", t.effects == ["a", "b"])
    t.check("its writes come in their order", recovered.values.get("log") == ["a1", "a2", "b"])
    t.check("also one that is false", recovered.values.get("v") is False)


@case("RD", "rd-answers", "three questions of one node, answered by three workers, two of them alike")
async def answers(t: Trial) -> None:
    async with t.graph("three_questions") as (graph, _):
        await graph.start()
    for answer in ("x", "x", "y"):
        async with t.graph("three_questions") as (graph, _):
            last = await graph.answer(answer)
    t.note(served=last.answer)
    t.check("each answer is served to its question", t.effects == ["answers=x+x+y"])
    t.check("the thread is finished", last.finished)


@case("RD", "rd-recorded", "two recorded answers, then the node fails; another worker goes on")
async def recorded(t: Trial) -> None:
    async with t.graph("two_questions") as (graph, _):
        await graph.start()
        await graph.answer("x")
    async with t.graph("two_questions", fails_at="answered") as (graph, _):
        failed = await graph.answer("y")
    async with t.graph("two_questions") as (graph, _):
        went_on = await graph.go_on()
    t.note(served=went_on.answer)
    t.check("the failure is loud", failed.ended == "Trouble")
    t.check("each recorded answer is served to its question", t.effects == ["answers=x+y"])
    t.check("the thread is finished", went_on.finished)


@case("RD", "rd-twice", "one durable state, read twice")
async def twice(t: Trial) -> None:
    async with t.graph("siblings", fails_at="c", after=["a", "b"]) as (graph, _):
        await graph.start()
    seen = []
    for _ in range(2):
        async with t.graph("siblings") as (graph, _):
            state = await graph.state()
            seen.append((state.config, state.next, state.values, [task.name for task in state.tasks]))
    async with t.graph("siblings") as (graph, _):
        stored = [await graph.stored() for _ in range(2)]
    t.check("it is the same", seen[0] == seen[1] and stored[0] == stored[1])
    t.check("it waits for the step that failed", "c" in seen[0][1])
