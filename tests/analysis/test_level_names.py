"""Levels that are numbers of bytes are read as sizes; all others keep their names."""

import re

import msgspec
import pytest

from mileage.analysis.device_class import device_classes
from mileage.analysis.level_names import level_names, size_name
from mileage.app.answer import levels_answer
from mileage.plan import Plan, parse_study
from mileage.plan.resolver import resolve
from tests.plan.conftest import SMALL, directory_facts, drive_facts

FACTOR = """
[factor.spare]
kind = "profile"
key = "KEY"
levels = LEVELS
"""


def planned(key: str, levels: str) -> Plan:
    """SMALL without its stages, as a comparison of levels."""
    text = SMALL.replace("sham = true\n", "").replace('baseline = "before"', 'arms = "spare"')
    factor = FACTOR.replace("KEY", key).replace("LEVELS", levels)
    study = parse_study(text.replace("[compare]", f"{factor}[compare]"), "spare.toml")
    drives = {f"virtual:plain,{key}={number}": drive_facts() for number in re.findall(r"\d+", levels)}
    return resolve(study, drive_facts(), others=drives)


@pytest.mark.parametrize(
    ("key", "levels", "expected"),
    [
        (
            "capacity_bytes",
            "[61999996928, 64000000000]",
            {"61999996928": "62 GB", "64000000000": "64 GB"},
        ),
        ("capacity_bytes", "[61999996928, 61999996927]", {}),
        ("capacity_bytes", "{ small = 61999996928, large = 64000000000 }", {}),
        ("pages_per_block", "[128, 256]", {}),
    ],
)
def test_levels_of_bytes_have_units(key: str, levels: str, expected: dict[str, str]) -> None:
    assert level_names(planned(key, levels)) == expected


def test_the_arms_of_the_sentence_have_them_too() -> None:
    plan = planned("capacity_bytes", "[61999996928, 64000000000]")
    found = levels_answer(plan, [], None, ("61999996928", "64000000000"))
    assert (found.baseline, found.candidate) == ("spare 62 GB", "spare 64 GB")


def test_a_size_has_four_digits_at_most() -> None:
    assert [size_name(count) for count in (0, 999, 4096, 10**12)] == ["0 B", "999 B", "4.096 kB", "1 TB"]


def test_a_loop_device_is_called_one() -> None:
    study = parse_study(SMALL, "small.toml")
    plan = resolve(study, directory_facts())
    looped = msgspec.structs.replace(plan, study=msgspec.structs.replace(study, target="loop:1GiB"))
    assert device_classes(looped) == {"": "loop device, class of the device not known"}
