"""Work on files that is more than one run of a workload, as the value that the core takes.

Scope: what every family of such work has: its bytes, its seed, how it is described. A family is one class in a
file of its own (`iozone_suite`, `name_operations`, `program`, `task_jobs`) and one row of `action.FileJob`; what
performs it is one row of `mileage.execute.run`.
What it refuses: keys of a table that a family has no use for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar, Final, Literal, NamedTuple, Self

import msgspec
from msgspec import UNSET, UnsetType

from mileage.errors import Refusal
from mileage.model.target_kind import Capabilities
from mileage.plan import sizes
from mileage.plan.io_options import CONTENT_OF_A_HOST, HOW_KEYS, MEMORY_OF_A_HOST, IoOptions, unused_refusals
from mileage.plan.iozone_switches import IozoneSwitches
from mileage.plan.page_cache_state import Caching, read_cache
from mileage.plan.study import Measure, StopRule

ASSUMED_RATE_BYTES_PER_S: Final = 150_000_000
SIMULATED_PAGES_PER_S: Final = 6_000_000
"""Pages of 4 KiB that a simulated drive or host takes per second of the user's time."""
SIMULATED_CALLS_PER_S: Final = 300_000
"""Calls on names of files that a modelled host makes per second of the user's time (metarates of a million files)."""
PAGE_BYTES: Final = 4096
ASSUMED_OPS_PER_S: Final = 5_000
FILES: Final = 10_000
"""Files of a metadata operation unless a stop rule says how many."""


class Programs(NamedTuple):
    """A workload that is a program: each with its arguments, run without a shell."""

    command: tuple[str, ...]
    """The measured program with its arguments."""
    before: tuple[str, ...] | None = None
    """Program that prepares each run; its time does not count."""
    cleanup: tuple[str, ...] | None = None
    """Program that cleans up after each run; its time does not count."""


class JobRequest(NamedTuple):
    """Settings of a cell that a family of work on files converts to a job."""

    test: str
    """The test that the cell measures, without the family's name: "read"."""
    tests: tuple[str, ...]
    """Every test of the family that the cell's table lists; one run of a set gives the figures of them all."""
    record_bytes: int
    """0 where neither the table nor the workload has a record."""
    file_bytes: int
    """Size of the work area."""
    threads: int
    stop: StopRule
    how: IoOptions
    cache: str
    """The study's cache, where `how` has none."""
    fidelity: bool = False
    switches: IozoneSwitches | None = None
    programs: Programs | None = None

    @property
    def timeout_ns(self) -> int:
        """Time-out in nanoseconds; 0 for none."""
        return 0 if self.how.timeout is None else sizes.parse_time_ns(self.how.timeout)


class JobOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Options of work on files, apart from its value; each family reads the options that it knows."""

    pin_cpus: tuple[int, ...] | UnsetType = UNSET
    timeout_ns: int | UnsetType = UNSET
    name: str | UnsetType | None = UNSET
    """Name of the file in the target's directory; None for one of Mileage's own."""
    files: tuple[str, ...] | UnsetType = UNSET
    """Names of the children's files."""
    processes: bool | UnsetType = UNSET
    """Children are processes, not threads."""


