"""Every command line that three published articles print for these tools, after `mileage`, scaled by a table, and run.

The articles: a file system's throughput and metadata on an SSD before and after torture (A), the same of a drive that
compresses (B), and a site's notes on drives (C). A translation of A (T) has a line that no shell can take.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mileage.store import StudyFolder

pytestmark = pytest.mark.xdist_group("devices")

DRIVE = "/dev/" + 3 * "X"
"""The drive, as C prints it."""

LINES = {
    "A 1M": "./IOzone -Rb spreadsheet_output_1M.wks -s 16G -r 1M > output_1M.txt",
    "A 4M": "./IOzone -Rb spreadsheet_output_4M.wks -s 16G -r 4M > output_4M.txt",
    "A 8M": "./IOzone -Rb spreadsheet_output_8M.wks -s 16G -r 8M > output_8M.txt",
    "A 16M": "./IOzone -Rb spreadsheet_output_16M.wks -s 16G -r 16M > output_16M.txt",
    "A 4K": "./iozone -Rb spreadsheet_output_4K.wks -O -i 0 -i 1 -i 2 -e -+n -r 4K -s 16G > output_4K.txt",
    "A 8K": "./iozone -Rb spreadsheet_output_8K.wks -O -i 0 -i 1 -i 2 -e -+n -r 8K -s 16G > output_8K.txt",
    "A 32K": "./iozone -Rb spreadsheet_output_32K.wks -O -i 0 -i 1 -i 2 -e -+n -r 32K -s 16G > output_32K.txt",
    "A 64K": "./iozone -Rb spreadsheet_output_64K.wks -O -i 0 -i 1 -i 2 -e -+n -r 64K -s 16G > output_64K.txt",
    "A metadata 1": "time mpirun -machinefile ./machinefile -np 1 ./metarates -d junk -n 1000000 -C -U -S -u "
    ">> metarates_disk.np_1.1.out",
    "A metadata 2": "time mpirun -machinefile ./machinefile -np 2 ./metarates -d junk -n 1000000 -C -U -S -u "
    ">> metarates_disk.np_2.1.out",
    "A metadata 4": "time mpirun -machinefile ./machinefile -np 4 ./metarates -d junk -n 1000000 -C -U -S -u "
    ">> metarates_disk.np_4.1.out",
    "A torture 1": "mpirun -np 4 -machinefile ./machinefile ./IOR -a POSIX -b 64k -F -i 10 -s 200000 -t 4k -vv",
    "A torture 2": "mpirun -np 4 -machinefile ./machinefile ./IOR -a POSIX -b 1M -F -i 10 -s 14000 -t 256k -vv",
    "B 64K": "./IOzone -Rb spreadsheet_output_64K.wks -s 16G -+w 98 -+y 98 -+C 98 -r 64K > output_64K.txt",
    "B 1M": "./IOzone -Rb spreadsheet_output_1M.wks -s 16G -+w 98 -+y 98 -+C 98 -r 1M > output_1M.txt",
    "B 4M": "./IOzone -Rb spreadsheet_output_4M.wks -s 16G -+w 98 -+y 98 -+C 98 -r 4M > output_4M.txt",
    "B 8M": "./IOzone -Rb spreadsheet_output_8M.wks -s 16G -+w 98 -+y 98 -+C 98 -r 8M > output_8M.txt",
    "B 16M": "./IOzone -Rb spreadsheet_output_16M.wks -s 16G -+w 98 -+y 98 -+C 98 -r 16M > output_16M.txt",
    "B 4K": "./iozone -Rb spreadsheet_output_4K.wks -O -i 0 -i 1 -i 2 -e -+n -+w 98 -+y 98 -+C 98 -r 4K -s 16G "
    "> output_4K.txt",
    "C cached": f"hdparm -Tt {DRIVE}",
    "C direct": f"hdparm -Tt --direct {DRIVE}",
    "C dd write": f"dd if=/dev/zero of={DRIVE} bs=1M count=10240 conv=fdatasync",
    "C dd read": f"dd if={DRIVE} of=/dev/null bs=1M count=10240",
    "C test1": "iozone -e -+u -t 10 -r 64k -s 10g -i0 -i1 -i 2 -i 3 -i 5 -i 8",
    "C test2": "iozone -e -+u -t 40 -r 1024k -s 2g -i0 -i1 -i 2 -i 3 -i 5 -i 8",
    "C Optane": "iozone -e -+u -t 6 -r 64k -s 2g -i0 -i1 -i 2 -i 3 -i 5 -i 8",
}
SCALED = {
    "-s 16G": "-s 32M",
    "-s 10g": "-s 256k",
    "-s 2g": "-s 1m",
    "-n 1000000": "-n 1000",
    "-i 10 -s 200000": "-i 2 -s 20",
    "-i 10 -s 14000": "-i 2 -s 2",
    "count=10240": "count=8",
    DRIVE: "LOOP",
}
"""What stands in a line, and what stands there in the test."""
SMALL_RECORDS = {"-r 4K": "-s 1M", "-r 8K": "-s 1M", "-r 32K": "-s 1M", "-r 64K": "-s 4M"}
"""Of lines with small records, the size of the file."""
REFUSED = {
    "T metadata": (
        "time mpirun -machinefile ./machinefile -np 4 ./metarates -d junk -n 1000000 -C -U -S –u",
        r"–u begins with an en dash \(U\+2013\).*type -u",
    ),
    "C hd-parm": (f"hd-parm -Tt {DRIVE}", "hd-parm is not a command.*did you mean hdparm"),
    "C hpdarm": (f"hpdarm -Tt {DRIVE}", "hpdarm is not a command.*did you mean hdparm"),
    "C long dash": (f"hdparm -Tt —direct {DRIVE}", r"—direct begins with an em dash \(U\+2014\)"),
    "B random": ("./IOzone -+d -+w 98 -+y 98 -+C 98 -s 16G -r 64K", "can not do both"),
}


@pytest.fixture(scope="module")
def loop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    image = tmp_path_factory.mktemp("loop") / "image"
    image.write_bytes(bytes(16 << 20))
    made = subprocess.run(
        ["losetup", "-f", "--show", str(image)], capture_output=True, text=True, check=False
    )
    yield made.stdout.strip() if made.returncode == 0 else ""
    if made.returncode == 0:
        subprocess.run(["losetup", "-d", made.stdout.strip()], check=True)


def scaled(line: str, loop: str) -> str:
    for found, size in SMALL_RECORDS.items():
        if f"{found} " in f"{line} " and "16G" in line:
            line = line.replace("-s 16G", size)
    for found, instead in SCALED.items():
        line = re.sub(rf"{re.escape(found)}(?![0-9])", instead, line)
    return line.replace("LOOP", loop)


def done(line: str, place: Path) -> subprocess.CompletedProcess[str]:
    (place / "machinefile").write_text("localhost\n" * 4)
    word = "time " if line.startswith("time ") else ""
    rest = line.removeprefix(word)
    script = f"{word}'{sys.executable}' -m mileage {rest}"
    return subprocess.run(
        ["bash", "-c", script], cwd=place, capture_output=True, text=True, timeout=600, check=False
    )


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", LINES)
def test_a_printed_line_runs(name: str, loop: str, tmp_path: Path) -> None:
    line = scaled(LINES[name], loop)
    if DRIVE in LINES[name] and not loop:
        pytest.skip("needs a loop device")
    if "of=/dev/loop" in line:
        refused = done(line, tmp_path)
        assert refused.returncode == 2
        assert f"--destroy {loop}" in refused.stderr
        line += f" --destroy {loop}"
    run = done(line, tmp_path)
    assert run.returncode == 0, run.stderr
    text = (
        run.stdout
        + run.stderr
        + "".join(path.read_text() for path in tmp_path.glob("*.*t") if path.is_file())
    )
    expected = {
        "IOzone": "iozone test complete.",
        "iozone": "iozone test complete.",
        "IOR": "Max Write:",
        "metarates": "total rate = ",
        "hdparm": "MB/sec",
        "dd": "copied, ",
    }
    program = next(word for word in expected if re.search(rf"(?:^|/| ){word} ", LINES[name]))
    assert expected[program] in text
    assert list(tmp_path.glob("mileage-*")), "no study folder"
    if "-Rb" in line:
        sheet = line.split("-Rb ")[1].split()[0]
        assert (tmp_path / sheet).stat().st_size > 1000
    if "time " in line:
        assert "real\t" in run.stderr


HOST = "virtual:intel-x25e-64gb@phenom-8gib"
MIB = 1 << 20
ALL_TESTS = (8, 6)
"""Passes that read and that write, of IOzone's thirteen tests; the backward one is done twice."""
IOPS_TESTS = (2, 2)
CHILDREN_TESTS = (5.5, 3.5)
"""Write, rewrite, read, reread, random read, random write, backward, stride, and the mix, where half of them read."""


