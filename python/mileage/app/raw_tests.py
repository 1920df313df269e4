"""Raw tests of eight drives by hdparm and dd, as a talk printed them, next to what the simulated drives do.

Scope: the built-in study that repeats the talk, on the drives that are asked for; its page is
`docs/reference/published-studies.md`, and each figure here is the one there.
What it refuses: drives that were not tested.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import Final

import msgspec

from mileage.app.published_results import mean_rate
from mileage.app.sweep import sweep
from mileage.errors import Refused
from mileage.formats.published_results import shipped_study
from mileage.model.raw_tests import RawTables, SimulatedTest

STUDY: Final = "qmul-2017"
FACTOR: Final = "drive"


@cache
def raw_tables() -> RawTables:
    """The tables of the talk other than the tests, which `profiles/published` has."""
    text = resources.files("mileage.app").joinpath("raw_tests.toml").read_text(encoding="utf-8")
    return msgspec.toml.decode(text, type=RawTables)


def simulated_tests(drives: Sequence[str] = (), *, processes: int | None = None) -> list[SimulatedTest]:
    """The tests of all drives of the talk or of some. Raises Refused for drives that it lacks."""
    published = shipped_study(STUDY).results
    known = tuple(dict.fromkeys(one.levels[FACTOR] for one in published))
    if unknown := [name for name in drives if name not in known]:
        raise Refused(
            unknown[0],
            "is no drive of the raw tests",
            expected=f"one of {', '.join(known)}",
            code="unknown-name",
        )
    wanted = tuple(drives) or known
    values: dict[tuple[str, str], list[float]] = {}
    for row in sweep(STUDY, processes=processes, levels={FACTOR: wanted}):
        workload, _, _ = row["cell"].partition(" ")
        if row["metric"] == "rate_bytes_per_s":
            values.setdefault((row[FACTOR], workload), []).append(row["value"])
    return [
        SimulatedTest(
            drive, one.workload, one.middle or 0.0, mean_rate(values[drive, one.workload]) / 1e6, one.note
        )
        for drive in wanted
        for one in published
        if one.levels[FACTOR] == drive
    ]
