"""fio's own output, normal, terse version 3 and JSON, from the records of the engine.

Scope: the lines and fields of fio 3.33. Latencies are whole: slat is 0 and clat is lat, since the engine takes one time
for each operation. Standard deviations come from the histogram. The disk statistics of fio are omitted.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from mileage.model.histogram import bounds_of

VERSION: Final = "fio-3.33"
PERCENTILES: Final = (1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99, 99.5, 99.9, 99.95, 99.99)
_DIRECTIONS: Final = ("read", "write", "trim")
_LIMITS: Final = {
    "ns": (2, 4, 10, 20, 50, 100, 250, 500, 750, 1000),
    "us": (2, 4, 10, 20, 50, 100, 250, 500, 750, 1000),
    "ms": (2, 4, 10, 20, 50, 100, 250, 500, 750, 1000, 2000),
}
_SCALE: Final = {"ns": 1, "us": 1_000, "ms": 1_000_000}


@dataclass
class Side:
    """One direction of a job."""

    operations: int = 0
    moved: int = 0
    runtime_ms: int = 0
    latencies: dict[int, int] = field(default_factory=dict)
    """Counts by bucket."""
    least_ns: int = 0
    most_ns: int = 0
    sum_ns: int = 0
    rates: list[float] = field(default_factory=list)
    """Bytes per second over time."""

    def add(
        self, moved: int, operations: int, runtime_ms: int, found: dict[str, Any], rates: list[float]
    ) -> None:
        """Add what one process did."""
        if not operations:
            return
        self.least_ns = min(self.least_ns or found["min_ns"], found["min_ns"])
        self.most_ns = max(self.most_ns, found["max_ns"])
        self.sum_ns += found["sum_ns"]
        self.operations += operations
        self.moved += moved
        self.runtime_ms = max(self.runtime_ms, runtime_ms)
        for bucket, count in found["buckets"]:
            self.latencies[bucket] = self.latencies.get(bucket, 0) + count
        self.rates += rates

    @property
    def bytes_per_s(self) -> float:
        """Rate in bytes."""
        return 1000 * self.moved / self.runtime_ms if self.runtime_ms else 0.0

    @property
    def iops(self) -> float:
        """Rate in operations."""
        return 1000 * self.operations / self.runtime_ms if self.runtime_ms else 0.0

    @property
    def mean_ns(self) -> float:
        """Mean latency."""
        count = sum(self.latencies.values())
        return self.sum_ns / count if count else 0.0

    @property
    def deviation_ns(self) -> float:
        """Standard deviation of the latencies, from the histogram."""
        count = sum(self.latencies.values())
        if count < 2:
            return 0.0
        mean = self.mean_ns
        squares = math.fsum(
            n * (sum(bounds_of(bucket)) / 2 - mean) ** 2 for bucket, n in self.latencies.items()
        )
        return math.sqrt(squares / (count - 1))

    def percentiles(self, wanted: Sequence[float]) -> list[int]:
        """Nearest-rank percentiles in nanoseconds, ascending."""
        count, found, passed = sum(self.latencies.values()), [], 0
        buckets = iter(sorted(self.latencies.items()))
        bucket = 0
        for percent in wanted:
            while passed < max(math.ceil(count * percent / 100), 1):
                step = next(buckets, None)
                if step is None:
                    break
                bucket = step[0]
                passed += step[1]
            found.append(min(max(bounds_of(bucket)[1], self.least_ns), self.most_ns))
        return found


@dataclass
class Shown:
    """A job as it is printed: one process, or all of a group."""

    name: str
    group: int
    jobs: int
    pid: int
    depth: int
    options: dict[str, str]
    error: int = 0
    sides: dict[str, Side] = field(default_factory=lambda: {name: Side() for name in _DIRECTIONS})
    sync: Side = field(default_factory=Side)
    user_ns: int = 0
    system_ns: int = 0
    switches: int = 0
    elapsed_s: float = 0.0
    wanted: tuple[float, ...] = PERCENTILES
    description: str = ""

    def add(self, record: dict[str, Any]) -> None:
        """Add a record of the engine."""
        if "elapsed_ns" not in record:
            return
        runtime_ms = max(round(record["elapsed_ns"] / 1e6), 1)
        series = record["series"]
        for name, ending in (("read", "read"), ("write", "written")):
            seconds = series["interval_ns"] / 1e9
            rates = [moved / seconds for moved in series[f"bytes_{ending}"][:-1]]
            side = self.sides[name]
            before = side.runtime_ms
            side.add(
                record[f"bytes_{ending}"], record[f"ops_{ending}"], runtime_ms, record["latency"][name], rates
            )
            side.runtime_ms = max(before, side.runtime_ms)
        self.sync.add(0, record["latency"]["sync"]["count"], runtime_ms, record["latency"]["sync"], [])
        usage = record["usage"]
        self.user_ns += usage["user_ns"]
        self.system_ns += usage["system_ns"]
        self.switches += usage["switches_voluntary"] + usage["switches_involuntary"]

    @property
    def runtime_ms(self) -> int:
        """The longest direction."""
        return max(side.runtime_ms for side in self.sides.values())

    def percent_cpu(self, used_ns: int) -> float:
        """Processor time in percent of the time of all jobs."""
        return used_ns / 1e4 / max(self.runtime_ms * self.jobs, 1)

    def latency_shares(self) -> dict[str, dict[str, float]]:
        """Percent of operations by latency, as fio groups them."""
        total = sum(sum(side.latencies.values()) for side in self.sides.values()) or 1
        found = {
            f"latency_{unit}": {str(limit): 0.0 for limit in limits}
            | ({">=2000": 0.0} if unit == "ms" else {})
            for unit, limits in _LIMITS.items()
        }
        for side in self.sides.values():
            for bucket, count in side.latencies.items():
                unit, limit = _group_of(bounds_of(bucket)[0])
                found[f"latency_{unit}"][limit] += 100 * count / total
        return found


def _group_of(value_ns: int) -> tuple[str, str]:
    for unit, limits in _LIMITS.items():
        for limit in limits:
            if value_ns < limit * _SCALE[unit] and not (unit == "ns" and value_ns >= 1000):
                return unit, str(limit)
    return "ms", ">=2000"


def _number(value: float, base: int, units: Sequence[str], ending: str) -> str:
    """A number with four digits at most and a unit, as fio shortens it."""
    at = 0
    while value >= 9999.5 and at + 1 < len(units):
        value /= base
        at += 1
    if value >= 99.95 or value == int(value):
        return f"{value:.0f}{units[at]}{ending}"
    return f"{value:.1f}{units[at]}{ending}" if value >= 9.995 else f"{value:.2f}{units[at]}{ending}"


_BINARY: Final = ("", "Ki", "Mi", "Gi", "Ti", "Pi")
_DECIMAL: Final = ("", "k", "M", "G", "T", "P")


def _rate(bytes_per_s: float) -> tuple[str, str]:
    return _number(bytes_per_s, 1024, _BINARY, "B/s"), _number(bytes_per_s, 1000, _DECIMAL, "B/s")


def _moved(count: int) -> tuple[str, str]:
    return _number(count, 1024, _BINARY, "B"), _number(count, 1000, _DECIMAL, "B")


def head_line(name: str, group: int, mode: str, sizes: str, engine: str, depth: int) -> str:
    """The line that announces a job."""
    return f"{name}: (g={group}): rw={mode}, bs={sizes}, ioengine={engine}, iodepth={depth}\n"


def normal(shown: Sequence[Shown], groups: int) -> str:
    """The text of all results."""
    return "".join(_job(one) for one in shown) + "".join(_status(shown, group) for group in range(groups))


def _job(one: Shown) -> str:
    now = time.strftime("%a %b %e %H:%M:%S %Y")
    error = f"err={one.error:2d}"
    lines = ["", f"{one.name}: (groupid={one.group}, jobs={one.jobs}): {error}: pid={one.pid}: {now}"]
    if one.description:
        lines.append(f"  Description  : [{one.description}]")
    for name, side in one.sides.items():
        if side.operations:
            lines += _side(name, side, one.wanted)
    if one.sync.operations:
        lines.append("  fsync/fdatasync/sync_file_range:")
        lines += _latency("sync", one.sync, "    ")
        lines += _percentiles(one.sync, one.wanted, "sync percentiles")
    shares = one.latency_shares()
    for unit in ("ns", "us", "ms"):
        parts = [
            f"{limit}={share:.2f}%" for limit, share in shares[f"latency_{unit}"].items() if share >= 0.005
        ]
        name = {"ns": "nsec", "us": "usec", "ms": "msec"}[unit]
        for at in range(0, len(parts), 6):
            lines.append(f"  lat ({name})   : " + ", ".join(parts[at : at + 6]))
    lines.append(
        f"  cpu          : usr={one.percent_cpu(one.user_ns):.2f}%, sys={one.percent_cpu(one.system_ns):.2f}%, "
        f"ctx={one.switches}, majf=0, minf=0"
    )
    levels = ", ".join(f"{level}={share:.1f}%" for level, share in _levels(one.depth).items())
    lines.append(f"  IO depths    : {levels}")
    every = "0=0.0%, 4=100.0%, 8=0.0%, 16=0.0%, 32=0.0%, 64=0.0%, >=64=0.0%"
    lines += [f"     submit    : {every}", f"     complete  : {every}"]
    counts = ",".join(str(one.sides[name].operations) for name in _DIRECTIONS)
    lines.append(f"     issued rwts: total={counts},{one.sync.operations} short=0,0,0,0 dropped=0,0,0,0")
    lines.append(f"     latency   : target=0, window=0, percentile=100.00%, depth={one.depth}")
    return "\n".join(lines) + "\n"


def _levels(depth: int) -> dict[str, float]:
    """Shares of the depths: the engine keeps the depth that was asked for."""
    limits = ("1", "2", "4", "8", "16", "32", ">=64")
    at = min(max(depth, 1).bit_length() - 1, len(limits) - 1)
    return {name: 100.0 * (number == at) for number, name in enumerate(limits)}


def _side(name: str, side: Side, wanted: Sequence[float]) -> list[str]:
    binary, decimal = _rate(side.bytes_per_s)
    iops = _number(side.iops, 1000, _DECIMAL, "")
    zones = "; 0 zone resets" if name == "write" else ""
    label = f"{name:>6}" if name == "read" else f"{name:>7}"
    lines = [
        f"{label}: IOPS={iops}, BW={binary} ({decimal})({_moved(side.moved)[0]}/{side.runtime_ms}msec){zones}"
    ]
    lines += _latency("clat", side, "    ")
    lines += _latency("lat", side, "     ")
    lines += _percentiles(side, wanted, "clat percentiles")
    if side.rates:
        kib = [rate / 1024 for rate in side.rates]
        mean = sum(kib) / len(kib)
        lines.append(
            f"   bw (  KiB/s): min={min(kib):.0f}, max={max(kib):.0f}, per=100.00%, avg={mean:.2f}, "
            f"stdev={_spread(kib):.2f}, samples={len(kib)}"
        )
        per = side.moved / side.operations
        ops = [rate / per for rate in side.rates]
        lines.append(
            f"   iops        : min={min(ops):.0f}, max={max(ops):.0f}, avg={sum(ops) / len(ops):.2f}, "
            f"stdev={_spread(ops):.2f}, samples={len(ops)}"
        )
    return lines


def _spread(values: Sequence[float]) -> float:
    mean = sum(values) / len(values)
    return (
        math.sqrt(sum((value - mean) ** 2 for value in values) / (len(values) - 1))
        if len(values) > 1
        else 0.0
    )


def _unit(side: Side) -> tuple[str, int]:
    """The unit in which fio prints these latencies."""
    if side.least_ns > 2_000_000 and side.mean_ns > 2_000_000:
        return "msec", 1_000_000
    if side.least_ns > 2_000 and side.most_ns > 99_999:
        return "usec", 1_000
    return ("nsec", 1) if side.most_ns <= 99_999 else ("usec", 1_000)


def _latency(name: str, side: Side, indent: str) -> list[str]:
    unit, scale = _unit(side)
    return [
        f"{indent}{name} ({unit}): min={side.least_ns // scale}, max={side.most_ns // scale}, "
        f"avg={side.mean_ns / scale:5.2f}, stdev={side.deviation_ns / scale:5.2f}"
    ]


def _percentiles(side: Side, wanted: Sequence[float], title: str) -> list[str]:
    unit, scale = _unit(side)
    values = side.percentiles(wanted)
    width = max(len(str(value // scale)) for value in values)
    shown = [
        f"{percent:5.2f}th=[{value // scale:>{width}}]" for percent, value in zip(wanted, values, strict=True)
    ]
    rows = [shown[at : at + 4] for at in range(0, len(shown), 4)]
    ends = [","] * (len(rows) - 1) + [""]
    return [f"    {title} ({unit}):"] + [
        f"     | {', '.join(row)}{end}" for row, end in zip(rows, ends, strict=True)
    ]


def _status(shown: Sequence[Shown], group: int) -> str:
    lines = ["", f"Run status group {group} (all jobs):"]
    own = [one for one in shown if one.group == group]
    for name in _DIRECTIONS:
        sides = [one.sides[name] for one in own if one.sides[name].operations]
        if not sides:
            continue
        moved, longest = sum(side.moved for side in sides), max(side.runtime_ms for side in sides)
        total, (least, most) = 1000 * moved / longest, _ends([side.bytes_per_s for side in sides])
        whole, low, high = _rate(total), _rate(least), _rate(most)
        times = _ends([float(side.runtime_ms) for side in sides])
        count = _moved(moved)
        lines.append(
            f"{name.upper():>7}: bw={whole[0]} ({whole[1]}), {low[0]}-{high[0]} ({low[1]}-{high[1]}), "
            f"io={count[0]} ({count[1]}), run={times[0]:.0f}-{times[1]:.0f}msec"
        )
    return "\n".join(lines) + "\n"


def _ends(values: Sequence[float]) -> tuple[float, float]:
    return min(values), max(values)


def terse(shown: Sequence[Shown]) -> str:
    """One line for each result, version 3."""
    return "".join(f"{_terse(one)}\n" for one in shown)


def _terse(one: Shown) -> str:
    parts: list[str] = ["3", VERSION, one.name, str(one.group), str(one.error)]
    for name in ("read", "write"):
        side = one.sides[name]
        us = [
            f"{side.least_ns // 1000}",
            f"{side.most_ns // 1000}",
            f"{side.mean_ns / 1000:f}",
            f"{side.deviation_ns / 1000:f}",
        ]
        parts += [
            f"{side.moved // 1024}",
            f"{side.bytes_per_s / 1024:.0f}",
            f"{side.iops:.0f}",
            f"{side.runtime_ms}",
        ]
        parts += ["0", "0", "0.000000", "0.000000", *us]
        values = side.percentiles(one.wanted) if side.operations else [0] * len(one.wanted)
        parts += [f"{percent:f}%={value // 1000}" for percent, value in zip(one.wanted, values, strict=True)]
        parts += ["0%=0"] * (20 - len(one.wanted)) + us
        kib = [rate / 1024 for rate in side.rates] or [0.0]
        mean = sum(kib) / len(kib)
        share = 100.0 if side.rates else 0.0
        parts += [f"{min(kib):.0f}", f"{max(kib):.0f}", f"{share:f}%", f"{mean:f}", f"{_spread(kib):f}"]
    parts += [
        f"{one.percent_cpu(one.user_ns):f}%",
        f"{one.percent_cpu(one.system_ns):f}%",
        str(one.switches),
        "0",
        "0",
    ]
    parts += [f"{share:.1f}%" for share in _levels(one.depth).values()]
    shares = one.latency_shares()
    parts += [f"{share:.2f}%" for unit in ("us", "ms") for share in shares[f"latency_{unit}"].values()]
    return ";".join(parts)


def document(shown: Sequence[Shown], shared: dict[str, str]) -> str:
    """The JSON of all results."""
    now = time.time()
    whole = {
        "fio version": VERSION,
        "timestamp": int(now),
        "timestamp_ms": int(now * 1000),
        "time": time.ctime(now),
        **({"global options": shared} if shared else {}),
        "jobs": [_json(one) for one in shown],
        "disk_util": [],
    }
    return json.dumps(whole, indent=2) + "\n"


_NONE: Final = {"min": 0, "max": 0, "mean": 0.0, "stddev": 0.0, "N": 0}


def _json(one: Shown) -> dict[str, Any]:
    return {
        "jobname": one.name,
        "groupid": one.group,
        "error": one.error,
        "eta": 0,
        "elapsed": max(round(one.elapsed_s), 1),
        "job options": one.options,
        **{name: _json_side(side, one.wanted) for name, side in one.sides.items()},
        "sync": {"total_ios": one.sync.operations, "lat_ns": _json_latency(one.sync)},
        "job_runtime": one.runtime_ms,
        "usr_cpu": one.percent_cpu(one.user_ns),
        "sys_cpu": one.percent_cpu(one.system_ns),
        "ctx": one.switches,
        "majf": 0,
        "minf": 0,
        "iodepth_level": _levels(one.depth),
        **{
            f"iodepth_{name}": {"0": 0.0, "4": 100.0, "8": 0.0, "16": 0.0, "32": 0.0, "64": 0.0, ">=64": 0.0}
            for name in ("submit", "complete")
        },
        **one.latency_shares(),
        "latency_depth": one.depth,
        "latency_target": 0,
        "latency_percentile": 100.0,
        "latency_window": 0,
    }


def _json_latency(side: Side) -> dict[str, Any]:
    return {
        "min": side.least_ns,
        "max": side.most_ns,
        "mean": side.mean_ns,
        "stddev": side.deviation_ns,
        "N": sum(side.latencies.values()),
    }


def _json_side(side: Side, wanted: Sequence[float]) -> dict[str, Any]:
    kib = [rate / 1024 for rate in side.rates] or [0.0]
    per = side.moved / side.operations if side.operations else 1.0
    ops = [rate / per for rate in side.rates] or [0.0]
    clat = _json_latency(side)
    if side.operations:
        values = side.percentiles(wanted)
        clat["percentile"] = {f"{percent:f}": value for percent, value in zip(wanted, values, strict=True)}
    return {
        "io_bytes": side.moved,
        "io_kbytes": side.moved // 1024,
        "bw_bytes": int(side.bytes_per_s),
        "bw": int(side.bytes_per_s / 1024),
        "iops": side.iops,
        "runtime": side.runtime_ms,
        "total_ios": side.operations,
        "short_ios": 0,
        "drop_ios": 0,
        "slat_ns": dict(_NONE),
        "clat_ns": clat,
        "lat_ns": _json_latency(side),
        "bw_min": int(min(kib)),
        "bw_max": int(max(kib)),
        "bw_agg": 100.0 if side.rates else 0.0,
        "bw_mean": sum(kib) / len(kib),
        "bw_dev": _spread(kib),
        "bw_samples": len(side.rates),
        "iops_min": int(min(ops)),
        "iops_max": int(max(ops)),
        "iops_mean": sum(ops) / len(ops),
        "iops_stddev": _spread(ops),
        "iops_samples": len(side.rates),
    }
