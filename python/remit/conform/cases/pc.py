"""PC, prefix continuation."""

from __future__ import annotations

from typing import Any

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


@case("PC", "pc-history-part", "a part of the history: so many, those before one, those of one source")
async def history_part(t: Trial) -> None:
    async with t.graph("steps") as (graph, _):
        await graph.start()
    async with t.graph("steps") as (graph, _):
        whole = await graph.history()
        first_two, before = await graph.history(limit=2), await graph.history(before=whole[1].config)
        of_input = await graph.history(filter={"source": "input"})
    t.check("so many are the newest", _ids(first_two) == _ids(whole)[:2])
    t.check("those before one are older than it", _ids(before) == _ids(whole)[2:])
    t.check("those of one source are of that source", _ids(of_input) == _ids(whole)[-1:])


def _ids(snapshots: list[Any]) -> list[str]:
    return [snapshot.config["configurable"]["checkpoint_id"] for snapshot in snapshots]


@case("PC", "pc-breakpoint", "a run stops before a step by `interrupt_before`; another worker goes on")
async def breakpoint_(t: Trial) -> None:
    async with t.graph("steps") as (graph, _):
        await graph.call({"log": []}, interrupt_before=["two"])
    async with t.graph("steps") as (graph, _):
        stopped, before = await graph.state(), t.effects
        went_on = await graph.call(None, interrupt_before=["two"])
    t.check("it stops there", stopped.next == ("two",) and before == ["one"])
    t.check("it passes, and finished steps are not run again", t.effects == ["one", "two", "three"])
    t.check("the state is the whole run's", went_on.values.get("log") == ["one", "two", "three"])


@case("PC", "pc-durabilities", "a parked thread is answered by another worker, under `async` and under `exit`")
async def durabilities(t: Trial) -> None:
    for t.durability in ("async", "exit"):
        t.again()
        async with t.graph("gate") as (graph, _):
            await graph.start()
        async with t.graph("gate") as (graph, _):
            answered = await graph.answer("yes")
        async with t.graph("gate") as (graph, _):
            after = await graph.state()
        where = f"durability {t.durability}"
        t.check(f"{where}: each effect happens once", t.effects == ["before", "after=yes"])
        t.check(f"{where}: the thread is finished", answered.finished and not after.next)
        t.check(f"{where}: the state is the whole run's", after.values.get("log") == ["before", "after=yes"])


VALUES: list[Any] = [
    *(False, 0, "", [], [None], -0.1, 2**53, "\u00fc \u2603 \U0001d11e '\"%_\\"),
    *({"a": {"b": [1, "2", None]}}, [[], [[1], []]], "long " * 40_000),
]


@case("PC", "pc-values", "what is answered is what is kept: false, zero, empty, nested, long")
async def values(t: Trial) -> None:
    for value in VALUES:
        t.again()
        async with t.graph("echo") as (graph, _):
            await graph.start()
        async with t.graph("echo") as (graph, _):
            served = await graph.answer(value)
        async with t.graph("echo") as (graph, _):
            kept = (await graph.state()).values
        name = f"{value!r:.30}"
        t.check(f"{name} is served", served.finished and _is_same(served.values.get("v"), value))
        t.check(f"{name} is kept", _is_same(kept.get("v"), value))


def _is_same(seen: Any, value: Any) -> bool:
    return seen == value and type(seen) is type(value)


@case("PC", "pc-neighbours", "threads whose names are alike, one of which is deleted")
async def neighbours(t: Trial) -> None:
    name = t.thread
    names = [name, name.upper(), f"{name}-", f"{name[:-1]}_", f"{name[:-1]}%", f"{name}{'-' * 60}"]
    for number, t.thread in enumerate(names):
        async with t.graph("gate") as (graph, _):
            await graph.start()
            await graph.answer(f"answer {number}")
    seen = [await _answer_of(t, thread) for thread in names]
    t.check("each has its own state", seen == [f"answer {number}" for number in range(len(names))])
    t.thread = names[0]
    async with t.graph("gate") as (graph, _):
        try:
            await graph.delete()
        except NotImplementedError:
            t.note(deletes=False)
            return
    t.check("what is deleted is gone", await _answer_of(t, names[0]) is None)
    t.check("the others are as they were", [await _answer_of(t, thread) for thread in names[1:]] == seen[1:])


async def _answer_of(t: Trial, thread: str) -> Any:
    t.thread = thread
    async with t.graph("gate") as (graph, _):
        return (await graph.state()).values.get("v")
