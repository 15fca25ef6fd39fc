"""CV: only schema-valid state becomes durable. An invalid one is refused, nothing of it is stored, and once the node
is fixed the thread goes on.

The stock savers store whatever a node returns; a later `invoke(None)` applies it again (public report langgraph#6491).
Tests marked "guard" hold of a valid state, and are right on stock, too.
"""

from __future__ import annotations

import operator
import threading
from dataclasses import dataclass, field
from typing import Annotated, Any

import pytest
from conftest import STOCK
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.managed import RemainingSteps
from langgraph.types import Command, Overwrite, Send, interrupt
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, model_validator
from raw import rows
from remit import RemitSaver, RemitValidityError
from typing_extensions import TypedDict

CONFIG: Any = {"configurable": {"thread_id": "t"}}
FEW = pytest.mark.parametrize("world", ["memory", "asqlite"], indirect=True)
DURABILITY = pytest.mark.parametrize("durability", ["sync", "async", "exit"])


class Model(BaseModel):
    n: int = 0
    tags: Annotated[list[str], operator.add] = Field(default_factory=list)


class Typed(TypedDict, total=False):
    n: int
    tags: Annotated[list[str], operator.add]


@dataclass
class Data:
    n: int = 0
    tags: Annotated[list[str], operator.add] = field(default_factory=list)


def check(values: Any) -> None:
    assert all(isinstance(values.get(name, kind()), kind) for name, kind in (("n", int), ("tags", list))), "bad type"
    assert not any(name.startswith(("__", "branch:")) for name in values), "the framework's own values are no state"


KINDS: dict[str, Any] = {
    "model": Model,
    "typeddict": Typed,
    "dataclass": Data,
    "adapter": TypeAdapter(Typed),
    "callable": check,
}
# every kind in memory; the other backends store the same things by one text, so one kind is enough there
EACH_KIND = pytest.mark.parametrize(
    ("world", "kind"),
    [("memory", kind) for kind in KINDS] + [("amemory", "model"), ("sqlite", "model"), ("apg", "callable")],
    indirect=["world"],
)


class Loose(TypedDict, total=False):
    """The state as the graph declares it: anything goes."""

    n: Any
    tags: Annotated[list[Any], operator.add]


class Node:
    """Returns what it is told to."""

    def __init__(self, update: Any) -> None:
        self.update = update
        self.runs = 0

    def __call__(self, _: Any) -> Any:
        self.runs += 1
        return self.update


def graph_of(saver: Any, state: Any = Loose, **nodes: Any) -> Any:
    """A graph whose nodes all run in its one step."""
    builder = StateGraph(state)
    for name, node in nodes.items():
        builder.add_node(name, node)
        builder.add_edge(START, name)
    return builder.compile(checkpointer=saver)


async def run(world: Any, graph: Any, input: Any, **options: Any) -> Any:
    if world.is_async:
        return await graph.ainvoke(input, CONFIG, **options)
    return graph.invoke(input, CONFIG, **options)


async def refused(world: Any, graph: Any, input: Any, **options: Any) -> RemitValidityError:
    with pytest.raises(RemitValidityError) as error:
        await run(world, graph, input, **options)
    return error.value


async def values(world: Any, graph: Any) -> Any:
    return (await graph.aget_state(CONFIG) if world.is_async else graph.get_state(CONFIG)).values


# -- every kind of validator, at every door ---------------------------------------------------------------------------


@EACH_KIND
@DURABILITY
async def test_invalid_update_is_refused_and_the_fixed_node_completes(world, kind, durability):
    """Stock stores it. With durability exit stock and REMIT store nothing of a run before its end."""
    node = Node({"n": 1})
    graph = graph_of(await world.saver(validator=KINDS[kind]), node=node)
    await run(world, graph, {"n": 0}, durability=durability)
    before = rows(world.store)

    node.update = {"n": "many"}
    for input in ({"tags": ["a"]}, None if durability != "exit" else {"tags": ["a"]}):
        await refused(world, graph, input, durability=durability)
        # under async durability a callable may first see the next state with its checkpoint; then it is taken back
        assert (kind == "callable" and durability == "async") or "many" not in str(rows(world.store))
        assert (await values(world, graph))["n"] == 1
    if durability == "exit":
        assert rows(world.store) == before

    node.update = {"n": 2}
    given = {"tags": ["a"]} if durability == "exit" else None
    assert (await run(world, graph, given, durability=durability)) == {"n": 2, "tags": ["a"]}


