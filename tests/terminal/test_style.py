"""Colour adds nothing but colour."""

import io
import re
import sys

import pytest

from mileage.terminal import painted, report_width

TEXT = """The drive is slower
in 1 of 2 tests.

[✕] runs      2 of 3 finished
[!] design    one cycle
write 1 MiB   -6.3 %  -8.4 to -4.1 % ▼ slower
read 1 MiB    +0.1 %  -0.2 to +0.3 % = same
a name with ▼ slower in it, and [!] too
"""


def test_without_its_codes_it_is_the_same_text() -> None:
    output = painted(TEXT)
    assert re.sub(r"\x1b\[[0-9]+m", "", output) == TEXT
    assert output.startswith("\x1b[1mThe drive is slower\x1b[0m\n\x1b[1min 1 of 2 tests.\x1b[0m\n")
    assert "\x1b[31m▼ slower\x1b[0m\n" in output
    assert "\x1b[31m[✕]\x1b[0m runs" in output
    assert "a name with ▼ slower in it, and [!] too" in output


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("columns", "expected"), [(40, 60), (80, 80), (104, 104), (300, 120)])
def test_a_report_is_as_wide_as_its_terminal(
    columns: int, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    assert report_width() == 80
    monkeypatch.setattr(sys, "stdout", _Terminal())
    assert report_width() == expected
