"""The neutral contract: what is done to a plane, whatever framework it is, and what must hold of what it did.

One file per promise. `play` is the stage, `verdict` turns what was seen into a verdict. Standard library only.
"""

from __future__ import annotations

from . import co_c, co_e, cv, eo, fd, fi, live, pc, rd
from .play import Case, registered

_FILES = (pc, eo, fd, fi, cv, co_e, co_c, rd, live)

CASES: dict[str, Case] = {case.id: case for file in _FILES for case in registered(file.__name__)}

__all__ = ["CASES", "Case"]
