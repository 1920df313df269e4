"""Reports in fio's normal output: a call prints one at its end, and with `--status-interval` several before it.

Scope: a report ends with its run status groups. It is a later one of the call before it when it has the same jobs
(name, group and process), no total is smaller, and a job ran on in between; every other report is of a call of its own.
The last report of a call holds all of it. Of clients each prints a report, and all are of one call.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

import msgspec

from mileage.formats.fio_text_lines import JobLines

_DATE: Final = "%a %b %d %H:%M:%S %Y"
_DATE_S: Final = 1.1
"""By how much the difference of two dates, in whole seconds, may be wrong."""
_RAN_ON_MIN: Final = 0.3
"""Least share of the time between two reports in which some job of one call was running."""


class Report(msgspec.Struct):
    """The jobs of a report and what the disks moved."""

    blocks: list[JobLines] = []
    disk_bytes: list[int] = []
    reports: int = 1
    """Reports of the call up to this one."""
    ended: bool = False
    """Whether the run status groups follow the jobs: without them the output is cut, and jobs may be missing."""
    torn: int = 0
    """The line of a later report that was truncated; 0 for none."""

    def jobs(self) -> dict[tuple[str, int, int], JobLines]:
        """Blocks by name, group and process."""
        return {(block.name, block.group, block.pid): block for block in self.blocks}

    def keep_whole(self, cloned: set[tuple[str, int]]) -> None:
        """Of a report that is cut, keep the jobs that are certainly whole.

        `cloned`: names and groups of jobs that `numjobs` multiplied, of which the last one may lack some.
        """
        if self.ended:
            return
        names = [(block.name, block.group) for block in self.blocks]
        last = names[-1]
        lacks = self.blocks[-1].jobs == 1 and (last in cloned or names.count(last) > 1)
        self.blocks = [
            block
            for block, name in zip(self.blocks, names, strict=True)
            if block.issued is not None and not (lacks and name == last)
        ]


def last_reports(found: list[Report]) -> list[Report]:
    """The last report of each call, in the order of the file."""
    kept: list[Report] = []
    for report in found:
        if not kept or not _is_later(kept[-1], report):
            kept.append(report)
            continue
        before, kept[-1] = kept[-1], report
        report.reports = before.reports + 1
        if _is_torn(before, report):
            kept[-1] = before
            before.reports, before.torn = report.reports, report.blocks[0].line
    return kept


def _is_torn(before: Report, after: Report) -> bool:
    """Whether a later report lacks a job, or the end of one."""
    jobs = after.jobs()
    return any(
        (late := jobs.get(key)) is None or (early.issued is not None and late.issued is None)
        for key, early in before.jobs().items()
    )


def _is_later(before: Report, after: Report) -> bool:
    """Whether a report belongs to the same call as the one before it."""
    old, new = before.jobs(), after.jobs()
    common = old.keys() & new.keys()
    if not common or not (old.keys() <= new.keys() or new.keys() <= old.keys()):
        return False
    whole = [key for key in common if new[key].issued is not None or old[key].issued is None]
    if any(_is_less(new[key], old[key]) for key in whole):
        return False
    between_s = _between_s(before, after)
    if between_s is None or (
        old.keys() == new.keys() and all(_totals(new[key]) == _totals(old[key]) for key in common)
    ):
        return True
    ran_on_s = max(_runtime_s(new[key]) - (_runtime_s(old[key]) if key in old else 0) for key in new)
    return _RAN_ON_MIN * (between_s - _DATE_S) <= ran_on_s <= between_s + _DATE_S or bool(
        _is_torn(before, after)
    )


def _totals(block: JobLines) -> dict[str, tuple[float, ...]]:
    """Bytes and run time of each direction, and all operations."""
    found = {name: (part.io_bytes.value, float(part.runtime_ms)) for name, part in block.parts.items()}
    return found | ({"issued": tuple(map(float, block.issued))} if block.issued is not None else {})


def _is_less(after: JobLines, before: JobLines) -> bool:
    new = _totals(after)
    return any(
        total < earlier
        for name, totals in _totals(before).items()
        for total, earlier in zip(new.get(name, (-1.0,) * len(totals)), totals, strict=True)
    )


def _runtime_s(block: JobLines) -> float:
    return max((part.runtime_ms for part in block.parts.values()), default=0) / 1000


def _between_s(before: Report, after: Report) -> float | None:
    """Seconds from one report to another by their dates; None where a date is missing or of another form."""
    try:
        first, second = (
            datetime.strptime(" ".join(one.blocks[0].date.split()), _DATE) for one in (before, after)
        )
    except ValueError:
        return None
    return (second - first).total_seconds()
