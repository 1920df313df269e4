"""A drop-in command line as a command: its words go to the flags of its tool, which also make help and completion."""

from __future__ import annotations

import os
import signal
from importlib import import_module
from typing import TYPE_CHECKING, Final

import click
from click.shell_completion import CompletionItem

from mileage.cli.launcher import launched
from mileage.errors import Interrupted, Refused, RunFailed

if TYPE_CHECKING:
    from mileage.dropin.flags import Tool

_NOT_THERE: Final = ("not-found",)
"""Kinds of refusals where the tool itself would fail: a file that it cannot open."""


class DropinCommand(click.Command):
    """Takes every word as it is; click reads none of them."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.params["words"] = tuple(args)
        ctx.args = []
        return []

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        from mileage.dropin.flags import complete, tool_named

        return [
            CompletionItem(word, help=text) for word, text in complete(tool_named(str(self.name)), incomplete)
        ]


def dropin_command(name: str) -> DropinCommand:
    """Build the click command of a drop-in tool (`iozone`, `dd`, ...) from its flag table."""

    def done(words: tuple[str, ...]) -> None:
        from mileage.dropin.flags import read, tool_named
        from mileage.dropin.tool_statuses import ToolRefusal

        tool = tool_named(name)
        if tool.single_dash:
            words = tuple(
                f"-{word}" if len(word) > 2 and word[0] == "-" != word[1] else word for word in words
            )
        try:
            status = _answered(tool, words)
            if status is None:
                given = read(tool, words)
                status = (
                    _help_of(tool) if given.has("-h") else import_module(f"mileage.dropin.{name}").run(given)
                )
        except ToolRefusal as fault:
            fault.exit_status = fault.tool_status
            raise
        except Refused as refused:
            if any(refusal.code in _NOT_THERE for refusal in refused.refusals):
                refused.exit_status = tool.statuses.missing
            raise
        except (Interrupted, KeyboardInterrupt) as stopped:
            _end_as(tool, stopped.number if isinstance(stopped, Interrupted) else signal.SIGINT)
            raise
        except RunFailed as failure:
            failure.exit_status = tool.statuses.failure
            raise
        if status:
            raise click.exceptions.Exit(status)

    return DropinCommand(name, callback=done, add_help_option=False)


def _end_as(tool: Tool, number: int) -> None:
    """End by a signal as the tool does, once everything is undone and printed; return where that is not known."""
    if not number:
        return
    if tool.statuses.dies_by(number):
        if launched(os.environ) is not None:
            # A rank must take leave of the others first: it ends with the status that a shell has for the signal.
            raise click.exceptions.Exit(128 + number)
        from mileage.execute.signals import end_by_signal

        end_by_signal(number)
    if tool.statuses.ends_with is not None:
        click.echo(tool.statuses.last_words, nl=False)
        raise click.exceptions.Exit(tool.statuses.ends_with)


def _answered(tool: Tool, words: tuple[str, ...]) -> int | None:
    """Print what `--help` or `--manual` asks for; the exit status, or None where neither is there."""
    from mileage.dropin.flags import program_at

    own = words[: program_at(tool, words)] if tool.starts else words
    if "--help" in own:
        return _help_of(tool)
    if "--manual" in own:
        from mileage import __version__
        from mileage.dropin.pages import manual

        click.echo(manual(tool, __version__), nl=False)
        return 0
    return None


def _help_of(tool: Tool) -> int:
    from mileage.dropin.pages import print_help

    return print_help(tool)
