"""CO-e: a stray or duplicate delivery fires nothing."""

from __future__ import annotations

from ..trial import Trial
from .registry import case


@case("CO-e", "co-stray", "the same answer again, to the finished thread")
async def stray(t: Trial) -> None:
    async with t.graph("gate") as (graph, _):
        asked = await graph.start()
        await graph.answer("yes")
    named = {asked.id_of("approve?"): "yes"}
    async with t.graph("gate") as (graph, _):
        again = [(await graph.answer(value)).ended for value in ("yes", named, "no")]
        after = await graph.state()
    t.note(deliveries=again)
    t.check("nothing fires", t.effects == ["before", "after=yes"])
    t.check("the thread stays finished, with its first answer", not after.next and after.values.get("v") == "yes")


@case("CO-e", "co-unknown", "an answer to a thread that was never started")
async def unknown(t: Trial) -> None:
    async with t.graph("gate") as (graph, _):
        await graph.answer("yes")
        after = await graph.state()
    t.check("nothing fires", t.effects == [])
    t.check("no answer is made up", "v" not in after.values)


@case("CO-e", "co-next-gate", "an answer that names the first interrupt, when the second asks")
async def next_gate(t: Trial) -> None:
    async with t.graph("two_gates") as (graph, _):
        asked = await graph.start()
        named = {asked.id_of("first?"): "yes"}
        await graph.answer(named)
    async with t.graph("two_gates") as (graph, _):
        again = await graph.answer(named)
        still = await graph.state()
        last = await graph.answer("no")
    t.note(duplicate=again.ended)
    t.check("the duplicate fires nothing", t.effects == ["first=yes", "second=no"])
    t.check("the second gate still asks", still.next == ("second",))
    t.check("and is answered", last.finished)


@case("CO-e", "co-again", "a finished thread that is told to go on")
async def again(t: Trial) -> None:
    async with t.graph("steps") as (graph, _):
        await graph.start()
    async with t.graph("steps") as (graph, _):
        await graph.go_on()
        after = await graph.state()
    t.check("nothing fires", t.effects == ["one", "two", "three"])
    t.check("the thread stays finished", not after.next)


@case("CO-e", "co-unknown-id", "an answer to an interrupt that nothing has asked")
async def unknown_id(t: Trial) -> None:
    async with t.graph("gate") as (graph, _):
        asked = await graph.start()
        id = asked.id_of("approve?")
    async with t.graph("gate") as (graph, _):
        stray = await graph.answer({("0" if id[:1] != "0" else "1") + id[1:]: "yes"})
        still, fired = await graph.state(), t.effects
        answered = await graph.answer("no")
    t.note(stray=stray.ended)
    t.check("nothing fires", fired == ["before"])
    t.check("the question is still asked", still.next == ("gate",))
    t.check("its own answer is served", answered.finished and answered.answer == "no")


@case("CO-e", "co-part-again", "the answer to one of two questions again, while the other is open")
async def part_again(t: Trial) -> None:
    async with t.graph("two_askers") as (graph, _):
        asked = await graph.start()
    for name, value in (("a", "A"), ("a", "again"), ("b", "B")):
        async with t.graph("two_askers") as (graph, _):
            outcome = await graph.answer({asked.id_of(f"{name}?"): value})
    t.check("the duplicate fires nothing", t.effects == ["a=A", "b=B"])
    t.check("the thread is finished", outcome.finished and outcome.values.get("log") == ["a=A", "b=B"])


@case("CO-e", "co-elsewhere", "the same answer again, by another process", needs="processes")
async def elsewhere(t: Trial) -> None:
    for call in ("start", "answer", "answer"):
        await t.process("gate", call, "yes")
    looked = await t.process("gate", "state")
    t.check("nothing fires", t.effects == ["before", "after=yes"])
    t.check("the thread stays finished", not looked.values["next"] and looked.answer == "yes")
