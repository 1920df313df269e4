"""fio's histogram logs hold the histograms of its JSON+, of the same call."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mileage.errors import Refused
from tests.formats.sample_reader import SAMPLES, of, of_text

LOG = SAMPLES / "h_clat_hist.1.log"


def counts(path: Path, direction: int) -> int:
    """Operations of a direction: all columns after the third."""
    rows = [[int(field) for field in line.split(",")] for line in path.read_text().splitlines()]
    return sum(sum(row[3:]) for row in rows if row[1] == direction)


def test_the_bins_stand_where_json_plus_has_them() -> None:
    """All reads of this call are in its log."""
    (run,) = of(LOG).runs
    read = json.loads((SAMPLES / "fio-hist.json").read_text())["jobs"][0]["read"]
    assert (run.cell, run.ops_read, run.elapsed_s) == ("fio.h, job 1", read["total_ios"], 2.003)
    (other,) = of(SAMPLES / "fio-hist.json").runs
    assert run.latency["read"].buckets == other.latency["read"].buckets
    assert run.latency_p99_ns == pytest.approx(read["clat_ns"]["percentile"]["99.000000"], rel=0.02)


def test_directions_are_counted_up_to_their_last_entry() -> None:
    (run,) = of(LOG).runs
    assert (run.ops_read, run.ops_written) == (counts(LOG, 0), counts(LOG, 1))
    assert run.ops_per_s == pytest.approx(counts(LOG, 0) / 2.003 + counts(LOG, 1) / 1.518)


def test_coarse_bins_are_noted() -> None:
    (run,) = of(SAMPLES / "hc_clat_hist.1.log").runs
    assert run.ops_read == counts(SAMPLES / "hc_clat_hist.1.log", 0)
    assert "log_hist_coarseness 3 makes one bin of 8" in run.notes[0]


def test_lines_of_another_form_are_reported(tmp_path: Path) -> None:
    lines = LOG.read_text().splitlines()
    coarse = (SAMPLES / "hc_clat_hist.1.log").read_text().splitlines()[0]
    result = of_text(tmp_path, "\n".join([lines[0], coarse, "12, 0", lines[2]]) + "\n")
    assert [entry.line for entry in result.unread] == [2, 3]
    with pytest.raises(Refused, match="no histogram of fio"):
        of_text(tmp_path, "1, 0, 4096" + ", 0" * 1856 + "\n")


def test_the_jobs_of_one_call_are_no_repetitions(tmp_path: Path) -> None:
    """Of numjobs each job writes a log, with its number in the name."""
    cells = []
    for name in ("h_clat_hist.1.log", "h_clat_hist.2.log", "h_clat_hist.log"):
        (tmp_path / name).write_bytes(LOG.read_bytes())
        cells += [run.cell for run in of(tmp_path / name).runs]
    assert cells == ["fio.h, job 1", "fio.h, job 2", "fio.h"]


@pytest.mark.parametrize("begin_ms", [1_795_637_630_089, 14_830_264])
def test_times_of_a_clock_are_refused(tmp_path: Path, begin_ms: int) -> None:
    """Of log_unix_epoch, and of log_alternate_epoch with the clock of the machine's uptime."""
    lines = [line.split(",", 1) for line in LOG.read_text().splitlines()]
    text = "".join(f"{int(time) + begin_ms},{rest}\n" for time, rest in lines)
    with pytest.raises(Refused, match=r"the times are of a clock.*log_unix_epoch"):
        of_text(tmp_path, text)
