"""Four things that happen to every approval app. Each function does one to a plane and says what was seen."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from langchain_core.runnables import RunnableConfig
from pydantic import ValidationError

from remit import RemitStrayResume
from remit.cli.demo.app import Plane, Refund, RefundApp, attempt, effects_of
from remit.cli.demo.model import Delivery, Observation, Scenario
from remit.cli.demo.strays import NO_FALSE_ALARM, Reports, listening

TRIES = 3
"""How often a person gives the right answer before the thread counts as one that never recovers."""


def fork(plane: Plane) -> Observation:
    """Two answers addressed to the checkpoint where the question was asked."""
    answers = ["approve", "reject"]
    with plane.saver() as saver, listening() as reports:
        app = RefundApp(saver, plane, "fork")
        app.start()
        parked = app.at_head()
        served = [app.answer(answer, at=parked) for answer in answers]
    return Observation(
        served,
        app.effects,
        checks={
            "each answer is served as it was given": [d.served for d in served] == answers,
            "each branch runs to its end": [d.outcome for d in served] == ["finished"] * len(answers),
            "each branch has the effects of its own answer": app.effects
            == [effect for answer in answers for effect in effects_of(answer)],
            NO_FALSE_ALARM: not reports,
        },
    )


def corrected(plane: Plane) -> Observation:
    """An answer that the node refuses, then the right one."""
    with plane.saver() as saver, listening() as reports:
        app = RefundApp(saver, plane, "corrected")
        app.start()
        served = [app.answer("aprove"), app.answer("approve")]
        while len(served) <= TRIES and served[-1].outcome != "finished":
            served.append(app.answer("approve"))
    return Observation(
        served,
        app.effects,
        checks={
            "the malformed answer is refused by the node": served[0].outcome == ValueError.__name__,
            "the next answer is served as it was given": served[1].served == "approve",
            "the thread completes": served[-1].outcome == "finished",
            "the effects are those of one approval": app.effects == effects_of("approve"),
            NO_FALSE_ALARM: not reports,
        },
    )


def invalid(plane: Plane) -> Observation:
    """A node returns a value that the state's type does not allow; then the code is fixed."""
    with plane.saver(validator=Refund) as saver:
        app = RefundApp(saver, plane, "invalid")
        app.intake_is_broken = True
        # Under the default durability the next node starts while the saver is still refusing, so that LangGraph's own
        # complaint comes first and hides who refused. What is stored is the same.
        refused = app.start(durability="sync")
    durable = _durable_but_invalid(plane, app.config)
    with plane.saver(validator=Refund) as saver, listening() as reports:
        fixed = RefundApp(saver, plane, "invalid")
        went_on = attempt(lambda: fixed.graph.invoke(None, fixed.config))
        served = [fixed.answer("approve")]
    return Observation(
        served,
        fixed.effects,
        notes={
            "invalid update": refused,
            "invalid in the file": "; ".join(durable) or "nothing",
            "invoke(None) after the fix": went_on,
        },
        checks={
            "the invalid update is refused loudly": refused not in ("waiting", "finished"),
            "nothing invalid is durable": not durable,
            "after the fix the thread goes on to the question": went_on == "waiting",
            "the thread completes": served[-1].outcome == "finished",
            "the effects are those of one approval": fixed.effects == effects_of("approve"),
            NO_FALSE_ALARM: not reports,
        },
    )


def _durable_but_invalid(plane: Plane, config: RunnableConfig) -> list[str]:
    """Values in the file that their field's type does not allow, read by the stock saver on its own connection."""
    found: list[str] = []
    with plane.stock_saver() as reader:
        for stored in reader.list(config):
            values = stored.checkpoint["channel_values"].items()
            writes = [(channel, value) for _, channel, value in stored.pending_writes or []]
            for kind, pairs in (("checkpoint", values), ("pending write", writes)):
                found += [f"{channel} = {value!r} ({kind})" for channel, value in pairs if not _allowed(channel, value)]
    return found


def _allowed(channel: str, value: Any) -> bool:
    if channel not in Refund.model_fields:
        return True  # a channel of the framework's own
    try:
        Refund.model_validate({channel: value})
    except ValidationError:
        return False
    return True


def stray(plane: Plane) -> Observation:
    """The same answer comes once more to the finished thread, and once to a thread that was never started."""
    with plane.saver() as saver:
        app = RefundApp(saver, plane, "stray")
        nobody = RefundApp(saver, plane, "stray", thread="refund-typo")
        app.start()
        first = app.answer("approve")
        to_finished = _deliver_stray(app, "to the finished thread")
        to_unknown = _deliver_stray(nobody, "to an unknown thread")
    return Observation(
        [first, to_finished.delivery, to_unknown.delivery],
        app.effects,
        notes={
            "reports, finished thread": str(to_finished.reports),
            "reports, unknown thread": str(to_unknown.reports),
            "nodes run by strays": ", ".join(to_finished.nodes_run + to_unknown.nodes_run) or "none",
        },
        checks={
            "the first delivery is served and completes": (first.served, first.outcome) == ("approve", "finished"),
            "no node is run by a stray": not to_finished.nodes_run + to_unknown.nodes_run,
            "the effects are those of one approval": app.effects == effects_of("approve"),
            "a stray to the finished thread is reported": to_finished.reported,
            "a stray to an unknown thread is reported": to_unknown.reported,
        },
    )


@dataclass(frozen=True)
class _Stray:
    """A stray that was delivered: what it came to, which nodes it ran, and how it was reported.

    `reported` is true if it was said before anything ran: a warning at which no node had been entered, or an
    exception of a call that entered none.
    """

    delivery: Delivery
    nodes_run: list[str]
    reports: Reports
    reported: bool


def _deliver_stray(app: RefundApp, where: str) -> _Stray:
    before = len(app.nodes_run)
    with listening(lambda: len(app.nodes_run) - before) as reports:
        delivery = app.answer("approve")
    nodes_run = app.nodes_run[before:]
    raised = delivery.outcome == RemitStrayResume.__name__ and not nodes_run
    warned = bool(reports.warned_at) and not any(reports.warned_at)
    return _Stray(replace(delivery, answer=f"{delivery.answer} {where}"), nodes_run, reports, raised or warned)


FORK = Scenario("fork", "FD", "two answers at one checkpoint: approve, then reject", fork)
CORRECTED = Scenario("corrected", "re-answer", "a malformed answer, then the right one", corrected)
INVALID = Scenario("invalid", "CV", "a node returns an invalid update; then the code is fixed", invalid)
STRAY = Scenario("stray", "CO", "the same answer again, to a finished and to an unknown thread", stray)
