"""Mileage: a storage performance laboratory.

>>> import mileage
>>> mileage.Drive  # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mileage.lazy_names import lazy_names

if TYPE_CHECKING:
    from mileage._core import Drive
    from mileage.app import StudyResult, compare, history, load, measure, rank, run
    from mileage.errors import MileageError, Refused, RunFailed

    __version__: str
else:
    _load = lazy_names(
        __name__,
        {
            "mileage._core": ("Drive",),
            "mileage.app": ("StudyResult", "compare", "history", "load", "measure", "rank", "run"),
            "mileage.errors": ("MileageError", "Refused", "RunFailed"),
        },
    )

    def __getattr__(name: str) -> Any:
        """Load a public name when it is first used; `__version__` comes from the compiled core."""
        if name != "__version__":
            return _load(name)
        from mileage._core import VERSION

        return VERSION


__all__ = [
    "Drive",
    "MileageError",
    "Refused",
    "RunFailed",
    "StudyResult",
    "__version__",
    "compare",
    "history",
    "load",
    "measure",
    "rank",
    "run",
]
