"""The warm-up of a run is a series of its own: in the record, the tables and what `measure` prints, nowhere else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mileage import app
from mileage.store.journal_line_check import record_problem
from tests.command import mileage

WRITES = ("measure", "-t", "virtual:plain-64gib", "-w", "random_write", "--record", "4KiB", "--seed", "7")
WARM = ("--warm-up", "3ms", "--operations", "500", "--depth", "4")


def measured(*words: str, cwd: Path) -> dict[str, int]:
    done = mileage(*WRITES, *words, "--json", cwd=cwd)
    assert done.returncode == 0, done.stderr
    (cell,) = json.loads(done.stdout)
    return dict(cell)


def test_a_warm_up_is_what_a_run_of_its_length_does(tmp_path: Path) -> None:
    """Truth: the same seed and drive, run for as long as the warm-up lasts and no longer."""
    warm = measured(*WARM, cwd=tmp_path)
    alone = measured("--for", "3ms", "--depth", "4", cwd=tmp_path)
    assert warm["ops_written"] == 500
    assert (warm["warm_up_ops"], warm["warm_up_bytes"]) == (alone["ops_written"], alone["bytes_written"])
    assert warm["warm_up_ops"] > 20
    assert (alone["warm_up_ops"], alone["warm_up_bytes"]) == (0, 0)


def test_the_tables_have_it(tmp_path: Path) -> None:
    warm = measured(*WARM, "--save", "saved", cwd=tmp_path)
    text = mileage("report", "saved", cwd=tmp_path).stdout
    assert "in none of these figures" in text
    asked = mileage(
        "query", "SELECT sum(ops), sum(bytes_written) FROM warm_up", "saved", "--json", cwd=tmp_path
    )
    (row,) = json.loads(asked.stdout)
    assert list(row.values()) == [warm["warm_up_ops"], warm["warm_up_bytes"]]
    exported = mileage("export", "csv", "saved", "--out", "tables", cwd=tmp_path)
    assert exported.returncode == 0, exported.stderr
    assert (tmp_path / "tables" / "warm_up.csv").is_file()


@pytest.mark.parametrize("name", ["bytes_read", "latency_sum_ns"])
def test_a_damaged_warm_up_is_refused(tmp_path: Path, name: str) -> None:
    measured(*WARM, "--save", "saved", cwd=tmp_path)
    record = app.load(tmp_path / "saved").content().runs()[-1].record
    assert record.warm_up is not None
    assert record_problem(record) is None
    getattr(record.warm_up, name).append(1)
    assert name in (record_problem(record) or "")
