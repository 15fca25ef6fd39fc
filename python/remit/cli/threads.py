"""The verbs that look at a database: `threads`, `show`, `explain`, `claims`, `effects`, `doctor`.

Data goes to stdout, talk to stderr; `--json` is the stable form. They read only, but for `claims release` and
`effects resolve`. Exit status: 0 sound, 1 something is wrong, 2 wrong usage.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from remit import RemitSaver

F = TypeVar("F", bound=Callable[..., Any])

_url = click.option(
    "--database",
    "-d",
    metavar="URL",
    envvar="DATABASE_URL",
    required=True,
    help="postgresql://..., sqlite:///FILE, or a SQLite file. Also by the environment's DATABASE_URL.",
)
_optional_url = click.option("--database", "-d", metavar="URL", envvar="DATABASE_URL", help="As for the other verbs.")
_json = click.option("--json", "as_json", is_flag=True, help="Print JSON, whose form is stable.")


@contextmanager
def opened(url: str, writes: bool = False) -> Iterator[RemitSaver]:
    """The saver of a database, wrapped.

    Raises:
        click.ClickException: it cannot be opened.
    """
    from remit import RemitError

    with ExitStack() as stack:
        try:
            yield _opened(url, writes, stack)
        except RemitError as e:
            raise click.ClickException(str(e)) from e


def _opened(url: str, writes: bool, stack: ExitStack) -> RemitSaver:
    from remit import RemitSaver

    inner: Any
    if url.startswith(("postgres://", "postgresql://")):
        import psycopg
        from langgraph.checkpoint.postgres import PostgresSaver
        from psycopg.rows import dict_row

        options = {} if writes else {"options": "-c default_transaction_read_only=on"}
        try:
            made: Any = psycopg.connect(url, autocommit=True, row_factory=dict_row, **options)  # type: ignore[arg-type]
        except psycopg.Error as e:
            raise click.ClickException(f"the database cannot be opened: {e}") from e
        inner = PostgresSaver(stack.enter_context(made))
    else:
        import sqlite3

        from langgraph.checkpoint.sqlite import SqliteSaver

        file = url.removeprefix("sqlite:///")
        if not os.path.isfile(file):
            raise click.ClickException(f"there is no file {file}")
        uri = f"file:{_quoted(file)}?mode={'rw' if writes else 'ro'}"
        inner = SqliteSaver(stack.enter_context(closing(sqlite3.connect(uri, uri=True, check_same_thread=False))))
        inner.is_setup = True  # it would write
    return RemitSaver(inner, cross_process_gate=True)


def _quoted(file: str) -> str:
    from urllib.parse import quote

    return quote(os.path.abspath(file))


def _text(value: Any) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)


def _print(as_json: bool, data: Any, title: list[str], rows: list[list[Any]]) -> None:
    """JSON, or a table; on a pipe, a table without frames or colour."""
    if as_json:
        click.echo(json.dumps(data, indent=2, default=_text))
        return
    from rich.box import SIMPLE
    from rich.console import Console
    from rich.table import Table

    console = Console(soft_wrap=False)
    if not console.is_terminal:
        for row in [title, *rows]:
            click.echo("\t".join("" if cell is None else str(cell) for cell in row))
        return
    table = Table(*title, box=SIMPLE)
    for row in rows:
        table.add_row(*("" if cell is None else str(cell) for cell in row))
    console.print(table)


def _age(since: datetime) -> str:
    seconds = int((datetime.now(timezone.utc) - since).total_seconds())
    for unit, size in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds >= size:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"


def _when(microseconds: int | None) -> str | None:
    if microseconds is None:
        return None
    return datetime.fromtimestamp(microseconds / 1_000_000, timezone.utc).isoformat(timespec="seconds")


_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def _duration(_context: click.Context, _option: click.Parameter, value: str | None) -> timedelta | None:
    """A number and a unit: 90s, 15m, 2h, 1d."""
    if value is None:
        return None
    try:
        return timedelta(**{_UNITS[value[-1:]]: float(value[:-1])})
    except (KeyError, ValueError, OverflowError) as e:
        raise click.BadParameter(f"{value!r} is not a number and one of {', '.join(_UNITS)}") from e


@click.command("threads")
@click.option("--prefix", metavar="ID", default="", help="Only threads whose id begins so.")
@click.option("--older-than", callback=_duration, metavar="AGE", help="Only questions this old: 90s, 15m, 2h, 1d.")
@click.option("--limit", type=click.IntRange(min=1), help="How many at most, oldest checkpoint first.")
@_url
@_json
def threads_command(prefix: str, older_than: timedelta | None, limit: int | None, database: str, as_json: bool) -> None:
    """The open questions of all threads: who asks what, since when, and who executes there."""
    with opened(database) as saver:
        questions = saver.pending(prefix=prefix, older_than=older_than, limit=limit)
    rows = [
        [q.thread, q.node, json.dumps(q.value, default=str), _age(q.since), q.is_answered or None, q.holder]
        for q in questions
    ]
    title = ["thread", "node", "question", "age", "answered", "holder"]
    _print(as_json, [q.model_dump() for q in questions], title, rows)
    if not as_json:
        click.echo(f"{len(questions)} open", err=True)


@click.command("explain")
@click.argument("thread")
@click.option("--namespace", default="", help="Of a subgraph; by default the root.")
@_url
@_json
@click.pass_context
def explain_command(context: click.Context, thread: str, namespace: str, database: str, as_json: bool) -> None:
    """Where a thread stands, and what each way to go on would do. The status is 1 if an effect is in doubt."""
    with opened(database) as saver:
        explanation = saver.explain({"configurable": {"thread_id": thread, "checkpoint_ns": namespace}})
    click.echo(explanation.model_dump_json(indent=2) if as_json else str(explanation))
    if any(e.state == "in doubt" for e in explanation.effects):
        context.exit(1)


@click.command("show")
@click.argument("thread")
@click.option("--mermaid", is_flag=True, help="Print the tree as a Mermaid flowchart.")
@_url
@_json
def show_command(thread: str, mermaid: bool, database: str, as_json: bool) -> None:
    """The checkpoints of a thread, oldest first: forks, questions, answers taken, effects."""
    from remit.gate import BRANCH
    from remit.rows import Rows

    config: Any = {"configurable": {"thread_id": thread}}
    nodes = []
    with opened(database) as saver:
        effects = [a for a in saver.effects(thread)]
        taken = [g for g in saver.claims(thread) if g.state == "consumed" and g.interrupts]
        for tup in sorted(saver.inner.list(config), key=lambda t: t.checkpoint["id"]):
            id = tup.checkpoint["id"]
            rows = Rows(tup.pending_writes)
            tasks = [*rows.base.values(), *(t for branch in rows.branches.values() for t in branch.values())]
            questions = [q.value for t in tasks if t.parked for q in _questions(t.question)]
            metadata: Any = tup.metadata
            here: Any = tup.config
            parent: Any = tup.parent_config
            nodes.append(
                {
                    "namespace": here["configurable"].get("checkpoint_ns", ""),
                    "checkpoint": id,
                    "parent": parent["configurable"]["checkpoint_id"] if parent else None,
                    "step": metadata.get("step"),
                    "source": metadata.get("source"),
                    "branch": metadata.get(BRANCH),
                    "forks": sorted(rows.branches),
                    "questions": questions,
                    "answers": sum(g.key.checkpoint == id for g in taken),
                    "effects": [f"{a.effect.name} {a.effect.key}: {a.state}" for a in effects if a.checkpoint == id],
                }
            )
    if not nodes:
        raise click.ClickException(f"there is no thread {thread}")
    if mermaid:
        click.echo("\n".join(_mermaid(nodes)))
        return
    title = ["checkpoint", "parent", "step", "source", "branch", "questions", "answers", "effects"]
    rows_of = [
        [
            *(n[name] for name in title[:5]),
            json.dumps(n["questions"], default=str) if n["questions"] else "",
            n["answers"] or "",
            "; ".join(n["effects"]),
        ]
        for n in nodes
    ]
    _print(as_json, nodes, title, rows_of)


def _questions(value: Any) -> list[Any]:
    return [q for q in (value if isinstance(value, list | tuple) else [value]) if hasattr(q, "value")]


def _mermaid(nodes: list[dict[str, Any]]) -> Iterator[str]:
    names = {n["checkpoint"]: f"c{number}" for number, n in enumerate(nodes)}
    yield "flowchart TD"
    for n in nodes:
        lines = [f"step {n['step']} ({n['source']})", *(f"asks {q}" for q in n["questions"]), *n["effects"]]
        text = "<br/>".join(str(line).replace('"', "#quot;") for line in lines)
        yield f'    {names[n["checkpoint"]]}["{text}"]'
        if n["parent"] in names:
            label = f'|"branch {n["branch"][-8:]}"|' if n["branch"] else ""
            yield f"    {names[n['parent']]} -->{label} {names[n['checkpoint']]}"


class _Listing(click.Group):
    """A group that lists where no other verb is given: `claims THREAD` is `claims list THREAD`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in (*self.commands, "-h", "--help"):
            args = ["list", *args]
        return super().parse_args(ctx, args)


