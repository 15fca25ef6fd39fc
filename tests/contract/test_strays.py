"""Strays: a resume that answers nothing fires nothing, stores nothing, and is said once, before anything runs.

The stock savers take all of these in silence; one to an absent thread starts the graph, one with an unknown id runs the
parked node again up to its question, and an empty map is taken for answers of which there are none (public reports
langgraph#8836, #8579, #4987). Tests marked "guard" are legitimate calls, right on stock, and must stay unsaid.
"""

from __future__ import annotations

import logging
import operator
import warnings
from typing import Annotated, Any, TypedDict

import pytest
from conftest import STOCK
from langgraph.channels import EphemeralValue, LastValue
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint
from langgraph.graph import START, StateGraph
from langgraph.pregel import NodeBuilder, Pregel
from langgraph.types import Command, interrupt
from raw import rows
from remit import RemitSaver, RemitStrayResume

UNKNOWN = "f" * 32
NO_CHECKPOINT = "1f000000-0000-6000-8000-000000000000"
SOME = pytest.mark.parametrize("world", ["memory", "sqlite", "apg"], indirect=True)
MEMORY = pytest.mark.parametrize("world", ["memory", "amemory"], indirect=True)


class State(TypedDict, total=False):
    log: Annotated[list[Any], operator.add]


def asks(ledger: Any) -> Any:
    """An effect, then two parallel questions with an effect before and after each."""

    def gate(name: str) -> Any:
        def node(_: Any) -> Any:
            ledger.fire(f"before {name}")
            answer = interrupt(name)
            ledger.fire(f"after {name}", answer)
            return {"log": [answer]}

        return node

    def begin(_: Any) -> Any:
        ledger.fire("begin")
        return {"log": ["begin"]}

    def build(saver: Any) -> Any:
        builder = StateGraph(State)
        builder.add_node("begin", begin)
        builder.add_edge(START, "begin")
        for name in ("one", "two"):
            builder.add_node(name, gate(name))
            builder.add_edge("begin", name)
        return builder.compile(checkpointer=saver)

    return build


class Heard(logging.Handler):
    """What was said, by warning and by log record."""

    def __init__(self) -> None:
        super().__init__()
        self.codes: list[Any] = []
        self.warned: list[Any] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.codes.append(getattr(record, "remit_code", None))


@pytest.fixture
def heard() -> Any:
    handler = Heard()
    logging.getLogger("remit").addHandler(handler)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        handler.warned = caught
        yield handler
    logging.getLogger("remit").removeHandler(handler)


class Talk:
    """A thread of a graph, spoken to with whatever configuration."""

    def __init__(self, graph: Any, is_async: bool) -> None:
        self.graph, self.is_async = graph, is_async

    async def say(self, input: Any, **configurable: Any) -> Any:
        config: Any = {"configurable": {"thread_id": "t", **configurable}}
        if self.is_async:
            return await self.graph.ainvoke(input, config)
        return self.graph.invoke(input, config)

    async def state(self) -> Any:
        config: Any = {"configurable": {"thread_id": "t"}}
        return await self.graph.aget_state(config) if self.is_async else self.graph.get_state(config)

    async def ids(self) -> dict[str, str]:
        return {q.value: q.id for q in (await self.state()).interrupts}

    async def address(self) -> str:
        address: str = (await self.state()).config["configurable"]["checkpoint_id"]
        return address


async def talk(world: Any, build: Any, **options: Any) -> Talk:
    return Talk(build(await world.saver(**options)), world.is_async)


# name: (thread is started, finished), the answer, code, is it refused by default
STRAYS: dict[str, tuple[str, Any, str, bool]] = {
    "absent": ("absent", "yes", "stray-no-thread", True),
    "absent-named": ("absent", {UNKNOWN: "yes"}, "stray-no-thread", True),
    "finished": ("finished", "yes", "stray-not-waiting", False),
    "finished-false": ("finished", False, "stray-not-waiting", False),
    "finished-empty-map": ("finished", {}, "stray-not-waiting", False),
    "finished-consumed": ("finished", "{one}", "stray-not-waiting", False),
    "unknown": ("parked", {UNKNOWN: "yes"}, "stray-unknown-interrupt", True),
    "empty-map": ("parked", {}, "stray-empty-map", True),
    "consumed": ("half", "{one}", "stray-unknown-interrupt", True),
}


async def bring(thread: Talk, to: str) -> dict[str, str]:
    """Brings a thread to where the stray meets it, and returns the ids of its questions."""
    if to == "absent":
        return {}
    await thread.say({"log": []})
    ids = await thread.ids()
    if to == "half":
        await thread.say(Command(resume={ids["one"]: 1}))
    if to == "finished":
        await thread.say(Command(resume={ids["one"]: 1, ids["two"]: 2}))
    return ids


