"""Entries and records of hand-written journals, with what a test does not care about filled in."""

from __future__ import annotations

from typing import Any

import msgspec

from mileage.model.journal_entries import ENTRY_TYPES, Entry, Run, kind_of
from mileage.model.run_record import RunRecord

_TYPES = {kind_of(type_): type_ for type_ in ENTRY_TYPES}


def entry_of(members: dict[str, Any]) -> Entry:
    """The entry of a line's members."""
    return msgspec.convert(members, _TYPES[members["kind"]])


def record(**members: Any) -> RunRecord:
    """A record of no I/O but for these members; histograms and series may be dictionaries."""
    return msgspec.convert(msgspec.structs.asdict(RunRecord.idle(0)) | members, RunRecord)


def run(number: int = 0, **members: Any) -> Run:
    """A measured run of a study with one cell, but for these members."""
    plain: dict[str, Any] = {
        "run": number,
        "cycle": 1,
        "arm": "torture",
        "stage": "before",
        "role": "measure",
        "block": 1,
        "measure": "iops",
        "cell": "c",
        "metrics": [],
        "started": "2010-11-21T10:00:00+00:00",
        "finished": "2010-11-21T10:00:01+00:00",
        "record": record(),
    }
    return msgspec.convert(plain | members, Run)
