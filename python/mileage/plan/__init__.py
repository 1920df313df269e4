"""Study files, cells, order and estimates; the built-in studies.

Pure: text and the facts of a target come in as values, a plan goes out. No file, no clock, no globals; every
random choice comes from the study's recorded seed. (`builtin` alone reads the shipped study files.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mileage.lazy_names import lazy_names

if TYPE_CHECKING:
    from mileage.model.metrics import METRICS
    from mileage.model.target_facts import TargetFacts
    from mileage.plan.builtin import builtin_names, builtin_text
    from mileage.plan.custom_workloads import trace_paths
    from mileage.plan.estimate import Estimate
    from mileage.plan.factors import Setting, part_of
    from mileage.plan.families import WORKLOADS
    from mileage.plan.named_workloads import NamedWorkload
    from mileage.plan.one_off_study import MeasurementRequest
    from mileage.plan.pattern import TraceFile
    from mileage.plan.planned_runs import Cell, Plan, PlannedRun, to_toml
    from mileage.plan.resolver import places_of
    from mileage.plan.study import Study
    from mileage.plan.study_reader import parse_study
    from mileage.plan.workload import Stop, Workload
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "mileage.model.target_facts": ("TargetFacts",),
            "mileage.plan.builtin": ("builtin_names", "builtin_text"),
            "mileage.plan.custom_workloads": ("trace_paths",),
            "mileage.plan.estimate": ("Estimate",),
            "mileage.plan.factors": ("Setting", "part_of"),
            "mileage.plan.families": ("WORKLOADS",),
            "mileage.plan.one_off_study": ("MeasurementRequest",),
            "mileage.plan.pattern": ("TraceFile",),
            "mileage.plan.planned_runs": ("Cell", "Plan", "PlannedRun", "to_toml"),
            "mileage.plan.resolver": ("places_of",),
            "mileage.plan.study": ("Study",),
            "mileage.plan.study_reader": ("parse_study",),
            "mileage.plan.workload": ("Stop", "Workload"),
            "mileage.plan.named_workloads": ("NamedWorkload",),
            "mileage.model.metrics": ("METRICS",),
        },
    )

__all__ = [
    "METRICS",
    "WORKLOADS",
    "Cell",
    "Estimate",
    "MeasurementRequest",
    "NamedWorkload",
    "Plan",
    "PlannedRun",
    "Setting",
    "Stop",
    "Study",
    "TargetFacts",
    "TraceFile",
    "Workload",
    "builtin_names",
    "builtin_text",
    "parse_study",
    "part_of",
    "places_of",
    "to_toml",
    "trace_paths",
]
