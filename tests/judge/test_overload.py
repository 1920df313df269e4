"""Offered load and what a closed loop hides, on queues whose truth is worked out."""

import numpy as np
import pytest

from mileage.judge.overload import knee, omission, overload
from mileage.judge.within_run import within_run


def queue(offered: float, capacity: float, intervals: int = 60) -> list[int]:
    """Operations that a server of `capacity` per second completes each second."""
    waiting, done = 0.0, []
    for _ in range(intervals):
        waiting += offered
        served = min(waiting, capacity)
        waiting -= served
        done.append(round(served))
    return done


def test_a_queue_keeps_up_until_its_capacity() -> None:
    points = [
        overload(queue(rate, 1000), interval_s=1, offered=rate) for rate in (500, 900, 1000, 1100, 2000)
    ]
    assert [point.state for point in points] == ["keeps up"] * 3 + ["saturated"] * 2
    assert points[-1].backlog_slope == pytest.approx(1000)
    assert points[-1].achieved == pytest.approx(1000)
    found = knee(points)
    assert (found.kept, found.lost) == (1000, 1100)
    assert knee(points[:1]).lost is None


def test_a_stall_that_is_made_up_for_is_no_overload() -> None:
    done = queue(500, 1000)
    done[30], done[31] = 0, 1000
    assert overload(done, interval_s=1, offered=500).state == "keeps up"
    with pytest.raises(ValueError, match="expected 10 or more"):
        overload([1] * 9, interval_s=1, offered=1)


def test_what_the_closed_loop_cannot_see_is_said() -> None:
    hidden = omission(service_p99_ns=1e5, response_p99_ns=None, longest_ns=1e9, elapsed_ns=30e9)
    assert hidden is not None
    assert (hidden.kind, hidden.longest_ns) == ("stopped", 1e9)
    assert hidden.stopped_share == pytest.approx(1 / 30)
    seen = omission(service_p99_ns=1e5, response_p99_ns=8e8, longest_ns=1e9, elapsed_ns=30e9)
    assert seen is not None
    assert (seen.kind, seen.response_p99_ns) == ("waited", 8e8)
    assert omission(service_p99_ns=1e5, response_p99_ns=1.1e5, longest_ns=3e5, elapsed_ns=30e9) is None
    assert omission(service_p99_ns=1e5, response_p99_ns=None, longest_ns=3e5, elapsed_ns=30e9) is None


def test_the_batches_of_a_run_cover_its_mean() -> None:
    for phi in (0.0, 0.6):
        covered, sizes = 0, []
        for index in range(200):
            rng = np.random.default_rng([round(phi * 10), index])
            series = rng.normal(size=1200)
            for i in range(1, len(series)):
                series[i] += phi * series[i - 1]
            found = within_run((series + 100).tolist())
            assert found.half_width is not None
            covered += abs(found.mean - 100) <= found.half_width
            sizes.append(found.n_eff)
        assert 0.88 <= covered / 200 <= 0.99
        assert np.mean(sizes) == pytest.approx(1200 * (1 - phi) / (1 + phi), rel=0.1)
    assert within_run([5.0] * 40).half_width == 0
    assert within_run(np.linspace(1, 2, 40).tolist()).half_width is None
    with pytest.raises(ValueError, match="20 or more"):
        within_run([1.0] * 19)
