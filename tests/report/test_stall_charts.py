"""Stalls in the charts: what is drawn, captioned and printed of a torture agrees with its recorded series.

The figures are computed from the lists in the journal, the end of the run included: a file that is synced after every
512 writes, below the real kernel and on a modelled host whose cache fills.
"""

from __future__ import annotations

import os
import re
import shutil
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mileage import app
from mileage.analysis.chart_data import course_of
from mileage.app.result import StudyResult
from mileage.model.run_record import RunRecord, Series
from mileage.report import vega
from mileage.report.gallery import gallery
from mileage.report.timeline import course_words, rates_between
from mileage.report.view import cleaned
from mileage.targets.ledger import LEDGER_VARIABLE
from tests.house.repository import ROOT

CAN_SERVE = os.geteuid() == 0 and Path("/dev/fuse").exists() and Path("/dev/loop-control").exists()
STUDY = """
name = "stalls"
target = "{target}"
cycles = 1
{scale}
[state]
{state}
file = "{file}"
cache = "warm"
[[stage]]
name = "before"
measure = ["writes"]
[[stage]]
name = "torture"
torture = ["fill"]
[[stage]]
name = "after"
measure = "before"
[measure.writes]
workload = "throughput.write"
record = "64KiB"
stop = {{ bytes = "{file}" }}
repeat = 1
[torture.fill]
workload = "throughput.write"
record = "{record}"
sync = "fsync"
sync_every = 512
amount = "{amount}"
[compare]
arms = "stage"
baseline = "before"
candidate = "after"
"""


def drawn(
    result: StudyResult, monkeypatch: pytest.MonkeyPatch
) -> tuple[dict[str, vega.Spec], dict[str, str]]:
    """The charts and the captions of the study's pictures, by their names."""
    charts: dict[str, vega.Spec] = {}
    made = gallery.__globals__["svg_of"]

    def kept(chart: vega.Spec, *, name: str, **words: str) -> Any:
        charts[name] = chart
        return made(chart, name=name, **words)

    monkeypatch.setitem(gallery.__globals__, "svg_of", kept)
    captions = {name: picture.caption for name, picture in gallery(cleaned(result.view())).items()}
    return charts, captions


def lines(panel: vega.Spec, x: str, y: str) -> list[list[tuple[float, float]]]:
    layers = [layer for layer in panel["layer"] if layer["mark"]["type"] == "line"]
    return [[(row[x], row[y]) for row in layer["data"]["values"]] for layer in layers]


def assert_charts_agree(result: StudyResult, monkeypatch: pytest.MonkeyPatch) -> None:
    (record,) = [run.record for run in result.content().runs() if run.role == "torture"]
    series, interval_s = record.series, record.series.interval_s
    total, step = sum(series.bytes_written), max(series.bytes_written) / interval_s
    zeros = interval_s * series.bytes_written.count(0) + record.elapsed_s - interval_s * len(series.ops)
    assert zeros > 0.2 * record.elapsed_s, "the study does not stall"
    charts, captions = drawn(result, monkeypatch)
    (time_line,) = lines(charts["over-time"]["vconcat"][0], "x", "y")
    unit_s = {"milliseconds": 1e-3, "seconds": 1.0, "minutes": 60.0}[
        charts["over-time"]["vconcat"][-1]["layer"][0]["encoding"]["x"]["axis"]["title"].partition(", ")[2]
    ]
    widths = [(end - start) * unit_s for (start, _), (end, _) in pairwise(time_line)]
    rates = [rate * 1e6 for _, rate in time_line[1:]]
    assert sum(widths) == pytest.approx(record.elapsed_s, rel=0.02)
    assert sum(map(float.__mul__, widths, rates)) == pytest.approx(total, rel=0.02)
    assert min(rates) == 0
    assert max(rates) <= step * 1.001
    drawn_zero = sum(width for width, rate in zip(widths, rates, strict=True) if rate == 0)
    # A point at the border of a stall is not zero.
    stalls = [len(list(own)) for value, own in groupby(record.to_the_end(series.bytes_written)) if not value]
    assert (
        sum(max(count * interval_s - 2 * max(widths), 0.0) for count in stalls) <= drawn_zero <= 1.02 * zeros
    )
    thick, thin = lines(charts["torture"]["vconcat"][0], "gib", "value")
    took = sum((end - start) * 2**30 / (rate * 1e6) for (start, _), (end, rate) in pairwise(thick))
    assert thick[-1][0] * 2**30 == pytest.approx(total, rel=0.02)
    assert took == pytest.approx(record.elapsed_s, rel=0.02)
    assert min(rate for _, rate in thin) == 0
    assert stated(captions["torture"], r"([\d.]+) % of its time") == pytest.approx(
        100 * drawn_zero / sum(widths), abs=1
    )
    first, last = tenths_mb_per_s(record)
    # A point that lies across the end of a tenth is shared by its length.
    slack = 1 + max(map(float.__mul__, widths, rates)) / (record.elapsed_s / 10) / 1e6
    assert stated(captions["torture"], r"([\d,]+) MB/s in the first") == pytest.approx(first, abs=slack)
    assert stated(captions["torture"], r"([\d,]+) in the last tenth") == pytest.approx(last, abs=slack)
    assert "No change of level" not in captions["over_time"]
    (shape,) = result.view().shapes
    assert (
        min(shape.levels_bytes_per_s)
        <= 1.02 * total / record.elapsed_s
        <= 1.05 * max(shape.levels_bytes_per_s)
    )


