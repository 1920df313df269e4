"""Mileage: a storage performance laboratory.

>>> import mileage
>>> mileage.Drive  # doctest: +SKIP
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mileage._core import Drive
    from mileage.lab import StudyResult, compare, load, run

    __version__: str

__all__ = ["Drive", "StudyResult", "__version__", "compare", "load", "run"]

_HOMES = {
    "Drive": "mileage._core",
    "StudyResult": "mileage.lab",
    "compare": "mileage.lab",
    "load": "mileage.lab",
    "run": "mileage.lab",
}


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used, so that `mileage --help` loads none of them."""
    if name == "__version__":
        from importlib.metadata import version

        return version("mileage")
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'mileage' has no attribute {name!r}")
