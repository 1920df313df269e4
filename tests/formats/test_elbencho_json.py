"""elbencho's JSON has the cells of its CSV file, and bytes; compared with the documents as json reads them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mileage.errors import Refused
from tests.formats.made_results import ELBENCHO_CSV, ELBENCHO_JSON
from tests.formats.sample_reader import by_cell, of_text

WRITE = json.loads(ELBENCHO_JSON.splitlines()[0])


def test_a_phase_has_the_figures_of_the_last_thread(tmp_path: Path) -> None:
    result = of_text(tmp_path, ELBENCHO_JSON)
    run = by_cell(result)["elbencho.random_write 4 KiB, depth 8, 4 threads"]
    last = WRITE["last_done"]
    assert (result.version, result.unread, result.lost) == ("3.0-1", [], [])
    assert (run.rate_bytes_per_s, run.ops_per_s) == (int(last["bytes/s"]), int(last["iops"]))
    assert (run.elapsed_s, run.bytes_written) == (int(last["elapsed_time_ms"]) / 1000, int(last["bytes"]))
    assert run.quantiles_ns == {"min": 90e3, "mean": 795e3, "max": 20_011e3}
    assert dict(run.printed)["first_done.iops"] == int(WRITE["first_done"]["iops"])


def test_phases_without_data(tmp_path: Path) -> None:
    result = of_text(tmp_path, ELBENCHO_JSON)
    assert by_cell(result)["elbencho.rmfiles, 2 threads"].ops_per_s == 8000
    assert result.facts == {"line 2": "SYNC"}


def test_the_csv_file_of_the_same_call_has_the_same_cell_and_settings(tmp_path: Path) -> None:
    ours, theirs = of_text(tmp_path, ELBENCHO_JSON).runs[0], of_text(tmp_path, ELBENCHO_CSV).runs[0]
    assert (ours.cell, ours.kind, ours.levels, ours.outstanding) == (
        theirs.cell,
        theirs.kind,
        theirs.levels,
        theirs.outstanding,
    )
    assert ours.ops_per_s == theirs.ops_per_s
    assert ours.rate_bytes_per_s == pytest.approx(theirs.rate_bytes_per_s, rel=0.01)


def test_a_figure_that_is_no_number_is_reported(tmp_path: Path) -> None:
    result = of_text(tmp_path, ELBENCHO_JSON.replace('"bytes":"1650000000"', '"bytes":"-1650000000"'))
    assert (result.runs[0].bytes_written, result.unread[0].text) == (None, "last_done.bytes")


def test_a_file_without_a_phase_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="no phase of elbencho with a figure"):
        of_text(tmp_path, ELBENCHO_JSON.splitlines()[1] + "\n")
