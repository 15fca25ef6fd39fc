"""DBOS, embedded, with its system database in SQLite. `recv` is the gate; a new process recovers what was pending."""

from __future__ import annotations

import os
from typing import Any

from dbos import DBOS, DBOSClient, SetWorkflowID

LIMIT_S = 60
TOPIC = "answer"
WORLD: Any = None


@DBOS.step()
def before() -> str:
    WORLD.fire("before")
    return "before"


@DBOS.step()
def after(answer: str) -> str:
    WORLD.point("answered")
    WORLD.fire(f"after={answer}")
    WORLD.point("fired")
    return answer


@DBOS.step()
def one() -> str:
    WORLD.fire("one")
    WORLD.point("one-done")
    return "one"


@DBOS.step()
def two() -> str:
    WORLD.point("two")
    WORLD.fire("two")
    return "two"


@DBOS.workflow()
def gated() -> str:
    before()
    answer = DBOS.recv(TOPIC, timeout_seconds=LIMIT_S)
    return after(str(answer))


@DBOS.workflow()
def steps() -> str:
    return one() + two()


@DBOS.step()
def odd_step() -> Any:
    return (each for each in "abc")


@DBOS.workflow()
def odd() -> str:
    odd_step()
    return "end"


class Plane:
    def __init__(self, world: Any) -> None:
        global WORLD
        WORLD = world
        self.world = world
        self.url = f"sqlite:///{world.store}/dbos.db"

    def start_gated(self) -> str:
        self._launch()
        with SetWorkflowID(self.world.run):
            DBOS.start_workflow(gated)
        # Parked: the step before the gate has its record.
        assert self.world.wait_for(lambda: self._recorded("before"))
        return "parked"

    def answer(self, value: str) -> str:
        # Whoever answers is another client; this process then recovers what it finds pending, and ends it.
        client = DBOSClient(system_database_url=self.url)
        client.send(self.world.run, value, TOPIC)
        client.destroy()
        return self.go_on()

    def fork(self, value: str) -> str:
        self._launch()
        recorded = {s["function_name"]: s["function_id"] for s in DBOS.list_workflow_steps(self.world.run)}
        # The gate's own step, which comes after the last recorded one while nobody has answered.
        gate = next((id for name, id in recorded.items() if "recv" in name), max(recorded.values()) + 1)
        handle: Any = DBOS.fork_workflow(self.world.run, gate)
        DBOS.send(handle.workflow_id, value, TOPIC)
        handle.get_result()
        return "finished"

    def stray(self, value: str) -> str:
        self.answer(value)
        DBOS.send(self.world.run, value, TOPIC)
        DBOS.retrieve_workflow(self.world.run).get_result()
        return "finished"

    def duplicate(self, value: str) -> str:
        for _ in range(2):
            DBOS.send(self.world.run, value, TOPIC)
        DBOS.retrieve_workflow(self.world.run).get_result()
        return "finished"

    def start_steps(self) -> str:
        self._launch()
        with SetWorkflowID(self.world.run):
            DBOS.start_workflow(steps).get_result()
        return "finished"

    def go_on(self) -> str:
        self._launch()
        DBOS.retrieve_workflow(self.world.run).get_result()
        return "finished"

    def abandon(self) -> str:
        self._launch()
        return "parked"

    def unserializable(self) -> str:
        self._launch()
        with SetWorkflowID(self.world.run):
            DBOS.start_workflow(odd).get_result()
        return "finished"

    def _launch(self) -> None:
        config: Any = {
            "name": "harness",
            "system_database_url": self.url,
            "application_version": "1",
            "executor_id": "local",
            "notification_listener_polling_interval_sec": 0.02,
            "log_level": "ERROR",
        }
        if os.environ["HARNESS_VERSION"].startswith("2."):
            config["run_admin_server"] = False
        DBOS(config=config)
        DBOS.launch()

    def _recorded(self, name: str) -> bool:
        return any(step["function_name"].endswith(name) for step in DBOS.list_workflow_steps(self.world.run))


class ForkedAtTheFailure(Plane):
    """A failed run is not recovered, by design: the way back is a fork at the step that failed."""

    def go_on(self) -> str:
        self._launch()
        recorded = [step["function_id"] for step in DBOS.list_workflow_steps(self.world.run) if step["error"] is None]
        handle: Any = DBOS.fork_workflow(self.world.run, max(recorded) + 1)
        handle.get_result()
        return "finished"


SURFACES = {"sqlite": Plane, "sqlite-fork-at-failure": ForkedAtTheFailure}
