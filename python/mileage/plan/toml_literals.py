"""Single values and keys as TOML.

Nothing of a study is loaded, because profiles of arrays are put together from values when drives are listed.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

_BARE_KEY: Final = re.compile(r"[A-Za-z0-9_-]+")


def toml_value(value: Any) -> str:
    """A value as TOML, tables inline."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(toml_value(member) for member in value)}]"
    if isinstance(value, dict):
        return (
            "{ "
            + ", ".join(f"{toml_key(key)} = {toml_value(member)}" for key, member in value.items())
            + " }"
        )
    return repr(value)


def toml_key(key: str) -> str:
    """A key as TOML, in quotes where it needs them."""
    return key if _BARE_KEY.fullmatch(key) else toml_value(key)
