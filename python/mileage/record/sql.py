"""Texts and names of files as DuckDB's SQL has them. Refuses nothing."""

from __future__ import annotations

import re
from pathlib import Path


def sql_text(value: str) -> str:
    """A text, or a file that is written to."""
    return "'" + value.replace("'", "''") + "'"


def sql_source(path: Path) -> str:
    """A file that is read from: `*`, `?` and `[` in its name are letters, not a pattern."""
    return sql_text(re.sub(r"([*?\[])", r"[\1]", str(path)))
