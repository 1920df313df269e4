"""What two runs of one line of fio must print alike: every line with its words, units and decimals, and exact counts.

Measured figures become #, with as many decimals as fio always prints. What follows from measured figures is one word:
the unit of a time (nsec, usec, msec), the prefix of a rate, how percentiles are broken into lines, which classes of
latency occur, and the date. Counts stay where the line alone says them: see `fixed_by`. Samples of rates are compared
only of jobs that run for a given time, since shorter ones have none or some by chance. Statistics of the disk, which
Mileage does not print, are not looked at, nor is the order of the lines.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

_MIXES = ("rw", "readwrite", "randrw", "trimwrite")
_QUEUES = ("libaio", "io_uring", "posixaio")


class FixedFigures(NamedTuple):
    """Which figures follow from a command line alone."""

    counts: bool
    """Number of operations; of a mix the sum."""
    sides: bool
    """Operations and bytes of each direction."""
    depths: bool
    """Shares of depths: at a depth of one."""
    sampled: bool
    """Whether there are samples of rates."""


def fixed_by(words: Sequence[str]) -> FixedFigures:
    """What the words of a command line fix, those of all its jobs together."""
    pairs = [word.removeprefix("--").partition("=")[::2] for word in words]
    values = dict(pairs)
    timed = "time_based" in values and values["time_based"] != "0"
    mixed = values.get("rw", values.get("readwrite", "read")).removeprefix("rand") in _MIXES
    several = bool({"bssplit", "bsrange"} & values.keys())
    counts = not timed and not several
    queue = any(name == "iodepth" and value != "1" for name, value in pairs)
    return FixedFigures(counts, not timed and not mixed, not queue, timed)


def lines_of(text: str, fixed: FixedFigures) -> Counter[str]:
    """The printed lines, with # for what is measured."""
    found: Counter[str] = Counter()
    percentiles: list[str] = []
    last = ""
    for line in [*text.splitlines(), ""]:
        if row := re.match(r"     \| (.*)", line):
            percentiles += re.findall(r"([0-9.]+)th=\[ *[0-9]+\]", row[1])
            continue
        if percentiles:
            found[f"percentiles {' '.join(percentiles)}"] += 1
            percentiles = []
        shown = _shown(line, fixed)
        # A line of classes of latency for each unit that occurs.
        if shown and shown != last:
            found[shown] += 1
        last = shown if shown.startswith("  lat (UNIT)   :") else ""
    return found


def _shown(line: str, fixed: FixedFigures) -> str:
    if re.match(r"Disk stats|  [\w-]+: ios=", line):
        return ""
    line = re.sub(r"pid=[0-9]+: \w{3} \w{3} [ 0-9]{2} [0-9:]{8} [0-9]{4}$", "pid=#: DATE", line)
    line = re.sub(r"\((?:nsec|usec|msec)\)", "(UNIT)", line)
    if re.match(r"  lat \(UNIT\)   : ", line):
        part = r">?=?[0-9]+=[0-9]+\.[0-9]{2}%"
        is_whole = re.fullmatch(rf"  lat \(UNIT\)   : {part}(, {part}){{0,4}}", line)
        return "  lat (UNIT)   :" + (" #=#.##%" if is_whole else line)
    if re.match(r"  (cpu  |  [a-z ]{4} \(UNIT\)| +bw \(| +iops  )", line):
        if not fixed.sampled and re.match(r"   (bw|iops)", line):
            return ""
        line = re.sub(r"\( *[KMG]iB/s\)", "(RATE)", line)
        line = re.sub(r"(avg|stdev|per|usr|sys)= *[0-9]+\.([0-9]+)", _decimals, line)
        line = re.sub(r"(min|max)= *[0-9.]+[kMG]?(?=,)", r"\1=#", line)
        return re.sub(r"(samples|ctx|majf|minf)=[0-9]+", r"\1=#", line)
    if re.match(r" +(read|write|trim|mixed): IOPS=| *(READ|WRITE|TRIM|MIXED): bw=", line):
        line = re.sub(r"IOPS=[0-9.]+[kMG]?", "IOPS=#", line)
        line = re.sub(r"[0-9.]+(?:[KMGT]i)?B/s", "#B/s", line)
        line = re.sub(r"[0-9.]+[kMGT]B/s", "#kB/s", line).replace("#kB/s", "#B/s")
        line = re.sub(r"[0-9]+msec|[0-9]+-[0-9]+msec", "#msec", line).replace("#-#msec", "#msec")
        if not fixed.sides:
            line = re.sub(r"[0-9.]+(?:[KMGTk]i?)?B(?=[ /,)]|$)", "#B", line)
        return line
    if line.startswith("     issued rwts:"):
        return _issued(line, fixed)
    if not fixed.depths and re.match(r"  IO depths    :|     (submit|complete)  *:", line):
        return re.sub(r"[0-9.]+%", "#%", line)
    return line


def _decimals(match: re.Match[str]) -> str:
    return f"{match[1]}=#.{'#' * len(match[2])}"


def _issued(line: str, fixed: FixedFigures) -> str:
    found = re.fullmatch(r"(     issued rwts: total=)([0-9]+),([0-9]+),([0-9]+),([0-9]+)( .*)", line)
    if found is None or (fixed.counts and fixed.sides):
        return line
    total = sum(int(count) for count in found.groups()[1:4])
    return f"{found[1]}{total if fixed.counts else '#'},{found[5]}{found[6]}"