@click.group("claims", cls=_Listing)
def claims_command() -> None:
    """Who was given the right to execute on a thread: `claims THREAD`, `claims release THREAD`."""


@claims_command.command("list")
@click.argument("thread")
@_url
@_json
def claims_list(thread: str, database: str, as_json: bool) -> None:
    """The grants of a thread, oldest first, and what came of them."""
    with opened(database) as saver:
        _show_grants(as_json, saver.claims(thread))


def _show_grants(as_json: bool, grants: list[Any]) -> None:
    from remit.gate import owner_of

    data = [
        {
            "namespace": g.key.namespace,
            "checkpoint": g.key.checkpoint,
            "fence": g.fence,
            "state": g.state,
            "running": bool(g.running),
            "outcome": g.outcome,
            "owner": str(owner_of(g)),
            "since": _when(g.since),
            "lease_end": _when(g.lease_end),
            "settled": _when(g.settled),
            "answer_id": g.answer_id,
            "interrupts": list(g.interrupts),
        }
        for g in grants
    ]
    title = ["checkpoint", "fence", "state", "running", "outcome", "owner", "since", "lease_end"]
    _print(as_json, data, title, [[d[name] for name in title] for d in data])


@claims_command.command("release")
@click.argument("thread")
@_url
@_json
def release_command(thread: str, database: str, as_json: bool) -> None:
    """Free what runs hold on the thread, for runs that are known to be dead. Writes."""
    with opened(database, writes=True) as saver:
        freed = saver.release(thread)
    _show_grants(as_json, freed)
    click.echo(f"{len(freed)} freed", err=True)


