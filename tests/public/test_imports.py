"""Who may import whom: drivers stay in their rooms, and `import remit` needs no langgraph."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "python" / "remit"
MODULES = sorted(PACKAGE.rglob("*.py"))

DRIVERS = {"sqlite3", "aiosqlite", "psycopg", "psycopg_pool"}
DRIVER_ROOMS = {"claims", "cli", "conform"}

# langgraph-checkpoint is a dependency; of langgraph itself, only these two small modules may be named while importing.
LANGGRAPH = ("langgraph.checkpoint", "langgraph.types", "langgraph.constants")


def imports(tree: ast.AST, *, while_importing: bool) -> Iterator[str]:
    """Absolute names that a module imports: all of them, or only those that importing the module itself reaches."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.level == 0 and node.module:
                yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif not (while_importing and is_run_later(node)):
            yield from imports(node, while_importing=while_importing)


def is_run_later(node: ast.AST) -> bool:
    """The body of a function, or what is only for type checkers."""
    if isinstance(node, ast.If):
        return ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)


def test_there_are_modules() -> None:
    assert PACKAGE / "__init__.py" in MODULES


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_drivers_are_imported_only_in_their_rooms(module: Path) -> None:
    if DRIVER_ROOMS.isdisjoint(module.relative_to(PACKAGE).parts):
        names = imports(ast.parse(module.read_text()), while_importing=False)
        assert not [name for name in names if name.split(".")[0] in DRIVERS]


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_langgraph_is_not_imported_on_import(module: Path) -> None:
    # The demo is a LangGraph app, and the contract runs some.
    if {"cli", "conform"}.isdisjoint(module.relative_to(PACKAGE).parts):
        names = imports(ast.parse(module.read_text()), while_importing=True)
        foreign = [name for name in names if name.split(".")[0] == "langgraph"]
        assert not [name for name in foreign if not f"{name}.".startswith(tuple(f"{ok}." for ok in LANGGRAPH))]


def test_import_works_without_langgraph_and_drivers() -> None:
    # The langgraph distributions share one directory, so absence is made by refusing what langgraph-checkpoint lacks.
    program = """
import importlib.abc, importlib.metadata, sys

HERE = {str(file.parent if file.stem == "__init__" else file.with_suffix("")).replace("/", ".")
        for file in importlib.metadata.files("langgraph-checkpoint")}

class Absent(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        is_namespace = any(module.startswith(name + ".") for module in HERE)
        if name.partition(".")[0] == "langgraph" and not is_namespace and name not in HERE:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        if name in ("aiosqlite", "psycopg", "psycopg_pool"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
for absent in ("langgraph.types", "langgraph.graph", "langgraph.checkpoint.sqlite", "psycopg"):
    try:
        __import__(absent)
    except ModuleNotFoundError:
        continue
    raise AssertionError(f"{absent} was there")

import remit
from langgraph.checkpoint.memory import InMemorySaver

saver = remit.RemitSaver(InMemorySaver())
assert saver.get_tuple({"configurable": {"thread_id": "t"}}) is None
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
