"""CO-c: the authority of one interrupt is taken once, also by racers."""

from __future__ import annotations

from ..stage import Outcome
from ..trial import Trial
from .registry import case


async def _judge(t: Trial, outcomes: list[Outcome], shape: str = "gate") -> None:
    async with t.graph(shape) as (graph, _):
        after = await graph.state()
        if after.next:
            await graph.answer("yes")
            after = await graph.state()
    t.note(fired=t.effects.count("after=yes"), of=len(outcomes))
    t.check("the effect happens once", t.effects.count("after=yes") == 1)
    t.check("one of them completes the thread", any(outcome.finished for outcome in outcomes))
    t.check("the thread is finished", not after.next and after.values.get("v") == "yes")


@case("CO-c", "co-race", "two processes give the answer at once", needs="processes")
async def race(t: Trial) -> None:
    await t.process("gate", "start")
    await _judge(t, await t.race("gate", ["yes"] * 2))


@case("CO-c", "co-race-many", "eight processes give the answer at once", needs="processes")
async def race_many(t: Trial) -> None:
    await t.process("gate", "start")
    await _judge(t, await t.race("gate", ["yes"] * 8))


@case("CO-c", "co-race-named", "two processes give the answer at once, by the interrupt's id", needs="processes")
async def race_named(t: Trial) -> None:
    asked = await t.process("gate", "start")
    await _judge(t, await t.race("gate", [{asked.id_of("approve?"): "yes"}] * 2))


@case("CO-c", "co-race-differ", "two processes give different answers at once", needs="processes")
async def race_differ(t: Trial) -> None:
    await t.process("gate", "start")
    outcomes = await t.race("gate", ["yes", "no"])
    async with t.graph("gate") as (graph, _):
        after = await graph.state()
    fired = [effect for effect in t.effects if effect != "before"]
    t.note(fired=len(fired))
    t.check("one of the effects happens", len(fired) == 1)
    t.check("one of them completes the thread", any(outcome.finished for outcome in outcomes))
    t.check("the state has an answer that was acted on", f"after={after.values.get('v')}" in fired)


@case("CO-c", "co-race-nested", "two processes answer a question in a subgraph at once", needs="processes")
async def race_nested(t: Trial) -> None:
    await t.process("nested", "start")
    await _judge(t, await t.race("nested", ["yes"] * 2), "nested")


@case("CO-c", "co-threads", "two threads of one process give the answer at once")
async def threads(t: Trial) -> None:
    async with t.graph("gate") as (graph, _):
        await graph.start()
    await _judge(t, await t.together("gate", "yes"))


@case("CO-c", "co-apart", "two processes answer two threads at once: neither is refused", needs="processes")
async def apart(t: Trial) -> None:
    names = [f"{t.thread}-{side}" for side in "ab"]
    for t.thread in names:
        await t.process("gate", "start")
    outcomes = await t.race("gate", ["yes"] * 2, threads=names)
    t.check("both threads finish", all(outcome.finished for outcome in outcomes))
    t.check("each has its effect", t.effects.count("after=yes") == 2)


@case("CO-c", "co-both", "two processes answer two questions of one thread at once", needs="processes")
async def both(t: Trial) -> None:
    asked = await t.process("two_askers", "start")
    answers = [{asked.id_of(f"{name}?"): name.upper()} for name in "ab"]
    outcomes = await t.race("two_askers", answers)
    for outcome, answer in zip(outcomes, answers, strict=True):
        if outcome.raised:  # one that was refused may come again
            await t.process("two_askers", "answer", answer)
    async with t.graph("two_askers") as (graph, _):
        after = await graph.state()
    t.check("each question's effect happens once", sorted(t.effects) == ["a=A", "b=B"])
    t.check("the thread is finished", not after.next)
