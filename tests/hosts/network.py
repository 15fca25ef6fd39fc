"""Three hosts on one machine: a PostgreSQL server and two workers, each in a network namespace of its own, the workers
also in process and host-name namespaces, so that a process id tells the other host nothing.

    with hosts() as network:              # skips, and prints why, where namespaces are not allowed
        worker = network.worker("a", ...)
        with network.partition("a"): ...
        network.disturb(delay_s=0.2)
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import private_postgres as postgres
import pytest

TESTS = Path(__file__).parents[1]
SUBNET = "10.177.0"
DEADLINE_S = 90

WORKER = """
import json, sys
sys.path[:0] = json.loads(sys.argv[1])
import socket
socket.sethostname(sys.argv[2])
import psycopg
from graphs import POINTS, asking, nested
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.types import Command
from ledger import Ledger
from remit import RemitError, RemitSaver
from stores import POSTGRES_CONNECTION

def say(*said):
    print(json.dumps(said), flush=True)
    sys.stdin.readline()

given = json.loads(sys.argv[3])
POINTS.do_at("after q1", lambda: say("holds"))
with psycopg.connect(given["url"], **POSTGRES_CONNECTION) as connection:
    saver = RemitSaver(PostgresSaver(connection), cross_process_gate=True, **given["options"])
    graph = nested(asking("q1", ledger=Ledger(given["ledger"])), 0)(saver)
    config = {"configurable": {"thread_id": "thread"}}
    say("ready")
    try:
        input = {"log": []} if given["answer"] is None else Command(resume=given["answer"])
        said = ("gives", graph.invoke(input, config).get("v"))
    except RemitError as e:
        said = ("refused", e.code, getattr(getattr(e, "holder", None), "host", None))
    except Exception as e:
        said = ("fails", type(e).__name__, str(e))
    say(*said)
"""


def run(*words: str) -> None:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise OSError(f"{' '.join(words)}: {done.stderr.strip()}")


class Worker:
    """One call on a host."""

    def __init__(self, command: list[str]) -> None:
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def says(self) -> list[Any]:
        """The next that is heard from it: ["ready"], ["holds"], or how its call ended."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the worker died"
        said: list[Any] = json.loads(line)
        return said

    def go(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("go\n")
        self.process.stdin.flush()

    def goes_on(self) -> list[Any]:
        """Lets it go on: what is heard next."""
        self.go()
        return self.says()

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with suppress(BrokenPipeError):
                    pipe.close()


class Network:
    """The hosts "server", "a" and "b"."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._name = f"remit{os.getpid()}"
        self.wires: dict[str, subprocess.Popen[str]] = {}
        self.url = ""
        self.local = ""

    def space(self, host: str) -> str:
        return f"{self._name}{host}"

    def build(self) -> None:
        """Makes the namespaces, and a bridge on the server's side."""
        for host in ("server", "a", "b"):
            run("ip", "netns", "add", self.space(host))
            self._stack.callback(run, "ip", "netns", "del", self.space(host))
            run("ip", "-n", self.space(host), "link", "set", "lo", "up")
        server = self.space("server")
        run("ip", "-n", server, "link", "add", "bridge", "type", "bridge")
        run("ip", "-n", server, "addr", "add", f"{SUBNET}.1/24", "dev", "bridge")
        run("ip", "-n", server, "link", "set", "bridge", "up")
        for number, host in enumerate(("a", "b"), 2):
            there = self.space(host)
            self.wires[host] = self._wire(server, f"to-{host}", there, "eth0")
            run("ip", "-n", server, "link", "set", f"to-{host}", "master", "bridge", "up")
            run("ip", "-n", there, "addr", "add", f"{SUBNET}.{number}/24", "dev", "eth0")
            run("ip", "-n", there, "link", "set", "eth0", "up")

    def _wire(self, *ends: str) -> subprocess.Popen[str]:
        program = [sys.executable, str(Path(__file__).parent / "wire.py"), *ends, f"{self._name}/{ends}"]
        wire = subprocess.Popen(
            program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self._stack.enter_context(wire)
        self._stack.callback(wire.kill)
        assert wire.stdout is not None and wire.stderr is not None
        if wire.stdout.readline() != "ready\n":
            raise OSError(f"no TAP devices: {wire.stderr.read().strip().splitlines()[-1:]}")
        return wire

    def serve(self) -> None:
        """Starts PostgreSQL on the server."""
        programs = postgres._programs()
        home = Path(tempfile.mkdtemp(prefix="remit-pg-", dir="/tmp"))
        self._stack.callback(shutil.rmtree, home, ignore_errors=True)
        prefix = postgres._as_server_user(home)
        data, log = home / "data", home / "log"
        made = subprocess.run(
            [*prefix, programs / "initdb", "-D", data, *postgres.CLUSTER], cwd=home, capture_output=True, check=False
        )
        assert made.returncode == 0, made.stderr
        with (data / "pg_hba.conf").open("a") as rules:
            rules.write(f"host all all {SUBNET}.0/24 trust\n")
        settings = {**postgres.SETTINGS, "listen_addresses": f"{SUBNET}.1"}
        words = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        inside = ["ip", "netns", "exec", self.space("server")]
        with log.open("w") as out:
            server = subprocess.Popen(
                [*inside, *prefix, programs / "postgres", "-D", data, "-k", home, *words],
                cwd=home,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
            )
        self._stack.callback(postgres._stop, server)
        self.local = f"postgresql:///postgres?host={home}&user=postgres"
        self.url = f"postgresql://postgres@{SUBNET}.1/postgres"
        postgres._wait_until_ready(server, self.local, log)

    def worker(self, host: str, ledger: str, answer: str | None, **options: Any) -> Worker:
        """A call on a host, up to its being ready. Its connection notices a silent network only by TCP."""
        given = json.dumps({"url": self.url, "ledger": ledger, "answer": answer, "options": options})
        path = json.dumps([str(TESTS), str(TESTS / "contract"), *sys.path])
        worker = Worker(
            [
                *("ip", "netns", "exec", self.space(host)),
                *("unshare", "--pid", "--uts", "--fork", "--kill-child", "--mount-proc"),
                *(sys.executable, "-c", WORKER, path, f"worker-{host}", given),
            ]
        )
        self._stack.callback(worker.close)
        assert worker.says() == ["ready"]
        return worker

    @contextmanager
    def partition(self, host: str) -> Iterator[None]:
        """Cuts a host off."""
        run("ip", "-n", self.space("server"), "link", "set", f"to-{host}", "down")
        try:
            yield
        finally:
            run("ip", "-n", self.space("server"), "link", "set", f"to-{host}", "up")

    def disturb(self, delay_s: float = 0.0, loss: float = 0.0) -> None:
        """Delays what goes over both workers' wires, and loses some of it."""
        for wire in self.wires.values():
            assert wire.stdin is not None
            wire.stdin.write(f"{delay_s} {loss}\n")
            wire.stdin.flush()


@contextmanager
def hosts() -> Iterator[Network]:
    """The network, with its server running."""
    with ExitStack() as stack:
        network = Network(stack)
        try:
            if os.geteuid() != 0:
                raise OSError("only root may make network namespaces")
            run("unshare", "--pid", "--uts", "--fork", "--mount-proc", "true")
            network.build()
        except OSError as e:
            print(f"no namespaces here: {e}")
            pytest.skip(f"no namespaces here: {e}")
        network.serve()
        yield network
