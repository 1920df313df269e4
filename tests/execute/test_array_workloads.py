"""Workloads that distinguish the levels of arrays, as studies: a stride that misses the striping, and a database."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from statistics import fmean

import pytest

from mileage import app
from tests.house.repository import ROOT


def rates(example: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """Operations per second of each test of an example, as the mean of its runs."""
    monkeypatch.chdir(ROOT)
    result = app.run(f"examples/{example}.toml", out=folder / "out", report="none")
    found = defaultdict(list)
    for sample in result.samples():
        if sample.metric == "ops_per_s":
            found[sample.cell].append(sample.value)
    return {cell: fmean(values) for cell, values in found.items()}


def test_a_stride_of_a_whole_row_meets_one_member(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = rates("array_strides", tmp_path, monkeypatch)
    # Four members that are all kept at work do four times what one does.
    assert found["on_all_members 16 KiB"] == pytest.approx(4 * found["on_one_member 16 KiB"], rel=0.03)


@pytest.mark.slow
def test_a_database_is_served_better_by_copies_than_by_parity(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = rates("database_arrays", tmp_path, monkeypatch)
    for kind in ("disks", "flash"):
        read, write, both = (
            found[f"{workload} 8 KiB, array raid10_{kind}"] / found[f"{workload} 8 KiB, array raid5_{kind}"]
            for workload in ("sqlio.random_read", "sqlio.random_write", "iometer.database")
        )
        # Reads ask one member for each; a write asks two instead of four, of which two are the reads before it.
        assert read == pytest.approx(1, rel=0.1)
        assert 1.2 < write < 2
        assert read < both < write
