"""The comparison of the drop-in commands' speed: its intervals, its ratios, and the rates that it reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.dropin_speed.cases import CASES, rates_of
from benchmarks.dropin_speed.pairs import OURS, TOOL, CommandRun, Interval, processor_ratio, rate_ratios
from tests.command import mileage


@pytest.mark.parametrize(
    ("count", "least", "most"),
    [(3, 1, 3), (5, 1, 5), (6, 1, 6), (8, 1, 8), (9, 2, 8), (12, 3, 10), (15, 4, 12)],
)
def test_an_interval_of_a_median_has_the_ranks_of_the_tables(count: int, least: int, most: int) -> None:
    """Ranks of the sign test at 5 %, as tables of order statistics print them."""
    found = Interval.of([float(rank) for rank in range(count, 0, -1)])
    assert (found.least, found.most) == (least, most)
    assert found.middle == (count + 1) / 2


def runs(*pairs: tuple[float, float]) -> list[CommandRun]:
    return [CommandRun({"read": rate}, processor_s, 0) for rate, processor_s in pairs]


def test_start_up_is_not_counted_and_pairs_stay_pairs() -> None:
    found = {TOOL: runs((100.0, 1.5), (200.0, 2.5)), OURS: runs((50.0, 3.2), (400.0, 4.2))}
    ratio = processor_ratio(found, {TOOL: 0.5, OURS: 0.2})
    assert (ratio.least, ratio.most) == (2.0, 3.0)
    theirs, own, rates = rate_ratios(found)["read"]
    assert (theirs, own, rates.least, rates.most) == (150.0, 225.0, 0.5, 2.0)


@pytest.mark.parametrize(
    ("name", "tests"),
    [
        ("ior, cached 4 KiB", {"write", "read"}),
        ("mdtest, files", {"file creation", "file stat", "file read", "file removal"}),
        ("fio, cached 4 KiB write", {"write"}),
        ("iozone, direct 4 KiB", {"write", "rewrite", "random_read", "random_write"}),
    ],
)
def test_every_test_of_a_line_is_read(name: str, tests: set[str], tmp_path: Path) -> None:
    case = next(one for one in CASES if one.name == name)
    words = (
        case.words.replace("128m", "64k").replace("20000", "20").replace("256m", "64k").replace("16m", "64k")
    )
    done = mileage(case.tool, *words.replace("-I ", "").split(), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = rates_of(case, done.stdout, tmp_path)
    assert found.keys() == tests
    assert all(rate > 0 for rate in found.values())
