"""JSON as fio 3.33 writes it, for the questions about imports: the true names of its fields, figures chosen by a test.

The figures of a direction follow from each other as fio's do: bytes = operations x block size, IOPS = operations over
the run's time. Nothing here comes from Mileage.
"""

from __future__ import annotations

import copy
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

PERCENTILES = ("1.000000", "5.000000", "50.000000", "95.000000", "99.000000", "99.900000")
BLOCK_BYTES = 4096


def times(mean_ns: float, operations: int, percentiles: bool = True) -> dict[str, Any]:
    """A block such as `clat_ns`, with all percentiles near the mean."""
    block: dict[str, Any] = {
        "min": int(mean_ns * 0.5),
        "max": int(mean_ns * 4),
        "mean": float(mean_ns),
        "stddev": mean_ns * 0.2,
        "N": operations,
    }
    if percentiles and operations:
        block["percentile"] = {
            key: int(mean_ns * (0.8 + 0.01 * float(key) * (2 if float(key) > 90 else 0.4)))
            for key in PERCENTILES
        }
    return block


def direction(iops: float, clat_ns: float, runtime_ms: int, block_bytes: int = BLOCK_BYTES) -> dict[str, Any]:
    """What fio reports of the reads or the writes of a job."""
    operations = round(iops * runtime_ms / 1000)
    rate = operations * block_bytes * 1000 // runtime_ms if runtime_ms else 0
    return {
        "io_bytes": operations * block_bytes,
        "io_kbytes": operations * block_bytes // 1024,
        "bw_bytes": rate,
        "bw": rate // 1024,
        "iops": operations * 1000 / runtime_ms if runtime_ms else 0.0,
        "runtime": runtime_ms,
        "total_ios": operations,
        "short_ios": 0,
        "drop_ios": 0,
        "slat_ns": times(clat_ns * 0.02, operations, percentiles=False),
        "clat_ns": times(clat_ns, operations),
        "lat_ns": times(clat_ns * 1.02, operations, percentiles=False),
        "bw_min": rate // 1024,
        "bw_max": rate // 1024,
        "bw_agg": 100.0,
        "bw_mean": rate / 1024,
        "bw_dev": 0.0,
        "bw_samples": max(1, runtime_ms // 500),
        "iops_min": int(iops),
        "iops_max": int(iops),
        "iops_mean": float(iops),
        "iops_stddev": 0.0,
        "iops_samples": max(1, runtime_ms // 500),
    }


def job(
    name: str,
    iops: float = 10_000,
    clat_ns: float = 98_000,
    runtime_ms: int = 60_000,
    rw: str = "randread",
    **options: str,
) -> dict[str, Any]:
    """One entry of `jobs`. `options` are added to the job's own, with dashes for none: `rate_iops="100"`."""
    none = direction(0, 0, 0)
    done = direction(iops, clat_ns, runtime_ms)
    return {
        "jobname": name,
        "groupid": 0,
        "error": 0,
        "eta": 0,
        "elapsed": runtime_ms // 1000 + 1,
        "job options": {
            "name": name,
            "filename": "/dev/nvme0n1",
            "size": "16G",
            "rw": rw,
            "bs": "4k",
            "ioengine": "libaio",
            "iodepth": "1",
            "direct": "1",
            "runtime": str(runtime_ms // 1000),
        }
        | options,
        "read": copy.deepcopy(none if rw.endswith("write") else done),
        "write": copy.deepcopy(done if rw.endswith("write") else none),
        "trim": copy.deepcopy(none),
        "sync": {"total_ios": 0, "lat_ns": times(0, 0)},
        "job_runtime": runtime_ms,
        "usr_cpu": 4.1,
        "sys_cpu": 11.2,
        "ctx": 1200,
        "majf": 0,
        "minf": 14,
        "iodepth_level": {"1": 100.0, "2": 0.0, "4": 0.0, "8": 0.0, "16": 0.0, "32": 0.0, ">=64": 0.0},
        "latency_depth": 1,
        "latency_target": 0,
        "latency_percentile": 100.0,
        "latency_window": 0,
    }


def report(
    jobs: Sequence[dict[str, Any]], at_s: int = 1_700_000_000, version: str = "fio-3.33"
) -> dict[str, Any]:
    """One document: what `--output-format=json` prints of one run, or of one status interval."""
    return {
        "fio version": version,
        "timestamp": at_s,
        "timestamp_ms": at_s * 1000 + 17,
        "time": time.strftime("%a %b %d %H:%M:%S %Y", time.gmtime(at_s)),
        "jobs": list(jobs),
        "disk_util": [],
    }


def save(path: Path, *documents: dict[str, Any]) -> str:
    """Write documents one after the other into a file, as `--status-interval` does; returns the file's name."""
    path.write_text("\n".join(json.dumps(document, indent=2) for document in documents) + "\n")
    return path.name
