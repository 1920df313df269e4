"""Use cases, each from end to end: run, measure, sweep, compare, import, self-test. Where the packages meet.

- `study` runs a study, `session` brings its plan to the target, `stop_decisions` says when enough was measured, `sweep`
  runs a study per factor combination.
- `check` is one minute on a drive: its health, its rates, its class; `fitness` is whether it is fit for a purpose;
  `new_study` writes a study file to begin with.
- `measurement`, `measure_call` and `rate_search` measure without a study file; `temporary_studies` keeps their
  temporary study folders.
- `result` answers questions about one study folder; `comparison_report` and `multi_study` compare or rank studies;
  `listings` lists what is available.
- `importer` makes studies of other tools' files.
- `selftest` tries the judgement where the truth is known.

The command line and the public functions of `mileage` call this package and add nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mileage.lazy_names import lazy_names

if TYPE_CHECKING:
    from mileage.app.listings import listing, listing_of
    from mileage.app.measure_call import measure
    from mileage.app.multi_study import compare, history, rank
    from mileage.app.result import StudyResult, load
    from mileage.app.study import plan, run, time_left
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "mileage.app.listings": ("listing", "listing_of"),
            "mileage.app.measure_call": ("measure",),
            "mileage.app.result": ("StudyResult", "load"),
            "mileage.app.multi_study": ("compare", "history", "rank"),
            "mileage.app.study": ("plan", "run", "time_left"),
        },
    )

__all__ = [
    "StudyResult",
    "compare",
    "history",
    "listing",
    "listing_of",
    "load",
    "measure",
    "plan",
    "rank",
    "run",
    "time_left",
]
