"""Commits on a modelled disk of 7,200 rpm, against the positions of what is written, and what its answer says first.

The disk `hpe-7k2-500gb` has 2,575 sectors on a track of its outer zone, two heads, and skews of 900 us from head to
head and 1,000 us from cylinder to cylinder. The period of a closed loop is the time until the place that is written
next passes the head: a whole number of revolutions, and the distance between the two places. The sum of all periods is
the time of the run, which is known to a nanosecond; a histogram knows a commit to 1/128.
"""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from mileage.app.result import load
from tests.command import mileage

ROOT = Path(__file__).parents[2]
DISK = "virtual:hpe-7k2-500gb"
REVOLUTION_S = 60 / 7200
TRACK = 2575
"""Sectors of a track where the tests write."""
SKEWS_S = (900e-6, 1000e-6)
"""Of the step to the second head, and of that to the next cylinder."""
SECTOR = 1 / TRACK
"""In revolutions."""
JOURNAL_TRACK = 2059
"""Sectors of a track in the middle of the disk, where ext4 puts its journal: cylinder 110,676 of 252,977."""
COMMITTED = 3 * 8
"""Sectors of a transaction of the journal that changes one inode: descriptor, block of inodes, commit."""


def measured(target: str, *words: str, cwd: Path) -> dict[str, Any]:
    sizes = ("--size", "128MiB", "--sync-every", "1", "--json")
    done = mileage("measure", "-t", target, *sizes, *words, cwd=cwd)
    assert done.returncode == 0, done.stderr
    (cell,) = json.loads(done.stdout)
    return dict(cell)


def revolutions(target: str, operations: int, *words: str, cwd: Path) -> float:
    """How long a run takes, in revolutions."""
    cell = measured(target, "--operations", str(operations), *words, cwd=cwd)
    return float(cell["elapsed_s"][0]) / REVOLUTION_S


@pytest.mark.parametrize("cache", ["", ",write_cache_bytes=0"])
@pytest.mark.parametrize("record", [512, 4096, 65536])
def test_a_block_in_place_is_committed_once_in_a_revolution(tmp_path: Path, record: int, cache: str) -> None:
    """With a write cache the flush waits for the same place; without one the write itself does."""
    words = ("-w", "fixed_write", "-r", str(record))
    cell = measured(DISK + cache, *words, "--operations", "1200", cwd=tmp_path)
    period = cell["elapsed_s"][0] / 1200 / REVOLUTION_S
    assert period == pytest.approx(1, abs=SECTOR)
    commit = cell["latency"]["commit"]
    assert commit["count"] == 1200
    # The first one begins at any angle; of the others each takes the same time.
    assert commit["min_ns"] / 1e9 / REVOLUTION_S == pytest.approx(1, abs=SECTOR)


@pytest.mark.parametrize("record", [4096, 65536])
def test_blocks_in_order_are_committed_a_block_later_in_each_revolution(tmp_path: Path, record: int) -> None:
    """Each is a revolution and its own length behind the one before, and a step to the next track the skew more."""
    operations, sectors = 1200, record // 512
    steps = operations * sectors // TRACK
    skews_s = sum(SKEWS_S[step % 2] for step in range(steps))
    expected = operations * (1 + sectors * SECTOR) + skews_s / REVOLUTION_S
    found = revolutions(DISK, operations, "-w", "sequential_write", "-r", str(record), cwd=tmp_path)
    # Each skew is a whole number of sectors.
    assert found == pytest.approx(expected, abs=(steps + 2) * SECTOR)


def test_a_host_without_a_change_to_journal_waits_for_the_disk_alone(tmp_path: Path) -> None:
    """fdatasync of an overwritten block: no transaction, a flush that waits for the block."""
    words = ("-w", "fixed_write", "-r", "4KiB")
    periods = [revolutions(f"{DISK}@server-2025", count, *words, cwd=tmp_path) for count in (20, 21, 22, 23)]
    for before, after in itertools.pairwise(periods):
        assert after - before == pytest.approx(1, abs=SECTOR)


def test_a_journal_moves_by_a_transaction_with_each_commit(tmp_path: Path) -> None:
    """fsync of an overwritten block journals its inode behind the transaction before, and ends with its last block."""
    words = ("-w", "fixed_write", "-r", "4KiB", "--sync", "fsync")
    times = [revolutions(f"{DISK}@server-2025", count, *words, cwd=tmp_path) for count in (40, 41, 42, 43)]
    for before, after in itertools.pairwise(times):
        period = after - before
        # At least the data, the transaction, its last block a revolution later, and the way back.
        assert period >= 3
        assert period % 1 == pytest.approx(COMMITTED / JOURNAL_TRACK, abs=1 / JOURNAL_TRACK)


def test_without_barriers_a_commit_is_what_the_host_computes(tmp_path: Path) -> None:
    words = ("-w", "fixed_write", "-r", "4KiB", "--operations", "1200")
    cell = measured(f"{DISK}@server-2025,barrier=false", *words, cwd=tmp_path)
    # Below a hundredth of a revolution, whatever the angle.
    assert cell["latency"]["commit"]["max_ns"] < 1e9 * REVOLUTION_S / 100


def test_the_example_says_first_what_a_commit_takes_and_what_a_cut_loses(tmp_path: Path) -> None:
    done = mileage("run", str(ROOT / "examples" / "host_power_cut.toml"), "--out", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    entries = [json.loads(line) for line in (tmp_path / "out" / "journal.jsonl").read_text().splitlines()]
    counts: dict[str, list[int]] = {}
    for entry in entries:
        if (record := entry.get("record")) and "power_cut_writes_lost" in record["counters"]:
            found = counts.setdefault(entry["cell"], [0, 0, 0])
            for at, one in enumerate(
                (1, *(record["counters"][f"power_cut_writes_{k}"] for k in ("lost", "synced")))
            ):
                found[at] += one
    cell = "iops.random_write 4 KiB, drive disk"
    comparison = load(tmp_path / "out").comparison()
    for side, arm in zip(comparison.cut_losses[cell], ("on", "off"), strict=True):
        assert [side.cuts, side.lost, side.of] == counts[f"{cell}, barriers {arm}"]
    on, off = comparison.cut_losses[cell]
    assert (on.lost, off.lost > 0.9 * (off.of or 0)) == (0, True)
    first = " ".join(done.stdout.split()).partition("In this simulation")[2].split(". ")[0]
    assert "median commit time" in first
    assert f"{off.lost} of {off.of} synced writes" in first
    assert f"none of {on.of} synced writes" in first
