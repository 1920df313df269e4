"""Limits of control groups on the disk below a path, of both versions, in a tree that looks like /proc and /sys."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from mileage.targets.io_limits import io_limits, limit_facts, lowest_io_limits

Machine = Callable[[dict[str, str]], Path]


def number(path: Path) -> str:
    device = path.stat().st_dev
    return f"{os.major(device)}:{os.minor(device)}"


@pytest.mark.parametrize(
    ("cgroup", "file", "line", "words"),
    [
        (
            "0::/user/me",
            "sys/fs/cgroup/user/io.max",
            "{} rbps=max wbps=1000000",
            "writes to 1,000,000 bytes/s",
        ),
        ("0::/", "sys/fs/cgroup/io.max", "{} riops=50 rbps=max", "reads to 50 operations/s"),
        (
            "4:blkio:/box",
            "sys/fs/cgroup/blkio/box/blkio.throttle.read_bps_device",
            "{} 20971520",
            "reads to 20,971,520 bytes/s",
        ),
    ],
)
def test_a_limit_on_this_disk_is_reported(
    cgroup: str, file: str, line: str, words: str, machine: Machine, tmp_path: Path
) -> None:
    root = machine({"proc/self/cgroup": f"{cgroup}\n", file: line.format(number(tmp_path)) + "\n"})
    (found,) = io_limits(tmp_path, root=root)
    assert f"a control group limits {words}" in found


def test_limits_on_other_disks_and_no_limits_are_not(machine: Machine, tmp_path: Path) -> None:
    files = {"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/io.max": "999:0 rbps=1 wbps=max\n"}
    assert io_limits(tmp_path, root=machine(files)) == []
    limitless = {"sys/fs/cgroup/a/io.max": f"{number(tmp_path)} rbps=max wbps=max riops=max wiops=max\n"}
    assert io_limits(tmp_path, root=machine({**files, **limitless})) == []


def test_the_lowest_limit_of_all_groups_holds(machine: Machine, tmp_path: Path) -> None:
    where = number(tmp_path)
    root = machine(
        {
            "proc/self/cgroup": "0::/a/b\n",
            "sys/fs/cgroup/a/b/io.max": f"{where} rbps=2000 wbps=500 riops=max wiops=max\n",
            "sys/fs/cgroup/a/io.max": f"{where} rbps=1000 wbps=900 riops=70 wiops=max\n",
            "sys/fs/cgroup/a/cpu.max": "150000 100000\n",
            "sys/fs/cgroup/a/b/cpu.max": "max 100000\n",
        }
    )
    lowest = {"read_bytes_per_s": 1000, "write_bytes_per_s": 500, "read_ops_per_s": 70}
    assert lowest_io_limits(tmp_path, root=root) == lowest
    assert limit_facts(tmp_path, root=root) == {
        "group.io_limits": "read_bytes_per_s=1000 read_ops_per_s=70 write_bytes_per_s=500",
        "group.processor_limit": "1.5",
    }


@pytest.mark.parametrize(("quota", "limit"), [("50000", "0.5"), ("-1", "none")])
def test_processors_of_version_1(quota: str, limit: str, machine: Machine) -> None:
    folder = "sys/fs/cgroup/cpu/box"
    root = machine(
        {
            "proc/self/cgroup": "3:cpu:/box\n",
            f"{folder}/cpu.cfs_quota_us": f"{quota}\n",
            f"{folder}/cpu.cfs_period_us": "100000\n",
        }
    )
    assert limit_facts(None, root=root) == {"group.processor_limit": limit}


def test_limits_are_unknown_where_the_kernel_has_no_groups(machine: Machine, tmp_path: Path) -> None:
    found = limit_facts(tmp_path, root=machine({}))
    assert found == {"group.io_limits": None, "group.processor_limit": None}
