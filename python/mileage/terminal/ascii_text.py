"""Text for terminals and files that know ASCII alone: each sign of ours has a stand-in that means the same.

Scope: the signs that Mileage writes. What is not ours, such as a letter with an accent, is shown as
its escape, since to drop it would change a name.
"""

import codecs
from typing import Final

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
