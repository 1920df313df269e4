"""Standard output and standard error of the command line, guarded.

Scope: one seam: whoever writes, with print, click or a traceback, what arrives at the stream has passed `harmless`,
and what the stream's encoding cannot say has its stand-in. Colours and the live view, which need escape codes of
their own, write `beneath` the guard what they have made harmless themselves. A full disk or a closed pipe at standard
output ends the process (OutputFailed); at standard error it does not.
"""

from __future__ import annotations

import codecs
import io
import os
import re
import sys
from collections.abc import Iterable
from typing import Any, Final, TextIO, cast


class OutputFailed(BaseException):
    """Standard output could not be written. Like KeyboardInterrupt it concerns the process, not the work in hand."""

    def __init__(self, cause: OSError) -> None:
        """`reader_left`: the other end of the pipe is closed, which is no fault."""
        super().__init__(f"cannot write to standard output: {cause.strerror or cause}")
        self.reader_left = isinstance(cause, BrokenPipeError)


class GuardedStream:
    """A text stream whose writes pass `harmless`; everything else is the stream's own.

    A failed write raises OutputFailed. A stream that is `dispensable`, such as standard error, drops the text instead:
    a measurement does not end because nobody sees its progress. In both cases nothing more is written there.
    """

    def __init__(self, stream: TextIO, *, dispensable: bool = False) -> None:
        """Put the guard before a stream."""
        self.stream = stream
        self.dispensable = dispensable

    def write(self, text: str) -> int:
        """Write the text made harmless; the answer is its own length."""
        self.write_raw(harmless(text))
        return len(text)

    def write_raw(self, text: str) -> None:
        """Write the text as it is."""
        try:
            self.stream.write(text)
        except OSError as cause:
            self._fail(cause)

    def flush(self) -> None:
        """Write what is buffered."""
        try:
            self.stream.flush()
        except OSError as cause:
            self._fail(cause)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write each."""
        for line in lines:
            self.write(line)

    def _fail(self, cause: OSError) -> None:
        # Redirect the stream to /dev/null: the interpreter flushes it at exit, and a failure there would change the
        # exit status.
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, self.stream.fileno())
        os.close(nothing)
        if not self.dispensable:
            raise OutputFailed(cause) from None

    def __getattr__(self, name: str) -> Any:
        if name == "buffer" and _knows_little(self.stream):
            # Programs that find a binary stream below write UTF-8 into it, which an ASCII terminal cannot show.
            raise AttributeError(name)
        return getattr(self.stream, name)


class _Beneath:
    """A guarded stream for text with escape codes: failures are the guard's, the text is written as it is."""

    def __init__(self, guard: GuardedStream) -> None:
        self.write = guard.write_raw
        self._guard = guard

    def __getattr__(self, name: str) -> Any:
        return getattr(self._guard, name)


def guard_streams() -> None:
    """Put a guard before standard output and standard error, once; what is closed is opened on /dev/null."""
    _open_standard_descriptors()
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if isinstance(stream, GuardedStream):
            continue
        if stream is None:
            stream = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - it is open while the process is
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="ascii" if _asks_for_ascii() else None, errors=HANDLER)
        setattr(sys, name, GuardedStream(stream, dispensable=name == "stderr"))


def _open_standard_descriptors() -> None:
    """A process started without one of descriptors 0 to 2 would open its target there, and print into it."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            # The closed descriptor is the lowest free one, so this open gets its number; child processes inherit it as
            # usual.
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)


def beneath(stream: TextIO) -> TextIO:
    """The stream beneath the guard, for who writes escape codes; what is not ours must be harmless already."""
    return cast(TextIO, _Beneath(stream)) if isinstance(stream, GuardedStream) else stream


def is_coloured(stream: TextIO) -> bool:
    """Whether the stream should have colours: a terminal with cursor control, and no NO_COLOR."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _asks_for_ascii() -> bool:
    """Whether the user chose the C locale; Python would write UTF-8 nevertheless."""
    return os.environ.get("LC_ALL") in ("C", "POSIX")


def _knows_little(stream: TextIO) -> bool:
    return (getattr(stream, "encoding", None) or "").lower().replace("-", "_") in ("ascii", "us_ascii")


# Text for terminals and files that know ASCII alone: each sign of ours has a stand-in that means the same.
# Scope: the signs that Mileage writes. What is not ours, such as a letter with an accent, is shown as
# its escape, since to drop it would change a name.

STAND_INS: Final = {
    "▲": "^",
    "▼": "v",
    "≈": "~",
    "✓": "+",
    "✕": "x",
    "●": "*",
    "–": "-",
    "—": "-",
    "−": "-",
    "…": "~",
    "·": ".",
    "×": "x",
    "±": "+-",
    "µ": "u",
    "μ": "u",
    "≤": "<=",
    "≥": ">=",
    "→": "->",
    "←": "<-",
    "°": " deg ",
    "²": "2",
    "³": "3",
    "½": "1/2",
    **dict.fromkeys("\N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}\N{THIN SPACE}", " "),
    **dict.fromkeys("\N{LEFT SINGLE QUOTATION MARK}\N{RIGHT SINGLE QUOTATION MARK}", "'"),
    **dict.fromkeys("“”", '"'),
    **dict(zip("▁▂▃▄▅▆▇█", "_.,-=+*#", strict=True)),
    **dict.fromkeys("━─", "-"),
    "\N{GREEK SMALL LETTER SIGMA}": "sigma",
    "\N{REPLACEMENT CHARACTER}": "?",
}
HANDLER: Final = "mileage-ascii"
"""Name of the error handler of codecs that does the same to what an encoding cannot say."""


def ascii_of(text: str) -> str:
    """The text in ASCII."""
    return text.encode("ascii", HANDLER).decode("ascii")


def _instead(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    messages = error.object[error.start : error.end]
    replacement = "".join(
        STAND_INS.get(letter) or letter.encode("ascii", "backslashreplace").decode() for letter in messages
    )
    return replacement, error.end


codecs.register_error(HANDLER, _instead)


# Text of strangers without its power over a terminal: file names, labels, notes, messages of other programs.
# Models what a terminal or a reader's eye obeys: control characters (C0 but tab and line feed, DEL, C1), marks and
# overrides of direction, separators of lines, invisible signs, lone surrogates. Each is shown as JSON would escape it
# (`\u001b`), so that it can be seen, and so that a JSON document that passes keeps its meaning.

_STEERING: Final = re.compile(
    "\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\ud800-\udfff\ufeff\ufff9-\ufffb\ufffe\uffff\U000e0000-\U000e007f]"
)


def harmless(text: str) -> str:
    r"""The text with control characters shown as escapes; tabs and ends of lines stay."""
    return _STEERING.sub(_shown, text)


def one_line(text: str) -> str:
    r"""Escape as above, and turn line ends into `\n` and tabs into spaces, so that the result is one line."""
    return harmless(text).replace("\r\n", "\n").replace("\n", "\\n").replace("\t", " ")


def _shown(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code > 0xFFFF:
        code -= 0x10000
        return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"
    return f"\\u{code:04x}"
