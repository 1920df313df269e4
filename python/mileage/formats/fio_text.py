"""fio's normal output of fio 3: what a person sees, one block of lines for each job or reporting group.

Scope: pattern, block size, engine and depth from the line that lists a job before it starts; operations from `issued
rwts`, which is exact, and bytes as operations times the block size where these agree with the rounded size. Rates are
then bytes and operations over the longest run time, else the rounded ones of each direction. Numbers with k, M, G are
powers of 1000; units of bytes are as they are printed. Of several reports of one call (`--status-interval`) the last
counts; see `last_reports`. Of clients the jobs of one name are one run together, as the results have no names of
hosts; what fio calls "All clients" is another.
What it refuses: fio 2, and a file without a result of a job. Lines of a job that cannot be read are reported.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Final

import msgspec

from mileage.formats.fio_options import (
    ALL_CLIENTS,
    QUANTILES,
    READS,
    WRITES,
    FioOptions,
    drop_unmixed,
    judge_syncs,
    leave_verification,
    note_concurrent,
    note_reports,
    note_unjoined,
    version_3,
)
from mileage.formats.input_file import Source
from mileage.formats.number_parser import TIMES_NS, number, whole
from mileage.formats.result import Result, ToolRun, Unread
from mileage.model.cell_key import CellKey

# The lines of one job in fio's normal output.
# Scope: a line is either understood as a whole, with every number under its name, or it is none of the job's. Sizes and
# times keep the precision with which fio prints them.

_FIGURE: Final = r"[0-9.]+[kKMGTP]?"
_SIZE: Final = r"[0-9.]+(?:[kKMGTP]i?)?B"
LISTED: Final = re.compile(
    r"(?P<name>\S.{0,200}?): \(g=(?P<group>[0-9]{1,9})\): rw=(?P<rw>[a-z]{1,20})[^,]{0,20}, "
    rf"bs=(?P<sizes>\([RWT]\) {_SIZE}-{_SIZE}(?:, \([RWT]\) {_SIZE}-{_SIZE}){{0,2}}), "
    r"ioengine=(?P<engine>[^,\s]{1,40}), iodepth=(?P<depth>[0-9]{1,9})"
)
"""A job before it starts."""
SIZES: Final = re.compile(rf"\(([RWT])\) ({_SIZE})-({_SIZE})")
VERSION: Final = re.compile(r"fio-(\S+)")
RESULT: Final = re.compile(
    r"(?P<name>\S.{0,200}?): \(groupid=(?P<group>[0-9]{1,9}), jobs=(?P<jobs>[0-9]{1,6})\): err=\s*(?P<error>[0-9]{1,9})"
    r"(?:\s*\([^)]*\))?: pid=(?P<pid>[0-9]{1,12})(?::\s*(?P<date>.{0,60}))?"
)
"""The beginning of a job's result."""
SECTORS: Final = re.compile(r"sectors=([0-9]{1,15})/([0-9]{1,15})")
DIRECTIONS: Final = ("read", "write", "trim")
"""In the order of `issued rwts`."""
_DIRECTION: Final = re.compile(
    # Of all clients fio prints neither B nor /s: "BW=3197Ki (3274k)".
    rf"\s+(?P<name>read|write|trim): IOPS=(?P<iops>{_FIGURE}), "
    rf"BW=(?:(?P<bw>{_SIZE})/s \({_SIZE}/s\)|(?P<bare>[0-9.]+[KMGTP]i) \([0-9.]+[kMGTP]\))"
    rf"\((?P<io>{_SIZE})/(?P<ms>[0-9]{{1,12}})msec\)(?:; [0-9]+ zone resets)?"
)
_LATENCY: Final = re.compile(
    rf"\s+(?P<kind>[sc]?lat|sync) \((?P<unit>[num]?sec)\): min=\s*(?P<min>{_FIGURE}), max=\s*(?P<max>{_FIGURE}), "
    rf"avg=\s*(?P<avg>{_FIGURE}), stdev=\s*{_FIGURE}"
)
_SYNCS: Final = re.compile(r"\s+fsync/fdatasync/sync_file_range:")
_PERCENTILES: Final = re.compile(r"\s+(?P<kind>[sc]?lat|sync) percentiles \((?P<unit>[num]?sec)\):")
_PERCENTILE_LINE: Final = re.compile(r"\s+\|(?:\s*[0-9.]+th=\[\s*[0-9]+\],?)+")
_PERCENTILE: Final = re.compile(r"([0-9.]+)th=\[\s*([0-9]+)\]")
_ISSUED: Final = re.compile(
    r"\s+issued rwts: total=([0-9]{1,18}),([0-9]{1,18}),([0-9]{1,18}),([0-9]{1,18}) "
    r"short=([0-9]{1,18}),[0-9,]+ dropped=[0-9,]+"
)
_OTHER: Final = re.compile(
    r"\s+(?P<name>bw \(\s*[kKMG]i?B/s\)|iops|lat \([num]sec\)|cpu|IO depths|submit|complete|latency|errors|sync)\s*:"
    r"(?:\s*(?:[0-9]+ \()?[A-Za-z0-9_>=.]+=\s*[0-9.]+[kKMG]?[%)]?,?)+\)?"
)
_PAIR: Final = re.compile(r"([A-Za-z0-9_>.]+=?)=\s*([0-9.]+)([kKMG]?)")
_DECIMAL: Final = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15}
_BINARY: Final = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40, "P": 1 << 50}


