"""Differences between the machines, devices and mounts of two studies."""

from __future__ import annotations

import pytest

from mileage.analysis.environment_caveats import environment_caveats
from mileage.report.caveat_words import caveat_words

MACHINE = {
    "cpu.governor": "powersave",
    "host.hash": "a1",
    "kernel.boot_id": "1",
    "kernel.release": "6.12.1",
    "memory.total_bytes": "16000000000",
    "now.loadavg": "0.1",
    "target.disk_bytes": "512110190592",
    "target.drive_firmware": "1.0",
    "target.drive_model": "A",
    "target.drive_serial_hash": "s1",
    "target.fs_type": "ext4",
    "target.mount_options": "rw,relatime",
    "target.mount_point": "/mnt/a",
    "target.read_ahead_kb": "128",
    "target.scheduler": "none",
    "target.source": "/dev/loop1",
    "target.write_cache": "write back",
    "vm.dirty_ratio": "20",
}


@pytest.mark.parametrize(
    ("key", "value", "severity", "values"),
    [
        ("target.mount_options", "rw,nobarrier,noatime", "limits", ("relatime", "nobarrier,noatime")),
        ("target.mount_options", "rw,relatime,nobarrier", "limits", ("without them", "nobarrier")),
        ("target.fs_type", "xfs", "limits", ("ext4", "xfs")),
        ("target.scheduler", "bfq", "limits", ("none", "bfq")),
        ("target.write_cache", "write through", "limits", ("write back", "write through")),
        ("kernel.release", "6.13.0", "limits", ("6.12.1", "6.13.0")),
        ("memory.total_bytes", "8000000000", "limits", ("16000000000", "8000000000")),
        ("target.drive_firmware", "1.1", "limits", ("1.0", "1.1")),
        ("vm.dirty_ratio", "5", "informs", ("20", "5")),
        ("target.read_ahead_kb", "4096", "informs", ("128", "4096")),
        ("target.drive_model", "B", "informs", ("A", "B")),
        ("host.hash", "b2", "informs", ("a1", "b2")),
    ],
)
def test_a_difference_has_its_key_and_both_values(
    key: str, value: str, severity: str, values: tuple[str, str]
) -> None:
    (found,) = environment_caveats(MACHINE, {**MACHINE, key: value})
    assert (found.code, found.severity) == ("environment-differs", severity)
    assert (found.figures["baseline"], found.figures["candidate"]) == values
    assert all(value in caveat_words(found) for value in values)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("kernel.boot_id", "2"),
        ("now.loadavg", "9"),
        ("target.mount_point", "/mnt/b"),
        ("target.source", "/dev/loop2"),
        ("memory.total_bytes", "16000004096"),
        ("kernel.release", "unknown"),
    ],
)
def test_what_changes_at_every_boot_is_none(key: str, value: str) -> None:
    assert environment_caveats(MACHINE, {**MACHINE, key: value}) == []


def test_other_drives_are_noted_once() -> None:
    other = {
        **MACHINE,
        "target.drive_serial_hash": "s2",
        "target.drive_firmware": "7",
        "target.drive_model": "B",
        "target.disk_bytes": "1",
    }
    (found,) = environment_caveats(MACHINE, other)
    assert (found.severity, found.figures["candidate"]) == ("informs", "B")
    twin = {**MACHINE, "target.drive_serial_hash": "s2"}
    (found,) = environment_caveats(MACHINE, twin)
    assert (found.severity, found.figures["candidate"]) == ("informs", "s2")


def test_mounts_come_first_and_a_swap_exchanges_the_values() -> None:
    other = {
        **MACHINE,
        "kernel.release": "6.13.0",
        "target.mount_options": "rw",
        "cpu.governor": "performance",
    }
    found = environment_caveats(MACHINE, other)
    assert [one.figures["key"] for one in found] == [
        "the list of mount options",
        "the kernel's release",
        "cpu.governor",
    ]
    swapped = environment_caveats(other, MACHINE)
    assert [(one.figures["candidate"], one.figures["baseline"]) for one in swapped] == [
        (one.figures["baseline"], one.figures["candidate"]) for one in found
    ]


def test_a_side_without_a_machine_differs_in_none() -> None:
    assert environment_caveats({}, MACHINE) == environment_caveats(MACHINE, {}) == []
