"""One number for the rate of a cell, wherever it is given: its geometric mean, inside its own interval.

The runs have two levels, as those of a drive that sometimes stalls: the median is outside the interval of the mean.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Sequence
from csv import DictReader
from html import unescape
from io import StringIO
from pathlib import Path
from statistics import fmean, median, stdev
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from mileage.analysis.check_class import ClassVerdict
from mileage.analysis.check_health import Health
from mileage.analysis.check_result import CheckResult, Row, intervals, plain_result, verdict_of
from mileage.analysis.check_text import check_text, pair_text
from mileage.analysis.quoted_rates import MeasuredRate, quoted_pairs
from mileage.analysis.rate_curves import scan_point
from mileage.analysis.view import measured_page
from mileage.app.result import StudyResult, load
from mileage.judge import Sample, compare_arms
from mileage.judge.published_means import PrintedArm, PrintedCell, compare_printed
from mileage.model.data_sheet import DataSheet, QuotedFigure, QuotedRate
from mileage.report.cell_estimates import error_bar, with_estimates
from mileage.report.chart_data import LevelRuns
from mileage.report.imported_study import (
    ImportedPage,
    ReportedCell,
    imported_csv,
    imported_text,
    render_imported,
)
from mileage.report.level_charts import levels_chart
from mileage.report.measurement_page import measured_csv, render_measured
from mileage.report.measurement_text import answer, measured_text
from mileage.report.sweep_chart import _chart
from mileage.report.tables import cells_csv, summaries_csv
from mileage.store import MeasuredCell, measured_cells
from tests.command import mileage

HIGH: Final = tuple(880.0 + at for at in range(14))
LOW: Final = tuple(200.0 + at for at in range(6))
TWO_LEVELS: Final = (*HIGH, *LOW)
"""MB/s of each run."""
TIMES_S: Final = tuple(1000 / rate for rate in TWO_LEVELS)
"""Each run moves 1000 MB, so that the pooled rate is the harmonic mean."""
MEAN: Final = math.exp(sum(map(math.log, TWO_LEVELS)) / 20)
POOLED: Final = 20 * 1000 / sum(TIMES_S)
NUMBER: Final = r"([\d,]+(?:\.\d+)?)"
Triple = tuple[float, float, float]
"""Low end, value, high end."""


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> StudyResult:
    """A measurement of two cells, whose figures are then replaced."""
    folder = tmp_path_factory.mktemp("estimator") / "study"
    line = (
        "measure",
        "-t",
        "virtual:plain-64gib",
        "--vary",
        "depth=1,2",
        "--for",
        "0.2s",
        "--save",
        str(folder),
    )
    done = mileage(*line)
    assert done.returncode == 0, done.stderr
    return load(folder)


def cells_with(study: StudyResult, rates: Sequence[float], failed: int = 0) -> list[MeasuredCell]:
    """The cells of the study with these rates in MB/s."""
    return [
        replace(
            cell,
            runs=len(rates),
            failed=failed,
            rate_bytes_per_s=tuple(rate * 1e6 for rate in rates),
            ops_per_s=tuple(rate * 1e6 / 4096 for rate in rates),
            elapsed_s=tuple(1000 / rate if rate else 1.0 for rate in rates),
        )
        for cell in measured_cells(study.content(), study.plan)
    ]


def reported(rates: Sequence[float], failed: int = 0) -> ReportedCell:
    cell = ReportedCell(
        cell="fio.read",
        title="",
        runs=len(rates),
        rate_bytes_per_s=tuple(rate * 1e6 for rate in rates),
        ops_per_s=(),
        elapsed_s=tuple(1000 / rate if rate else 1.0 for rate in rates),
        quantiles_ns={},
        failed=failed,
    )
    return cell


def imported(*cells: ReportedCell) -> ImportedPage:
    return ImportedPage(name="x", tool="t", cells=cells, trust=(), notes=(), identity={}, lost=(), unread=())


def row(rates: Sequence[float], name: str = "SEQ 1 MiB", failed: int = 0) -> Row:
    times = tuple(1000 / rate if rate else 1.0 for rate in rates)
    return Row(name, "read", 8, tuple(rates), tuple(rates), 10.0, None, times, failed)


def checked(rates: Sequence[float], failed: int = 0) -> CheckResult:
    rows = (row(rates, failed=failed), row(rates, "RND 4 KiB", failed))
    health, fit = Health("good", "fine"), ClassVerdict("no class")
    verdict = verdict_of("drive", health, rows, fit, ())
    return CheckResult("/x", "2026-01-01 00:00 UTC", (), health, rows, fit, (), (), verdict, 0)


def numbers(pattern: str, text: str) -> list[float]:
    found = re.search(pattern.replace("N", NUMBER), text)
    assert found is not None, f"{pattern} is not in:\n{text}"
    return [float(group.replace(",", "")) for group in found.groups()]


def ordered(found: Sequence[float]) -> Triple:
    value, low, high = found
    return low, value, high


def of_json(summary: dict[str, Any], per: float) -> Triple:
    low, high = summary["mean_ci95"]
    assert summary["pooled"] / per == pytest.approx(POOLED)
    assert summary["median"] / per == median(TWO_LEVELS)
    assert summary["median_ci"][0] <= summary["median"] <= summary["median_ci"][1]
    return low / per, summary["geometric_mean"] / per, high / per


def of_csv(text: str) -> Triple:
    line = next(DictReader(StringIO(text)))
    assert float(line["rate_pooled_bytes_per_s"]) / 1e6 == pytest.approx(POOLED)
    assert float(line["rate_median_bytes_per_s"]) / 1e6 == median(TWO_LEVELS)
    names = ("rate_ci95_low_bytes_per_s", "rate_bytes_per_s", "rate_ci95_high_bytes_per_s")
    low, value, high = (float(line[name]) / 1e6 for name in names)
    return low, value, high


def samples(rates: Sequence[float], run: int = 0) -> list[Sample]:
    kind = ("throughput", "throughput.read", "rate_bytes_per_s")
    return [
        Sample(run + at, 1, "torture", "before", at + 1, *kind, rate * 1e6, True)
        for at, rate in enumerate(rates)
    ]


def measured_doors(study: StudyResult) -> Iterator[tuple[str, Triple]]:
    cells = cells_with(study, TWO_LEVELS)
    one = measured_text(cells[:1], study.plan.cells[:1])
    low, value, high = ordered(numbers(r"rate +N \(N to N\) MiB/s", one))
    yield "block", (low * 1.048576, value * 1.048576, high * 1.048576)
    assert numbers(r"pooled +N MB/s", one) == [pytest.approx(POOLED, rel=1e-3)]
    middle, least, most = numbers(r"median +N MB/s \(96 % interval N to N MB/s\)", one)
    assert middle == pytest.approx(median(TWO_LEVELS), rel=1e-3)
    assert least < middle < most
    line = measured_text(cells, study.plan.cells).splitlines()[2].split()
    half = float(line[3].rstrip("%"))
    value = float(line[2])
    yield "table", (value * (1 - half / 100), value, value * (1 + half / 100))
    for name, page in (
        ("sentence", answer(cells[:1])),
        ("page", unescape(render_measured(shown(study, cells[:1]), drawn=False))),
    ):
        low, value, high = ordered(
            numbers(r"N IOPS, .{2,12} MB/s \(95 % interval N to N IOPS, 20 runs\)", page)
        )
        yield name, (low * 4096 / 1e6, value * 4096 / 1e6, high * 4096 / 1e6)
    yield "measured.csv", of_csv(measured_csv(tuple(cells)))
    plain = with_estimates(cells)[0]["estimates"]
    yield "JSON, bytes", of_json(as_json(plain["rate_bytes_per_s"]), 1e6)
    yield "JSON, operations", of_json(as_json(plain["ops_per_s"]), 1e6 / 4096)
    point = scan_point(cells[0], "s", "4 KiB", "rate_bytes_per_s")
    assert point is not None
    assert point.low is not None
    assert point.high is not None
    yield "curve", (point.low / 1e6, point.mean / 1e6, point.high / 1e6)


def as_json(value: object) -> dict[str, Any]:
    import msgspec

    found: dict[str, Any] = json.loads(msgspec.json.encode(value))
    return found


def shown(study: StudyResult, cells: Sequence[MeasuredCell]) -> Any:
    page = measured_page(study.plan, study.folder, [])
    return replace(page, cells=tuple(cells), answer=answer(cells), evidence=type(page.evidence)())


def other_doors() -> Iterator[tuple[str, Triple]]:
    page = imported(reported(TWO_LEVELS))
    for name, text in (
        ("import", imported_text(page)),
        ("page", unescape(render_imported(page, drawn=False))),
    ):
        yield name, ordered(numbers(r"N MB/s \(95 %\s+interval N\s+to\s+N\s+MB/s", text))
    line = next(line for line in imported_text(page).splitlines() if line.startswith("fio.read ")).split()
    half, value = float(line[4]), float(line[3])
    yield "import's table", (value * (1 - half / 100), value, value * (1 + half / 100))
    yield "imported.csv", of_csv(imported_csv(page.cells))
    found = checked(TWO_LEVELS)
    value, half = numbers(r"SEQ 1 MiB depth 8 +N +N %", check_text(found))
    yield "check", (value * (1 - half / 100), value, value * (1 + half / 100))
    yield "check's JSON", of_json(as_json(plain_result(found))["rows"][0]["estimates"]["mb_per_s"], 1)
    yield "class", intervals(found.rows)["seq_read"]
    assert (
        numbers(r"reads N MB/s in sequence and N IOPS", found.verdict) == [pytest.approx(MEAN, rel=1e-3)] * 2
    )
    rate = QuotedRate("sequential_read", 1000.0, "mb_per_s", "maker", "source", record_bytes=4096)
    figure: Any = QuotedFigure(10**12, "maker", "source")
    cell = MeasuredRate("a", "s", "sequential_read", 4096, 1, 4096, "", TWO_LEVELS, TWO_LEVELS)
    (pair,) = quoted_pairs(DataSheet("x", "X", figure, figure, rate=(rate,)), [cell])
    assert pair.value is not None
    assert pair.low is not None
    assert pair.high is not None
    assert pair.ratio == pytest.approx(MEAN / 1000)
    yield "data sheet", (pair.low, pair.value, pair.high)
    comparison = compare_arms(
        samples(TWO_LEVELS),
        samples([882.0] * 10 + [883.0] * 10),
        relevance={},
        paired=False,
        labels=("a", "b"),
    )
    summary = next(DictReader(StringIO(summaries_csv(comparison))))
    names = ("mean_ci95_low", "geometric_mean", "mean_ci95_high")
    low, value, high = (float(summary[name]) / 1e6 for name in names)
    yield "summaries.csv", (low, value, high)
    mean = float(next(DictReader(StringIO(cells_csv(comparison))))["mean_baseline"]) / 1e6
    yield "cells.csv", (low, mean, high)


def test_every_door_gives_the_geometric_mean_inside_its_interval(study: StudyResult) -> None:
    doors = [*measured_doors(study), *other_doors()]
    assert len(doors) == 18
    for name, (low, value, high) in doors:
        assert value == pytest.approx(MEAN, rel=2e-3), name
        assert low < value < high, name
        assert not low < median(TWO_LEVELS) < high, name


def test_a_bar_has_the_length_of_the_geometric_mean() -> None:
    runs = LevelRuns(cell="Rate", metric="rate_bytes_per_s", levels={"a": list(TWO_LEVELS), "b": [1.0, 0.0]})
    for baseline in ("", "a"):
        chart = json.dumps(levels_chart([runs], baseline=baseline, factor="cell"))
        assert f'"value": {MEAN / 1e6}'[:18] in chart
        assert "1 of 2 runs completed" in chart


@pytest.mark.parametrize("values", [(), (5.0,), (2.0, 8.0), (5.0, 0.0)])
def test_a_bar_with_its_spread_stands_on_the_geometric_mean(values: tuple[float, ...]) -> None:
    mean, low, high = error_bar(values)
    assert mean == pytest.approx({(5.0,): 5.0, (2.0, 8.0): 4.0}.get(values, 0.0))
    assert low <= mean <= high
    assert error_bar(values, 7.0)[0] == 7.0
    assert low * high == pytest.approx(mean**2)


def test_the_line_of_a_sweep_goes_through_the_geometric_means() -> None:
    rows = [
        {"cell": "a", "place": place, "metric": "rate_bytes_per_s", "value": rate * 1e6}
        for place, rates in (("x", TWO_LEVELS), ("y", (2.0, 8.0)), ("z", (5.0, 0.0)))
        for rate in rates
    ]
    chart = json.dumps(_chart(rows, ["place"]))
    assert f'"y": {MEAN}'[:14] in chart
    assert re.search(r'"y": (4\.0|3\.99999)', chart)
    assert not re.search(r'"y": (2\.5|5\.0)\b.{0,30}"x": "z".{0,40}"line"', chart)


@pytest.mark.parametrize("paired", [False, True])
def test_the_ratio_of_two_targets_is_the_quotient_of_their_printed_rates(paired: bool) -> None:
    """Medians would say 882 and 882."""
    one, other = checked(TWO_LEVELS), checked([rate * 1.001 for rate in (*HIGH, 890.0, 890.0, *LOW[:4])])
    comparison = None
    if paired:
        comparison = compare_arms(
            samples(one.rows[0].mb_per_s),
            samples(other.rows[0].mb_per_s),
            relevance={},
            paired=True,
            labels=("A", "B"),
        )
    a, b, ratio, low, high = numbers(r"SEQ 1 MiB depth 8 +N +N +N +N to N", pair_text(one, other, comparison))
    assert ratio == pytest.approx(b / a, abs=0.0051)
    assert ratio > 1.1
    assert low <= ratio <= high


ZERO: Final = (*[880.0] * 19, 0.0)


@pytest.mark.parametrize(("rates", "failed"), [(ZERO, 0), (ZERO[:19], 1)])
def test_a_run_of_nothing_or_a_failed_one_leaves_no_mean(
    study: StudyResult, rates: Sequence[float], failed: int
) -> None:
    cells = cells_with(study, rates, failed)
    page = imported(reported(rates, failed))
    found = checked(rates, failed)
    pair = pair_text(found, checked(TWO_LEVELS), None)
    texts = {
        "block": measured_text(cells[:1], study.plan.cells[:1]),
        "table": measured_text(cells, study.plan.cells),
        "sentence": answer(cells),
        "page": unescape(render_measured(shown(study, cells), drawn=False)),
        "import": imported_text(page),
        "import's page": unescape(render_imported(page, drawn=False)),
        "check": check_text(found),
        "verdict": found.verdict,
        "pair": pair,
    }
    for name, text in texts.items():
        assert "19 of 20 runs completed" in " ".join(text.split()), name
        assert "nan" not in re.findall(r"[a-z]+", text.lower()), name
        assert "880" not in text or (name == "block" and not failed), name
    assert re.search(r"SEQ 1 MiB depth 8 +- +[\d.]+ +- +-\n", pair)
    assert intervals(found.rows) == {}
    fits = verdict_of("drive", found.health, found.rows, ClassVerdict("fits", "SATA SSD"), ())
    assert "as its class does" not in fits
    assert "SEQ 1 MiB read depth 8: 19 of 20 runs completed" in fits
    for plain in (
        as_json(with_estimates(cells)[0]["estimates"]["rate_bytes_per_s"]),
        as_json(plain_result(found))["rows"][0]["estimates"]["mb_per_s"],
    ):
        assert (plain["geometric_mean"], plain["mean_ci95"]) == (None, None)
        assert (plain["completed"], plain["asked"]) == (19, 20)
    for table in (measured_csv(tuple(cells)), imported_csv(page.cells)):
        assert next(DictReader(StringIO(table)))["rate_bytes_per_s"] == ""
    assert scan_point(cells[0], "s", "4 KiB", "rate_bytes_per_s") is None


def swapped_ratio(build: Callable[[Sequence[float]], CheckResult]) -> tuple[list[float], list[float]]:
    one, other = build(TWO_LEVELS), build([rate * 1.3 for rate in TWO_LEVELS])
    pattern = r"SEQ 1 MiB depth 8 +N +N +N +N to N"
    return numbers(pattern, pair_text(one, other, None)), numbers(pattern, pair_text(other, one, None))


def test_a_swap_inverts_the_ratio_and_its_interval() -> None:
    forth, back = swapped_ratio(checked)
    assert forth[2] * back[2] == pytest.approx(1, abs=0.01)
    assert forth[3] * back[4] == pytest.approx(1, abs=0.02)
    assert forth[4] * back[3] == pytest.approx(1, abs=0.02)


@given(change=st.floats(0.9, 1.12), paired=st.booleans(), margin=st.sampled_from((0.02, 0.05)))
def test_a_swap_keeps_the_verdict_and_its_size(change: float, paired: bool, margin: float) -> None:
    """A margin of 5 % is from 1/1.05 to 1.05, at the doors that compare runs and at that of printed means."""
    runs = (
        [100 + 0.3 * math.sin(at) for at in range(8)],
        [change * (100 + 0.3 * math.cos(at)) for at in range(8)],
    )
    relevance = {"throughput": margin}
    forth, back = (
        compare_arms(samples(a), samples(b), relevance=relevance, paired=paired, labels=("a", "b")).cells[0]
        for a, b in (runs, runs[::-1])
    )
    printed = [PrintedArm(fmean(values), stdev(values), len(values)) for values in runs]
    one, other = (
        compare_printed([PrintedCell("x", "throughput", a, b)], relevance=margin).cells[0]
        for a, b in (printed, printed[::-1])
    )
    for first, second in ((forth, back), (one, other)):
        assert {"faster": "slower", "slower": "faster"}.get(first.verdict, first.verdict) == second.verdict
        assert first.ratio is not None
        assert first.ci95 is not None
        assert second.ci95 is not None
        assert second.ratio == pytest.approx(1 / first.ratio)
        assert second.ci95 == pytest.approx((1 / first.ci95[1], 1 / first.ci95[0]))


def test_files_of_another_tool_give_the_same_number(tmp_path: Path) -> None:
    """By the command, from fio's own files to text, JSON, table and page."""
    sample = Path(__file__).parent.parent / "formats" / "samples" / "fio-one-job.json"
    paths = []
    for at, rate in enumerate(TWO_LEVELS):
        output = json.loads(sample.read_text())
        read = output["jobs"][0]["read"]
        read |= {"iops": rate * 100, "bw_bytes": round(rate * 409_600)}
        paths.append(tmp_path / f"run-{at}.json")
        paths[-1].write_text(json.dumps(output))
    out = tmp_path / "study"
    done = mileage("import", *map(str, paths), "--out", str(out), "--json")
    assert done.returncode == 0, done.stderr
    (cell,) = json.loads(done.stdout)["cells"]
    found = cell["estimates"]["ops_per_s"]
    assert found["geometric_mean"] == pytest.approx(100 * MEAN)
    text = load(out).text()
    value, low, high = numbers(r"N IOPS.*?\(95 % interval\s+N\s+to\s+N\s+IOPS", " ".join(text.split()))
    assert low < value < high
    assert value == pytest.approx(100 * MEAN, rel=1e-3)