@EACH_KIND
async def test_invalid_input_is_refused(world, kind):
    """Stock stores it. Nothing runs."""
    node = Node({"n": 1})
    graph = graph_of(await world.saver(validator=KINDS[kind]), node=node)
    await refused(world, graph, {"n": "many"}, durability="sync")
    assert "many" not in str(rows(world.store))
    assert await run(world, graph, {"n": 3}) == {"n": 1, "tags": []}


@EACH_KIND
async def test_invalid_update_state_is_refused(world, kind):
    """Stock stores it."""
    graph = graph_of(await world.saver(validator=KINDS[kind]), node=Node({"n": 1}))
    await run(world, graph, {"n": 0})
    before = rows(world.store)
    with pytest.raises(RemitValidityError):
        if world.is_async:
            await graph.aupdate_state(CONFIG, {"n": "many"})
        else:
            graph.update_state(CONFIG, {"n": "many"})
    assert rows(world.store) == before
    if world.is_async:
        await graph.aupdate_state(CONFIG, {"n": 7})
    else:
        graph.update_state(CONFIG, {"n": 7})
    assert (await values(world, graph))["n"] == 7


@DURABILITY
@FEW
async def test_answer_survives_the_refusal_of_what_was_made_of_it(world, durability):
    """Stock stores the invalid outcome."""
    made: list[Any] = ["many", "more", 5]

    def gate(_: Any) -> Any:
        return {"n": made.pop(0) if interrupt("?") == "yes" else -1}

    graph = graph_of(await world.saver(validator=Model), gate=gate)
    await run(world, graph, {"n": 0}, durability=durability)
    await refused(world, graph, Command(resume="yes"), durability=durability)
    if durability == "exit":  # the answer was never durable: it is given again
        await refused(world, graph, Command(resume="yes"), durability=durability)
        assert (await run(world, graph, Command(resume="yes"), durability=durability))["n"] == 5
    else:
        await refused(world, graph, None, durability=durability)
        assert (await run(world, graph, None, durability=durability))["n"] == 5


# -- what the refusal says --------------------------------------------------------------------------------------------


@DURABILITY
@pytest.mark.parametrize("again", [False, True], ids=["new-thread", "old-thread"])
@FEW
async def test_refusal_names_field_type_and_rule(world, durability, again):
    """Whichever of the run's operations fails first, what is raised is the refusal itself, with pydantic's list."""
    node = Node({"n": 1})
    graph = graph_of(await world.saver(validator=Model), node=node)
    if again:
        await run(world, graph, {"n": 0}, durability=durability)
    node.update = {"n": "many"}
    error = await refused(world, graph, {"n": 0}, durability=durability)
    assert (error.code, error.field, error.value_type) == ("invalid-state", "n", "str")
    assert [(e["type"], e["input"]) for e in error.errors] == [("int_parsing", "many")]
    text = str(error)
    assert "n: Input should be a valid integer" in text and "got str" in text and "hint: " in text


def test_validator_that_breaks_refuses(saver_factory: Any) -> None:
    def broken(values: Any) -> None:
        values["no such field"]

    graph = graph_of(saver_factory.wrapped(validator=broken), node=Node({"n": 1}))
    with pytest.raises(RemitValidityError) as error:
        graph.invoke({"n": 0}, CONFIG, durability="sync")
    assert error.value.code == "validator-failed"
    assert "KeyError" in str(error.value)
    assert isinstance(error.value.__cause__, KeyError)
    assert rows(saver_factory) == []


# -- rules over several fields ----------------------------------------------------------------------------------------


class Balanced(BaseModel):
    debit: int = 0
    credit: int = 0

    @model_validator(mode="after")
    def balances(self) -> Any:
        if self.debit != self.credit:
            raise ValueError("debit and credit differ")
        return self


def balances(values: Any) -> None:
    if values.get("debit", 0) != values.get("credit", 0):
        raise ValueError("debit and credit differ")


