"""CrystalDiskMark's texts: each line a run in MB of 10^6 bytes; the figures compared with words cut at blanks."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mileage.app.importer import name_settings
from mileage.errors import Refused
from tests.formats.made_results import CRYSTALDISKMARK_3, CRYSTALDISKMARK_6, CRYSTALDISKMARK_8
from tests.formats.sample_reader import by_cell, of, of_text

TEXTS = {"3.0.3": CRYSTALDISKMARK_3, "6.0.2": CRYSTALDISKMARK_6, "8.0.4": CRYSTALDISKMARK_8}
CELLS = {
    "3.0.3": [
        "sequential_read",
        "random_read 512 KiB",
        "random_read 4 KiB",
        "random_write 4 KiB, depth 32",
    ],
    "6.0.2": [
        "sequential_read, depth 32",
        "sequential_write, depth 32",
        "random_read 4 KiB, depth 8, 8 threads",
        "random_write 4 KiB",
        "sequential_read",
    ],
    "8.0.4": [
        "sequential_read 1 MiB, depth 8",
        "sequential_read 128 KiB, depth 32",
        "random_read 4 KiB, depth 32, 16 threads",
        "random_read 4 KiB",
        "sequential_write 1 MiB, depth 8",
        "random_write 4 KiB",
    ],
}


def words_of(text: str) -> list[tuple[float, float | None]]:
    """MB/s and IOPS of each line of a result: the words before their units."""
    found = []
    for line in text.splitlines():
        words = line.replace("]", " ]").split()
        if "MB/s" in words and not line.startswith("*"):
            rate = float(words[words.index("MB/s") - 1])
            found.append((rate, float(words[words.index("IOPS") - 1]) if "IOPS" in words else None))
    return found


@pytest.mark.parametrize("version", TEXTS)
def test_each_line_is_a_run(tmp_path: Path, version: str) -> None:
    result = of_text(tmp_path, TEXTS[version])
    assert (result.version, result.unread, result.lost) == (version, [], [])
    assert [run.cell.removeprefix("crystaldiskmark.") for run in result.runs] == CELLS[version]
    expected = words_of(TEXTS[version])
    assert [run.rate_bytes_per_s for run in result.runs] == [rate * 1_000_000 for rate, _ in expected]
    assert [run.ops_per_s for run in result.runs] == [iops for _, iops in expected]
    assert result.began is not None
    assert result.machine["os"].startswith("Windows")


def test_the_figure_is_noted_as_the_best_and_its_latency_is_of_another_repetition(tmp_path: Path) -> None:
    run = of_text(tmp_path, CRYSTALDISKMARK_8).runs[2]
    first = of_text(tmp_path, CRYSTALDISKMARK_6).runs[0]
    assert (run.quantiles_ns, run.outstanding, dict(run.printed)["us"]) == ({}, 512, 1386.12)
    assert "the best of 3 repetitions" in first.notes[0]
    assert run.levels == {
        "profile": "Default",
        "drive": "D:",
        "test size": "1 GiB (x5)",
        "mode": "[Admin]",
        "time": "Measure 5 sec / Interval 5 sec",
    }


def test_texts_one_after_another_are_repetitions(tmp_path: Path) -> None:
    other = CRYSTALDISKMARK_8.replace("3512.345", "3498.001")
    result = of_text(tmp_path, CRYSTALDISKMARK_8 + "\n" + other)
    same = [run for run in result.runs if run.cell.endswith("sequential_read 1 MiB, depth 8")]
    assert [run.rate_bytes_per_s for run in same] == [3512.345e6, 3498.001e6]
    assert len({run.call for run in same}) == 2


def test_a_text_in_utf_16_is_read(tmp_path: Path) -> None:
    """CrystalDiskMark saves UTF-16 with a mark."""
    path = tmp_path / "cdm.txt"
    path.write_bytes(CRYSTALDISKMARK_8.replace("\n", "\r\n").encode("utf-16"))
    assert len(by_cell(of(path))) == 6


def test_megabytes_without_a_meaning_are_refused(tmp_path: Path) -> None:
    text = CRYSTALDISKMARK_8.replace("* MB/s = 1,000,000 bytes/s [SATA/600 = 600,000,000 bytes/s]\n", "")
    with pytest.raises(Refused, match="no heading states what MB means"):
        of_text(tmp_path, text)


def test_a_line_outside_read_and_write_is_reported(tmp_path: Path) -> None:
    result = of_text(tmp_path, CRYSTALDISKMARK_8.replace("[Read]\n", ""))
    assert len(result.runs) == 2
    assert len(result.unread) == 4


def test_a_test_that_was_not_run_is_no_rate_of_zero(tmp_path: Path) -> None:
    text = CRYSTALDISKMARK_8.replace("180.442 MB/s [  44053.2", "0.000 MB/s [      0.0")
    result = of_text(tmp_path, text)
    assert [run.cell for run in result.runs if "random_write" in run.cell] == []
    assert result.facts["line 16"] == "random_write: not run (0.000 MB/s)"
    zeros = re.sub(r"[0-9]+\.[0-9]{3} MB/s", "0.000 MB/s", CRYSTALDISKMARK_8)
    with pytest.raises(Refused, match=r"each test has 0\.000 MB/s: none was run"):
        of_text(tmp_path, zeros)


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_a_fuller_drive_is_no_other_cell_and_another_drive_is(tmp_path: Path, text: str) -> None:
    """The letter of the drive stands before its fill level, as in D: 12% (57/466GiB)."""
    letter = re.findall(r"\[([A-Z]): [0-9]", text)[0]
    fuller = re.sub(r": [0-9.]+% \([0-9.]+/", ": 77% (300.1/", text)
    assert fuller != text
    for other, cells in ((fuller, 1), (fuller.replace(f"[{letter}:", "[X:"), 2)):
        files = [of_text(tmp_path, one).runs for one in (text, other)]
        name_settings(files)
        first = files[0][0].cell.partition(", drive")[0]
        assert len({run.cell for runs in files for run in runs if run.cell.startswith(first)}) == cells
    assert set(of_text(tmp_path, text).facts.values()) <= {
        "D: 12% (57/466GiB)",
        "C: 26.4% (122.8/465.2 GiB)",
        "G: 0.1% (5.0/931.4 GB)",
    }


def test_a_section_of_another_language_is_not_the_one_before(tmp_path: Path) -> None:
    result = of_text(tmp_path, CRYSTALDISKMARK_8.replace("[Write]", "[Schreiben]"))
    assert [run.cell.partition(" ")[0] for run in result.runs] == [
        "crystaldiskmark.sequential_read",
        "crystaldiskmark.sequential_read",
        "crystaldiskmark.random_read",
        "crystaldiskmark.random_read",
    ]
    assert [entry.line for entry in result.unread] == [14, 15, 16]
    with pytest.raises(Refused, match=r"line 8 has '\[Lesen\]'"):
        of_text(tmp_path, CRYSTALDISKMARK_8.replace("[Write]", "[Schreiben]").replace("[Read]", "[Lesen]"))
