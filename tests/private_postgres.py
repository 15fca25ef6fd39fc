"""A PostgreSQL server of the tests' own: started in a temporary directory, stopped and deleted at the end.

    with private_postgres() as url:  # a libpq URL

Where REMIT_TEST_PG is set already, that server is used and left alone. It must allow CREATE DATABASE.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

START_TIMEOUT_S = 60
STOP_TIMEOUT_S = 30

# Nothing here must outlive the tests, so nothing is flushed. Only a Unix socket: no port to collide on.
SETTINGS = {
    "listen_addresses": "",
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "max_connections": "200",
    "shared_buffers": "64MB",
}
CLUSTER = ("-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "-N")


@contextmanager
def private_postgres() -> Iterator[str]:
    """Start a server, give its URL, stop and delete it; or give REMIT_TEST_PG."""
    given = os.environ.get("REMIT_TEST_PG")
    if given:
        yield given
        return
    programs = _programs()
    # In /tmp, because a socket's path must be short and each directory above it open to the server's user.
    home = Path(tempfile.mkdtemp(prefix="remit-pg-", dir="/tmp"))
    try:
        prefix = _as_server_user(home)
        data = home / "data"
        made = subprocess.run(
            [*prefix, programs / "initdb", "-D", data, *CLUSTER],
            cwd=home,
            capture_output=True,
            text=True,
            check=False,
        )
        if made.returncode:
            raise RuntimeError(f"initdb failed:\n{made.stdout}{made.stderr}")
        settings = [word for name, value in SETTINGS.items() for word in ("-c", f"{name}={value}")]
        log = home / "log"
        with log.open("w") as out:
            server = subprocess.Popen(
                [*prefix, programs / "postgres", "-D", data, "-k", home, *settings],
                cwd=home,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
            )
        try:
            url = f"postgresql:///postgres?host={home}&user=postgres"
            _wait_until_ready(server, url, log)
            yield url
        finally:
            _stop(server)
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _programs() -> Path:
    """The directory of the newest server on this machine; Debian keeps it off PATH."""
    debian = sorted(
        (path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/initdb")),
        key=lambda path: float(path.parent.name),
    )
    if debian:
        return debian[-1]
    found = shutil.which("initdb")
    if found is None:
        raise RuntimeError("no PostgreSQL server here\n\nhint: run .ci/system, or set REMIT_TEST_PG to a libpq URL")
    return Path(found).resolve().parent


def _as_server_user(home: Path) -> list[str]:
    """A command prefix: not root, which the server refuses, and gone when this process is gone, even by SIGKILL."""
    if shutil.which("setpriv") is None:
        return []
    prefix = ["setpriv", "--pdeathsig", "INT"]
    if os.geteuid() == 0:
        names = {entry.pw_name for entry in pwd.getpwall()}
        user = pwd.getpwnam("postgres" if "postgres" in names else "nobody")
        os.chown(home, user.pw_uid, user.pw_gid)
        prefix += ["--reuid", str(user.pw_uid), "--regid", str(user.pw_gid), "--clear-groups"]
    return prefix


def _wait_until_ready(server: subprocess.Popen[bytes], url: str, log: Path) -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    while True:
        try:
            psycopg.connect(url).close()
            return
        except psycopg.OperationalError as error:
            if server.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"PostgreSQL did not start: {error}\n{log.read_text()}") from error
            time.sleep(0.02)


def _stop(server: subprocess.Popen[bytes]) -> None:
    # SIGINT is the server's "fast" shutdown: it ends open sessions and does not wait for their clients.
    server.send_signal(signal.SIGINT)
    try:
        server.wait(STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        server.send_signal(signal.SIGQUIT)
        server.wait(STOP_TIMEOUT_S)
