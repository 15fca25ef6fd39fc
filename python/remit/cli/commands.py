"""The click group and its commands; each command's work lives in a room of its own and is imported when it is asked
for, so that `remit --help` is quick and a command needs only its own packages."""

from __future__ import annotations

import sys
from pathlib import Path

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
