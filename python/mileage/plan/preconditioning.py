"""Preconditioning: the writes to a purged target before any measurement, as a stage of the study.

Scope: `state.precondition`. "quick" writes the work area once; "snia-independent" twice, in records of 128 KiB
one after the other, which is the workload-independent preconditioning of SNIA's Performance Test Specification;
"snia-dependent" continues with the workload that is measured first until its rounds are steady by SNIA's rule.
The stage that it makes is a stage like any other, and is checked like one.
"""

from __future__ import annotations

from typing import Final

import msgspec

from mileage.plan.io_options import IoOptions
from mileage.plan.study import Measure, Stage, Study, Torture

PRECONDITIONS: Final = ("quick", "snia-independent", "snia-dependent")
STAGE: Final = "precondition"
"""Name of the stage, and how the names of its tables begin."""
ROUNDS_MAX: Final = 25
"""SNIA's limit of rounds in which the target must have become steady."""
_RECORD: Final = "128KiB"
_DEPTH: Final = 32


def with_preconditioning(study: Study) -> Study:
    """The study with a first stage that preconditions, where `[state]` asks for it; the key is spent by that."""
    kind = study.state.precondition
    if kind is None:
        return study
    passes = "1x" if kind == "quick" else "2x"
    tables = {
        STAGE: Torture(
            workload="throughput.write", record=_RECORD, amount=passes, depth=_DEPTH, content="incompressible"
        )
    }
    if kind == "snia-dependent" and (measured := _first_measured(study)) is not None:
        tables[f"{STAGE}-steady"] = _dependent(measured)
    stage = Stage(name=STAGE, prepare=tuple(tables))
    return msgspec.structs.replace(
        study,
        state=msgspec.structs.replace(study.state, precondition=None),
        stage=(stage, *study.stage),
        torture={**tables, **study.torture},
    )


def _first_measured(study: Study) -> Measure | None:
    for stage in study.stage:
        for name in study.measures_of(stage):
            return study.measure[name]
    return None


def _dependent(measure: Measure) -> Torture:
    """The first workload of a table at its first levels, in rounds until it is steady."""

    def first(value: object) -> object:
        return value[0] if isinstance(value, tuple) else value

    how = {key: getattr(measure, key) for key in IoOptions.__struct_fields__}
    return msgspec.convert(
        {
            **{key: value for key, value in how.items() if value is not None},
            "workload": first(measure.workload),
            "record": first(measure.record) or _RECORD,
            "threads": first(measure.threads),
            "depth": first(measure.depth),
            "span": measure.span,
            "span_start": measure.span_start,
            "amount": "1x",
            "time": "1 min",
            "rounds": ROUNDS_MAX,
            "until": "pts-steady",
        },
        Torture,
    )
