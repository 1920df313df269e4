"""The comparison of commits: intervals of ratios by figures of a table, when rounds end, and quantiles."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from benchmarks.commits.__main__ import etcd_ratios, verdict
from benchmarks.commits.programs import Commits, Failed, allocated, by_sqlite, commits_of
from benchmarks.commits.ratios import Ratio, is_enough, ratio


def test_an_interval_is_that_of_student() -> None:
    """Of 5 rounds the two-sided 90 % quantile is 2.132, as tables print it."""
    found = ratio([1.1, 0.9, 1.0, 1.2, 0.95], [1.0] * 5)
    logs = [math.log(one) for one in (1.1, 0.9, 1.0, 1.2, 0.95)]
    middle = sum(logs) / 5
    spread = math.sqrt(sum((one - middle) ** 2 for one in logs) / 4)
    assert found.mean == pytest.approx(math.exp(middle))
    assert math.log(found.most / found.mean) == pytest.approx(2.132 * spread / math.sqrt(5), rel=1e-3)
    assert found.least * found.most == pytest.approx(found.mean**2)
    # What both programs have in common in a round does not count.
    assert ratio([2.2, 9.0], [2.0, 10.0]) == pytest.approx(ratio([1.1, 0.9], [1.0, 1.0]))


@pytest.mark.parametrize(
    ("one", "words", "ends"),
    [
        (Ratio(1.0, 0.95, 1.05, 5), "within 10%", True),
        (Ratio(1.0, 0.95, 1.05, 4), "within 10%", False),
        (Ratio(1.0, 0.85, 1.15, 9), "not shown to be within 10%", False),
        (Ratio(1.3, 1.2, 1.4, 5), "beyond 10%", True),
        (Ratio(0.7, 0.6, 0.89, 5), "beyond 10%", True),
    ],
)
def test_rounds_end_where_more_would_change_no_answer(one: Ratio, words: str, ends: bool) -> None:
    assert (verdict(one, 0.10), is_enough({"p50": one})) == (words, ends)
    assert not is_enough({"p50": one, "p99": Ratio(1.0, 0.5, 2.0, 9)})


def test_each_program_is_compared_with_the_first_in_both_quantiles() -> None:
    found = etcd_ratios(
        {
            "fio": [Commits(9, 1.0, 4.0), Commits(9, 2.0, 8.0)],
            "own": [Commits(9, 2.0, 4.0), Commits(9, 4.0, 8.0)],
        }
    )
    assert {name: (one.mean, one.rounds) for name, one in found.items()} == {
        "own / fio, p50": (pytest.approx(2.0), 2),
        "own / fio, p99": (pytest.approx(1.0), 2),
    }


def test_quantiles_are_times_that_occurred() -> None:
    assert commits_of([float(number) for number in range(200, 0, -1)]) == Commits(200, 100.0, 198.0)
    with pytest.raises(Failed):
        commits_of([])


def test_files_are_reserved_and_removed(tmp_path: Path) -> None:
    with allocated(tmp_path / "file", 1 << 20) as path:
        assert path.stat().st_size == 1 << 20
        assert path.stat().st_blocks >= 2048
    assert by_sqlite(tmp_path, "wal", 20).commits == 20
    assert list(tmp_path.iterdir()) == []