def passes(of_tests: tuple[float, float], file_bytes: int, record_bytes: int) -> tuple[int, int, int]:
    """Bytes read and written, and operations, of a number of passes through a file."""
    read_bytes, written_bytes = (int(number * file_bytes) for number in of_tests)
    return read_bytes, written_bytes, (read_bytes + written_bytes) // record_bytes


DONE = {
    **{
        f"{article} {size}M": passes(ALL_TESTS, 32 * MIB, size * MIB)
        for article in "AB"
        for size in (1, 4, 8, 16)
    },
    **{f"A {size}K": passes(IOPS_TESTS, MIB, size << 10) for size in (4, 8, 32)},
    "A 64K": passes(IOPS_TESTS, 4 * MIB, 64 << 10),
    "B 4K": passes(IOPS_TESTS, MIB, 4096),
    "B 64K": passes(ALL_TESTS, 4 * MIB, 64 << 10),
    **{f"A metadata {tasks}": (0, 0, 3 * 1000) for tasks in (1, 2, 4)},
    "A torture 1": passes((2, 2), 4 * 20 * (64 << 10), 4096),
    "A torture 2": passes((2, 2), 4 * 2 * MIB, 256 << 10),
    "C test1": passes(CHILDREN_TESTS, 10 * (256 << 10), 64 << 10),
    "C test2": passes(CHILDREN_TESTS, 40 * MIB, MIB),
    "C Optane": passes(CHILDREN_TESTS, 6 * MIB, 64 << 10),
    "C dd write": passes((0, 1), 8 * MIB, MIB),
    "C dd read": passes((1, 0), 8 * MIB, MIB),
}
"""Bytes read and written, and operations, that a scaled line asks for: by arithmetic on what the line says."""
PLACES = {"iozone": " -f", "IOzone": " -f", "IOR": " -o"}
"""The flag by which a program gets the place of its files."""


