"""Worksheets: BIFF2, which is what IOzone writes under any name, and .xlsx.

Scope: one sheet of texts and numbers. BIFF2 is a sequence of records: number, length, content; labels are 264
bytes long whatever they hold, as IOzone writes them.
What it refuses: a place where something else is, or where no file can be written.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from mileage.errors import Refused
from mileage.targets.door import check_result, write_result

_BOF: Final = struct.pack("<HHHH", 0x0009, 4, 2, 0x0010)
_END: Final = struct.pack("<HH", 0x000A, 0)
_TEXT_MAX: Final = 254
"""Bytes of a label at most; one more is needed for the byte that ends it."""
_KIND: Final = "worksheet"

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
    check_result("-b", path, _KIND)


def write_sheet(path: Path, cells: Iterable[Cell]) -> None:
    """Write the cells: as .xlsx when the file is so named, else as BIFF2. Raises Refused and RunFailed."""
    write_result("-b", path, _KIND, _xlsx(cells) if path.suffix.lower() == ".xlsx" else biff2(cells))


def _xlsx(cells: Iterable[Cell]) -> bytes:
    import xlsxwriter

    # Without these options a text that begins with "=" or "http:" becomes a formula or a link.
    plain = {"strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False}
    content = io.BytesIO()
    book: Any = xlsxwriter.Workbook(content, plain)
    sheet = book.add_worksheet("IOzone")
    for row, column, value in cells:
        if isinstance(value, str):
            sheet.write_string(row, column, value)
        else:
            sheet.write_number(row, column, value)
    book.close()
    return content.getvalue()
