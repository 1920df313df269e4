"""The state of the page cache during a run, as a value.

Scope: the words of `cache`: "direct", "cold", "dropped", "hot", "warm" and "limited:SIZE".
What it refuses: other words, and limits in which a process has no room to work.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from mileage.plan import sizes

Mode = Literal["direct", "cold", "dropped", "hot", "warm", "limited"]
LIMIT_MIN_BYTES: Final = 64 << 20
"""The least memory a run is limited to: the process itself needs some."""
_FORMS: Final = 'direct, cold, dropped, hot, warm or a limit such as "limited:2GiB"'


class Caching(msgspec.Struct, frozen=True):
    """State of the page cache during a run."""

    mode: Mode
    limit_bytes: int = 0
    """With "limited": memory for the process and what it has cached; 0 otherwise."""


_PLAIN: Final[dict[str, Mode]] = {
    "direct": "direct",
    "cold": "cold",
    "dropped": "dropped",
    "hot": "hot",
    "warm": "warm",
}


def read_cache(text: str) -> Caching:
    """Parse a word for the state of the page cache. Raises ValueError."""
    if text in _PLAIN:
        return Caching(_PLAIN[text])
    word, colon, rest = text.partition(":")
    if word != "limited" or not colon:
        raise ValueError(f"{text!r} is no state of the page cache: expected {_FORMS}")
    limit = sizes.parse_bytes(rest)
    if limit < LIMIT_MIN_BYTES:
        raise ValueError(f"{text!r}: expected a limit of {sizes.exact_bytes(LIMIT_MIN_BYTES)} or more")
    return Caching("limited", limit)
