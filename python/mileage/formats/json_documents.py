"""JSON among other lines: tools write warnings before, after and into their documents, and die in the middle of one.

Scope: a document begins with a line whose first character is `{`. Where one cannot be decoded because of
lines that no JSON document printed one member per line can have, these lines are removed and reported. Of a
document that stops too soon, the whole elements of its lists are kept, and what stands before them.
Bare nan and inf become null; a document nested too deep to decode, or with a number of
thousands of digits, is reported as not understood.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

import msgspec

from mileage.formats.result import Unread, shown

UNREAD_MAX: Final = 1000
"""Lines that are named one by one."""
TRIES_MAX: Final = 1000
"""Beginnings of documents that are tried."""
REPAIRS_MAX: Final = 10
"""Damaged documents that are looked into, each at the cost of the whole rest of the file."""
_OPENING: Final = ("", "{", "}", "[", "]", '"', ",")
"""Possible beginnings of a line within a document, unless the line is a single value."""
_VALUE: Final = re.compile(
    r"\s*(?:[-+]?[0-9.][-+0-9.eE]*|true|false|null|[-+]?(?:nan|inf)\w*)\s*,?\s*", re.IGNORECASE
)
_BRACKETS: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]]')
DEPTH_MAX: Final = 100
"""Brackets within brackets of a torn document that is still looked at."""
_LONGEST: Final = 20_000
"""Characters of a line that is looked at; a longer one is a document on one line."""
_NOT_A_NUMBER: Final = re.compile(
    r"(?<=[:\[,])(\s*)[-+]?(?:nan|inf(?:inity)?)(?:\([0-9a-z_]*\))?(?=\s*[,}\]\r\n])", re.I
)


class Document(msgspec.Struct):
    """A document that was found. `line`: where it begins, from 1. `whole`: whether it was complete."""

    line: int
    value: Any
    whole: bool = True


def documents(text: str) -> tuple[list[Document], list[Unread]]:
    """The documents of a text, and the lines that are none."""
    found: list[Document] = []
    unread: list[Unread] = []
    at, tries, repairs = 0, 0, 0
    while at < len(text):
        start = _beginning(text, at)
        _outside(text, at, len(text) if start is None else start, unread)
        if start is None:
            break
        tries += 1
        if tries > TRIES_MAX:
            unread.append(
                Unread(_line(text, start), "", f"more than {TRIES_MAX} documents; the rest is ignored")
            )
            break
        line = _line(text, start)
        value, end, why = _decode(text, start)
        if why is None:
            found.append(Document(line, value))
            at = end
            continue
        repairs += 1
        if repairs > REPAIRS_MAX:
            unread.append(Unread(line, "", f"more than {REPAIRS_MAX} damaged documents; the rest is ignored"))
            break
        at = _damaged(text, start, line, found, unread)
    return found, unread


def _beginning(text: str, at: int) -> int | None:
    """Start of the next line whose first character opens an object."""
    found = re.compile(r"^[ \t\r]*\{", re.MULTILINE).search(text, at)
    return found.end() - 1 if found else None


def _outside(text: str, start: int, end: int, unread: list[Unread]) -> None:
    """Names the lines between documents."""
    line = _line(text, start)
    for number, part in enumerate(text[start:end].split("\n")):
        if part.strip() and len(unread) < UNREAD_MAX:
            unread.append(Unread(line + number, shown(part), "outside of a JSON document"))


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def _damaged(text: str, start: int, line: int, found: list[Document], unread: list[Unread]) -> int:
    """Recover the complete parts of a damaged document that begins in `line`, at `start`. Returns where to continue."""
    rest = text[start:]
    cleaned, taken = _without_foreign_lines(rest, line)
    value, end, why = _decode(cleaned, 0)
    if why is None:
        # The cleaned text keeps the number of lines, so that line numbers in messages stay right.
        found.append(Document(line, value))
        last = line + cleaned.count("\n", 0, end)
        unread.extend(entry for entry in taken if entry.line <= last)
        return start + _offset_of_line(rest, last - line + 1)
    repaired = _closed(cleaned, end)
    if repaired is not None:
        value, damaged = repaired
        found.append(Document(line, value, whole=False))
        unread.extend(taken[:UNREAD_MAX])
        unread.append(
            Unread(line + cleaned.count("\n", 0, damaged), shown(cleaned[damaged : damaged + 200]), why)
        )
        return len(text)
    failed = line + cleaned.count("\n", 0, min(end, len(cleaned)))
    unread.append(Unread(failed, shown(cleaned[end : end + 200].split("\n")[0]), why))
    return start + _offset_of_line(rest, max(failed - line + 1, 1))


def _offset_of_line(text: str, count: int) -> int:
    """The offset in the text after the given number of lines."""
    at = 0
    for _ in range(count):
        at = text.find("\n", at) + 1
        if at == 0:
            return len(text)
    return at


def _decode(text: str, start: int) -> tuple[Any, int, str | None]:
    """A value and where it ends; or why there is none and where that was seen."""
    try:
        value, end = json.JSONDecoder().raw_decode(text, start)
        return value, end, None
    except json.JSONDecodeError as cause:
        return None, cause.pos, f"not JSON: {cause.msg}"
    except RecursionError:
        return None, start + 1, "not JSON: nested too deep"
    except ValueError:
        return None, start + 1, "not JSON: a number of too many digits"


def _without_foreign_lines(text: str, first: int) -> tuple[str, list[Unread]]:
    """The text with foreign lines emptied and bare nan and inf as null; and the lines that were emptied."""
    taken = []
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if line.lstrip()[:1] in _OPENING or len(line) > _LONGEST or _VALUE.fullmatch(line):
            continue
        taken.append(Unread(first + number, shown(line), "among the lines of a JSON document"))
        lines[number] = ""
    return _NOT_A_NUMBER.sub(r"\1null", "\n".join(lines)), taken


def _closed(text: str, end: int) -> tuple[Any, int] | None:
    """A torn document up to its last whole element of a list, with its brackets closed; and where it was cut."""
    opened: list[str] = []
    cut, closers = 0, ""
    for found in _BRACKETS.finditer(text, 0, end):
        if found[0] in "{[":
            opened.append(found[0])
            if len(opened) > DEPTH_MAX:
                return None
        elif found[0] in "}]":
            if not opened or opened.pop() != ("{" if found[0] == "}" else "["):
                break
            if opened and opened[-1] == "[":
                cut = found.end()
                closers = "".join("}" if bracket == "{" else "]" for bracket in reversed(opened))
    if not cut:
        return None
    value, _, why = _decode(text[:cut] + closers, 0)
    return None if why is not None else (value, cut)
