"""The application layer: the only package that uses plan, target, record, execute, judge and report together.

- `study` runs a study, `session` brings its plan to the target, `machine_levels` says at which levels of the study's
  labels this machine is, `stop_decisions` says when enough was measured, `sweep` runs a study per factor combination.
- `measurement` and `rate_search` measure without a study file.
- `result` answers questions about one study folder; `multi_study` compares, ranks and traces several; `listings` lists
  what is available.
- `planned_comparison`, `run_variation`, `validity_checks`, `counter_explanations` and `open_loop` interpret the runs;
  `view` collects this for the report.
- `importer` makes studies of other tools' files, `imported_study` says how far to trust them.
- `selftest`, `order_proof` and `transient_proof` try the judgement where the truth is known.

The command line and the public functions of `mileage` call this package and add nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mileage.lazy_names import lazy_names

if TYPE_CHECKING:
    from mileage.lab.listings import listing, listing_of
    from mileage.lab.multi_study import compare, history, rank
    from mileage.lab.result import StudyResult, load
    from mileage.lab.study import plan, run, time_left
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "mileage.lab.listings": ("listing", "listing_of"),
            "mileage.lab.result": ("StudyResult", "load"),
            "mileage.lab.multi_study": ("compare", "history", "rank"),
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
