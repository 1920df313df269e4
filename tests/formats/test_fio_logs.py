"""fio's logs: every operation is counted once, latencies are as exact as our own, and averages stay averages."""

from __future__ import annotations

import json
import random
from pathlib import Path
from statistics import quantiles

import pytest

from mileage import app
from mileage.app.importer import make_study, read_files
from mileage.errors import Refused
from mileage.formats.fio_logs import read_group
from mileage.formats.histogram import histogram_of
from mileage.formats.input_file import open_source
from mileage.formats.result import ToolRun
from mileage.model.histogram import bounds_of, bucket_of
from mileage.model.imported_record import ImportedSeries
from tests.formats.sample_reader import SAMPLES


def log(folder: Path, name: str, lines: list[tuple[int, ...]]) -> Path:
    path = folder / name
    path.write_text("".join(", ".join(map(str, line)) + "\n" for line in lines))
    return path


def run_of(*paths: Path) -> ToolRun:
    (run,) = read_group([open_source(path) for path in paths]).runs
    return run


def operations(seed: int, count: int) -> list[tuple[int, ...]]:
    draw = random.Random(seed)
    at = 0
    found = []
    for _ in range(count):
        at += draw.randrange(3)
        found.append(
            (at, round(draw.lognormvariate(11, 2)), draw.randrange(2), draw.choice((4096, 65536)), 0)
        )
    return found


def series_of(run: ToolRun) -> ImportedSeries:
    assert run.series is not None
    return run.series


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(5))
def test_every_line_counts_once(tmp_path: Path, seed: int) -> None:
    lines = operations(seed, 4000 + 1000 * seed)
    run = run_of(log(tmp_path, "x_clat.1.log", lines))
    series = series_of(run)
    for direction, kind in ((0, "read"), (1, "write")):
        own = [line for line in lines if line[2] == direction]
        assert run.latency[kind] == histogram_of(
            {value: sum(line[1] == value for line in own) for value in {line[1] for line in own}}
        ), f"seed {seed}"
        moved = sum(line[3] for line in own)
        assert (run.bytes_read if direction == 0 else run.bytes_written) == moved
        assert sum(series.bytes_read if direction == 0 else series.bytes_written) == moved
    assert sum(series.ops) == len(lines)
    assert sum(series.latency_sum_ns) == sum(line[1] for line in lines) == run.latency_sum_ns
    assert max(series.latency_max_ns) == max(line[1] for line in lines)
    assert run.elapsed_s == lines[-1][0] / 1000
    assert len(series.ops) <= 512


