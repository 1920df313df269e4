"""Worksheets: BIFF2, which is what IOzone writes under any name, and .xlsx.

Scope: one sheet of texts and numbers. BIFF2 is a sequence of records: number, length, content; labels are 264
bytes long whatever they hold, as IOzone writes them.
What it refuses: a file that cannot be written.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from mileage.errors import Refused
from mileage.regular_file import open_regular

_BOF: Final = struct.pack("<HHHH", 0x0009, 4, 2, 0x0010)
_END: Final = struct.pack("<HH", 0x000A, 0)
_TEXT_MAX: Final = 254
_OLD_BYTES_MAX: Final = 1 << 30
"""Size of the largest file that is taken for an earlier worksheet."""
"""Bytes of a label at most; one more is needed for the byte that ends it."""

Cell = tuple[int, int, str | float]
"""Row and column from 0, and what stands there."""


def biff2(cells: Iterable[Cell]) -> bytes:
    """The cells as a BIFF2 worksheet."""
    return _BOF + b"".join(_record(*cell) for cell in cells) + _END


def _record(row: int, column: int, value: str | float) -> bytes:
    place = struct.pack("<HH3x", row, column)
    if isinstance(value, str):
        text = value.encode("latin-1", "replace")[:_TEXT_MAX]
        return struct.pack("<HH", 0x0004, 264) + place + bytes([len(text)]) + text.ljust(256, b"\0")
    return struct.pack("<HH", 0x0003, 15) + place + struct.pack("<d", value)


def refuse_unwritable(path: Path) -> None:
    """Refuse a worksheet that could not be written in the end, or that would replace something else. Raises Refused."""
    if path.name.startswith("-"):
        raise Refused(
            f"-b {path}", found="a flag where the name of the worksheet is expected", code="wrong-value"
        )
    if not path.absolute().parent.is_dir():
        raise Refused(
            f"-b {path}", f"{path.parent} is no directory", advice="make it first", code="not-found"
        )
    if not path.exists():
        return
    if path.is_char_device() and path.samefile(os.devnull):
        return
    try:
        # Do not read files without an end, such as /proc/kmsg: the reader would block, and they are no worksheets.
        with open_regular(path, _OLD_BYTES_MAX, f"-b {path}") as file:
            head = file.read(4)
        head = b"?" if head is None else head
    except OSError as error:
        raise Refused(f"-b {path}", f"{error.strerror}", code="unwritable") from error
    if head and head not in (_BOF[:4], b"PK\x03\x04"):
        raise Refused(
            f"-b {path}",
            "this file is no worksheet, and would be replaced",
            advice="name another",
            code="exists",
        )


def write_sheet(path: Path, cells: Iterable[Cell]) -> None:
    """Write the cells: as .xlsx when the file is so named, else as BIFF2. Raises Refused."""
    try:
        if path.suffix.lower() != ".xlsx":
            path.write_bytes(biff2(cells))
            return
        _write_xlsx(path, cells)
    except OSError as error:
        raise Refused(path, f"cannot be written: {error.strerror or error}", code="unwritable") from error


def _write_xlsx(path: Path, cells: Iterable[Cell]) -> None:
    import xlsxwriter

    # Without these options a text that begins with "=" or "http:" becomes a formula or a link.
    plain = {"strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False}
    book: Any = xlsxwriter.Workbook(str(path), plain)
    sheet = book.add_worksheet("IOzone")
    for row, column, value in cells:
        if isinstance(value, str):
            sheet.write_string(row, column, value)
        else:
            sheet.write_number(row, column, value)
    try:
        book.close()
    except xlsxwriter.exceptions.FileCreateError as error:
        raise Refused(path, f"cannot be written: {error}", code="unwritable") from error
