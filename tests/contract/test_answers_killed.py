"""An answer is given, the process is killed with SIGKILL at a chosen point, and another process goes on.

A bare answer is durable before the node runs (but for durability "exit"), so that invoke(None) is served it, and a
newer one replaces it. An answer by id is durable when its task ends, as on stock: it is asked for again.

Guards are said; the rest says what stock does. REMIT_TEST_STOCK=1 shows it.
"""

from __future__ import annotations

import crash
import pytest
from graphs import BAD, POINTS, REFUSED, SHAPES, STOCK, TROUBLE, State, asking, asks, gives, nested, unsaved
from langgraph.graph import START, StateGraph
from langgraph.types import Command
from ledger import Ledger
from test_answers import asking_around, fan, logging, routed

durable_backends = pytest.mark.parametrize("world", ["sqlite", "postgres", "asqlite"], indirect=True)
one_backend = pytest.mark.parametrize("world", ["sqlite"], indirect=True)


def one_question(shape, path):
    return SHAPES[shape](asking("pay?", ledger=Ledger(path)))


def two_questions(shape, path):
    return SHAPES[shape](asking("a?", "b?", ledger=Ledger(path)))


def one_question_unsaved(path):
    return unsaved(asking("pay?", ledger=Ledger(path)))


def around(depth, path):
    return nested(asking_around(Ledger(path)), depth)


def router(path):
    return routed(Ledger(path))


def side_by_side(path):
    ledger = Ledger(path)
    return fan(logging("left", "left?", ledger=ledger), logging("right", "right?", ledger=ledger))


def at_breakpoint(path):
    def build(saver):
        graph = StateGraph(State)
        graph.add_node("gate", asking("pay?", ledger=Ledger(path)))
        graph.add_edge(START, "gate")
        return graph.compile(checkpointer=saver, interrupt_before=["gate"])

    return build


class Case:
    """A graph in this process and in others, on one store."""

    def __init__(self, world, build, *args, **options):
        self.world, self.build, self.args, self.options = world, build, args, options

    async def thread(self, stock=False):
        """As a process that has just started sees it."""
        return await self.world.thread(self.build(*self.args), stock, **self.options)

    async def killed(self, input, at, stock=False, when_landed=True):
        crash.run_killed(
            self.world.place, self.build, self.args, input, at,
            stock=stock or STOCK, when_landed=when_landed, **self.options,
        )  # fmt: skip

    async def elsewhere(self, input, stock=False):
        return crash.run_elsewhere(self.world.place, self.build, self.args, input, stock=stock or STOCK, **self.options)

    async def ids(self):
        return await (await self.thread()).ids()


def bare(value):
    return Command(resume=value)


# -- guards: what stock does right -----------------------------------------------------------------------------------


@durable_backends
@pytest.mark.parametrize("at", ["before", "after pay?", "end"])
async def test_guard_bare_answer_is_served_after_a_kill(world, ledger, at):
    case = Case(world, one_question, "top", ledger.path)
    assert await (await case.thread()).start() == asks("pay?")
    await case.killed(bare("yes"), at)
    assert await (await case.thread()).go_on() == gives("yes")
    # a process killed between its effect and its write fires it again on any path (DESIGN 2, fact 12)
    assert ledger.fired("effect") == [["yes"]] * (2 if at == "end" else 1)


@one_backend
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("durability", ["sync", "async"])
async def test_guard_bare_answer_is_served_whatever_the_shape(world, ledger, shape, durability):
    case = Case(world, one_question, shape, ledger.path, durability=durability)
    assert await (await case.thread()).start() == asks("pay?")
    await case.killed(bare("yes"), "after pay?")
    assert await (await case.thread()).go_on() == gives("yes")
    assert ledger.fired("effect") == [["yes"]]


@one_backend
async def test_guard_bare_answer_is_served_to_a_subgraph_without_checkpoints(world, ledger):
    case = Case(world, one_question_unsaved, ledger.path)
    assert await (await case.thread()).start() == asks("pay?")
    await case.killed(bare("yes"), "after pay?")
    assert await (await case.thread()).go_on() == gives("yes")


@one_backend
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("form", ["bare", "id"])
async def test_guard_newer_answer_replaces_the_killed_one(world, ledger, shape, form):
    case = Case(world, one_question, shape, ledger.path)
    await (await case.thread()).start()
    await case.killed(bare("yes"), "after pay?")
    thread = await case.thread()
    assert await (thread.answer("no") if form == "bare" else thread.answer_by_id({"pay?": "no"})) == gives("no")
    assert ledger.fired("effect") == [["no"]]


@durable_backends
async def test_guard_killed_twice_the_last_bare_answer_is_served(world, ledger):
    case = Case(world, one_question, "subgraph", ledger.path)
    await (await case.thread()).start()
    await case.killed(bare("yes"), "after pay?")
    await case.killed(bare("no"), "after pay?")
    assert await (await case.thread()).go_on() == gives("no")