class RoundedFigure(msgspec.Struct, frozen=True):
    """A figure and what one of its last digit is worth."""

    value: float
    digit: float


class Part(msgspec.Struct):
    """What a job did in one direction."""

    iops: RoundedFigure
    bytes_per_s: RoundedFigure
    io_bytes: RoundedFigure
    runtime_ms: int
    means_ns: dict[str, float] = {}
    """Mean latency by kind: slat, clat, lat."""
    ends_ns: dict[str, tuple[float, float]] = {}
    """Least and largest latency by kind."""
    quantiles_ns: dict[str, dict[str, float]] = {}
    """Percentiles by kind."""


class JobLines:
    """The result of one job, line by line."""

    def __init__(self, line: int, found: re.Match[str]) -> None:
        """`found`: the match of RESULT in the first line, which is `line` of the file."""
        self.line = line
        self.name, self.group, self.jobs = found["name"], int(found["group"]), int(found["jobs"])
        self.error = int(found["error"])
        self.pid, self.date = int(found["pid"]), found["date"] or ""
        self.parts: dict[str, Part] = {}
        self.issued: tuple[int, ...] | None = None
        self.syncs: int | None = None
        """Calls of fsync or fdatasync; None where fio does not state their number."""
        self.printed: list[tuple[str, float]] = []
        self._direction = ""
        self._percentiles = ("", 0.0)

    def add(self, line: str) -> bool:
        """Take a line; whether it is one of a job."""
        if _PERCENTILE_LINE.fullmatch(line) and self._percentiles[0] and self._direction:
            return self._add_percentiles(line)
        self._percentiles = ("", 0.0)
        if found := _DIRECTION.fullmatch(line):
            return self._add_direction(found)
        if found := _ISSUED.fullmatch(line):
            self.issued = int(found[1]), int(found[2]), int(found[3])
            # fio counts its calls of fdatasync behind its table of four, which is where short reads are.
            self.syncs = int(found[4]) or (int(found[5]) if not self.issued[0] else 0) or None
            return True
        if found := _PERCENTILES.fullmatch(line):
            kind, part = found["kind"], self.parts.get(self._direction)
            if part is None or kind in part.quantiles_ns:
                return False
            self._percentiles = kind, TIMES_NS[found["unit"].removesuffix("ec")]
            part.quantiles_ns[kind] = {}
            return True
        if found := _LATENCY.fullmatch(line):
            return self._add_latency(found)
        if found := _OTHER.fullmatch(line):
            before = f"{self._direction}." if found["name"].startswith(("bw", "iops")) else ""
            self._print(before + " ".join(found["name"].split()), line)
            return True
        if _SYNCS.fullmatch(line):
            return True
        if not line.startswith("   "):
            # The line may begin a direction, and what follows is of none that is known.
            self._direction = ""
        return False

    def _add_direction(self, found: re.Match[str]) -> bool:
        figures = (_count(found["iops"]), sized(found["bw"] or found["bare"]), sized(found["io"]))
        if found["name"] in self.parts or None in figures:
            return False
        iops, rate, moved = figures
        assert iops is not None
        assert rate is not None
        assert moved is not None
        self._direction = found["name"]
        self.parts[self._direction] = Part(iops, rate, moved, int(found["ms"]))
        names = ("IOPS", "BW (bytes/s)", "io (bytes)", "runtime (msec)")
        values = (iops.value, rate.value, moved.value, float(found["ms"]))
        self.printed += [
            (f"{self._direction}.{name}", value) for name, value in zip(names, values, strict=True)
        ]
        return True

    def _add_latency(self, found: re.Match[str]) -> bool:
        part, unit_ns = self.parts.get(self._direction), TIMES_NS[found["unit"].removesuffix("ec")]
        low, high, mean = (_count(found[name]) for name in ("min", "max", "avg"))
        kind = found["kind"]
        if part is None or kind in part.means_ns or low is None or high is None or mean is None:
            return False
        part.means_ns[kind] = mean.value * unit_ns
        part.ends_ns[kind] = low.value * unit_ns, high.value * unit_ns
        self._print(f"{self._name(kind)} ({found['unit']})", found[0])
        return True

    def _add_percentiles(self, line: str) -> bool:
        kind, unit_ns = self._percentiles
        for share, text in _PERCENTILE.findall(line):
            percent, value = number(share), number(text)
            if percent is not None and value is not None:
                self.printed.append((f"{self._name(kind)} {share}th (ns)", value * unit_ns))
                if percent in QUANTILES:
                    kept = self.parts[self._direction].quantiles_ns[kind]
                    kept[QUANTILES[percent]] = value * unit_ns
        return True

    def _name(self, kind: str) -> str:
        """A kind of latency with its direction; a sync has none."""
        return kind if kind == "sync" else f"{self._direction}.{kind}"

    def _print(self, name: str, line: str) -> None:
        for key, text, letter in _PAIR.findall(line):
            if (value := number(text)) is not None:
                self.printed.append((f"{name}.{key}", value * _DECIMAL[letter]))


