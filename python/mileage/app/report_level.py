"""How much of a report is written: nothing, page and tables without pictures, or all of it.

Pictures are most of the time that a report takes. The first of these that says a level decides: the command line or
the Python call, the study file, the environment variable MILEAGE_REPORT; otherwise everything is written.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

from mileage.errors import Refused
from mileage.plan.study import REPORT_LEVELS

VARIABLE: Final = "MILEAGE_REPORT"


def report_level(
    asked: str | None, study: str | None = None, environ: Mapping[str, str] | None = None
) -> str:
    """One of `REPORT_LEVELS`. `asked` is the caller's, `study` that of the study file; `environ`: of this process.

    Raises:
        Refused: the caller's or the environment's word is none of them. The study file's was checked with the study.
    """
    variable = (os.environ if environ is None else environ).get(VARIABLE) or None
    for source, level in (("report", asked), (VARIABLE, variable)):
        if level is not None and level not in REPORT_LEVELS:
            raise Refused(
                source, found=f"{level!r}", expected=f"one of {', '.join(REPORT_LEVELS)}", code="unknown-word"
            )
    return asked or study or variable or REPORT_LEVELS[-1]


def rewritten_level(asked: str | None) -> str:
    """The level of a report that was asked for by itself: as `report_level`, but never "none".

    A study file with `report = "none"` or "text" is about the end of its run; who asks for the report later wants it.

    Raises:
        Refused: `asked` is "none", or as `report_level`.
    """
    if asked == REPORT_LEVELS[0]:
        raise Refused(
            "report",
            found=f"{asked!r}",
            expected=f"one of {', '.join(REPORT_LEVELS[1:])}",
            code="unknown-word",
        )
    level = report_level(asked)
    return REPORT_LEVELS[-1] if level == REPORT_LEVELS[0] else level
