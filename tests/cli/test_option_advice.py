"""The answer to an option that a command does not have: what means the same here, and nothing that does not exist."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click
import pytest

from mileage.cli import foreign_options, root
from mileage.cli.exit_status import _PURPOSES, _words
from mileage.dropin.flags import TOOLS
from mileage.plan.measure_options import OPTIONS


def refusal(words: str) -> str:
    """What `mileage WORDS` prints after its name."""
    with pytest.raises(click.ClickException) as refused:
        root.main(words.split(), prog_name="mileage", standalone_mode=False)
    return _words(refused.value)


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        (
            "drive run sas-15k --for 2s",
            "the length of a run is set by --passes here (Length of the run: bytes moved, in multiples of --size); "
            "measure has --for",
        ),
        ("drive run sas-15k --deph 2", "did you mean --depth?"),
        ("drive run sas-15k --numjobs 2", "the number of outstanding I/Os is set by --depth here"),
        (
            "export q --format markdown",
            "FORMAT is an argument: `mileage export FORMAT DIR`, with csv, parquet, json, markdown or raw",
        ),
        ("import x --format fio", "the layout of the files is set by --layout here"),
        ("report x --format json", "the form of the output is set by --json here"),
        ("doctor --bs 3", "doctor has --json, --repair"),
        ("run --depth 3", "--verbose; a study sets it in its file"),
        ("measure --frob", "`mileage measure --help` lists the options"),
        ("check / --seconds x", "--seconds: 'x' is not a number"),
        ("export xml q", "FORMAT: 'xml' is not one of 'csv', 'parquet', 'json', 'markdown'"),
    ],
)
def test_an_unknown_option_is_answered_by_what_means_it_here(typed: str, answer: str) -> None:
    assert answer in refusal(typed)


def commands(group: click.Group, path: str) -> Iterator[tuple[str, click.Command]]:
    for name in group.list_commands(click.Context(group)):
        found = group.get_command(click.Context(group), name)
        assert found is not None
        if isinstance(found, click.Group):
            yield from commands(found, f"{path} {name}")
        elif name not in TOOLS:
            yield f"{path} {name}".strip(), found


def test_no_answer_names_an_option_that_the_command_lacks() -> None:
    # One word of another tool for each option that it may stand for.
    foreign = {here: word for word, here in foreign_options._WORDS.items()}.values()
    words = {word for words in _PURPOSES.values() for word in words} | set(foreign)
    of_measure = {option.name for option in OPTIONS}
    for path, command in commands(root, ""):
        own = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
        for word in sorted(words):
            if path == "measure" or f"--{word}" in own:
                continue
            answer = refusal(f"{path} --{word}")
            here, _, elsewhere = answer.removeprefix(f"no such option: --{word}").partition("measure has ")
            assert set(re.findall(r"--[a-z-]+", here)) <= own | {"--help"}, answer
            assert {name.lstrip("-") for name in re.findall(r"--[a-z-]+", elsewhere)} <= of_measure, answer