def _count(text: str) -> RoundedFigure | None:
    """A number with a letter for a power of 1000."""
    digits = text.rstrip("kKMGTP")
    return _rounded(digits, _DECIMAL[text[len(digits) :]])


def sized(text: str) -> RoundedFigure | None:
    """Bytes of "183MiB" or "96.0MB"."""
    digits = text.rstrip("BikKMGTP")
    unit = text[len(digits) :].removesuffix("B")
    scale = _BINARY.get(unit[:1].upper(), 0) if unit.endswith("i") else _DECIMAL.get(unit, 0)
    return _rounded(digits, scale) if scale else None


def _rounded(digits: str, scale: int) -> RoundedFigure | None:
    value = number(digits)
    if value is None:
        return None
    places = len(digits.partition(".")[2])
    return RoundedFigure(value * scale, scale / 10**places if scale > 1 or places else 0.0)


LAYOUT: Final = "fio-text"
_SECTOR_BYTES: Final = 512
_SUMMARY: Final = re.compile(
    r"Run status group [0-9]+ \(all jobs\):|\s+(?:READ|WRITE|TRIM): bw=.*|Disk stats \(.*\):|\.\.\.|Starting .*|"
    r"\s+\S+: ios=[0-9]+/.*|.*: Laying out IO files? .*|Jobs: [0-9].*"
)
"""Lines that repeat figures of the jobs, or have none."""
_CLIENT: Final = re.compile(r"hostname=(?P<host>[^,\s]+), be=[01], .*\bfio=fio-(?P<version>[^,\s]+).*")
"""A client that connects: what follows is of one call, and each client ends with its run status groups."""
_OF_CLIENT: Final = re.compile(r"<[^<>\s]{1,100}>(?: |\Z)")
"""The client that a line before the results is of."""


class _JobDefinition(msgspec.Struct, frozen=True):
    """A job as fio lists it before it starts."""

    line: int
    name: str
    group: int
    options: dict[str, str]
    cloned: bool = False
    """Whether `numjobs` multiplied it: "..." follows."""


