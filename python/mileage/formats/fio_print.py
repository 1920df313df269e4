"""fio's own output, normal, terse versions 2 to 5 and JSON, from the results of jobs.

Scope: the lines and fields of fio 3.33. The disk statistics of fio are omitted.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Sequence
from typing import Any, Final

from mileage.formats.fio_results import (
    DIRECTIONS,
    KINDS,
    DirectionResult,
    JobResult,
    Latencies,
    RateSamples,
    group_rates,
)
from mileage.model.histogram import bounds_of

VERSION: Final = "fio-3.33"
_BINARY: Final = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_DECIMAL: Final = ("", "k", "M", "G", "T", "P", "E")
_LINE: Final = 73
"""Columns for percentiles."""
_LATENCIES: Final = (
    ("msec", 1_000_000, 2_000_000, 99_999_999, 1_000_000),
    ("usec", 1_000, 2_000, 99_999, 1_000),
)
"""Units of latencies: nanoseconds of one; the least, the greatest and the deviation must be above the last three."""


def number_text(value: int, digits: int, ending: str = "", *, binary: bool = False) -> str:
    """A number with a unit, in at most this many characters before it, as fio shortens it."""
    thousand, units = (1024, _BINARY) if binary else (1000, _DECIMAL)
    at, rest = 0, None
    while len(str(value)) > digits and at + 1 < len(units):
        value, rest = divmod(value, thousand)
        at += 1
    places = digits - len(str(value)) - 1
    if rest is None:
        return f"{value}{units[at]}{ending}"
    if places <= 0:
        return f"{value + (rest >= thousand // 2)}{units[at]}{ending}"
    return f"{value + rest / thousand:.{places}f}{units[at]}{ending}"


def _rate(bytes_per_s: int) -> tuple[str, str]:
    return number_text(bytes_per_s, 4, "B/s", binary=True), number_text(bytes_per_s, 4, "B/s")


def _moved(count: int) -> tuple[str, str]:
    return number_text(count, 4, "B", binary=True), number_text(count, 4, "B")


def size_text(count: int) -> str:
    """A block size as the head of a job has it: 4096B, 16.0KiB, 256KiB."""
    return number_text(count, 4, "B", binary=True)


def head_line(name: str, group: int, mode: str, sizes: str, engine: str, depth: int) -> str:
    """The line that announces a job."""
    return f"{name}: (g={group}): rw={mode}, bs={sizes}, ioengine={engine}, iodepth={depth}\n"


def normal(results: Sequence[JobResult], groups: int) -> str:
    """The text of all results."""
    rates = group_rates(results)
    return (
        "\n"
        + "".join(_job(one, rates) for one in results)
        + "".join(_status(results, group, rates) for group in range(groups))
    )


def _job(one: JobResult, rates: dict[tuple[int, str], int]) -> str:
    if not any(result.operations for result in one.directions.values()):
        return ""
    now = time.strftime("%a %b %e %H:%M:%S %Y")
    error = f"err={one.error:2d}" + (f" ({one.error_text})" if one.error else "")
    lines = [f"{one.name}: (groupid={one.group}, jobs={one.jobs}): {error}: pid={one.pid}: {now}"]
    if one.description:
        lines.append(f"  Description  : [{one.description}]")
    for name, result in one.shown().items():
        if result.runtime_ms:
            lines += _direction(name, result, one, rates[one.group, name])
    for unit, shares in one.latency_shares().items():
        lines += _shares({"latency_ns": "nsec", "latency_us": "usec", "latency_ms": "msec"}[unit], shares)
    if one.sync.count and "clat" in one.kinds:
        lines.append("  fsync/fdatasync/sync_file_range:")
        lines += _latency("sync", one.sync)
        lines += _percentiles(one.sync, one.wanted, "sync")
    lines.append(
        f"  cpu          : usr={one.percent_cpu(one.user_ns):.2f}%, sys={one.percent_cpu(one.system_ns):.2f}%, "
        f"ctx={one.switches}, majf={one.major_faults}, minf={one.minor_faults}"
    )
    levels = ", ".join(f"{level}={share:.1f}%" for level, share in _levels(one.level).items())
    lines.append(f"  IO depths    : {levels}")
    every = ", ".join(f"{count}={share:.1f}%" for count, share in _batches(one).items())
    lines += [f"     submit    : {every}", f"     complete  : {every}"]
    each = [one.directions[name].operations for name in DIRECTIONS]
    counts = ",".join(str(count) for count in (each if one.unified != "mixed" else (sum(each), 0, 0)))
    lines.append(f"     issued rwts: total={counts},{one.sync.count} short=0,0,0,0 dropped=0,0,0,0")
    lines.append(f"     latency   : target=0, window=0, percentile=100.00%, depth={one.depth}")
    return "\n".join(lines) + "\n"


def _shares(unit: str, shares: dict[str, float]) -> list[str]:
    """Shares of latencies, five a line."""
    parts = [f"{limit}={share:.2f}%" for limit, share in shares.items() if share]
    return [f"  lat ({unit})   : " + ", ".join(parts[at : at + 5]) for at in range(0, len(parts), 5)]


def _levels(depth: int) -> dict[str, float]:
    """Shares of the depths: the engine keeps one depth."""
    limits = ("1", "2", "4", "8", "16", "32", ">=64")
    at = min(max(depth, 1).bit_length() - 1, len(limits) - 1)
    return {name: 100.0 * (number == at) for number, name in enumerate(limits)}


def _batches(one: JobResult) -> dict[str, float]:
    """Shares of the operations submitted, or completed, at once."""
    return {
        count: 100.0 * (count == "4" and one.is_submitted)
        for count in ("0", "4", "8", "16", "32", "64", ">=64")
    }


def _direction(name: str, result: DirectionResult, one: JobResult, group_rate: int) -> list[str]:
    binary, decimal = _rate(result.bytes_per_s)
    iops = number_text(int(result.iops), 4)
    zones = "; 0 zone resets" if name == "write" else ""
    lines = [
        f"  {name}: IOPS={iops}, BW={binary} ({decimal})({_moved(result.moved)[0]}/{result.runtime_ms}msec){zones}"
    ]
    for kind in one.kinds:
        if result.latencies[kind].count:
            lines += _latency(f"{kind:>4}", result.latencies[kind])
    for kind in one.percentiles_of:
        if result.latencies[kind].count:
            lines += _percentiles(result.latencies[kind], one.wanted, kind)
    if (rates := result.kib_per_s).count:
        scale, unit = (1024, "MiB") if rates.mean > 1 << 20 else (1, "KiB")
        lines.append(
            f"   bw ({unit:>5}/s): min={int(rates.least) // scale:5d}, max={int(rates.most) // scale:5d}, "
            f"per={_share_of_group(rates, group_rate):.2f}%, avg={rates.mean / scale:5.2f}, "
            f"stdev={rates.deviation / scale:5.2f}, samples={rates.count}"
        )
        ops = result.ops_per_s
        lines.append(
            f"   iops        : min={int(ops.least):5d}, max={int(ops.most):5d}, avg={ops.mean:5.2f}, "
            f"stdev={ops.deviation:5.2f}, samples={ops.count}"
        )
    return lines


def _share_of_group(rates: RateSamples, group_rate: int) -> float:
    """The mean rate in percent of the whole group's."""
    if not rates.count:
        return 0.0
    return min(rates.mean * 1024 * 100 / group_rate, 100.0) if group_rate > 1024 else 100.0


