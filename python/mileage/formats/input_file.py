"""Opens files that come from strangers: regular files only, of bounded size, as text whatever the bytes.

Scope: a file with its name, size and SHA-256, read once. Text is UTF-8, or UTF-16 where the file begins with
its mark; bytes that are neither become replacement characters, so that one bad byte does not cost a file. Links are
followed.
What it refuses: what is no regular file (a pipe would wait for ever), what is empty, what is compressed (it is to be
unpacked first, so that no file is larger than it looks), text beyond `TEXT_MAX` bytes, and anything beyond `LOG_MAX`,
before it is read.
"""

from __future__ import annotations

import codecs
import hashlib
import os
from pathlib import Path
from typing import Final

import msgspec

from mileage.errors import Refused
from mileage.regular_file import open_regular, read_regular

TEXT_MAX: Final = 256 << 20
"""Bytes of a file that is read whole."""
LOG_MAX: Final = 8 << 30
"""Bytes of a log of operations, which is read in parts."""
HEAD_BYTES: Final = 64 << 10
"""Bytes by which a reader knows its layout."""
_PACKED: Final = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\x04\x22\x4d\x18": "lz4",
    b"PK\x03\x04": "zip",
}


class Source(msgspec.Struct, frozen=True):
    """A file that was looked at: where, how long, and how it begins."""

    path: Path
    size: int
    head: bytes
    sha256: str
    lines_with_text: int = 0
    """Number of lines, including empty ones and a last line without a newline."""

    @property
    def wide(self) -> bool:
        """Whether the file is UTF-16, as PowerShell and CrystalDiskMark write it, by its first two bytes."""
        return self.head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))

    @property
    def text_head(self) -> str:
        """The beginning as text."""
        return self._text(self.head)

    @property
    def ends_with_line(self) -> bool:
        """Whether the last line has its end. Raises Refused as :meth:`data`."""
        return self.text().endswith("\n")

    def data(self) -> bytes:
        """The whole content. Raises Refused when there are too many to read whole, or they changed meanwhile."""
        if self.size > TEXT_MAX:
            raise Refused(
                self.path,
                f"{self.size:,} bytes",
                advice=f"a file of results has at most {TEXT_MAX:,}",
                code="too-large",
            )
        try:
            data = read_regular(self.path, TEXT_MAX)
        except OSError as cause:
            raise Refused(self.path, f"{cause.strerror}", code="unreadable") from cause
        if len(data) != self.size:
            raise Refused(
                self.path,
                "it changed while it was read",
                advice="import it when it is complete",
                code="changed",
            )
        return data

    def text(self) -> str:
        """The whole content as text, with line ends unchanged. Raises Refused as :meth:`data`."""
        return self._text(self.data())

    def _text(self, data: bytes) -> str:
        return data.decode("utf-16" if self.wide else "utf-8", "replace").removeprefix("\ufeff")

    def lines(self) -> list[str]:
        """The lines without their ends; an empty last one is dropped. Raises Refused as :meth:`data`."""
        lines = self.text().replace("\r\n", "\n").split("\n")
        return lines[:-1] if lines and not lines[-1] else lines


def open_source(path: Path) -> Source:
    """Look at a file. Raises Refused, with what to do."""
    try:
        if path.is_dir():
            raise Refused(
                path,
                "a folder without the result_summary.txt of IO500",
                advice="name the files in it",
                code="wrong-kind",
            )
        opened = open_regular(path, LOG_MAX)
    except (OSError, ValueError) as cause:
        reason = cause.strerror if isinstance(cause, OSError) else str(cause)
        raise Refused(
            repr(os.fsencode(path)) if "\0" in str(path) else path, f"{reason}", code="unreadable"
        ) from cause
    with opened as file:
        try:
            head = file.read(HEAD_BYTES) or b""
        except OSError as cause:
            raise Refused(path, f"cannot be read: {cause.strerror}", code="unreadable") from cause
        for magic, name in _PACKED.items():
            if head.startswith(magic):
                raise Refused(path, f"compressed with {name}", advice="unpack it first", code="wrong-kind")
        if not head:
            raise Refused(path, "an empty file", advice="the tool wrote nothing", code="empty")
        if os.fstat(file.fileno()).st_size > TEXT_MAX and b"\0" in head:
            raise Refused(
                path,
                f"more than {TEXT_MAX:,} bytes, and its beginning is not text",
                advice="is this a result?",
                code="too-large",
            )
        digest = hashlib.sha256(head)
        size, lines, last = len(head), head.count(b"\n"), head[-1:]
        while part := file.read(1 << 20):
            digest.update(part)
            size += len(part)
            lines += part.count(b"\n")
            last = part[-1:]
            if size > LOG_MAX:
                raise Refused(
                    path,
                    f"more than {LOG_MAX:,} bytes",
                    advice="import it when it is complete",
                    code="too-large",
                )
    return Source(path, size, head, digest.hexdigest(), lines + (last != b"\n"))
