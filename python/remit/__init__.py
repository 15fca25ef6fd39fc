"""REMIT: resume means resume. `RemitSaver(inner)` wraps any LangGraph checkpointer."""

from ._core import (
    RemitConsumeConflict,
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
    "RemitConsumeConflict",
    "RemitError",
    "RemitOrderViolation",
    "RemitPrefixViolation",
    "RemitSaver",
    "RemitStrayResume",
    "RemitValidityError",
    "__version__",
]
