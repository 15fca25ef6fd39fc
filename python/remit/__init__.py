"""REMIT: resume means resume. `RemitSaver(inner)` wraps any LangGraph checkpointer."""

from ._core import (
    RemitConsumeConflict,
    RemitDuplicateEffect,
    RemitEffectInDoubt,
    RemitError,
    RemitOrderViolation,
    RemitPrefixViolation,
    RemitStrayResume,
    RemitValidityError,
    __version__,
)
from .asking import aask, ask
from .config import RemitConfig
from .effects import aeffect, effect, effect_key, once
from .saver import RemitSaver

__all__ = [
    "RemitConfig",
    "RemitConsumeConflict",
    "RemitDuplicateEffect",
    "RemitEffectInDoubt",
    "RemitError",
    "RemitOrderViolation",
    "RemitPrefixViolation",
    "RemitSaver",
    "RemitStrayResume",
    "RemitValidityError",
    "__version__",
    "aask",
    "aeffect",
    "ask",
    "effect",
    "effect_key",
    "once",
]
