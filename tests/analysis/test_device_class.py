"""Classes of devices: what must stand next to rates that are compared."""

from __future__ import annotations

import re

import msgspec
import pytest

from mileage.analysis.device_class import device_classes, short_classes
from mileage.plan import Plan, parse_study
from mileage.plan.resolver import resolve
from tests.plan.conftest import SMALL, directory_facts, drive_facts


def planned(target: str) -> Plan:
    text = re.sub(r'target = "[^"]*"', f'target = "{target}"', SMALL)
    facts = drive_facts() if target.startswith("virtual:") else directory_facts()
    return resolve(parse_study(text, "small.toml"), facts)


@pytest.mark.parametrize(
    ("target", "short", "words"),
    [
        (
            "virtual:intel-x25e-64gb",
            "SLC",
            "virtual flash, single-level cells (SLC), rated for 100,000 erases of a block",
        ),
        ("virtual:plain-64gib", "flash", "virtual flash, kind of cell not stated"),
        ("virtual:sata-7k2", "disk", "virtual disk"),
        ("virtual:seagate-archive-8tb", "SMR disk", "virtual SMR disk"),
        ("virtual:optane-16gb", "XPoint", "virtual XPoint"),
        ("virtual:raid10(6*intel-x25e-64gb)", "array of 6 x SLC", "virtual array of 6 x SLC"),
        ("virtual:raid1(intel-x25e-64gb,sata-7k2)", "array of 1 x SLC and 1 x disk", ""),
        ("dir:/scratch", "", "directory, class of the device not known"),
    ],
)
def test_every_kind_of_device_has_its_class(target: str, short: str, words: str) -> None:
    plan = planned(target)
    assert short_classes(plan) == {"": short}
    assert not words or device_classes(plan) == {"": words}


def test_a_directory_in_memory_is_no_device() -> None:
    plan = planned("dir:/scratch")
    memory = msgspec.structs.replace(
        plan, facts=msgspec.structs.replace(plan.facts, memory_file_system="tmpfs")
    )
    assert (short_classes(memory), device_classes(memory)) == ({"": "RAM"}, {"": "RAM (tmpfs)"})
