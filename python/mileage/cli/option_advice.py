"""Advice on an option that a command does not have: the option or argument of that command with its meaning.

Scope: an option that is typed with one letter too many; an argument of the same name; another tool's word; an option
for the same purpose. Otherwise the options of the command, where they fit into a line.
What it refuses: to suggest an option that is only spelled alike and means something else.
"""

from __future__ import annotations

import difflib
import re
from typing import Final

import click

_PURPOSES: Final = {
    "the length of a run": ("for", "seconds", "operations", "bytes", "passes"),
    "the number of outstanding I/Os": ("depth", "threads"),
    "the place of the result": ("out", "save"),
    "the layout of the files": ("format", "layout"),
    "the form of the output": ("format", "json"),
}
"""Options for one purpose, without their dashes."""
_LISTED_MAX: Final = 16
"""Options that fit into the line of a refusal."""
_STUDY: Final = "study"
"""Name of the argument of commands that take a study file."""


def unknown_option(error: click.NoSuchOption) -> str:
    """Say which option does not exist, and what to give instead."""
    advice = f"no such option: {error.option_name}"
    if error.ctx is None:
        return advice
    near = difflib.get_close_matches(error.option_name, error.possibilities or (), cutoff=0.84)
    parts = [f"did you mean {near[0]}?"] if near else _advice(error.option_name.lstrip("-"), error.ctx)
    return "; ".join([advice, *parts])


def _advice(word: str, context: click.Context) -> list[str]:
    """What has the meaning of an option here, and which command has the option itself."""
    path, command = context.command_path, context.command
    for argument in command.params:
        if isinstance(argument, click.Argument) and argument.make_metavar(context).lower() == word:
            return [_as_argument(argument, context)]
    own = {name.lstrip("-") for option in command.params for name in option.opts if name.startswith("--")}
    return [
        *(_same_purpose(word, own, command) or [_listing(own, path)]),
        *_elsewhere(word, path, takes_study=any(option.name == _STUDY for option in command.params)),
    ]


def _as_argument(argument: click.Argument, context: click.Context) -> str:
    usage = " ".join(context.command.collect_usage_pieces(context)[1:])
    choices = argument.type.choices if isinstance(argument.type, click.Choice) else ()
    values = f", with {', '.join(choices[:-1])} or {choices[-1]}" if choices else ""
    return f"{argument.make_metavar(context)} is an argument: `{context.command_path} {usage}`{values}"


def _same_purpose(word: str, own: set[str], command: click.Command) -> list[str]:
    """The option of a command for the purpose of another tool's word, or of another command's option."""
    from mileage.cli.foreign_options import name_here

    here = re.findall(r"--([a-z-]+)", name_here(word) or "")
    for known in ({word}, set(here)):
        if found := [name for name in here if name in own and name in known]:
            return [f"here it is --{found[0]}"]
        for purpose, words in _PURPOSES.items():
            if known & set(words) and (found := [name for name in words if name in own]):
                names = " or ".join(f"--{name}" for name in found)
                return [f"{purpose} is set by {names} here{_meaning(found, command)}"]
    return []


def _meaning(names: list[str], command: click.Command) -> str:
    """What the only one of `names` sets, by its help; nothing of several."""
    of = [
        option
        for option in command.params
        if isinstance(option, click.Option) and f"--{names[0]}" in option.opts
    ]
    return f" ({(of[0].help or '').rstrip('.')})" if len(names) == 1 and of and of[0].help else ""


def _listing(own: set[str], path: str) -> str:
    if not 0 < len(own) <= _LISTED_MAX:
        return f"`{path} --help` lists the options"
    return f"{path.partition(' ')[2]} has {', '.join(f'--{name}' for name in sorted(own))}"


def _elsewhere(word: str, path: str, *, takes_study: bool) -> list[str]:
    """Where an option of `mileage measure` is set for other commands."""
    from mileage.plan.measure_options import OPTIONS

    if path.endswith(" measure") or word not in {option.name for option in OPTIONS if option.sets}:
        return []
    return ["a study sets it in its file"] if takes_study else [f"measure has --{word}"]
