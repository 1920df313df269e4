"""What a user asks about percentiles: are they those of the operations, and are there enough of them?"""

from __future__ import annotations

import csv
import math
import re
from pathlib import Path

import pytest

from tests.answers.drive_profile import write_profile
from tests.answers.question import ask, ask_json, suppose


def logged(path: Path) -> list[dict[str, str]]:
    """The rows of `--log`."""
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_printed_percentiles_are_those_of_the_log(tmp_path: Path) -> None:
    """Are the p50, p90 and p99 those of the single operations?

    Truth: the nearest rank in the sorted list of the latencies in the log. 1 % is left for the buckets of a histogram.
    """
    (tmp_path / "d").mkdir()
    words = ("-w", "random_read", "--size", "4MiB", "--operations", "3000", "--log", "log.csv")
    cell = ask_json("measure", "-t", "dir:d", *words, cwd=tmp_path)[0]
    latencies = sorted(int(row["end_ns"]) - int(row["start_ns"]) for row in logged(tmp_path / "log.csv"))
    assert len(latencies) == 3000
    for name, share in (("p50_ns", 0.5), ("p90_ns", 0.9), ("p99_ns", 0.99)):
        expected = latencies[math.ceil(share * 3000) - 1]
        assert cell["latency"]["all"][name] == pytest.approx(expected, rel=0.01), name
    assert cell["latency"]["all"]["max_ns"] == latencies[-1]
    assert cell["latency"]["all"]["mean_ns"] == pytest.approx(sum(latencies) / 3000, rel=1e-6)


def test_the_operations_of_the_log_are_those_of_the_figures(tmp_path: Path) -> None:
    """Does the log hold every operation that is counted?

    Truth: 700 operations of 8 KiB are 5,734,400 bytes, by arithmetic; the log, the JSON and the arithmetic agree.
    """
    (tmp_path / "d").mkdir()
    words = ("-w", "mix", "-r", "8KiB", "--size", "4MiB", "--operations", "700", "--log", "log.csv")
    cell = ask_json("measure", "-t", "dir:d", *words, cwd=tmp_path)[0]
    rows = logged(tmp_path / "log.csv")
    for kind, key in (("read", "bytes_read"), ("write", "bytes_written")):
        assert sum(int(row["length_bytes"]) for row in rows if row["kind"] == kind) == cell[key]
    assert cell["bytes_read"] + cell["bytes_written"] == 700 * 8192


def test_a_percentile_of_thirty_operations_is_marked(tmp_path: Path) -> None:
    """What is the p99.9 of 30 operations?

    Truth: nobody knows: the thousandth part of 30 is 0.03 of an operation; the largest of 30 is below the p99 with
    probability 0.99^30, in three of four measurements.
    """
    words = ("-w", "random_read", "--size", "1MiB", "--operations", "30")
    printed = ask("measure", "-t", write_profile(tmp_path), *words, cwd=tmp_path)
    (line,) = [line for line in printed.splitlines() if line.strip().startswith("latency")]
    figures = re.search(r"p99\.9 [\d.]+ .?s", line)
    assert figures is None or re.search(r"too few|few operations|not known|\?", printed), printed


def test_a_percentile_of_few_operations_is_marked_wherever_it_stands(tmp_path: Path) -> None:
    """Which percentiles of a scan, of a saved table and of a search can I quote?

    Truth: of 2000 operations 20 lie beyond the p99, and two beyond the p99.9.
    """
    target = write_profile(tmp_path)
    words = ("measure", "-t", target, "-w", "random_read", "--size", "1MiB", "--operations", "2000")
    scan = ask(*words, "--vary", "depth=1,2", "--save", "out", cwd=tmp_path)
    rows = [line.split() for line in scan.splitlines() if re.match(" +[12] ", line)]
    heads = next(line.split() for line in scan.splitlines() if line.startswith("depth"))
    suppose(len(rows) == 2 and "p99.9" in heads, scan)
    # "85.1 us" is two words.
    assert all(row[-3] == "-" and row[-2:] != ["-", "-"] for row in rows), scan
    assert "too few" in scan
    with (tmp_path / "out" / "tables" / "measured.csv").open(newline="") as file:
        table = list(csv.DictReader(file))
    assert all(row["latency_p99_ns"] and not row["latency_p99_9_ns"] for row in table)
    search = ask(*words, "--latency-target", "p99.9=1ms", cwd=tmp_path)
    assert re.search(r"too few", search.split("is kept up to")[0]), search


def test_the_percentile_of_a_mix_is_that_of_all_operations(tmp_path: Path) -> None:
    """Which p99 is judged when I compare a mix of reads and writes?

    Truth: 30 % of the operations are writes, and a write takes 1 + 13.65 + 20.48 + 200 = 235 us on this drive, a read
    85 us. So 235 us is the p99 of all; a figure of one direction alone must be called so.
    """
    words = ("-w", "mix", "--size", "8MiB", "--operations", "1000", "--save", "out")
    cell = ask_json("measure", "-t", write_profile(tmp_path), *words, cwd=tmp_path)[0]
    suppose(cell["latency"]["all"]["p99_ns"] == pytest.approx(235_133, rel=0.01), "235 us is the p99 of all")
    rows = ask_json("query", "SELECT * FROM samples WHERE metric LIKE '%p99%'", "out", cwd=tmp_path)
    for row in rows:
        if "read" not in row["metric"] and "write" not in row["metric"]:
            assert row["value"] == pytest.approx(235_133, rel=0.01), row
