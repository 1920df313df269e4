"""The check of percentiles: too few operations beyond a p99 are reported with the count."""

from pathlib import Path

import pytest

from mileage.analysis.validity_checks import percentile_checks
from mileage.app import load
from tests.execute.conftest import FinishedStudies


@pytest.mark.parametrize(("count", "state"), [(999, "warn"), (1000, "ok"), (20_000, "ok")])
def test_ten_operations_must_lie_beyond(count: int, state: str) -> None:
    (check,) = percentile_checks([("p99", 20_000, "cell a"), ("p99", count, "cell b")])
    assert (check.name, check.state) == ("p99", state)
    assert f"at least {count:,} operations" in check.text
    assert ("1 of 2 runs" in check.text) == (state == "warn")


def test_studies_without_latency_have_no_such_check(finished: FinishedStudies, tmp_path: Path) -> None:
    finished(tmp_path / "study")
    result = load(tmp_path / "study")
    found, measured = result.seen(), [r for r in result.plan.runs if r.role == "measure"]
    assert found.runs == len(result.plan.runs)
    assert len(found.lasted_s) == len(found.facts) == len(measured)
    assert percentile_checks([]) == []
