"""Texts and names of files as DuckDB's SQL has them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final


def sql_text(value: str) -> str:
    """A text, or a file that is written to."""
    return "'" + value.replace("'", "''") + "'"


_PATTERN: Final = re.compile(r"([*?\[])")


def is_pattern(path: Path) -> bool:
    """Whether DuckDB would interpret the name of a file as a pattern."""
    return _PATTERN.search(str(path)) is not None


def sql_source(path: Path) -> str:
    """A file that is read from: `*`, `?` and `[` in its name are characters, not a pattern."""
    return sql_text(_PATTERN.sub(r"[\1]", str(path)))
