"""fio's logs of rates and latencies, from the series of the engine.

Scope: a line for each interval and direction: milliseconds, value, direction, block size and priority. Intervals are
those of `log_avg_msec`, at least 10 ms; without it 10 ms, where fio writes every operation. Latencies are means of an
interval and only written for jobs of one direction. They are whole: the log of submission latencies is empty, and that
of completion has what the log of whole latencies has.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from mileage.dropin.fio_plan import JobResults, JobWork
from mileage.dropin.fio_trims import trims_of
from mileage.targets.door import check_result, write_result

LOGS: Final = {"write_bw_log": ("bw",), "write_iops_log": ("iops",), "write_lat_log": ("lat", "slat", "clat")}

LOG: Final = "fio-log"
"""Kind of a result: rates or latencies of a job by intervals."""


def notes_of_logs(work: JobWork) -> list[str]:
    """What the logs of a job lack, for the user."""
    if trims_of(work.job) and any(option in work.job.options for option in LOGS):
        return [f"{option}: trims are not in it" for option in LOGS if option in work.job.options]
    if "write_lat_log" in work.job.options and 0 < work.reads < 100:
        what = "empty for a job that reads and writes: intervals have both latencies together"
        return [f"write_lat_log: {what}"]
    return []


def paths_of_logs(work: JobWork, number: int = 1) -> dict[str, str]:
    """The logs that a job asks for, each with what it logs; `number`: of the process among all, from 1 on."""
    job = work.job
    found: dict[str, str] = {}
    for option, kinds in LOGS.items():
        if option in job.options:
            name = job.text(option) if job.text(option) not in ("", "1") else job.name
            ending = "log" if job.text("per_job_logs", "1") == "0" else f"{number}.log"
            found |= {f"{name}_{kind}.{ending}": kind for kind in kinds}
    return found


def check_logs(works: Sequence[JobWork]) -> None:
    """Refuse places of logs that must not be replaced. Raises Refused."""
    for work in works:
        for path in paths_of_logs(work):
            check_result("fio", path, LOG)


def write_logs(results: JobResults) -> None:
    """Write the logs that the jobs ask for. Raises Refused and RunFailed."""
    # With per_job_logs=0 the processes of a job have one log together.
    logs: dict[str, list[str]] = {}
    for number, result in enumerate(results, 1):
        for path, kind in paths_of_logs(result.work, number).items():
            logs.setdefault(path, [])
            for record in result.records:
                logs[path].extend(_lines(kind, result.work, record))
    for path, lines in logs.items():
        write_result("fio", path, LOG, "".join(lines))


def _lines(kind: str, work: JobWork, record: dict[str, Any]) -> Iterator[str]:
    if "series" not in record or kind == "slat":
        return
    series = record["series"]
    interval_ms = series["interval_ns"] / 1e6
    step = max(round(work.job.number("log_avg_msec", 0) / interval_ms), 1)
    size = work.workload.record_bytes
    # A mean over an interval has no size of its own: fio writes 0.
    shown = 0 if work.job.number("log_avg_msec", 0) else size
    offset = "0, " if work.job.is_on("log_offset") else ""
    for direction, moved in enumerate((series["bytes_read"], series["bytes_written"])):
        if not any(moved) or (kind.endswith("lat") and 0 < work.reads < 100):
            continue
        for at in range(0, len(moved), step):
            end_ms = min((at + step) * interval_ms, record["elapsed_ns"] / 1e6)
            seconds = max(end_ms - at * interval_ms, 1e-3) / 1e3
            total = sum(moved[at : at + step])
            count = sum(series["ops"][at : at + step])
            value = total / seconds / 1024
            if kind == "iops":
                value = total / size / seconds
            elif kind.endswith("lat"):
                value = sum(series["latency_sum_ns"][at : at + step]) / count if count else 0
            if total:
                yield f"{end_ms:.0f}, {value:.0f}, {direction}, {shown}, {offset}0\n"