@pytest.mark.parametrize(
    ("world", "policy"),
    [("memory", "warn"), ("memory", "raise"), ("memory", "ignore"), ("amemory", "warn")],
    indirect=["world"],
)
@pytest.mark.parametrize("addressed", [False, True], ids=["ordinary", "at-head"])
@pytest.mark.parametrize("case", list(STRAYS))
async def test_stray_is_said_once_and_fires_nothing(world, case, addressed, policy, ledger, heard):
    """Stock says nothing in any case."""
    to, answer, code, refused = STRAYS[case]
    if to == "absent" and addressed:
        code = "stray-no-checkpoint"
    thread = await talk(world, asks(ledger), on_stray=policy)
    ids = await bring(thread, to)
    if answer == "{one}":
        answer = {ids["one"]: "yes"}
    where = {"checkpoint_id": await thread.address() if to != "absent" else NO_CHECKPOINT} if addressed else {}
    before, effects = rows(world.store), ledger.fired()
    if policy == "ignore" and code != "stray-no-checkpoint":
        await thread.say(Command(resume=answer), **where)
        assert not heard.codes and not heard.warned
        return
    if policy == "raise" or refused:
        with pytest.raises(RemitStrayResume) as error:
            await thread.say(Command(resume=answer), **where)
        assert error.value.code == code and error.value.thread == "t"
        assert "hint: " in str(error.value)
        assert not heard.warned
    else:
        await thread.say(Command(resume=answer), **where)
        assert [w.message.code for w in heard.warned] == [code]
        assert heard.warned[0].filename == __file__, "the warning names the caller's line"
    assert heard.codes == [code]
    assert ledger.fired() == effects
    assert rows(world.store) == before


@pytest.mark.parametrize("case", ["absent", "finished", "unknown"])
@SOME
async def test_stray_stores_nothing(world, case, ledger, heard):
    """On each database. Stock stores the answer, and in the first case runs the graph."""
    to, answer, _, refused = STRAYS[case]
    thread = await talk(world, asks(ledger))
    await bring(thread, to)
    before, effects = rows(world.store), ledger.fired()
    try:
        await thread.say(Command(resume=answer))
        assert not refused
    except RemitStrayResume:
        assert refused
    assert (rows(world.store), ledger.fired()) == (before, effects)


@SOME
async def test_partly_unknown_answer_fires_nothing(world, ledger, heard):
    """It is refused whole. Stock drops the unknown part in silence."""
    thread = await talk(world, asks(ledger))
    ids = await bring(thread, "parked")
    before, effects = rows(world.store), ledger.fired()
    with pytest.raises(RemitStrayResume) as error:
        await thread.say(Command(resume={ids["one"]: "yes", UNKNOWN: "no"}))
    assert heard.codes == [error.value.code] == ["stray-some-unknown"]
    assert UNKNOWN in str(error.value) and ids["two"] in str(error.value)
    assert (rows(world.store), ledger.fired()) == (before, effects)
    await thread.say(Command(resume={ids["one"]: "yes"}))  # the twin: a part of the questions is answered
    assert (ledger.fired("after one"), ledger.fired("after two")) == (["yes"], [])


@SOME
async def test_thread_goes_on_after_strays(world, ledger, heard):
    """Liveness: whatever strays came, the right answers complete the thread, and each effect fires once."""
    thread = await talk(world, asks(ledger))
    for answer in ("early", {UNKNOWN: 1}):
        with pytest.raises(RemitStrayResume):
            await thread.say(Command(resume=answer))
    ids = await bring(thread, "parked")
    for answer in ({UNKNOWN: 1}, {}):
        with pytest.raises(RemitStrayResume):
            await thread.say(Command(resume=answer))
    assert await thread.ids() == ids
    result = await thread.say(Command(resume={ids["one"]: 1, ids["two"]: 2}))
    await thread.say(Command(resume="late"))
    assert sorted(map(str, result["log"])) == ["1", "2", "begin"]
    assert (ledger.fired("begin"), ledger.fired("after one"), ledger.fired("after two")) == ([None], [1], [2])


@pytest.mark.parametrize(
    "input", [Command(resume="yes"), Command(resume={UNKNOWN: 1}), None], ids=["bare", "id", "none"]
)
@MEMORY
async def test_unknown_checkpoint_is_refused(world, input, ledger, heard):
    """Stock starts the graph from its beginning (langgraph#4987)."""
    thread = await talk(world, asks(ledger), on_stray="ignore")
    await bring(thread, "parked")
    before, effects = rows(world.store), ledger.fired()
    with pytest.raises(RemitStrayResume) as error:
        await thread.say(input, checkpoint_id=NO_CHECKPOINT)
    assert (error.value.code, error.value.checkpoint) == ("stray-no-checkpoint", NO_CHECKPOINT)
    assert (rows(world.store), ledger.fired()) == (before, effects)


@MEMORY
async def test_only_named_answers_where_that_is_required(world, ledger, heard):
    """Stock takes a bare answer for whoever asks."""
    thread = await talk(world, gate_alone(ledger), require_named_answers=True)
    await thread.say({"log": []})
    before = rows(world.store)
    with pytest.raises(RemitStrayResume) as error:
        await thread.say(Command(resume="yes"))
    assert error.value.code == "stray-unnamed"
    assert rows(world.store) == before
    ids = await thread.ids()
    assert ids["?"] in str(error.value)
    assert (await thread.say(Command(resume={ids["?"]: "yes"})))["log"] == ["yes"]


