"""The studies that ship with Mileage."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mileage.plan import builtin_names, builtin_text, parse_study


def test_the_studies_that_are_promised_are_there() -> None:
    assert set(builtin_names()) == {
        "anandtech-2009",
        "compressibility",
        "degradation",
        "drive-or-host",
        "drives",
        "kernel",
        "qmul-2017",
        "qmul-build-2017",
        "sandforce-2011",
        "sustained",
        "x25e-2010",
    }


@pytest.mark.parametrize("name", builtin_names())
def test_every_study_is_named_as_its_file_and_asks_a_question(name: str) -> None:
    study = parse_study(builtin_text(name), name)
    assert study.name == name
    assert study.question.endswith("?")


def test_degradation_reads_what_was_written_and_compares_with_a_sham() -> None:
    study = parse_study(builtin_text("degradation"), "degradation")
    assert study.stage[0].prepare == ("fill-large",)
    assert (study.cycles, study.sham, study.baseline, study.candidate) == (3, True, "before", "after")


def test_degradation_on_a_directory_tortures_as_ior_did_and_measures_names() -> None:
    study = parse_study(builtin_text("degradation", "dir:/scratch"), "degradation")
    assert study.name == "degradation"
    assert study.stage_named("torture").torture == ("ior-small", "ior-large")
    small, large = study.torture["ior-small"], study.torture["ior-large"]
    assert (small.tasks, small.record, small.rounds, small.read_back) == (4, "4KiB", 10, True)
    assert (large.tasks, large.record, large.rounds, large.read_back) == (4, "256KiB", 10, True)
    assert study.measure["metadata"].threads == (1, 2, 4)
    drive = parse_study(builtin_text("degradation", "virtual:plain-64gib"), "degradation")
    assert "metadata" not in drive.measure
    assert (study.question, study.compare, study.cycles) == (drive.question, drive.compare, drive.cycles)
    assert {name: study.measure[name] for name in drive.measure} == drive.measure


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("degredation", "there is no built-in study 'degredation'; did you mean 'degradation'?"),
        ("../plan", f"there is no built-in study '../plan'; known: {', '.join(builtin_names())}"),
    ],
)
def test_other_names_are_refused(refusal: Callable[..., str], name: str, line: str) -> None:
    assert refusal(lambda: builtin_text(name)) == line
