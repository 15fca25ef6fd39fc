"""PC, prefix continuation."""

from __future__ import annotations

from ..trial import Trial
from .registry import case


@case("PC", "pc-gate", "a parked thread is answered by another worker")
async def gate(t: Trial) -> None:
    async with t.graph("gate") as (graph, _):
        asked = await graph.start()
    async with t.graph("gate") as (graph, _):
        answered = await graph.answer("yes")
        after = await graph.state()
    t.note(served=answered.answer)
    t.check("the gate asks before it acts", asked.waiting)
    t.check("the step before the question is not run again", t.effects == ["before", "after=yes"])
    t.check("the thread is finished", answered.finished and not after.next)
    t.check("the state is the whole run's", answered.values.get("log") == ["before", "after=yes"])


@case("PC", "pc-nested", "the same inside a subgraph")
async def nested(t: Trial) -> None:
    async with t.graph("nested") as (graph, _):
        await graph.start()
    async with t.graph("nested") as (graph, _):
        answered = await graph.answer("yes")
    t.check("the step before the question is not run again", t.effects == ["before", "after=yes"])
    t.check("the answer is served and the thread finishes", answered.finished and answered.answer == "yes")


@case("PC", "pc-raised", "a step raises; another worker goes on")
async def raised(t: Trial) -> None:
    async with t.graph("steps", fails_at="two") as (graph, _):
        failed = await graph.start()
        before = await graph.state()
    async with t.graph("steps") as (graph, _):
        seen = await graph.state()
        went_on = await graph.go_on()
    t.check("the failure is loud", failed.ended == "Trouble")
    t.check("the frontier is at the failed step", before.next == ("two",) and seen.next == ("two",))
    t.check("finished steps are not run again", t.effects == ["one", "two", "three"])
    t.check("the state is the whole run's", went_on.values.get("log") == ["one", "two", "three"])


@case("PC", "pc-killed", "a step is killed after the step before it became durable", needs="processes")
async def killed(t: Trial) -> None:
    died = await t.process("steps", "start", killed_at="two", after=["one"])
    went_on = await t.process("steps", "go_on")
    t.check("the process was killed at its barrier", died.ended == "killed")
    t.check("the finished step is not run again", t.effects == ["one", "two", "three"])
    t.check("the state is the whole run's", went_on.values.get("log") == ["one", "two", "three"])


@case("PC", "pc-parked", "a thread parked by one process is answered by another", needs="processes")
async def parked(t: Trial) -> None:
    asked = await t.process("gate", "start")
    answered = await t.process("gate", "answer", "yes")
    t.check("the gate asks", asked.waiting)
    t.check("the step before the question is not run again", t.effects == ["before", "after=yes"])
    t.check("the thread is finished", answered.finished)


@case("PC", "pc-history", "the frontier and the history of a finished run")
async def history(t: Trial) -> None:
    async with t.graph("steps") as (graph, _):
        await graph.start()
    async with t.graph("steps") as (graph, _):
        snapshots = await graph.history()
        head = await graph.state()
        first = await graph.state(snapshots[-1].config) if snapshots else None
    numbers = [snapshot.metadata["step"] for snapshot in snapshots]
    ids = [snapshot.config["configurable"]["checkpoint_id"] for snapshot in snapshots]
    parents = [
        snapshot.parent_config["configurable"]["checkpoint_id"] if snapshot.parent_config else None
        for snapshot in snapshots
    ]
    t.note(steps=numbers)
    t.check("each superstep has its checkpoint", len(numbers) == len(set(numbers)) == 5)
    t.check("the newest is first", numbers == sorted(numbers, reverse=True))
    t.check("each follows the one before", parents == [*ids[1:], None])
    t.check("the head is the newest", ids[:1] == [head.config["configurable"]["checkpoint_id"]])
    t.check("the state grows step by step", head.values.get("log") == ["one", "two", "three"])
    t.check("the oldest is what an address gives", first is not None and not first.values.get("log"))
