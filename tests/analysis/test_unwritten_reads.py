"""Reads of blocks that nothing had written, on virtual drives."""

from __future__ import annotations

from pathlib import Path

import pytest

from mileage import app
from mileage.model.caveat import Caveat
from mileage.report.caveat_words import caveat_words
from tests.execute.conftest import small_profile

STUDY = """
name = "reads"
question = "How fast are reads?"
target = "TARGET"
[[stage]]
name = "prepare"
prepare = ["fill"]
[[stage]]
name = "measured"
measure = ["iops", "throughput"]
[measure.iops]
workload = ["iops.random_read", "iops.random_write"]
record = "4KiB"
threads = 4
stop = { operations = 500 }
[measure.throughput]
workload = "throughput.read"
record = "128KiB"
stop = { bytes = "8MiB" }
[torture.fill]
workload = "throughput.write"
record = "1MiB"
amount = "AMOUNT"
"""


def vetoes(folder: Path, target: str, amount: str = "") -> list[Caveat]:
    """What the reads of a study find; without an amount nothing is written before."""
    text = STUDY.replace("TARGET", target).replace("AMOUNT", amount)
    if not amount:
        head, _, rest = text.partition('[[stage]]\nname = "prepare"\nprepare = ["fill"]\n')
        text = (head + rest).partition("[torture.fill]")[0]
    path = folder / "reads.toml"
    path.write_text(text)
    result = app.run(str(path), out=folder / "reads", report="text")
    return [caveat for caveat in result.caveats() if caveat.code == "unwritten-reads"]


@pytest.fixture
def drive(tmp_path: Path) -> str:
    path = tmp_path / "small-drive.toml"
    path.write_text(small_profile(8))
    return f"virtual:{path}"


def test_reads_after_a_purge_are_vetoed(tmp_path: Path, drive: str) -> None:
    (found,) = vetoes(tmp_path, drive)
    assert (found.code, found.is_veto) == ("unwritten-reads", True)
    assert "iops.random_read 4 KiB" in found.tests
    assert found.figures["unwritten_share"] == 1.0
    assert "100% of what" in caveat_words(found)


LARGE_PAGES = ",mapping_bytes=4096,page_bytes=16384"


@pytest.mark.parametrize("changes", ["", LARGE_PAGES])
def test_reads_of_a_drive_that_is_written_in_part_are_vetoed(
    tmp_path: Path, drive: str, changes: str
) -> None:
    (found,) = vetoes(tmp_path, drive + changes, "0.5x")
    assert "iops.random_read 4 KiB" in found.tests
    assert 0.4 < float(found.figures["unwritten_share"]) < 0.6


@pytest.mark.parametrize("changes", ["", LARGE_PAGES])
def test_reads_of_a_filled_drive_are_not(tmp_path: Path, drive: str, changes: str) -> None:
    assert vetoes(tmp_path, drive + changes, "1x") == []


@pytest.mark.parametrize("target", ["virtual:optane-16gb", "virtual:sata-7k2"])
def test_drives_without_flash_read_the_medium_all_the_same(tmp_path: Path, target: str) -> None:
    assert vetoes(tmp_path, target) == []
