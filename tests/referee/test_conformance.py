"""LangGraph's own suite for checkpointers, unmodified: a wrapped saver gets the report that its bare saver gets."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.conformance.report import CapabilityReport
from stores import ASYNC_BACKENDS, AsyncStore


async def referee(backend: str, new_place: Callable[[str], str], wrapped: bool) -> CapabilityReport:
    """Run the suite. It asks for a new saver per capability, and each gets an empty store."""

    @checkpointer_test(name=f"{backend}, {'wrapped' if wrapped else 'bare'}")
    async def saver() -> AsyncIterator[Any]:
        async with AsyncStore(backend, new_place(backend)) as store:
            yield await (store.wrapped() if wrapped else store.inner())

    return await validate(saver)


def summary(report: CapabilityReport) -> dict[str, dict[str, Any]]:
    """Counts and the names of failed tests; a failure's text holds random ids and is left out."""
    return {
        name: {**result, "failures": sorted(text.split(":")[0] for text in result["failures"])}
        for name, result in report.to_dict()["results"].items()
    }


@pytest.mark.parametrize("backend", ASYNC_BACKENDS)
async def test_wrapped_saver_gets_the_bare_savers_report(backend: str, new_place: Callable[[str], str]) -> None:
    bare = await referee(backend, new_place, wrapped=False)
    wrapped = await referee(backend, new_place, wrapped=True)

    assert bare.passed_all_base(), bare.to_dict()  # else equal reports would say little
    assert summary(wrapped).keys() == summary(bare).keys()
    for capability, expected in summary(bare).items():
        got = summary(wrapped)[capability]
        assert got == expected, f"{capability}: {wrapped.results[capability].failures}"
