"""`mileage iozone`: IOzone's flags end to end, its columns, its traps, its refusals, its study folder."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import openpyxl
import pytest
import xlrd

from mileage import load
from mileage.store import StudyFolder
from tests.command import mileage

#: Where the figures of IOzone 3.471 end in a full row, and in a row of one test and write; read off its own output.
ENDS = [16, 24, 33, 42, 51, 60, 69, 78, 87, 97, 107, 116, 125, 134, 143]
ROW_OF = {2: [69, 78], 3: [87], 4: [97], 5: [107], 6: [116, 125], 7: [134, 143]}
LENGTHS = {2: 142, 3: 142, 4: 142, 5: 142, 6: 142, 7: 143}
SMALL = ("-s", "512k", "-r", "64k")
HEAD = "kB reclen write rewrite read reread read write read rewrite read fwrite frewrite fread freread"
CHILDREN_LINE = "-e -+u -C -R -t 2 -r 64k -s 512k -i0 -i1 -i 2 -i 3 -i 5 -i 8"
FILES_LINE = "-t 2 -F f1 f2 -s 128k -r 64k -i 0 -+q 0 -w"
GIVEN_UP_LINE = "-s 64k -s 128k -r 4k -r 16k -i 0 -f mine --destroy mine"
ALL_LINE = "-a -n 64k -g 128k -y 32k -q 128k -i 0 -R"


def iozone(place: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return mileage("iozone", *words, "--save", f"study-{len(list(place.iterdir()))}", cwd=place)


def printed(place: Path, *words: str) -> str:
    done = iozone(place, *words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def rows(text: str) -> list[str]:
    table = text.split("reclen", 1)[1].splitlines()[1:]
    return table[: table.index("")]


def ends(line: str) -> list[int]:
    return [found.end() for found in re.finditer(r"\d+", line)]


def test_a_full_row_has_the_columns_of_the_original(tmp_path: Path) -> None:
    text = printed(tmp_path, *SMALL)
    (row,) = rows(text)
    assert ends(row) == ENDS
    head = text.splitlines()[text.splitlines().index(row) - 1]
    assert head.split() == (HEAD.split())
    assert "Command line used: iozone -s 512k -r 64k" in text
    assert text.endswith("\niozone test complete.\n")


@pytest.mark.parametrize("test", [3, 5, 7])
def test_a_test_that_is_not_done_leaves_its_column_blank(tmp_path: Path, test: int) -> None:
    (row,) = rows(printed(tmp_path, *SMALL, "-i", "0", f"-i{test}"))
    assert ends(row) == [16, 24, 33, 42, *ROW_OF[test]]
    assert len(row) == LENGTHS[test]


def test_the_iops_line_prints_four_figures_and_zeros_for_retests(tmp_path: Path) -> None:
    line = "-Rb x.wks -O -i 0 -i 1 -i 2 -e -+n -r 4K -s 256k"
    (row,) = rows(printed(tmp_path, *line.split()))
    values = [int(value) for value in row.split()]
    assert values[:2] == [256, 4]
    assert [bool(value) for value in values[2:]] == [True, False, True, False, True, True]
    assert {sample.metric for sample in load(tmp_path / "study-0").samples()} == {"ops_per_s"}


def test_the_worksheets_hold_what_is_printed(tmp_path: Path) -> None:
    text = printed(tmp_path, "-Rb", "x.wks", *SMALL, "-i", "0", "-i", "5")
    (row,) = rows(text)
    sheet = xlrd.open_workbook(str(tmp_path / "x.wks")).sheet_by_index(0)
    assert sheet.cell_value(0, 0).startswith("iozone -Rb x.wks")
    found = {sheet.cell_value(at, 0): int(sheet.cell_value(at + 2, 1)) for at in (3, 6, 9)}
    values = [int(value) for value in row.split()]
    assert found == {
        "Writer Report": values[2],
        "Re-writer Report": values[3],
        "Stride Read Report": values[4],
    }
    assert (sheet.cell_value(4, 1), sheet.cell_value(5, 0)) == (64, 512)
    reports = re.findall(r'"([A-Z][a-z -]+) report"\n +"64"\n"512" +(\d+) \n', text)
    assert [int(value) for _, value in reports] == values[2:]
    printed(tmp_path, "-b", "x.xlsx", *SMALL, "-t", "2", "-i0", "-+q", "0")
    cells = openpyxl.load_workbook(tmp_path / "x.xlsx").active
    assert cells is not None
    assert str(cells["A5"].value).strip() == "Initial write"
    assert float(str(cells["C5"].value)) > 0


def test_children_have_the_nine_results_of_the_original_in_its_order(tmp_path: Path) -> None:
    text = printed(tmp_path, *CHILDREN_LINE.split())
    seen = re.findall(r"Children see throughput for +2 ([a-z -]+?) +\t+= +([0-9.]+) kB/sec", text)
    assert [name for name, _ in seen] == [
        *("initial writers", "rewriters", "readers", "re-readers", "reverse readers", "stride readers"),
        *("random readers", "mixed workload", "random writers"),
    ]
    children = [float(rate) for rate in re.findall(r"Child\[\d\] .* Throughput = +([0-9.]+) kB", text)]
    assert len(children) == 18
    for place, (_, total) in enumerate(seen):
        assert float(total) == pytest.approx(sum(children[2 * place : 2 * place + 2]), abs=0.02)
    assert (
        len(
            re.findall(
                r"CPU [uU]tilization: Wall time +[0-9.]+ +CPU time +[0-9.]+ +CPU utilization +[0-9.]+ %", text
            )
        )
        == 9
    )
    assert text.count("Min xfer") == 9
    report = text.split('"Throughput report', 1)[1]
    assert len(re.findall(r'^" +[A-Z][a-zA-Z -]+ " +[0-9.]+ $', report, re.MULTILINE)) == 18


def test_files_of_children_end_at_the_next_flag(tmp_path: Path) -> None:
    text = printed(tmp_path, *FILES_LINE.split())
    assert "2 initial writers" in text
    assert [(tmp_path / name).stat().st_size for name in ("f1", "f2")] == [128 << 10] * 2


def test_numbers_of_children_make_columns(tmp_path: Path) -> None:
    text = printed(tmp_path, "-R", "-l", "1", "-u", "2", "-r", "64k", "-s", "128k", "-i0")
    found = re.search(r'^"  Initial write " +([0-9.]+)  +([0-9.]+) $', text, re.MULTILINE)
    assert found is not None
    one, two = re.findall(r"Children see throughput for +\d initial writers \t= +([0-9.]+)", text)
    assert found.groups() == (one, two)


def test_all_sizes_make_a_row_each_in_order(tmp_path: Path) -> None:
    text = printed(tmp_path, *ALL_LINE.split())
    pairs = [tuple(map(int, row.split()[:2])) for row in rows(text)]
    assert pairs == [(64, 32), (64, 64), (128, 32), (128, 64), (128, 128)]
    assert '"Writer report"\n        "32"  "64"  "128"\n"64"   ' in text


@pytest.mark.parametrize(
    ("line", "pairs"),
    [
        ("-s 64k -s 128k -r 32k -r 128k", [(64, 32), (128, 32), (128, 128)]),
        ("-s 64k -s 64k -r 32k", [(64, 32)]),
        ("-s 16k -s 32k", [(16, 4), (16, 8), (16, 16), (32, 4), (32, 8), (32, 16), (32, 32)]),
        ("-a -s 64k -g 128k -r 32k", [(64, 32), (128, 32)]),
        ("-r 64k -r 128k -g 128k", [(64, 64), (128, 64), (128, 128)]),
    ],
)
def test_several_sizes_make_the_rows_that_iozone_prints(
    tmp_path: Path, line: str, pairs: list[tuple[int, int]]
) -> None:
    text = printed(tmp_path, *line.split(), "-i", "0")
    assert [tuple(map(int, row.split()[:2])) for row in rows(text)] == pairs


def test_a_run_keeps_a_study_folder_and_no_file(tmp_path: Path) -> None:
    printed(tmp_path, *SMALL, "-i", "0")
    assert [path.name for path in tmp_path.iterdir()] == ["study-0"]
    content = StudyFolder.open(tmp_path / "study-0").content()
    (entry,) = content.runs()
    assert [result.name for result in entry.record.results] == ["iozone.write", "iozone.rewrite"]
    assert (tmp_path / "study-0" / "report.html").is_file()


@pytest.mark.parametrize("words", ["-i 2", "-i 4", "-i 1 -i 2", "-i 2 -i 6"])
def test_a_test_that_writes_needs_leave_to_write_over_a_file(tmp_path: Path, words: str) -> None:
    before = bytes(range(256)) * 2048
    (tmp_path / "mine").write_bytes(before)
    refused = iozone(tmp_path, *SMALL, *words.split(), "-f", "mine")
    assert refused.returncode == 2
    assert "--destroy mine" in refused.stderr
    assert (tmp_path / "mine").read_bytes() == before
    printed(tmp_path, *SMALL, *words.split(), "-f", "mine", "--destroy", "mine")


@pytest.mark.parametrize(
    "line",
    [
        "-s 64k -s 128k -r 4k -r 16k -i 0 -i 1 -i 2 -i 3 -i 4 -i 5 -i 6 -i 7",
        "-t 3 -s 128k -r 4k -+q 0 -F a b c",
    ],
)
def test_diagnosis_finds_no_fault_in_what_was_written_and_leaves_no_file(tmp_path: Path, line: str) -> None:
    text = printed(tmp_path, "-+d", *line.split())
    assert text.endswith("\niozone test complete.\n")
    assert [path.name for path in tmp_path.iterdir()] == ["study-0"]


def test_diagnosis_of_children_names_the_file_that_differs(tmp_path: Path) -> None:
    common = ("-+d", "-w", "-t", "2", "-s", "128k", "-r", "4k", "-+q", "0", "-F", "a", "b")
    printed(tmp_path, "-i", "0", *common)
    with (tmp_path / "b").open("r+b") as file:
        file.seek(4097)
        file.write(b"x")
    done = iozone(tmp_path, "-i", "1", *common)
    assert done.returncode == 3
    assert "Error in file: Position 4097 \nRecord # 1 Record size 4 kb" in done.stdout
    assert "Children see" not in done.stdout
    assert "b differs from what was written at position 4097: found byte 0x78" in done.stderr


def test_a_file_that_was_given_up_serves_every_size(tmp_path: Path) -> None:
    for words in ((), ("-+d",)):
        (tmp_path / "mine").write_text("of three weeks")
        assert len(rows(printed(tmp_path, *GIVEN_UP_LINE.split(), *words))) == 4


def test_a_worksheet_replaces_worksheets_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("of three weeks")
    done = iozone(tmp_path, *SMALL, "-i", "0", "-b", "notes.txt")
    assert done.returncode == 2
    assert "no worksheet" in done.stderr
    assert (tmp_path / "notes.txt").read_text() == "of three weeks"


def test_a_file_is_kept_read_and_not_written_over(tmp_path: Path) -> None:
    printed(tmp_path, *SMALL, "-i", "0", "-w", "-f", "one.tmp")
    assert (tmp_path / "one.tmp").stat().st_size == 512 << 10
    printed(tmp_path, *SMALL, "-i", "1", "-f", "one.tmp")
    with (tmp_path / "one.tmp").open("ab") as file:
        file.write(b"of somebody else")
    before = (tmp_path / "one.tmp").read_bytes()
    refused = iozone(tmp_path, *SMALL, "-i", "0", "-f", "one.tmp")
    assert refused.returncode == 2
    assert "--destroy one.tmp" in refused.stderr
    assert (tmp_path / "one.tmp").read_bytes() == before
    printed(tmp_path, *SMALL, "-i", "0", "-f", "one.tmp", "--destroy", "one.tmp")


@pytest.mark.parametrize(
    ("words", "summary"),
    [
        ("-+d -s 1m -i 0", "this is not random data"),
        ("-+w 98 -+y 98 -+C 98 -s 1m -r 64k -i 0", "96 % of the data is compressible"),
        ("-+w 50 -s 1m -r 64k -i 0", "cannot be compressed"),
    ],
)
def test_a_trap_does_what_the_tool_does_and_says_what_that_is(
    tmp_path: Path, words: str, summary: str
) -> None:
    done = iozone(tmp_path, *words.split())
    assert done.returncode == 0, done.stderr
    assert summary in done.stderr
    assert "the written data can be compressed: " in done.stderr


@pytest.mark.parametrize(
    ("words", "summary"),
    [
        ("-i 8", "nothing to report"),
        ("-i 4 -t 2", "nothing to report"),
        ("-i 9", "nothing to report"),
        ("-i 1", "is not there"),
        ("-+d -+w 98", "can not do both"),
        ("-t 2 -a", "single stream"),
        ("-t 2 -s 1m -s 2m", "with -t give one -s and one -r"),
        ("-s 2m -s 1m", "IOzone ignores a -s"),
        ("-r 64k -r 4k", "IOzone ignores a -r"),
        ("-s 1m -s 2m -g 4m", "give the files by -s"),
        ("-a -r 64k -q 1m", "give the records by -r"),
        ("-a -n 100 -g 100", "give files that hold whole records"),
        ("-t 2 -f x", "named by -F"),
        ("-t 2 -F f1 -i 0", "found 1 files for 2 children"),
        ("-t 2 -N", "single stream"),
        ("-+y 98", "no effect without -+w"),
        ("-r 1m -s 64k", "larger than the file"),
        ("-s 12q", "expected kB"),
        ("-s 0", "expected kB"),
        ("-s 900000g", "free"),
        ("-t 0", "expected a whole number"),
        ("-Z", "not supported"),
        ("-a -n 1m -g 64k", "larger than the largest"),
        ("-Rb -s", "found a flag where the name"),
        ("-b missing/x.wks", "No such file or directory"),
    ],
)
def test_a_refusal_names_what_cannot_be_and_leaves_nothing(tmp_path: Path, words: str, summary: str) -> None:
    done = iozone(tmp_path, *words.split())
    assert done.returncode == (58 if words == "-i 1" else 2), done.stdout + done.stderr
    assert summary in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("words", [(), ("-+d",)])
def test_diagnosis_compares_every_read_inside_its_time(tmp_path: Path, words: tuple[str, ...]) -> None:
    tests = ("-i", "0", "-i", "1", "-i", "2", "-i", "3")
    done = mileage("iozone", "-s", "256k", "-r", "64k", *tests, *words, "--save", "kept", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (run,) = StudyFolder(tmp_path / "kept").content().runs()
    compared = {result.name: result.record.ops_compared for result in run.record.results}
    reads = [name for name in compared if "read" in name]
    assert len(reads) == 4
    assert compared == {name: 4 if words and name in reads else 0 for name in compared}


@pytest.mark.parametrize(
    ("words", "notes"),
    [
        (
            "-i 0 -i 1",
            [
                "write, rewrite: -e (time the flush too) or -I (direct I/O)",
                "read, reread: -I (direct I/O) or",
            ],
        ),
        ("-i 0 -i 1 -e", ["read, reread: -I (direct I/O) or a file larger"]),
        ("-i 0 -i 1 -I", []),
        ("-i 0 -i 6 -I", ["fwrite, frewrite: -e (time the flush too)"]),
        ("-i 0 -o", []),
    ],
)
def test_each_column_of_the_page_cache_is_named_with_the_flag_that_avoids_it(
    tmp_path: Path, words: str, notes: list[str]
) -> None:
    done = iozone(tmp_path, *SMALL, *words.split())
    found = [line for line in done.stderr.splitlines() if "the rate of memory (page cache)" in line]
    assert len(found) == len(notes), done.stderr
    for line, note in zip(found, notes, strict=True):
        tests, _, flags = note.partition(": ")
        assert f"[!] {tests}: " in line
        assert f"for the device's use {flags}" in line
    assert "page cache" not in done.stdout


def test_what_the_original_ignores_is_noted(tmp_path: Path) -> None:
    done = iozone(tmp_path, *["-s", "64k", "-r", "64k", "-i", "0", "-x", "-g", "1m", "word"])
    assert done.returncode == 0, done.stderr
    for note in ("-x has no effect without -t", "-g has no effect without -a", "word is ignored"):
        assert note in done.stderr


def test_with_w_the_files_of_the_last_row_stay(tmp_path: Path) -> None:
    sizes, counts = "-s 64k -s 128k -r 4k -r 16k -i 0 -i 1 -w", "-t 1 -t 2 -s 64k -r 4k -i 0 -w -+q 0"
    done = mileage("iozone", *sizes.split(), cwd=tmp_path)
    assert (done.returncode, len(rows(done.stdout))) == (0, 4), done.stderr
    assert {path.name: path.stat().st_size for path in tmp_path.iterdir()} == {"iozone.tmp": 128 << 10}
    (tmp_path / "iozone.tmp").unlink()
    done = mileage("iozone", *counts.split(), cwd=tmp_path)
    assert (done.returncode, "Throughput test with 2 processes" in done.stdout) == (0, True), done.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"iozone.DUMMY.0", "iozone.DUMMY.1"}
