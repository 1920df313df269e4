"""On which line of a study file a value stands.

What it models: TOML as a study has it: tables, lists of tables, keys, values over several lines. The parser of the
standard library tells no lines.
What it refuses: nothing; text that is not TOML gives no line, and a value inside another one that of the outer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_HEADER: Final = re.compile(r"\s*(\[\[?)\s*([^\[\]]+?)\s*\]\]?\s*(?:#.*)?")
_WORD: Final = r"""(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')"""
_KEY: Final = re.compile(rf"\s*({_WORD}(?:\s*\.\s*{_WORD})*)\s*=")
_STEP: Final = re.compile(_WORD)
_PATH_STEP: Final = re.compile(r"""\[(\d+)\]|'([^']*)'|([A-Za-z0-9_-]+)""")
_TOKEN: Final = re.compile(r'"""|\'\'\'|"(?:[^"\\]|\\.)*"|\'[^\']*\'|#.*|[\[{]|[\]}]|.', re.S)

Path = tuple[str, ...]


def line_of(text: str, path: str) -> int | None:
    """The line, from 1, of the value at a path such as "measure.throughput.record[0]", or of what holds it.

    None when not even its table is there.
    """
    lines = dict(reversed(list(_lines(text))))
    steps = tuple(found[1] or found[2] or found[3] for found in _PATH_STEP.finditer(path))
    for length in range(len(steps), 0, -1):
        if steps[:length] in lines:
            return lines[steps[:length]]
    return None


def located(message: str, source: str, text: str, shown: str) -> str:
    """A refusal that names a path of a study, "SOURCE: PATH: ...", with the study as `shown` and the line before it."""
    prefix = f"{source}: "
    if not message.startswith(prefix):
        return message
    rest = message.removeprefix(prefix)
    path, colon, _ = rest.partition(": ")
    line = line_of(text, path) if colon else None
    return f"{shown}: {rest}" if line is None else f"{shown}: line {line}: {rest}"


def _lines(text: str) -> Iterator[tuple[Path, int]]:
    """Every key and table with its line; of one that is there several times, each."""
    table: Path = ()
    counts: dict[Path, int] = {}
    open_value: _Open | None = None
    for number, line in enumerate(text.splitlines(), 1):
        if open_value is not None:
            open_value.read(line)
        elif header := _HEADER.fullmatch(line):
            table = _under(tuple(step.strip("\"'") for step in _STEP.findall(header[2])), counts)
            if header[1] == "[[":
                at = counts[table] = counts.get(table, -1) + 1
                yield table, number
                table = (*table, str(at))
            yield from ((table[:length], number) for length in range(len(table), 0, -1))
        elif key := _KEY.match(line):
            steps = tuple(step.strip("\"'") for step in _STEP.findall(key[1]))
            yield (*table, *steps), number
            open_value = _Open()
            open_value.read(line[key.end() :])
        if open_value is not None and open_value.closed:
            open_value = None


def _under(steps: Path, counts: dict[Path, int]) -> Path:
    """The path of a header: below a list of tables it belongs to the last one."""
    found: Path = ()
    for at, step in enumerate(steps):
        found = (*found, step)
        if found in counts and at + 1 < len(steps):
            found = (*found, str(counts[found]))
    return found


class _Open:
    """A value that may go on over several lines."""

    def __init__(self) -> None:
        self._depth = 0
        self._quote = ""

    @property
    def closed(self) -> bool:
        """Whether the value has ended with the lines read."""
        return self._depth <= 0 and not self._quote

    def read(self, line: str) -> None:
        """Go through one more line."""
        at = 0
        while at < len(line):
            if self._quote:
                end = line.find(self._quote, at)
                if end < 0:
                    return
                at, self._quote = end + 3, ""
                continue
            token = _TOKEN.match(line, at)
            assert token is not None
            at = token.end()
            if token[0] in ('"""', "'''"):
                self._quote = token[0]
            elif token[0] in "[{":
                self._depth += 1
            elif token[0] in "]}":
                self._depth -= 1
