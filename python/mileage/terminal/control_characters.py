r"""Text of strangers without its power over a terminal: file names, labels, notes, messages of other programs.

Models what a terminal or a reader's eye obeys: control characters (C0 but tab and line feed, DEL, C1), marks and
overrides of direction, separators of lines, invisible signs, lone surrogates. Each is shown as JSON would escape it
(`\u001b`), so that it can be seen, and so that a JSON document that passes keeps its meaning.
"""

import re
from typing import Final

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