@durable_backends
async def test_guard_answer_by_id_is_asked_for_again(world, ledger):
    case = Case(world, one_question, "top", ledger.path)
    await (await case.thread()).start()
    ids = await case.ids()
    await case.killed(Command(resume={ids["pay?"]: "yes"}), "after pay?", when_landed=False)
    thread = await case.thread()
    assert await thread.go_on() == asks("pay?")
    assert await thread.answer("no") == gives("no")


@one_backend
@pytest.mark.parametrize("shape", ["top", "subgraph"])
async def test_guard_durability_exit_keeps_nothing_of_a_killed_run(world, ledger, shape):
    case = Case(world, two_questions, shape, ledger.path, durability="exit")
    assert await (await case.thread()).start() == asks("a?")
    await case.killed(bare("yes"), "after a?", when_landed=False)
    thread = await case.thread()
    assert await thread.go_on() == asks("a?")
    assert await thread.answer("a") == asks("b?")
    await case.killed(bare("no"), "after b?", when_landed=False)
    assert await (await case.thread()).answer("b") == gives(["a", "b"])


@one_backend
@pytest.mark.parametrize("shape", ["top", "subgraph", "subgraph2"])
@pytest.mark.parametrize("at", ["before", "after a?", "after b?"])
@pytest.mark.parametrize("then", [None, "bare", "id"])
async def test_guard_killed_at_the_second_question(world, ledger, shape, at, then):
    case = Case(world, two_questions, shape, ledger.path)
    thread = await case.thread()
    await thread.start()
    assert await thread.answer("a") == asks("b?")
    await case.killed(bare("b"), at)
    thread = await case.thread()
    if then is None:
        assert await thread.go_on() == gives(["a", "b"])
    else:
        result = await (thread.answer("B") if then == "bare" else thread.answer_by_id({"b?": "B"}))
        assert result == gives(["a", "B"])
    assert len(ledger.fired("effect")) == 1


@one_backend
async def test_guard_questions_answered_by_id_in_two_processes(world, ledger):
    case = Case(world, side_by_side, ledger.path)
    assert await (await case.thread()).start() == asks("left?", "right?")
    ids = await case.ids()
    assert await case.elsewhere(Command(resume={ids["left?"]: "l"})) == asks("right?")
    assert await case.elsewhere(Command(resume={ids["right?"]: "r"})) == gives(None)
    assert sorted(ledger.fired()) == [("left", ["l"]), ("right", ["r"])]


@one_backend
@pytest.mark.parametrize("shape", ["top", "subgraph", "functional"])
async def test_guard_get_state_after_a_kill(world, ledger, shape):
    """The thread is parked, and looks it: `next` names the node, as on stock."""
    sights = []
    for stock in (True, False):
        case = Case(world, two_questions, shape, ledger.path, id=f"stock {stock}")
        thread = await case.thread(stock)
        await thread.start()
        await case.killed(bare("a"), "after a?", stock)
        first = await (await case.thread(stock)).shown()
        await (await case.thread(stock)).go_on()
        sights.append((first, await (await case.thread(stock)).shown()))
    assert sights[1] == sights[0]


# -- what stock does wrong -------------------------------------------------------------------------------------------


@durable_backends
@pytest.mark.parametrize("shape", ["top", "subgraph"])
async def test_rerun_after_a_kill_parks_at_the_second_question(world, ledger, shape):
    """Stock: the run that goes on serves "a" to b? (langgraph#8837), or the next invoke(None) does."""
    case = Case(world, two_questions, shape, ledger.path)
    await (await case.thread()).start()
    await case.killed(bare("a"), "after a?")
    assert await (await case.thread()).go_on() == asks("b?")
    assert await (await case.thread()).go_on() == asks("b?")
    await case.killed(bare("b"), "before")
    assert await (await case.thread()).go_on() == gives(["a", "b"])
    assert ledger.fired("effect") == [["a", "b"]]


@one_backend
@pytest.mark.parametrize("shape", SHAPES)
async def test_failed_answer_then_a_killed_one(world, ledger, shape):
    # stock serves "bad"
    case = Case(world, one_question, shape, ledger.path)
    thread = await case.thread()
    await thread.start()
    assert await thread.answer(BAD) == REFUSED
    await case.killed(bare("good"), "after pay?")
    assert await (await case.thread()).go_on() == gives("good")
    assert ledger.fired("effect") == [["good"]]


@one_backend
async def test_killed_answer_then_a_failed_one(world, ledger):
    # stock serves "bad" to the third
    case = Case(world, one_question, "subgraph", ledger.path)
    await (await case.thread()).start()
    await case.killed(bare("yes"), "after pay?")
    assert await (await case.thread()).answer(BAD) == REFUSED
    assert await (await case.thread()).go_on() == REFUSED  # the last word, not "yes"
    assert await (await case.thread()).answer("good") == gives("good")


@one_backend
@pytest.mark.parametrize("shape", ["top", "subgraph"])
async def test_answer_by_id_takes_the_killed_ones_place_even_if_it_is_killed_too(world, ledger, shape):
    """The reviewer said "yes" and the process died; said "no", by id, and it died again. Whatever goes on now must
    not go on with "yes": stock does."""
    case = Case(world, one_question, shape, ledger.path)
    await (await case.thread()).start()
    ids = await case.ids()
    await case.killed(bare("yes"), "after pay?")
    await case.killed(Command(resume={ids["pay?"]: "no"}), "after pay?", when_landed=False)
    assert await (await case.thread()).go_on() in (asks("pay?"), gives("no"))
    assert ["yes"] not in ledger.fired("effect")


