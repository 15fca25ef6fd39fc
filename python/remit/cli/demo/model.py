"""What a scenario is, and what is recorded when it runs. Nothing here knows LangGraph."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from remit.cli.demo.app import Plane

Column = Literal["stock", "remit"]


@dataclass(frozen=True)
class Delivery:
    """One answer, as it was given.

    Args:
        answer: what the person said.
        served: what the node was handed for it; `None` if it was handed nothing.
        outcome: what the call came to, in a word or two.
    """

    answer: str
    served: str | None
    outcome: str

    def __str__(self) -> str:
        served = "nothing" if self.served is None else self.served
        return f"{self.answer} -> {served} ({self.outcome})"


@dataclass
class Observation:
    """What one column did in one scenario.

    `checks` maps a sentence that has to be true to whether it was; the promise is kept if all of them were.
    """

    served: list[Delivery] = field(default_factory=list)
    ledger: list[str] = field(default_factory=list)
    notes: dict[str, str] = field(default_factory=dict)
    checks: dict[str, bool] = field(default_factory=dict)

    @property
    def kept(self) -> bool:
        """All checks held, and there was at least one."""
        return bool(self.checks) and all(self.checks.values())

    @property
    def broken(self) -> list[str]:
        """The sentences that were not true."""
        return [sentence for sentence, held in self.checks.items() if not held]

    def as_dict(self) -> dict[str, Any]:
        """The same as plain data."""
        return {
            "served": [{"answer": d.answer, "served": d.served, "outcome": d.outcome} for d in self.served],
            "ledger": self.ledger,
            "notes": self.notes,
            "checks": self.checks,
            "kept": self.kept,
        }


@dataclass(frozen=True)
class Scenario:
    """One thing that is done to the app, in both columns alike.

    Args:
        key: stable name, as in the JSON.
        promise: short name of the promise that is tried (DESIGN section 1).
        title: one line of what is done.
        run: does it on a plane and returns what was seen.
        unavailable: why it cannot run here, or `None`.
    """

    key: str
    promise: str
    title: str
    run: Callable[[Plane], Observation]
    unavailable: Callable[[], str | None] = lambda: None

    def observe(self, plane: Plane) -> Observation:
        """Run it; a failure that the scenario did not expect is an observation too, and keeps no promise."""
        try:
            return self.run(plane)
        except Exception as error:
            sentence = f"the scenario runs to its end (it stopped with {type(error).__name__}: {error})"
            return Observation(ledger=plane.ledger.read(plane.name, self.key), checks={sentence: False})


@dataclass(frozen=True)
class Row:
    """A scenario and what both columns did; `observed` is empty if it was not run."""

    scenario: Scenario
    observed: dict[Column, Observation]
    not_run: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """The same as plain data."""
        return {
            "scenario": self.scenario.key,
            "promise": self.scenario.promise,
            "title": self.scenario.title,
            "not_run": self.not_run,
            **{column: observation.as_dict() for column, observation in self.observed.items()},
        }
