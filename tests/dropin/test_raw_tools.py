"""`mileage hdparm` and `mileage dd`: their own lines, the guards of devices, and the figures behind what is printed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from mileage.formats.raw_print import amount, summary, timing_line
from mileage.model.run_record import RunRecord
from mileage.store import StudyFolder
from tests.command import mileage

pytestmark = pytest.mark.xdist_group("devices")

DRIVE = "virtual:plain-64gib"


def dropin(place: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return mileage(*words, "--save", "study", cwd=place)


def record_of(place: Path) -> RunRecord:
    (entry,) = [run for run in StudyFolder.open(place / "study").content().runs() if run.role == "measure"]
    return entry.record


def test_hdparm_prints_cached_first_whatever_the_order_of_flags(tmp_path: Path, loop: str) -> None:
    done = dropin(tmp_path, "hdparm", "-tT", loop)
    assert done.returncode == 0, done.stderr
    figures = r" +(\d+) MB in +([0-9.]+) seconds = +([0-9.]+) MB/sec\n"
    found = re.fullmatch(
        f"\n{loop}:\n Timing cached reads:  {figures} Timing buffered disk reads:{figures}", done.stdout
    )
    assert found is not None, done.stdout
    assert int(found[4]) == 8
    assert float(found[2]) == pytest.approx(2.0, abs=0.5)


@pytest.mark.parametrize(
    ("kib", "words", "output"),
    [
        (1024, ("-t",), "DEVICE: holds 1 MiB; a read takes 2 MiB"),
        (8192, ("-t", "--offset", "1"), "DEVICE: holds 8 MiB; a read takes 2 MiB after 1 GiB"),
    ],
)
def test_hdparm_refuses_a_device_without_room_for_a_read(
    tmp_path: Path, loop: str, kib: int, words: tuple[str, ...], output: str
) -> None:
    (tmp_path / "image").open("r+b").truncate(kib << 10)
    subprocess.run(["losetup", "--set-capacity", loop], check=True)
    done = mileage("hdparm", *words, DRIVE, loop, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, ""), "and times none of the others"
    assert output.replace("DEVICE", loop) in done.stderr


def test_hdparm_reads_whole_steps_of_an_odd_device_that_is_only_for_reading(
    tmp_path: Path, loop: str
) -> None:
    (tmp_path / "image").open("r+b").truncate((7 << 20) + 1536)
    subprocess.run(["losetup", "--set-capacity", loop], check=True)
    subprocess.run(["blockdev", "--setro", loop], check=True)
    try:
        done = dropin(tmp_path, "hdparm", "-t", loop)
    finally:
        subprocess.run(["blockdev", "--setrw", loop], check=True)
    assert " Timing buffered disk reads:   6 MB in" in done.stdout, done.stderr


def test_hdparm_direct_says_so_and_reads_past_the_cache(tmp_path: Path, loop: str) -> None:
    trace = tmp_path / "trace"
    watch = ["strace", "-f", "-e", "trace=openat", "-o", str(trace)]
    try:
        command = [
            *watch,
            sys.executable,
            "-m",
            "mileage",
            "hdparm",
            "-t",
            "--direct",
            loop,
            "--save",
            "study",
        ]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    except FileNotFoundError:
        pytest.skip("needs strace")
    assert " Timing O_DIRECT disk reads:   8 MB in" in done.stdout, done.stderr
    opened = [line for line in trace.read_text().splitlines() if f'"{loop}"' in line and "O_DIRECT" in line]
    assert opened
    assert all("O_RDONLY" in line for line in opened)


HOSTED = "virtual:intel-x25e-64gb@phenom-8gib"


def test_hdparm_times_memory_read_ahead_and_drive_of_a_modelled_host(tmp_path: Path) -> None:
    """-T reads memory, -T --direct one place of the drive, -t and -t --direct on and on."""
    rates = {}
    for number, direct in enumerate(((), ("--direct",))):
        done = mileage("hdparm", "-tT", *direct, HOSTED, "--save", f"study-{number}", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert "of a file on the host's file system" in done.stderr
        assert "has no host" not in done.stderr
        rates[direct] = [float(rate) for rate in re.findall(r" = +([0-9.]+) MB/sec", done.stdout)]
        runs = StudyFolder.open(tmp_path / f"study-{number}").content().runs()
        first, second = (run.record for run in runs if run.role == "measure")
        assert first.counters["host_bytes_read"] == (first.bytes_read if direct else 2 << 20)
        assert second.counters["host_bytes_read"] == pytest.approx(second.bytes_read, rel=0.01)
        # A direct read of 2 MiB is few large requests at once; read-ahead asks for as much as its window holds.
        reads = second.counters["host_requests_read"]
        assert second.bytes_read / reads <= (2 << 20 if direct else 128 << 10)
    (cached, buffered), (cached_direct, buffered_direct) = rates[()], rates["--direct",]
    assert cached > 4 * max(buffered, cached_direct, buffered_direct)
    assert buffered < buffered_direct, "each byte is copied once more, and windows are small"


def test_dd_of_a_modelled_host_times_memory_unless_it_syncs(tmp_path: Path) -> None:
    rates = {}
    for number, words in enumerate(("", "conv=fdatasync", "oflag=direct", "oflag=dsync")):
        line = ("if=/dev/zero", f"of={HOSTED}", "bs=1M", "count=64", *words.split())
        done = mileage("dd", *line, "--save", f"study-{number}", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        (entry,) = StudyFolder.open(tmp_path / f"study-{number}").content().runs()
        assert entry.record.bytes_written == 64 << 20
        rates[words] = entry.record.bytes_written / entry.record.elapsed_s
    assert rates[""] > 3 * rates["conv=fdatasync"]
    assert rates["conv=fdatasync"] > rates["oflag=dsync"]
    assert rates["oflag=direct"] > rates["oflag=dsync"]


def test_dd_reads_a_file_of_a_modelled_host_from_its_drive(tmp_path: Path) -> None:
    for number, words in enumerate(("", "iflag=direct")):
        line = (f"if={HOSTED}", "of=/dev/null", "bs=1M", "count=64", *words.split())
        done = mileage("dd", *line, "--save", f"study-{number}", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        (entry,) = StudyFolder.open(tmp_path / f"study-{number}").content().runs()
        assert entry.record.bytes_read == 64 << 20 == entry.record.counters["host_bytes_read"]


@pytest.mark.parametrize("words", [("-t",), ("-t", "--direct"), ("-t", "--offset", "2")])
def test_hdparm_reads_of_a_virtual_drive_what_was_written(tmp_path: Path, words: tuple[str, ...]) -> None:
    done = dropin(tmp_path, "hdparm", *words, DRIVE)
    assert done.returncode == 0, done.stderr
    assert ("a virtual drive has no host" in done.stderr) == ("--direct" not in words)
    (mib_per_s,) = re.findall(r" = ([0-9.]+) MB/sec", done.stdout)
    asked = ("measure", "-t", DRIVE, "-w", "sequential_read", "--record", "2MiB", "--for", "3s", "--json")
    (cell,) = json.loads(mileage(*asked, cwd=tmp_path).stdout)
    assert float(mib_per_s) == pytest.approx(cell["rate_bytes_per_s"][0] / 2**20, rel=0.01)


def test_dd_writes_what_was_given_up_and_flushes_in_the_time(tmp_path: Path, loop: str) -> None:
    line = ("dd", "if=/dev/zero", f"of={loop}", "bs=1M", "count=4", "conv=fdatasync")
    refused = dropin(tmp_path, *line)
    assert refused.returncode == 2
    assert f"--destroy {loop}" in refused.stderr
    assert (tmp_path / "image").read_bytes() == b"1" * (8 << 20)
    done = dropin(tmp_path, *line, "--destroy", loop)
    assert done.returncode == 0, done.stderr
    assert "4+0 records in\n4+0 records out\n4194304 bytes (4.2 MB, 4.0 MiB) copied, " in done.stderr
    with open(loop, "rb") as device:
        assert device.read(8 << 20) == bytes(4 << 20) + b"1" * (4 << 20)
    record = record_of(tmp_path)
    assert record.durable_ns > record.submit_ns
    assert record.elapsed_ns == record.durable_ns


def test_dd_never_writes_a_device_in_use(tmp_path: Path) -> None:
    with open("/proc/self/mountinfo", encoding="utf-8") as mounts:
        sources = [line.split(" - ")[1].split()[1] for line in mounts]
    device = next(
        (found for found in sources if found.startswith("/dev/") and Path(found).is_block_device()), None
    )
    if device is None:
        pytest.skip("needs a mounted block device")
    done = dropin(tmp_path, "dd", "if=/dev/zero", f"of={device}", "bs=1M", "count=1", "--destroy", device)
    assert done.returncode == 2
    assert "in use" in done.stderr or "cannot" in done.stderr


def test_dd_reads_a_file_in_place_to_its_end(tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes(b"x" * 10_000)
    done = dropin(tmp_path, "dd", "if=data", "of=/dev/null", "bs=4k", "skip=1")
    assert done.returncode == 0, done.stderr
    assert "1+0 records in\n" in done.stderr
    assert (tmp_path / "data").read_bytes() == b"x" * 10_000


@pytest.mark.parametrize(
    ("words", "kept", "zeros"),
    [
        (("count=2",), 0, 2 << 20),
        (("count=1", "seek=2"), 2 << 20, 1 << 20),
        (("count=1", "conv=notrunc"), 0, 1 << 20),
        (("count=4", "conv=notrunc,fdatasync"), 0, 4 << 20),
    ],
)
def test_dd_leaves_the_file_that_dd_leaves(
    tmp_path: Path, words: tuple[str, ...], kept: int, zeros: int
) -> None:
    before = os.urandom(3 << 20)
    (tmp_path / "data").write_bytes(before)
    line = ("dd", "if=/dev/zero", "of=data", "bs=1M", *words)
    age = (tmp_path / "data").stat().st_mtime_ns
    refused = dropin(tmp_path, *line)
    assert (refused.returncode, (tmp_path / "data").read_bytes()) == (2, before)
    assert (tmp_path / "data").stat().st_mtime_ns == age
    done = dropin(tmp_path, *line, "--destroy", "data")
    assert done.returncode == 0, done.stderr
    behind = before[kept + zeros :] if "notrunc" in "".join(words) else b""
    assert (tmp_path / "data").read_bytes() == before[:kept] + bytes(zeros) + behind


def test_dd_makes_a_file_of_the_users_mode_or_leaves_none(tmp_path: Path) -> None:
    refused = dropin(tmp_path, "dd", "if=/dev/zero", "of=new", "bs=1000", "count=3", "oflag=direct")
    assert (refused.returncode, os.listdir(tmp_path)) == (2, [])
    refused = dropin(tmp_path, "dd", "if=/dev/zero", "of=new", "bs=1G", "count=9000000")
    assert "are free" in refused.stderr
    assert os.listdir(tmp_path) == []
    done = dropin(tmp_path, "dd", "if=/dev/urandom", "of=new", "bs=4k", "count=3", "seek=1")
    assert done.returncode == 0, done.stderr
    content = (tmp_path / "new").read_bytes()
    assert (len(content), content[:4096]) == (16384, bytes(4096))
    assert content.count(0) < 4096 + 200
    (tmp_path / "other").touch()
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_dd_reads_a_virtual_drive(tmp_path: Path) -> None:
    done = dropin(tmp_path, "dd", f"if={DRIVE}", "of=/dev/null", "bs=1M", "count=10240")
    assert done.returncode == 0, done.stderr
    assert (
        "10240+0 records in\n10240+0 records out\n10737418240 bytes (11 GB, 10 GiB) copied, " in done.stderr
    )


@pytest.mark.parametrize(
    ("line", "output"),
    [
        ("dd if=a of=b", "for a copy use dd itself"),
        ("dd if=/dev/zero of=/dev/null", "one side must be a target"),
        ("dd if=/dev/zero of=new bs=1M", "count=: missing"),
        ("dd if=/dev/zero of=new bs=1M count=0", "moves nothing"),
        ("dd if=/dev/zero of=new bs=1M count=1 conv=swab", "conv=swab"),
        ("dd if=/dev/zero of=new bs=1M count=1 skip=1", "no effect on that side"),
        ("dd of=x", "if=FILE: missing"),
        ("dd if=/dev/zero of=new ibs=1M", "bs="),
        ("hdparm /dev/null", "give -t"),
        ("hdparm -t /dev/null", "no block device"),
        ("hdparm -t virtual:plain virtual:plain", "--save: names one study folder"),
        ("hdparm -W /dev/null", "write_cache"),
        ("hdparm -T virtual:plain-64gib", "a virtual drive has no host"),
        ("hdparm -tT virtual:plain-64gib", "give -t alone"),
        ("hdparm -t --offset 64 virtual:plain-64gib", "a read takes 2 MiB after 64 GiB"),
        ("hdparm -Z /dev/null", "there is no flag"),
    ],
)
def test_a_refusal_names_what_cannot_be_and_leaves_nothing(tmp_path: Path, line: str, output: str) -> None:
    done = dropin(tmp_path, *line.split())
    assert done.returncode == 2, done.stdout + done.stderr
    assert output in done.stderr
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("bytes_moved", "base", "shown"),
    [
        (999, 1000, "999 B"),
        (1000, 1000, "1.0 kB"),
        (10_737_418_240, 1000, "11 GB"),
        (10_737_418_240, 1024, "10 GiB"),
        (999_999, 1000, "1.0 MB"),
        (9_960_000, 1000, "10 MB"),
        (9_940_000, 1000, "9.9 MB"),
    ],
)
def test_amounts_are_rounded_as_dd_rounds_them(bytes_moved: int, base: int, shown: str) -> None:
    assert amount(bytes_moved, base) == shown


def test_the_lines_are_those_of_the_tools() -> None:
    line = " Timing buffered disk reads: 256 MB in  1.20 seconds = 213.33 MB/sec\n"
    assert timing_line("buffered", False, 256 << 20, 1.2) == line
    assert timing_line("cached", True, 10370 << 20, 2.0).startswith(
        " Timing O_DIRECT cached reads:   10370 MB in "
    )
    text = "100+0 records in\n100+0 records out\n104857600 bytes (105 MB, 100 MiB) copied, 0.120576 s, 870 MB/s\n"
    assert summary(104857600, 1 << 20, 0.120576) == text
    assert summary(500, 512, 0.5).splitlines() == [
        "0+1 records in",
        "0+1 records out",
        "500 bytes copied, 0.5 s, 1.0 kB/s",
    ]


@pytest.mark.slow
def test_cautions_stand_on_standard_error_and_the_tools_lines_alone_on_standard_output(
    tmp_path: Path,
) -> None:
    done = dropin(tmp_path, "iozone", "-t", "1", "-s", "64k", "-r", "4k", "-i", "0", "-F", "f")
    plain = dropin(tmp_path / "..", "dd", "if=/dev/zero", f"of={DRIVE}", "bs=1M", "count=4")
    assert done.returncode == plain.returncode == 0, done.stderr + plain.stderr
    assert "[!]" not in done.stdout + plain.stdout
    assert "mileage: [!] fresh drive: " in plain.stderr


def test_a_file_that_is_not_there_ends_dd_with_the_status_of_dd(tmp_path: Path) -> None:
    words = ("if=none", "of=/dev/null", "count=1")
    original = subprocess.run(("dd", *words), cwd=tmp_path, capture_output=True, check=False)
    done = mileage("dd", *words, cwd=tmp_path)
    assert done.returncode == original.returncode == 1
    assert "none: no such file" in done.stderr
