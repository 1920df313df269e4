"""The ranges of numbers that the journal holds: they enter the types, so that decoding refuses what cannot be.

Scope: counts that fit into a table's column; times and rates that are none below zero.
A decoder of a type that uses these does.
"""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

COUNT_MAX: Final = (1 << 63) - 1
Count = Annotated[int, msgspec.Meta(ge=0, le=COUNT_MAX)]
Total = Annotated[int, msgspec.Meta(ge=0)]
"""A sum that may be larger than a count."""
Number = Annotated[int, msgspec.Meta(ge=1, le=1 << 31)]
Figure = Annotated[float, msgspec.Meta(ge=0, le=1e24)]