@click.group("effects", cls=_Listing)
def effects_command() -> None:
    """What a thread fired: `effects THREAD`, `effects resolve THREAD ID --fired`."""


@effects_command.command("list")
@click.argument("thread")
@_url
@_json
@click.pass_context
def effects_list(context: click.Context, thread: str, database: str, as_json: bool) -> None:
    """The effects of a thread, oldest first. The status is 1 if one is in doubt."""
    with opened(database) as saver:
        if _show_effects(as_json, saver.effects(thread)):
            context.exit(1)


def _show_effects(as_json: bool, admissions: list[Any]) -> bool:
    """Prints them; is one in doubt?"""
    from remit.inspection import report

    data = []
    for a in admissions:
        told = report(a).model_dump(mode="json")
        if a.outcome == "superseded":
            told["state"] = "superseded"
        data.append(
            {**told, "fence": a.fence, "outcome": a.outcome, "branch": a.effect.branch, "checkpoint": a.checkpoint}
        )
    title = ["id", "name", "key", "fence", "state", "outcome", "owner", "since"]
    _print(as_json, data, title, [[d[name] for name in title] for d in data])
    return any(d["state"] == "in doubt" for d in data)


@effects_command.command("resolve")
@click.argument("thread")
@click.argument("id", type=int)
@click.option("--fired", "said", flag_value="fired", help="It has fired.")
@click.option("--not-fired", "said", flag_value="not-fired", help="It has not; it fires when its task runs again.")
@click.option("--result", metavar="JSON", help="What it returned, which its task is given.")
@_url
@_json
def resolve_command(thread: str, id: int, said: str | None, result: str | None, database: str, as_json: bool) -> None:
    """Say what became of an effect in doubt. Writes."""
    if said is None:
        raise click.UsageError("say --fired or --not-fired")
    try:
        value = json.loads(result) if result is not None else None
    except ValueError as e:
        raise click.UsageError(f"--result is no JSON: {e}") from e
    with opened(database, writes=True) as saver:
        _show_effects(as_json, [saver.resolve_effect(thread, id, fired=said == "fired", result=value)])


