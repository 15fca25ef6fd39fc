"""What a call wants is known at its loop's read, whoever calls and from where; and nothing is kept of an ended call."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import json
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.runnables import Runnable, RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt
from langsmith.run_helpers import tracing_context
from langsmith.run_trees import RunTree
from remit import RemitSaver, intent
from remit._core import Intent
from remit.intent import is_interrupt_map, wish_of_child, wish_of_input
from remit.reading import _parent_run
from typing_extensions import TypedDict

CONFIG: Any = {"configurable": {"thread_id": "thread"}}
ID = "0123456789abcdef" * 2


class State(TypedDict, total=False):
    input: Any
    answer: Any


class Spy(InMemorySaver):
    """Notes the intent at each read of an executing loop: (namespace is the root's, intent, input)."""

    def __init__(self) -> None:
        super().__init__()
        self.reads: list[tuple[str, Any]] = []
        self.before = set(intent._live)  # another test's thread may wait for ever

    def get_tuple(self, config: Any) -> Any:
        conf = config["configurable"]
        if "__pregel_runtime" in conf:
            call = intent.current_call()
            level = "root" if not conf.get("checkpoint_ns") else "nested"
            self.reads.append((f"{conf['thread_id']} {level}", "unknown" if call is None else call.input))
        return super().get_tuple(config)

    async def aget_tuple(self, config: Any) -> Any:
        return self.get_tuple(config)


@pytest.fixture
def spy() -> Iterator[Spy]:
    spy = Spy()
    yield spy
    gc.collect()
    assert set(intent._live) <= spy.before, "a call has ended and is still known"


def ask(state: State) -> Any:
    return {"answer": interrupt("?")}


def asking(spy: Spy, node: Any = ask) -> Any:
    builder = StateGraph(State)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    return builder.compile(checkpointer=RemitSaver(spy))


INPUTS = [{"input": 1}, None, Command(resume="yes")]


@pytest.mark.parametrize("way", ["invoke", "stream", "batch"])
def test_reads_know_the_calls_own_input(spy: Spy, way: str) -> None:
    graph = asking(spy)
    for input in INPUTS:
        if way == "invoke":
            graph.invoke(input, CONFIG)
        elif way == "stream":
            list(graph.stream(input, CONFIG))
        else:
            graph.batch([input], [CONFIG])
    assert spy.reads == [("thread root", input) for input in INPUTS]
    assert graph.get_state(CONFIG).values["answer"] == "yes"


@pytest.mark.parametrize("way", ["ainvoke", "astream", "astream_events", "abatch"])
async def test_async_reads_know_the_calls_own_input(spy: Spy, way: str) -> None:
    graph = asking(spy)
    for input in INPUTS:
        if way == "ainvoke":
            await graph.ainvoke(input, CONFIG)
        elif way == "astream":
            assert [chunk async for chunk in graph.astream(input, CONFIG)]
        elif way == "astream_events":
            assert [event async for event in graph.astream_events(input, CONFIG, version="v2")]
        else:
            await graph.abatch([input], [CONFIG])
    assert spy.reads == [("thread root", input) for input in INPUTS]


@pytest.mark.parametrize("callbacks", [None, [], [BaseCallbackHandler()]])
@pytest.mark.parametrize("where", ["call", "graph"])
def test_callbacks_of_the_user_do_not_hide_it(spy: Spy, callbacks: Any, where: str) -> None:
    graph = asking(spy)
    config = CONFIG if where == "graph" else {**CONFIG, "callbacks": callbacks}
    if where == "graph":
        graph = graph.with_config({"callbacks": callbacks})
    graph.invoke({"input": 1}, config)
    graph.invoke(Command(resume="yes"), config)
    assert spy.reads == [("thread root", {"input": 1}), ("thread root", Command(resume="yes"))]


def test_a_subgraphs_read_knows_its_own_and_its_parents(spy: Spy) -> None:
    seen: list[Any] = []

    class Watched(Spy):
        def get_tuple(self, config: Any) -> Any:
            call = intent.current_call()
            if config["configurable"].get("checkpoint_ns") and "__pregel_runtime" in config["configurable"]:
                above = call.parent if call is not None else None
                while above is not None and above.run is None:
                    above = above.parent
                seen.append(above.input if above is not None else None)
            return super().get_tuple(config)

    inner = StateGraph(State)
    inner.add_node("ask", ask)
    inner.add_edge(START, "ask")
    outer = StateGraph(State)
    outer.add_node("child", inner.compile())
    outer.add_edge(START, "child")
    graph = outer.compile(checkpointer=RemitSaver(Watched()))
    graph.invoke({"input": 1}, CONFIG)
    graph.invoke(Command(resume="yes"), CONFIG)
    assert seen == [{"input": 1}, Command(resume="yes")]
    assert graph.get_state(CONFIG).values["answer"] == "yes"


def test_a_graph_called_inside_another_graphs_node_has_its_own_intent(spy: Spy) -> None:
    called = asking(spy)
    other: Any = {"configurable": {"thread_id": "other"}}

    def call(state: State) -> Any:
        if state["input"] == "start":
            called.invoke({"input": 1}, other)
        else:
            called.invoke(Command(resume=state["input"]), other)
        return {"answer": "called"}

    graph = asking(spy, call)
    graph.invoke({"input": "start"}, CONFIG)
    graph.invoke({"input": "yes"}, CONFIG)
    assert spy.reads == [
        ("thread root", {"input": "start"}),
        ("other root", {"input": 1}),
        ("thread root", {"input": "yes"}),
        ("other root", Command(resume="yes")),
    ]
    assert called.get_state(other).values["answer"] == "yes"


def nested_by(call: Any) -> Any:
    """A graph whose node calls a subgraph that asks twice, in this way."""
    inner = StateGraph(State)
    inner.add_node("ask", lambda _: {"answer": [interrupt("one"), interrupt("two")]})
    inner.add_edge(START, "ask")
    subgraph = inner.compile()
    outer = StateGraph(State)
    outer.add_node("child", lambda state: {"answer": call(subgraph)["answer"]})
    outer.add_edge(START, "child")
    return outer


def traced(subgraph: Any) -> Any:
    """In a function that LangSmith traces: its run, below the node's, is the parent that LangChain names. (Nothing is
    sent.)"""
    node = intent.current_call()
    assert node is not None
    own = uuid4()
    order = f"20260101T000000000000Z{node.id}.20260101T000000000001Z{own}"
    run = RunTree(id=own, name="traced", run_type="chain", trace_id=node.id, dotted_order=order)
    with tracing_context(parent=run, enabled=False):
        return subgraph.invoke({"input": 0})


WAYS_DOWN = {
    "plainly": lambda subgraph: subgraph.invoke({"input": 0}),
    "with no callbacks": lambda subgraph: subgraph.invoke({"input": 0}, {"callbacks": []}),
    "with callbacks": lambda subgraph: subgraph.invoke({"input": 0}, {"callbacks": [BaseCallbackHandler()]}),
    "in a chain": lambda subgraph: (RunnableLambda(lambda x: x) | subgraph).invoke({"input": 0}),
    "streamed": lambda subgraph: [*subgraph.stream({"input": 0}, stream_mode="values")][-1],
    "traced": traced,
}


@pytest.mark.parametrize("way", WAYS_DOWN)
def test_a_subgraph_knows_its_parents_run_however_it_is_called(spy: Spy, way: str) -> None:
    seen: list[Any] = []

    class Watched(Spy):
        def get_tuple(self, config: Any) -> Any:
            conf = config["configurable"]
            if conf.get("checkpoint_ns") and "__pregel_runtime" in conf:
                run = _parent_run(intent.current_call(), conf["thread_id"], conf["checkpoint_ns"])
                seen.append(None if run is None else run.intent)
            return super().get_tuple(config)

    graph = nested_by(WAYS_DOWN[way]).compile(checkpointer=RemitSaver(Watched()))
    graph.invoke({"input": 1}, CONFIG)
    graph.invoke(Command(resume="a"), CONFIG)
    graph.invoke(None, CONFIG)
    assert graph.invoke(Command(resume="b"), CONFIG)["answer"] == ["a", "b"]
    assert seen == [Intent.NEW_INPUT, Intent.ANSWER, Intent.RETRY, Intent.ANSWER]


def test_a_graph_called_beside_a_paused_stream_is_not_part_of_it(spy: Spy) -> None:
    """The stream's call is the last one of their context, and lives."""
    graph = asking(spy)
    other: Any = {"configurable": {"thread_id": "other"}}
    stream = graph.stream({"input": 1}, CONFIG, stream_mode="values")
    next(stream)
    graph.invoke({"input": 2}, other)
    graph.invoke(Command(resume="yes"), other, callbacks=[])
    list(stream)
    assert graph.get_state(other).values["answer"] == "yes"
    assert graph.get_state(CONFIG).next == ("node",)
    assert [i for t, i in spy.reads if t == "other root"] == [{"input": 2}, Command(resume="yes")]


class Remote(Runnable[Any, Any]):
    """What a node sees of a graph on a server: inputs as JSON, a thread of its own, nothing of this context."""

    def __init__(self, graph: Any) -> None:
        self._graph = graph

    def invoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:
        said = json.loads(json.dumps({"resume": input.resume} if isinstance(input, Command) else {"input": input}))
        config = {"configurable": {"thread_id": "remote"}}
        result: list[Any] = []

        def serve() -> None:
            value = Command(resume=said["resume"]) if "resume" in said else said["input"]
            result.append(self._graph.invoke(value, config))

        server = threading.Thread(target=contextvars.Context().run, args=(serve,))
        server.start()
        server.join()
        return result[0]


def test_a_graph_behind_a_remote_one_has_its_own_intent(spy: Spy) -> None:
    remote = Remote(asking(spy))

    def call(state: State) -> Any:
        asked = remote.invoke({"input": 1})["__interrupt__"][0].value
        return {"answer": remote.invoke(Command(resume=interrupt(asked)))["answer"]}

    graph = asking(spy, call)
    graph.invoke({"input": 0}, CONFIG)
    assert graph.invoke(Command(resume="yes"), CONFIG)["answer"] == "yes"
    assert [i for t, i in spy.reads if t == "remote root"] == [{"input": 1}, {"input": 1}, Command(resume="yes")]


async def test_an_async_stream_may_be_advanced_from_other_tasks(spy: Spy) -> None:
    graph = asking(spy)
    await graph.ainvoke({"input": 1}, CONFIG)
    stream = graph.astream(Command(resume="yes"), CONFIG, stream_mode="values")
    chunks: list[Any] = []
    while True:  # each step in a task, and so a context, of its own
        chunk = await asyncio.create_task(anext(stream, None), context=contextvars.Context())
        if chunk is None:
            break
        chunks.append(chunk)
    assert chunks[-1]["answer"] == "yes"
    assert spy.reads[-1] == ("thread root", Command(resume="yes"))


async def test_graphs_gathered_within_one_node_are_told_apart(spy: Spy) -> None:
    called = asking(spy)
    threads: list[Any] = [{"configurable": {"thread_id": str(n)}} for n in range(4)]

    async def fan(state: State) -> Any:
        given = [{"input": n} if state["input"] == "start" else Command(resume=f"yes {n}") for n in range(4)]
        await asyncio.gather(*(called.ainvoke(g, t) for g, t in zip(given, threads, strict=True)))
        return {"answer": "called"}

    graph = asking(spy, fan)
    await graph.ainvoke({"input": "start"}, CONFIG)
    await graph.ainvoke({"input": "answer"}, CONFIG)
    for n, thread in enumerate(threads):
        assert (await called.aget_state(thread)).values["answer"] == f"yes {n}"
        assert [i for t, i in spy.reads if t == f"{n} root"] == [{"input": n}, Command(resume=f"yes {n}")]


async def test_a_sync_call_in_a_thread_of_an_async_node(spy: Spy) -> None:
    called = asking(spy)
    other: Any = {"configurable": {"thread_id": "other"}}

    async def call(state: State) -> Any:
        await asyncio.to_thread(called.invoke, {"input": 1}, other)
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(None, lambda: called.invoke(Command(resume="yes"), other))
        return {"answer": "called"}

    await asking(spy, call).ainvoke({"input": 0}, CONFIG)
    assert called.get_state(other).values["answer"] == "yes"
    assert [i for t, i in spy.reads if t == "other root"] == [{"input": 1}, Command(resume="yes")]


@contextmanager
def unheard() -> Iterator[None]:
    """No handler runs, as where callbacks are configured by somebody else."""
    assert intent._hook is not None
    token = intent._hook.set(None)
    try:
        yield
    finally:
        intent._hook.reset(token)


@pytest.mark.parametrize("depth", [0, 1])
@pytest.mark.parametrize("named", [False, True])
def test_an_unknown_call_is_served_no_answer_but_its_own(spy: Spy, depth: int, named: bool) -> None:
    def ask(state: State) -> Any:
        first = interrupt("one")
        if first == "bad":
            raise ValueError(first)
        return {"answer": [first, interrupt("two")]}

    graph: Any = ask
    for level in range(depth + 1):
        builder = StateGraph(State).add_node("node", graph).add_edge(START, "node")
        graph = builder.compile(checkpointer=RemitSaver(spy) if level == depth else None)

    def answer(value: Any) -> Any:
        if not named:
            return Command(resume=value)
        return Command(resume={graph.get_state(CONFIG).tasks[0].interrupts[0].id: value})

    with unheard():
        assert graph.invoke({"input": 1}, CONFIG)["__interrupt__"][0].value == "one"
        with pytest.raises(ValueError, match="bad"):
            graph.invoke(answer("bad"), CONFIG)
        assert graph.invoke(None, CONFIG)["__interrupt__"][0].value == "one"  # asks again
        assert graph.invoke(answer("good"), CONFIG)["__interrupt__"][0].value == "two"
        assert graph.invoke(None, CONFIG)["__interrupt__"][0].value == "two"  # the first one's answer is kept for it
        assert graph.invoke(answer("end"), CONFIG)["answer"] == ["good", "end"]
        assert not graph.get_state(CONFIG).next
    assert {i for _, i in spy.reads} == {"unknown"}


async def test_calls_gathered_in_one_task_are_told_apart(spy: Spy) -> None:
    async def wait(state: State) -> Any:
        await asyncio.sleep(0)
        return {"answer": interrupt("?")}

    graph = asking(spy, wait)
    threads: list[Any] = [{"configurable": {"thread_id": str(n)}} for n in range(8)]
    await asyncio.gather(*(graph.ainvoke({"input": n}, t) for n, t in enumerate(threads)))
    answers = [None if n % 3 == 0 else Command(resume=f"yes {n}") for n in range(8)]
    await asyncio.gather(*(graph.ainvoke(a, t) for a, t in zip(answers, threads, strict=True)))
    expected = [(f"{n} root", {"input": n}) for n in range(8)] + [(f"{n} root", a) for n, a in enumerate(answers)]
    assert sorted(map(str, spy.reads)) == sorted(map(str, expected))
    for n, thread in enumerate(threads):
        values = (await graph.aget_state(thread)).values
        assert values.get("answer") == (None if n % 3 == 0 else f"yes {n}")


def test_calls_of_many_threads_are_told_apart(spy: Spy) -> None:
    graph = asking(spy)
    barrier = threading.Barrier(8)
    failures: list[BaseException] = []

    def work(n: int) -> None:
        config: Any = {"configurable": {"thread_id": str(n)}}
        try:
            barrier.wait(30)
            graph.invoke({"input": n}, config)
            graph.invoke(Command(resume=f"yes {n}"), config)
            assert graph.get_state(config).values["answer"] == f"yes {n}"
        except BaseException as e:
            failures.append(e)

    workers = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not failures
    for n in range(8):
        assert [i for t, i in spy.reads if t == f"{n} root"] == [{"input": n}, Command(resume=f"yes {n}")]


def test_a_stream_may_be_advanced_from_another_context_and_thread(spy: Spy) -> None:
    graph = asking(spy)
    graph.invoke({"input": 1}, CONFIG)
    stream = graph.stream(Command(resume="yes"), CONFIG)
    another = contextvars.Context()
    chunks: list[Any] = []

    def advance() -> None:
        chunks.extend(another.run(list, stream))

    worker = threading.Thread(target=advance)
    worker.start()
    worker.join()
    assert chunks == [{"node": {"answer": "yes"}}]
    assert spy.reads[-1] == ("thread root", Command(resume="yes"))


def test_interleaved_streams_of_one_thread_of_execution(spy: Spy) -> None:
    graph = asking(spy)
    first: Any = {"configurable": {"thread_id": "first"}}
    second: Any = {"configurable": {"thread_id": "second"}}
    streams = [graph.stream({"input": 1}, first), graph.stream({"input": 2}, second)]
    for stream in streams:
        next(stream)
    for stream in streams:
        list(stream)
    streams = [graph.stream(Command(resume="one"), first), graph.stream(None, second)]
    for stream in streams:
        next(stream)
    for stream in reversed(streams):
        list(stream)
    assert graph.get_state(first).values["answer"] == "one"
    assert "answer" not in graph.get_state(second).values
    assert spy.reads[2:] == [("first root", Command(resume="one")), ("second root", None)]


class Marked(dict):  # type: ignore[type-arg]
    """An input that can be referenced weakly."""


def returns(state: State) -> Any:
    return {"answer": 1}


def raises(state: State) -> Any:
    raise ValueError("on purpose")


@pytest.mark.parametrize("node", [returns, raises, ask])
@pytest.mark.parametrize("way", ["invoke", "stream", "closed stream", "ainvoke", "cancelled"])
def test_nothing_is_kept_of_a_call_that_has_ended(node: Any, way: str) -> None:
    spy = Spy()
    graph = asking(spy, node)
    input = Marked(input=1)
    freed = weakref.ref(input)

    async def cancelled(input: Any) -> None:
        async def hangs(state: State) -> Any:
            started.set()
            await asyncio.Event().wait()

        started = asyncio.Event()
        task = asyncio.create_task(asking(spy, hangs).ainvoke(input, CONFIG))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    try:
        if way == "invoke":
            graph.invoke(input, CONFIG)
        elif way == "stream":
            list(graph.stream(input, CONFIG))
        elif way == "closed stream":
            stream = graph.stream(input, CONFIG, stream_mode="values")
            next(stream)
            stream.close()
            del stream
        elif way == "ainvoke":
            asyncio.run(graph.ainvoke(input, CONFIG))
        else:
            asyncio.run(cancelled(input))
    except ValueError:
        pass
    assert spy.reads[0] == ("thread root", input)
    assert set(intent._live) <= spy.before
    del input
    spy.reads.clear()
    gc.collect()
    assert freed() is None, "the input of an ended call is kept"


def test_a_context_that_outlives_the_call_does_not_keep_its_input() -> None:
    graph = asking(Spy(), returns)
    input = Marked(input=1)
    freed = weakref.ref(input)
    context = contextvars.copy_context()
    context.run(graph.invoke, input, CONFIG)
    graph.checkpointer.inner.reads.clear()
    del input
    gc.collect()
    assert freed() is None
    assert context.run(intent.current_call) is None, "what has ended is not what is about to read"


def test_a_look_is_no_call(spy: Spy) -> None:
    graph = asking(spy)
    graph.invoke({"input": 1}, CONFIG)
    before = list(spy.reads)
    graph.get_state(CONFIG)
    list(graph.get_state_history(CONFIG))
    assert spy.reads == before


def test_a_read_in_a_node_is_not_the_nodes_calls(spy: Spy) -> None:
    """What the variable holds while a node runs is the node's own start."""
    graph: Any = None

    def look(state: State) -> Any:
        return {"answer": graph.get_state(CONFIG).next}

    graph = asking(spy, look)
    assert graph.invoke({"input": 1}, CONFIG)["answer"] == ("node",)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, (Intent.RETRY, None)),
        ({"input": 1}, (Intent.NEW_INPUT, None)),
        ({}, (Intent.NEW_INPUT, None)),
        (False, (Intent.NEW_INPUT, None)),
        (Command(resume="yes"), (Intent.ANSWER, (False, "yes"))),
        (Command(resume=False), (Intent.ANSWER, (False, False))),
        (Command(resume=0), (Intent.ANSWER, (False, 0))),
        (Command(resume=""), (Intent.ANSWER, (False, ""))),
        (Command(resume=[]), (Intent.ANSWER, (False, []))),
        (Command(resume={}), (Intent.ANSWER, (True, {}))),
        (Command(resume={ID: None}), (Intent.ANSWER, (True, {ID: None}))),
        (Command(resume={ID: 1, "x": 2}), (Intent.ANSWER, (False, {ID: 1, "x": 2}))),
        (Command(goto="node"), (Intent.RETRY, None)),
        (Command(update={"input": 1}), (Intent.RETRY, None)),
        (Command(resume="yes", update={"input": 1}, goto="node"), (Intent.ANSWER, (False, "yes"))),
    ],
)
def test_what_an_input_wants(value: Any, expected: Any) -> None:
    wish = wish_of_input(value, None, None)
    assert (wish.intent, wish.answer) == expected