class Account(TypedDict, total=False):
    debit: int
    credit: int


ACROSS = pytest.mark.parametrize("across", [Balanced, balances], ids=["model", "callable"])
WHERE = pytest.mark.parametrize("parallel", [False, True], ids=["one-node", "two-nodes"])


@ACROSS
@WHERE
@DURABILITY
@FEW
async def test_fields_that_do_not_go_together_are_refused(world, across, parallel, durability):
    """Stock stores them. Each write alone satisfies its field's rule, so a check of single writes is not enough: what
    `put` refuses must not lie among the pending writes, or the thread never goes on."""
    debit, credit = Node({"debit": 1}), Node({"credit": 2})
    nodes = {"debit": debit, "credit": credit} if parallel else {"both": Node({"debit": 1, "credit": 2})}
    graph = graph_of(await world.saver(validator=across), Account, **nodes)
    valid = {"debit": 0, "credit": 0}
    for input in (valid, None if durability != "exit" else valid):
        error = await refused(world, graph, input, durability=durability)
        assert "debit and credit differ" in str(error)
        assert (await values(world, graph)) in (valid, {})
    for node in nodes.values():
        node.update = {name: 1 for name in node.update}
    given = None if durability != "exit" else valid
    assert await run(world, graph, given, durability=durability) == {"debit": 1, "credit": 1}


@ACROSS
@WHERE
@DURABILITY
@FEW
async def test_fields_that_go_together_are_accepted(world, across, parallel, durability):
    """Guard. What one of two parallel nodes writes is half of a step: the rule holds of the whole."""
    nodes: dict[str, Any] = {"both": Node({"debit": 1, "credit": 1})}
    if parallel:
        nodes = {"debit": Node({"debit": 1}), "credit": Node({"credit": 1})}
    graph = graph_of(await world.saver(validator=across), Account, **nodes)
    result = await run(world, graph, {"debit": 0, "credit": 0}, durability=durability)
    assert result == {"debit": 1, "credit": 1}


def limited(values: Any) -> None:
    if values.get("debit", 0) > values.get("credit", 0):
        raise ValueError("too much")


@DURABILITY
def test_update_is_checked_over_the_step_before_it(durability: Any) -> None:
    """Guard: also when the checkpoint before it is still on its way to a slow store. Its `put` returns only when the
    later node's writes have arrived, or when it is clear that they wait for it."""
    arrived = threading.Event()

    class Slow(InMemorySaver):
        def put(self, config: Any, checkpoint: Any, metadata: Any, versions: Any) -> Any:
            if metadata["step"] == 0:
                arrived.wait(0.3)
            return super().put(config, checkpoint, metadata, versions)

    def limits(values: Any) -> None:
        if values.get("debit"):
            arrived.set()
        limited(values)

    saver = InMemorySaver() if STOCK else RemitSaver(Slow(), validator=limits)
    builder = StateGraph(Account)
    builder.add_node("earn", lambda _: {"credit": 10})
    builder.add_node("spend", lambda _: {"debit": 7})
    builder.add_edge(START, "earn")
    builder.add_edge("earn", "spend")
    graph = builder.compile(checkpointer=saver)
    assert graph.invoke({"debit": 0, "credit": 0}, CONFIG, durability=durability) == {"debit": 7, "credit": 10}


@pytest.mark.parametrize("old", [False, True], ids=["new-thread", "old-thread"])
def test_sibling_that_ended_after_the_refusal_is_not_run_again(old: bool) -> None:
    """PC: a task whose valid writes were handed over is finished, whatever became of its sibling. Stock keeps them."""
    refusal, first = threading.Event(), threading.Event()

    class Watched(BaseModel):
        n: int = 0
        tags: Annotated[list[str], operator.add] = Field(default_factory=list)

    def bad(_: Any) -> Any:
        return {"n": "many" if first.is_set() else 1}

    ran: list[str] = []

    def good(_: Any) -> Any:
        if first.is_set():
            refusal.wait(5)
        ran.append("good")
        return {"tags": ["good"]}

    saver: Any = InMemorySaver() if STOCK else RemitSaver(InMemorySaver(), validator=Watched)
    if STOCK:
        refusal.set()
    else:
        validator = saver._protocol.validators.of("")
        original = validator.check_updates

        def told(*args: Any, **kwargs: Any) -> None:
            try:
                original(*args, **kwargs)
            except RemitValidityError:
                refusal.set()
                raise

        validator.check_updates = told
    graph = graph_of(saver, Loose, bad=bad, good=good)
    if old:
        graph.invoke({"n": 0}, CONFIG)
    ran.clear()
    first.set()
    if not STOCK:
        with pytest.raises(RemitValidityError):
            graph.invoke({"n": 0}, CONFIG)
        first.clear()
    graph.invoke(None if not STOCK else {"n": 0}, CONFIG)
    assert ran == ["good"]


