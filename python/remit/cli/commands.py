"""The click group and its commands; each command's work lives in a room of its own and is imported when it is asked
for, so that `remit --help` is quick and a command needs only its own packages."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Literal

import click

from remit.cli.threads import COMMANDS


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="langgraph-checkpoint-remit")
def group() -> None:
    """REMIT: a LangGraph checkpointer wrapper that makes resume mean resume."""


for _command in COMMANDS:
    group.add_command(_command)


@group.command("demo")
@click.option("--json", "as_json", is_flag=True, help="Print the same as JSON on stdout.")
@click.option(
    "--keep",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Keep the effect ledger (SQLite) as FILE and the checkpoints beside it as FILE.stock and FILE.remit.",
)
def demo_command(as_json: bool, keep: Path | None) -> None:
    """Run a refund-approval app on the stock saver and on RemitSaver, side by side.

    Everything happens on SQLite in a temporary directory: no network, no model. The exit status is 1 if a promise
    that REMIT makes is broken on its side.
    """
    from remit.cli import demo
    from remit.cli.demo import report

    demo.silence_tracing()
    try:
        rows = demo.run_all(keep=keep)
    except demo.KeepError as error:
        raise click.BadParameter(str(error), param_hint="'--keep'") from None
    if as_json:
        click.echo(report.as_json(rows))
    elif sys.stdout.isatty():
        report.print_rich(rows)
    else:
        click.echo(report.as_text(rows))
    if keep is not None:
        click.echo(f"kept {keep} (effects), {keep}.stock and {keep}.remit (checkpoints)", err=True)
    sys.exit(demo.exit_status(rows))


@group.command("conform")
@click.option(
    "--factory",
    "spec",
    required=True,
    metavar="MODULE:CALLABLE",
    help="Gives a checkpointer on one and the same store at each call; see docs/guides/conform.md.",
)
@click.option("--only", multiple=True, metavar="ID", help="Run only this case or promise. May be repeated.")
@click.option("--known", multiple=True, metavar="ID", help="A violation that is known; it must still be there.")
@click.option(
    "--mode",
    type=click.Choice(["sync", "async"]),
    help="How the savers are called; each way that they have if not given.",
)
@click.option(
    "--processes/--no-processes",
    default=None,
    help="Whether other processes see the store; found out if not given. With --processes it is an error if not.",
)
@click.option("--limit", "limit_s", type=float, default=180, show_default=True, help="Seconds a case may take.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON on stdout, and not the table.")
@click.option("--output", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False), help="Write the JSON there.")
def conform_command(
    spec: str,
    only: tuple[str, ...],
    known: tuple[str, ...],
    mode: Literal["sync", "async"] | None,
    processes: bool | None,
    limit_s: float,
    as_json: bool,
    output: Path | None,
) -> None:
    """Hold the contract against a checkpointer: your saver, your database.

    Each case plays a small graph on threads of its own, which are deleted afterwards, and counts effects in a ledger
    that is not the checkpointer's. The exit status is 1 if a case is violated that is not known, or if a known one holds.
    """
    from remit.cli.demo import silence_tracing
    from remit.conform.cases import CASES
    from remit.conform.factory import FactoryError
    from remit.conform.runner import leave, run

    silence_tracing()
    if set(known) - set(CASES):
        raise click.BadParameter(
            f"there is no case {', '.join(sorted(set(known) - set(CASES)))}", param_hint="'--known'"
        )
    try:
        report = run(spec, only=only, mode=mode, processes=processes, limit_s=limit_s)
    except FactoryError as error:
        raise click.UsageError(str(error)) from None
    click.echo(report.as_json() if as_json else report.as_text())
    if output is not None:
        output.write_text(report.as_json() + "\n", encoding="utf-8")
    fixed = sorted(set(known) & {finding.case.id for finding in report.findings if finding.verdict == "holds"})
    if fixed:
        click.echo(f"error: known violations that hold now: {', '.join(fixed)}", err=True)
    status = int(bool(fixed or set(report.violated()) - set(known)))
    if report.hung:
        leave(status)
    sys.exit(status)
