"""The list of cases, in the order in which they are reported."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from ..trial import PROMISES, Needs, Promise, Trial

Body = Callable[[Trial], Awaitable[None]]


@dataclass(frozen=True)
class Case:
    """One case of the contract.

    Attributes:
        id: its name, for ever.
        promise: what it is about.
        title: what is done, in one line.
        needs: `processes` if it makes sense only where other processes see the store.
        body: does it.
    """

    id: str
    promise: Promise
    title: str
    needs: Needs
    body: Body


_CASES: dict[str, Case] = {}


def registered(module: str) -> dict[str, Case]:
    """The cases of one file, in its order."""
    return {id: case for id, case in _CASES.items() if case.body.__module__ == module}


def case(promise: Promise, id: str, title: str, needs: Needs = "") -> Callable[[Body], Body]:
    """Registers a case."""

    def register(body: Body) -> Body:
        assert id not in _CASES, id
        assert promise in PROMISES, promise
        _CASES[id] = Case(id, promise, title, needs, body)
        return body

    return register
