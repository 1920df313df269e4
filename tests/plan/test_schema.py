"""The schema passes every built-in study, and refuses what is no study, as a validator of its own sees it."""

from __future__ import annotations

import tomllib

import pytest

from mileage.plan import builtin_names, builtin_text, parse_study
from mileage.plan.study import study_schema
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
