"""`mileage measure` on block devices: read in place without leave, written only with it; hdparm's and dd's ways."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.test_measure import cells, measured, mileage

pytestmark = pytest.mark.xdist_group("devices")

DEVICE_BYTES = 24 << 20
STRACE = shutil.which("strace")


def digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def test_a_device_is_read_whole_and_stays_as_it_is(loop_device: Path) -> None:
    before = digest(loop_device)
    (cell,) = cells("-t", f"block:{loop_device}", "-w", "sequential_read", "--bytes", "24MiB")
    assert cell["bytes_read"] == DEVICE_BYTES
    assert digest(loop_device) == before
    assert f"block:{loop_device}" in measured("-t", f"block:{loop_device}", "--operations", "50")


def test_a_device_is_written_only_when_it_was_given_up(loop_device: Path) -> None:
    write = ("-t", f"block:{loop_device}", "-w", "sequential_write", "--bytes", "1MiB")
    result = mileage("measure", *write)
    assert result.returncode == 2
    assert f"--destroy {loop_device}" in result.stderr
    (cell,) = cells(*write, "--destroy", str(loop_device))
    assert cell["bytes_written"] == 1 << 20


def test_a_mounted_device_is_never_written(small_ext4: Path, loop_device: Path) -> None:
    result = mileage(
        *("measure", "-t", f"block:{loop_device}", "-w", "random_write", "--operations", "1"),
        *("--destroy", str(loop_device)),
    )
    assert result.returncode == 2
    assert f"mounted at {small_ext4}" in result.stderr
    (cell,) = cells("-t", f"block:{loop_device}", "--operations", "50")
    assert cell["ops_read"] == 50


def test_dd_writes_the_whole_device_and_its_flush_counts(loop_device: Path) -> None:
    (cell,) = cells("-t", f"block:{loop_device}", "-w", "dd.write", "--destroy", str(loop_device))
    assert cell["bytes_written"] == DEVICE_BYTES
    assert cell["latency"]["sync"]["count"] == 1
    assert sum(cell["elapsed_s"]) * 1e9 >= cell["latency"]["sync"]["max_ns"]
    with loop_device.open("rb") as file:
        assert file.read() == bytes(DEVICE_BYTES)
    (cell,) = cells("-t", f"block:{loop_device}", "-w", "dd.read")
    assert cell["bytes_read"] == DEVICE_BYTES


def test_a_study_purges_a_device_before_it_fills_it(loop_device: Path, tmp_path: Path) -> None:
    study = tmp_path / "study.toml"
    study.write_text(
        f"""name = "device"
        target = "block:{loop_device}"
        [[stage]]
        name = "fill"
        prepare = ["fill"]
        [[stage]]
        name = "raw"
        measure = ["raw"]
        [measure.raw]
        workload = ["hdparm.*", "dd.*"]
        repeat = 1
        [torture.fill]
        workload = "throughput.write"
        record = "1MiB"
        amount = "1x"
        """
    )
    refused = mileage("run", str(study), "--out", str(tmp_path / "out"))
    assert refused.returncode == 2
    assert f"--destroy {loop_device}" in refused.stderr
    done = mileage("run", str(study), "--out", str(tmp_path / "out"), "--destroy", str(loop_device))
    assert done.returncode == 0, done.stderr
    for name in ("hdparm.cached", "hdparm.buffered_direct", "dd.write"):
        assert name in done.stdout


@pytest.mark.skipif(STRACE is None, reason="strace is not installed")
@pytest.mark.parametrize(
    ("workload", "direct", "offsets"),
    [
        ("hdparm.cached", False, {0}),
        ("hdparm.buffered_direct", True, None),
        ("hdparm.cached_direct", True, {0}),
    ],
)
def test_the_calls_are_those_of_hdparm(
    tmp_path: Path, workload: str, direct: bool, offsets: set[int] | None
) -> None:
    data = tmp_path / "data"
    data.write_bytes(os.urandom(8 << 20))
    trace = tmp_path / "trace"
    command = [
        sys.executable,
        "-m",
        "mileage",
        "measure",
        "-t",
        f"file:{data}",
        "-w",
        workload,
        "--operations",
        "4",
    ]
    subprocess.run(
        [str(STRACE), "-f", "-ttt", "-e", "trace=openat,pread64,fadvise64,sync", "-o", str(trace), *command],
        check=True,
        capture_output=True,
        timeout=120,
    )
    lines = trace.read_text().splitlines()
    opened = [line for line in lines if f'"{data}"' in line and "O_RDONLY" in line]
    assert any("O_DIRECT" in line for line in opened) or not direct
    reads = [line for line in lines if "pread64" in line and ", 2097152, " in line]
    assert len(reads) == 4
    found = {int(line.rpartition(", ")[2].partition(")")[0]) for line in reads}
    assert found == (offsets if offsets is not None else {0, 2 << 20, 4 << 20, 6 << 20})
    # The cache is emptied, what is dirty anywhere written out, and then nothing done for a while, in this order.
    (synced,) = [number for number, line in enumerate(lines) if " sync()" in line]
    emptied = [
        number for number, line in enumerate(lines) if "fadvise64" in line and "POSIX_FADV_DONTNEED" in line
    ]
    assert len(emptied) == (0 if direct else 1)
    assert all(number < synced for number in emptied)
    began_s, synced_s = (float(line.split()[1]) for line in (reads[0], lines[synced]))
    assert began_s - synced_s >= (3 if "buffered" in workload else 1)


@pytest.mark.parametrize(
    ("words", "output"),
    [
        (("--touch", "512", "--api", "uring"), "touch_bytes is 512: not with the API uring"),
        (("--touch", "512", "--verify", "all"), "where what was read is compared"),
        (("--touch", "8192"), "where no record is as long"),
        (("--touch", "0"), "touch: found 0, expected 1 to 1073741824 bytes"),
        (("--settle", "soon"), "'soon' is not a time"),
    ],
)
def test_a_touch_reaches_the_engine_or_is_refused(
    tmp_path: Path, words: tuple[str, ...], output: str
) -> None:
    data = tmp_path / "data"
    data.write_bytes(bytes(1 << 20))
    given = (
        "-t",
        f"file:{data}",
        "-w",
        "random_read",
        "--record",
        "4KiB",
        "--operations",
        "50",
        "--api",
        "pread",
    )
    (cell,) = cells(*given, "--touch", "512", "--settle", "10ms")
    assert cell["ops_read"] == 50
    result = mileage("measure", *given, *words)
    assert (result.returncode, output in " ".join(result.stderr.split())) == (2, True), result.stderr


@pytest.mark.parametrize("target", ["virtual:plain-64gib", "null:"])
@pytest.mark.parametrize("words", [("--touch", "512"), ("--settle", "1s")])
def test_a_touch_and_a_rest_are_of_real_targets(target: str, words: tuple[str, ...]) -> None:
    result = mileage("measure", "-t", target, "--operations", "50", *words)
    assert result.returncode == 2
    assert words[0].lstrip("-") in result.stderr
