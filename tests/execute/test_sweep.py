"""A grid of virtual drives gives one table, whoever does which part of it."""

from __future__ import annotations

import csv
import io
import math
import os
import re
from pathlib import Path

import pytest

from mileage.app.sweep import sweep
from mileage.errors import Refused
from tests.command import mileage
from tests.execute import mpi_runs

STUDY = """
name = "grid"
target = "virtual:{drive}"
seed = 5
[[stage]]
name = "now"
measure = ["w"]
[measure.w]
workload = ["iops.random_write", "iops.random_read"]
record = "4KiB"
depth = 4
stop = {{ operations = 1000 }}
repeat = 1
[factor.program]
kind = "profile"
key = "program_us"
levels = {programs}
[factor.read]
kind = "profile"
key = "read_us"
levels = {reads}
"""


def grid(place: Path, programs: int, reads: int) -> Path:
    """A study of that many drives, each the small one of the page on drives with other figures."""
    docs = Path(__file__).parents[2] / "docs"
    text = (docs / "reference" / "drive-profiles.md").read_text(encoding="utf-8")
    drive = place / "small.toml"
    found = re.search(r"```toml\n(.*?)```", text, re.DOTALL)
    assert found is not None
    drive.write_text(found[1], encoding="utf-8")
    path = place / "grid.toml"
    levels = {
        "programs": [200 + 10 * n for n in range(programs)],
        "reads": [40 + 5 * n for n in range(reads)],
    }
    path.write_text(STUDY.format(drive=drive, **levels), encoding="utf-8")
    return path


def test_processes_give_the_table_of_one(tmp_path: Path) -> None:
    study = str(grid(tmp_path, 3, 2))
    alone = sweep(study, processes=1)
    assert len(alone) == 6 * 2 * 2
    assert [(row["program"], row["read"]) for row in alone[::4]] == [
        (str(program), str(read)) for program in (200, 210, 220) for read in (40, 45)
    ]
    assert len({row["value"] for row in alone if row["cell"].startswith("iops.random_write")}) > 2
    assert sweep(study, processes=2) == alone


def test_counters_are_columns_and_write_amplification_is_drawn(tmp_path: Path) -> None:
    study, chart, table = str(grid(tmp_path, 3, 2)), tmp_path / "grid.svg", tmp_path / "grid.csv"
    words = (
        "sweep",
        study,
        "--counter",
        "flash_bytes_programmed",
        "--chart",
        str(chart),
        "--out",
        str(table),
    )
    done = mileage(*words)
    assert done.returncode == 0, done.stderr
    rows = list(csv.DictReader(table.open(encoding="utf-8")))
    for row in rows:
        writes = row["cell"].startswith("iops.random_write")
        assert (row["write_amplification"] != "") == writes
        if writes:
            # 1,000 writes of 4 KiB, each of whose pages is programmed at least once.
            assert (
                float(row["write_amplification"]) == int(row["flash_bytes_programmed"]) / (1000 * 4096) >= 1
            )
    svg = chart.read_text(encoding="utf-8")
    assert "write amplification" in svg
    assert all(level in svg for level in ("200", "210", "220"))
    assert mileage(*words).returncode == 0
    for result in (chart, table):
        result.write_text("mine")
        assert mileage(*words).returncode == 2
        assert result.read_text() == "mine"
        result.unlink()
    for words, expected in [
        (("--counter", "no_such"), "give one of"),
        (("--counter", "value"), "that column is there already"),
        (("--chart", "grid.gif"), "ends in .svg or .png"),
    ]:
        refused = mileage("sweep", study, *words)
        assert refused.returncode == 2
        assert expected in refused.stderr


@pytest.mark.skipif(bool(mpi_runs.MISSING), reason=f"not here: {mpi_runs.MISSING}")
def test_a_sweep_gives_one_table_with_any_number_of_ranks(tmp_path: Path) -> None:
    thorough = os.environ.get("MILEAGE_TEST_PROFILE") == "thorough"
    levels = (20, 10) if thorough else (6, 5)
    study = str(grid(tmp_path, *levels))
    tables = []
    for ranks in (1, 2, 4) if thorough else (1, 4):
        out = tmp_path / f"table-{ranks}.csv"
        mpi_runs.run(ranks, "sweep", study, "--out", str(out))
        tables.append(out.read_text(encoding="utf-8"))
    assert len(set(tables)) == 1
    rows = list(csv.DictReader(io.StringIO(tables[0])))
    assert len({(row["program"], row["read"]) for row in rows}) == math.prod(levels)
    assert len(rows) == math.prod(levels) * 2 * 2


def test_what_cannot_be_swept_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match=r"has no \[factor.NAME\] to sweep over"):
        sweep("degradation")
    path = grid(tmp_path, 1, 1)
    text = path.read_text(encoding="utf-8")
    path.write_text(re.sub(r'target = ".*"', f'target = "dir:{tmp_path}"', text), encoding="utf-8")
    with pytest.raises(Refused, match=r"only virtual drives are swept|profile"):
        sweep(str(path))
