"""The studies that ship with Mileage."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mileage.plan import builtin_names, builtin_text, parse_study


def test_the_studies_that_are_promised_are_there() -> None:
    assert set(builtin_names()) == {"compressibility", "degradation", "drives", "kernel", "sustained"}


@pytest.mark.parametrize("name", builtin_names())
def test_every_study_is_named_as_its_file_and_asks_a_question(name: str) -> None:
    study = parse_study(builtin_text(name), name)
    assert study.name == name
    assert study.question.endswith("?")


def test_degradation_reads_what_was_written_and_compares_with_a_sham() -> None:
    study = parse_study(builtin_text("degradation"), "degradation")
    assert study.stage[0].prepare == ("fill-large",)
    assert (study.cycles, study.sham, study.baseline, study.candidate) == (3, True, "before", "after")


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("degredation", "there is no built-in study 'degredation'; did you mean 'degradation'?"),
        ("../plan", f"there is no built-in study '../plan'; known: {', '.join(builtin_names())}"),
    ],
)
def test_other_names_are_refused(refusal: Callable[..., str], name: str, line: str) -> None:
    assert refusal(lambda: builtin_text(name)) == line
