"""What this machine and the engine cannot do of fio's jobs: refused before anything is printed as fio.

Scope: the number of processes, by what they need of this machine; and each file's workload, by the engine's own check.
What it refuses: nothing that depends on the files themselves, such as the sector of a device: there fio fails as well.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from mileage import _core
from mileage.dropin.fio_jobs import FioJob
from mileage.dropin.fio_plan import JobWork
from mileage.dropin.tool_statuses import ToolRefusal
from mileage.errors import Refused
from mileage.plan.fio_work import FioOptions, FioWorkload
from mileage.plan.workload import Stop

JOBS_MAX: Final = 4096
"""Most processes and threads of all jobs, as in fio (FIO_MAX_JOBS)."""
_FEW: Final = 32
"""Processes for which nothing is looked up."""
_PROCESS_BYTES: Final = 4 << 20
"""Memory that a process has of its own."""
_OWN_DESCRIPTORS: Final = 32


def check_processes(jobs: Sequence[FioJob]) -> None:
    """Refuse more processes than this machine can have. Raises Refused."""
    total = 0
    for job in jobs:
        total += max(job.number("numjobs", 1), 1)
        if total > _FEW:
            most, reason = min(_limits())
            if total > most:
                raise Refused(
                    f"fio: [{job.name}] numjobs={job.text('numjobs', '1')}",
                    found=f"{total:,} processes in all",
                    expected=f"at most {most:,}: {reason}",
                    code="out-of-range",
                )


def _limits() -> Iterator[tuple[int, str]]:
    """How many processes there can be, and by what."""
    from mileage.targets.filesystem import available_memory_bytes
    from mileage.targets.kernel_text import read_word

    yield JOBS_MAX, "fio has no more"
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files != resource.RLIM_INFINITY:
        yield max(files - _OWN_DESCRIPTORS, 1), f"the limit of open files is {files:,} (ulimit -n)"
    processes, _ = resource.getrlimit(resource.RLIMIT_NPROC)
    if processes != resource.RLIM_INFINITY and os.geteuid() != 0:
        yield max(processes, 1), f"the limit of processes is {processes:,} (ulimit -u)"
    for name in ("pid_max", "threads-max"):
        if (word := read_word(Path("/proc/sys/kernel") / name)) and word.isdigit():
            yield int(word), f"kernel.{name} is {int(word):,}"
    if available := available_memory_bytes():
        yield max(available // _PROCESS_BYTES, 1), f"{available >> 20:,} MiB of memory are available"


def check_engine(works: Sequence[Sequence[JobWork]]) -> None:
    """Refuse what the engine would refuse once the job has begun. Raises Refused."""
    for copies in works:
        # The copies of a job differ in their files and seeds only.
        work = copies[0]
        last = (os.cpu_count() or 1) - 1
        if any(number > last for copy in copies for number in copy.processors):
            where = f"fio: [{work.job.name}] cpus_allowed={work.job.text('cpus_allowed')}"
            raise ToolRefusal("fio", where, expected=f"processors 0 to {last}", code="out-of-range")
        if work.does != "transfers":
            continue
        record = work.workload.record_bytes
        for file in work.files:
            stop = Stop(bytes=max(file.amount // record, 1) * record) if file.amount else Stop(operations=1)
            options = work.options
            if work.drops_cache:
                options = msgspec.structs.replace(options, drop_cache_every_bytes=file.span)
            if problem := _problem(work.on_file(file, stop), options):
                raise Refused(f"fio: [{work.job.name}]", problem, code="not-built")


def _problem(workload: FioWorkload, options: FioOptions) -> str | None:
    try:
        return _core.check_workload(workload.to_json(), options.to_json())
    except (ValueError, OverflowError):
        # A number that no field of the engine can hold.
        return "its bytes, operations or times are too many; expected less than 2^63 of each"
