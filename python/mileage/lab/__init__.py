"""The laboratory: the one room where plan, target, record, execute, judge and report meet.

`study` runs a study, `result` answers about its folder, `several` sets studies beside one another, `listings` names
what there is; `measuring` and `searching` measure without a study file; `doing` and `sessions` bring a plan to its
target, `sweep` does a study for each combination of its factors, `deciding` says when enough was measured;
`comparing`, `inside`, `lamps`, `why` and `offered` say what came of it, `view` gathers that for the report; `importing`
makes studies of other tools' files, `imported` says how far to trust them; `selftest` and `orderproof` try the
judgement where the truth is known. The command line and the public functions of `mileage` are thin faces of this room.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mileage.lazy_names import lazy_names

if TYPE_CHECKING:
    from mileage.lab.listings import listing, listing_of
    from mileage.lab.result import StudyResult, load
    from mileage.lab.several import compare, history, rank
    from mileage.lab.study import plan, run, time_left
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "mileage.lab.listings": ("listing", "listing_of"),
            "mileage.lab.result": ("StudyResult", "load"),
            "mileage.lab.several": ("compare", "history", "rank"),
            "mileage.lab.study": ("plan", "run", "time_left"),
        },
    )

__all__ = [
    "StudyResult",
    "compare",
    "history",
    "listing",
    "listing_of",
    "load",
    "plan",
    "rank",
    "run",
    "time_left",
]
