"""pydantic-graph 2.x: there is nothing to restore from. Loading this file fails if that has changed."""

import importlib.util

import pydantic_graph

if importlib.util.find_spec("pydantic_graph.persistence") is not None:
    raise SystemExit(f"{pydantic_graph.__name__} has a persistence module again: it needs an adapter")

SURFACES: dict[str, type] = {}
