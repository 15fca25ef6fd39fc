"""The fixtures that other tests stand on: stores are empty, their connections independent, the server private."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from langgraph.checkpoint.base import empty_checkpoint
from psycopg.conninfo import conninfo_to_dict
from stores import AsyncStore, Store

THREAD: Any = {"configurable": {"thread_id": "thread", "checkpoint_ns": ""}}
DEADLINE_S = 30


@pytest.mark.parametrize("_again", range(2))
def test_second_connection_sees_the_first_ones_checkpoint(saver_factory: Store, _again: int) -> None:
    saver = saver_factory.wrapped()
    assert saver.get_tuple(THREAD) is None  # also at the second run: the store is a new one
    checkpoint = empty_checkpoint()
    saver.put(THREAD, checkpoint, {}, {})

    for other in (saver_factory.reopen(), saver_factory.inner()):
        found = other.get_tuple(THREAD)
        assert found is not None
        assert found.checkpoint["id"] == checkpoint["id"]


@pytest.mark.parametrize("_again", range(2))
async def test_second_async_connection_sees_the_first_ones_checkpoint(asaver_factory: AsyncStore, _again: int) -> None:
    saver = await asaver_factory.wrapped()
    assert await saver.aget_tuple(THREAD) is None
    checkpoint = empty_checkpoint()
    await saver.aput(THREAD, checkpoint, {}, {})

    for other in (await asaver_factory.reopen(), await asaver_factory.inner()):
        found = await other.aget_tuple(THREAD)
        assert found is not None
        assert found.checkpoint["id"] == checkpoint["id"]


def test_databases_are_separate(new_database: Callable[[], str]) -> None:
    assert new_database() != new_database()


def test_private_server_ends_with_its_owner_even_when_killed() -> None:
    program = """
import sys
from private_postgres import private_postgres
with private_postgres() as url:
    print(url, flush=True)
    sys.stdin.read()
"""
    environment = {name: value for name, value in os.environ.items() if name != "REMIT_TEST_PG"}
    with subprocess.Popen(
        [sys.executable, "-c", program],
        env={**environment, "PYTHONPATH": str(Path(__file__).parents[1])},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as owner:
        assert owner.stdout is not None
        url = owner.stdout.readline().strip()
        psycopg.connect(url).close()
        owner.kill()

    home = Path(str(conninfo_to_dict(url)["host"]))
    deadline = time.monotonic() + DEADLINE_S
    while home.exists():
        assert time.monotonic() < deadline, "the server outlived its owner"
        if not (home / "data" / "postmaster.pid").exists():  # the server removes it when it ends
            shutil.rmtree(home, ignore_errors=True)
        time.sleep(0.02)
