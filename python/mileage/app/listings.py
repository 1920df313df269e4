"""Lists of everything that can be chosen: built-in studies, workloads, drives, tortures, data sheets, purposes.

Studies on this machine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mileage.plan.named_workloads import NamedWorkload


def listing(what: str) -> list[dict[str, str]]:
    """Names and titles of the built-in `studies`, `workloads`, `drives`, `tortures`, `datasheets` or `purposes`."""
    return _LISTINGS[what]()


def listing_of(places: Sequence[Path]) -> list[dict[str, Any]]:
    """The study folders among and below some places: name (the folder), title, and the columns of table `studies`.

    Raises:
        Refused: a place holds none.
    """
    from mileage.store.query import study_folders, study_row

    rows = [study_row(folder) for folder in study_folders(places)]
    return [{"name": row["folder"], "title": _title(row), **row} for row in rows]


def _title(row: dict[str, Any]) -> str:
    if row["imported"]:
        return f"{row['study']}, imported, {row['runs']} {'run' if row['runs'] == 1 else 'runs'}"
    state = "finished" if row["finished"] else f"{row['runs']} of {row['runs_planned']} runs"
    return f"{row['study']} on {row['target']}, {state}, {row['started'] or 'not begun'}"


def _studies() -> list[dict[str, str]]:
    from mileage.plan import builtin_names, builtin_text, parse_study

    return [
        {"name": name, "title": parse_study(builtin_text(name), name).question} for name in builtin_names()
    ]


def _workloads() -> list[dict[str, str]]:
    from mileage.plan import WORKLOADS

    judged = [one for name, one in WORKLOADS.items() if name.startswith(("throughput.", "iops."))]
    same = {(one.pattern, one.read_percent, one.how): one.name for one in judged}

    def title(one: NamedWorkload) -> str:
        twin = same.get((one.pattern, one.read_percent, one.how)) if one.name.startswith("pattern.") else None
        return f"{one.title} (the same as {twin})" if twin else one.title

    return [{"name": name, "title": title(one)} for name, one in WORKLOADS.items()]


def _tortures() -> list[dict[str, str]]:
    from mileage.plan.profiles import TITLES

    return [{"name": name, "title": title} for name, title in TITLES.items()]


def _drives() -> list[dict[str, str]]:
    from mileage import _core
    from mileage.targets.profiles import drive_names, load_profile

    return [{"name": name, "title": _core.drive_title(load_profile(name))} for name in drive_names()]


def _purposes() -> list[dict[str, str]]:
    from mileage.plan.builtin import purpose_names, purpose_text
    from mileage.plan.purpose import parse_purpose
    from mileage.report.fitness import limit_words

    found = [parse_purpose(purpose_text(name), name, name) for name in purpose_names()]
    return [{"name": one.name, "title": f"{one.head.title}; {limit_words(one)}"} for one in found]


def _datasheets() -> list[dict[str, str]]:
    from mileage.targets.data_sheets import all_data_sheets

    return [{"name": sheet.name, "title": sheet.title} for sheet in all_data_sheets()]


_LISTINGS: dict[str, Callable[[], list[dict[str, str]]]] = {
    "studies": _studies,
    "workloads": _workloads,
    "drives": _drives,
    "tortures": _tortures,
    "datasheets": _datasheets,
    "purposes": _purposes,
}