@click.command("doctor")
@_optional_url
@click.option(
    "--factory",
    metavar="MODULE:CALLABLE",
    help="Check a checkpointer of yours, on a thread of its own that is deleted again; see docs/guides/conform.md.",
)
@_json
@click.pass_context
def doctor_command(context: click.Context, database: str | None, factory: str | None, as_json: bool) -> None:
    """Is the database sound? Its tables, runs whose process is dead, effects in doubt. With --factory: does the
    checkpointer keep what a resume needs? The status is 1 if not."""
    if not database and not factory:
        raise click.UsageError("name a database, with --database or DATABASE_URL, or a checkpointer, with --factory")
    checks = [*(_checks_of_saver(factory) if factory else ()), *(_checks_of_database(database) if database else ())]
    data = [{"check": check, "sound": sound, "detail": detail} for check, sound, detail in checks]
    _print(as_json, data, ["check", "", "detail"], [[c, "sound" if s else "WRONG", d] for c, s, d in checks])
    if not all(sound for _, sound, _ in checks):
        context.exit(1)


def _checks_of_database(database: str) -> list[tuple[str, bool, str]]:
    """What was looked at in a database, is it sound, and why."""
    from remit.drivers import drive
    from remit.gate import owner_of
    from remit.inspection import report

    checks: list[tuple[str, bool, str]] = []
    with opened(database) as saver:
        store = saver._protocol.store
        threads: list[str] = []
        try:
            threads = drive(saver.inner, store.threads())
            checks.append(("checkpoints", True, f"{len(threads)} threads"))
        except Exception as e:
            checks.append(("checkpoints", False, str(e).splitlines()[0]))
        try:
            drive(saver.inner, store.setup())
            checks.append(("tables of REMIT", True, "there"))
        except Exception as e:
            checks.append(("tables of REMIT", False, str(e).splitlines()[0]))
            return checks
        dead, doubtful = [], []
        for thread in threads:
            dead += [thread for g in saver.claims(thread) if g.running and owner_of(g).is_dead]
            last = {a.effect.digest: a for a in saver.effects(thread)}
            doubtful += [f"{thread} ({a.id})" for a in last.values() if report(a).state == "in doubt"]
    told = f"of dead processes, on {', '.join(dead)}: the next run frees them" if dead else "none of a dead process"
    checks.append(("claims", True, told))
    checks.append(("effects", not doubtful, f"in doubt: {', '.join(doubtful)}" if doubtful else "none in doubt"))
    return checks


def _checks_of_saver(spec: str) -> list[tuple[str, bool, str]]:
    """The same of a checkpointer, for each way to call it."""
    import asyncio

    from remit import RemitError, RemitSaver
    from remit.conform.factory import Factory, FactoryError
    from remit.drivers import adrive, drive
    from remit.selfcheck import check

    checks: list[tuple[str, bool, str]] = []

    async def run() -> None:
        async with Factory.find(spec).open() as (made, modes):
            saver: Any = made.inner if isinstance(made, RemitSaver) else made
            name = type(saver).__name__
            for mode in modes:
                try:
                    if mode == "async":
                        await adrive(saver, check(name))
                    else:
                        drive(saver, check(name))
                except RemitError as e:
                    checks.append((f"{name}, {mode}", False, str(e).splitlines()[0]))
                else:
                    checks.append((f"{name}, {mode}", True, "keeps what a resume needs"))

    try:
        asyncio.run(run())
    except FactoryError as e:
        raise click.UsageError(str(e)) from e
    return checks


COMMANDS = (
    threads_command,
    show_command,
    explain_command,
    claims_command,
    effects_command,
    doctor_command,
)
