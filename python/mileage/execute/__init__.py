"""Runs the stages of a plan in order on a target, journals every finished run, and resumes after a crash.

`study` runs all cycles, `cycle` one cycle (its arms and stages, the replay of a virtual drive, and a device or rank
that gives up), `run` one run, also of work on files. `machine_monitor` watches the machine during a run,
`environment_guard` compares the machine with its state at the start, `concurrent_cycles` limits parallel cycles,
`stop_rules` says when enough was measured. `progress` is the interface of progress reports; `live_view` collects
their figures and draws them on a terminal, for every command alike.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mileage.lazy_names import lazy_names

if TYPE_CHECKING:
    from mileage.execute.concurrent_cycles import cycles_at_once
    from mileage.execute.cycle import stage_name, unfinished_lines
    from mileage.execute.environment_guard import start_name
    from mileage.execute.progress import Progress, Silent
    from mileage.execute.stop_rules import Rules
    from mileage.execute.study import execute_study
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "mileage.execute.concurrent_cycles": ("cycles_at_once",),
            "mileage.execute.cycle": ("stage_name", "unfinished_lines"),
            "mileage.execute.progress": ("Progress", "Silent"),
            "mileage.execute.stop_rules": ("Rules",),
            "mileage.execute.study": ("execute_study",),
            "mileage.execute.environment_guard": ("start_name",),
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