def _latency(name: str, result: Latencies) -> list[str]:
    unit, scale = "nsec", 1
    for longer, own, least, most, deviation in _LATENCIES:
        if result.least_ns > least and result.most_ns > most and result.deviation_ns > deviation:
            unit, scale = longer, own
            break
    ends = [number_text(value // scale, 6) for value in (result.least_ns, result.most_ns)]
    return [
        f"    {name} ({unit}): min={ends[0]}, max={ends[1]}, avg={result.mean_ns / scale:5.2f}, "
        f"stdev={result.deviation_ns / scale:5.2f}"
    ]


def _percentiles(result: Latencies, wanted: Sequence[float], kind: str) -> list[str]:
    values = result.percentiles(wanted)
    unit, scale = "nsec", 1
    for longer, own, least, most, _ in _LATENCIES:
        if min(values) > least and max(values) > most:
            unit, scale = longer, own
            break
    width = max(len(str(max(values) // scale)), 5)
    texts = [
        f"{percent:5.2f}th=[{-(-value // scale):>{width}}]"
        for percent, value in zip(wanted, values, strict=True)
    ]
    each = _LINE // (12 + width)
    rows = [", ".join(texts[at : at + each]) for at in range(0, len(texts), each)]
    ends = [","] * (len(rows) - 1) + [""]
    return [f"    {kind} percentiles ({unit}):"] + [
        f"     | {row}{end}" for row, end in zip(rows, ends, strict=True)
    ]


def _status(results: Sequence[JobResult], group: int, rates: dict[tuple[int, str], int]) -> str:
    lines = ["", f"Run status group {group} (all jobs):"]
    for name in (*DIRECTIONS, "mixed"):
        found = [one.shown().get(name) for one in results if one.group == group]
        own = [result for result in found if result is not None and result.runtime_ms]
        if not own:
            continue
        each = [result.bytes_per_s for result in own]
        times = [result.runtime_ms for result in own]
        whole, low, high = (_rate(rate) for rate in (rates[group, name], min(each), max(each)))
        count = _moved(sum(result.moved for result in own))
        lines.append(
            f"{name.upper():>7}: bw={whole[0]} ({whole[1]}), {low[0]}-{high[0]} ({low[1]}-{high[1]}), "
            f"io={count[0]} ({count[1]}), run={min(times)}-{max(times)}msec"
        )
    return "\n".join(lines) + "\n"


TERSE_VERSIONS: Final = (2, 3, 4, 5)


def terse(results: Sequence[JobResult], version: int = 3) -> str:
    """One line for each result, in one of the `TERSE_VERSIONS`."""
    rates = group_rates(results)
    return "".join(f"{_terse(one, rates, version)}\n" for one in results)


def _terse(one: JobResult, group_rates: dict[tuple[int, str], int], version: int) -> str:
    # Version 2 has no version of fio; only version 3 has no trims.
    parts = [str(version), *([VERSION] if version > 2 else []), one.name, str(one.group), str(one.error)]
    for name, result in one.shown().items():
        if name != "trim" or version != 3:
            parts += _terse_direction(one, result, group_rates[one.group, name], version)
    parts += [
        f"{one.percent_cpu(one.user_ns):f}%",
        f"{one.percent_cpu(one.system_ns):f}%",
        str(one.switches),
        str(one.major_faults),
        str(one.minor_faults),
    ]
    parts += [f"{share:.1f}%" for share in _levels(one.level).values()]
    shares = one.latency_shares()
    # The terse output has no nanoseconds: fio counts them as its first class of microseconds.
    shares["latency_us"]["2"] += sum(shares["latency_ns"].values())
    parts += [f"{share:.2f}%" for unit in ("us", "ms") for share in shares[f"latency_{unit}"].values()]
    if not one.description:
        return ";".join(parts)
    return ";".join(parts) + ("\n;" if version == 2 else ";") + one.description


def _terse_direction(one: JobResult, result: DirectionResult, group_rate: int, version: int) -> list[str]:
    slat, clat, lat = (_terse_latency(one, result, kind) for kind in KINDS)
    parts = [f"{result.moved // 1024}", f"{result.bytes_per_s // 1024}"]
    parts += [f"{int(result.iops)}", f"{result.runtime_ms}"]
    parts += [*slat, *clat]
    kind = "lat" if "lat" in one.percentiles_of else "clat"
    wanted = one.wanted if kind in one.percentiles_of else ()
    values = result.latencies[kind].percentiles(wanted) if result.operations else [0] * len(wanted)
    parts += [f"{percent:f}%={value // 1000}" for percent, value in zip(wanted, values, strict=True)]
    parts += [*["0%=0"] * (20 - len(wanted)), *lat]
    rates, ops = result.kib_per_s, result.ops_per_s
    share = _share_of_group(rates, group_rate)
    parts += [f"{int(rates.least)}", f"{int(rates.most)}", f"{share:f}%"]
    parts += [f"{rates.mean:f}", f"{rates.deviation:f}"]
    if version == 5:
        parts += [f"{rates.count}", f"{int(ops.least)}", f"{int(ops.most)}"]
        parts += [f"{ops.mean:f}", f"{ops.deviation:f}", f"{ops.count}"]
    return parts


def _terse_latency(one: JobResult, result: DirectionResult, kind: str) -> list[str]:
    """Least, greatest, mean and deviation in microseconds; zeros for what is not printed."""
    found = result.latencies[kind] if kind in one.kinds else Latencies()
    return [
        f"{found.least_ns // 1000}",
        f"{found.most_ns // 1000}",
        f"{found.mean_ns / 1000:f}",
        f"{found.deviation_ns / 1000:f}",
    ]


def document(
    results: Sequence[JobResult], shared: dict[str, str], elapsed_s: float, *, plus: bool = False
) -> str:
    """The JSON of all results; `plus`: with the counts of all latencies."""
    now = time.time()
    rates = group_rates(results)
    whole = {
        "fio version": VERSION,
        "timestamp": int(now),
        "timestamp_ms": int(now * 1000),
        "time": time.ctime(now),
        **({"global options": shared} if shared else {}),
        "jobs": [_json(one, rates, elapsed_s, plus=plus) for one in results],
        "disk_util": [],
    }
    return json.dumps(whole, indent=2) + "\n"


def _json(
    one: JobResult, rates: dict[tuple[int, str], int], elapsed_s: float, *, plus: bool
) -> dict[str, Any]:
    percentiles = one.percentiles_of
    found = {
        name: _json_direction(result, one, rates[one.group, name], plus=plus)
        for name, result in one.shown().items()
    }
    if one.unified != "mixed":
        sync = {
            "total_ios": one.sync.count,
            "lat_ns": _json_latency(
                one.sync if "clat" in one.kinds else Latencies(), one.wanted if percentiles else (), plus=plus
            ),
        }
        mixed = {"mixed": found.pop("mixed")} if "mixed" in found else {}
        found = {**found, "sync": sync, **mixed}
    return {
        "jobname": one.name,
        "groupid": one.group,
        "error": one.error,
        "eta": 0,
        "elapsed": math.ceil(elapsed_s),
        "job options": one.options,
        **found,
        "job_runtime": one.process_ms,
        "usr_cpu": one.percent_cpu(one.user_ns),
        "sys_cpu": one.percent_cpu(one.system_ns),
        "ctx": one.switches,
        "majf": one.major_faults,
        "minf": one.minor_faults,
        "iodepth_level": _levels(one.level),
        **{f"iodepth_{name}": _batches(one) for name in ("submit", "complete")},
        **one.latency_shares(),
        "latency_depth": one.depth,
        "latency_target": 0,
        "latency_percentile": 100.0,
        "latency_window": 0,
        **({"desc": one.description} if one.description else {}),
    }


def _json_latency(result: Latencies, wanted: Sequence[float], *, plus: bool) -> dict[str, Any]:
    found: dict[str, Any] = {
        "min": result.least_ns,
        "max": result.most_ns,
        "mean": result.mean_ns,
        "stddev": result.deviation_ns,
        "N": result.count,
    }
    if result.count and wanted:
        values = result.percentiles(wanted)
        found["percentile"] = {f"{percent:f}": value for percent, value in zip(wanted, values, strict=True)}
        if plus:
            found["bins"] = {
                str(sum(bounds_of(bucket)) // 2): count for bucket, count in sorted(result.buckets.items())
            }
    return found


def _json_direction(
    result: DirectionResult, one: JobResult, group_rate: int, *, plus: bool
) -> dict[str, Any]:
    bandwidth, ops = result.kib_per_s, result.ops_per_s
    return {
        "io_bytes": result.moved,
        "io_kbytes": result.moved // 1024,
        "bw_bytes": result.bytes_per_s,
        "bw": result.bytes_per_s // 1024,
        "iops": result.iops,
        "runtime": result.runtime_ms,
        "total_ios": result.operations,
        "short_ios": 0,
        "drop_ios": 0,
        **{
            f"{kind}_ns": _json_latency(
                result.latencies[kind] if kind in one.kinds else Latencies(),
                one.wanted if kind in one.percentiles_of else (),
                plus=plus,
            )
            for kind in KINDS
        },
        "bw_min": int(bandwidth.least),
        "bw_max": int(bandwidth.most),
        "bw_agg": _share_of_group(bandwidth, group_rate),
        "bw_mean": bandwidth.mean,
        "bw_dev": bandwidth.deviation,
        "bw_samples": bandwidth.count,
        "iops_min": int(ops.least),
        "iops_max": int(ops.most),
        "iops_mean": ops.mean,
        "iops_stddev": ops.deviation,
        "iops_samples": ops.count,
    }
