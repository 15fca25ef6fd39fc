"""REMIT: resume means resume. `RemitSaver(inner)` wraps any LangGraph checkpointer."""

from ._core import (
    RemitError,
    RemitOrderViolation,
    RemitPrefixViolation,
    RemitStrayResume,
    RemitValidityError,
    __version__,
)
from .config import RemitConfig
from .saver import RemitSaver

__all__ = [
    "RemitConfig",
    "RemitError",
    "RemitOrderViolation",
    "RemitPrefixViolation",
    "RemitSaver",
    "RemitStrayResume",
    "RemitValidityError",
    "__version__",
]
