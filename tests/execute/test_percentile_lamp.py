"""The lamp of percentiles: too few operations beyond a p99 are told with the count."""

from typing import Any

import pytest

from mileage.lab.lamps import _percentile_lamps


def entry(count: int, metrics: tuple[str, ...] = ("iops", "p99"), role: str = "measure") -> dict[str, Any]:
    latency = {"read": {"count": count}, "write": {"count": 1}}
    return {"role": role, "metrics": metrics, "cell": f"cell {count}", "record": {"latency": latency}}


@pytest.mark.parametrize(("count", "state"), [(999, "warn"), (1000, "ok"), (20_000, "ok")])
def test_ten_operations_must_lie_beyond(count: int, state: str) -> None:
    (lamp,) = _percentile_lamps([entry(20_000), entry(count)])
    assert (lamp.name, lamp.state) == ("p99", state)
    assert f"{count:,} operations at least" in lamp.text
    assert ("1 of 2 runs" in lamp.text) == (state == "warn")


def test_studies_without_latency_have_no_such_lamp() -> None:
    assert _percentile_lamps([entry(5, ("throughput",)), entry(5, role="torture")]) == []
