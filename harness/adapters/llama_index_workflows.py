"""LlamaIndex Workflows: a snapshot is `ctx.to_dict()`, which the caller keeps in a file."""

from __future__ import annotations

import asyncio
import contextlib
import json
from typing import Any

from workflows import Context, Workflow, step
from workflows.events import Event, HumanResponseEvent, InputRequiredEvent, StartEvent, StopEvent

LIMIT_S = 60
DELIVERIES: list[None] = []
WAITING: list[asyncio.Event] = []
WORLD: Any = None
"""Of this process. The snapshot keeps classes by their names, so they are at the top of the module, and so is this."""


class Ask(InputRequiredEvent):
    pass


class Answer(HumanResponseEvent):
    value: str


class Second(Event):
    pass


class Went(Event):
    """The second step has begun: now a snapshot has the first one's result."""


def act(answer: str) -> None:
    WORLD.point("answered")
    WORLD.fire(f"after={answer}")
    WORLD.point("fired")


def note_delivery() -> None:
    """The gated step has been run once more."""
    DELIVERIES.append(None)
    if len(DELIVERIES) > 1:
        for waiting in WAITING:
            waiting.set()


async def second_delivery() -> None:
    """Wait for a second run of the gated step; one that never comes is waited for in vain, for a second."""
    WAITING.append(asyncio.Event())
    if len(DELIVERIES) < 2:
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(WAITING[-1].wait(), 1)


class Gated(Workflow):
    """Two steps; the second awaits nothing and ends the run."""

    @step
    async def begin(self, ev: StartEvent) -> Ask:
        WORLD.fire("before")
        return Ask()

    @step
    async def gate(self, ev: Answer) -> StopEvent:
        act(ev.value)
        return StopEvent(result=ev.value)


class GatedAwaits(Workflow):
    """The gated step awaits after its effect, until a second delivery has had its chance to come in."""

    @step
    async def begin(self, ev: StartEvent) -> Ask:
        WORLD.fire("before")
        return Ask()

    @step
    async def gate(self, ctx: Context, ev: Answer) -> StopEvent:
        act(ev.value)
        note_delivery()
        await second_delivery()
        return StopEvent(result=ev.value)


class GatedAwaitsSerial(Workflow):
    """The same with one worker."""

    @step
    async def begin(self, ev: StartEvent) -> Ask:
        WORLD.fire("before")
        return Ask()

    @step(num_workers=1)
    async def gate(self, ctx: Context, ev: Answer) -> StopEvent:
        act(ev.value)
        note_delivery()
        await second_delivery()
        return StopEvent(result=ev.value)


class GatedGoesOn(Workflow):
    """The run goes on after the gate."""

    @step
    async def begin(self, ev: StartEvent) -> Ask:
        WORLD.fire("before")
        return Ask()

    @step
    async def gate(self, ctx: Context, ev: Answer) -> Second:
        act(ev.value)
        note_delivery()
        return Second()

    @step
    async def end(self, ctx: Context, ev: Second) -> StopEvent:
        await second_delivery()
        return StopEvent(result="end")


class Waits(Workflow):
    """One step that waits for the answer where it is."""

    @step
    async def only(self, ctx: Context, ev: StartEvent) -> StopEvent:
        WORLD.fire("before")
        answer = await ctx.wait_for_event(Answer, waiter_event=Ask())
        act(answer.value)
        return StopEvent(result=answer.value)


class Steps(Workflow):
    """Two steps that act. The second waits until the snapshot that has the first one's result is on the disk."""

    snapshot: Any = None

    @step
    async def one(self, ev: StartEvent) -> Second:
        WORLD.fire("one")
        WORLD.point("one-done")
        return Second()

    @step
    async def two(self, ctx: Context, ev: Second) -> StopEvent:
        ctx.write_event_to_stream(Went())
        if self.snapshot is not None:
            await asyncio.wait_for(self.snapshot.wait(), LIMIT_S)
        WORLD.point("two")
        WORLD.fire("two")
        return StopEvent(result="end")


class Odd(Workflow):
    @step
    async def begin(self, ctx: Context, ev: StartEvent) -> Ask:
        await ctx.store.set("odd", object())
        return Ask()

    @step
    async def end(self, ev: Answer) -> StopEvent:
        return StopEvent(result=ev.value)


