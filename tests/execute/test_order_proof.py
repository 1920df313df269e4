"""A drift of the target is a difference between arms in blocked order, and is not in the default order."""

from __future__ import annotations

import numpy as np
import pytest

from mileage.app import selftest
from mileage.app.selftest import STUDY, Drift, Share, false_differences, judged
from mileage.plan import expansion, parse_study


def test_blocked_order_sees_differences_where_there_are_none_and_random_order_does_not() -> None:
    found = dict(false_differences(150, 7))
    assert found["blocked"] > 120
    low, high = Share(name="", count=found["random"], total=150, low=0, high=1).interval
    assert low <= 0.05 <= high


def test_the_plan_knows_nothing_of_the_drift() -> None:
    once = judged(parse_study(STUDY, "order"), 3, np.random.default_rng(1))
    again = judged(parse_study(STUDY, "order"), 3, np.random.default_rng(2))
    assert (once.unit, once.units_candidate) == (again.unit, again.units_candidate) == ("block", 10)
    assert once.headline[0].unit_ratios != again.headline[0].unit_ratios


def test_the_target_drifts_as_it_is_said_to() -> None:
    drift = Drift(np.random.default_rng(5))
    factors = [drift.slower() for _ in range(2000)]
    slope = np.polyfit(np.arange(2000), np.log(factors), 1)[0]
    assert slope * 10 == pytest.approx(0.02, rel=0.05)


def test_an_order_that_always_begins_with_the_baseline_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selftest, "DRIFT_PER_RUN", 0.01)
    honest = dict(false_differences(60, 7))["random"]
    monkeypatch.setattr(expansion, "setting_order", lambda *arguments: sorted(arguments[-1]))
    planted = dict(false_differences(60, 7))["random"]
    assert honest <= 8
    assert planted >= 20
