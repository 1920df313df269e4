"""The output of a drop-in command is read back equal to the study that the command keeps."""

from __future__ import annotations

from pathlib import Path

import pytest

from mileage import app
from tests.command import mileage
from tests.formats.sample_reader import of

MIB = 1 << 20


def dropin(folder: Path, *words: str) -> tuple[Path, dict[str, list[float]]]:
    """Run a drop-in command. Returns what it printed, and what its study folder holds: values by cell and metric."""
    output = mileage(*words, "--study", "mileage-kept", cwd=folder)
    assert output.returncode == 0, output.stderr
    (folder / "printed").write_text(output.stdout)
    (study,) = folder.glob("mileage-*")
    kept: dict[str, list[float]] = {}
    for sample in app.load(study).samples():
        if sample.metric in ("rate_bytes_per_s", "ops_per_s"):
            kept.setdefault(sample.cell, []).append(sample.value)
    return folder / "printed", kept


def test_iozone_s_text_and_sheet(tmp_path: Path) -> None:
    printed, kept = dropin(tmp_path, "iozone", "-Rb", "sheet.xls", "-s", "1M", "-r", "64k")
    for path in (printed, tmp_path / "sheet.xls"):
        result = of(path)
        assert (result.unread, result.lost) == ([], [])
        read = {run.cell: run.rate_bytes_per_s for run in result.runs}
        assert read == {cell: value // 1024 * 1024 for cell, (value,) in kept.items()}, (
            "a whole kB, of 1024 bytes"
        )


def test_iozone_s_operations(tmp_path: Path) -> None:
    printed, kept = dropin(
        tmp_path, "iozone", "-O", "-i", "0", "-i", "2", "-+n", "-e", "-s", "1M", "-r", "4k"
    )
    result = of(printed)
    assert result.unread == []
    assert {run.cell: run.ops_per_s for run in result.runs} == {
        cell: pytest.approx(value, abs=1) for cell, (value,) in kept.items()
    }


def test_iozone_s_processes(tmp_path: Path) -> None:
    printed, kept = dropin(tmp_path, "iozone", "-t", "2", "-s", "512k", "-r", "64k", "-i", "0", "-i", "1")
    result = of(printed)
    assert (result.unread, result.lost) == ([], [])
    assert {run.cell for run in result.runs} == set(kept)
    assert {run.levels["processes"] for run in result.runs} == {"2"}


@pytest.mark.parametrize("layout", ["text", "JSON", "CSV"])
def test_ior(tmp_path: Path, layout: str) -> None:
    summary = [] if layout == "text" else ["-O", f"summaryFormat={layout}"]
    printed, kept = dropin(
        tmp_path, "ior", "-b", "256k", "-t", "64k", "-s", "2", "-i", "2", "-F", "-o", "f", *summary
    )
    result = of(printed)
    assert (result.unread, result.lost) == ([], [])
    read: dict[str, list[float]] = {}
    for run in result.runs:
        read.setdefault(run.cell, []).append((run.rate_bytes_per_s or 0) / MIB)
    assert read == {
        cell: pytest.approx([value / MIB for value in values], abs=0.51) for cell, values in kept.items()
    }


def test_metarates_and_mdtest(tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    for folder in (first, second):
        (folder / "d").mkdir(parents=True)
    printed, kept = dropin(first, "metarates", "-d", "d", "-n", "40", "-C", "-S", "-U")
    result = of(printed)
    assert result.unread == []
    assert {run.cell: run.ops_per_s for run in result.runs} == {
        cell: pytest.approx(value, rel=1e-3) for cell, (value,) in kept.items()
    }
    printed, kept = dropin(second, "mdtest", "-n", "40", "-d", "d", "-F")
    result = of(printed)
    assert (result.unread, result.lost) == ([], [])
    files = {run.cell.partition(".file_")[2]: run.ops_per_s for run in result.runs if ".file_" in run.cell}
    assert len(files) == 4
    assert {round(value or 0) for value in files.values()} <= {round(value) for (value,) in kept.values()}
