"""What of a fio job a modelled host does in its own way: its calls, and its tasks.

Scope: there the system calls of an engine that waits cost the same, and those of one that does not wait (`libaio`,
`io_uring`) are several of them in flight, which the depth says; processes of fio are threads of the simulation.
What it refuses: `mmap`, which the host does not model, and a file for each job, since there is one work file.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final, Protocol

from mileage.errors import Refused

NO_EFFECT_ON_HOST: Final = MappingProxyType({"api": None, "processes": None, "files": None})
"""Keys of a study that mean nothing on a modelled host, without their values."""


class FioJob(Protocol):
    """A job of a file."""

    def text(self, key: str, default: str = "") -> str:
        """The value of an option of the job, or the default."""

    def has(self, key: str) -> bool:
        """Whether the job has an option."""

    def refuse(self, key: str, why: str = "", *, expected: str = "", advice: str = "", code: str) -> Refused:
        """A refusal of one option, with its line and value."""


def check_host_job(job: FioJob, threads: int) -> None:
    """Raises Refused for a job that a modelled host does not do."""
    if job.text("ioengine") == "mmap":
        raise job.refuse(
            "ioengine", "a modelled host has no mmap", advice="choose psync or libaio", code="unsupported"
        )
    if threads > 1 and not job.has("filename"):
        raise job.refuse(
            "numjobs",
            "gives each job a file of its own, and a modelled host has one work file",
            advice="add filename=NAME: then the jobs share it",
            code="unsupported",
        )
