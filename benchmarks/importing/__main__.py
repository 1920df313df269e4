"""`python -m benchmarks.importing [GB]`: fio's logs of single operations, imported as a study.

Writes GB (1) gigabytes of logs with a known number of operations, imports them with `mileage import` in a process of
its own, and prints its time, its processor time and its largest memory, with the goal: 60 s and 1 GiB a gigabyte.
Fails when an operation is missing from the study, or the goal.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

SECONDS_PER_GB = 60.0
MEMORY_BYTES = 1 << 30
ROWS = 500_000
"""Operations that are written at a time."""


def write_log(path: Path, size: int, seed: int) -> int:
    """Write a log of about `size` bytes, lognormal latencies around 90 us, 70 % reads. Returns its operations."""
    draw = np.random.default_rng(seed)
    at_ms, count = 0.0, 0
    with open(path, "w", encoding="ascii") as file:
        while file.tell() < size:
            latency_ns = draw.lognormal(np.log(90_000), 0.5, ROWS).astype(np.int64)
            times_ms = at_ms + np.cumsum(latency_ns) / 8e6
            at_ms = float(times_ms[-1])
            writes = (draw.random(ROWS) < 0.3).astype(np.int64)
            columns = (times_ms.astype(np.int64).tolist(), latency_ns.tolist(), writes.tolist())
            file.write("\n".join(map("{}, {}, {}, 4096, 0".format, *columns)) + "\n")
            count += ROWS
    return count


def main() -> None:
    """Write, import, count, print."""
    gigabytes = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    with tempfile.TemporaryDirectory(prefix="mileage-importing-") as name:
        folder = Path(name)
        logs = [folder / "big_clat.1.log", folder / "big_lat.1.log"]
        counts = [write_log(path, int(gigabytes * 5e8), seed) for seed, path in enumerate(logs)]
        size = sum(path.stat().st_size for path in logs)
        command = [sys.executable, "-m", "mileage", "import", *map(str, logs), "--out", str(folder / "study")]
        began = time.monotonic()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        took_s = time.monotonic() - began
        query = "SELECT sum(ops) FROM series"
        output = subprocess.run(
            [sys.executable, "-m", "mileage", "query", query, str(folder / "study")],
            check=True,
            capture_output=True,
            text=True,
        )
    kept = int(output.stdout.split()[-1])
    memory = usage.ru_maxrss * 1024
    limit_s = SECONDS_PER_GB * max(gigabytes, 0.1)
    sys.stdout.write(
        f"{size / 1e9:.2f} GB, {sum(counts):,} lines of logs; {counts[0]:,} operations, {kept:,} in the study\n"
        f"{took_s:.1f} s (at most {limit_s:.0f}), {usage.ru_utime + usage.ru_stime:.1f} s of processors\n"
        f"{memory / 2**20:.0f} MiB of memory at most (at most {MEMORY_BYTES >> 20})\n"
    )
    if status != 0 or kept != counts[0] or took_s > limit_s or memory > MEMORY_BYTES:
        sys.exit("the goal was missed")


if __name__ == "__main__":
    main()
