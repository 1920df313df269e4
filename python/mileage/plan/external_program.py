"""A program of the user's as a workload: it is run in the target's directory, and its time is measured.

What it refuses: records, threads, ends and metrics, which a program does not know.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import ClassVar, Self

import msgspec

from mileage.errors import Refusal
from mileage.plan.file_job import Job, JobOptions, JobRequest, Programs
from mileage.plan.study import Measure, listed


class ProgramValue(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The programs of a job, each with its arguments."""

    command: tuple[str, ...]
    before: tuple[str, ...] | None
    cleanup: tuple[str, ...] | None
    timeout_ns: int
    seed: int = 0


class Program(Job, tag="command", frozen=True):
    """A program with its arguments, run without a shell, and those that prepare it and clean up, which are not timed.

    What it reads and writes is not known beforehand.
    """

    value: ProgramValue
    keys: ClassVar = ("timeout",)
    noun: ClassVar = "programs"
    stop_advice: ClassVar = "has no effect on {name}, a program; leave it out"

    @classmethod
    def of(cls, asked: JobRequest) -> Self:
        assert asked.programs is not None
        return cls.running(asked.programs, asked.timeout_ns)

    @classmethod
    def running(cls, programs: Programs, timeout_ns: int = 0) -> Self:
        """The job that runs these programs; `timeout_ns` in nanoseconds, 0 for none."""
        value = ProgramValue(programs.command, programs.before, programs.cleanup, timeout_ns)
        return cls(value, JobOptions(), (), bytes=0)

    @classmethod
    def refusals(cls, name: str, table: Measure) -> Iterator[Refusal]:
        yield from super().refusals(name, table)
        for key, given in (("record", table.record is not None), ("threads", listed(table.threads) != (1,))):
            if given:
                yield Refusal(key, text=f"{cls.stop_advice.format(name=name)}", code="no-effect")
        if table.metric not in (None, "time", ("time",)):
            yield Refusal(
                "metric", text=f"{name} is a program", expected='metric = "time"', code="unknown-word"
            )

    @property
    def argvs(self) -> list[tuple[str, ...]]:
        """Every program that it runs, with its arguments, in order."""
        return [argv for argv in (self.value.before, self.value.command, self.value.cleanup) if argv]

    def words(self) -> list[str]:
        return [shlex.join(self.value.command)]
