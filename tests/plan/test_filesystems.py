"""The words for file systems become arguments of mkfs and mount, and nothing unknown gets through."""

from __future__ import annotations

import pytest

from mileage.plan.filesystems import file_system_of

LAZY = "lazy_itable_init=0,lazy_journal_init=0"


@pytest.mark.parametrize(
    ("kind", "mkfs", "expected"),
    [
        ("ext4", "", ["-q", "-F", "-b", "4096", "-E", LAZY]),
        ("ext4", "stripe=128KiB", ["-q", "-F", "-b", "4096", "-E", f"{LAZY},stripe_width=32"]),
        (
            "ext4",
            "stripe=128KiB,resize=500GiB",
            ["-q", "-F", "-b", "4096", "-E", f"{LAZY},stripe_width=32,resize={500 << 18}"],
        ),
        ("ext3", "journal=8MiB", ["-q", "-F", "-b", "4096", "-J", "size=8", "-E", LAZY]),
        ("ext4", "journal=none", ["-q", "-F", "-b", "4096", "-O", "^has_journal", "-E", LAZY]),
        ("ext4", "journal=64MiB,lazy", ["-q", "-F", "-b", "4096", "-J", "size=64"]),
        ("xfs", "stripe=128KiB,nodiscard", ["-q", "-f", "-K", "-d", "su=131072,sw=1"]),
        ("btrfs", "metadata=single", ["-q", "-f", "-m", "single"]),
    ],
)
def test_the_words_for_mkfs(kind: str, mkfs: str, expected: list[str]) -> None:
    assert list(file_system_of(kind, mkfs, "").mkfs) == expected


@pytest.mark.parametrize(
    ("kind", "mkfs", "mount", "key", "words"),
    [
        ("ext2", "", "", "filesystem", "expected ext3, ext4, xfs, btrfs"),
        ("ext3", "journal=none", "", "mkfs", "ext3 always has a journal"),
        ("ext3", "", "nodelalloc", "mount", "'nodelalloc' is no mount option that is known for ext3"),
        ("ext4", "stripe=100KB", "", "mkfs", "a multiple of 4KiB"),
        ("ext4", "stripe-width=32 resize=500G", "", "mkfs", "expected a comma between two options"),
        ("ext4", "stripe", "", "mkfs", "'stripe' is no option of mkfs"),
        ("ext4", "lazy=1", "", "mkfs", "'lazy=1' is no option of mkfs"),
        ("xfs", "resize=1GiB", "", "mkfs", "'resize=1GiB' is no option of mkfs"),
        ("xfs", "journal=none", "", "mkfs", "xfs always has a journal"),
        ("btrfs", "metadata=raid6", "", "mkfs", "expected single or dup"),
        ("xfs", "", "nobarrier", "mount", "no such option since Linux 4.19"),
        ("ext4", "", "suid", "mount", "'suid' is no mount option"),
        ("ext4", "", "noatime,noatime", "mount", "given twice"),
        ("ext4", "", "discard,nodiscard", "mount", "give one of them"),
        ("ext4", "", "data=a b", "mount", "a comma between two options"),
        ("ext4", "", "commit=-1; reboot", "mount", "a comma between two options"),
        ("ext4", "", "commit=-1;reboot", "mount", "letters, digits"),
    ],
)
def test_what_is_not_known_is_refused_with_its_key(
    kind: str, mkfs: str, mount: str, key: str, words: str
) -> None:
    with pytest.raises(ValueError, match=r"expected|known|no such|twice|give|always") as refused:
        file_system_of(kind, mkfs, mount)
    assert refused.value.args[0] == key
    assert words in refused.value.args[1]
