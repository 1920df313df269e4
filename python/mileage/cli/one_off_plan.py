"""The plan of a measurement, whose refusals give the option of `mileage measure` and not a key of a study file."""

from __future__ import annotations

from typing import Final

from mileage.app.measurement import planned
from mileage.errors import Refusal, Refused
from mileage.plan import Plan, Study
from mileage.plan.faults import BrokenStudy, steps_of
from mileage.plan.measure_options import option_of
from mileage.plan.resolver import NO_ROOM
from mileage.plan.work_area import UNEVEN


def plan_of(study: Study, destroy: str | None) -> Plan:
    """The plan of a one-off study. Raises Refused in the words of the command line."""
    try:
        return planned(study, destroy)
    except BrokenStudy as broken:
        # The filling run has the same options and repeats the faults of the measurement: report its own only if there
        # are no others.
        faults = broken.refusals
        asked = [fault for fault in faults if not fault.where.startswith("torture.")] or faults
        cold = any(table.cache == "cold" for table in study.measure.values())
        raise Refused.because(*dict.fromkeys(_in_options(fault, cold=cold) for fault in asked)) from broken


_ADVICE: Final = {
    NO_ROOM: "free some space, or give a smaller --size",
    UNEVEN: "choose a --record and a --size that divide evenly",
}
"""Advice in terms of command-line options, by the code of a refusal whose own advice names keys of a study file."""


def _in_options(fault: Refusal, *, cold: bool) -> Refusal:
    """Reword an error of the generated study so that it gives the command-line option that set the faulty key.

    `cold`: the page cache was set by --cold rather than by --direct.
    """
    if fault.where:
        fault = fault._replace(advice=_ADVICE.get(fault.code, fault.advice))
    steps = [step for step in steps_of(fault.where) if not step.isdecimal()]
    if steps == ["state", "file"]:
        return fault._replace(where="--size")
    if steps == ["record"]:
        return fault._replace(where="--record")
    if len(steps) < 3 or steps[0] not in ("measure", "torture"):
        return fault
    key = ".".join(steps[3:] if steps[2] == "vary" else steps[2:])
    return fault._replace(where="--cold" if key == "cache" and cold else f"--{option_of(key)}")
