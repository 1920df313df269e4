"""A violated rule as a value, and the largest numbers that the core's fields hold.

Scope: the path of a field, and what is wrong there. The rules themselves are the core's, and those of
`ranges`.
Who states the rules decides what follows from them.
"""

from __future__ import annotations

from typing import Final

U32_MAX: Final = 2**32 - 1
U64_MAX: Final = 2**64 - 1

Problem = tuple[str, str]
