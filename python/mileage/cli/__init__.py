"""The command line: one file per command, loaded when it is called, so that `--help` stays fast.

The exit status is explained in `cli/exit_status.py`.
"""

from __future__ import annotations

import os
import signal
import sys
from importlib import import_module

import click

_DROPIN = "mileage.cli.dropin"
"""Module of every drop-in command."""
COMMANDS = {
    "check": ("mileage.cli.check", "One minute: what a drive is, its health, its speed, its class."),
    "measure": ("mileage.cli.measure", "Measure one workload, or scan a setting, without a study file."),
    "run": ("mileage.cli.run", "Run a study, or resume an unfinished one."),
    "sweep": ("mileage.cli.sweep", "Run a study for each combination of its factors, on virtual drives."),
    "plan": ("mileage.cli.plan", "Show what a study would do, before anything is touched."),
    "new": ("mileage.cli.new", "Write a commented study file to begin with."),
    "list": ("mileage.cli.listing", "List studies, workloads or drives."),
    "report": ("mileage.cli.report", "Write the report of a study folder again."),
    "export": ("mileage.cli.export", "Write all tables of a study as CSV, Parquet, JSON or Markdown."),
    "compare": ("mileage.cli.compare", "Compare two stages or two studies; rank several."),
    "merge": ("mileage.cli.merge", "Join the folders of one study from several boots or machines."),
    "import": ("mileage.cli.import_results", "Make a study of the result files of other tools."),
    "query": ("mileage.cli.query", "Run SQL over the tables of many studies."),
    "selftest": ("mileage.cli.selftest", "Measure the false alarms, coverage and power of the judgement."),
    "drive": ("mileage.cli.drive", "Virtual drives: data sheet, one workload, theory against simulation."),
    "powercut": ("mileage.cli.powercut", "Power cuts under real file systems and applications."),
    "endurance": (
        "mileage.cli.endurance",
        "How long a drive lasts, how fast it wears, which drive fits a need.",
    ),
    "doctor": ("mileage.cli.doctor", "Report what on this machine would spoil a measurement."),
    "fio": (_DROPIN, "fio's job files and command lines, with fio's output."),
    "iozone": (_DROPIN, "IOzone's command line: its tests and its tables."),
    "ior": (_DROPIN, "IOR's command line: tasks write blocks and read them back."),
    "mdtest": (_DROPIN, "mdtest's command line: metadata operations of several tasks."),
    "metarates": (_DROPIN, "metarates' command line: create, stat and utime."),
    "mpirun": (_DROPIN, "mpirun in front of ior, mdtest or metarates, on this machine."),
    "iometer": (_DROPIN, "IOMeter's configuration files (.icf)."),
    "hdparm": (_DROPIN, "hdparm's timings of a drive, -t and -T."),
    "dd": (_DROPIN, "dd's command line: a sequential write or read."),
}
"""For each command the module that holds it under its own name, and one line of help."""

_RENAMED = {"save-as": "export"}
"""Earlier spelling of each renamed command: accepted for one version, with one line on standard error."""


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = import_module(COMMANDS[cmd_name][0])
        command: click.Command = (
            module.dropin_command(cmd_name) if module.__name__ == _DROPIN else module.command
        )
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and (name := _RENAMED.get(args[0])) is not None:
            click.echo(f"{args[0]} is now called {name}", err=True)
            args = [name, *args[1:]]
        if args and args[0] not in COMMANDS and (dropin := _dropin_of(args[0])) is not None:
            args = [dropin, *args[1:]]
        if args and not args[0].startswith("-") and args[0] not in COMMANDS:
            from mileage.errors import closest

            near = closest(args[0], COMMANDS)
            hint = f"; did you mean {near}?" if near else f"; expected one of {', '.join(COMMANDS)}"
            raise click.UsageError(f"{args[0]} is not a command of this version{hint}")
        return super().resolve_command(ctx, args)


def _dropin_of(word: str) -> str | None:
    """The drop-in command of a program as scripts type it: "./IOzone" is iozone."""
    from mileage.dropin.flags import TOOLS

    name = word.rpartition("/")[2].lower()
    return name if name in TOOLS else None


def _print_version(ctx: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        from mileage import __version__

        click.echo(f"mileage {__version__}")
        ctx.exit()


@click.command(
    cls=_Commands, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_print_version,
    help="Show the version.",
)
@click.pass_context
def root(ctx: click.Context) -> None:
    """Is this storage slower than it was, than that other one, than its data
    sheet? By how much, how sure are we, and why?

    \b
    mileage run                              the default study, on a virtual drive
    mileage run degradation --target dir:D   the same study in a directory
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def main() -> None:
    """Run the command line and end the process with the command's exit status."""
    from mileage.cli.exit_status import status_of
    from mileage.terminal import guard_streams

    guard_streams()
    sys.exit(status_of(_as_asked))


def _as_asked() -> int:
    """Do the command, alone or as one rank of several."""
    from mileage.cli.exit_status import status_of
    from mileage.cli.launcher import by_ranks, launched

    if level := os.environ.get("MILEAGE_LOG"):
        from mileage.log import start_log

        start_log(level)
    variable = launched(os.environ)
    if variable is None:
        return _command()
    return by_ranks(variable, sys.argv[1:], lambda: status_of(_command))


def _command() -> int:
    _let_interrupts_through()
    status = root.main(complete_var="_MILEAGE_COMPLETE", standalone_mode=False)
    return status if isinstance(status, int) else 0


def _let_interrupts_through() -> None:
    """From here on Ctrl-C is a KeyboardInterrupt: `mileage.__main__` lets it end the process while modules load."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)
