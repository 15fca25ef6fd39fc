"""OpenAI Agents SDK, without a model: its `Model` is a function of the conversation.

`session`: tools `one` and `two` and a `SQLiteSession`. `run-state`: a tool `charge`, then a tool `act` that needs
approval; the parked run is the string of its `RunState`, which the caller keeps.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

from agents import Agent, ModelResponse, Runner, RunState, SQLiteSession, Usage, function_tool, set_tracing_disabled
from agents.models.interface import Model
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

set_tracing_disabled(True)

WORLD: Any = None


@function_tool(name_override="before")
def before() -> str:
    WORLD.fire("before")
    return "done"


@function_tool(name_override="act", needs_approval=True)
def act() -> str:
    WORLD.point("answered")
    WORLD.fire("after=YES")
    WORLD.point("fired")
    return "acted"


@function_tool(name_override="decline")
def decline() -> str:
    WORLD.fire("after=NO")
    return "declined"


@function_tool(name_override="one")
def one() -> str:
    WORLD.fire("one")
    WORLD.point("one-done")
    return "done"


@function_tool(name_override="two")
def two() -> str:
    WORLD.fire("two")
    return "done"


class Scripted(Model):
    """Calls the first tool of its line that has no output yet."""

    def __init__(self, *line: str) -> None:
        self.line = line

    async def get_response(self, system_instructions: Any, input: Any, *args: Any, **kwargs: Any) -> ModelResponse:
        items = [] if isinstance(input, str) else [dict(item) for item in input if isinstance(item, dict)]
        calls = {item["call_id"]: item["name"] for item in items if item.get("type") == "function_call"}
        outputs = {
            calls.get(item["call_id"], ""): str(item["output"])
            for item in items
            if item.get("type") == "function_call_output"
        }
        wanted = next((name for name in self.line if name not in outputs), None)
        if "act" in outputs and outputs["act"] != "acted" and "decline" not in outputs:
            wanted = "decline"
        if wanted == "two":
            WORLD.point("two")
        output: Any = (
            ResponseFunctionToolCall(type="function_call", call_id=f"call-{wanted}", name=wanted, arguments="{}")
            if wanted
            else ResponseOutputMessage(
                id="message",
                type="message",
                role="assistant",
                status="completed",
                content=[ResponseOutputText(type="output_text", text="end", annotations=[])],
            )
        )
        return ModelResponse(output=[output], usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError


def agent(*line: str) -> Any:
    return Agent(name="agent", model=Scripted(*line), tools=[before, act, decline, one, two])


class Session:
    def __init__(self, world: Any) -> None:
        global WORLD
        WORLD = world
        self.world = world

    def start_steps(self) -> str:
        return self._run("begin")

    def go_on(self) -> str:
        return self._run("go on")

    def _run(self, text: str) -> str:
        session = SQLiteSession(self.world.run, str(self.world.store / "session.db"))
        asyncio.run(Runner.run(agent("one", "two"), text, session=session))
        return "finished"


class Odd:
    """What no serializer takes."""


class Gate:
    strict = False

    def __init__(self, world: Any) -> None:
        global WORLD
        WORLD = world
        self.world = world
        self.file = world.store / "state.json"
        self.agent = agent("before", "act")

    def start_gated(self) -> str:
        async def run() -> str:
            result = await Runner.run(self.agent, "begin")
            assert result.interruptions
            self.file.write_text(result.to_state().to_string())
            return "parked"

        return asyncio.run(run())

    def answer(self, value: str) -> str:
        async def run() -> str:
            state = await self._load()
            self._decide(state, value)
            await Runner.run(self.agent, state)
            return "finished"

        return asyncio.run(run())

    # The caller has the state: restoring it once more is the only way to fork.
    fork = answer

    def stray(self, value: str) -> str:
        async def run() -> str:
            state = await self._load()
            self._decide(state, value)
            await Runner.run(self.agent, state)
            await Runner.run(self.agent, state)
            return "finished"

        return asyncio.run(run())

    def duplicate(self, value: str) -> str:
        async def run() -> str:
            state = await self._load()
            for _ in range(2):
                self._decide(state, value)
            await Runner.run(self.agent, state)
            return "finished"

        return asyncio.run(run())

    def abandon(self) -> str:
        asyncio.run(self._load())
        return "parked"

    def unserializable(self) -> str:
        async def run() -> str:
            result = await Runner.run(self.agent, "begin", context=Odd())
            self.file.write_text(result.to_state().to_string(**({"strict_context": True} if self.strict else {})))
            return "finished"

        return asyncio.run(run())

    def corrupt(self, kind: str) -> str:
        text = self.file.read_text()
        if kind in ("truncated", "empty"):
            self.file.write_text(text[: len(text) // 2] if kind == "truncated" else "{}")
            return "finished"
        record = json.loads(text)
        if kind == "version":
            record["$schemaVersion"] = "99.0"
        if kind == "tag":
            record["current_agent"]["name"] = "nobody"
        if kind == "type":
            record["generated_items"] = "x"
        if kind == "missing":
            record["current_step"] = None
        self.file.write_text(json.dumps(record))
        return "finished"

    async def _load(self) -> Any:
        return await RunState.from_string(self.agent, self.file.read_text())

    def _decide(self, state: Any, value: str) -> None:
        for item in state.get_interruptions():
            (state.approve if value == "YES" else state.reject)(item)


class GateStrict(Gate):
    strict = True


SURFACES = {"session": Session, "run-state": Gate, "run-state-strict": GateStrict}
