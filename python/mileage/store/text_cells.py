r"""Values as text that reads back exactly and has no power over who opens it.

Models numbers as the shortest text that gives the same bits, and texts with four rules: a backslash is doubled; what
could steer a terminal or end a line, and a space at either end, is written `\uXXXX` as in JSON; a text that a
spreadsheet would calculate (it begins with = + - @, or their wide forms) or that begins with an apostrophe gets an
apostrophe before it; an empty text is `""`, while an empty cell means that nothing is known. `meant`
undoes what `written` did.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

from mileage.terminal import harmless

CALCULATED: Final = tuple("=+-@\uff1d\uff0b\uff0d\uff20'")
"""Characters with which a text cell must not begin.

A spreadsheet would calculate it, or treat the apostrophe as an escape.
"""
_ESCAPED: Final = re.compile(r"\\(\\|u[0-9a-f]{4}(?:\\u[0-9a-f]{4})*)")


def written(value: Any) -> str:
    """A number, text, truth value or None as text without line feeds."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str):
        return repr(value)
    text = harmless(value.replace("\\", "\\\\"))
    text = "".join(f"\\u{ord(letter):04x}" if letter in "\r\n\t" else letter for letter in text)
    inner = text.strip(" ")
    if inner != text:
        before = len(text) - len(text.lstrip(" "))
        after = len(text) - before - len(inner)
        text = "\\u0020" * before + inner + "\\u0020" * after
    return f"'{text}" if text.startswith(CALCULATED) else text


def meant(text: str) -> str:
    """The text that `written` wrote so."""
    return _ESCAPED.sub(_unescaped, text.removeprefix("'"))


def _unescaped(found: re.Match[str]) -> str:
    if found[1] == "\\":
        return "\\"
    units = [int(part, 16) for part in found[0].split("\\u")[1:]]
    return b"".join(unit.to_bytes(2, "little") for unit in units).decode("utf-16-le", "surrogatepass")


def csv_text(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """CSV with a header and a line for each row; texts as `written` has them, empty: not known."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    for row in rows:
        writer.writerow([written(value) if isinstance(value, str) else value for value in row])
    return text.getvalue()
