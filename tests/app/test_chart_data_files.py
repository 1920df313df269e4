"""The files that a report lists, while its tables are being written in parallel."""

from __future__ import annotations

from pathlib import Path

from mileage.analysis import chart_data
from mileage.store import StudyFolder


def test_tables_in_the_making_are_not_listed(tmp_path: Path) -> None:
    for name in ("samples.parquet", ".samples-4711.parquet", ".samples-4711.jsonl"):
        (tmp_path / name).write_bytes(b"PAR1")
    assert chart_data._files(StudyFolder(tmp_path)) == [("samples.parquet", 4)]
