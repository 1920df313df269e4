"""`python -m benchmarks.host_oracle`: requests of a real ext4 and xfs compared with the modelled host's.

Each workload of `workloads.toml` is done on a new file system on a loop device, and on a modelled host with the
same queue. Shown are requests and bytes of each kind; a row agrees where requests of every kind are within 20 %,
or differ by two at most. Needs root and tracefs.
"""

from __future__ import annotations

import argparse
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.host_oracle.model import DRIVE, ModelCalls, host_like
from benchmarks.host_oracle.real import RealCalls, mounted, traced
from benchmarks.host_oracle.steps import Calls, perform

KINDS = ("read", "write", "flush", "discard")
WITHIN = 0.2
FEW = 2
Requests = Sequence[tuple[str, int, int, bool]]


def say(text: str) -> None:
    """A line to the terminal."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def set_up(calls: Calls, workload: dict[str, Any]) -> None:
    """Write the files of a workload, and make its names."""
    for name, size in workload.get("files", {}).items():
        for offset in range(0, size, 1 << 20):
            calls.write(name, offset, min(1 << 20, size - offset))
    many = workload.get("many", {"count": 0, "bytes": 0})
    for number in range(many["count"]):
        calls.write(f"m{number}", 0, many["bytes"])
    for number in range(workload.get("names", 0)):
        calls.create(f"n{number}")


class OracleComparison(NamedTuple):
    """What the real kernel and the model did: requests, seconds, and on a served drive what its server counted."""

    real: Requests
    model: Requests
    real_s: float
    model_s: float
    counted: dict[str, int]


def really(workload: dict[str, Any], kind: str, tracefs: Path, folder: str, drive: str) -> OracleComparison:
    """The requests of the real kernel, and of the model with the queue of its device."""
    options = workload.get("mount", "")
    sizes = workload.get("files", {})
    counted: dict[str, int] = {}
    with mounted(kind, options, folder, drive) as (place, queue, counts):
        calls = RealCalls(place)
        set_up(calls, workload)
        calls.close()
        calls.sync()
        Path("/proc/sys/vm/drop_caches").write_text("1")
        if (ahead := workload.get("read_ahead_kb")) is not None:
            queue.joinpath("queue", "read_ahead_kb").write_text(str(ahead))
        before = counts() if counts is not None else {}
        with traced(tracefs, queue) as real:
            began = time.monotonic()
            for step in workload["steps"]:
                perform(calls, step, sizes)
            real_s = time.monotonic() - began
        if counts is not None:
            counted = {name: number - before[name] for name, number in counts().items()}
        calls.close()
        host = host_like(queue, kind, options, ahead)
    model = ModelCalls(host)
    set_up(model, workload)
    model.close()
    model.sync()
    model.drop_caches()
    host.trace_requests()
    began_ns = host.now_ns
    for step in workload["steps"]:
        perform(model, step, sizes)
    return OracleComparison(real, host.take_requests(), real_s, (host.now_ns - began_ns) / 1e9, counted)


def drive_words(found: OracleComparison) -> str:
    """The cells of a row on a served drive: what its server counted, and the seconds of both."""
    numbers = ", ".join(str(found.counted[kind]) for kind in KINDS)
    return f" | {numbers} | {found.real_s:.3f} s, {found.model_s:.3f} s, {found.model_s / found.real_s:.2f}"


def agrees(real: Counter[str], model: Counter[str]) -> bool:
    """Whether the numbers of requests agree."""
    pairs = [(real[kind], model[kind]) for kind in KINDS]
    return all(abs(a - b) <= max(FEW, WITHIN * max(a, b)) for a, b in pairs)


def cell(requests: Requests, kind: str) -> str:
    """Number and mean size of the requests of a kind."""
    sizes = [length for what, _, length, _ in requests if what == kind]
    mean = f" x {sum(sizes) / len(sizes) / 1024:.1f}K" if sizes and kind != "flush" else ""
    return f"{len(sizes)}{mean}"


def main() -> int:
    """Compare, and print the table; status 1 when fewer than four rows in five agree."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.host_oracle", description=__doc__)
    parser.add_argument("--tracefs", type=Path, default=Path("/sys/kernel/tracing"))
    parser.add_argument("--folder", default="/var/tmp")
    parser.add_argument("--kind", choices=("ext4", "xfs"), action="append")
    parser.add_argument("--only", default="")
    parser.add_argument("--held-out", action="store_true", help="those that were held out, and no others")
    parser.add_argument(
        "--served",
        action="store_true",
        help="put the model's drive below the kernel, served in real time; print what its server counted, and the"
        " seconds of kernel and model with their ratio",
    )
    parser.add_argument("--sizes", action="store_true", help="list the sizes of requests that differ")
    asked = parser.parse_args()
    if not (asked.tracefs / "instances").is_dir():
        parser.error(f"{asked.tracefs} is no tracefs: mount -t tracefs none {asked.tracefs}")
    listed = tomllib.loads(Path(__file__).with_name("workloads.toml").read_text())["workload"]
    chosen = [it for it in listed if it.get("held_out", False) == asked.held_out and asked.only in it["name"]]
    good = all_rows = 0
    for kind in asked.kind or ("ext4", "xfs"):
        say(f"{kind}: workload | kernel: reads, writes, flushes, discards | model | agrees")
        for workload in chosen:
            found = really(workload, kind, asked.tracefs, asked.folder, DRIVE if asked.served else "")
            real, model = found.real, found.model
            counts = [Counter(request[0] for request in requests) for requests in (real, model)]
            holds = agrees(*counts)
            good, all_rows = good + holds, all_rows + 1
            cells = [", ".join(cell(requests, word) for word in KINDS) for requests in (real, model)]
            more = drive_words(found) if asked.served else ""
            say(f"{workload['name']} | {cells[0]} | {cells[1]} | {'yes' if holds else 'NO'}{more}")
            if asked.sizes and not holds:
                for label, requests in (("kernel", real), ("model", model)):
                    sizes = Counter((request[0], request[2]) for request in requests)
                    say(f"    {label}: {sizes.most_common(12)}")
    say(f"{good} of {all_rows} rows agree")
    return 0 if good * 5 >= all_rows * 4 else 1


if __name__ == "__main__":
    sys.exit(main())
