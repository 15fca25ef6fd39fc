"""CrewAI flows, without a model: `@persist`, `CheckpointConfig` with two sets of events, and `@human_feedback`.

Each flow class has its methods itself: in a subclass without any, nothing runs, and says nothing.
"""

from __future__ import annotations

import importlib
import json
import os
from pathlib import Path
from typing import Any

from crewai.flow.async_feedback import HumanFeedbackPending, PendingFeedbackContext
from crewai.flow.flow import Flow, listen, start
from crewai.flow.human_feedback import human_feedback
from crewai.flow.persistence import persist
from crewai.flow.persistence.sqlite import SQLiteFlowPersistence
from crewai.state.checkpoint_config import CheckpointConfig
from pydantic import BaseModel

# A flow imports these when it is made, which takes seconds in each process; here they are imported once. Not lancedb where
# a flow opens it at once: an open one does not survive a fork.
importlib.import_module("pyarrow")
importlib.import_module("lance_namespace")
if os.environ.get("HARNESS_VERSION") != "1.15.2":
    importlib.import_module("crewai.memory.storage.lancedb_storage")

WORLD: Any = None


class Count(BaseModel):
    id: str = ""
    total: int = 0


def one(flow: Any) -> None:
    WORLD.fire("one")
    flow.state.total += 1
    WORLD.point("one-done")


def two(flow: Any) -> None:
    WORLD.point("two")
    WORLD.fire("two")
    flow.state.total += 10


class Checkpointed(Flow[Count]):
    @start()
    def one(self) -> None:
        one(self)

    @listen(one)
    def two(self) -> None:
        # The file is written by another thread: the fault comes when what it is about is durable.
        assert WORLD.wait_for(lambda: bool(files_with_one(WORLD.store)))
        two(self)


def files_with_one(store: Path) -> list[Path]:
    """The checkpoint files that have the first step, and no other, as done; the oldest first."""
    return [file for file in sorted((store / "checkpoints").rglob("*.json")) if _completed(file) == ["one"]]


def _completed(file: Path) -> Any:
    try:
        record = json.loads(file.read_text())
    except ValueError:
        return None  # still being written
    entities = record.get("entities", [])
    return next((entity.get("checkpoint_completed_methods") for entity in entities), None)


class Checkpoint:
    events: tuple[str, ...] = ("method_execution_finished",)

    def __init__(self, world: Any) -> None:
        global WORLD
        WORLD = world
        self.world = world

    def start_steps(self) -> Any:
        flow = Checkpointed(checkpoint=self._config())
        flow.kickoff()
        return "finished", flow.state.total

    def go_on(self) -> Any:
        files = files_with_one(self.world.store)
        if not files:
            return self.start_steps()  # nothing durable
        flow = Checkpointed.from_checkpoint(self._config(restore_from=str(files[-1])))
        flow.kickoff()
        return "finished", flow.state.total

    def _config(self, **options: Any) -> Any:
        return CheckpointConfig(location=str(self.world.store / "checkpoints"), on_events=list(self.events), **options)


class CheckpointEveryEvent(Checkpoint):
    events = ("*",)


class Persist:
    def __init__(self, world: Any) -> None:
        global WORLD
        WORLD = world
        self.world = world

    def start_steps(self) -> Any:
        flow = self._flow()
        flow.kickoff(inputs={"id": self.world.run})
        return "finished", flow.state.total

    # The documented way on is to kick the same id off again.
    go_on = start_steps

    def invalid(self) -> Any:
        persistence = self._persistence()

        @persist(persistence)
        class Bad(Flow[Count]):
            @start()
            def begin(self) -> None:
                self.state.total = "many"  # type: ignore[assignment]

        Bad().kickoff(inputs={"id": self.world.run})
        stored = persistence.load_state(self.world.run)
        return "finished", "invalid" if stored and stored["total"] == "many" else "valid"

    def _persistence(self) -> Any:
        return SQLiteFlowPersistence(str(self.world.store / "flows.db"))

    def _flow(self) -> Any:
        @persist(self._persistence())
        class Persisted(Flow[Count]):
            @start()
            def one(self) -> None:
                one(self)

            @listen(one)
            def two(self) -> None:
                two(self)

        return Persisted()


class Later:
    """Nobody is there to be asked: the flow is parked."""

    def request_feedback(self, context: PendingFeedbackContext, flow: Any) -> str:
        raise HumanFeedbackPending(context=context)


class Review(Flow[Count]):
    @start()
    @human_feedback(message="approve?", provider=Later())
    def before(self) -> str:
        WORLD.fire("before")
        return "draft"

    @listen(before)
    def after(self, result: Any) -> str:
        WORLD.point("answered")
        WORLD.fire(f"after={result.feedback}")
        WORLD.point("fired")
        return "end"


class Feedback:
    def __init__(self, world: Any) -> None:
        global WORLD
        WORLD = world
        self.world = world
        self.file = world.store / "flows.db"

    def start_gated(self) -> str:
        pending = Review(persistence=SQLiteFlowPersistence(str(self.file))).kickoff(inputs={"id": self.world.run})
        assert isinstance(pending, HumanFeedbackPending)
        self._backup(self.file, self.world.store / "parked.db")
        return "parked"

    def answer(self, value: str) -> str:
        return self._resume(self.file, value)

    def fork(self, value: str) -> str:
        # There is no address: a fork is a copy of the store as it was when the run was parked.
        copy = self.world.store / f"fork-{len(list(self.world.store.glob('fork-*.db')))}.db"
        self._backup(self.world.store / "parked.db", copy)
        return self._resume(copy, value)

    def stray(self, value: str) -> str:
        self.answer(value)
        return self.answer(value)

    def duplicate(self, value: str) -> str:
        handles = [self._pending(self.file) for _ in range(2)]
        for handle in handles:
            handle.resume(value)
        return "finished"

    def abandon(self) -> str:
        self._pending(self.file)
        return "parked"

    def _pending(self, file: Path) -> Any:
        return Review.from_pending(self.world.run, SQLiteFlowPersistence(str(file)))

    def _resume(self, file: Path, value: str) -> str:
        self._pending(file).resume(value)
        return "finished"

    def _backup(self, source: Path, target: Path) -> None:
        import sqlite3
        from contextlib import closing

        with closing(sqlite3.connect(source)) as read, closing(sqlite3.connect(target)) as written:
            read.backup(written)


SURFACES = {
    "persist": Persist,
    "checkpoint": Checkpoint,
    "checkpoint-every-event": CheckpointEveryEvent,
    "human-feedback": Feedback,
}
