"""Columns that a text takes on a terminal, and text brought into them.

Scope: wide characters as two columns and combining signs as none. A sign whose width depends on the terminal's font
(as the verdicts' own do) counts as one.
"""

from __future__ import annotations

import re
import shlex
import unicodedata

_ELLIPSIS = "…"
_COMMAND = re.compile(r"`mileage [^`]*`")


def columns_of(text: str) -> int:
    """Number of terminal columns that a line occupies."""
    if text.isascii():
        return len(text)
    return sum(_width(letter) for letter in text)


def _width(letter: str) -> int:
    if unicodedata.category(letter) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def cut(text: str, width: int) -> str:
    """The text if it fits into `width` columns (1 or more), else as much of it as leaves room for an ellipsis."""
    if columns_of(text) <= width:
        return text
    return f"{_split(text, width - 1)[0]}{_ELLIPSIS}"


def padded(text: str, width: int) -> str:
    """The text cut to `width` columns and filled up with spaces."""
    shortened = cut(text, width)
    return shortened + " " * (width - columns_of(shortened))


def wrapped(text: str, width: int, *, first: str = "", indent: str = "") -> list[str]:
    """Lines of at most `width` columns, broken at spaces, within a word only where it is longer than a line.

    `first` begins the first line, `indent` the others; both are shorter than `width`. Any white space counts as one
    space but a no-break space, which holds its words together, as backticks do those of a command; a command is never
    broken, so that it can be copied.
    """
    text = _COMMAND.sub(lambda command: command[0].replace(" ", "\N{NO-BREAK SPACE}"), text)
    lines: list[str] = []
    line, empty = first, True
    for word in text.replace("\N{NO-BREAK SPACE}", "\0").split():
        rest = word.replace("\0", " ")
        space = "" if empty else " "
        if columns_of(line) + len(space) + columns_of(rest) <= width:
            line, empty = f"{line}{space}{rest}", False
            continue
        if not empty:
            lines.append(line)
            line, empty = indent, True
        while columns_of(line) + columns_of(rest) > width and not _COMMAND.match(rest):
            part, rest = _split(rest, width - columns_of(line))
            if not part and line == indent:
                # Emit a character that is wider than the line, or the loop would never end.
                part, rest = rest[0], rest[1:]
            lines.append(line + part)
            line = indent
        line, empty = line + rest, not rest
    if not empty or not lines:
        lines.append(line if not empty else line.rstrip())
    return lines


def command_lines(command: str, width: int, indent: str = "  ") -> list[str]:
    """A command in lines that a shell takes as they are: broken between its words, with a backslash at the end.

    A word that is longer than a line stays whole; a command with an open quote is broken like a text.
    """
    try:
        words = [shlex.quote(word) for word in shlex.split(command)]
    except ValueError:
        return wrapped(command, width, first=indent, indent=indent)
    lines = [""]
    for word in words:
        if lines[-1].strip() and columns_of(f"{lines[-1]} {word}") + 2 > width:
            lines[-1] += " \\"
            lines.append(indent)
        lines[-1] += f" {word}" if lines[-1].strip() else f"{indent}{word}"
    return lines


def _split(text: str, width: int) -> tuple[str, str]:
    """Split a line into the part that fits into `width` columns, and the rest."""
    used = 0
    for at, letter in enumerate(text):
        used += _width(letter)
        if used > width:
            return text[:at], text[at:]
    return text, ""