def test_an_input_of_the_run_that_stored_the_checkpoint_goes_on_with_it() -> None:
    assert wish_of_input({"input": 1}, "run", "run").intent == Intent.RETRY
    assert wish_of_input({"input": 1}, "run", "another").intent == Intent.NEW_INPUT
    assert wish_of_input({"input": 1}, None, None).intent == Intent.NEW_INPUT
    assert wish_of_input(Command(resume=1), "run", "run").intent == Intent.ANSWER


def test_what_langgraph_takes_for_a_map_is_one() -> None:
    for value, is_map in [
        ({}, True),
        ({ID: 1}, True),
        ({ID.upper(): 1}, True),
        ({ID[:-1]: 1}, False),
        ({ID + "0": 1}, False),
        ({"g" * 32: 1}, False),
        ({1: 1}, False),
        ([ID], False),
        (ID, False),
        (None, False),
    ]:
        assert is_interrupt_map(value) is is_map, value


def test_a_subgraph_wants_what_its_parent_does_if_it_is_resumed() -> None:
    parent = intent.Call(None, None, None)  # what matters of a run are two attributes
    run: Any = type("Run", (), {"intent": Intent.ANSWER, "answer": (False, 1)})()
    assert parent.run is None
    assert wish_of_child({"__pregel_resuming": True}, run).intent == Intent.ANSWER
    assert wish_of_child({"__pregel_resuming": True}, run).answer == (False, 1)
    assert wish_of_child({"__pregel_resuming": False}, run).intent == Intent.NEW_INPUT
    assert wish_of_child({}, None).intent == Intent.UNKNOWN


def three_steps(spy: Spy) -> Any:
    builder = StateGraph(State)
    before = START
    for name in ("one", "two", "three"):
        builder.add_node(name, returns)
        builder.add_edge(before, name)
        before = name
    return builder.compile(checkpointer=RemitSaver(spy))


def test_a_new_threads_run_reads_once(spy: Spy) -> None:
    """Its writes carry no token, and are still known to be its own: nothing is read again for them (stock: one read)."""
    three_steps(spy).invoke({"input": 1}, CONFIG)
    assert spy.reads == [("thread root", {"input": 1})]


async def test_a_new_threads_async_run_reads_once(spy: Spy) -> None:
    await three_steps(spy).ainvoke({"input": 1}, CONFIG)
    assert spy.reads == [("thread root", {"input": 1})]
