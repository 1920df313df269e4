"""bonnie++'s line and table: each test a run, and what has no figure is reported."""

from __future__ import annotations

from pathlib import Path

import pytest

from mileage.errors import Refused
from tests.formats.sample_reader import SAMPLES, by_cell, of, of_text

LINE = (SAMPLES / "bonnie-2.csv").read_text()
TESTS = ("putc", "put_block", "rewrite", "getc", "get_block", "seeks")
FILES = ("seq_create", "seq_stat", "seq_del", "ran_create", "ran_stat", "ran_del")


def figures(line: str) -> dict[str, str]:
    """The figures of a line of format 1.98, by their places: six from the 10th field, six from the 27th."""
    fields = line.strip().split(",")
    return dict(zip((*TESTS, *FILES), [*fields[9:21:2], *fields[26:38:2]], strict=True))


def test_each_test_of_a_line_is_a_run_with_its_figure() -> None:
    result = of(SAMPLES / "bonnie-2.csv")
    expected = {name: float(text) for name, text in figures(LINE).items() if "+" not in text}
    runs = {cell.removeprefix("bonnie."): run for cell, run in by_cell(result).items()}
    assert (result.tool, result.version, result.machine) == ("bonnie++", "2.00a", {"host": "host"})
    assert set(runs) == set(expected)
    assert len(expected) >= 9
    for name, value in expected.items():
        data = name in TESTS[:5]
        assert runs[name].rate_bytes_per_s == (value * 1024 if data else None)
        assert runs[name].ops_per_s == (None if data else value)
        assert runs[name].levels["concurrency"] == "2"
    assert runs["putc"].quantiles_ns == {"max": 82_199_000}
    assert runs["seeks"].quantiles_ns == {"max": 119_000_000}
    assert dict(runs["rewrite"].printed)["rewrite CPU (%)"] == 15


def test_what_was_too_short_is_reported() -> None:
    result = of(SAMPLES / "bonnie-2.csv")
    missing = {name for name, text in figures(LINE).items() if "+" in text}
    assert (
        {entry.text.split()[0] for entry in result.unread} == missing == {"get_block", "seq_stat", "ran_stat"}
    )
    assert "too short to be measured" in result.unread[0].why


def test_the_table_has_the_rates_of_the_line_in_three_digits() -> None:
    table, line = (by_cell(of(SAMPLES / name)) for name in ("bonnie-table.out", "bonnie-2.csv"))
    assert set(table) == set(line)
    for cell, run in table.items():
        wanted = line[cell].rate_bytes_per_s or line[cell].ops_per_s
        assert (run.rate_bytes_per_s or run.ops_per_s) == pytest.approx(wanted, rel=0.005), cell
        assert run.quantiles_ns == line[cell].quantiles_ns, "the row Latency has the longest of each test"
        assert run.quantiles_ns["max"] > 1e6


def test_a_file_with_table_and_line_is_read_by_the_line(tmp_path: Path) -> None:
    text = (SAMPLES / "bonnie.out").read_text()
    result = of_text(tmp_path, text)
    alone = of_text(tmp_path, text.splitlines()[-1] + "\n")
    assert [entry.line for entry in result.unread] == [len(text.splitlines())] * len(alone.unread)
    assert {cell: run.printed for cell, run in by_cell(result).items()} == {
        cell: run.printed for cell, run in by_cell(alone).items()
    }


def test_a_number_of_files_in_place_of_their_rate_is_reported(tmp_path: Path) -> None:
    """bonnie++ 2.00a printed 16384 files per second four times in its table; its line has 5816, 22677, 1488, 15991."""
    text = "".join((SAMPLES / "bonnie.out").read_text().splitlines(keepends=True)[:-1])
    result = of_text(tmp_path, text)
    assert not [cell for cell in by_cell(result) if cell.removeprefix("bonnie.") in FILES]
    assert len([entry for entry in result.unread if "in place of the rate" in entry.why]) == 4
    assert by_cell(result)["bonnie.put_block"].rate_bytes_per_s == 237 * 2**20


