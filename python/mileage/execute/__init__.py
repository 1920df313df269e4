"""Runs the stages of a plan in order on a target, journals every finished run, and goes on after a crash.

`study` walks the cycles; `cycle` walks one cycle's arms and stages and knows how to replay a virtual drive; `run`
does one run, `job` one of work on files, `reset` what is between blocks; `monitor` watches what goes on beside a run,
`concurrency` says how many cycles run at once, `stopping` when enough was measured, `surroundings` whether the
machine is still the same, `unfinished` when a device gave up; `progress` is what the user is told meanwhile, `live`
shows it on a terminal from what `standing` keeps, and `watch` does so for a short study.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mileage.lazy_names import lazy_names

if TYPE_CHECKING:
    from mileage.execute.concurrency import cycles_at_once
    from mileage.execute.cycle import stage_name
    from mileage.execute.progress import Progress, Silent
    from mileage.execute.stopping import Rules
    from mileage.execute.study import execute_study
    from mileage.execute.surroundings import start_name
    from mileage.execute.unfinished import unfinished_lines
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "mileage.execute.concurrency": ("cycles_at_once",),
            "mileage.execute.cycle": ("stage_name",),
            "mileage.execute.progress": ("Progress", "Silent"),
            "mileage.execute.stopping": ("Rules",),
            "mileage.execute.study": ("execute_study",),
            "mileage.execute.surroundings": ("start_name",),
            "mileage.execute.unfinished": ("unfinished_lines",),
        },
    )

__all__ = [
    "Progress",
    "Rules",
    "Silent",
    "cycles_at_once",
    "execute_study",
    "stage_name",
    "start_name",
    "unfinished_lines",
]
