"""Colour adds nothing but colour."""

import re

from mileage.terminal import painted

TEXT = """The drive is slower
in 1 of 2 cells.

[✕] runs      2 of 3 finished
[!] design    one cycle
write 1 MiB   -6.3 %  -8.4 to -4.1 % ▼ slower
read 1 MiB    +0.1 %  -0.2 to +0.3 % = same
a name with ▼ slower in it, and [!] too
"""


def test_without_its_codes_it_is_the_same_text() -> None:
    told = painted(TEXT)
    assert re.sub(r"\x1b\[[0-9]+m", "", told) == TEXT
    assert told.startswith("\x1b[1mThe drive is slower\x1b[0m\n\x1b[1min 1 of 2 cells.\x1b[0m\n")
    assert "\x1b[31m▼ slower\x1b[0m\n" in told
    assert "\x1b[31m[✕]\x1b[0m runs" in told
    assert "a name with ▼ slower in it, and [!] too" in told
