"""EO, effect exactly-once, as far as a checkpointer decides it: what is durable is not done again.

An effect whose process dies before the step is recorded happens again on any plane that does not record the effect
itself; the case `live-window` counts that and holds only that the thread completes.
"""

from __future__ import annotations

from collections import Counter

from ..graphs import MANY
from ..stage import Outcome
from ..trial import Trial
from .registry import case

NAMES = ("a", "b", "c", "end")


@case("EO", "eo-sibling-raised", "each of three parallel steps raises; another worker goes on")
async def sibling_raised(t: Trial) -> None:
    for late in "cba":
        await _sibling_raised(t, late)


@case("EO", "eo-sibling-async", "the same with durability `async`")
async def sibling_async(t: Trial) -> None:
    t.durability = "async"
    for late in "cba":
        await _sibling_raised(t, late)


async def _sibling_raised(t: Trial, late: str) -> None:
    t.again()
    async with t.graph("siblings", fails_at=late, after=[name for name in "abc" if name != late]) as (graph, _):
        failed = await graph.start()
    async with t.graph("siblings") as (graph, _):
        went_on = await graph.go_on()
    t.check(f"{late}: the failure is loud", failed.ended == "Trouble")
    t.check(f"{late}: each effect happens once", Counter(t.effects) == Counter(NAMES))
    t.check(f"{late}: the state is the whole run's", went_on.values.get("log") == list(NAMES))


@case("EO", "eo-many", "one of many parallel tasks raises; another worker goes on")
async def many(t: Trial) -> None:
    late, others = MANY // 2, [n for n in range(MANY) if n != MANY // 2]
    async with t.graph("many", fails_at=f"task {late}", after=others) as (graph, _):
        failed = await graph.start()
    async with t.graph("many") as (graph, _):
        went_on = await graph.go_on()
    t.check("the failure is loud", failed.ended == "Trouble")
    t.check("each effect happens once", Counter(t.effects) == Counter(f"task {n}" for n in range(MANY)))
    t.check("the state is the whole run's", went_on.values.get("log") == list(range(MANY)))


@case("EO", "eo-sibling-killed", "the same by SIGKILL, when its siblings are durable", needs="processes")
async def sibling_killed(t: Trial) -> None:
    died = await t.process("siblings", "start", killed_at="c", after=["a", "b"])
    went_on = await t.process("siblings", "go_on")
    t.check("the process was killed at its barrier", died.ended == "killed")
    t.check("each effect happens once", Counter(t.effects) == Counter(NAMES))
    t.check("the state is the whole run's", went_on.values.get("log") == list(NAMES))


@case(
    "EO", "eo-killed-before", "killed between the answer and its effect; the answer is given again", needs="processes"
)
async def killed_before(t: Trial) -> None:
    await t.process("gate", "start")
    died = await t.process("gate", "answer", "yes", killed_at="answered")
    answered = await t.process("gate", "answer", "yes")
    t.check("the process was killed at its barrier", died.ended == "killed")
    t.check("each effect happens once", t.effects == ["before", "after=yes"])
    t.check("the thread is finished", answered.finished)


@case("EO", "eo-two-gates", "two gates, one after the other, each answered by another worker")
async def two_gates(t: Trial) -> None:
    async with t.graph("two_gates") as (graph, _):
        await graph.start()
    for answer in ("one", "two"):
        async with t.graph("two_gates") as (graph, _):
            outcome = await graph.answer(answer)
    t.check("each gate acts once, on its own answer", t.effects == ["first=one", "second=two"])
    t.check("the thread is finished", outcome.finished)


@case("EO", "eo-frozen", "the store stops after exactly n writes, for every n; then it goes on")
async def frozen(t: Trial) -> None:
    """Every durable prefix of a run, by exception, in this process."""
    t.again()
    async with t.graph("siblings", counts=True) as (graph, tap):
        await graph.start()
    total, again = tap.landed, {}
    for budget in range(total):
        t.again()
        async with t.graph("siblings", budget=budget) as (graph, tap):
            await graph.start()
        landed = [name for name in NAMES if name in tap.names_landed()]
        t.check(f"n={budget}: exactly n writes landed", tap.landed == budget)
        async with t.graph("siblings") as (graph, _):
            recovered = await graph.go_on() if budget else await graph.start()
            if recovered.ended == "EmptyInputError":
                recovered = await graph.start()  # nothing durable that could go on
        again[budget] = _judge(t, f"n={budget}", landed, recovered)
    t.note(writes=total, fired_again=again)
    t.check("there are prefixes", total >= 5)


@case("EO", "eo-frozen-killed", "the same by SIGKILL at the n+1st write, for every n", needs="processes")
async def frozen_killed(t: Trial) -> None:
    t.again()
    async with t.graph("siblings", counts=True) as (graph, tap):
        await graph.start()
    total = tap.landed
    for budget in range(1, total):
        t.again()
        died = await t.process("siblings", "start", budget=budget)
        t.check(f"n={budget}: the process was killed at its barrier", died.ended == "killed")
        async with t.graph("siblings") as (graph, _):
            durable = await _durable(graph)
        recovered = await t.process("siblings", "go_on")
        if recovered.ended == "EmptyInputError":
            recovered = await t.process("siblings", "start")
        _judge(t, f"n={budget}", durable, recovered)
    t.note(writes=total)


async def _durable(graph: object) -> list[str]:
    """The tasks whose writes the store shows, to another process than the one that wrote them."""
    shown = [item for channel, value in await graph.stored() if channel == "log" for item in value]  # type: ignore[attr-defined]
    return [name for name in NAMES if name in shown]


def _judge(t: Trial, where: str, durable: list[str], recovered: Outcome) -> int:
    """What was durable fired once, all of it fired, the state is whole. Gives how many steps fired again: which of
    three parallel ones were late is not decided here."""
    fired = Counter(t.effects)
    t.check(f"{where}: what was durable is not done again", all(fired[name] == 1 for name in durable))
    t.check(f"{where}: nothing is lost", set(fired) == set(NAMES) and recovered.values.get("log") == list(NAMES))
    return sum(fired[name] > 1 for name in NAMES)
