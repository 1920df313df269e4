"""Named workloads and families."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mileage.plan import METRICS, WORKLOADS
from mileage.plan.families import find_workloads


@pytest.mark.parametrize(
    ("name", "members"),
    [
        ("throughput.*", ["throughput.write", "throughput.read"]),
        (
            "iops.*",
            ["iops.random_write", "iops.random_read", "iops.shuffled_write", "iops.shuffled_read"],
        ),
        ("iops.random_read", ["iops.random_read"]),
    ],
)
def test_a_family_stands_for_its_members(name: str, members: list[str]) -> None:
    assert [found.name for found in find_workloads(name, "virtual:x", "here")] == members


@pytest.mark.parametrize("name", WORKLOADS)
def test_every_workload_says_what_it_does_and_what_is_recorded(name: str) -> None:
    workload = WORKLOADS[name]
    assert workload.title
    if name.partition(".")[0] in ("throughput", "iops"):
        assert workload.kind == name.partition(".")[0]
    if workload.job is None and name.endswith(("read", "write", "discard")):
        assert workload.writes == name.endswith(("write", "discard"))
        assert workload.reads == name.endswith("read")
    assert workload.metrics
    assert set(workload.metrics) <= set(METRICS)


@pytest.mark.parametrize(
    ("name", "close"),
    [("throughput.wrte", "throughput.write"), ("iop.*", "iops.*"), ("IOPS.random_read", "iops.random_read")],
)
def test_a_misspelt_name_is_answered_with_the_closest(
    refusal: Callable[..., str], name: str, close: str
) -> None:
    line = refusal(lambda: find_workloads(name, "virtual:x", "here"))
    assert line.startswith(f"here: {name!r} is not a workload; did you mean {close}? Known are ")


@pytest.mark.parametrize("name", ["iozone.*", "metadata.stat", "metarates.*", "mdtest.*", "ior.write"])
def test_a_modelled_host_does_every_family_of_work_on_files(name: str) -> None:
    assert find_workloads(name, "virtual:plain@host", "here") == find_workloads(name, "dir:/x", "here")
