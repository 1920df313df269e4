"""The schema passes every built-in study, and refuses what is no study, as a validator of its own sees it."""

from __future__ import annotations

import tomllib

import msgspec
import pytest

from mileage.plan import builtin_names, builtin_text, parse_study
from mileage.plan.faults import BrokenStudy
from mileage.plan.study import study_schema
from mileage.plan.study_checks import check_study
from tests.plan.test_factors import TWO_DRIVES

jsonschema = pytest.importorskip("jsonschema")


@pytest.mark.parametrize("name", builtin_names())
def test_the_built_in_studies_pass(name: str) -> None:
    jsonschema.Draft202012Validator(study_schema()).validate(tomllib.loads(builtin_text(name)))


@pytest.mark.parametrize(
    ("found", "changed"),
    [
        ("seed = 7", 'seed = "seven"'),
        ("seed = 7", "sede = 7"),
        ("levels = [1, 32]", "levles = [1, 32]"),
        ("repeat = 4", "repeat = 4.5"),
        ("repeat = 4", "repeat = 0"),
        ("seed = 7", "seed = -1"),
        ('name = "two"\n', ""),
    ],
)
def test_what_is_no_study_does_not_pass(found: str, changed: str) -> None:
    validator = jsonschema.Draft202012Validator(study_schema())
    validator.validate(tomllib.loads(TWO_DRIVES))
    with pytest.raises(jsonschema.ValidationError):
        validator.validate(tomllib.loads(TWO_DRIVES.replace(found, changed, 1)))


def test_the_target_may_be_left_to_a_factor() -> None:
    text = TWO_DRIVES.replace('target = "virtual:plain"\n', "", 1)
    assert parse_study(text, "two.toml") == parse_study(TWO_DRIVES, "two.toml")
    jsonschema.Draft202012Validator(study_schema()).validate(tomllib.loads(text))


@pytest.mark.parametrize(
    ("key", "low", "high"),
    [
        ("threads", 1, 1024),
        ("reads", 0, 100),
        ("generation", 0, 2**32 - 1),
        ("repeat", 1, 10_000),
        ("rate", 1, 10**9),
        ("processes", 1, 1024),
        ("sync_every", 0, 2**63 - 1),
    ],
)
def test_a_range_of_the_schema_is_the_range_that_is_checked(key: str, low: int, high: int) -> None:
    validator = jsonschema.Draft202012Validator(study_schema())
    for value in (low - 1, low, high, high + 1):
        text = TWO_DRIVES.replace("repeat = 4", f"{key} = {value}", 1)
        expected = low <= value <= high
        assert validator.is_valid(tomllib.loads(text)) == expected, value
        if expected:
            parse_study(text, "two.toml")
            continue
        with pytest.raises(BrokenStudy) as broken:
            parse_study(text, "two.toml")
        (fault,) = broken.value.refusals
        assert fault.where.endswith(f".{key}")
        assert (fault.found, fault.code) == (str(value), "out-of-range")
        both = f"a whole number from {low} to {high}"
        assert fault.expected == (f"a whole number, {low} or more" if value < low and high > 2**62 else both)


def test_a_study_that_python_made_is_checked_as_one_from_a_file() -> None:
    study = parse_study(TWO_DRIVES, "two.toml")
    measures = {
        name: msgspec.structs.replace(table, threads=(0, 2000)) for name, table in study.measure.items()
    }
    with pytest.raises(BrokenStudy) as broken:
        check_study(msgspec.structs.replace(study, measure=measures, cycles=0), "made")
    assert [(fault.where, fault.found) for fault in broken.value.refusals] == [
        ("measure.iops.threads[0]", "0"),
        ("measure.iops.threads[1]", "2000"),
        ("cycles", "0"),
    ]
