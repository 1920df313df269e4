"""A file that is cut anywhere has the figures of the whole one, or its report says what is missing."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

import pytest

from mileage.errors import Refused
from mileage.formats.result import SAMPLE_METRICS, Result
from tests.answers import fio_report
from tests.formats.sample_reader import SAMPLES, of, of_text
from tests.formats.test_hostile import CORPUS

CUTS = 8
NO_END = (".log", "bonnie.out", "fio-status.out", "fio-three-jobs.terse", ".xls")
"""Logs, which end anywhere; a table whose line of more digits follows; reports and lines of which each is whole."""
NAMES = [name for name in CORPUS if not name.endswith(NO_END)]


def figures(result: Result) -> set[tuple[str, tuple[float | None, ...]]]:
    return {
        (run.cell, tuple(getattr(run, name) for name in SAMPLE_METRICS))
        for run in result.runs
        if run.measured
    }


@pytest.mark.parametrize("name", NAMES)
def test_a_cut_file_has_no_other_figures_in_silence(tmp_path: Path, name: str) -> None:
    draw = random.Random(f"{os.environ['MILEAGE_TEST_SEED']} {name}")
    data = CORPUS[name]
    path = tmp_path / Path(name).name
    path.write_bytes(data)
    whole = figures(of(path))
    ends = [at + 1 for at, byte in enumerate(data) if byte == 10]
    for cut in (*draw.choices(ends, k=CUTS), *(draw.randrange(1, len(data)) for _ in range(CUTS))):
        path.write_bytes(data[:cut])
        try:
            result = of(path)
        except Refused:
            continue
        for cell, own in figures(result):
            known = any(
                cell == other and all(a in (None, b) for a, b in zip(own, theirs, strict=True))
                for other, theirs in whole
            )
            assert known or result.unread or result.lost, f"cut at {cut}: {cell} {own}"


@pytest.mark.parametrize("row", ["    max |", "total:         819200000"])
def test_a_row_of_diskspd_that_is_cut_within_a_number_is_not_read(tmp_path: Path, row: str) -> None:
    text = CORPUS["diskspd.txt"].decode()
    end = text.index("\n", text.index(row))
    path = tmp_path / "diskspd.txt"
    path.write_text(text[: end - 5])
    if row.startswith("total"):
        with pytest.raises(Refused, match="totals"):
            of(path)
    else:
        assert [entry.why for entry in of(path).unread] == ["no line end: it may be cut within a number"]


def test_a_cut_line_of_a_histogram_is_no_coarser_one(tmp_path: Path) -> None:
    """The first 119 of 232 fields are those of a log with bins twice as wide."""
    line = (SAMPLES / "hc_clat_hist.1.log").read_text().split("\n")[0]
    fields = line.split(", ")
    half = ", ".join(fields[: 3 + (len(fields) - 3) // 2])
    path = tmp_path / "hc_clat_hist.1.log"
    path.write_text(f"{line}\n{half}")
    assert [entry.line for entry in of(path).unread] == [2]
    path.write_text(half)
    with pytest.raises(Refused):
        of(path)


def test_the_last_clone_of_a_cut_text_is_not_the_whole_job(tmp_path: Path) -> None:
    """Of two processes of one job one is there: half of the rate is none of the job."""
    text = (SAMPLES / "fio-status.out").read_text()
    second = text.index("four: (groupid", text.index("four: (groupid") + 1)
    assert second < text.index("Run status")
    with pytest.raises(Refused, match="no result of a job"):
        of_text(tmp_path, text[:second])


def test_the_last_phase_of_a_cut_table_is_lost(tmp_path: Path) -> None:
    """Without its total a mix would have the rate of its writes."""
    text = CORPUS["elbencho.txt"].decode()
    result = of_text(tmp_path, text[: text.index("MiB/s total")])
    assert [run.cell for run in result.runs] == ["elbencho.mkdirs", "elbencho.write"]
    assert "RWMIX70, which begins in line" in result.lost[0]


def test_no_cut_of_a_terse_line_is_an_error(tmp_path: Path) -> None:
    line = (SAMPLES / "fio-terse-5.terse").read_text().rstrip("\n")
    for cut in range(len(line)):
        with pytest.raises(Refused):
            of_text(tmp_path, line[:cut])
    assert len(of_text(tmp_path, line).runs) == 1


@pytest.mark.parametrize("grouped", [False, True])
def test_a_part_of_the_jobs_of_a_cut_document_is_no_run(tmp_path: Path, grouped: bool) -> None:
    """With group_reporting one entry has the figures of all jobs."""
    jobs = [
        fio_report.job("a", numjobs="2", **({"group_reporting": "1"} if grouped else {})) for _ in range(2)
    ]
    other = fio_report.job("b", bs="64k")
    other["read"]["io_bytes"] *= 16
    text = json.dumps({"fio version": "fio-3.33", "jobs": [other, *(jobs[:1] if grouped else jobs)]})
    whole = of_text(tmp_path, text)
    cut = of_text(tmp_path, text[: text.rindex('"jobname"') - 3] if not grouped else text[:-2])
    assert [run.cell for run in whole.runs] == ["fio.randread 64 KiB", "fio.randread 4 KiB, 2 jobs"]
    assert len(cut.runs) == (2 if grouped else 1)
    assert any("of the 2 jobs 'a' the document has 1" in text for text in cut.lost) is not grouped
