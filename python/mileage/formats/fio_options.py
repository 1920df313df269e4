"""Derive label, settings and queue depth of a run from the options of its fio job.

Scope: options under their main names and aliases, global ones below the job's own. The label is what was
done, at which size, depth and number of jobs; the name of the job only where nothing else is known.
An option that is not there is left to what fio's figures show.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from mileage.errors import Refused
from mileage.formats.number_parser import fio_size, whole
from mileage.formats.result import Kind, ToolRun
from mileage.model.cell_key import CellKey
from mileage.plan.sizes import record_words

_ALIASES: Final = {"readwrite": "rw", "blocksize": "bs", "name": "", "iodepth": "iodepth"}
_SEQUENTIAL: Final = ("read", "write", "rw", "readwrite", "trim", "trimwrite")
_SYNCHRONOUS: Final = ("psync", "sync", "vsync", "pvsync", "pvsync2", "mmap", "sg")
_OTHER_WORK: Final = frozenset(
    (
        *("rate", "rate_iops", "rate_min", "rate_process", "thinktime", "random_distribution", "zonemode"),
        *("zonesize", "zonerange", "percentage_random", "offset_increment", "rw_sequencer", "read_iolog"),
        *("latency_target", "flow", "trim_percentage"),
    )
)
"""Options by which a job does something else than its pattern, size, depth and number of jobs state."""
_NO_SETTINGS: Final = frozenset(
    (
        *("name", "description", "rw", "bs", "numjobs", "iodepth", "group_reporting", "new_group"),
        *("stonewall", "wait_for", "unlink", "unified_rw_reporting", "percentile_list", "lat_percentiles"),
        *("clat_percentiles", "slat_percentiles", "significant_figures", "log_avg_msec", "log_hist_msec"),
        *("log_hist_coarseness", "log_max_value", "log_offset", "log_prio", "log_compression"),
        *("log_store_compressed", "log_unix_epoch", "per_job_logs", "write_hist_log", "bwavgtime"),
        "iopsavgtime",
    )
)
"""Options that are no settings of the run: they stand in its label, or steer what fio prints and in which order."""


class FioOptions(msgspec.Struct, frozen=True):
    """The options of one job, by main name."""

    values: dict[str, str]

    @classmethod
    def of(cls, shared: Mapping[str, Any], own: Mapping[str, Any]) -> FioOptions:
        """The options that apply to a job: those of the [global] section (`shared`), replaced by its own."""
        values = {}
        for options in (shared, own):
            for name, value in options.items():
                main = _ALIASES.get(name, name)
                if main and isinstance(value, str | int | float):
                    values[main] = str(value)[:200]
        return cls(values)

    @property
    def key(self) -> str:
        """A text that is equal for jobs with equal options."""
        return repr(sorted(self.values.items()))

    @property
    def pattern(self) -> str:
        """Access pattern, such as "randread"; empty where it is unknown."""
        return self.values.get("rw", "").partition(":")[0]

    @property
    def is_durable(self) -> bool:
        """Whether writes are durable when they complete: the file is open with O_SYNC or O_DSYNC."""
        return self.values.get("sync", "none") not in ("none", "0")

    @property
    def verifies(self) -> bool:
        """Whether written data is read back and compared."""
        return self.values.get("verify", "0") not in ("0", "null")

    @property
    def jobs(self) -> int:
        """numjobs, 1 unless it is said."""
        return max(1, whole(self.values.get("numjobs", "1")) or 1)

    @property
    def block_bytes(self) -> int | None:
        """The one block size; None where there are several or none is said."""
        if "bssplit" in self.values or "bsrange" in self.values:
            return None
        sizes = {fio_size(part, self._kb_base) for part in self.values.get("bs", "4k").split(",") if part}
        return sizes.pop() if len(sizes) == 1 else None

    @property
    def _kb_base(self) -> int:
        return 1000 if self.values.get("kb_base") == "1000" else 1024

    @property
    def waits(self) -> bool:
        """Whether the I/O engine is synchronous."""
        return self.values.get("ioengine", "psync") in _SYNCHRONOUS

    def outstanding(self, workers: int) -> int | None:
        """Operations that can be outstanding: the depth of each job, 1 with an engine that waits for each."""
        if self.waits:
            return workers
        depth = whole(self.values.get("iodepth", "1"))
        return None if not depth else workers * depth

    def kind(self, active: list[str]) -> Kind:
        """Sequential work is known by its rate in bytes, other by its operations."""
        pattern = self.pattern
        if not pattern:
            return "iops"
        return "throughput" if pattern in _SEQUENTIAL and active else "iops"

    def label(
        self, name: str, active: list[str], ops: Mapping[str, int | None], workers: int, host: str
    ) -> str:
        """The label that distinguishes this run: "fio.randread 4 KiB, depth 32, 4 jobs"."""
        pattern = self.pattern
        if not self.values and name:
            words = [f"fio.{name}"]
        else:
            block = self.block_bytes
            size = self.values.get("bssplit") or self.values.get("bsrange") or self.values.get("bs", "")
            words = [f"fio.{pattern or 'read'} {record_words(block) if block else size}".rstrip()]
        if "read" in active and "write" in active:
            mix = self.values.get("rwmixread") or self._reads_of_writes()
            words.append(f"{mix or _share_of_reads(ops)} % reads")
        depth = self.values.get("iodepth", "1")
        words += [f"depth {depth}"] if depth != "1" else []
        words += [f"{workers} jobs"] if workers > 1 else []
        words += [f"rate {self.values['rate_iops']}/s"] if "rate_iops" in self.values else []
        words += [f"rate {self.values['rate']}"] if "rate" in self.values else []
        words += [f"host {host}"] if host else []
        return ", ".join(words)

    def cell_key(self, workers: int) -> CellKey:
        """Key of the cell in terms that all tools share.

        It omits the number of threads where an option gives threads another meaning.
        """
        values, pattern = self.values, self.pattern
        name = f"fio.{pattern}"
        mix = values.get("rwmixread") or self._reads_of_writes() or "50"
        verb = {"read": "read", "write": "write", "rw": mix, "readwrite": mix}.get(
            pattern.removeprefix("rand")
        )
        depth = 1 if self.waits else whole(values.get("iodepth", "1"))
        if verb is None or self.block_bytes is None or self.verifies or ":" in values.get("rw", ""):
            return CellKey(name if pattern else "")
        if not _OTHER_WORK.isdisjoint(values):
            return CellKey(name)
        # Without a random map, or with a time limit, some blocks are visited twice before others are visited once.
        again = any(values.get(option, "0") != "0" for option in ("norandommap", "time_based"))
        order = "sequential" if pattern in _SEQUENTIAL else "random" if again else "shuffled"
        return CellKey(
            name, record_bytes=self.block_bytes, threads=workers, depth=depth, work=f"{order}_{verb}"
        )

    def _reads_of_writes(self) -> str | None:
        writes = whole(self.values.get("rwmixwrite", ""))
        return None if writes is None or writes > 100 else str(100 - writes)

    def levels(self, name: str, workers: int, host: str) -> dict[str, str]:
        """Settings in the file: every option but those that are no setting of the run."""
        found = {name: value for name, value in self.values.items() if name not in _NO_SETTINGS}
        if ":" in self.values.get("rw", ""):
            found["rw"] = self.values["rw"]
        found["jobs"] = str(workers)
        if self.values:
            found["iodepth"] = self.values.get("iodepth", "1")
        found |= {"job": name} if name else {}
        return found | ({"host": host} if host else {})


def _share_of_reads(ops: Mapping[str, int | None]) -> int:
    """The measured share of reads in steps of 5 %, as it varies a little from run to run."""
    reads, writes = ops["read"] or 0, ops["write"] or 0
    share = 5 * round(20 * reads / max(1, reads + writes))
    return min(99, max(1, share))


# What the readers of fio's JSON, its normal output and its terse output have in common.
# Scope: fio 3 only; the percentiles that are kept; when reads and writes are of one mix; the notes of a run.

ALL_CLIENTS: Final = "All clients"
"""What fio calls the sum of the jobs of several clients."""
QUANTILES: Final = {50.0: "p50", 90.0: "p90", 99.0: "p99", 99.9: "p99_9"}
"""Percentiles that are kept, and their names."""
READS: Final = ("read", "randread")
"""Patterns without writes."""
WRITES: Final = ("write", "randwrite")
"""Patterns whose reads are those of `verify`, after the writes or between them."""
_BUCKETS: Final = 64
"""Buckets of fio's histograms in each octave."""
_UNEQUAL_MIN: Final = 1.05
_UNEQUAL_MS: Final = 100
"""Difference of the run times of reads and writes that no mix has."""


