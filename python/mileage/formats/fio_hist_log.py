"""fio's histogram logs, PREFIX_clat_hist.N.log (--write_hist_log, --log_hist_msec), of fio 3.

Scope: each file is a run with the histogram of completion latency of each direction, summed over its intervals; a bin
counts where fio's JSON+ has it, in the middle of the latencies that it holds. With --log_hist_coarseness several bins
are one. Operations are counted up to the last entry of each direction, as fio may omit the interval after it.
The number that fio gives each job of a call (`numjobs`) is in the name of the cell.
What it refuses: a file without a whole line, and times of a clock (log_unix_epoch). Lines with another number of bins
than the first are reported.
"""

from __future__ import annotations

import re
from itertools import pairwise
from statistics import median
from typing import Final

from mileage.errors import Refused
from mileage.formats.fio_logs import require_job_time
from mileage.formats.histogram import histogram_of, quantiles_ns
from mileage.formats.input_file import Source
from mileage.formats.number_parser import whole
from mileage.formats.result import Result, ToolRun

LAYOUT: Final = "fio-hist-log"
_BINS: Final = 1856
"""29 groups of 64 bins; a coarseness of c makes one of 2^c."""
_GROUP_BITS: Final = 6
_COUNTS: Final = {_BINS >> coarseness: coarseness for coarseness in range(_GROUP_BITS + 1)}
_LINE: Final = re.compile(r"[0-9]{1,15}, [0-2], [0-9]{1,12}(?:, [0-9]{1,15})+,?\s*")
_DIRECTIONS: Final = ("read", "write", "discard")
_NAME: Final = re.compile(r"(?P<prefix>.+)_clat_hist(?:\.(?P<number>[0-9]{1,6}))?\.log")


def knows(source: Source) -> bool:
    """Whether the beginning of a file has this layout."""
    first = source.text_head.split("\n")[0]
    return first.count(",") >= min(_COUNTS) + 2 and _bins(first) is not None


def read(source: Source) -> Result:
    """Read the run of a file. Raises Refused when it holds no line of a histogram."""
    result = Result(tool="fio", version=None, layout=LAYOUT, runs=[])
    counts: list[list[int]] = []
    last_ms = [0, 0, 0]
    times: list[int] = []
    width = 0
    lines = source.text().split("\n")
    for at, line in enumerate(lines, 1):
        if not line.strip():
            continue
        # A line that is cut may have the number of bins of a coarser log.
        found = _bins(line) if at < len(lines) else None
        if found is None or (width and len(found[2]) != width):
            result.skip(at, line, f"no histogram of {width or 'a known number of'} bins")
            continue
        time_ms, direction, bins = found
        width = len(bins)
        counts = counts or [[0] * width for _ in _DIRECTIONS]
        counts[direction] = [total + more for total, more in zip(counts[direction], bins, strict=True)]
        last_ms[direction] = max(last_ms[direction], time_ms)
        times.append(time_ms)
    if not any(map(any, counts)):
        raise Refused(source.path, "no histogram of fio was understood", code="not-understood")
    steps = [after - before for before, after in pairwise(sorted(set(times)))]
    require_job_time(source.path, min(times), max(times), median(steps) if steps else 0.0)
    result.runs.append(_run(source, counts, last_ms))
    return result


def _bins(line: str) -> tuple[int, int, list[int]] | None:
    """Time, direction and bins of a line; None where it is none."""
    if not _LINE.fullmatch(line):
        return None
    fields = [whole(field) for field in line.rstrip().rstrip(",").split(",")]
    known = [field for field in fields if field is not None]
    if len(known) < len(fields) or len(known) - 3 not in _COUNTS:
        return None
    return known[0], known[1], known[3:]


def _run(source: Source, counts: list[list[int]], last_ms: list[int]) -> ToolRun:
    """The run of a log: histograms by direction, and rates up to the last entry of each."""
    named = _NAME.fullmatch(source.path.name)
    prefix = named["prefix"] if named else source.path.stem
    job = f", job {named['number']}" if named and named["number"] else ""
    run = ToolRun(cell=f"fio.{prefix}{job}", kind="iops", line=1, levels={"log": source.path.name})
    width = len(counts[0])
    rates = []
    for name, bins, ms in zip(_DIRECTIONS, counts, last_ms, strict=True):
        ops = sum(bins)
        run.printed.append((f"{name} operations", float(ops)))
        if ops and ms:
            run.latency[name] = histogram_of({_middle_ns(at, width): count for at, count in enumerate(bins)})
            rates.append(1000 * ops / ms)
    run.ops_read, run.ops_written = (sum(bins) for bins in counts[:2])
    run.elapsed_s = max(last_ms) / 1000 or None
    run.ops_per_s = sum(rates) if rates else None
    if run.latency:
        most = max(run.latency.values(), key=lambda found: found.count)
        run.quantiles_ns = quantiles_ns(most)
        run.latency_p99_ns = run.quantiles_ns["p99"]
    if coarseness := _COUNTS[width]:
        run.notes.append(f"{run.cell}: log_hist_coarseness {coarseness} makes one bin of {1 << coarseness}")
    return run


def _middle_ns(at: int, width: int) -> int:
    """The middle of a bin: of a fine one as fio's JSON+ has it, of a coarse one between its first and its last."""
    stride = _BINS // width
    return (_fine_ns(at * stride) + _fine_ns((at + 1) * stride - 1)) // 2


def _fine_ns(index: int) -> int:
    """Nanoseconds of a bin of fio: one each below 128, then 64 to a power of two, each at its middle."""
    if index < 2 << _GROUP_BITS:
        return index
    shift = (index >> _GROUP_BITS) - 1
    return (1 << (shift + _GROUP_BITS)) + (index % (1 << _GROUP_BITS) << shift) + (1 << shift >> 1)
