"""`mileage fio` that trims: places, counts, what a device holds afterwards, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mileage.dropin.fio_jobs import jobs_of
from mileage.dropin.fio_plan import works_of
from mileage.dropin.flags import read, tool_named
from mileage.errors import Refused
from tests.command import mileage


def logged(place: Path, *words: str) -> tuple[list[tuple[str, int, int]], dict[str, Any]]:
    """Operations of a job of the null engine, by its log, and its results."""
    base = ("--name=a", "--ioengine=null", "--write_iolog=log", "--output-format=json")
    done = mileage("fio", *base, *words, cwd=place)
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in (place / "log").read_text().splitlines()[1:]]
    moved = [(row[2], int(row[3]), int(row[4])) for row in rows if len(row) == 5]
    (job,) = json.loads(done.stdout)["jobs"]
    return moved, job


@pytest.mark.parametrize(
    "words",
    [
        ("--rw=trimwrite", "--bs=8k"),
        ("--rw=randtrimwrite", "--bs=4k"),
        ("--rw=trimwrite", "--bsrange=512-4k"),
        ("--rw=randtrimwrite", "--bsrange=512-4k"),
        ("--rw=randtrimwrite", "--bssplit=512/25:1k/:2k/:4k/"),
    ],
)
def test_each_block_is_trimmed_and_then_written(tmp_path: Path, words: tuple[str, ...]) -> None:
    moved, job = logged(tmp_path, "--size=64k", *words)
    # As fio 3.33: in pairs, and once over the whole file.
    assert [one[0] for one in moved] == ["trim", "write"] * (len(moved) // 2)
    assert [one[1:] for one in moved[::2]] == [one[1:] for one in moved[1::2]]
    assert sorted(
        at for _, offset, length in moved[::2] for at in range(offset, offset + length, 512)
    ) == list(range(0, 65536, 512))
    assert job["trim"]["total_ios"] == job["write"]["total_ios"] == len(moved) // 2
    assert job["trim"]["io_bytes"] == job["write"]["io_bytes"] == 65536
    assert job["trim"]["clat_ns"]["N"] == len(moved) // 2
    offsets = [offset for _, offset, _ in moved]
    assert (offsets == sorted(offsets)) != words[0].startswith("--rw=rand")


@pytest.mark.parametrize(
    ("words", "pairs"),
    [
        (("--rw=trimwrite", "--loops=2"), 32),
        (("--rw=trimwrite", "--io_size=16k"), 4),
        (("--rw=randtrimwrite", "--norandommap"), 16),
        (("--rw=randtrimwrite", "--norandommap", "--bs=4k,4k,8k"), 8),
    ],
)
def test_limits_count_what_is_written(tmp_path: Path, words: tuple[str, ...], pairs: int) -> None:
    moved, _ = logged(tmp_path, "--size=64k", *words)
    assert len(moved) == 2 * pairs


def test_trims_have_the_size_of_writes_unless_another_is_given(tmp_path: Path) -> None:
    for sizes, length in (("4k", 4096), ("4k,8k", 8192), ("4k,8k,16k", 16384)):
        moved, job = logged(tmp_path, "--rw=trim", "--size=64k", f"--bs={sizes}")
        assert moved == [("trim", offset, length) for offset in range(0, 65536, length)]
        assert (job["write"]["total_ios"], job["read"]["total_ios"]) == (0, 0)


@pytest.mark.xdist_group("devices")
def test_a_device_is_trimmed_with_permission(tmp_path: Path, loop: str) -> None:
    words = (
        "fio",
        "--name=a",
        f"--filename={loop}",
        "--rw=randtrim",
        "--size=1m",
        "--direct=1",
        "--output-format=json",
    )
    refused = mileage(*words, cwd=tmp_path)
    assert refused.returncode == 2
    assert "--destroy" in refused.stderr
    done = mileage(*words, f"--destroy={loop}", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (job,) = json.loads(done.stdout)["jobs"]
    assert (job["trim"]["total_ios"], job["trim"]["io_bytes"]) == (256, 1 << 20)
    with open(loop, "rb") as device:
        assert device.read(1 << 20) == bytes(1 << 20)
        assert device.read(4096) == b"1" * 4096


@pytest.mark.parametrize(
    "words",
    [
        ("--rw=randtrim", "--verify=md5"),
        ("--rw=trim", "--rate=1m"),
        ("--rw=trim", "--bssplit=4k/50:8k/50"),
        ("--rw=trimwrite", "--bs=4k,8k,2k"),
        ("--rw=trimwrite", "--time_based", "--runtime=1"),
        ("--rw=trimwrite:4k",),
        ("--rw=trim", "--ioengine=filecreate"),
        ("--rw=trim", "--ioengine=psync"),
    ],
)
def test_what_is_not_done_with_trims_is_refused(words: tuple[str, ...]) -> None:
    (job,) = jobs_of(read(tool_named("fio"), ["--name=a", "--size=64k", "--ioengine=null", *words]))
    with pytest.raises(Refused):
        works_of(job)
