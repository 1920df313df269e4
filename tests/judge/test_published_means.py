"""Tables that print both arms: against scipy, against the runs themselves, and what they cannot mean."""

import csv
import html
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from mileage.errors import Refused
from mileage.formats.published_table import prints_arms, read_arms, read_differences
from mileage.judge.published_means import PrintedArm, PrintedCell, compare_printed
from tests.command import mileage

HEAD = "test,record,baseline_mean,baseline_sd,candidate_mean,candidate_sd"


def cell(low: tuple[float, float, int], high: tuple[float, float, int], **more: Any) -> PrintedCell:
    return PrintedCell(
        more.get("name", "write"), more.get("metric", "throughput"), PrintedArm(*low), PrintedArm(*high)
    )


def test_the_estimate_is_welch_on_the_moments_of_the_logarithms() -> None:
    low, high = (220.0, 30.0, 10), (180.0, 12.0, 7)
    (found,) = compare_printed([cell(low, high)]).cells
    logs = []
    for mean, sd, _ in (low, high):
        variance = math.log(1 + (sd / mean) ** 2)
        logs.append((math.log(mean) - variance / 2, math.sqrt(variance)))
    oracle = stats.ttest_ind_from_stats(*logs[1], high[2], *logs[0], low[2], equal_var=False)
    assert found.p_raw == pytest.approx(oracle.pvalue, rel=1e-9)
    assert found.ratio == pytest.approx(math.exp(logs[1][0] - logs[0][0]), rel=1e-12)
    assert (found.n_baseline, found.n_candidate) == (10, 7)


@pytest.mark.parametrize("seed", range(5))
def test_the_printed_moments_say_nearly_what_the_runs_say(seed: int) -> None:
    rng = np.random.default_rng([9, seed])
    runs = [rng.lognormal(5, 0.05, 12), rng.lognormal(4.9, 0.03, 9)]
    arms = [(float(x.mean()), float(x.std(ddof=1)), len(x)) for x in runs]
    (found,) = compare_printed([cell(arms[0], arms[1])]).cells
    true = stats.ttest_ind(np.log(runs[1]), np.log(runs[0]), equal_var=False)
    low, high = true.confidence_interval(0.95)
    assert found.ci95 is not None
    assert math.log(found.ci95[0]) == pytest.approx(low, abs=2e-3)
    assert math.log(found.ci95[1]) == pytest.approx(high, abs=2e-3)


def test_units_and_swapped_arms_change_nothing_but_the_direction() -> None:
    low, high = (220.0, 3.0, 10), (180.0, 2.0, 7)
    (one,) = compare_printed([cell(low, high)]).cells
    (scaled,) = compare_printed([cell((220e6, 3e6, 10), (180e6, 2e6, 7))]).cells
    (back,) = compare_printed([cell(high, low)]).cells
    assert one.ratio is not None
    assert scaled.ratio == pytest.approx(one.ratio, rel=1e-12)
    assert back.ratio == pytest.approx(1 / one.ratio, rel=1e-12)
    assert (one.verdict, back.verdict) == ("slower", "faster")
    (later,) = compare_printed([cell(low, high, metric="p99")]).cells
    assert later.verdict == "faster", "less latency is better"


@pytest.mark.parametrize(
    ("low", "said"),
    [
        ((0.0, 1.0, 10), "mean 0"),
        ((math.nan, 1.0, 10), "mean nan"),
        ((5.0, -1.0, 10), "deviation -1"),
        ((5.0, 1.0, 1), "1 runs"),
    ],
)
def test_what_no_table_can_mean_is_refused(low: tuple[float, float, int], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        compare_printed([cell(low, (5.0, 1.0, 10))])
    good = cell((5.0, 1.0, 10), (5.0, 1.0, 10))
    with pytest.raises(ValueError, match="appears twice"):
        compare_printed([good, good])
    with pytest.raises(ValueError, match="no row"):
        compare_printed([])


def written(folder: Path, text: str) -> Path:
    path = folder / "table.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_is_read_with_its_runs_and_metrics(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "table,test,metric,baseline_mean,baseline_sd,candidate_mean,candidate_sd,candidate_runs\n"
        "3,a b,p99,1,0.1,2,0.2,5\n",
    )
    assert prints_arms(path)
    arms = PrintedArm(1, 0.1, 8), PrintedArm(2, 0.2, 5)
    assert read_arms(path, 8) == (PrintedCell("a b", "p99", *arms, places={"test": "a b"}),)


def test_means_are_shown_where_the_table_says_their_unit(tmp_path: Path) -> None:
    head = "test,record,metric,unit,baseline_mean,baseline_sd,candidate_mean,candidate_sd\n"
    rows = "write,1 MiB,throughput,MiB/s,200,2,100,1\nread,4 KiB,p99,us,50,1,60,1\n"
    path = written(tmp_path, head + rows)
    write, read = compare_printed(read_arms(path, 10)).cells
    assert (write.mean_baseline, read.mean_candidate) == pytest.approx((200 * 1048576, 60_000), rel=1e-3)
    bare = written(tmp_path, head.replace("unit,", "") + rows.replace("MiB/s,", "").replace("us,", ""))
    for cell, other in zip(compare_printed(read_arms(bare, 10)).cells, (write, read), strict=True):
        assert cell.mean_baseline is None
        assert cell.ratio == pytest.approx(other.ratio, rel=1e-12)


def test_a_table_of_both_arms_has_a_page(tmp_path: Path) -> None:
    path = written(tmp_path, f"{HEAD}\nwrite,4 KiB,200,2,100,1\nread,<b>4 KiB,200,2,200,1\n")
    done = mileage("compare", "--table", str(path), "--runs", "5", "--out", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    assert f"Report: {tmp_path / 'out' / 'report.html'}" in done.stdout
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "The candidate is" in html.unescape(re.sub("<[^>]*>", "", page))
    assert "Mileage did not measure this" in page
    assert "<b>4 KiB" not in page
    assert "MB/s" not in done.stdout
    with (tmp_path / "out" / "tables" / "cells.csv").open() as file:
        assert [row["verdict"] for row in csv.DictReader(file)] == ["slower", "same"]
    assert mileage("compare", "--table", str(path), "--out", str(tmp_path / "out")).returncode == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "an empty file"),
        ("test,baseline_mean,baseline_sd,candidate_mean\na,1,1,1\n", "no column candidate_sd"),
        ("baseline_mean,baseline_sd,candidate_mean,candidate_sd\n1,1,1,1\n", "no column before"),
        (f"{HEAD}\na,b,1,2,3\n", "line 2: 5 fields; expected 6"),
        (f"{HEAD}\na,b,1,x,3,4\n", "line 2: baseline_sd is 'x'"),
        (f"metric,{HEAD}\nspeed,a,b,1,1,3,4\n", "line 2: metric is 'speed'; expected throughput"),
        (f"{HEAD},baseline_runs\na,b,1,1,3,4,2.5\n", "baseline_runs is '2.5'"),
        (f"unit,{HEAD}\nKB/s,a,b,1,1,3,4\n", "line 2: unit is 'KB/s'; expected B/s, kB/s, KiB/s"),
    ],
)
def test_a_file_that_is_no_such_table_is_refused_with_the_line(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(Refused, match=said):
        read_arms(written(tmp_path, text), 10)
    with pytest.raises(Refused):
        read_differences(written(tmp_path, text))
