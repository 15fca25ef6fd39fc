import pytest
from test_answers import *
from conftest import *
@pytest.mark.parametrize("n", range(150))
@pytest.mark.parametrize("world", ["apg"], indirect=True)
async def test_x(world, ledger, n):
    def build(saver):
        graph = StateGraph(State)
        graph.add_node("gate", asking("pay?", ledger=ledger), error_handler=lambda _: Command(goto="after", update={"v": "handled"}))
        graph.add_node("after", lambda state: {"v": [state["v"], accept(interrupt("after?"))]})
        graph.add_edge(START, "gate")
        return graph.compile(checkpointer=saver)
    thread = await world.thread(build)
    assert await thread.start() == asks("pay?")
    assert await thread.answer(BAD) == asks("after?")
    r = await thread.go_on()
    assert r == asks("after?"), await thread.shown()
