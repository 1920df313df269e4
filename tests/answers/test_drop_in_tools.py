"""What a user of IOzone, dd, fio and hdparm expects who types the same words behind `mileage`."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.answers.drive_profile import write_profile
from tests.answers.question import ask, ask_both, suppose
from tests.command import mileage

MIB = 2**20


def iozone_rows(text: str) -> list[list[str]]:
    """Rows of IOzone's table: file size and record in kB, then the rates."""
    return [line.split() for line in text.splitlines() if re.match(r"\s+\d+\s+\d+\s", line)]


def test_iozone_measures_every_size_and_record(tmp_path: Path) -> None:
    """Which rows does `iozone -s 1M -s 2M -r 64k -r 128k` print?

    Truth: the four pairs: IOzone's manual allows several -s and -r, and measures every one with every other.
    """
    words = ("iozone", "-s", "1M", "-s", "2M", "-r", "64k", "-r", "128k", "-i", "0")
    rows = {(int(row[0]), int(row[1])) for row in iozone_rows(ask(*words, cwd=tmp_path))}
    assert rows == {(1024, 64), (1024, 128), (2048, 64), (2048, 128)}


def test_iozone_takes_a_file_for_each_thread(tmp_path: Path) -> None:
    """Can two threads of IOzone have a file each, as its manual shows?

    Truth: `-t 2 -F f1 f2` is the only form that IOzone's manual has for it.
    """
    done = mileage("iozone", "-t", "2", "-s", "1M", "-r", "64k", "-i", "0", "-F", "f1", "f2", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "2 initial writers" in done.stdout


def test_iozone_diagnosis_finds_damaged_bytes(tmp_path: Path) -> None:
    """Does `iozone -+d` notice that eight bytes of its file were overwritten?

    Truth: yes: its manual says of -+d that every byte is checked, and this test overwrote the bytes from 70,000 on.
    """
    common = ("-s", "1M", "-r", "64k", "-w", "-+d", "-f", "kept")
    ask("iozone", "-i", "0", *common, cwd=tmp_path)
    path = tmp_path / "kept"
    suppose(path.stat().st_size == MIB, "-w keeps the file")
    content = bytearray(path.read_bytes())
    content[70_000:70_008] = bytes(255 - byte for byte in content[70_000:70_008])
    path.write_bytes(content)
    done = mileage("iozone", "-i", "1", *common, cwd=tmp_path)
    assert done.returncode != 0
    assert "Position 70000" in done.stdout
    assert "position 70000" in done.stderr
    assert iozone_rows(done.stdout) == []


@pytest.mark.slow
def test_each_number_of_children_is_printed_when_it_is_done(tmp_path: Path) -> None:
    """Do I see the first figures of a long `mileage iozone` while it runs?

    Truth: IOzone prints each result as it has it, and rests two seconds after each of the two tests of -i 0: so the
    figures of two children come four seconds after those of one child, and not with them.
    """
    words = ("iozone", "-l", "1", "-u", "2", "-s", "64k", "-r", "4k", "-i", "0", "-+q", "0")
    began: dict[str, float] = {}
    with subprocess.Popen(
        [sys.executable, "-m", "mileage", *words], cwd=tmp_path, stdout=subprocess.PIPE, text=True
    ) as run:
        assert run.stdout is not None
        for line in run.stdout:
            if found := re.search(r"Children see throughput for +(\d) initial", line):
                began[found[1]] = time.monotonic()
    suppose(run.returncode == 0, "the command ends well")
    assert began["2"] - began["1"] > 3.5


def test_rows_come_in_the_order_in_which_iozone_does_them(tmp_path: Path) -> None:
    """In which order does `mileage iozone -s 1M -s 2M ...` measure?

    Truth: by its source IOzone does every record of the first file before the second file; the study folder says when
    each run was made.
    """
    words = ("iozone", "-s", "64k", "-s", "128k", "-r", "4k", "-r", "8k", "-r", "16k", "-i", "0")
    text = ask(*words, "--save", "out", cwd=tmp_path)
    rows = [(int(row[0]), int(row[1])) for row in iozone_rows(text)]
    assert rows == [(file, record) for file in (64, 128) for record in (4, 8, 16)]
    plan = json.loads((tmp_path / "out" / "plan.json").read_text())
    made = [run["job"]["value"] for run in plan["runs"] if run["role"] == "measure"]
    assert [(value["file_bytes"] // 1024, value["record_bytes"] // 1024) for value in made] == rows


@pytest.mark.parametrize(
    ("words", "summary"),
    [
        (("-+w", "98", "-+y", "98", "-+C", "98", "-i", "0", "-i", "1"), True),
        (("-+d", "-i", "0", "-i", "1"), True),
        (("-+d", "-i", "0"), False),
        (("-i", "0", "-i", "1"), False),
    ],
)
def test_reads_timed_differently_from_iozone_are_announced(
    tmp_path: Path, words: tuple[str, ...], summary: bool
) -> None:
    """Can I compare the reads of `mileage iozone -+w 98 ...` with those that IOzone itself printed?

    Truth: no: by its source IOzone makes the expected data anew inside the time of each read with these flags, and so
    its own rates are lower; this is to be said, and only where there are such reads.
    """
    _, errors = ask_both("iozone", "-s", "1M", "-r", "64k", *words, cwd=tmp_path)
    assert bool(re.search(r"read.*rates of reads are higher than IOzone's own", errors)) == summary, errors


def test_dd_reads_what_dd_wrote(tmp_path: Path) -> None:
    """Can I read back the file that I wrote with dd a line before?

    Truth: dd leaves its output: the file has 4 x 1 MiB, by arithmetic.
    """
    ask("dd", "if=/dev/zero", "of=t", "bs=1M", "count=4", cwd=tmp_path)
    path = tmp_path / "t"
    assert path.is_file()
    assert path.stat().st_size == 4 * MIB
    ask("dd", "if=t", "of=/dev/null", "bs=1M", cwd=tmp_path)


def test_the_lines_of_dd_fit_together(tmp_path: Path) -> None:
    """Are the bytes, the time and the rate that dd prints one result?

    Truth: 24 records of 1 MiB are 25,165,824 bytes, and the rate is bytes over seconds in units of 10^6.
    """
    target = write_profile(tmp_path)
    _, errors = ask_both("dd", f"if={target}", "of=/dev/null", "bs=1M", "count=24", cwd=tmp_path)
    assert "24+0 records in\n24+0 records out" in errors
    found = re.search(r"(\d+) bytes \((.+?), (.+?)\) copied, ([\d.]+) s, (\d+) MB/s", errors)
    assert found
    assert (int(found[1]), found[2], found[3]) == (24 * MIB, "25 MB", "24 MiB")
    assert int(found[5]) == pytest.approx(24 * MIB / float(found[4]) / 1e6, abs=0.6)


def test_a_job_that_reads_destroys_nothing(tmp_path: Path) -> None:
    """Can I run a fio job that only reads a file of mine?

    Truth: reading loses nothing; the job has rw=randread and the file is large enough.
    """
    content = bytes(range(256)) * 4096
    (tmp_path / "mine").write_bytes(content)
    (tmp_path / "job.fio").write_text("[reads]\nfilename=mine\nrw=randread\nbs=4k\nsize=1M\n")
    done = mileage("run", "job.fio", "--out", "out", cwd=tmp_path)
    suppose((tmp_path / "mine").read_bytes() == content, "the file is as it was")
    assert done.returncode == 0, done.stderr


def test_buffered_libaio_has_one_read_in_flight(tmp_path: Path) -> None:
    """At which depth does my fio job with libaio and without direct=1 run?

    Truth: in effect at 1: fio's HOWTO says of libaio that Linux supports queued behaviour only with non-buffered I/O,
    and advises to set direct=1.
    """
    job = "[reads]\nfilename=scratch\nrw=randread\nbs=4k\nsize=1M\nioengine=libaio\niodepth=32\n"
    (tmp_path / "job.fio").write_text(job)
    planned = " ".join(ask("plan", "job.fio", cwd=tmp_path).split())
    assert "depth 32" not in planned or "libaio" in planned


def test_hdparm_has_no_cached_reads_where_there_is_no_cache(tmp_path: Path) -> None:
    """How fast are cached reads of a virtual drive?

    Truth: it has no host and no page cache, as the documentation says, so that there is no such rate; a figure under
    that label is the drive's own. The option is to be refused.
    """
    done = mileage("hdparm", "-T", write_profile(tmp_path), cwd=tmp_path)
    assert "Timing cached reads" not in done.stdout
    assert done.returncode == 2


@pytest.mark.parametrize(
    ("words", "stats"), [(("-C", "-T", "-F"), True), (("-C", "-T", "-D"), True), (("-C", "-r"), False)]
)
def test_stat_rates_that_differ_from_mdtest_are_announced(
    tmp_path: Path, words: tuple[str, ...], stats: bool
) -> None:
    """Can I compare the stat rate of a study of `mileage mdtest` with one that mdtest itself printed?

    Truth: no: by its source mdtest gives every stat the whole path from the working directory and clears two buffers
    for it, so that its own rate is lower; this is to be said, and only where there is such a row.
    """
    _, errors = ask_both("mdtest", "-n", "20", "--study", "kept", *words, cwd=tmp_path)
    assert bool(re.search(r"stat: the rate is higher than mdtest's own", errors)) == stats, errors


def test_stat_rates_of_metarates_depend_on_the_path(tmp_path: Path) -> None:
    """Can I compare the stat rate of `mileage metarates -d a/b` with one that metarates itself printed?

    Truth: its source gives every call the path of -d and the name, of which the kernel looks up each part: the same
    work where -d has one part, more where it has two.
    """
    (tmp_path / "a").mkdir()
    for directory, summary in (("a/b", True), ("c", False)):
        _, errors = ask_both("metarates", "-d", directory, "-n", "10", "-S", cwd=tmp_path)
        assert ("higher than metarates' own" in errors) == summary, errors
