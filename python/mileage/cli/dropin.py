"""A drop-in command line as a command: its words go to the flags of its tool, which also make help and completion."""

from __future__ import annotations

from importlib import import_module
from typing import Final

import click
from click.shell_completion import CompletionItem

from mileage.errors import Interrupted, Refused, RunFailed

_NOT_THERE: Final = ("not-found",)
"""Kinds of refusals where the tool itself would fail: a file that it cannot open."""


class DropinCommand(click.Command):
    """Takes every word as it is; click reads none of them."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.params["words"] = tuple(args)
        ctx.args = []
        return []

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        from mileage.dropin.dropin_list import tool_named
        from mileage.dropin.flags import complete

        return [
            CompletionItem(word, help=text) for word, text in complete(tool_named(str(self.name)), incomplete)
        ]


def dropin_command(name: str) -> DropinCommand:
    """Build the click command of a drop-in tool (`iozone`, `dd`, ...) from its flag table."""

    def done(words: tuple[str, ...]) -> None:
        from mileage.dropin.dropin_list import tool_named
        from mileage.dropin.flags import read

        tool = tool_named(name)
        if tool.single_dash:
            words = tuple(
                f"-{word}" if len(word) > 2 and word[0] == "-" != word[1] else word for word in words
            )
        if "--help" in words or (words == ("-h",) and tool.find("-h") is not None):
            from mileage.dropin.pages import help_text

            click.echo(help_text(tool), nl=False)
            return
        if "--manual" in words:
            from mileage import __version__
            from mileage.dropin.pages import manual

            click.echo(manual(tool, __version__), nl=False)
            return
        try:
            status = import_module(f"mileage.dropin.{name}").run(read(tool, words))
        except Refused as refused:
            if any(refusal.code in _NOT_THERE for refusal in refused.refusals):
                refused.exit_status = tool.missing_status
            raise
        except RunFailed as failure:
            if not isinstance(failure, Interrupted):
                failure.exit_status = tool.failure_status
            raise
        if status:
            raise click.exceptions.Exit(status)

    return DropinCommand(name, callback=done, add_help_option=False)
