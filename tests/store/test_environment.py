"""The environment snapshot and what counts as a change."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mileage.store.environment import diff, is_volatile, snapshot, weighty

FILES = {
    "proc/sys/kernel/osrelease": "6.1.0-test\n",
    "proc/sys/kernel/hostname": "secret-name\n",
    "proc/sys/kernel/random/boot_id": "1234\n",
    "proc/cpuinfo": "processor : 0\nmodel name : Test CPU @ 2 GHz\nflags : fpu hypervisor sse\n",
    "proc/meminfo": "MemTotal: 1024 kB\nMemAvailable: 512 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\nDirty: 4 kB\n",
    "proc/swaps": "Filename Type Size Used Priority\n",
    "proc/loadavg": "0.10 0.20 0.30 1/100 4242\n",
    "proc/stat": "cpu 50 0 30 10 0 0 0 10 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n",
    "proc/pressure/io": "some avg10=1.50 avg60=0 total=2\nfull avg10=0.50 avg60=0 total=1\n",
    "proc/sys/vm/dirty_ratio": "20\n",
    "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave\n",
    "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor": "performance\n",
    "sys/devices/system/cpu/intel_pstate/no_turbo": "1\n",
    "sys/devices/system/cpu/cpu0/cache/index2/level": "2\n",
    "sys/devices/system/cpu/cpu0/cache/index2/size": "1280K\n",
    "sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc\n",
    "sys/block/vdz/queue/scheduler": "none [mq-deadline] kyber\n",
    "sys/block/vdz/queue/rotational": "0\n",
    "sys/class/block/vdz/dev": "253:9\n",
}


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A machine in which everything under the test's own directory lies on /dev/vdz."""
    mounts = {"proc/self/mountinfo": "21 1 0:99 / / rw,noatime - xfs /dev/vdz rw,discard\n"}
    for name, text in (FILES | mounts).items():
        path = tmp_path / "machine" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "machine"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("kernel.release", "6.1.0-test"),
        ("kernel.boot_id", "1234"),
        ("kernel.clocksource", "tsc"),
        ("kernel.version", "unknown"),
        ("cpu.model", "Test CPU @ 2 GHz"),
        ("cpu.governor", "performance, powersave"),
        ("cpu.boost", "off"),
        ("cpu.hypervisor", "unnamed"),
        ("cpu.l2_bytes", str(1280 << 10)),
        ("cpu.l3_bytes", "unknown"),
        ("memory.total_bytes", str(1 << 20)),
        ("memory.swap_areas", "none"),
        ("memory.transparent_hugepage", "madvise"),
        ("vm.dirty_ratio", "20"),
        ("vm.swappiness", "unknown"),
        ("now.loadavg", "0.10 0.20 0.30"),
        ("now.steal_percent", "10.00"),
        ("now.pressure_io_some_percent", "1.50"),
        ("now.pressure_io_full_percent", "0.50"),
        ("now.pressure_cpu_some_percent", "unknown"),
        ("target.fs_type", "xfs"),
        ("target.mount_options", "rw,noatime,discard"),
        ("target.device", "vdz"),
        ("target.scheduler", "mq-deadline"),
        ("target.rotational", "0"),
        ("target.write_cache", "unknown"),
    ],
)
def test_what_is_read(machine: Path, key: str, value: str) -> None:
    assert snapshot(machine, root=machine)[key] == value


def test_the_host_is_identified_but_not_named(machine: Path) -> None:
    first = snapshot(root=machine)
    assert "secret-name" not in " ".join(first.values())
    (machine / "proc/sys/kernel/hostname").write_text("other\n")
    assert snapshot(root=machine)["host.hash"] != first["host.hash"]


@pytest.mark.parametrize(
    ("cpuinfo", "vendor", "expected"),
    [
        ("flags : fpu\n", None, "none"),
        ("flags : fpu hypervisor\n", "QEMU\n", "QEMU"),
        ("model name : x\n", None, "unknown"),
    ],
)
def test_the_hypervisor(machine: Path, cpuinfo: str, vendor: str | None, expected: str) -> None:
    (machine / "proc/cpuinfo").write_text(cpuinfo)
    if vendor is not None:
        (machine / "sys/class/dmi/id").mkdir(parents=True)
        (machine / "sys/class/dmi/id/sys_vendor").write_text(vendor)
    assert snapshot(root=machine)["cpu.hypervisor"] == expected


def test_the_keys_are_sorted_and_never_missing(machine: Path, tmp_path: Path) -> None:
    full = snapshot(machine, root=machine)
    empty = snapshot(tmp_path / "gone", root=tmp_path / "nothing")
    assert list(full) == sorted(full)
    assert full.keys() == empty.keys()
    assert all(empty.values())
    assert empty["target.fs_type"] == "unknown"


def test_without_a_target_there_are_no_target_keys(machine: Path) -> None:
    assert not [key for key in snapshot(root=machine) if "target" in key]


def test_a_stable_change_is_an_invalidity_flag(machine: Path) -> None:
    before = snapshot(machine, root=machine)
    (machine / "proc/sys/kernel/osrelease").write_text("6.2.0\n")
    (machine / "proc/loadavg").write_text("9.00 0.20 0.30 1/100 4242\n")
    after = snapshot(machine, root=machine)
    assert diff(before, after) == ["kernel.release changed from 6.1.0-test to 6.2.0"]


def test_keys_that_come_and_go_are_changes() -> None:
    assert diff({"a": "1"}, {"b": "2"}) == ["a disappeared: it was 1", "b appeared: 2"]


environments = st.dictionaries(st.sampled_from(["a", "b", "now.a", "now.b"]), st.sampled_from(["1", "2"]))


@given(before=environments, after=environments)
def test_every_difference_is_listed_once(before: dict[str, str], after: dict[str, str]) -> None:
    different = {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}
    assert len(diff(before, after)) == len([key for key in different if not is_volatile(key)])
    assert diff(before, before) == []


def test_this_machine_does_not_change_while_we_look(tmp_path: Path) -> None:
    assert diff(snapshot(tmp_path), snapshot(tmp_path)) == []


@pytest.mark.parametrize(
    ("key", "before", "after", "grave"),
    [
        ("kernel.release", "6.1", "6.2", True),
        ("kernel.boot_id", "a", "b", False),
        ("memory.total_bytes", "1000000", "1000100", False),
        ("memory.total_bytes", "1000000", "900000", True),
        ("target.source", "/dev/sda1", "/dev/sdb1", False),
        ("target.source", "server:/a", "server:/b", True),
        ("target.source", "/dev/sda1", "tmpfs", True),
        ("target.serial_hash", "a", "b", True),
        ("target.device", "loop0", "loop1", False),
        ("target.firmware", "unknown", "2B2QEXM7", False),
        ("cpu.governor", "powersave", "performance", False),
    ],
)
def test_what_makes_runs_incomparable(key: str, before: str, after: str, grave: bool) -> None:
    assert weighty(key, {key: before}, {key: after}) is grave


def test_a_key_that_comes_with_a_program_is_no_grave_change() -> None:
    """Somebody installed smartctl in mid-study."""
    assert not weighty("target.drive_model", {}, {"target.drive_model": "Example"})


@pytest.mark.parametrize("value", ["\u00b2", "9" * 5000, "\u0663", "-1", ""])
def test_a_memory_size_that_is_no_number_has_changed(value: str) -> None:
    key = "memory.total_bytes"
    assert weighty(key, {key: value}, {key: "1000"})
    assert weighty(key, {key: "1000"}, {key: value})