# -- what is valid stays valid ----------------------------------------------------------------------------------------


def count(total: int, text: str) -> int:
    return (total or 0) + len(text)


class Reduced(TypedDict, total=False):
    """Channels whose reducers take something else than they keep."""

    sum: Annotated[list[int], operator.add]
    messages: Annotated[list[Any], add_messages]
    counted: Annotated[int, count]
    untyped: Annotated[int, lambda total, text: (total or 0) + len(text)]
    kept: Annotated[list[str], lambda some, one: [*(some or []), one]]


class Item(BaseModel):
    x: int


class Rich(BaseModel):
    model_config = ConfigDict(strict=False)
    required: int
    later: str = ""
    nothing: int | None = None
    item: Item | None = None
    items: list[Item] = Field(default_factory=list)


class Managed(TypedDict, total=False):
    n: int
    left: RemainingSteps


class Part(BaseModel):
    """Knows some of the graph's channels only, and would forbid others."""

    model_config = ConfigDict(extra="forbid")
    n: int = 0


VALID: dict[str, tuple[Any, Any, Any, Any]] = {
    "added": (Reduced, Reduced, {"sum": [1]}, {"sum": [2]}),
    "overwritten": (Reduced, Reduced, {"sum": [1]}, {"sum": Overwrite([2])}),
    "overwritten-dict": (Reduced, Reduced, {"sum": [1]}, {"sum": {"__overwrite__": [2]}}),
    "message": (Reduced, Reduced, {"messages": HumanMessage("q")}, {"messages": AIMessage("a")}),
    "message-tuple": (Reduced, Reduced, {"messages": [("user", "q")]}, {"messages": ("ai", "a")}),
    "message-dict": (Reduced, Reduced, {"messages": "q"}, {"messages": {"role": "ai", "content": "a"}}),
    "typed-reducer": (Reduced, Reduced, {"counted": "one"}, {"counted": "two"}),
    "untyped-reducer": (Reduced, Reduced, {"untyped": "one"}, {"untyped": "two"}),
    "untyped-reducer-not-yet-set": (Reduced, Reduced, {}, {"untyped": "two"}),
    "appending-reducer": (Reduced, Reduced, {"kept": "one"}, {"kept": "two"}),
    "coercible": (Rich, Rich, {"required": "1"}, {"later": "x", "items": [{"x": "3"}]}),
    "none": (Rich, Rich, {"required": 1, "nothing": 4}, {"nothing": None}),
    "nested": (Rich, Rich, {"required": 1, "item": {"x": 1}}, {"item": {"x": 2}}),
    "not-yet-set": (Rich, dict[str, Any], {"required": 1}, {"later": "x"}),
    "extra-channels": (Loose, Part, {"n": 1, "tags": ["a"]}, {"tags": ["b"]}),
    "managed": (Managed, Managed, {"n": 1}, {"n": 2}),
    "no-update": (Typed, Typed, {"n": 1}, None),
    "command": (Typed, Typed, {"n": 1}, Command(update={"n": 2})),
}


@pytest.mark.parametrize("case", list(VALID))
@DURABILITY
def test_valid_state_is_accepted(case: str, durability: Any) -> None:
    """Guard: with a validator the graph gives what it gives without one."""
    state, schema, given, update = VALID[case]
    validator = schema if isinstance(schema, type) else TypeAdapter(schema)

    def outcome(saver: Any) -> Any:
        graph = graph_of(saver, state, node=lambda _: update)
        result = graph.invoke(given, CONFIG, durability=durability)
        again = graph.invoke(given, CONFIG, durability=durability)
        return [{k: [m.content for m in v] if k == "messages" else v for k, v in r.items()} for r in (result, again)]

    saver = InMemorySaver() if STOCK else RemitSaver(InMemorySaver(), validator=validator)
    assert outcome(saver) == outcome(InMemorySaver())