def knows(source: Source) -> bool:
    """Whether the beginning of a file has this layout."""
    return any(
        RESULT.match(line) or LISTED.match(line)
        for line in source.text_head.replace("\r", "\n").split("\n")[:2000]
    )


def read(source: Source) -> Result:
    """Read all runs of a file. Raises Refused for fio 2, and for a file without a result."""
    result = Result(tool="fio", version=None, layout=LAYOUT, runs=[])
    listed: list[_JobDefinition] = []
    reports: list[Report] = []
    block: JobLines | None = None
    ended = False
    clients = 0
    for at, raw in enumerate(source.lines(), 1):
        # Status lines of the run end with a carriage return, and the next line of the output follows them.
        line = _OF_CLIENT.sub("", raw.rstrip("\r").rpartition("\r")[2], count=1)
        if found := LISTED.fullmatch(line):
            if reports:
                _close(result, listed, reports)
                listed, reports = [], []
            block = None
            listed.append(_listed(at, found))
        elif found := VERSION.fullmatch(line):
            result.version = result.version or version_3(f"{source.path}, line {at}", found[1])
        elif found := RESULT.fullmatch(line):
            block = JobLines(at, found)
            if not reports or (ended and not clients):
                reports.append(Report())
            ended = False
            # What fio prints of all clients has no run status groups.
            reports[-1].ended &= block.name == ALL_CLIENTS
            reports[-1].blocks.append(block)
            result.began = result.began or found["date"]
        elif "(groupid=" in line:
            block = None
            result.skip(at, line, "no line of fio that begins the result of a job")
        elif _SUMMARY.fullmatch(line):
            if line.startswith("Run status"):
                block, ended = None, True
                if reports:
                    reports[-1].ended = True
            elif line == "..." and listed:
                listed[-1] = msgspec.structs.replace(listed[-1], cloned=True)
            elif reports and line.endswith("%"):
                sectors = [int(count) for pair in SECTORS.findall(line) for count in pair]
                reports[-1].disk_bytes += [_SECTOR_BYTES * count for count in sectors]
        elif found := _CLIENT.fullmatch(line):
            clients += 1
            result.version = result.version or version_3(f"{source.path}, line {at}", found["version"])
            result.machine.setdefault("host", found["host"])
        elif line.strip() and (block is None or not block.add(line)):
            result.skip(at, line, "no line of fio's output that can stand here")
    if clients > 1 and reports:
        # fio adds up several clients when all of them are done.
        last = [block for block in reports[-1].blocks if block.name == ALL_CLIENTS]
        reports[-1].ended = any(block.issued is not None for block in last)
    _close(result, listed, reports)
    result.refuse_empty(source.path, "no result of a job of fio was understood", advice=_advice(result))
    return result


def _advice(result: Result) -> str:
    more = f"; line {result.unread[0].line} has {result.unread[0].text!r}" if result.unread else ""
    return f"was the run interrupted?{more}"


def _listed(at: int, found: re.Match[str]) -> _JobDefinition:
    """A job with the options that its line has; the block size where all directions that it does have one."""
    options = {"rw": found["rw"], "ioengine": found["engine"], "iodepth": found["depth"]}
    sizes = {sized(low) if low == high else None for low, high in _sizes(found["rw"], found["sizes"])}
    if len(sizes) == 1 and (size := sizes.pop()):
        options["bs"] = str(round(size.value))
    else:
        options["bsrange"] = found["sizes"]
    return _JobDefinition(at, found["name"], int(found["group"]), options)


def _sizes(pattern: str, text: str) -> list[tuple[str, str]]:
    """The least and the largest size of each direction that a pattern has."""
    letters = {"R": "read", "W": "write", "T": "trim"}
    found = SIZES.findall(text)
    mixed = pattern in ("rw", "randrw", "readwrite")
    return [
        (low, high) for letter, low, high in found if letters[letter] in pattern or (mixed and letter in "RW")
    ]


