"""The cases, one file per promise, in the order in which they are reported."""

from __future__ import annotations

from . import co_c, co_e, cv, eo, fd, live, pc, rd
from .registry import Case, registered

_FILES = (pc, eo, fd, cv, co_e, co_c, rd, live)

CASES: dict[str, Case] = {id: case for file in _FILES for id, case in registered(file.__name__).items()}

__all__ = ["CASES", "Case"]
