"""File systems that a study makes: the words for their options, and the arguments of mkfs and mount.

Scope: `state.filesystem`, `state.mkfs` and `state.mount`. The options of mkfs have the same words for every
file system ("stripe=128KiB,journal=64MiB"); those of mount are mount's own ("noatime,discard").
What it refuses: words it does not know, and what a file system has not, by name: nothing that a study file says
reaches a command line without being known here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from mileage.errors import closest
from mileage.plan import sizes

EXT4_BLOCK_BYTES: Final = 4096
KINDS: Final = ("ext3", "ext4", "xfs", "btrfs")
LABEL_PREFIX: Final = "mlg-"
"""Prefix of the label of file systems made by Mileage; the first 8 digits of the plan's hash follow."""
SAFE_MOUNT: Final = ("nosuid", "nodev", "noexec")
"""Options that every file system of Mileage's is mounted with."""


class FileSystem(msgspec.Struct, frozen=True):
    """A file system that is to be made and mounted."""

    kind: str
    """"ext3", "ext4", "xfs" or "btrfs"."""
    mkfs: tuple[str, ...]
    """Arguments of mkfs.KIND before the device, without the label."""
    mount: tuple[str, ...]
    """Options of the mount, as the user wrote them."""


_MOUNT_ANY: Final = (
    *("noatime", "relatime", "strictatime", "nodiratime", "lazytime", "nolazytime", "sync", "dirsync"),
    *("discard", "nodiscard"),
)
_MOUNT_FLAGS: Final = {
    # Linux 4.3 and later mount ext3 by the driver of ext4, which refuses delayed allocation and checksums for it.
    "ext3": (
        *("barrier", "nobarrier", "noinit_itable", "init_itable", "auto_da_alloc", "noauto_da_alloc"),
        "noload",
    ),
    "ext4": (
        *("barrier", "nobarrier", "delalloc", "nodelalloc", "journal_checksum", "journal_async_commit"),
        *("noinit_itable", "init_itable", "auto_da_alloc", "noauto_da_alloc", "dioread_nolock"),
        *("dioread_lock", "noload"),
    ),
    "xfs": ("largeio", "nolargeio", "swalloc", "wsync", "inode64", "inode32", "noalign", "ikeep", "noikeep"),
    "btrfs": (
        *("barrier", "nobarrier", "autodefrag", "noautodefrag", "datacow", "nodatacow", "datasum"),
        *("nodatasum", "flushoncommit", "noflushoncommit", "ssd", "nossd", "treelog", "notreelog"),
    ),
}
_EXT = ("barrier", "commit", "data", "stripe", "inode_readahead_blks", "max_batch_time", "min_batch_time")
_MOUNT_VALUES: Final = {
    "ext3": _EXT,
    "ext4": _EXT,
    "xfs": ("logbufs", "logbsize", "allocsize", "sunit", "swidth"),
    "btrfs": ("commit", "compress", "compress-force", "discard", "max_inline", "space_cache", "thread_pool"),
}
_VALUE_CHARACTERS: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:_-.")


def file_system_of(kind: str, mkfs: str, mount: str) -> FileSystem:
    """The file system that a study asks for. Raises ValueError as (key, what is wrong)."""
    if kind not in KINDS:
        close = closest(kind, KINDS)
        hint = f"; did you mean {close!r}?" if close else ""
        raise ValueError("filesystem", f"found {kind!r}, expected {', '.join(KINDS)}{hint}")
    try:
        arguments = _MKFS[kind](_words(mkfs))
    except ValueError as error:
        raise ValueError("mkfs", str(error)) from None
    try:
        options = _mount_options(kind, _words(mount))
    except ValueError as error:
        raise ValueError("mount", str(error)) from None
    return FileSystem(kind, tuple(arguments), options)


def _words(text: str) -> dict[str, str | None]:
    """The options in a text such as "noatime,commit=5", in their order."""
    found: dict[str, str | None] = {}
    for part in (part.strip() for part in text.split(",") if part.strip()):
        word, equals, value = part.partition("=")
        if len(part.split()) > 1:
            raise ValueError(f"{part!r} has a blank in it: expected a comma between two options")
        if word in found:
            raise ValueError(f"{word} is given twice")
        found[word] = value if equals else None
    return found


def _mount_options(kind: str, words: dict[str, str | None]) -> tuple[str, ...]:
    flags, valued = (*_MOUNT_ANY, *_MOUNT_FLAGS[kind]), _MOUNT_VALUES[kind]
    for word, value in words.items():
        if kind == "xfs" and word in ("barrier", "nobarrier"):
            raise ValueError(
                f"{word}: xfs has had no such option since Linux 4.19; to keep flushes from the device, use "
                'state.write_cache = "through"'
            )
        if word not in (valued if value is not None else flags):
            known = sorted({*flags, *(f"{name}=VALUE" for name in valued)})
            shown = word if value is None else f"{word}={value}"
            raise ValueError(f"{shown!r} is no mount option that is known for {kind}: {', '.join(known)}")
        if value is not None and (not value or set(value) - _VALUE_CHARACTERS):
            raise ValueError(f"{word}={value}: expected a value of letters, digits and :_-.")
    for word in words:
        if f"no{word}" in words:
            raise ValueError(f"{word} and no{word}: give one of them")
    return tuple(word if value is None else f"{word}={value}" for word, value in words.items())