class Job(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="family"):
    """Work on files for the core, as it takes it. What a family is, its class attributes state."""

    value: msgspec.Struct
    """The job in the form of the core's JSON; each family has a type of its own."""
    options: JobOptions
    names: tuple[str, ...]
    """For a set of tests, the names of the reported ones: "iozone.read"."""
    bytes: int
    """Bytes that it moves, as far as that is known beforehand."""
    bytes_read: int = 0
    """Bytes of these that are known to be read."""
    operations: int = 0
    """Names and inodes that it works on."""
    occupies: int = 0
    """Bytes that its own files take while it runs."""
    writes: bool = True
    """Whether it changes the content of its target."""
    limit_bytes: int = 0
    """Memory within which it is done; 0 for all that there is."""

    @property
    def names_its_files(self) -> bool:
        """Whether all its files have names of the user's, so that it needs none of the target's."""
        return False

    @property
    def privileged_steps(self) -> tuple[str, ...]:
        """What it does that needs root, in words."""
        return ()

    tests: ClassVar[dict[str, str]] = {}
    """Its named workloads, without its own name, and what each does."""
    tool: ClassVar[str] = ""
    """Tool whose tests the family runs, such as "IOR"; empty where there is no such tool."""
    kind: ClassVar[Literal["throughput", "iops"]] = "iops"
    """Relevance margin by which the rates are judged."""
    records: ClassVar[dict[str, str]] = {}
    """Tests with a record of their own, where a study gives none."""
    how: ClassVar[IoOptions] = IoOptions()
    """Keys that its tests set, where a study gives none."""
    alone: ClassVar[tuple[str, ...]] = ()
    """Tests that are done by their own names only."""
    noun: ClassVar[str] = ""
    """Its tests, as messages call them."""
    keys: ClassVar[tuple[str, ...]] = ()
    """The keys that it knows, apart from workload, record, threads and stop."""
    stops: ClassVar[tuple[str, ...]] = ()
    """The keys of a stop rule that it knows."""
    stop_advice: ClassVar[str] = ""
    """Advice on another stop rule; `{name}` is the workload."""
    can_read_cold: ClassVar[bool] = False
    """Whether its reads can begin with nothing of the file in the page cache."""
    keeps_cache: ClassVar[str] = ""
    """Reason why the page cache cannot be brought into a state before the run.

    Empty where a refusal needs no reason.
    """
    has_record: ClassVar[bool] = False
    """Whether a record size is required."""
    has_size: ClassVar[bool] = False
    """Whether the job visits the work area, so that the record must divide its size."""
    size_advice: ClassVar[str] = "--record says how large each file is, --operations how many there are"
    """Options that define the amount of work in place of the size of the work area."""
    is_set: ClassVar[bool] = False
    """Whether one run gives the figures of all its tests in a table."""

    @classmethod
    def word(cls) -> str:
        """The first part of its workloads' names, and its tag in a plan: "iozone"."""
        return str(cls.__struct_config__.tag)

    @classmethod
    def of(cls, asked: JobRequest) -> Self:
        """The job that is asked for. Raises ValueError, whose arguments are the key and what is wrong."""
        raise NotImplementedError

    @classmethod
    def refusals(cls, name: str, table: Measure) -> Iterator[Refusal]:
        """Every key of a table that the family cannot honour; `name` is its first workload there."""
        for key in ("fidelity", "iozone"):
            if getattr(table, key):
                yield Refusal(
                    key,
                    text=f"has no effect on {name}",
                    advice="only IOzone's tests know it",
                    code="no-effect",
                )
        yield from cls._stop_refusals(name, table.stop)

    @classmethod
    def _stop_refusals(cls, name: str, stop: StopRule | None) -> Iterator[Refusal]:
        if stop is None:
            return
        given = [key for key in stop.__struct_fields__ if getattr(stop, key) is not None] or ["time"]
        for key in [key for key in given if key not in cls.stops][:1]:
            yield Refusal(f"stop.{key}", text=f"{cls.stop_advice.format(name=name)}", code="no-effect")

    @classmethod
    def without_effect(cls, how: IoOptions, cache: str) -> Iterator[Refusal]:
        """Every key of how I/O is done that the family has no use for."""
        for key in HOW_KEYS:
            if key not in cls.keys and getattr(how, key) is not None:
                known = ", ".join(cls.keys)
                yield Refusal(
                    key,
                    text=f"has no effect on {cls.noun}, which know {known}",
                    advice="remove it",
                    code="no-effect",
                )
        kept = ("dropped", "hot") if cls.can_read_cold else ("cold", "dropped", "hot")
        if cls.keeps_cache and read_cache(how.cache or cache).mode in kept:
            yield Refusal(
                "cache",
                text=f"{cls.keeps_cache}",
                expected=f"direct, warm{', cold' if cls.can_read_cold else ''} or limited:SIZE",
                code="unsupported",
            )
        if "sync" in cls.keys and "dsync" not in cls.keys and how.sync == "fdatasync":
            yield Refusal(
                "sync",
                found="fdatasync",
                advice="a new file is synced with fsync, or not at all",
                code="unsupported",
            )

    @classmethod
    def not_on_a_host(cls, how: IoOptions, host: Capabilities, cache: str) -> Iterator[Refusal]:
        """Every key that the family knows and a modelled host cannot honour; `cache` is the study's own."""
        yield from (fault for fault in unused_refusals(how, host) if fault.where in cls.keys)
        if how.verify not in (None, "off") and "verify" in cls.keys:
            yield CONTENT_OF_A_HOST
        mode = read_cache(how.cache or cache).mode
        if mode == "limited":
            yield MEMORY_OF_A_HOST
        elif mode in (
            ("cold",) if cls.can_read_cold else () if cls.keeps_cache else ("cold", "dropped", "hot")
        ):
            yield Refusal(
                "cache",
                text=f"{mode} has no effect on {cls.noun}, which make their files first",
                expected="direct or warm",
                code="no-effect",
            )

    def with_seed(self, seed: int) -> Self:
        """The same job with a run's seed."""
        return msgspec.structs.replace(self, value=msgspec.structs.replace(self.value, seed=seed))

    def scaled(self, factor: int) -> Self:
        """The same job with its number of files multiplied by the factor; itself where its files are not counted."""
        if not self.files:
            return self
        return msgspec.structs.replace(
            self, value=msgspec.structs.replace(self.value, files=self.files * factor)
        )

    @property
    def files(self) -> int:
        """Number of files that it works on; 0 where its files are not counted."""
        files = getattr(self.value, "files", None)
        return files if isinstance(files, int) else 0

    @property
    def new_files(self) -> int:
        """Files and directories of its own that exist at the same time, at most."""
        return self.files

    def allocated_bytes(self, block_bytes: int) -> int:
        """`occupies` where a file has whole blocks of `block_bytes`."""
        if not self.files:
            return self.occupies
        return self.files * -(-self.occupies // self.files // block_bytes) * block_bytes

    @property
    def seed(self) -> int:
        """The seed of its random choices."""
        return int(getattr(self.value, "seed", 0))

    @property
    def bytes_written(self) -> int:
        """Bytes that it writes, at most."""
        return self.bytes - self.bytes_read

    @property
    def caching(self) -> Caching:
        """State of the page cache during the run."""
        return Caching("limited", self.limit_bytes) if self.limit_bytes else Caching("warm")

    @property
    def workers(self) -> int:
        """Processes that do it together and may lie on several machines."""
        return 1

    def time_s(self, before: Sequence[float], *, virtual: bool) -> float:
        """The time that it takes at the assumed rates, in seconds; on a modelled host, the time to simulate it."""
        if virtual:
            return self.bytes / PAGE_BYTES / SIMULATED_PAGES_PER_S + self.operations / SIMULATED_CALLS_PER_S
        return self.bytes / ASSUMED_RATE_BYTES_PER_S + self.operations / ASSUMED_OPS_PER_S

    def words(self) -> list[str]:
        """Its sizes and how it is done, each in a few words."""
        raise NotImplementedError