@one_backend
@pytest.mark.parametrize("shape", ["top", "subgraph"])
async def test_failed_before_the_question_and_killed(world, ledger, shape):
    # guard on stock
    case = Case(world, two_questions, shape, ledger.path)
    thread = await case.thread()
    await thread.start()
    assert await thread.answer("a") == asks("b?")
    POINTS.fail_at("before")
    assert await thread.answer("b") == TROUBLE
    await case.killed(None, "after b?", when_landed=False)
    assert await (await case.thread()).go_on() == gives(["a", "b"])


@one_backend
@pytest.mark.parametrize("depth", [0, 1, 2])
async def test_parent_and_child_killed_at_each_answer(world, ledger, depth):
    """A guard: stock serves each its own here."""
    case = Case(world, around, depth, ledger.path)
    assert await (await case.thread()).start() == asks("first?")
    for answer, at, then in (
        ("f", "after first?", asks("child?")),
        ("c", "after child?", asks("last?")),
        ("l", "after last?", gives(["f", "c", "l"])),
    ):
        await case.killed(bare(answer), at)
        assert await (await case.thread()).go_on() == then
    assert ledger.fired() == [("child", ["c"]), ("parent", ["f", "c", "l"])]


@one_backend
async def test_killed_in_the_router(world, ledger):
    """A guard. The gate's write is not durable before its router has run."""
    case = Case(world, router, ledger.path)
    await (await case.thread()).start()
    await case.killed(bare("yes"), "router")
    assert await (await case.thread()).go_on() == gives("yes")
    assert ledger.fired("pay") == ["yes"]


@one_backend
async def test_killed_after_a_bare_answer_at_a_breakpoint(world, ledger):
    """Whom the click at the breakpoint was for is not known: the node's question is asked, or served it."""
    case = Case(world, at_breakpoint, ledger.path)
    await (await case.thread()).start()
    await case.killed(bare("go"), "after pay?")
    thread = await case.thread()
    assert await thread.go_on() in (asks("pay?"), gives("go"))
    if not ledger.fired():
        assert await thread.answer("yes") == gives("yes")


# -- threads that LangGraph's own saver shares -----------------------------------------------------------------------


@durable_backends
@pytest.mark.parametrize("shape", ["top", "subgraph"])
async def test_thread_killed_under_stock(world, ledger, shape):
    """Whose the waiting answer is cannot be known from stock's rows: it is asked again, not served to another."""
    case = Case(world, two_questions, shape, ledger.path)
    await (await case.thread(stock=True)).start()
    await case.killed(bare("a"), "after a?", stock=True)
    thread = await case.thread()
    result = await thread.go_on()
    if result == asks("a?"):
        result = await thread.answer("a")
    assert result == asks("b?")
    assert await thread.go_on() == asks("b?")
    assert await thread.answer("b") == gives(["a", "b"])


@one_backend
@pytest.mark.parametrize("shape", ["top", "subgraph"])
async def test_thread_failed_under_stock_and_killed_under_ours(world, ledger, shape):
    # stock serves "bad" for ever
    case = Case(world, two_questions, shape, ledger.path)
    stock = await case.thread(stock=True)
    await stock.start()
    assert await stock.answer("a") == asks("b?")
    assert await stock.answer(BAD) == REFUSED
    await case.killed(bare("b"), "after b?")
    result = await (await case.thread()).go_on()
    if result == asks("b?"):
        result = await (await case.thread()).answer("b")
    assert result == gives(["a", "b"])


@one_backend
@pytest.mark.parametrize("depth", [0, 1, 2])
async def test_parked_in_a_child_by_stock_and_killed_under_ours(world, ledger, depth):
    case = Case(world, around, depth, ledger.path)
    stock = await case.thread(stock=True)
    await stock.start()
    assert await stock.answer("f") == asks("child?")
    await case.killed(bare("c"), "after child?")
    assert await (await case.thread()).go_on() == asks("last?")
    assert await (await case.thread()).answer("l") == gives(["f", "c", "l"])


@durable_backends
@pytest.mark.parametrize("shape", ["top", "subgraph"])
async def test_thread_killed_under_ours_goes_on_under_stock(world, ledger, shape):
    """An unwrapped saver does not see the waiting answer, and asks again: nothing wrong is served."""
    case = Case(world, two_questions, shape, ledger.path)
    thread = await case.thread()
    await thread.start()
    assert await thread.answer("a") == asks("b?")
    await case.killed(bare("b"), "after b?")
    stock = await case.thread(stock=True)
    assert await stock.go_on() in (asks("b?"), gives(["a", "b"]))
    if not ledger.fired():
        assert await (await case.thread(stock=True)).answer("B") == gives(["a", "B"])
    assert len(ledger.fired("effect")) == 1
