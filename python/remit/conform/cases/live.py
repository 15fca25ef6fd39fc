"""Liveness: a parked, failed or crashed run can be completed, and looking changes nothing."""

from __future__ import annotations

from langgraph.types import Command

from ..graphs import BAD
from ..trial import Trial
from .registry import case


@case("LIVE", "live-failed-answer", "the node refuses the answer; the right one is given")
async def failed_answer(t: Trial) -> None:
    async with t.graph("gate") as (graph, _):
        await graph.start()
        refused = await graph.answer(BAD)
    async with t.graph("gate") as (graph, _):
        outcomes = [await graph.answer("yes")]
        while not outcomes[-1].finished and len(outcomes) < 3:
            outcomes.append(await graph.answer("yes"))
    t.note(then=[outcome.ended for outcome in outcomes])
    t.check("the wrong answer is refused by the node", refused.ended == "Refused")
    t.check("the next answer is served as it was given", outcomes[0].answer == "yes")
    t.check("the thread is finished", outcomes[-1].finished)
    t.check("the effect happens once", t.effects == ["before", "after=yes"])


@case("LIVE", "live-failed-named", "the same, by the interrupt's id")
async def failed_named(t: Trial) -> None:
    async with t.graph("gate") as (graph, _):
        asked = await graph.start()
        await graph.answer({asked.id_of("approve?"): BAD})
    async with t.graph("gate") as (graph, _):
        outcome = await graph.answer({asked.id_of("approve?"): "yes"})
    t.check("the next answer is served as it was given", outcome.answer == "yes")
    t.check("the thread is finished", outcome.finished)


@case("LIVE", "live-retry", "the node fails after its answer for a reason of its own; the thread is told to go on")
async def retry(t: Trial) -> None:
    async with t.graph("gate", fails_at="answered") as (graph, _):
        await graph.start()
        failed = await graph.answer("yes")
    async with t.graph("gate") as (graph, _):
        went_on = await graph.go_on()
    t.check("the failure is loud", failed.ended == "Trouble")
    t.check("the answer is kept", went_on.answer == "yes")
    t.check("the effect happens once", t.effects == ["before", "after=yes"])


@case("LIVE", "live-second-answer", "the second of two answers fails the node and is given again")
async def second_answer(t: Trial) -> None:
    async with t.graph("two_questions") as (graph, _):
        await graph.start()
        for answer in ("x", BAD):
            await graph.answer(answer)
    async with t.graph("two_questions") as (graph, _):
        outcome = await graph.answer("y")
    t.note(served=outcome.answer)
    t.check("the first answer is kept, the second replaced", outcome.answer == ["x", "y"])
    t.check("the effect happens once", t.effects == ["answers=x+y"])


@case("LIVE", "live-part", "two questions of one superstep, answered one at a time by their ids")
async def part(t: Trial) -> None:
    async with t.graph("two_askers") as (graph, _):
        asked = await graph.start()
    outcomes = []
    for name in "ab":
        async with t.graph("two_askers") as (graph, _):
            outcomes.append(await graph.answer({asked.id_of(f"{name}?"): name.upper()}))
    t.check("the other question stays open", outcomes[0].waiting)
    t.check("the thread is finished", outcomes[1].finished)
    t.check("each effect happens once", t.effects == ["a=A", "b=B"])


@case("LIVE", "live-look", "a thread is looked at often before it is answered")
async def look(t: Trial) -> None:
    async with t.graph("gate") as (graph, _):
        await graph.start()
        for _ in range(3):
            await graph.state()
            await graph.history()
    async with t.graph("gate") as (graph, _):
        seen, listed = await graph.state(), await graph.history()
        outcome = await graph.answer("yes")
    t.check("the question is seen", [item.value for item in seen.interrupts] == ["approve?"])
    t.check("and in the history", [item.value for item in listed[0].interrupts] == ["approve?"])
    t.check("the answer is served", outcome.finished and outcome.answer == "yes")


@case("LIVE", "live-update", "the state of a parked thread is changed, then it is answered")
async def update(t: Trial) -> None:
    async with t.graph("gate") as (graph, _):
        await graph.start()
    async with t.graph("gate") as (graph, _):
        await graph.update({"log": ["note"]}, as_node="before")
        outcome = await graph.answer("yes")
        if outcome.raised:
            # The answer was to a question about another state: a plane may refuse it, and ask again.
            asked = await graph.go_on()
            t.check("it asks again", asked.waiting)
            outcome = await graph.answer("yes")
    t.check("the answer is served", outcome.finished and outcome.answer == "yes")
    t.check("the change is kept", outcome.values.get("log") == ["before", "note", "after=yes"])
    t.check("each effect happens once", t.effects == ["before", "after=yes"])


@case("LIVE", "live-input", "a new input to a parked thread is not refused")
async def new_input(t: Trial) -> None:
    async with t.graph("gate") as (graph, _):
        await graph.start()
    async with t.graph("gate") as (graph, _):
        fresh = await graph.start({"log": ["new"]})
        outcome = await graph.answer("yes")
    t.check("it asks anew", fresh.waiting)
    t.check("and is answered", outcome.finished and outcome.answer == "yes")


@case("LIVE", "live-next-run", "a finished thread is given a new input")
async def next_run(t: Trial) -> None:
    for answer in ("yes", "no"):
        async with t.graph("gate") as (graph, _):
            asked = await graph.start()
        async with t.graph("gate") as (graph, _):
            outcome = await graph.answer(answer)
        t.check(f"{answer}: it asks", asked.waiting)
        t.check(f"{answer}: it is served its answer, and finishes", outcome.finished and outcome.answer == answer)
    t.check("each run has its effects", t.effects == ["before", "after=yes", "before", "after=no"])


@case("LIVE", "live-abandoned", "a caller goes away in the middle of its answer")
async def abandoned(t: Trial) -> None:
    async with t.graph("gate") as (graph, _):
        await graph.start()
        await graph.abandon(Command(resume="yes"))
    async with t.graph("gate") as (graph, _):
        state = await graph.state()
        if state.next:
            await graph.answer("yes")
        after = await graph.state()
    t.check("the thread can be completed", not after.next and after.values.get("v") == "yes")


@case(
    "LIVE", "live-window", "killed after the effect and before its record; the answer is given again", needs="processes"
)
async def window(t: Trial) -> None:
    await t.process("gate", "start")
    died = await t.process("gate", "answer", "yes", killed_at="fired")
    outcome = await t.process("gate", "answer", "yes")
    t.note(fired=t.effects.count("after=yes"))
    t.check("the process was killed at its barrier", died.ended == "killed")
    t.check("the thread is finished", outcome.finished)
    t.check("the effect happens once for each time that the node ran", t.effects.count("after=yes") in (1, 2))
