"""Standard output and standard error of the command line, guarded.

Models one seam: whoever writes, with print, click or a traceback, what arrives at the stream has passed `harmless`,
and what the stream's encoding cannot say has its stand-in. Colours and the live view, which need escape codes of
their own, write `beneath` the guard what they have made harmless themselves. Refuses nothing.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterable
from typing import Any, TextIO

from mileage.terminal.harmless import harmless
from mileage.terminal.plain import HANDLER


class Guarded:
    """A text stream whose writes pass `harmless`; everything else is the stream's own."""

    def __init__(self, stream: TextIO) -> None:
        """Put the guard before a stream."""
        self.stream = stream

    def write(self, text: str) -> int:
        """Write the text made harmless; the answer is its own length."""
        self.stream.write(harmless(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write each."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        if name == "buffer" and _knows_little(self.stream):
            # Who finds a binary stream beneath one that knows ASCII alone would write UTF-8 into it.
            raise AttributeError(name)
        return getattr(self.stream, name)


def guard_streams() -> None:
    """Put a guard before standard output and standard error, once."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None or isinstance(stream, Guarded):
            continue
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="ascii" if _asks_for_ascii() else None, errors=HANDLER)
        setattr(sys, name, Guarded(stream))


def beneath(stream: TextIO) -> TextIO:
    """The stream beneath the guard, for who writes escape codes; what is not ours must be harmless already."""
    return stream.stream if isinstance(stream, Guarded) else stream


def is_coloured(stream: TextIO) -> bool:
    """Whether colours are wanted there: a terminal that knows more than lines, and no NO_COLOR."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _asks_for_ascii() -> bool:
    """Whether the user named the C locale; Python would write UTF-8 all the same."""
    return os.environ.get("LC_ALL") in ("C", "POSIX")


def _knows_little(stream: TextIO) -> bool:
    return (getattr(stream, "encoding", None) or "").lower().replace("-", "_") in ("ascii", "us_ascii")
