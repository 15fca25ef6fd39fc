"""The claim store of examples/redis, against a Redis server of the tests' own."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import claim_stores
import pytest
import redis
import redis.asyncio
from claim_stores import Awaiting, Blocking
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt
from remit import RemitConsumeConflict, RemitSaver
from remit.claims import Claims, ClaimStore
from stores import Store

sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "redis"))
from claim_store import RedisClaimStore

START_TIMEOUT_S = 30


@pytest.fixture(scope="session")
def socket() -> Iterator[str]:
    """A server in a temporary directory, on a Unix socket alone."""
    program = shutil.which("redis-server")
    if program is None:
        print("no redis-server here: .ci/system installs it")
        pytest.skip("no redis-server here: .ci/system installs it")
    with tempfile.TemporaryDirectory(prefix="remit-redis-", dir="/tmp") as home:
        path = f"{home}/socket"
        options = {"port": "0", "unixsocket": path, "dir": home, "appendonly": "yes", "save": "", "daemonize": "no"}
        words = [word for name, value in options.items() for word in (f"--{name}", value)]
        server = subprocess.Popen([program, *words], stdout=subprocess.DEVNULL)
        try:
            deadline = time.monotonic() + START_TIMEOUT_S
            with redis.Redis(unix_socket_path=path) as client:
                while True:
                    try:
                        client.ping()
                        break
                    except redis.ConnectionError:
                        assert server.poll() is None and time.monotonic() < deadline, "Redis did not start"
                        time.sleep(0.02)
            yield path
        finally:
            server.terminate()
            server.wait(START_TIMEOUT_S)


@pytest.fixture
def client(socket: str) -> Iterator[redis.Redis]:
    """A connection to an empty database."""
    with redis.Redis(unix_socket_path=socket) as client:
        client.flushall()
        yield client


@pytest.mark.parametrize("check", claim_stores.CHECKS, ids=lambda check: check.__name__)
async def test_it_does_what_a_claim_store_must(check: Any, client: redis.Redis) -> None:
    store = RedisClaimStore(client)
    assert isinstance(store, ClaimStore)
    await check(Blocking(Claims(store)))


@pytest.mark.parametrize("check", claim_stores.CHECKS, ids=lambda check: check.__name__)
async def test_it_does_so_awaiting(check: Any, client: redis.Redis, socket: str) -> None:
    async with redis.asyncio.Redis(unix_socket_path=socket) as aclient:
        await check(Awaiting(Claims(RedisClaimStore(client, aclient))))


def test_of_many_threads_one_is_granted(client: redis.Redis, socket: str) -> None:
    clients = [redis.Redis(unix_socket_path=socket) for _ in range(6)]
    try:
        claim_stores.check_of_many_one_is_granted([(Claims(RedisClaimStore(one)), None) for one in clients])
    finally:
        for one in clients:
            one.close()


@pytest.mark.parametrize("saver_factory", ["sqlite"], indirect=True)
def test_a_gate_with_claims_in_redis(saver_factory: Store, client: redis.Redis) -> None:
    at, goes, fired = threading.Event(), threading.Event(), []

    def gate(_: Any) -> Any:
        answer = interrupt("q")
        if answer == "bad":
            raise ValueError(answer)
        at.set()
        assert goes.wait(60)
        fired.append(answer)
        return {"v": answer}

    def worker() -> Any:
        saver = RemitSaver(saver_factory.inner(), cross_process_gate=True, claim_store=RedisClaimStore(client))
        return StateGraph(dict).add_node("gate", gate).add_edge(START, "gate").compile(checkpointer=saver)

    config: Any = {"configurable": {"thread_id": "t"}}
    first, second = worker(), worker()
    first.invoke({}, config)
    with pytest.raises(ValueError, match="bad"):
        second.invoke(Command(resume="bad"), config)
    running = threading.Thread(target=first.invoke, args=(Command(resume="yes"), config))
    running.start()
    assert at.wait(60)
    with pytest.raises(RemitConsumeConflict):
        second.invoke(Command(resume="yes"), config)
    goes.set()
    running.join()
    assert fired == ["yes"]
    saver: Any = second.checkpointer
    assert [(g.state, g.outcome, g.running) for g in saver.claims("t")] == [
        ("consumed", "consumed", False),
        ("free", "failed", False),
        ("consumed", "consumed", False),
    ]
    saver.delete_thread("t")
    assert client.keys() == []
