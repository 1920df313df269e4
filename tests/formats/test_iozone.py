"""IOzone's text and spreadsheet say the same, in IOzone's units, and nothing of them is lost in silence."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mileage.errors import Refused
from tests.formats.sample_reader import SAMPLES, by_cell, of, of_text


@pytest.mark.parametrize(("name", "runs"), [("single", 13), ("auto", 390), ("thrR", 4)])
def test_the_text_and_the_spreadsheet_of_one_run_say_the_same(name: str, runs: int) -> None:
    text, sheet = of(SAMPLES / f"iozone-{name}.out"), of(SAMPLES / f"iozone-{name}.xls")
    assert (text.unread, text.lost, sheet.unread, sheet.lost) == ([], [], [], [])
    rates = {cell: run.rate_bytes_per_s for cell, run in by_cell(text).items()}
    assert rates == {cell: run.rate_bytes_per_s for cell, run in by_cell(sheet).items()}
    assert len(rates) == runs
    assert text.command == sheet.command
    assert (text.version, sheet.version) == ("3.471", None)


def test_a_kb_is_1024_bytes_and_time_follows_from_the_rate() -> None:
    run = by_cell(of(SAMPLES / "iozone-single.out"))["iozone.random_write 1 MiB"]
    (row,) = re.findall(r"^ +8192 +1024 .*$", (SAMPLES / "iozone-single.out").read_text(), re.MULTILINE)
    printed = int(row.split()[2 + 5])
    assert run.rate_bytes_per_s == printed * 1024
    assert (run.bytes_written, run.ops_written, run.bytes_read) == (8 << 20, 8, 0)
    assert run.elapsed_s == pytest.approx((8 << 20) / (printed * 1024))
    assert run.ops_per_s is None, "IOzone did not say it"


def test_blank_columns_are_tests_that_were_not_done() -> None:
    result = of(SAMPLES / "iozone-ops.out")
    assert {cell: run.ops_per_s for cell, run in by_cell(result).items()} == {
        "iozone.write 4 KiB": 144233,
        "iozone.read 4 KiB": 945944,
        "iozone.random_read 4 KiB": 769307,
        "iozone.random_write 4 KiB": 206514,
    }
    assert all(run.rate_bytes_per_s is None for run in result.runs)


def test_processes_are_known_by_what_the_children_saw() -> None:
    result = of(SAMPLES / "iozone-thr.out")
    assert (result.unread, result.lost) == ([], [])
    found = by_cell(result)
    assert [cell.split(".")[1].split(" ")[0] for cell in found] == (
        [
            "write",
            "rewrite",
            "read",
            "reread",
            "backward_read",
            "stride_read",
            "random_read",
            "mix",
            "random_write",
        ]
    )
    mix = found["iozone.mix 64 KiB"]
    assert mix.rate_bytes_per_s == 6413834.88 * 1024
    printed = dict(mix.printed)
    assert printed["Parent sees throughput kB/sec"] == 2540122.12
    assert printed["Min xfer kB"] == 4096
    assert printed["CPU utilization percent"] == 66.11
    words = [note for run in result.runs for note in run.notes]
    assert len(words) == 1
    assert words[0].startswith(
        "iozone.mix 64 KiB: the children saw 2.53 times what the parent saw (in 9 of 9"
    )


def test_operations_of_processes_and_microseconds() -> None:
    ops = by_cell(of(SAMPLES / "iozone-thrO.out"))
    assert ops["iozone.reread 64 KiB"].ops_per_s == 286048.58
    micro = of(SAMPLES / "iozone-microseconds.out")
    assert by_cell(micro)["iozone.write 256 KiB, file 256 KiB"].ops_per_s == pytest.approx(1e6 / 75)
    zeros = len(
        re.findall(r"(?<= )0(?= |$)", (SAMPLES / "iozone-microseconds.out").read_text().split("freread")[1])
    )
    assert [entry.why for entry in micro.unread].count("read: too short for whole microseconds") > 0
    assert len(micro.unread) == zeros


def test_a_report_alone_is_read_and_one_that_differs_is_noted(tmp_path: Path) -> None:
    text = (SAMPLES / "iozone-auto.out").read_text()
    alone = of_text(tmp_path, text[text.index('"Writer report"') :])
    assert {cell: run.rate_bytes_per_s for cell, run in by_cell(alone).items()} == {
        cell: run.rate_bytes_per_s for cell, run in by_cell(of(SAMPLES / "iozone-auto.out")).items()
    }
    before, after = text.split("Excel output", 1)
    figure = re.findall(r'"128"\s+([0-9]+)', after)[0]
    wrong = of_text(tmp_path, f"{before}Excel output{after.replace(figure, '17', 1)}")
    assert [entry.why for entry in wrong.unread] == [
        f"the report has 17.00 where the output before it has {float(figure):.2f}"
    ]


def test_outputs_in_one_file_are_repetitions_and_one_cut_short_is_noted(tmp_path: Path) -> None:
    text = (SAMPLES / "iozone-ops.out").read_text()
    twice = of_text(tmp_path, text + text)
    assert len(twice.runs) == 8
    torn = of_text(tmp_path, text + text[: text.index("iozone test complete")])
    assert len(torn.runs) == 8
    assert torn.lost == [f"IOzone, begun in line {len(text.splitlines()) + 1}, did not come to its end"]


def test_a_line_of_somebody_else_is_named(tmp_path: Path) -> None:
    lines = (SAMPLES / "iozone-ops.out").read_text().splitlines()
    lines.insert(31, "mount.nfs: server not responding")
    result = of_text(tmp_path, "\n".join(lines))
    assert [(entry.line, entry.text) for entry in result.unread] == [(32, "mount.nfs: server not responding")]


def test_a_sheet_cut_short_gives_what_is_whole(tmp_path: Path) -> None:
    data = (SAMPLES / "iozone-single.xls").read_bytes()
    path = tmp_path / "cut.xls"
    whole = by_cell(of(SAMPLES / "iozone-single.xls"))
    seen = set()
    for cut in range(400, len(data) - 4, 61):
        path.write_bytes(data[:cut])
        result = of(path)
        assert len(result.lost) == 1
        assert "without the record that ends a sheet" in result.lost[0]
        for run in result.runs:
            assert run.rate_bytes_per_s == whole[run.cell].rate_bytes_per_s
        seen.add(len(result.runs))
    assert seen == set(range(14)) or seen == set(range(13))


def test_another_spreadsheet_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.xls"
    path.write_bytes(b"\xd0\xcf\x11\xe0" + b"\0" * 600)
    with pytest.raises(Refused, match="does not begin as a BIFF2 spreadsheet"):
        of(path, "iozone-sheet")