def stated(words: str, pattern: str) -> float:
    found = re.search(pattern, words)
    assert found is not None, words
    return float(found[1].replace(",", ""))


def tenths_mb_per_s(record: RunRecord) -> tuple[float, float]:
    """The rate in the first and in the last tenth of a run: each interval counts with its share in the tenth."""
    interval_s, tenth_s = record.series.interval_s, record.elapsed_s / 10
    found = []
    for start, end in ((0.0, tenth_s), (9 * tenth_s, 10 * tenth_s)):
        shares = (
            written * max(min(end, (at + 1) * interval_s) - max(start, at * interval_s), 0.0) / interval_s
            for at, written in enumerate(record.series.bytes_written)
        )
        found.append(sum(shares) / tenth_s / 1e6)
    return found[0], found[1]


def test_stalls_of_a_modelled_host_whose_cache_fills_are_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = {"target": "virtual:intel-x25e-64gb@phenom-8gib", "scale": 'scale = "1/16"', "file": "2GiB"}
    (tmp_path / "study.toml").write_text(
        STUDY.format(**words, state='start = "purged"', record="128KiB", amount="4GiB")
    )
    assert_charts_agree(app.run(str(tmp_path / "study.toml"), out=tmp_path / "out"), monkeypatch)


@pytest.mark.slow
@pytest.mark.xdist_group("devices")
@pytest.mark.skipif(not CAN_SERVE, reason="serving a drive needs root, /dev/fuse and /dev/loop-control")
@pytest.mark.skipif(shutil.which("mkfs.ext4") is None, reason="mkfs.ext4 is not installed")
def test_stalls_of_a_file_system_on_a_served_drive_are_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(LEDGER_VARIABLE, str(tmp_path / "ledger"))
    small = (ROOT / "examples" / "small.toml").read_text(encoding="utf-8")
    larger = small.replace("58_355_712", "233_422_848").replace("{ value = 128,", "{ value = 512,")
    (tmp_path / "drive.toml").write_text(larger, encoding="utf-8")
    words = {"target": f"served:{tmp_path / 'drive.toml'}", "scale": "", "file": "32MiB"}
    (tmp_path / "study.toml").write_text(
        STUDY.format(**words, state='filesystem = "ext4"', record="16KiB", amount="64MiB")
    )
    assert_charts_agree(app.run(str(tmp_path / "study.toml"), out=tmp_path / "out"), monkeypatch)


def test_a_stall_counts_with_its_time_where_it_has_no_width() -> None:
    rates = rates_between([1.0, 2.0, 5.0, 6.0], [100.0, 200.0, 200.0, 300.0], [0.0, 150.0, 300.0])
    assert rates.tolist() == [100.0, pytest.approx(150 / 4.5)]
    assert rates_between([2.0, 3.0], [0.0, 90.0], [0.0, 90.0]).tolist() == [30.0]


@pytest.mark.parametrize(
    ("rates", "words"),
    [
        ([900 - 40 * at for at in range(16)], ""),
        ([500 + at % 2 for at in range(40)], " No change of level inside the runs."),
        ([900 - 10 * at for at in range(60)], " The rate drifts without a change of level."),
        ([500] * 20 + [100] * 20, " Level changes at 20.0 seconds; shaded in turn."),
    ],
)
def test_no_change_of_level_is_said_of_a_level_curve_alone(rates: list[int], words: str) -> None:
    written = [rate * 1_000_000 for rate in rates]
    series = Series(10**9, [0] * len(rates), written, [100] * len(rates), [0] * len(rates))
    record = msgspec.structs.replace(RunRecord.idle(len(rates) * 10**9), series=series)
    trace = course_of(record, {})
    assert trace is not None
    assert trace.rate_bytes_per_s == written
    assert course_words([trace], "time") == words
