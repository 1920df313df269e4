"""Status reports of fio: with `--status-interval` a file holds several documents of one run, each with totals so far.

Scope: two documents after one another are of one run when fio began at the same moment in both (the time of
the document less `elapsed`), no total of any job is smaller in the second one, and the jobs ran on in between. The last
document of a run holds all of it; those before are a part of it and no runs of their own.
Documents without a time stamp are runs of their own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from mileage.formats.json_documents import Document
from mileage.formats.number_parser import number

_LISTS: Final = ("jobs", "client_stats")
_TOTALS: Final = ("total_ios", "io_bytes", "runtime")
_BEGIN_S: Final = 1.1
"""Maximum difference between two computed start times of the same run: fio rounds `elapsed` up to whole seconds."""
_BEGIN_WITHOUT_MS_S: Final = 2.1
"""The same maximum for documents whose own time is in whole seconds."""
_RAN_ON_MIN: Final = 0.3
"""Least share of the time between two documents in which some job of one run was running."""

Totals = dict[tuple[str, ...], dict[str, float]]


def jobs_of(value: dict[str, Any]) -> list[dict[str, Any]]:
    """The jobs of a document, those of clients among them."""
    lists = [found for name in _LISTS if isinstance(found := value.get(name), list)]
    return [job for found in lists for job in found if isinstance(job, dict)]


class Reports(NamedTuple):
    """The documents of one run."""

    last: Document
    """The last one that has all jobs."""
    documents: int
    torn: Document | None = None
    """A later report that was truncated."""


def last_reports(found: Sequence[Document]) -> list[Reports]:
    """The documents of each run, in the order of the file."""
    kept: list[Reports] = []
    for document in found:
        if not kept or not _is_later(kept[-1].last, document):
            kept.append(Reports(document, 1))
        elif len(_totals(document.value)) == len(_totals(kept[-1].last.value)):
            kept[-1] = Reports(document, kept[-1].documents + 1)
        else:
            kept[-1] = Reports(kept[-1].last, kept[-1].documents + 1, document)
    return kept


def _is_later(before: Document, after: Document) -> bool:
    """Whether a document belongs to the same run as the one before it."""
    times = [_time_s(document.value) for document in (before, after)]
    begins = [_begin_s(document.value) for document in (before, after)]
    if None in times or None in begins:
        return False
    exact = all("timestamp_ms" in document.value for document in (before, after))
    if abs((begins[1] or 0) - (begins[0] or 0)) > (_BEGIN_S if exact else _BEGIN_WITHOUT_MS_S):
        return False
    old, new = _totals(before.value), _totals(after.value)
    if not new.keys() <= old.keys() or (after.whole and new.keys() != old.keys()):
        return False
    if any(new[job][name] < value for job in new for name, value in old[job].items()):
        return False
    ran_on_s = max((_runtime_s(new[job]) - _runtime_s(old[job]) for job in new), default=0.0)
    between_s = (times[1] or 0) - (times[0] or 0)
    return all(new[job] == old[job] for job in new) or ran_on_s >= _RAN_ON_MIN * between_s


def _time_s(value: dict[str, Any]) -> float | None:
    """Time at which a document was written, in seconds since 1970."""
    exact = number(value.get("timestamp_ms"))
    return exact / 1000 if exact is not None else number(value.get("timestamp"))


def _begin_s(value: dict[str, Any]) -> float | None:
    """Start time of fio in seconds since 1970; of clients, which report no `elapsed`, that of the longest job."""
    written_s = _time_s(value)
    elapsed = [time for job in jobs_of(value) if (time := number(job.get("elapsed"))) is not None]
    lasted_s = max(elapsed) if elapsed else max(map(_runtime_s, _totals(value).values()), default=0.0)
    return None if written_s is None else written_s - lasted_s


def _runtime_s(totals: dict[str, float]) -> float:
    return max((value for name, value in totals.items() if name.endswith("runtime")), default=0.0) / 1000


def _totals(value: dict[str, Any]) -> Totals:
    """Totals of each job so far, by its name, group, host and number among jobs of the same name."""
    found: Totals = {}
    counts: Counter[tuple[str, ...]] = Counter()
    for job in jobs_of(value):
        name = tuple(str(job.get(key)) for key in ("jobname", "groupid", "hostname"))
        counts[name] += 1
        totals: dict[str, float] = {}
        for direction in ("read", "write", "trim"):
            if isinstance(part := job.get(direction), dict):
                totals |= {f"{direction}.{total}": number(part.get(total)) or 0.0 for total in _TOTALS}
        found[(*name, str(counts[name]))] = totals
    return found
