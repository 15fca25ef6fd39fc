"""Forks of threads: graphs that record every answer they are served, and the words to call them at a checkpoint.

Every gate appends its answer to `log`, so that what a branch was served can be read off its state.
"""

from __future__ import annotations

import multiprocessing
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from typing import Any

from graphs import POINTS as point
from graphs import State, Thread, asks
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.func import entrypoint, task
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt
from ledger import Ledger
from remit import RemitSaver
from stores import Store

LANGGRAPH = tuple(int(part) for part in version("langgraph").split(".")[:3])
"""The installed release. Where LangGraph itself decides, a test says what each release does."""


def gate(question, ledger=None):
    """A node that asks, charges, and logs what it was told."""

    def node(_):
        point(f"before {question}")
        answer = interrupt(question)
        point(f"after {question}")
        if ledger is not None:
            ledger.fire("charge", answer)
        return {"log": [answer]}

    return node


def work(name, ledger):
    """A node that asks nothing."""

    def node(_):
        ledger.fire("work", name)
        return {"log": [name]}

    return node


def row(*nodes):
    """A builder of nodes one after the other."""
    builder, last = StateGraph(State), START
    for n, node in enumerate(nodes, 1):
        builder.add_node(f"n{n}", node).add_edge(last, f"n{n}")
        last = f"n{n}"
    return builder


def side_by_side(**nodes):
    """A builder of nodes that run in one superstep."""
    builder = StateGraph(State)
    for name, node in nodes.items():
        builder.add_node(name, node).add_edge(START, name)
    return builder


def saved(builder, **options):
    """What makes a graph of a saver."""
    return lambda saver: builder.compile(checkpointer=saver, **options)


def gates(*questions, ledger=None):
    """Gates one after the other."""
    return saved(row(*(gate(q, ledger) for q in questions)))


def gates_with_ledger(path, *questions):
    """The same, for another process."""
    return gates(*questions, ledger=Ledger(path))


def two_in_one(ledger=None):
    """One node that asks two questions."""

    def node(_):
        answers = [interrupt("q1"), interrupt("q2")]
        if ledger is not None:
            ledger.fire("charge", answers)
        return {"log": answers}

    return saved(row(node))


def nest(builder, depth=1, checkpointer=None):
    """A builder, as a subgraph of a subgraph..., `depth` times."""
    for _ in range(depth):
        builder = row(builder.compile(checkpointer=checkpointer))
    return builder


def flow(ledger):
    """An entrypoint whose tasks charge, ask, and ask again."""

    def build(saver):
        @task
        def charge(what):
            ledger.fire("charge", what)
            return "receipt"

        @task
        def ask(question):
            return interrupt(question)

        @entrypoint(checkpointer=saver)
        def workflow(what):
            receipt = charge(what).result()
            return [receipt, ask("q1").result(), ask("q2").result()]

        return workflow

    return build


async def call(thread: Thread, input: Any, address: Any = None, **configurable: Any) -> Any:
    """Calls the graph of a thread, at an address, with more words in `configurable`."""
    config = {"configurable": {**(address or thread.config)["configurable"], **configurable}}
    if thread.is_async:
        return await thread.graph.ainvoke(input, config, **thread.options)
    return thread.graph.invoke(input, config, **thread.options)


async def answer(thread: Thread, value: Any, address: Any = None, **configurable: Any) -> Any:
    """Answers, and says what came of it: `asks(...)`, or the log (of a workflow: what it returned)."""
    return said(await call(thread, Command(resume=value), address, **configurable))


def said(result: Any) -> Any:
    if isinstance(result, dict) and "__interrupt__" in result:
        return asks(*(question.value for question in result["__interrupt__"]))
    return result["log"] if isinstance(result, dict) else result


async def start(thread: Thread) -> dict[str, str]:
    """Starts a thread: the ids of the questions it asks."""
    result = await call(thread, {"log": []})
    return {question.value: question.id for question in result["__interrupt__"]}


async def address_of(thread: Thread) -> Any:
    """The address of the thread's newest checkpoint."""
    return (await thread.state()).config


async def states(thread: Thread, address: Any = None) -> list[Any]:
    """The history of a thread, newest first."""
    config = address or thread.config
    if thread.is_async:
        return [state async for state in thread.graph.aget_state_history(config)]
    return list(thread.graph.get_state_history(config))


def read(state: Any) -> Any:
    """A state as two savers' can be compared: all but what differs from run to run."""
    tasks = [(t.name, repr(t.error), [q.value for q in t.interrupts], repr(t.result)) for t in state.tasks]
    parent = state.parent_config and state.parent_config["configurable"]["checkpoint_id"]
    return (state.config["configurable"]["checkpoint_id"], parent, state.values, sorted(tasks), dict(state.metadata))


async def labels(thread: Thread) -> dict[str, int]:
    """How many checkpoints of each branch the database holds: by this label another process finds a branch."""
    inner: Any = thread.graph.checkpointer.inner
    line = {"configurable": {"thread_id": thread.config["configurable"]["thread_id"], "checkpoint_ns": ""}}
    found = [c async for c in inner.alist(line)] if thread.is_async else list(inner.list(line))
    return dict(Counter(c.metadata["remit_branch"] for c in found if "remit_branch" in c.metadata))


async def ordinals(thread: Thread, address: Any) -> list[int]:
    """The ordinals of the branches at a checkpoint that have checkpoints of their own, in order."""
    checkpoint = address["configurable"]["checkpoint_id"]
    named = [label.rpartition(".") for label in await labels(thread)]
    return sorted(int(ordinal) for at, _, ordinal in named if at == checkpoint)


def fork_many(place: tuple[str, str], address: Any, answers: list[str], token: str | None, barrier: Any) -> None:
    """Forks once per answer, from as many threads at once, each over a connection of its own."""
    with Store(*place) as store:
        graphs = [gates("q1")(RemitSaver(store.inner())) for _ in answers]
        barrier.wait(60)

        def fork(graph, value):
            config = {"configurable": {**address["configurable"], "remit_fork": token or True}}
            assert graph.invoke(Command(resume=value), config)["log"] == [value if token is None else token]

        with ThreadPoolExecutor(len(answers)) as pool:
            for done in [
                pool.submit(fork, g, v if token is None else token) for g, v in zip(graphs, answers, strict=True)
            ]:
                done.result()


PROCESSES = multiprocessing.get_context("forkserver")


class ThirdParty(BaseCheckpointSaver):
    """A saver that REMIT does not know: it cannot keep a table beside it."""

    def __init__(self, inner):
        super().__init__(serde=inner.serde)
        self._inner = inner

    def get_tuple(self, config):
        return self._inner.get_tuple(config)

    def list(self, config, **options):
        return self._inner.list(config, **options)

    def put(self, *args):
        return self._inner.put(*args)

    def put_writes(self, *args):
        return self._inner.put_writes(*args)

    def delete_thread(self, thread_id):
        self._inner.delete_thread(thread_id)

    def get_next_version(self, current, channel):
        return self._inner.get_next_version(current, channel)
