"""AutoGen AgentChat: a team with a handoff to the user, and `save_state` when the caller says so.

The model client is a function of the conversation, so what it decides does not depend on how often it was asked.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.base import Handoff
from autogen_agentchat.conditions import HandoffTermination, MaxMessageTermination, TextMentionTermination
from autogen_agentchat.messages import HandoffMessage
from autogen_agentchat.teams import RoundRobinGroupChat
from autogen_core import FunctionCall
from autogen_core.models import CreateResult, FunctionExecutionResultMessage, ModelInfo, RequestUsage
from autogen_ext.models.replay import ReplayChatCompletionClient

WORLD: Any = None


async def before() -> str:
    WORLD.fire("before")
    return "done"


async def act(value: str) -> str:
    WORLD.point("answered")
    WORLD.fire(f"after={value}")
    WORLD.point("fired")
    return "acted"


async def one() -> str:
    WORLD.fire("one")
    WORLD.point("one-done")
    return "done"


async def two() -> str:
    WORLD.fire("two")
    return "done"


class Scripted(ReplayChatCompletionClient):
    def __init__(self, line: list[str]) -> None:
        info = ModelInfo(
            vision=False, function_calling=True, json_output=False, family="unknown", structured_output=False
        )
        super().__init__(["unused"], model_info=info)
        self.line = line

    async def create(self, messages: Any, **kwargs: Any) -> CreateResult:
        done = {
            result.name
            for message in messages
            if isinstance(message, FunctionExecutionResultMessage)
            for result in message.content
        }
        answers = [
            m.content for m in messages if isinstance(getattr(m, "content", None), str) and m.content in ("YES", "NO")
        ]
        wanted = next((name for name in self.line if name not in done), None)
        if wanted == "act" and not answers:
            wanted = "transfer_to_user"
        if wanted == "two":
            WORLD.point("two")
        content: Any = "END"
        if wanted:
            arguments = json.dumps({"value": answers[-1]} if wanted == "act" else {})
            content = [FunctionCall(id=f"call-{wanted}-{len(messages)}", name=wanted, arguments=arguments)]
        return CreateResult(
            finish_reason="function_calls" if wanted else "stop",
            content=content,
            usage=RequestUsage(prompt_tokens=0, completion_tokens=0),
            cached=False,
        )


def team(*line: str) -> Any:
    member = AssistantAgent(
        "a",
        model_client=Scripted(list(line)),
        tools=[before, act, one, two],  # type: ignore[list-item]
        handoffs=[Handoff(target="user")],
        max_tool_iterations=10,
    )
    ends = HandoffTermination("user") | TextMentionTermination("END") | MaxMessageTermination(40)
    return RoundRobinGroupChat([member], termination_condition=ends)


class Plane:
    def __init__(self, world: Any) -> None:
        global WORLD
        WORLD = world
        self.world = world
        self.file = world.store / "team.json"

    def start_gated(self) -> str:
        async def run() -> str:
            parked = team("before", "act")
            result = await parked.run(task="begin")
            assert isinstance(result.messages[-1], HandoffMessage)
            await self._save(parked)
            return "parked"

        return asyncio.run(run())

    def answer(self, value: str) -> str:
        async def run() -> str:
            restored = await self._load("before", "act")
            await restored.run(task=self._message(value))
            return "finished"

        return asyncio.run(run())

    # The caller has the state: loading it once more is the only way to fork.
    fork = answer

    def stray(self, value: str) -> str:
        async def run() -> str:
            restored = await self._load("before", "act")
            for _ in range(2):
                await restored.run(task=self._message(value))
            return "finished"

        return asyncio.run(run())

    def duplicate(self, value: str) -> str:
        async def run() -> str:
            restored = await self._load("before", "act")
            calls = [restored.run(task=self._message(value)) for _ in range(2)]
            done = await asyncio.gather(*calls, return_exceptions=True)
            return "refused" if any(isinstance(each, Exception) for each in done) else "finished"

        return asyncio.run(run())

    def start_steps(self) -> str:
        async def run() -> str:
            failing = team("one", "two")
            try:
                await failing.run(task="begin")
            finally:
                await self._save(failing)
            return "finished"

        return asyncio.run(run())

    def go_on(self) -> str:
        if not self.file.exists():
            return self.start_steps()  # nothing durable: the caller has saved nothing

        async def run() -> str:
            restored = await self._load("one", "two")
            await restored.run()
            return "finished"

        return asyncio.run(run())

    def abandon(self) -> str:
        asyncio.run(self._load("before", "act"))
        return "parked"

    def corrupt(self, kind: str) -> str:
        text = self.file.read_text()
        if kind in ("truncated", "empty"):
            self.file.write_text(text[: len(text) // 2] if kind == "truncated" else "{}")
            return "finished"
        record = json.loads(text)
        agents = record["agent_states"]
        manager = next(name for name in agents if "Manager" in name)
        if kind == "version":
            record["version"] = "9.9.9"
        if kind == "tag":
            record["type"] = "SomethingElse"
        if kind == "type":
            agents[manager]["current_turn"] = "x"
        if kind == "missing":
            del agents[manager]
        self.file.write_text(json.dumps(record))
        return "finished"

    def _message(self, value: str) -> Any:
        return HandoffMessage(source="user", target="a", content=value)

    async def _save(self, running: Any) -> None:
        self.file.write_text(json.dumps(await running.save_state()))

    async def _load(self, *line: str) -> Any:
        restored = team(*line)
        await restored.load_state(json.loads(self.file.read_text()))
        return restored


SURFACES = {"handoff": Plane}
