"""Capacity given up on a virtual drive: write amplification as theory has it, and rate and life that follow from it."""

from __future__ import annotations

import json
import math
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from mileage.app.over_provisioning import bytes_of, divisor_of, over_provisioning
from tests.command import mileage

#: The Intel X25-E at a sixty-fourth of its size, with its share of spare flash.
SMALL = "intel-x25e-64gb,blocks_per_plane=128,capacity_bytes=999997440"


def amplification_of_theory(flash_per_usable: float) -> float:
    """Write amplification of uniform random writes when the oldest block is collected: 1 / (1 - u).

    u, the share of a block that is still valid, solves u = exp(-a (1 - u)) for a = flash / usable (Robinson, 1996;
    Desnoyers, Analytic Models of SSD Write Performance, 2014). Choosing the emptiest block is a few percent better.
    """
    share = 0.5
    for _ in range(200):
        share = math.exp(-flash_per_usable * (1 - share))
    return 1 / (1 - share)


@pytest.mark.slow
def test_spare_lowers_write_amplification_as_theory_has_it(tmp_path: Path) -> None:
    chart = tmp_path / "op.svg"
    words = [
        "endurance",
        "over-provisioning",
        SMALL,
        "--give-up",
        "0",
        "--give-up",
        "28",
        "--writes",
        "1 TB/year",
    ]
    done = mileage(*words, "--chart", str(chart), "--json")
    assert done.returncode == 0, done.stderr
    none, much = json.loads(done.stdout)
    assert (none["share"], much["share"]) == (0, 0.28)
    for step in (none, much):
        theory = amplification_of_theory(1 + step["spare_share"])
        # A drive this small keeps a twentieth of its spare blocks open or free, and collects the emptiest block.
        assert step["write_amplification"] == pytest.approx(theory, rel=0.12)
        flash = step["usable_bytes"] * (1 + step["spare_share"])
        assert flash == pytest.approx(20 * 128 * 128 * 4096)
        assert step["written_bytes"] == pytest.approx(100_000 * flash / step["write_amplification"])
        assert step["years"] == pytest.approx(step["written_bytes"] / 1e12)
        # Programming is the limit, so that the rate falls as write amplification rises.
        product = step["rate_bytes_per_s"] * step["write_amplification"]
        assert product == pytest.approx(none["rate_bytes_per_s"] * none["write_amplification"], rel=0.5)
    assert none["life"] == 1
    assert much["life"] == pytest.approx(none["write_amplification"] / much["write_amplification"])
    assert much["rate_bytes_per_s"] > 1.3 * none["rate_bytes_per_s"]
    assert ET.parse(chart).getroot().tag.endswith("svg")


def test_the_reference_of_life_is_nothing_given_up_also_when_it_is_not_asked_for() -> None:
    done = mileage("endurance", "over-provisioning", SMALL, "--give-up", "50", "--json")
    (step,) = json.loads(done.stdout)
    assert step["share"] == 0.5
    assert step["life"] > 1.5


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("sas-15k", "has no flash"),
        ("no-such-drive", "no virtual drive has this name"),
        (f"{SMALL} --give-up 100", "found 100 %"),
        (f"{SMALL} --give-up -1", "found -1 %"),
        (f"{SMALL} --writes 5", "--writes: '5' is not a rate of writing"),
    ],
)
def test_what_has_no_spare_is_refused(words: str, message: str) -> None:
    done = mileage("endurance", "over-provisioning", *words.split())
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())


def test_a_part_of_a_drive_stands_for_the_whole_and_progress_ends_at_the_total() -> None:
    done: list[int] = []

    def polled(count: int, _operations: int) -> bool:
        done.append(count)
        return False

    (whole,), (part,) = (
        over_provisioning(SMALL, [0.0], depth=32, seed=1, divisor=divisor, seen=lambda _: polled)
        for divisor in (1, 2)
    )
    assert part.usable_bytes == pytest.approx(whole.usable_bytes, rel=0.01)
    assert part.spare_share == pytest.approx(whole.spare_share, rel=0.05)
    assert part.write_amplification == pytest.approx(whole.write_amplification, rel=0.1)
    assert part.written_bytes == pytest.approx(whole.written_bytes, rel=0.1)
    # Each of the six runs counts from 0.
    ends = [count for count, then in zip(done, [*done[1:], 0], strict=True) if then < count]
    assert sum(ends) == pytest.approx(bytes_of(whole.usable_bytes, []) * 1.5, rel=0.1)


def test_large_drives_are_scaled_down_unless_the_name_has_a_scale() -> None:
    assert divisor_of("x", 64e9) == 1
    assert divisor_of("x", 64.1e9) == 2
    assert divisor_of("x", 1e12) == 16
    assert divisor_of("x,scale=1/1", 1e12) == 1
