"""Worksheets: what is written is what a spreadsheet library of others reads."""

from __future__ import annotations

import os
from pathlib import Path

import openpyxl
import pytest
import xlrd
from hypothesis import given
from hypothesis import strategies as st

from mileage.errors import Refused
from mileage.formats.worksheet import biff2, refuse_unwritable, write_sheet

PLACES = st.tuples(st.integers(0, 40), st.integers(0, 12))
VALUES = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(min_codepoint=32, max_codepoint=126), min_size=1, max_size=200),
)


@given(st.dictionaries(PLACES, VALUES, max_size=30))
def test_biff2_is_read_back_equal(cells: dict[tuple[int, int], str | float]) -> None:
    data = biff2((row, column, value) for (row, column), value in sorted(cells.items()))
    sheet = xlrd.open_workbook(file_contents=data).sheet_by_index(0)
    assert {place: sheet.cell_value(*place) for place in cells} == cells


def test_xlsx_keeps_texts_as_texts(tmp_path: Path) -> None:
    path = tmp_path / "x.XLSX"
    write_sheet(path, [(0, 0, "=1+1"), (1, 2, 4.5), (2, 0, "http://x")])
    sheet = openpyxl.load_workbook(path).active
    assert sheet is not None
    assert (sheet["A1"].value, sheet["C2"].value, sheet["A3"].value) == ("=1+1", 4.5, "http://x")
    assert sheet["A1"].data_type == "s"


def test_the_bytes_are_those_of_the_original() -> None:
    head = bytes.fromhex("090004000200100004000801000000000000000178")
    data = biff2([(0, 0, "x"), (5, 1, 2.0)])
    assert data.startswith(head)
    number = bytes.fromhex("03000f00050001000000000000000000000040")
    assert data == head + bytes(255) + number + bytes.fromhex("0a000000")


@pytest.mark.parametrize("name", ["pipe", "/proc/kmsg", "/dev/full", "/dev/zero"])
def test_what_is_no_file_is_not_replaced_by_a_worksheet_nor_waited_for(name: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(Refused):
        refuse_unwritable(tmp_path / name)
    refuse_unwritable(Path(os.devnull))
    refuse_unwritable(tmp_path / "new.xls")
