"""The work area: the part of the target that a study uses.

Scope: a drive or a device is used whole, rounded down to a multiple of every record; a work file has the
size that the study gives; a file that is kept as it is has the size that it has.
What it refuses: records that do not divide the area they are to visit or the target's logical blocks.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final, NoReturn

from mileage.errors import Refusal
from mileage.model.target_facts import TargetFacts
from mileage.plan import sizes
from mileage.plan.factors import at_setting, settings_of
from mileage.plan.families import find_workloads
from mileage.plan.faults import BrokenStudy
from mileage.plan.initial_state import work_file_bytes
from mileage.plan.named_workloads import NamedWorkload
from mileage.plan.pattern import SECTOR_BYTES, unit_bytes
from mileage.plan.study import Measure, Size, Study, listed

UNEVEN: Final = "uneven-sizes"
"""Code of the refusal of a record that does not divide the work file."""

Own = Mapping[str, NamedWorkload]
"""The user's own workloads, by name."""


def uses_file(study: Study, facts: TargetFacts) -> bool:
    """Whether the work area is a file whose size the study gives, rather than a whole drive, device or file."""
    return facts.capabilities.has_work_file and study.state.start != "kept"


def named_in(study: Study, path: str, words: str | tuple[str, ...], own: Own) -> list[NamedWorkload]:
    """The workloads that a table of a study names. Raises BrokenStudy."""
    where = f"{path}.workload"
    found = (find_workloads(word, study.target, study.name, where, own) for word in listed(words))
    return [named for family in found for named in family]


def records_in(measure: Measure) -> tuple[Size, ...]:
    """The records that a table gives; none when each workload has its own."""
    if measure.record is None:
        return ()
    return measure.record if isinstance(measure.record, tuple) else (measure.record,)


def records_of(study: Study, own: Own) -> list[tuple[str, int]]:
    """Every record of a study with its path, in bytes."""
    records: list[tuple[str, int]] = []
    for name, measure in study.measure.items():
        given = records_in(measure)
        every = named_in(study, f"measure.{name}", measure.workload, own)
        for index, record in enumerate(given if any(one.visits_area for one in every) else ()):
            suffix = f"[{index}]" if isinstance(measure.record, tuple) else ""
            records.append((f"measure.{name}.record{suffix}", sizes.size_bytes(record)))
        if not given:
            found = named_in(study, f"measure.{name}", measure.workload, own)
            for named in (one for one in found if one.visits_area):
                unit = unit_bytes(named.pattern, sizes.size_bytes(named.record or 0))
                records.append((f"measure.{name}.workload", unit))
    records += [
        (f"torture.{name}.record", sizes.size_bytes(table.record)) for name, table in study.torture.items()
    ]
    return records


def common_multiple(study: Study, own: Own) -> int:
    """The smallest size that every record of a study divides, in bytes.

    Records that are no whole sectors count for nothing: of the area they visit as many as fit.
    """
    if study.factor:
        return math.lcm(*(common_multiple(at_setting(study, at), own) for at in settings_of(study)))
    return math.lcm(*(record for _, record in records_of(study, own) if record % SECTOR_BYTES == 0))


def work_area_bytes(study: Study, facts: TargetFacts, own: Own) -> int:
    """Size of the work area in bytes, of a study with factors that of its first setting.

    Raises BrokenStudy when the records do not go into it.
    """
    if study.factor:
        return work_area_bytes(at_setting(study, settings_of(study)[0]), facts, own)
    multiple = common_multiple(study, own)
    exact = False
    area = facts.capacity_bytes
    if uses_file(study, facts):
        try:
            area = work_file_bytes(study, facts.memory_bytes)
        except ValueError as error:
            refuse(study, "state.file", str(error), code="wrong-value")
        exact = not sizes.is_multiple(study.state.file)
    for path, record in records_of(study, own):
        if exact and record % SECTOR_BYTES == 0 and area % record:
            refuse(
                study,
                path,
                f"{words(record)} does not divide the work file of {words(area)}",
                advice="choose a record and a state.file that divide evenly",
                code=UNEVEN,
            )
    if area < multiple:
        refuse(
            study,
            "record",
            f"the least size that all records divide, {words(multiple)}, is larger than the work area of {words(area)}",
            code="does-not-divide",
        )
    return area - area % multiple


def words(size: int) -> str:
    """A size in an exact binary unit, such as "4 KiB", or in bytes."""
    return sizes.format_bytes(size) if not sizes.exact_bytes(size).endswith(" B") else f"{size} B"


def refuse(
    study: Study,
    path: str,
    text: str = "",
    *,
    found: str = "",
    expected: str = "",
    advice: str = "",
    code: str,
) -> NoReturn:
    """Raise BrokenStudy for the value at a path of a study."""
    raise BrokenStudy(study.name, [Refusal(path, found, expected, advice, code, text)])
