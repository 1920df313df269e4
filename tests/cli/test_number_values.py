"""A number of any size as the value of any option is taken, or refused in a sentence with status 2."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from mileage.cli import COMMANDS, root
from mileage.cli.dropin import DropinCommand
from tests.command import mileage

pytestmark = pytest.mark.timeout(120)

VALUES = {
    "400 digits": "1" + "0" * 399,
    "5000 digits": "9" * 5000,
    "above 64 bits": str(2**64),
    "below 0": "-1",
    "nan": "nan",
    "infinity": "inf",
    "1e308": "1e308",
    "1e30 units": "1e30GiB",
}
ARGUMENTS = {
    ("measure",): "-t virtual:plain-64gib -w random_read --size 1MiB --operations 10",
    ("drive", "run"): "plain-64gib -w random_read --size 1MiB",
    ("endurance", "choose"): "--capacity 1TB --writes 1DWPD --years 5",
    ("endurance", "convert"): "--capacity 1TB --tbw 100TB",
    ("endurance", "life"): "--capacity 1TB --tbw 100TB --writes 100GB/day",
}
"""What a command needs so that its option is looked at."""


def commands(
    group: click.Command, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command that click reads, with its path."""
    if isinstance(group, click.Group):
        context = click.Context(group)
        for name in group.list_commands(context):
            if (found := group.get_command(context, name)) is not None:
                yield from commands(found, (*path, name))
    elif not isinstance(group, DropinCommand):
        yield path, group


def numbers() -> list[tuple[tuple[str, ...], str]]:
    """Each option of a command whose value is a number or a size."""
    found = []
    for path, command in commands(root):
        for option in command.params:
            if not isinstance(option, click.Option) or option.is_flag:
                continue
            if isinstance(option.type, (click.types.IntParamType, click.types.FloatParamType)) or (
                option.metavar in ("SIZE", "RATE", "N", "PERCENT", "SECONDS", "X", "TIME", "AMOUNT")
            ):
                found.append((path, option.opts[0]))
    return found


def test_every_command_is_walked_through() -> None:
    assert {path[0] for path, _ in commands(root)} > {"run", "drive", "endurance"}
    assert len(COMMANDS) > 20
    assert len(numbers()) > 60


@pytest.mark.sampled(150)
@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
@pytest.mark.parametrize(
    ("path", "option"), numbers(), ids=[" ".join((*path, option)) for path, option in numbers()]
)
def test_a_number_of_any_size_is_taken_or_refused(
    path: tuple[str, ...], option: str, value: str, tmp_path: Path
) -> None:
    words = [*path, *ARGUMENTS.get(path, "").split()]
    if path[:2] == ("drive", "control"):
        words = ["drive", "control", "nowhere", *path[2:], *(["stall"] if path[2] == "fault" else [])]
    done = mileage(*words, f"{option}={value}" if option[1] == "-" else option + value, cwd=tmp_path)
    assert done.returncode in (0, 2), done.stderr
    assert "Traceback" not in done.stderr
    assert "internal error" not in done.stderr
    if done.returncode:
        assert done.stderr.count("\n") == 1, done.stderr
        assert len(done.stderr) < 6000