@pytest.fixture(autouse=True)
def keep_studies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep a study of each line in its working directory."""
    monkeypatch.setenv("MILEAGE_STUDIES", ".")


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", LINES)
def test_a_printed_line_runs_on_a_modelled_host(name: str, tmp_path: Path) -> None:
    """As printed, with the place of the files at its end where the line does not state one."""
    line = scaled(LINES[name], HOST).replace("-d junk", f"-d {HOST}")
    if HOST not in line:
        flag = next(flag for program, flag in PLACES.items() if f"{program} " in line)
        line += f"{flag} {HOST}"
    run = done(line, tmp_path)
    assert run.returncode == 0, run.stderr
    (study,) = tmp_path.glob("mileage-*")
    records = [entry.record for entry in StudyFolder.open(study).content().runs() if entry.role == "measure"]
    assert all(record.operations > 0 and record.elapsed_ns > 0 for record in records)
    if name in DONE:
        done_bytes = (sum(it.bytes_read for it in records), sum(it.bytes_written for it in records))
        assert (*done_bytes, sum(it.operations for it in records)) == DONE[name]
    if (expected := line.partition(" > ")[2].split()) and "-i" not in line:
        rows = re.findall(r"^ +\d+ +\d+((?: +\d+)+)$", (tmp_path / expected[0]).read_text(), re.MULTILINE)
        assert [len(row.split()) for row in rows] == [13]
        assert all(int(rate) > 0 for rate in rows[0].split())
    assert (
        sorted(path.name for path in tmp_path.iterdir() if path.name.startswith(("iozone.", "testFile")))
        == []
    )


@pytest.mark.parametrize("name", REFUSED)
def test_a_line_that_the_original_would_refuse_is_refused_with_the_reason(
    name: str, loop: str, tmp_path: Path
) -> None:
    line, output = REFUSED[name]
    run = done(scaled(line, loop or "/dev/null"), tmp_path)
    assert run.returncode == 2, run.stdout
    assert re.search(output, run.stderr.replace("\n", " ")), run.stderr
    assert not list(tmp_path.glob("mileage-*"))
