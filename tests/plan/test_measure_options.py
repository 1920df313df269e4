"""Each option of `mileage measure` is one row: what it sets exists, and a new row is enough for a key that exists."""

from __future__ import annotations

from pathlib import Path

import pytest

from mileage.plan.io_options import HOW_KEYS
from mileage.plan.measure_options import OPTIONS, Option, option_of
from mileage.plan.one_off_study import MeasurementRequest
from mileage.plan.study import Measure, StopRule
from tests.command import mileage

FIELDS = {"how": set(HOW_KEYS), "asked": set(MeasurementRequest.__struct_fields__), "": set()}


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.name)
def test_what_an_option_sets_is_a_field_and_its_path_a_key(option: Option) -> None:
    assert not option.sets or option.key in FIELDS[option.sets]
    first, _, last = option.path.partition(".")
    assert not first or first in Measure.__struct_fields__
    assert not last or last in StopRule.__struct_fields__
    assert option.help.endswith((".", ":")) or "null:" in option.help


def test_names_and_short_names_are_unique() -> None:
    for words in ([option.name for option in OPTIONS], [option.short for option in OPTIONS if option.short]):
        assert len(set(words)) == len(words)


@pytest.mark.parametrize(
    ("path", "option"),
    [
        ("stop.time", "for"),
        ("span", "size"),
        ("cache", "direct"),
        ("sync_every", "sync-every"),
        ("tree", "tree"),
    ],
)
def test_a_key_of_a_table_has_its_option(path: str, option: str) -> None:
    assert option_of(path) == option


@pytest.mark.parametrize(
    ("words", "refused"),
    [
        (("--for", "soon"), "mileage: --for: 'soon' is not a time"),
        (("--bytes", "1"), "mileage: --bytes: found 1 B, which the record of 4 KiB does not divide"),
        (("--size", "zzz"), "mileage: --size: 'zzz' is not a size"),
        (("--sync-every", "3", "--sync", "none"), "mileage: --sync-every: has no effect"),
        (("--reads", "101"), "mileage: --reads: found 101, expected a whole number from 0 to 100"),
        (
            ("--reads", "101", "--burst", "0"),
            "mileage: --reads: found 101, expected a whole number from 0 to 100\n  --burst: ",
        ),
        (("--vary", "reads=0,500"), "mileage: --reads: found 500"),
    ],
)
def test_a_refusal_has_the_option_that_was_given(
    tmp_path: Path, words: tuple[str, ...], refused: str
) -> None:
    (tmp_path / "data").mkdir()
    done = mileage("measure", "-t", "dir:data", *words, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(refused)
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


def test_what_is_asked_arrives_in_the_study(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    words = (
        "-w",
        "random_write",
        "--rate",
        "500",
        "--poisson",
        "--dsync",
        "--for",
        "2s",
        "--pin",
        "0",
        "-n",
        "3",
    )
    done = mileage("measure", "-t", "dir:data", *words, "--as-study", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for line in (
        "rate = 500",
        'spacing = "poisson"',
        "dsync = true",
        'time = "2s"',
        "pin = [0]",
        "repeat = 3",
    ):
        assert line in done.stdout
