"""Study files, cells, order and estimates; the built-in studies.

Pure: text and the facts of a target come in as values, a plan goes out. No file, no clock, no globals; every
random choice comes from the study's recorded seed. (`builtin` alone reads the shipped study files.)
"""

from mileage.model.target_facts import TargetFacts
from mileage.plan.builtin import builtin_names, builtin_text
from mileage.plan.custom_workloads import trace_paths
from mileage.plan.describe import describe
from mileage.plan.estimate import Estimate, estimate
from mileage.plan.factors import Setting, session_of
from mileage.plan.families import WORKLOADS
from mileage.plan.one_off import Asked, one_off
from mileage.plan.pattern import TraceFile
from mileage.plan.planned_runs import Cell, Plan, PlannedRun
from mileage.plan.resolve import places_of, resolve
from mileage.plan.study import Study
from mileage.plan.study_reader import parse_study
from mileage.plan.toml_writer import to_toml
from mileage.plan.workload import Stop, Workload
from mileage.plan.workloads import METRICS, NamedWorkload

__all__ = [
    "METRICS",
    "WORKLOADS",
    "Asked",
    "Cell",
    "Estimate",
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
    "describe",
    "estimate",
    "one_off",
    "parse_study",
    "places_of",
    "resolve",
    "session_of",
    "to_toml",
    "trace_paths",
]