def version_3(where: str, version: str) -> str:
    """The version of "fio-3.33" or "3.33". Raises Refused for one before 3, whose units differ under equal names."""
    number = version.removeprefix("fio-")
    if number.startswith(("0.", "1.", "2.")):
        raise Refused(where, f"fio-{number[:40]}", expected="fio 3, whose units are read", code="unsupported")
    return number


def note_concurrent(run: ToolRun, name: str, others: list[str]) -> None:
    """Record the other jobs of a run's group, which ran at the same time."""
    if others:
        run.levels["concurrent"] = ", ".join(others)
        run.notes.append(f"{name} is in one group with {', '.join(others)}: they may have run side by side")


def note_reports(run: ToolRun, reports: int) -> None:
    """Record that a run is the last of several status reports."""
    if reports > 1:
        run.notes.append(
            f"the file has {reports} status reports of one run (--status-interval); the last is used, as each "
            "holds the totals so far"
        )


def note_unjoined(run: ToolRun, jobs: int) -> None:
    """Record that the percentiles of several jobs side by side are none of the run."""
    run.notes.append(f"percentiles of {jobs} jobs cannot be joined; group_reporting or JSON+ keeps them")


def judge_syncs(run: ToolRun, quantiles_ns: Mapping[str, float], count: int | None) -> None:
    """Keep the quantiles of the syncs of one job that `count` syncs support; None: fio does not state it.

    The buckets behind fio's percentiles divide each octave by 64 (`FIO_IO_U_PLAT_BITS`), and a percentile is the middle
    of one.
    """
    if run.keep_quantiles("sync", quantiles_ns, count):
        done = "an unknown number of times" if count is None else f"{count:,} times"
        run.notes.append(
            f"{run.cell} synced {done}: its syncs are judged, and not the writes before them; fio's percentiles are "
            f"the middles of buckets that are up to {100 / _BUCKETS:.1f} % wide"
        )


def leave_verification(run: ToolRun, ops: int | None) -> None:
    """Record reads that `verify` did in a job that writes: they are no part of its work, and took time of their own."""
    run.bytes_read = run.ops_read = None
    run.counters["verified_ops"] = ops or 0
    run.notes.append(f"{run.cell}: the reads of verify are in no figure but the printed ones")


def drop_unmixed(run: ToolRun, read_ms: float, write_ms: float) -> None:
    """Drop the rates of reads and writes together, of a job whose pattern is not known, where they were no mix.

    Reads and writes of one mix take equal times; those of `verify` come after the writes.
    """
    least_ms, most_ms = sorted((read_ms, write_ms))
    if most_ms > max(_UNEQUAL_MIN * least_ms, least_ms + _UNEQUAL_MS):
        run.rate_bytes_per_s = run.ops_per_s = run.elapsed_s = None
        times = f"reads took {read_ms / 1000:g} s and writes {write_ms / 1000:g} s"
        run.notes.append(f"{run.cell}: {times}, so they are no mix, and have no rate together")
    else:
        run.notes.append(
            f"{run.cell}: reads and writes are taken for one mix; the file does not state the pattern"
        )
