"""pydantic-graph 1.x with `FileStatePersistence`: a run is parked between two nodes. 2.x has no such module."""

from __future__ import annotations

import asyncio
import json
import shutil
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

warnings.simplefilter("ignore")

from pydantic_graph import BaseNode, End, Graph, GraphRunContext  # noqa: E402
from pydantic_graph.persistence.file import FileStatePersistence  # noqa: E402

WORLD: Any = None
"""Of this process: nodes are stored, so it cannot be one of their fields."""


@dataclass
class State:
    answer: str = ""
    count: int = 0


@dataclass
class Begin(BaseNode[State, None, str]):
    async def run(self, ctx: GraphRunContext[State]) -> Gate:
        WORLD.fire("before")
        return Gate()


@dataclass
class Gate(BaseNode[State, None, str]):
    async def run(self, ctx: GraphRunContext[State]) -> End[str]:
        WORLD.point("answered")
        WORLD.fire(f"after={ctx.state.answer}")
        WORLD.point("fired")
        return End(ctx.state.answer)


@dataclass
class One(BaseNode[State, None, str]):
    async def run(self, ctx: GraphRunContext[State]) -> Two:
        WORLD.fire("one")
        WORLD.point("one-done")
        return Two()


@dataclass
class Two(BaseNode[State, None, str]):
    async def run(self, ctx: GraphRunContext[State]) -> End[str]:
        WORLD.point("two")
        WORLD.fire("two")
        return End("end")


@dataclass
class Odd(BaseNode[State, None, str]):
    value: str = "null"

    async def run(self, ctx: GraphRunContext[State]) -> Gate:
        ctx.state.count = None if self.value == "null" else object()  # type: ignore[assignment]
        return Gate()


GATED = Graph(nodes=[Begin, Gate, Odd])
STEPS = Graph(nodes=[One, Two])


class Plane:
    def __init__(self, world: Any) -> None:
        global WORLD
        WORLD = world
        self.world = world
        self.file = world.store / "run.json"
        self.parked = world.store / "parked.json"

    def start_gated(self) -> str:
        self._run(GATED, Begin(), steps=1)
        shutil.copy(self.file, self.parked)
        return "parked"

    def answer(self, value: str) -> str:
        return self._resume(GATED, value, self.file)

    def fork(self, value: str) -> str:
        # There is no address: a fork is a copy of the file as it was when the run was parked.
        copy = self.world.store / f"fork-{len(list(self.world.store.glob('fork-*')))}.json"
        shutil.copy(self.parked, copy)
        return self._resume(GATED, value, copy)

    def stray(self, value: str) -> str:
        self.answer(value)
        return self.answer(value)

    def start_steps(self) -> str:
        self._run(STEPS, One(), steps=2)
        return "finished"

    def go_on(self) -> str:
        return self._resume(STEPS, "", self.file)

    def abandon(self) -> str:
        async def run() -> None:
            async with GATED.iter_from_persistence(self._persistence(GATED, self.file)):
                pass

        asyncio.run(run())
        return "parked"

    def invalid(self) -> Any:
        self._run(GATED, Odd("null"), steps=1)
        return "finished", "invalid" if '"count":null' in self.file.read_text().replace(" ", "") else "valid"

    def unserializable(self) -> str:
        self._run(GATED, Odd("object"), steps=1)
        return "finished"

    def corrupt(self, kind: str) -> str:
        text = self.file.read_text()
        if kind == "truncated":
            self.file.write_text(text[: len(text) // 2])
            return "finished"
        record = json.loads(text)
        if kind == "empty":
            record = []
        for entry in record:
            if kind == "type":
                entry["state"] = "x"
            if kind == "tag":
                entry["node"]["node_id"] = "Nobody"
        self.file.write_text(json.dumps(record))
        return "finished"

    def _persistence(self, graph: Any, file: Path) -> Any:
        persistence: Any = FileStatePersistence(file)
        persistence.set_graph_types(graph)
        return persistence

    def _run(self, graph: Any, node: Any, steps: int) -> None:
        async def run() -> None:
            persistence = self._persistence(graph, self.file)
            async with graph.iter(node, state=State(), persistence=persistence) as run:
                for _ in range(steps):
                    await run.next()

        asyncio.run(run())

    def _resume(self, graph: Any, answer: str, file: Path) -> str:
        async def run() -> None:
            async with graph.iter_from_persistence(self._persistence(graph, file)) as run:
                run.state.answer = answer
                node = await run.next()
                while not isinstance(node, End):
                    node = await run.next(node)

        asyncio.run(run())
        return "finished"


SURFACES = {"file": Plane}
