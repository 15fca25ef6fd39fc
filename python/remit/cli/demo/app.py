"""The refund-approval app, its effect ledger, and the plane (a saver on a file) that it runs on.

The app is what anybody would write, and the same code runs in both columns: intake, a review that waits for a
person, a payment, a mail.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, Durability, interrupt
from pydantic import BaseModel

from remit.cli.demo.model import Delivery

Saver: TypeAlias = BaseCheckpointSaver[Any]
Validator: TypeAlias = type[BaseModel] | None
Factory: TypeAlias = Callable[[Saver, Validator], Saver]

ORDER = "A-1042"
PRICE_CENTS = 1250


class Ledger:
    """Every effect that was fired, in a SQLite file of its own: the oracle.

    It shares nothing with the checkpointer. One autocommitted insert per effect, so that nothing which happens to the
    run afterwards can take an effect back, as with a payment.
    """

    def __init__(self, path: Path) -> None:
        # Nodes run on the framework's threads; one connection in autocommit mode serializes them.
        self._conn = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._conn.execute(
            "CREATE TABLE effects (n INTEGER PRIMARY KEY, saver TEXT, scenario TEXT, effect TEXT, detail TEXT)"
        )

    def record(self, saver: str, scenario: str, effect: str, detail: str) -> None:
        """The effect happens: one row more."""
        self._conn.execute(
            "INSERT INTO effects (saver, scenario, effect, detail) VALUES (?, ?, ?, ?)",
            (saver, scenario, effect, detail),
        )

    def read(self, saver: str, scenario: str) -> list[str]:
        """The effects of one scenario in one column, in the order in which they happened."""
        rows = self._conn.execute(
            "SELECT effect || ' ' || detail FROM effects WHERE saver = ? AND scenario = ? ORDER BY n", (saver, scenario)
        )
        return [text for (text,) in rows]

    def close(self) -> None:
        """Close the file."""
        self._conn.close()


@dataclass(frozen=True)
class Plane:
    """One column: a file for checkpoints, and what is made of the stock saver on it."""

    name: str
    path: Path
    factory: Factory
    ledger: Ledger

    @contextmanager
    def saver(self, validator: Validator = None) -> Iterator[Saver]:
        """A saver on a new connection, as a new process would open it; closed afterwards."""
        with self.stock_saver() as inner:
            yield self.factory(inner, validator)

    @contextmanager
    def stock_saver(self) -> Iterator[SqliteSaver]:
        """The stock saver on the same file, to look at what is durable without the wrapper's help."""
        with closing(sqlite3.connect(self.path, check_same_thread=False)) as conn:
            inner = SqliteSaver(conn)
            inner.setup()
            yield inner


class Refund(BaseModel):
    """The state of one refund."""

    order: str = ""
    amount_cents: int = 0
    decision: str = ""
    outcome: str = ""


def effects_of(decision: str) -> list[str]:
    """What a decision has to lead to, said once more and apart from the nodes: the verdicts hold the ledger to it."""
    if decision == "approve":
        return [f"pay {ORDER} {PRICE_CENTS} cents", f"mail {ORDER} paid"]
    return [f"mail {ORDER} declined"]


class RefundApp:
    """The app, compiled on a saver, for one thread (named after the scenario if not given).

    Attributes:
        served: what `review` was handed by `interrupt()`, in order.
        nodes_run: names of the nodes that were entered, in order.
        intake_is_broken: while true, `intake` passes on the amount as the form had it; the bug of one scenario.
    """

    def __init__(self, saver: Saver, plane: Plane, scenario: str, thread: str | None = None) -> None:
        self.served: list[str] = []
        self.nodes_run: list[str] = []
        self.intake_is_broken = False
        self.config: RunnableConfig = {"configurable": {"thread_id": thread or f"refund-{scenario}"}}
        self._plane, self._scenario = plane, scenario
        builder = StateGraph(Refund)
        builder.add_node("intake", self._intake)
        builder.add_node("review", self._review)
        builder.add_node("pay", self._pay)
        builder.add_node("notify", self._notify)
        builder.add_edge(START, "intake")
        builder.add_edge("intake", "review")
        builder.add_edge("review", "pay")
        builder.add_edge("pay", "notify")
        builder.add_edge("notify", END)
        # `Any`: a dict is a legitimate input, which the stubs do not know for a pydantic state.
        self.graph: Any = builder.compile(checkpointer=saver)

    def _intake(self, state: Refund) -> dict[str, object]:
        self.nodes_run.append("intake")
        return {"amount_cents": "12.50 euro" if self.intake_is_broken else PRICE_CENTS}

    def _review(self, state: Refund) -> dict[str, object]:
        self.nodes_run.append("review")
        answer = interrupt(f"refund {state.amount_cents} cents for order {state.order}?")
        self.served.append(str(answer))
        if answer not in ("approve", "reject"):
            raise ValueError(f"not a decision: {answer!r}")
        return {"decision": answer}

    def _pay(self, state: Refund) -> dict[str, object]:
        self.nodes_run.append("pay")
        if state.decision != "approve":
            return {"outcome": "declined"}
        self._effect("pay", f"{state.order} {state.amount_cents} cents")
        return {"outcome": "paid"}

    def _notify(self, state: Refund) -> dict[str, object]:
        self.nodes_run.append("notify")
        self._effect("mail", f"{state.order} {state.outcome}")
        return {}

    def _effect(self, effect: str, detail: str) -> None:
        self._plane.ledger.record(self._plane.name, self._scenario, effect, detail)

    @property
    def effects(self) -> list[str]:
        """What the ledger holds of this scenario."""
        return self._plane.ledger.read(self._plane.name, self._scenario)

    def start(self, durability: Durability = "async") -> str:
        """Ask for the refund and say what came of it; ends where the person is asked."""
        return attempt(lambda: self.graph.invoke({"order": ORDER}, self.config, durability=durability))

    def at_head(self) -> RunnableConfig:
        """An address of the checkpoint where the thread stands now."""
        snapshot = self.graph.get_state(self.config)
        checkpoint_id = snapshot.config.get("configurable", {})["checkpoint_id"]
        return {"configurable": {**self.config.get("configurable", {}), "checkpoint_id": checkpoint_id}}

    def answer(self, answer: str, at: RunnableConfig | None = None) -> Delivery:
        """Give an answer, to the thread or to one of its checkpoints."""
        before = len(self.served)
        outcome = attempt(lambda: self.graph.invoke(Command(resume=answer), at or self.config))
        served = self.served[before] if len(self.served) > before else None
        return Delivery(answer, served, outcome)


def attempt(call: Callable[[], Any], messages: list[str] | None = None) -> str:
    """What a call on a graph came to: `finished`, `waiting`, or the name of the exception.

    The exception's message is appended to `messages`, if given.
    """
    try:
        result = call()
    except Exception as error:
        if messages is not None:
            messages.append(str(error))
        return type(error).__name__
    return "waiting" if isinstance(result, dict) and "__interrupt__" in result else "finished"
