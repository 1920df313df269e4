"""What `mileage fio` prints of its jobs: at their end, and of what they have done so far."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Sequence
from typing import IO, Final

from mileage.dropin.fio_jobs import FioJob
from mileage.dropin.fio_plan import FILE_CALLS, UNIFIED, JobResults
from mileage.dropin.tool_statuses import ToolRefusal
from mileage.errors import Refused
from mileage.formats import fio_print
from mileage.formats.fio_results import KINDS, PERCENTILES, JobResult

MOST_PERCENTILES: Final = 20
_INTERVAL_MAX_S: Final = 10**9
_UNITS_S: Final = {"": 1.0, "s": 1.0, "us": 1e-6, "ms": 1e-3, "m": 60.0, "h": 3600.0, "d": 86400.0}


class Reports:
    """The reports of one call: in each format that is asked for, to one output."""

    def __init__(
        self, forms: Sequence[str], version: int, shared: dict[str, str], output: IO[str] | None
    ) -> None:
        """`version`: of the terse format; `shared`: options of all jobs; `output`: a file in place of stdout."""
        self._forms = forms
        self._version = version
        self._shared = shared
        self._output = output or sys.stdout
        self._began = time.monotonic()

    def begin(self) -> None:
        """The jobs begin: their time counts from now, without that of laying out files."""
        self._began = time.monotonic()

    def write(self, text: str) -> None:
        """Write text that is no report."""
        self._output.write(text)
        self._output.flush()

    def show(self, results: JobResults) -> None:
        """Print the results of all jobs, whether they have ended or not."""
        shown = results_of(results)
        for form in self._forms:
            if form == "normal":
                text = fio_print.normal(shown, results[-1].group + 1)
            elif form == "terse":
                text = fio_print.terse(shown, self._version)
            else:
                elapsed_s = time.monotonic() - self._began
                text = fio_print.document(shown, self._shared, elapsed_s, plus=form == "json+")
            self._output.write(text)
        self._output.flush()


def results_of(results: JobResults) -> list[JobResult]:
    """Results as they are printed: of each process, or of a group."""
    found: list[JobResult] = []
    for result in results:
        work, job = result.work, result.work.job
        if not (job.is_on("group_reporting") and found and found[-1].group == result.group):
            found.append(
                JobResult(
                    job.name,
                    result.group,
                    result.pid,
                    depth=job.number("iodepth", 1),
                    level=work.workload.depth,
                    options=dict(job.given),
                    wanted=_percentiles(job),
                    percentiles_of=_kinds_of_percentiles(job),
                    description=job.text("description"),
                    unified=UNIFIED[job.text("unified_rw_reporting", "none")],
                    kinds=_kinds(job),
                    is_grouped=work.does in ("transfers", "processor"),
                    is_submitted=job.text("ioengine") != "null" or job.number("iodepth", 1) > 1,
                )
            )
        one = found[-1]
        one.jobs += 1
        if result.errno and not one.error:
            one.error, one.error_text = result.errno, os.strerror(result.errno)
        one.process_ms += result.process_ms
        one.major_faults += result.major_faults
        one.minor_faults += result.minor_faults
        # What was read back is the reading of a job that writes.
        records, sample_ms = [*result.records, *result.verified], job.number("bwavgtime", 500)
        # As fio, which does not count the sync of end_fsync.
        syncs = any(job.number(key, 0) for key in ("fsync", "fdatasync"))
        one.add_process(records, sample_ms, counts_syncs=syncs)
    return found


def _percentiles(job: FioJob) -> tuple[float, ...]:
    """The wanted percentiles, ascending. Raises Refused."""
    try:
        found = sorted(float(part) for part in job.text("percentile_list").split(":") if part)
    except ValueError:
        found = [-1.0]
    if not all(0 < percent <= 100 for percent in found) or len(found) > MOST_PERCENTILES:
        raise job.refuse("percentile_list", expected="up to 20 numbers above 0, at most 100, such as 50:99.9")
    return tuple(found) or PERCENTILES


def _kinds(job: FioJob) -> tuple[str, ...]:
    """Latencies that are printed: those that are not off."""
    if job.text("ioengine") in FILE_CALLS:
        return ("clat",)
    if job.is_on("gtod_reduce"):
        return ()
    off = {"slat": "disable_slat", "clat": "disable_clat", "lat": "disable_lat"}
    return tuple(kind for kind in KINDS if not job.is_on(off[kind]))


def _kinds_of_percentiles(job: FioJob) -> tuple[str, ...]:
    """Latencies of which percentiles are printed: clat, unless it is off; slat and lat, when they are on."""
    wanted = {
        "slat": job.is_on("slat_percentiles"),
        "clat": job.is_on("clat_percentiles", True),
        "lat": job.is_on("lat_percentiles"),
    }
    return tuple(kind for kind in _kinds(job) if wanted[kind])


def interval_of(text: str | None) -> float | None:
    """The seconds of `--status-interval`, None without it. Raises Refused."""
    if text is None:
        return None
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*([a-z]*)", text.strip().lower())
    seconds = float(found[1]) * _UNITS_S.get(found[2], 0.0) if found else 0.0
    if seconds < 1e-3:
        where = f"fio: --status-interval={text}"
        raise ToolRefusal("fio", where, expected="a time of 1ms at least", code="wrong-value", fault="value")
    if seconds > _INTERVAL_MAX_S:
        raise Refused(
            f"fio: --status-interval={text}", expected=f"{_INTERVAL_MAX_S:,} s at most", code="out-of-range"
        )
    return seconds