# -- what is no stray ------------------------------------------------------------------------------------------------


def gate_alone(ledger: Any) -> Any:
    def gate(_: Any) -> Any:
        answer = interrupt("?")
        ledger.fire("effect", answer)
        return {"log": [answer]}

    return lambda saver: StateGraph(State).add_node("gate", gate).add_edge(START, "gate").compile(checkpointer=saver)


def step(name: str) -> Any:
    return lambda _: {"log": [name]}


def breakpoint_before(saver: Any, defer: bool = False, join: bool = False, plus: bool = False) -> Any:
    first = "a+b" if plus else "a"
    builder = StateGraph(State)
    builder.add_node(first, step("a"))
    builder.add_node("c", step("c"))
    builder.add_node("z", step("z"), defer=defer)
    builder.add_edge(START, first)
    builder.add_edge(START, "c")
    if join:
        builder.add_edge([first, "c"], "z")
    else:
        builder.add_edge(first, "z")
    return builder.compile(checkpointer=saver, interrupt_before=["z"])


def in_child(saver: Any) -> Any:
    child = gate_alone(_Silent())(None)
    return StateGraph(State).add_node("child", child).add_edge(START, "child").compile(checkpointer=saver)


class _Silent:
    def fire(self, *_: Any) -> None:
        pass


def failed_once(saver: Any) -> Any:
    tries = []

    def node(_: Any) -> Any:
        tries.append(1)
        if len(tries) == 1:
            raise RuntimeError("once")
        return {"log": ["z"]}

    return StateGraph(State).add_node("node", node).add_edge(START, "node").compile(checkpointer=saver)


def functional(saver: Any) -> Any:
    @entrypoint(checkpointer=saver)
    def workflow(_: Any) -> Any:
        return {"log": [interrupt("?")]}

    return workflow


def raw_pregel(saver: Any) -> Any:
    def ask(_: Any) -> Any:
        return interrupt("?")

    node = NodeBuilder().subscribe_only("log").do(ask).write_to("out")
    return Pregel(
        nodes={"ask": node},
        channels={"log": EphemeralValue(Any), "out": LastValue(Any)},
        input_channels=["log"],
        output_channels=["out"],
        checkpointer=saver,
    )


LEGITIMATE: dict[str, Any] = {
    "breakpoint": breakpoint_before,
    "breakpoint-join": lambda saver: breakpoint_before(saver, join=True),
    "breakpoint-deferred": lambda saver: breakpoint_before(saver, defer=True),
    "breakpoint-deferred-join": lambda saver: breakpoint_before(saver, defer=True, join=True),
    "breakpoint-join-plus": lambda saver: breakpoint_before(saver, join=True, plus=True),
    "failed": failed_once,
    "gate": gate_alone(_Silent()),
    "child": in_child,
    "functional": functional,
    "raw": raw_pregel,
}


@pytest.mark.parametrize("answer", ["yes", ""], ids=repr)
@pytest.mark.parametrize("case", list(LEGITIMATE))
@MEMORY
async def test_legitimate_answer_is_left_alone(world, case, answer, heard):
    """Guard."""
    thread = await talk(world, LEGITIMATE[case], on_stray="raise")
    try:
        await thread.say({"log": []})
    except RuntimeError as e:
        assert str(e) == "once"
    result = await thread.say(Command(resume=answer))
    assert not heard.codes and not heard.warned
    assert result.get("log", [result.get("out")])[-1] in (answer, "z")
    assert (await thread.state()).next == ()


@MEMORY
async def test_finished_thread_with_a_deferred_join(world, heard):
    """A stray like any other. On stock it is silent."""
    thread = await talk(world, lambda saver: breakpoint_before(saver, defer=True, join=True))
    await thread.say({"log": []})
    await thread.say(None)
    await thread.say(Command(resume="yes"))
    assert heard.codes == ["stray-not-waiting"]


@pytest.mark.parametrize("input", [{"log": []}, None, Command(update={"log": [1]}), Command(goto="gate")], ids=repr)
@MEMORY
async def test_calls_without_an_answer_are_left_alone(world, input, ledger, heard):
    """Guard: on a thread that waits."""
    thread = await talk(world, gate_alone(ledger), on_stray="raise")
    await thread.say({"log": []})
    await thread.say(input)
    withdrawn = [] if STOCK or not isinstance(input, dict) else ["question-withdrawn"]
    assert heard.codes == withdrawn and not heard.warned


@pytest.mark.skipif(STOCK, reason="stock says nothing")
def test_default_filter_shows_each_callers_stray() -> None:
    """Python shows a warning once per place: two places in the caller's code are two, and one in a loop is one."""
    graph = gate_alone(_Silent())(RemitSaver(InMemorySaver()))
    config: Any = {"configurable": {"thread_id": "t"}}
    graph.invoke({"log": []}, config)
    graph.invoke(Command(resume=1), config)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(3):
            graph.invoke(Command(resume=2), config)
        graph.invoke(Command(resume=2), config)
    assert len(caught) == 2
