"""A key that only says how real storage is reached is refused where no storage is reached."""

from __future__ import annotations

import inspect
import re

import pytest

from mileage.model.target_kind import capabilities_of
from mileage.plan.io_options import CALL_KEYS, HOW_KEYS, IoOptions, reach_of, unused_keys, without_effect


def test_every_key_that_makes_up_a_reach_has_no_effect_on_a_virtual_drive() -> None:
    read = set(re.findall(r"\bhow\.(\w+)", inspect.getsource(reach_of)))
    assert read == set(unused_keys(capabilities_of("virtual:x")))


def test_the_null_target_ignores_calls_and_data_but_not_processors() -> None:
    unused = unused_keys(capabilities_of("null:"))
    assert set(CALL_KEYS) < set(unused) <= set(HOW_KEYS)
    assert not {"pin", "interval", "processes"} & set(unused)


@pytest.mark.parametrize("target", ["dir:/mnt", "file:/mnt/a", "block:/dev/sdb", "loop:1GiB"])
def test_real_storage_is_reached_with_every_key(target: str) -> None:
    assert unused_keys(capabilities_of(target)) == ()


def test_the_refusal_says_why() -> None:
    (fault,) = without_effect(IoOptions(settle="2 s"), capabilities_of("virtual:x"))
    assert fault.where == "settle"
    assert fault.sentence == "a virtual drive has no system calls, page cache or processors; remove it"
