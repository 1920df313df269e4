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
        [str(STRACE), "-f", "-e", "trace=openat,pread64", "-o", str(trace), *command],
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
