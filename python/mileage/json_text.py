"""JSON that others may have written: a file of a study folder, a ledger.

Scope: one decoder whose only error is msgspec.DecodeError, so that every caller refuses every damaged text.
msgspec raises UnicodeDecodeError for bytes that are no UTF-8 and RecursionError for deep nesting, and it does not look
at texts that the wanted type has no place for: a file that passes one decoder would fail in the next.
What it refuses: bytes that are no UTF-8 anywhere, nesting that is too deep, and all that msgspec refuses.
"""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

T = TypeVar("T")


def decode_json(data: bytes, kind: type[T] | Any = Any) -> T:
    """The value of a JSON text as a type, by default as plain values. Raises msgspec.DecodeError."""
    try:
        data.decode("utf-8")
        found: T = msgspec.json.decode(data, type=kind)
    except UnicodeDecodeError as cause:
        raise msgspec.DecodeError(f"not UTF-8: {cause.reason} at byte {cause.start}") from cause
    except RecursionError as cause:
        raise msgspec.DecodeError("nested too deep") from cause
    return found
