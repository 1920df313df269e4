"""The output of a drop-in command is read back by the importers: every figure, and no line that is not understood."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mileage.formats.result import Result
from mileage.store import StudyFolder
from tests.command import mileage
from tests.formats.sample_reader import of, of_text

IOZONE = {
    "single": "-s 512k -r 64k",
    "a part": "-s 512k -r 64k -i 0 -i 3 -i 7",
    "report": "-R -s 512k -r 64k -e",
    "operations": "-O -i 0 -i 1 -i 2 -e -+n -r 4K -s 256k",
    "all sizes": "-a -n 64k -g 128k -y 32k -q 128k -i 0 -i 2 -R",
    "children": "-e -+u -t 2 -r 64k -s 256k -i0 -i1 -i 8",
    "processor": "-a -n 64k -g 128k -y 32k -q 64k -i 0 -i 1 -R -+u",
    "numbers of children": "-R -O -l 1 -u 2 -r 64k -s 128k -i0",
    "data": "-+w 98 -+y 98 -+C 98 -s 512k -r 64k -i 0 -+u -M",
}


def printed(place: Path, *words: str) -> tuple[str, str]:
    done = mileage(*words, "--save", "study", cwd=place)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def rates_of(place: Path) -> list[float]:
    """Bytes per second of every test that the study folder has."""
    runs = StudyFolder.open(place / "study").content().runs()
    records = [result.record for run in runs for result in run.record.results]
    return sorted((one.bytes_read + one.bytes_written) * 1e9 / one.elapsed_ns for one in records)


@pytest.mark.parametrize("name", IOZONE)
def test_iozones_text_is_understood_to_the_last_line(name: str, tmp_path: Path) -> None:
    text, _ = printed(tmp_path, "iozone", *IOZONE[name].split())
    result = of_text(tmp_path, text)
    assert result.tool == "iozone"
    assert result.unread == []
    kept = StudyFolder.open(tmp_path / "study").content().runs()
    assert len(result.runs) == sum(len(run.record.results) for run in kept)


def test_processor_times_of_each_test_are_those_of_the_study(tmp_path: Path) -> None:
    text, _ = printed(tmp_path, "iozone", *IOZONE["processor"].split())
    runs = StudyFolder.open(tmp_path / "study").content().runs()
    records = [result.record for run in runs for result in run.record.results]
    figures = [dict(run.printed) for run in of_text(tmp_path, text).runs]
    for name, digits, kept in (
        ("wall", 6, [one.elapsed_s for one in records]),
        ("cpu", 6, [one.usage.cpu_ns / 1e9 for one in records]),
        ("percent", 2, [100 * one.usage.cpu_ns / one.elapsed_ns for one in records]),
    ):
        shown = [one[f"CPU utilization {name}"] for one in figures]
        assert len(shown) == 16
        assert sorted(shown) == pytest.approx(sorted(kept), abs=0.6 * 10**-digits)


def test_the_figures_of_a_table_are_those_of_the_study(tmp_path: Path) -> None:
    text, _ = printed(tmp_path, "iozone", *IOZONE["single"].split())
    found = sorted(run.rate_bytes_per_s or 0.0 for run in of_text(tmp_path, text).runs)
    assert found == pytest.approx(rates_of(tmp_path), abs=1024)


def test_the_worksheet_is_read_back_equal_to_the_text(tmp_path: Path) -> None:
    text, _ = printed(tmp_path, "iozone", "-Rb", "x.xls", *IOZONE["single"].split())

    def rates(result: Result) -> dict[str, float | None]:
        return {run.cell: run.rate_bytes_per_s for run in result.runs}

    sheet = of(tmp_path / "x.xls")
    assert sheet.unread == []
    assert rates(sheet) == rates(of_text(tmp_path, text))
    assert len(sheet.runs) == 13


def test_a_drop_in_command_and_its_text_give_the_same_study(tmp_path: Path) -> None:
    text, _ = printed(tmp_path, "iozone", *IOZONE["a part"].split())
    (tmp_path / "out.txt").write_text(text)
    done = mileage("import", "--strict", "out.txt", "--out", "imported", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    # Rows of the table; the sentence above it may be wrapped before a name, depending on the rates.
    assert len(re.findall(r"^iozone\.\w+ 64 KiB +1 ", done.stdout, re.MULTILINE)) == 5
