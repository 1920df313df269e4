"""A small study as text, and the facts of three targets."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from mileage.errors import Refused
from mileage.plan import Study, TargetFacts, parse_study
from mileage.plan.faults import BrokenStudy

SMALL = """\
name = "small"
question = "Is it slower?"
target = "virtual:plain"
seed = 7
cycles = 2
sham = true
[state]
file = "64MiB"
[[stage]]
name = "prepare"
prepare = ["fill"]
[[stage]]
name = "before"
measure = ["throughput", "iops"]
[[stage]]
name = "torture"
torture = ["fill", "churn"]
[[stage]]
name = "rest"
idle = "10 s"
[[stage]]
name = "after"
measure = "before"
[measure.throughput]
workload = "throughput.*"
record = ["128KiB", "1MiB"]
stop = { bytes = "8MiB" }
repeat = 3
[measure.iops]
workload = "iops.random_read"
record = "4KiB"
threads = 4
stop = { operations = 1000 }
repeat = { min = 2 }
[torture.fill]
workload = "throughput.write"
record = "1MiB"
amount = "1x"
[torture.churn]
workload = "iops.random_write"
record = "4KiB"
threads = 4
amount = "2.2x"
[compare]
baseline = "before"
relevance = { throughput = 0.02, iops = 0.05, p99 = 0.10 }
"""
"""Reads as a study of 5 cells; tests change it by replacing text."""


def drive_facts(capacity_bytes: int = 64_000_000_000) -> TargetFacts:
    return TargetFacts(
        kind="virtual",
        name="plain",
        capacity_bytes=capacity_bytes,
        free_bytes=capacity_bytes,
        memory_bytes=0,
        block_bytes=4096,
        virtual=True,
        direct_supported=True,
        rated_write_bytes=None,
        host_layer=False,
    )


def directory_facts(**changes: int | bool | None) -> TargetFacts:
    facts = TargetFacts(
        kind="dir",
        name="/scratch",
        capacity_bytes=100 << 30,
        free_bytes=20 << 30,
        memory_bytes=8 << 30,
        block_bytes=512,
        virtual=False,
        direct_supported=True,
        rated_write_bytes=None,
        host_layer=True,
    )
    return msgspec.structs.replace(facts, **changes)


@pytest.fixture
def small_text() -> str:
    return SMALL


@pytest.fixture
def small() -> Study:
    return parse_study(SMALL, "small.toml")


@pytest.fixture
def drive() -> TargetFacts:
    return drive_facts()


@pytest.fixture
def directory() -> Callable[..., TargetFacts]:
    """Facts of a directory, with the given fields changed."""
    return directory_facts


@pytest.fixture
def refusal() -> Callable[[Callable[[], object]], str]:
    """Call something that must be refused, and return the text: one line for each fault."""

    def line_of(call: Callable[[], object]) -> str:
        with pytest.raises(Refused) as refused:
            call()
        faults = refused.value.refusals if isinstance(refused.value, BrokenStudy) else ()
        assert len(str(refused.value).splitlines()) == (len(faults) + 1 if len(faults) > 1 else 1)
        assert refused.value.exit_status == 2
        return str(refused.value)

    return line_of
