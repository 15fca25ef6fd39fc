"""LangGraph: a stock checkpointer, and the same under RemitSaver. The process-crossing rows of it: SQLite and PostgreSQL.

HARNESS_PG names an empty PostgreSQL database.
"""

from __future__ import annotations

import operator
import os
import sqlite3
from typing import Annotated, Any, TypedDict

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt
from pydantic import BaseModel


class State(TypedDict, total=False):
    log: Annotated[list[str], operator.add]
    v: Any


class Typed(BaseModel):
    items: list[str] = []


class Stock:
    """A thread per run, durability `sync`."""

    def __init__(self, world: Any) -> None:
        self.world = world
        self.config: Any = {"configurable": {"thread_id": world.run}}

    def saver(self, validator: Any = None) -> Any:
        file = sqlite3.connect(self.world.store / "run.db", check_same_thread=False, timeout=60)
        saver = SqliteSaver(file)
        saver.setup()
        return saver

    def start_gated(self) -> Any:
        return self._ended(self._gated().invoke({"log": []}, self.config, durability="sync"))

    def answer(self, value: str) -> Any:
        return self._ended(self._gated().invoke(Command(resume=value), self.config, durability="sync"))

    def fork(self, value: str) -> Any:
        graph = self._gated()
        asked = [s.config for s in graph.get_state_history(self.config) if s.next == ("gate",)]
        return self._ended(graph.invoke(Command(resume=value), asked[-1], durability="sync"))

    def duplicate(self, value: str) -> Any:
        # There is no live run to send to: the second call comes when the first is through.
        self.answer(value)
        return self.answer(value)

    stray = duplicate

    def start_steps(self) -> Any:
        return self._ended(self._steps().invoke({"log": []}, self.config, durability="sync"))

    def go_on(self) -> Any:
        return self._ended(self._steps().invoke(None, self.config, durability="sync"))

    def abandon(self) -> str:
        stream = self._gated().stream(Command(resume="YES"), self.config, stream_mode="tasks", durability="sync")
        next(stream)
        stream.close()
        return "parked"

    def invalid(self) -> Any:
        builder: Any = StateGraph(Typed)
        builder.add_node("writer", lambda _: {"items": [None]})
        builder.add_edge(START, "writer").add_edge("writer", END)
        graph = builder.compile(checkpointer=self.saver(validator=Typed))
        graph.invoke({"items": ["a"]}, self.config, durability="sync")
        return "finished", "valid" if graph.get_state(self.config).values["items"] == ["a"] else "invalid"

    def unserializable(self) -> Any:
        builder: Any = StateGraph(State)
        builder.add_node("writer", lambda _: {"v": (x for x in "abc")})
        builder.add_edge(START, "writer").add_edge("writer", END)
        builder.compile(checkpointer=self.saver()).invoke({"log": []}, self.config, durability="sync")
        return "finished"

    def corrupt(self, kind: str) -> str:
        with sqlite3.connect(self.world.store / "run.db") as file:
            blobs = file.execute("SELECT checkpoint_id, checkpoint FROM checkpoints").fetchall()
            for id, blob in blobs:
                damaged = {"empty": b"", "truncated": blob[: len(blob) // 2]}[kind]
                file.execute("UPDATE checkpoints SET checkpoint = ? WHERE checkpoint_id = ?", (damaged, id))
        return "finished"

    def _gated(self) -> Any:
        world = self.world

        def before(_: Any) -> Any:
            world.fire("before")
            return {"log": ["before"]}

        def gate(_: Any) -> Any:
            answer = interrupt("approve?")
            world.point("answered")
            world.fire(f"after={answer}")
            world.point("fired")
            return {"log": ["after"], "v": answer}

        return self._line(before, gate)

    def _steps(self) -> Any:
        world = self.world

        def one(_: Any) -> Any:
            world.fire("one")
            world.point("one-done")
            return {"log": ["one"]}

        def two(_: Any) -> Any:
            world.point("two")
            world.fire("two")
            return {"log": ["two"]}

        return self._line(one, two)

    def _line(self, first: Any, second: Any) -> Any:
        builder: Any = StateGraph(State)
        builder.add_node(first.__name__, first)
        builder.add_node(second.__name__, second)
        builder.add_edge(START, first.__name__)
        builder.add_edge(first.__name__, second.__name__)
        builder.add_edge(second.__name__, END)
        return builder.compile(checkpointer=self.saver())

    def _ended(self, values: Any) -> Any:
        return "parked" if values and "__interrupt__" in values else "finished", dict(values or {}).get("log")


class StockPostgres(Stock):
    def saver(self, validator: Any = None) -> Any:
        import psycopg
        from langgraph.checkpoint.postgres import PostgresSaver
        from psycopg.rows import dict_row

        options: dict[str, Any] = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
        saver = PostgresSaver(psycopg.connect(os.environ["HARNESS_PG"], **options))
        saver.setup()
        return saver


def _wrapped(inner: Any, validator: Any) -> Any:
    from remit import RemitSaver

    saver = RemitSaver(inner, validator=validator, cross_process_gate=True)
    saver.setup()
    return saver


class Remit(Stock):
    def saver(self, validator: Any = None) -> Any:
        return _wrapped(super().saver(), validator)


class RemitPostgres(StockPostgres):
    def saver(self, validator: Any = None) -> Any:
        return _wrapped(super().saver(), validator)


SURFACES = {"sqlite": Stock, "postgres": StockPostgres, "remit-sqlite": Remit, "remit-postgres": RemitPostgres}
