"""A watch on an ext4 that is written at a known rate: TB per year within 3 %, also after a restart of the watch."""

from __future__ import annotations

import json
import mmap
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from mileage.endurance.write_counters import read_counters
from tests.command import mileage

pytestmark = pytest.mark.xdist_group("devices")

RATE = 16 << 20
"""Bytes per second that the writer writes."""
PIECE = 256 << 10
YEAR_S = 365 * 86_400


@pytest.fixture
def ext4(tmp_path: Path) -> Iterator[Path]:
    """An ext4 of 128 MiB on a loop device of its own."""
    if os.geteuid() != 0 or shutil.which("losetup") is None or shutil.which("mkfs.ext4") is None:
        pytest.skip("a loop device needs root, losetup and mkfs.ext4")
    image, place = tmp_path / "image", tmp_path / "ext4"
    with image.open("wb") as file:
        file.truncate(128 << 20)
    place.mkdir()
    made = subprocess.run(
        ["losetup", "--find", "--show", str(image)], capture_output=True, text=True, check=False
    )
    if made.returncode:
        pytest.skip(f"no loop device can be had: {made.stderr}")
    device = made.stdout.strip()
    try:
        subprocess.run(
            ["mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", device], check=True
        )
        subprocess.run(["mount", device, str(place)], check=True)
        try:
            yield place
        finally:
            subprocess.run(["umount", str(place)], check=True)
    finally:
        subprocess.run(["losetup", "-d", device], check=True)


class Writer(threading.Thread):
    """Overwrites a file past the page cache at `RATE`; `written` and its time are the truth."""

    def __init__(self, place: Path) -> None:
        super().__init__(daemon=True)
        self.history: list[tuple[float, int]] = []
        self.ended = threading.Event()
        self._file = place / "data"
        self._file.write_bytes(b"x" * (16 << 20))
        subprocess.run(["sync", "-f", str(place)], check=True)

    def run(self) -> None:
        buffer = mmap.mmap(-1, PIECE)
        descriptor = os.open(self._file, os.O_WRONLY | os.O_DIRECT)
        started, written = time.time(), 0
        while not self.ended.is_set():
            os.pwrite(descriptor, buffer, written % (16 << 20))
            written += PIECE
            self.history.append((time.time(), written))
            time.sleep(max(started + written / RATE - time.time(), 0.0))
        os.close(descriptor)

    def rate(self, first_s: float, last_s: float) -> float:
        """Bytes per second that were written between two moments."""
        inside = [one for one in self.history if first_s <= one[0] <= last_s]
        return (inside[-1][1] - inside[0][1]) / (inside[-1][0] - inside[0][0])


@pytest.mark.slow
def test_a_known_rate_is_found_also_after_a_restart(ext4: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    words = ["endurance", "watch", f"dir:{ext4}", "--log", str(log), "--every", "500 ms", "--json"]
    writer = Writer(ext4)
    writer.start()
    try:
        time.sleep(0.5)
        done = mileage(*words, "--for", "5 s")
        assert done.returncode == 0, done.stderr
        time.sleep(1.5)
        again = mileage(*words, "--for", "4 s")
        assert again.returncode == 0, again.stderr
    finally:
        writer.ended.set()
        writer.join()
    times = [json.loads(line)["time_s"] for line in log.read_text().splitlines()[1:]]
    first, second = json.loads(done.stdout), json.loads(again.stdout)
    assert second["watch"]["samples"] > first["watch"]["samples"] >= 8
    for found, last in ((first, times[first["watch"]["samples"] - 1]), (second, times[-1])):
        truth = writer.rate(times[0], last)
        print(f"TB/year: {found['tb_per_year']:.2f} found, {truth * YEAR_S / 1e12:.2f} written")
        assert found["tb_per_year"] == pytest.approx(truth * YEAR_S / 1e12, rel=0.03)
        for name in ("kernel", "file system"):
            assert found["watch"]["rates"][name]["bytes_per_s"] == pytest.approx(truth, rel=0.03)
    # 10.5 s, of which 1.5 s were not watched but counted.
    assert second["watch"]["rates"]["kernel"]["counted_s"] > 10


def test_once_appends_a_sample_and_another_file_system_is_refused(ext4: Path, tmp_path: Path) -> None:
    words = ["endurance", "watch", "--once", "--log", str(tmp_path / "log")]
    first = mileage(*words, f"dir:{ext4}")
    assert first.returncode == 0, first.stderr
    assert "1 sample; no counter was read twice yet" in " ".join(first.stdout.split())
    (ext4 / "more").write_bytes(b"y" * (4 << 20))
    subprocess.run(["sync", "-f", str(ext4)], check=True)
    second = mileage(*words, f"dir:{ext4}", "--tbw", "1TB")
    assert "TB/year" in second.stdout
    assert "Wear-out of 1 TB" in " ".join(second.stdout.split())
    other = mileage(*words, f"dir:{tmp_path}")
    assert other.returncode == 2
    assert "is the log of another drive or file system" in other.stderr


def test_what_cannot_be_watched_is_refused(tmp_path: Path) -> None:
    for target, message in (("virtual:plain-64gib", "has no real drive"), (str(tmp_path / "no"), "no")):
        done = mileage("endurance", "watch", target, "--once", cwd=tmp_path)
        assert done.returncode == 2, done.stdout
        assert message in done.stderr
    assert mileage("endurance", "watch", ".", "--once", "--for", "1 s").returncode == 2
    assert not (tmp_path / "mileage-wear.jsonl").exists()


def test_counters_are_those_of_the_kernel(ext4: Path) -> None:
    before = read_counters(ext4)
    (ext4 / "big").write_bytes(os.urandom(8 << 20))
    subprocess.run(["sync", "-f", str(ext4)], check=True)
    after = read_counters(ext4)
    assert before.identity == after.identity != ""
    for name in ("kernel", "file system"):
        one, other = before.sample.counters[name], after.sample.counters[name]
        grown = (other.value - one.value) * one.unit_bytes
        assert 8 << 20 <= grown <= 10 << 20, name