def test_lines_are_repetitions_and_the_names_of_columns_are_none() -> None:
    result = of(SAMPLES / "bonnie.csv")
    assert [run.rate_bytes_per_s for run in result.runs if run.cell == "bonnie.putc"] == [
        233 * 1024,
        309 * 1024,
        308 * 1024,
    ]
    assert not [entry for entry in result.unread if "too short" not in entry.why]


TABLE_OF_1_97 = """\
Version  1.97       ------Sequential Output------ --Sequential Input- --Random-
Concurrency   3     -Per Chr- --Block-- -Rewrite- -Per Chr- --Block-- --Seeks--
Machine        Size K/sec %CP K/sec %CP K/sec %CP K/sec %CP K/sec %CP  /sec %CP
server          16G   511  98 81234  17 40321   9  1204  94 99876   8 312.4  11
Latency             19123us    1523ms    2211ms   31234us     214ms     345ms
Version  1.97       ------Sequential Create------ --------Random Create--------
server              -Create-- --Read--- -Delete-- -Create-- --Read--- -Delete--
              files  /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP
                 16  9123  31 +++++ +++ 12345  25  9321  32 +++++ +++ 11111  24
Latency             12345us     411us    1234us     311us      22us    1111us
"""
LINE_OF_1_97 = (
    "1.97,1.97,server,3,1700000000,16G,,511,98,81234,17,40321,9,1204,94,99876,8,312.4,11,16,,,,,9123,31,+++++,+++,"
    "12345,25,9321,32,+++++,+++,11111,24,19123us,1523ms,2211ms,31234us,214ms,345ms,12345us,411us,1234us,311us,22us,"
    "1111us\n"
)


def test_the_layout_of_1_97_has_plain_k_per_second(tmp_path: Path) -> None:
    table, line = (by_cell(of_text(tmp_path, text)) for text in (TABLE_OF_1_97, LINE_OF_1_97))
    assert table["bonnie.put_block"].rate_bytes_per_s == 81234 * 1024
    assert (table["bonnie.seeks"].ops_per_s, table["bonnie.seq_create"].ops_per_s) == (312.4, 9123)
    assert table["bonnie.seeks"].levels["concurrency"] == "3"
    assert {cell: (run.rate_bytes_per_s, run.ops_per_s) for cell, run in table.items()} == {
        cell: (run.rate_bytes_per_s, run.ops_per_s) for cell, run in line.items()
    }


def test_latencies_below_a_damaged_row_are_of_no_other_row(tmp_path: Path) -> None:
    lines = (SAMPLES / "bonnie-table.out").read_text().splitlines()
    assert lines[8].startswith("host")
    damaged = [*lines[:8], lines[8].replace("15", "1x"), *lines[9:]]
    runs = by_cell(result := of_text(tmp_path, "\n".join(damaged) + "\n"))
    assert runs["bonnie.putc"].quantiles_ns == {"max": 82199e3}
    assert [entry.line for entry in result.unread if "can stand here" in entry.why] == [9, 10], result.unread


def test_other_formats_are_not_guessed(tmp_path: Path) -> None:
    with pytest.raises(
        Refused, match=r"a line of bonnie\+\+ without its version; expected format version 1\.96"
    ):
        of_text(
            tmp_path, "host,300M,9000,90,8000,30,7000,20,6000,80,9000,10,500.1,1,16,+++++,+++,+++++,+++\n"
        )
    with pytest.raises(Refused, match=r"expected format version 1\.96, 1\.97, 1\.98"):
        of_text(tmp_path, LINE.replace("1.98", "1.99", 1))
    with pytest.raises(Refused, match=r"1\.98, with 50 fields"):
        of_text(tmp_path, LINE.rsplit(",", 1)[0] + "\n")
