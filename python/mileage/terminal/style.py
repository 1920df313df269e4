"""A report in colours, where a terminal wants them: the same text, with the first paragraph bold and signs coloured.

Scope: colour as an addition: every coloured word has a sign of its own, and without the colours the text is the same.
"""

from __future__ import annotations

import re
import shutil
import sys
from typing import Final

from mileage.terminal.streams import beneath, harmless, is_coloured

_COLOURS: Final = {
    "▲ faster": "34",
    "▲ better": "34",
    "▼ slower": "31",
    "▼ worse": "31",
    "? undecided": "35",
    "[✕]": "31",
    "[!]": "33",
    "[✓]": "32",
}
"""Colours of Mileage's own signs, by their SGR numbers: the terminal's palette, so that they suit its background."""
PLAIN_WIDTH: Final = 80
_NARROWEST: Final = 60
_WIDEST: Final = 120
_SIGNS: Final = re.compile(r"(?m)^\[[✕!✓]\]|(?:▲ faster|▲ better|▼ slower|▼ worse|\? undecided)$")


def painted(text: str) -> str:
    """A report, harmless already, with escape codes for its colours."""
    first, parted, rest = text.partition("\n\n")
    bold = "\n".join(f"\x1b[1m{line}\x1b[0m" for line in first.split("\n"))
    return bold + parted + _SIGNS.sub(lambda found: f"\x1b[{_COLOURS[found[0]]}m{found[0]}\x1b[0m", rest)


def report_width() -> int:
    """Columns of a report on standard output: those of its terminal, 60 to 120; 80 where it is none."""
    if not sys.stdout.isatty():
        return PLAIN_WIDTH
    return max(_NARROWEST, min(shutil.get_terminal_size((PLAIN_WIDTH, 24)).columns, _WIDEST))


def say(text: str) -> None:
    """Write a report and a line feed to standard output, painted where that is wanted."""
    clean = harmless(text) + "\n"
    if is_coloured(sys.stdout):
        beneath(sys.stdout).write(painted(clean))
    else:
        sys.stdout.write(clean)
    sys.stdout.flush()