INVALID: dict[str, tuple[Any, Any, Any]] = {
    "overwritten": (Reduced, {"sum": [1]}, {"sum": Overwrite("2")}),
    "result": (Reduced, {"sum": [1]}, {"sum": ["x"]}),
    "nested": (Rich, {"required": 1}, {"item": {"x": "y"}}),
    "command": (Typed, {"n": 1}, Command(update={"n": "x"})),
    "required-none": (Rich, {"required": 1}, {"required": None}),
}


@pytest.mark.parametrize("case", list(INVALID))
def test_invalid_state_is_refused(case: str) -> None:
    """Stock stores it, where the channel itself takes it."""
    state, given, update = INVALID[case]
    inner = InMemorySaver()
    saver = inner if STOCK else RemitSaver(inner, validator=state)
    builder = StateGraph(state)
    builder.add_node("node", lambda _: update)
    builder.add_edge(START, "node")
    with pytest.raises(RemitValidityError):
        builder.compile(checkpointer=saver).invoke(given, CONFIG, durability="sync")


def test_private_and_other_schemas_are_left_alone() -> None:
    """Guard: an input schema, an output schema, a node's private channel and Send's argument are not the state's."""

    class Question(TypedDict):
        text: str

    class Private(TypedDict, total=False):
        secret: list[int]

    class Answer(TypedDict, total=False):
        n: int

    def first(state: Any) -> Any:
        return {"secret": [len(state["text"])]}

    def second(state: Any) -> Any:
        return Command(goto=[Send("third", {"n": "not a number", "secret": state["secret"]})])

    builder = StateGraph(Typed, input_schema=Question, output_schema=Answer)
    builder.add_node("first", first, input_schema=Question)
    builder.add_node("second", second, input_schema=Private)
    builder.add_node("third", lambda state: {"n": state["secret"][0]}, input_schema=dict)
    builder.add_edge(START, "first")
    builder.add_edge("first", "second")
    saver = InMemorySaver() if STOCK else RemitSaver(InMemorySaver(), validator=Typed)
    assert builder.compile(checkpointer=saver).invoke({"text": "four"}, CONFIG) == {"n": 4}


# -- subgraphs --------------------------------------------------------------------------------------------------------


class Child(TypedDict, total=False):
    n: str  # the root's is an integer
    z: int


def with_child(saver: Any, z: Node, checkpointer: Any = None) -> Any:
    child = graph_of(checkpointer, Child, one=lambda _: {"n": "text", **z(None)})

    def call(_: Any) -> Any:
        child.invoke({"n": "plain"})
        return {"n": 1}

    return graph_of(saver, Typed, call=call)


@pytest.mark.parametrize("checkpointer", [None, True])
def test_roots_validator_is_the_roots(checkpointer: Any) -> None:
    """Guard: a channel of the same name in a subgraph has another type."""
    saver = InMemorySaver() if STOCK else RemitSaver(InMemorySaver(), validator=Typed)
    assert with_child(saver, Node({"z": 1}), checkpointer).invoke({"n": 0}, CONFIG)["n"] == 1


@pytest.mark.parametrize("checkpointer", [None, True])
def test_subgraph_has_its_own_validator(checkpointer: Any) -> None:
    """Stock stores it."""
    z = Node({"z": "no integer"})
    inner = InMemorySaver()
    saver = inner if STOCK else RemitSaver(inner, validator={"": Typed, "call": Child})
    graph = with_child(saver, z, checkpointer)
    with pytest.raises(RemitValidityError) as error:
        graph.invoke({"n": 0}, CONFIG, durability="sync")
    assert "z: Input should be a valid integer" in str(error.value)
    assert "no integer" not in repr(inner.writes)
    z.update = {"z": 1}
    assert graph.invoke(None, CONFIG)["n"] == 1
