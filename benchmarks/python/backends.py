"""Fresh stock savers, two per backend and alike in everything, each on storage of its own."""

from __future__ import annotations

import os
import pwd
import shutil
import sqlite3
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import AsyncExitStack, ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver

NAMES = ("memory", "sqlite", "postgres")


def two_places(backend: str, directory: Path, stack: ExitStack | AsyncExitStack) -> tuple[list[str], dict[str, str]]:
    """Two places for a saver's storage (files, or DSNs), and what is to be known of the database behind them."""
    if backend == "memory":
        return ["", ""], {}
    if backend == "sqlite":
        files = [str(directory / f"{name}.db") for name in ("first", "second")]
        return files, {"sqlite": sqlite3.sqlite_version, "journal_mode": "wal"}
    dsn = os.environ.get("REMIT_BENCH_PG") or stack.enter_context(private_server())
    return stack.enter_context(_schemas(dsn)), _server(dsn)


async def open_saver(backend: str, place: str, is_async: bool, stack: AsyncExitStack) -> Any:
    """A stock saver on a place, set up; `stack` closes it."""
    if backend == "memory":
        return InMemorySaver()
    return await (_sqlite if backend == "sqlite" else _postgres)(place, is_async, stack)


async def _sqlite(path: str, is_async: bool, stack: AsyncExitStack) -> Any:
    if is_async:
        from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

        saver = await stack.enter_async_context(AsyncSqliteSaver.from_conn_string(path))
        await saver.setup()
        return saver
    from langgraph.checkpoint.sqlite import SqliteSaver

    sync_saver = stack.enter_context(SqliteSaver.from_conn_string(path))
    sync_saver.setup()
    return sync_saver


async def _postgres(dsn: str, is_async: bool, stack: AsyncExitStack) -> Any:
    if is_async:
        from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

        saver = await stack.enter_async_context(AsyncPostgresSaver.from_conn_string(dsn))
        await saver.setup()
        return saver
    from langgraph.checkpoint.postgres import PostgresSaver

    sync_saver = stack.enter_context(PostgresSaver.from_conn_string(dsn))
    sync_saver.setup()
    return sync_saver


@contextmanager
def _schemas(dsn: str) -> Iterator[list[str]]:
    """Two fresh schemas in the database, as two DSNs; dropped afterwards, so that a given server is left as it was."""
    import psycopg
    from psycopg.conninfo import make_conninfo
    from psycopg.sql import SQL, Identifier

    names = [f"remit_bench_{uuid.uuid4().hex[:12]}" for _ in range(2)]
    with closing(psycopg.connect(dsn, autocommit=True)) as conn:
        for name in names:
            conn.execute(SQL("CREATE SCHEMA {}").format(Identifier(name)))
        try:
            yield [make_conninfo(dsn, options=f"-c search_path={name}") for name in names]
        finally:
            for name in names:
                conn.execute(SQL("DROP SCHEMA {} CASCADE").format(Identifier(name)))


def _server(dsn: str) -> dict[str, str]:
    """The server's version and the settings that a commit's price depends on."""
    import psycopg

    settings = ("server_version", "fsync", "synchronous_commit", "shared_buffers")
    with closing(psycopg.connect(dsn)) as conn:
        rows = conn.execute("SELECT name, setting FROM pg_settings WHERE name = ANY(%s)", (list(settings),)).fetchall()
    found = {str(name): str(setting) for name, setting in rows}
    found["place"] = "REMIT_BENCH_PG" if os.environ.get("REMIT_BENCH_PG") else "private, over a unix socket"
    return found


@contextmanager
def private_server() -> Iterator[str]:
    """A PostgreSQL server with its default settings in a temporary directory, reachable by a unix socket only.

    The server refuses to run as root: root hands it to the user named by `REMIT_BENCH_PG_USER` (default `postgres`).
    """
    as_user: dict[str, Any] = {}
    if os.geteuid() == 0:
        account = pwd.getpwnam(os.environ.get("REMIT_BENCH_PG_USER", "postgres"))
        as_user = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
    directory = Path(tempfile.mkdtemp(prefix="remit-pg-"))

    def run(program: str, *args: str) -> None:
        done = subprocess.run(
            [str(_binaries() / program), *args],
            cwd=directory,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            **as_user,
        )
        if done.returncode:
            raise RuntimeError(f"{program} failed:\n{done.stdout}")

    data, log = str(directory / "data"), str(directory / "log")
    try:
        if as_user:
            os.chown(directory, as_user["user"], as_user["group"])
        run("initdb", "-D", data, "-U", "bench", "-A", "trust", "-E", "UTF8", "--no-locale")
        run("pg_ctl", "-D", data, "-l", log, "-w", "-o", f"-k '{directory}' -c listen_addresses=''", "start")
        try:
            yield f"host={directory} user=bench dbname=postgres"
        finally:
            run("pg_ctl", "-D", data, "-m", "immediate", "stop")
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _binaries() -> Path:
    """Where `initdb` is; Debian keeps the server's programs off the PATH, in a directory per version."""
    on_path = shutil.which("initdb")
    if on_path:
        return Path(on_path).resolve().parent
    versions = sorted(
        Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda p: int(p.parts[-3].partition(".")[0])
    )
    if not versions:
        raise RuntimeError("no PostgreSQL server found: install one, or name a database with REMIT_BENCH_PG")
    return versions[-1].parent