def _ext3(words: dict[str, str | None]) -> list[str]:
    if words.get("journal") == "none":
        raise ValueError("journal=none: ext3 always has a journal; without one it is ext2")
    return _ext(words, "ext3", "stripe=SIZE, resize=SIZE, journal=SIZE, block=SIZE, lazy, nodiscard")


def _ext4(words: dict[str, str | None]) -> list[str]:
    known = "stripe=SIZE, resize=SIZE, journal=SIZE, journal=none, block=SIZE, lazy, nodiscard"
    return _ext(words, "ext4", known)


def _ext(words: dict[str, str | None], kind: str, known: str) -> list[str]:
    extended = ["lazy_itable_init=0", "lazy_journal_init=0"]
    arguments = ["-q", "-F"]
    block = EXT4_BLOCK_BYTES
    if (text := _taken(words, "block")) is not None:
        block = _size("block", text)
    # Always state the block size: by default mkfs gives small file systems blocks of 1 KiB, and sizes in blocks would
    # differ.
    arguments += ["-b", str(block)]
    if _flag(words, "lazy"):
        extended = []
    if _flag(words, "nodiscard"):
        extended.append("nodiscard")
    if (text := _taken(words, "stripe")) is not None:
        extended.append(f"stripe_width={_multiple('stripe', text, block)}")
    if (text := _taken(words, "resize")) is not None:
        extended.append(f"resize={_multiple('resize', text, block)}")
    if (text := _taken(words, "journal")) is not None:
        if text == "none":
            arguments += ["-O", "^has_journal"]
        else:
            arguments += ["-J", f"size={_multiple('journal', text, 1 << 20)}"]
    _nothing_left(words, kind, known)
    return [*arguments, *(["-E", ",".join(extended)] if extended else [])]


def _xfs(words: dict[str, str | None]) -> list[str]:
    arguments = ["-q", "-f"]
    if (text := _taken(words, "block")) is not None:
        arguments += ["-b", f"size={_size('block', text)}"]
    if _flag(words, "nodiscard"):
        arguments.append("-K")
    if (text := _taken(words, "stripe")) is not None:
        arguments += ["-d", f"su={_multiple('stripe', text, EXT4_BLOCK_BYTES) * EXT4_BLOCK_BYTES},sw=1"]
    if (text := _taken(words, "journal")) is not None:
        if text == "none":
            raise ValueError("journal=none: xfs always has a journal")
        arguments += ["-l", f"size={_size('journal', text)}"]
    _nothing_left(words, "xfs", "stripe=SIZE, journal=SIZE, block=SIZE, nodiscard")
    return arguments


def _btrfs(words: dict[str, str | None]) -> list[str]:
    arguments = ["-q", "-f"]
    if _flag(words, "nodiscard"):
        arguments.append("-K")
    if (text := _taken(words, "block")) is not None:
        arguments += ["-s", str(_size("block", text))]
    if (text := _taken(words, "metadata")) is not None:
        if text not in ("single", "dup"):
            raise ValueError(f"metadata={text}: expected single or dup")
        arguments += ["-m", text]
    _nothing_left(words, "btrfs", "metadata=single, metadata=dup, block=SIZE, nodiscard")
    return arguments


_MKFS: Final[dict[str, Callable[[dict[str, str | None]], list[str]]]] = {
    "ext3": _ext3,
    "ext4": _ext4,
    "xfs": _xfs,
    "btrfs": _btrfs,
}


def _flag(words: dict[str, str | None], word: str) -> bool:
    """Take a word without a value out of the options, and return whether it was given."""
    if word not in words or words[word] is not None:
        return False
    del words[word]
    return True


def _taken(words: dict[str, str | None], word: str) -> str | None:
    """The value of a word, which is taken out; None when it is not given, or without a value."""
    return words.pop(word) if words.get(word) is not None else None


def _size(word: str, text: str) -> int:
    try:
        return sizes.parse_bytes(text)
    except ValueError as error:
        raise ValueError(f"{word}={text}: {error}") from None


def _multiple(word: str, text: str, unit: int) -> int:
    """Convert a size to a whole number of units, 1 or more."""
    size = _size(word, text)
    if size == 0 or size % unit:
        raise ValueError(f"{word}={text}: expected a multiple of {sizes.exact_bytes(unit)}")
    return size // unit


def _nothing_left(words: dict[str, str | None], kind: str, known: str) -> None:
    for word, value in words.items():
        shown = word if value is None else f"{word}={value}"
        raise ValueError(f"{shown!r} is no option of mkfs that is known for {kind}: {known}")