class Plane:
    gated: Any = Gated

    def __init__(self, world: Any) -> None:
        global WORLD
        WORLD = world
        self.world = world
        self.file = world.store / "snapshot.json"

    def start_gated(self) -> str:
        async def run() -> str:
            handler = self.gated(timeout=LIMIT_S).run()
            await self._until(handler, Ask)
            self._save(handler)
            return "parked"

        return asyncio.run(run())

    def answer(self, value: str) -> str:
        return asyncio.run(self._resume(self.gated, [value]))

    # A snapshot is a file that the caller has: restoring it once more is the only way to fork.
    fork = answer

    def duplicate(self, value: str) -> str:
        return asyncio.run(self._resume(self.gated, [value, value]))

    def stray(self, value: str) -> str:
        async def run() -> str:
            workflow = self.gated(timeout=LIMIT_S)
            handler = workflow.run(ctx=Context.from_dict(workflow, self._load()))
            handler.ctx.send_event(Answer(value=value))
            await handler
            handler.ctx.send_event(Answer(value=value))
            for _ in range(20):  # whatever it would set off in this event loop
                await asyncio.sleep(0)
            return "finished"

        return asyncio.run(run())

    def start_steps(self) -> str:
        async def run() -> str:
            workflow = Steps(timeout=LIMIT_S)
            workflow.snapshot = asyncio.Event()
            handler = workflow.run()
            await self._until(handler, Went)
            self._save(handler)
            workflow.snapshot.set()
            await handler
            return "finished"

        return asyncio.run(run())

    def go_on(self) -> str:
        if not self.file.exists():
            return self.start_steps()  # nothing durable: the caller has no snapshot
        return asyncio.run(self._resume(Steps, []))

    def abandon(self) -> str:
        async def run() -> str:
            workflow = self.gated(timeout=LIMIT_S)
            handler = workflow.run(ctx=Context.from_dict(workflow, self._load()))
            await asyncio.sleep(0)
            await handler.cancel_run()
            return "parked"

        return asyncio.run(run())

    def unserializable(self) -> str:
        async def run() -> str:
            handler = Odd(timeout=LIMIT_S).run()
            await self._until(handler, Ask)
            self._save(handler)
            return "finished"

        return asyncio.run(run())

    def corrupt(self, kind: str) -> str:
        text = self.file.read_text()
        if kind == "truncated":
            self.file.write_text(text[: len(text) // 2])
            return "finished"
        record = json.loads(text)
        damaged: Any = {"empty": {}, "type": {**record, "is_running": []}, "tag": {**record, "workers": "x"}}[kind]
        self.file.write_text(json.dumps(damaged))
        return "finished"

    async def _resume(self, workflow_class: Any, values: list[str]) -> str:
        workflow = workflow_class(timeout=LIMIT_S)
        handler = workflow.run(ctx=Context.from_dict(workflow, self._load()))
        for value in values:
            handler.ctx.send_event(Answer(value=value))
        await handler
        return "finished"

    async def _until(self, handler: Any, event: type) -> None:
        async for seen in handler.stream_events():
            if isinstance(seen, event):
                return

    def _save(self, handler: Any) -> None:
        self.file.write_text(json.dumps(handler.ctx.to_dict()))

    def _load(self) -> Any:
        return json.loads(self.file.read_text())


class SnapshotAfterFailure(Plane):
    """The snapshot is taken when the run has failed, and not while it is live."""

    def start_steps(self) -> str:
        async def run() -> str:
            handler = Steps(timeout=LIMIT_S).run()
            try:
                await handler
            except Exception:
                self._save(handler)
                raise
            return "finished"

        return asyncio.run(run())


class Awaits(Plane):
    gated = GatedAwaits


class AwaitsSerial(Plane):
    gated = GatedAwaitsSerial


class GoesOn(Plane):
    gated = GatedGoesOn


class WaitForEvent(Plane):
    gated = Waits


SURFACES = {
    "two-step": Plane,
    "two-step-awaits": Awaits,
    "two-step-one-worker": AwaitsSerial,
    "two-step-goes-on": GoesOn,
    "wait-for-event": WaitForEvent,
    "snapshot-after-failure": SnapshotAfterFailure,
}