def _close(result: Result, listed: list[_JobDefinition], reports: list[Report]) -> None:
    """Make the runs of the calls of fio that follow a list of jobs, which is of the first of them."""
    cloned = {(job.name, job.group) for job in listed if job.cloned}
    for report in last_reports(reports):
        first = len(result.runs)
        if not report.ended:
            result.lost.append(
                f"the output with the result in line {report.blocks[0].line} is cut: jobs may be missing, and those "
                "that are not whole are not kept"
            )
            report.keep_whole(cloned)
        if report.blocks:
            _add(result, listed, report)
        if report.torn:
            result.lost.append(
                f"the status report that begins in line {report.torn} is damaged; the one before it is used"
            )
        for run in result.runs[first:]:
            note_reports(run, report.reports)
        listed = []


def _add(result: Result, listed: list[_JobDefinition], report: Report) -> None:
    """Make the runs of one call of fio: the jobs of one name and group are one run together."""
    call = listed[0].line if listed else report.blocks[0].line
    groups: dict[tuple[str, int], list[JobLines]] = {}
    for block in report.blocks:
        if block.parts:
            groups.setdefault((block.name, block.group), []).append(block)
        else:
            result.unread.append(
                Unread(block.line, block.name[:80], "a job without a direction, or what it did is lost")
            )
    for (name, group), same in groups.items():
        names = dict.fromkeys(job.name for job in listed if job.group == group)
        others = [other for other in names if (other, group) not in groups and name != ALL_CLIENTS]
        own = next((job.options for job in listed if (job.name, job.group) == (name, group)), {})
        if own.get("rw") in READS and any("write" in block.parts for block in same) and not others:
            others = ["at least one that is not listed"]
        run = _run(same, {} if others else own, others)
        run.call = call
        note_concurrent(
            run,
            name,
            [
                other
                for other, in_group in groups
                if in_group == group and other != name and ALL_CLIENTS not in (other, name)
            ],
        )
        result.runs.append(run)
        if name == ALL_CLIENTS:
            run.cell, run.key, run.outstanding = "fio.all clients", CellKey(), None
        if len(groups) == 1 and report.disk_bytes:
            result.runs[-1].device_bytes = sum(report.disk_bytes)


def _run(blocks: list[JobLines], values: dict[str, str], others: list[str]) -> ToolRun:
    """The run of blocks of one job."""
    first = blocks[0]
    options = FioOptions.of({}, values)
    workers = sum(block.jobs for block in blocks)
    done = {name: [block.parts[name] for block in blocks if name in block.parts] for name in DIRECTIONS}
    done = {name: parts for name, parts in done.items() if parts}
    verified = options.pattern in WRITES and "read" in done
    if verified:
        del done["read"]
    issued = {name: _issued(blocks, at) for at, name in enumerate(DIRECTIONS)}
    moved = {name: _moved(parts, issued[name], options.block_bytes) for name, parts in done.items()}
    label = options.label(first.name, list(done), issued, workers, "")
    run = ToolRun(
        cell=f"fio.group of {first.name} and others" if others else label,
        key=CellKey(f"fio.{options.pattern}" if options.pattern else ""),
        kind=options.kind(list(done)),
        title=f"job {first.name}",
        line=first.line,
        levels={"job": first.name} if others else options.levels(first.name, workers, ""),
        bytes_read=_exact(moved.get("read")),
        bytes_written=_exact(moved.get("write")),
        ops_read=issued["read"],
        ops_written=issued["write"],
        outstanding=options.outstanding(workers) if values else None,
    )
    _rates(run, done, moved, issued)
    _latencies(run, done, issued)
    _syncs(run, blocks)
    if verified:
        leave_verification(run, issued["read"])
    elif (
        not options.pattern and not others and {"read", "write"} <= done.keys() and first.name != ALL_CLIENTS
    ):
        drop_unmixed(run, *(max(part.runtime_ms for part in done[name]) for name in ("read", "write")))
    for at, block in enumerate(blocks, 1):
        run.printed += [(f"{at}.{name}" if len(blocks) > 1 else name, value) for name, value in block.printed]
    if failed := sorted({block.error for block in blocks if block.error}):
        run.error = f"fio ended with error {', '.join(map(str, failed))}"
    if others:
        run.notes.append(
            f"{run.cell}: group_reporting gives one figure for the jobs {first.name}, {', '.join(others)}"
        )
    return run


