"""The kernel's mount and swap tables."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mileage.targets.mounts import mount_of, parse_mountinfo, parse_swaps, read_mounts, unescape

TABLE = r"""
21 1 8:2 / / rw,relatime shared:1 - ext4 /dev/sda2 rw,errors=remount-ro
22 21 0:20 / /proc rw,nosuid shared:5 master:2 - proc proc rw
23 21 8:17 / /mnt/with\040space ro,noatime - xfs /dev/sdb1 rw,discard
24 21 0:45 /sub /data rw - btrfs /dev/sdc rw,compress=zstd:3
25 21 0:46 / /data rw - tmpfs tmpfs
"""


def test_the_fields_are_read() -> None:
    root, proc, spaced, btrfs, tmpfs = parse_mountinfo(TABLE)
    assert (root.mount_id, root.device, root.mount_point, root.fs_type) == (21, "8:2", "/", "ext4")
    assert root.all_options == ("rw", "relatime", "errors=remount-ro")
    assert proc.source == "proc"
    assert spaced.mount_point == "/mnt/with space"
    assert spaced.all_options == ("ro", "noatime", "rw", "discard")
    assert btrfs.super_options == ("rw", "compress=zstd:3")
    assert tmpfs.super_options == ()


@pytest.mark.parametrize(
    "line", ["nonsense", "1 2 3:4 / /x rw ext4 /dev/sda rw", "x 2 3:4 / /x rw - ext4 a b"]
)
def test_a_line_that_is_not_mountinfo_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match="not a line of mountinfo"):
        parse_mountinfo(line)


@pytest.mark.parametrize(
    ("path", "device", "expected"),
    [
        ("/home/x", None, 21),
        ("/mnt/with space/deep", None, 23),
        ("/mnt/with spaceX", None, 21),
        ("/data/x", None, 25),
        ("/data/x", "0:45", 24),
        ("/data/x", "0:99", 25),
    ],
)
def test_the_mount_of_a_path(path: str, device: str | None, expected: int) -> None:
    mount = mount_of(Path(path), parse_mountinfo(TABLE), device)
    assert mount is not None
    assert mount.mount_id == expected


def test_a_path_outside_the_table_has_no_mount() -> None:
    assert mount_of(Path("/x"), ()) is None


def test_swaps() -> None:
    text = "Filename\tType\tSize\tUsed\tPriority\n/dev/sda3 partition 1 0 -2\n/swap\\040file file 1 0 -3\n"
    assert parse_swaps(text) == ("/dev/sda3", "/swap file")
    assert parse_swaps("") == ()


@given(st.text(st.characters(codec="ascii", exclude_characters="\\")))
def test_unescape_undoes_the_kernels_escapes(text: str) -> None:
    escaped = "".join(f"\\{ord(letter):03o}" if letter in " \t\n" else letter for letter in text)
    assert unescape(escaped) == text


def test_this_machine_has_a_root_mount() -> None:
    assert any(mount.mount_point == "/" for mount in read_mounts())
