"""What sysbench prints of fileio becomes runs, one for each call."""

from __future__ import annotations

from pathlib import Path

import pytest

from mileage.errors import Refused
from tests.formats.sample_reader import SAMPLES, by_cell, of, of_text

TEXT = (SAMPLES / "sysbench-fileio.out").read_text()
TESTS = {"sequential write (creation)": "seqwr", "random read": "rndrd", "random r/w": "rndrw"}


def blocks() -> dict[str, dict[str, float]]:
    """The figures of each call, cut at the tool's name and at colons."""
    found = {}
    for call in TEXT.split("sysbench 1.0.20")[1:]:
        lines = [line.strip() for line in call.splitlines()]
        test = next((line[6:-5] for line in lines if line.startswith("Doing ")), None)
        if test is None:
            continue
        pairs = [line.rsplit(":", 1) for line in lines if ":" in line]
        texts = {name: value.strip().removesuffix("s") for name, value in pairs}
        found[TESTS[test]] = {
            name: float(value) for name, value in texts.items() if value.replace(".", "", 1).isdigit()
        }
    return found


def test_each_call_is_a_run_with_the_figures_that_it_prints() -> None:
    result = of(SAMPLES / "sysbench-fileio.out")
    assert (result.tool, result.version, result.unread, result.lost) == ("sysbench", "1.0.20", [], [])
    expected = blocks()
    runs = {cell.split()[0].removeprefix("sysbench."): run for cell, run in by_cell(result).items()}
    assert set(runs) == {*expected, "prepare"}
    for test, figures in expected.items():
        run = runs[test]
        ops = figures["reads/s"] + figures["writes/s"]
        assert run.ops_per_s == ops
        assert run.rate_bytes_per_s == ops * 16384
        assert run.rate_bytes_per_s == pytest.approx(
            (figures["read, MiB/s"] + figures["written, MiB/s"]) * 2**20, abs=0.011 * 2**20
        )
        assert run.elapsed_s == figures["total time"]
        assert run.latency_p99_ns == figures["99th percentile"] * 1e6
        assert run.latency_sum_ns == figures["sum"] * 1e6
        assert run.outstanding == figures["Number of threads"] == 2
        assert dict(run.printed)["fsyncs/s"] == figures["fsyncs/s"]
    assert (runs["prepare"].bytes_written, runs["prepare"].elapsed_s) == (32 << 20, 0.11)
    assert runs["prepare"].rate_bytes_per_s == 302.52 * 2**20


def test_the_cell_has_the_test_and_its_settings() -> None:
    runs = by_cell(of(SAMPLES / "sysbench-fileio.out"))
    run = runs["sysbench.rndrw 16 KiB, 60 % reads, 2 threads"]
    assert (run.kind, run.levels["fsync"], run.levels["I/O mode"]) == ("iops", "100 requests", "synchronous")
    assert dict(run.printed)["2 s: writes (MiB/s)"] == 123.93
    assert runs["sysbench.seqwr 16 KiB, 2 threads"].kind == "throughput"


def test_a_histogram_is_no_figure_and_the_95th_percentile_is_kept() -> None:
    result = of(SAMPLES / "sysbench-histogram.out")
    (run,) = result.runs
    assert (result.unread, run.latency_p99_ns) == ([], None)
    assert dict(run.printed)["95th percentile"] == 0.10


def test_a_rate_that_does_not_fit_the_operations_is_taken_as_printed(tmp_path: Path) -> None:
    text = TEXT.replace("read, MiB/s:                  129.10", "read, MiB/s:                  29.10")
    run = by_cell(of_text(tmp_path, text))["sysbench.rndrw 16 KiB, 60 % reads, 2 threads"]
    assert run.rate_bytes_per_s == pytest.approx((29.10 + 86.07) * 2**20)


def test_an_interrupted_call_is_lost(tmp_path: Path) -> None:
    result = of_text(tmp_path, TEXT[: TEXT.rindex("File operations")])
    assert len(result.runs) == 3
    assert "has no reads/s and writes/s: was it interrupted" in result.lost[0]


def test_other_versions_and_tests_are_refused(tmp_path: Path) -> None:
    old = "sysbench 0.4.12:  multi-threaded system evaluation benchmark\n\nExtra file open flags: 0\n"
    with pytest.raises(Refused, match=r"sysbench 0\.4\.12; expected sysbench 1\.0"):
        of_text(tmp_path, old)
    with pytest.raises(Refused, match="of another test than fileio"):
        of_text(tmp_path, "sysbench 1.0.20\nRunning the test with following options:\nCPU speed:\n")


def test_an_output_without_its_first_line_is_read(tmp_path: Path) -> None:
    """`tail`, and a script that cuts the head, lose the version; of sysbench before 1.0 the figures show it."""
    text = (SAMPLES / "sysbench-histogram.out").read_text()
    head, _, rest = text.partition("\n")
    assert head.startswith("sysbench 1.0")
    result = of_text(tmp_path, rest)
    assert (result.version, result.unread) == (None, [])
    assert [run.printed for run in result.runs] == [run.printed for run in of_text(tmp_path, text).runs]
    old = rest.replace(
        "File operations:", "Operations performed:  6000 Read, 4000 Write, 12800 Other = 22800 Total"
    )
    with pytest.raises(Refused, match=r"Operations performed.*expected sysbench 1\.0"):
        of_text(tmp_path, old)


def test_a_call_of_another_test_in_the_file_is_no_run(tmp_path: Path) -> None:
    """The processor test of sysbench prints a total time and latencies too."""
    cpu = (
        "sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)\n\nRunning the test with following options:\n"
        "Number of threads: 1\n\nPrime numbers limit: 10000\n\nCPU speed:\n    events per second:  1508.95\n\n"
        "General statistics:\n    total time:                          1.0060s\n"
        "    total number of events:              1519\n\nLatency (ms):\n         min: 0.22\n         avg: 0.66\n"
    )
    text = (SAMPLES / "sysbench-histogram.out").read_text()
    alone, both = (of_text(tmp_path, one) for one in (text, text + cpu))
    assert len(both.runs) == len(alone.runs)
    assert "of another test than fileio" in both.lost[0]