def test_quantiles_are_those_of_the_operations(tmp_path: Path) -> None:
    lines = [(at // 50, value, 0, 4096, 0) for at, (_, value, *_) in enumerate(operations(7, 20_000))]
    run = run_of(log(tmp_path, "x_lat.1.log", lines))
    exact = quantiles([line[1] for line in lines], n=100)[98]
    assert run.latency_p99_ns == pytest.approx(exact, rel=0.01)
    assert run.latency["read"].quantile_ns(0.99) == pytest.approx(exact, rel=0.01)


def test_buckets_are_those_of_the_engine() -> None:
    draw = random.Random(3)
    for value in [0, 1, 255, 256, 257, *(draw.randrange(1 << draw.randrange(1, 46)) for _ in range(3000))]:
        low, high = bounds_of(bucket_of(value))
        assert low <= value <= high
        assert histogram_of({value: 1}).quantile_ns(0.5) == value


def test_logs_of_one_job_are_one_run_and_of_averages_rates(tmp_path: Path) -> None:
    bw = log(tmp_path, "a_bw.1.log", [(100 * at, 1000 + at, 0, 0, 0) for at in range(1, 31)])
    iops = log(tmp_path, "a_iops.1.log", [(100 * at, 250, 0, 0, 0) for at in range(1, 31)])
    lat = log(tmp_path, "a_lat.1.log", [(100 * at, 5000, 0, 0, 0) for at in range(1, 31)])
    run = run_of(bw, iops, lat)
    assert run.rate_bytes_per_s == pytest.approx(1024 * 1015.5)
    assert run.ops_per_s == pytest.approx(250)
    assert (run.latency, run.latency_p99_ns, run.quantiles_ns) == ({}, None, {"mean": 5000})
    assert dict(run.printed) == {"lat mean of averages ns": 5000}
    assert set(series_of(run).latency_sum_ns) == {None}


def test_a_line_that_is_none_is_named_and_one_that_cannot_be_is_counted(tmp_path: Path) -> None:
    path = log(tmp_path, "x_clat.1.log", operations(1, 500))
    lines = path.read_text().splitlines()
    lines[10:10] = ["fio: io_u error", "1, 2, 3", "5, -7, 0, 4096, 0", "6, 99999999999999999999, 0, 4096, 0"]
    path.write_bytes("\n".join(lines).encode() + b"\n\xff\xfe\x00, 1, 2\n7, 8, 0")
    result = read_group([open_source(path)])
    assert {entry.line for entry in result.unread} >= {11, 12, 14}
    lost = sum(int(text.split(": ")[1].split(" ")[0]) for text in result.lost)
    assert sum(series_of(result.runs[0]).ops) == 500
    assert len(result.unread) + lost == 6


def test_names_and_contents_that_are_no_logs(tmp_path: Path) -> None:
    path = log(tmp_path, "x_clat.1.log", operations(1, 5))
    other = path.rename(tmp_path / "x.log")
    with pytest.raises(Refused, match="a log of fio is called PREFIX_lat"):
        read_files([other], "fio-logs")
    (tmp_path / "y_lat.1.log").write_text("hello\n")
    with pytest.raises(Refused, match="no line is 'time, value"):
        read_files([tmp_path / "y_lat.1.log"], "fio-logs")
    star = log(tmp_path, "*_lat.1.log", operations(2, 9))
    log(tmp_path, "z_lat.1.log", operations(3, 900))
    assert sum(series_of(run_of(star)).ops) == 9


def test_logs_go_to_the_run_of_the_json_that_names_them(tmp_path: Path) -> None:
    output = json.loads((SAMPLES / "fio-one-job.json").read_text())
    output["jobs"][0]["job options"]["write_lat_log"] = "/data/x"
    path = tmp_path / "result.json"
    path.write_text(json.dumps(output))
    logs = [
        log(tmp_path, f"x_{kind}.1.log", operations(seed, 3000)) for seed, kind in ((4, "clat"), (5, "lat"))
    ]
    (tmp_path / "x_slat.1.log").touch()
    found = read_files([path, *logs, tmp_path / "x_slat.1.log"])
    assert [len(result.runs) for _, result in found] == [1, 0, 0]
    folder = make_study(found, tmp_path / "study")
    assert folder.plan()["imported"]["version"] == "3.33"
    result = app.load(folder.path)
    assert result.table("series").aggregate("sum(ops)").fetchall() == [(3000,)]
    assert result.table("latency").aggregate("sum(count)").fetchall() == [(3000,)]
    assert result.samples()[0].value == output["jobs"][0]["read"]["iops"]
    alone = read_files(logs)
    assert [run.cell for _, result in alone for run in result.runs] == ["fio.log x, 1"]


@pytest.mark.parametrize("window_ms", [7, 100, 250, 333, 500, 1000, 1500])
@pytest.mark.parametrize("late_ms", [0, 1])
def test_intervals_of_averages_are_whole_windows(tmp_path: Path, window_ms: int, late_ms: int) -> None:
    # A window may end a millisecond late, each time: after 700 windows the last one is 0.7 s behind.
    times = [(window_ms * at) + late_ms * at // 2 for at in range(1, 701)]
    run = run_of(log(tmp_path, "w_bw.1.log", [(time, 4096, 0, 0, 0) for time in times]))
    series = series_of(run)
    rates = [moved / series.interval_ns * 1e9 for moved in series.bytes_read[:-1]]
    assert rates == pytest.approx([4096 * 1024] * len(rates), rel=1e-3)
    assert len(rates) < 512
    assert series.interval_ns >= 100e6
    assert sum(series.bytes_read) == pytest.approx(4096 * 1024 * times[-1] / 1000, rel=1e-3)


def test_a_log_of_mean_latencies_alone_has_a_mean_and_nothing_to_judge(tmp_path: Path) -> None:
    path = log(tmp_path, "m_clat.1.log", [(500 * at, 2000 * at, 0, 0, 0) for at in range(1, 41)])
    assert run_of(path).quantiles_ns == {"mean": 41_000}
    result = app.load(make_study(read_files([path]), tmp_path / "study").path)
    assert "41 µs" in result.text()
    assert result.samples() == []
    iops = log(
        tmp_path, "m_iops.1.log", [(500 * at, 100 if at > 20 else 300, 0, 0, 0) for at in range(1, 41)]
    )
    # Twenty windows of 21 us on average with 300 operations a second, twenty of 61 us with 100.
    assert run_of(path, iops).quantiles_ns == {"mean": pytest.approx((3 * 21_000 + 61_000) / 4)}


def test_four_columns_are_of_fio_2_or_3(tmp_path: Path) -> None:
    lines = [line[:4] for line in operations(6, 2000)]
    surely = log(tmp_path, "ns_lat.1.log", lines)
    assert series_of(run_of(surely)).latency_sum_ns
    old = log(
        tmp_path, "us_lat.1.log", [(at, max(1, value // 1000), d, size) for at, value, d, size in lines]
    )
    with pytest.raises(Refused, match=r"us_lat.1.log: four columns.*--layout fio2-logs or fio-logs"):
        read_files([old])
    ((_, result),) = read_files([old], "fio2-logs")
    assert result.runs[0].latency_sum_ns == 1000 * sum(max(1, line[1] // 1000) for line in lines)
    assert result.runs[0].latency["read"].max_ns == 1000 * max(
        line[1] // 1000 for line in lines if line[2] == 0
    )
    ((_, result),) = read_files([old], "fio-logs")
    assert result.runs[0].latency_sum_ns == sum(max(1, line[1] // 1000) for line in lines)
    averages = log(tmp_path, "a_lat.1.log", [(500 * at, 90, 0, 0) for at in range(1, 9)])
    with pytest.raises(Refused, match="four columns"):
        read_files([averages])


def test_logs_of_one_name_in_two_folders_are_two_runs(tmp_path: Path) -> None:
    paths = []
    for folder, rate in (("a", 1000), ("b", 3000)):
        (tmp_path / folder).mkdir()
        paths.append(log(tmp_path / folder, "x_bw.1.log", [(500 * at, rate, 0, 0, 0) for at in range(1, 9)]))
    found = [run for _, result in read_files(paths) for run in result.runs]
    assert [(run.cell, run.rate_bytes_per_s) for run in found] == [
        ("fio.log x, 1", 1000 * 1024),
        ("fio.log x, 1", 3000 * 1024),
    ]


@pytest.mark.parametrize("begin_ms", [1_795_637_630_089, 14_830_264])
@pytest.mark.parametrize("window_ms", [0, 500])
def test_times_of_a_clock_are_refused(tmp_path: Path, begin_ms: int, window_ms: int) -> None:
    """Of log_unix_epoch, and of log_alternate_epoch with the clock of the machine's uptime."""
    lines: list[tuple[int, ...]] = [
        ((window_ms or 5) * at, 200, 0, 0 if window_ms else 4096, 0) for at in range(1, 7)
    ]
    path = log(tmp_path, "x_iops.1.log", [(begin_ms + line[0], *line[1:]) for line in lines])
    with pytest.raises(Refused, match=r"the times are of a clock.*log_unix_epoch"):
        run_of(path)
    assert run_of(log(tmp_path, "y_iops.1.log", lines)).elapsed_s == lines[-1][0] / 1000


def test_a_late_first_entry_that_is_a_window_or_a_small_part_is_read(tmp_path: Path) -> None:
    windows: list[tuple[int, ...]] = [(120_000 * at, 200, 0, 0, 0) for at in range(1, 4)]
    assert run_of(log(tmp_path, "x_iops.1.log", windows)).elapsed_s == 360
    assert run_of(log(tmp_path, "one_iops.1.log", windows[:1])).elapsed_s == 120
    pause: list[tuple[int, ...]] = [(61_000 * at, 2000, 0, 4096, 0) for at in range(1, 20)]
    assert run_of(log(tmp_path, "pause_lat.1.log", pause)).ops_read == 19
    with pytest.raises(Refused, match="the beginning is lost"):
        run_of(log(tmp_path, "tail_lat.1.log", pause[9:]))
