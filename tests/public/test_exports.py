"""What `import remit` offers: the names, their docstrings, the options, the version."""

from __future__ import annotations

import importlib.metadata
import importlib.resources
import inspect
import re
from pathlib import Path
from typing import Any

import pytest
import remit
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver

ROOT = Path(__file__).parents[2]

NAMES = {
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
}
OPTIONS = {
    "validator": None,
    "on_stray": "warn",
    "fork_on_explicit_checkpoint": True,
    "require_named_answers": False,
    "cross_process_gate": False,
    "claim_lease": 30.0,
    "on_conflict": "raise",
    "conflict_timeout": 60.0,
    "claim_store": None,
    "detect_mutation": False,
    "self_check": False,
    "detect_overtaken": "process",
    "strict_types": False,
}


def test_names() -> None:
    assert set(remit.__all__) == NAMES
    assert len(remit.__all__) == len(NAMES)


@pytest.mark.parametrize("name", sorted(NAMES - {"__version__"}))
def test_each_name_has_a_docstring_of_its_own(name: str) -> None:
    named = getattr(remit, name)
    assert ((vars(named).get("__doc__") if isinstance(named, type) else named.__doc__) or "").strip()


@pytest.mark.parametrize("member", [name for name in vars(remit.RemitSaver) if not name.startswith("_")])
def test_each_method_has_a_docstring(member: str) -> None:
    assert inspect.getdoc(getattr(remit.RemitSaver, member))


@pytest.mark.parametrize("file", ["py.typed", "_core.pyi"])
def test_types_ship(file: str) -> None:
    # `make lint` compares the stub with the binary; stubtest has nothing to say where there is no stub.
    assert importlib.resources.files(remit).joinpath(file).is_file()


def test_version_is_the_workspaces() -> None:
    manifest = (ROOT / "Cargo.toml").read_text(encoding="utf-8")
    version = re.search(r'^\[workspace\.package\]\n(?:[^\[].*\n)*?version = "([^"]+)"', manifest, re.MULTILINE)
    assert version is not None
    assert remit.__version__ == version[1]
    assert importlib.metadata.version("langgraph-checkpoint-remit") == version[1]


def test_options_have_the_documented_defaults() -> None:
    assert {name: getattr(remit.RemitConfig(), name) for name in remit.RemitConfig.model_fields} == OPTIONS


def test_arguments_are_the_config_fields() -> None:
    saver = remit.RemitSaver(InMemorySaver(), on_stray="raise", require_named_answers=True)
    assert isinstance(saver, BaseCheckpointSaver)


@pytest.mark.parametrize("option", ["cross_process_gates", "on_strays", "validators"])
def test_unknown_option_is_an_error(option: str) -> None:
    options: dict[str, Any] = {option: True}
    with pytest.raises((remit.RemitError, TypeError), match=option):
        remit.RemitSaver(InMemorySaver(), **options)


@pytest.mark.parametrize("value", ["loud", None, 3])
def test_wrong_value_is_an_error(value: Any) -> None:
    with pytest.raises(remit.RemitError, match="on_stray"):
        remit.RemitSaver(InMemorySaver(), on_stray=value)


@pytest.mark.parametrize("inner", [None, InMemorySaver, "saver", object()])
def test_only_a_saver_instance_is_wrapped(inner: Any) -> None:
    with pytest.raises(remit.RemitError):
        remit.RemitSaver(inner)