def _issued(blocks: list[JobLines], at: int) -> int | None:
    """Operations of all blocks in a direction; None where one does not state them."""
    counts = [None if block.issued is None else block.issued[at] for block in blocks]
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) and sum(known) < 2**63 else None


def _moved(parts: list[Part], ops: int | None, block_bytes: int | None) -> RoundedFigure:
    """Bytes of a direction. Operations times the block size replace fio's rounded size where they agree with it."""
    printed = sum(part.io_bytes.value for part in parts)
    digit = sum(part.io_bytes.digit for part in parts)
    if ops is not None and block_bytes and abs(ops * block_bytes - printed) <= digit:
        return RoundedFigure(float(ops * block_bytes), 0.0)
    return RoundedFigure(printed, digit)


def _exact(moved: RoundedFigure | None) -> int | None:
    return 0 if moved is None else whole(moved.value) if moved.digit == 0 else None


def _rates(
    run: ToolRun, done: dict[str, list[Part]], moved: dict[str, RoundedFigure], issued: dict[str, int | None]
) -> None:
    """All operations and bytes over the longest run time; fio's own rounded rates where these are not known."""
    parts = [part for same in done.values() for part in same]
    longest_ms = max((part.runtime_ms for part in parts), default=0)
    run.elapsed_s = longest_ms / 1000 or None
    counts = [issued[name] for name in done]
    if longest_ms and None not in counts:
        run.ops_per_s = 1000 * sum(count for count in counts if count is not None) / longest_ms
    elif len(parts) == 1:
        run.ops_per_s = parts[0].iops.value
    if longest_ms and (len(parts) > 1 or all(one.digit == 0 for one in moved.values())):
        run.rate_bytes_per_s = 1000 * sum(one.value for one in moved.values()) / longest_ms
    elif len(parts) == 1:
        run.rate_bytes_per_s = parts[0].bytes_per_s.value


def _latencies(run: ToolRun, done: dict[str, list[Part]], issued: dict[str, int | None]) -> None:
    """Percentiles of the direction that was done most, where one block has it; the sum of all latencies."""
    sums = [
        mean * (ops or 0)
        for name, same in done.items()
        if len(same) == 1 and (ops := issued[name]) and (mean := same[0].means_ns.get("lat"))
    ]
    if done and len(sums) == len(done):
        run.latency_sum_ns = sum(sums)
    if not done:
        return
    most = done[max(done, key=lambda name: issued[name] or 0)]
    if len(most) > 1:
        note_unjoined(run, len(most))
        return
    known = most[0].quantiles_ns
    kind = "clat" if known.get("clat") or not known.get("lat") else "lat"
    run.levels["percentiles"] = "of total latency" if kind == "lat" else "of completion latency"
    ends = most[0].ends_ns.get(kind)
    run.quantiles_ns = {
        **({"mean": most[0].means_ns[kind], "min": ends[0], "max": ends[1]} if ends else {}),
        **most[0].quantiles_ns.get(kind, {}),
    }
    run.latency_p99_ns = run.quantiles_ns.get("p99")


def _syncs(run: ToolRun, blocks: list[JobLines]) -> None:
    """Quantiles of the syncs of one job, and the time that it waited for them."""
    parts = [part for block in blocks for part in block.parts.values() if "sync" in part.means_ns]
    if len(blocks) > 1 or not parts:
        return
    count = blocks[0].syncs
    if run.latency_sum_ns is not None:
        waited_ns = None if count is None else count * parts[0].means_ns["sync"]
        run.latency_sum_ns = None if waited_ns is None else run.latency_sum_ns + waited_ns
    judge_syncs(run, parts[0].quantiles_ns.get("sync", {}), count)


# Reports in fio's normal output: a call prints one at its end, and with `--status-interval` several before it.
# Scope: a report ends with its run status groups. It is a later one of the call before it when it has the same jobs
# (name, group and process), no total is smaller, and a job ran on in between; every other report is of a call of its
# own. The last report of a call holds all of it. Of clients each prints a report, and all are of one call.

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
