"""Every option that a user can give, from the tables of the commands themselves.

Scope: arguments and options of the click commands; flags of the drop-in tools, which of fio are keys of job files too;
directives of IOR; keys of study files; kinds of targets. An option is (group, spelling): ("measure", "--log").
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import click

from mileage.cli import root
from mileage.dropin.flags import tools
from mileage.model.target_kind import TARGET_KINDS
from mileage.plan.ior_options import IorOptions
from mileage.plan.study import study_schema


@dataclasses.dataclass(frozen=True, order=True)
class Option:
    group: str
    """The command with its words, or "study", "target", "ior -O"."""
    spelling: str
    is_free: bool
    """Whether it takes a text of the user's own, and not one of few words or a number."""

    @property
    def name(self) -> str:
        return f"{self.group} {self.spelling}"


def options() -> list[Option]:
    """All of them, without doubles."""
    found = [*_click_options(), *_flags(), *_directives(), *_study_keys(), *_targets()]
    return sorted(set(found))


def _click_options() -> Iterator[Option]:
    for words, command in _commands((), root):
        for parameter in command.params:
            if not isinstance(parameter, click.Option):
                yield Option(" ".join(words), f"<{parameter.name}>", _is_free(parameter))
            elif words:
                yield Option(" ".join(words), parameter.opts[0], _is_free(parameter))


def _commands(
    words: tuple[str, ...], command: click.Command
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    yield words, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from _commands((*words, name), found)


def _is_free(parameter: click.Parameter) -> bool:
    if getattr(parameter, "is_flag", False):
        return False
    kinds = parameter.type.types if isinstance(parameter.type, click.Tuple) else (parameter.type,)
    return any(isinstance(kind, click.Path) or kind is click.STRING for kind in kinds)


def _flags() -> Iterator[Option]:
    for tool in tools():
        for flag in tool.all_flags:
            yield Option(tool.name, flag.spelling, bool(flag.value) and not flag.choices)
        if tool.operands:
            yield Option(tool.name, "<words>", not tool.starts)


def _directives() -> Iterator[Option]:
    for field in dataclasses.fields(IorOptions):
        yield Option("ior -O", field.name, field.type in (str, "str"))


def _study_keys() -> Iterator[Option]:
    """The keys of each table of a study file, by the name of the table's type."""
    for table, schema in study_schema()["$defs"].items():
        for key, value in schema.get("properties", {}).items():
            yield Option("study", f"{table}.{key}", "'string'" in repr(value))


def _targets() -> Iterator[Option]:
    for scheme in TARGET_KINDS:
        yield Option("target", f"{scheme}:", is_free=True)
