"""`python -m benchmarks.devices`: hdparm, dd and `mileage measure` on the same loop device, in turn.

Each row is measured in paired rounds, the two tools one after the other in an order that changes from round to round.
Shown are the medians in MiB/s and the ratio of Mileage to the other with its 95 % interval, paired, on logarithms.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from scipy.special import stdtrit  # type: ignore[import-untyped, unused-ignore]

MIB = 1 << 20
REST_S = 3
"""Seconds that both rest before each measurement, after writing out what is dirty, as hdparm does. Reads through the
page cache go into memory that the run before has given back, and a hypervisor that takes free memory away makes them
the slower the longer ago that was: on one by 1.2 after 3 s, and by 1.3 more after 8 s."""
_HDPARM = re.compile(r"=\s*([0-9.]+) (kB|MB|GB)/sec")
Row = tuple[str, Callable[[], float], Callable[[], float]]


def say(text: str) -> None:
    """A line to the terminal."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def done(*command: str) -> str:
    """What a program printed on both channels. Raises CalledProcessError."""
    return subprocess.run(
        command, check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600
    ).stdout


def hdparm(device: str, *options: str) -> float:
    """MiB/s as hdparm prints it; its MB are MiB."""
    found = _HDPARM.search(done("hdparm", *options, device))
    if found is None:
        raise SystemExit(f"hdparm {' '.join(options)} printed no rate; is the device too small?")
    return float(found[1]) * {"kB": 1 / 1024, "MB": 1, "GB": 1024}[found[2]]


def dd(size_mib: int, *operands: str) -> float:
    """MiB/s of dd by a clock of our own, which its own figure, rounded to three digits, agrees with."""
    started = time.monotonic()
    done("dd", "bs=1M", f"count={size_mib}", *operands)
    return size_mib / (time.monotonic() - started)


def mileage(device: str, *options: str) -> float:
    """MiB/s as Mileage prints it."""
    output = done(sys.executable, "-m", "mileage", "measure", "-t", f"block:{device}", "--json", *options)
    (cell,) = json.loads(output[output.index("[") :])
    return float(statistics.median(cell["rate_bytes_per_s"])) / MIB


@cache
def start_s() -> float:
    """How long Mileage is busy with itself before it rests: the processes of a run that does nothing, in seconds."""
    times = []
    for _ in range(3):
        began = time.monotonic()
        done(sys.executable, "-m", "mileage", "measure", "-t", "null:", "--operations", "1")
        times.append(time.monotonic() - began)
    return statistics.median(times)


def rested(device: str, measured: Callable[[], float], rest_s: float = REST_S) -> float:
    """The same with an empty page cache, all written, after a rest as long as Mileage's start and its own rest."""
    done("blockdev", "--flushbufs", device)
    os.sync()
    time.sleep(start_s() + rest_s)
    return measured()


def rows_on(device: str, size_mib: int) -> list[Row]:
    """What is compared."""
    size = f"{size_mib}MiB"
    destroy = ("--destroy", device)
    settle = ("--settle", f"{REST_S}s")
    return [
        ("hdparm -T", lambda: hdparm(device, "-T"), lambda: mileage(device, "-w", "hdparm.cached")),
        (
            "hdparm -t",
            lambda: rested(device, lambda: hdparm(device, "-t"), 0),
            lambda: mileage(device, "-w", "hdparm.buffered"),
        ),
        (
            "hdparm -t --direct",
            lambda: rested(device, lambda: hdparm(device, "-t", "--direct"), 0),
            lambda: mileage(device, "-w", "hdparm.buffered_direct"),
        ),
        (
            "dd, read",
            lambda: rested(device, lambda: dd(size_mib, f"if={device}", "of=/dev/null")),
            lambda: mileage(device, "-w", "dd.read", "--bytes", size, "--cold", *settle),
        ),
        (
            "dd, read direct",
            lambda: rested(device, lambda: dd(size_mib, f"if={device}", "of=/dev/null", "iflag=direct")),
            lambda: mileage(device, "-w", "dd.read", "--bytes", size, "--direct", *settle),
        ),
        (
            "dd, write + fdatasync",
            lambda: rested(device, lambda: dd(size_mib, "if=/dev/zero", f"of={device}", "conv=fdatasync")),
            lambda: mileage(device, "-w", "dd.write", "--bytes", size, *settle, *destroy),
        ),
    ]


def compare(row: Row, rounds: int) -> str:
    """A line of the table."""
    name, other, own = row
    pairs = []
    for number in range(rounds):
        if number % 2:
            mine = own()
            theirs = other()
        else:
            theirs = other()
            mine = own()
        pairs.append((theirs, mine))
    logs = [math.log(mine / theirs) for theirs, mine in pairs]
    half = float(stdtrit(rounds - 1, 0.975)) * statistics.stdev(logs) / math.sqrt(rounds)
    middle = statistics.mean(logs)
    low, high = math.exp(middle - half), math.exp(middle + half)
    word = "within noise" if low <= 1 <= high else "differs"
    theirs, mine = (statistics.median(values) for values in zip(*pairs, strict=True))
    return (
        f"{name:<22}{theirs:>10.0f}{mine:>10.0f}{math.exp(middle):>9.3f}   {low:.3f} to {high:.3f}   {word}"
    )


@contextmanager
def held_to(device: str, mib_per_s: int) -> Iterator[None]:
    """Let this process and its children use the device no faster, so that the device decides; 0: as it is."""
    if not mib_per_s:
        yield
        return
    top = Path("/sys/fs/cgroup/blkio")
    group = top / f"mileage-devices-{os.getpid()}"
    number = Path(device).stat().st_rdev
    group.mkdir()
    try:
        for way in ("read", "write"):
            limit = f"{os.major(number)}:{os.minor(number)} {mib_per_s * MIB}"
            (group / f"blkio.throttle.{way}_bps_device").write_text(limit)
        (group / "cgroup.procs").write_text(str(os.getpid()))
        yield
    finally:
        (top / "cgroup.procs").write_text(str(os.getpid()))
        group.rmdir()


def main() -> None:
    """Make the loop device, compare, remove it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.devices", description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=Path("/var/tmp"), help="where the loop file is made")
    parser.add_argument("--gib", type=int, default=12, help="its size; hdparm needs more than 3 s of reading")
    parser.add_argument("--mib", type=int, default=1024, help="what dd moves")
    parser.add_argument(
        "--rounds", type=int, default=7, choices=range(3, 100), metavar="N", help="pairs, 3 to 99"
    )
    parser.add_argument("--limit", type=int, default=0, metavar="MIB", help="limit the device to MIB MiB/s")
    parser.add_argument("--only", default="", help="rows whose name contains this")
    given = parser.parse_args()
    missing = [name for name in ("hdparm", "dd", "losetup", "blockdev") if shutil.which(name) is None]
    if missing:
        raise SystemExit(f"not installed: {', '.join(missing)}; on Debian: hdparm coreutils util-linux")
    with TemporaryDirectory(prefix="mileage-devices-", dir=given.folder) as place:
        image = Path(place, "image")
        done("dd", "if=/dev/zero", f"of={image}", "bs=16M", f"count={given.gib * 64}", "conv=fdatasync")
        device = done("losetup", "--find", "--show", "--direct-io=on", str(image)).strip()
        try:
            say(
                f"{'MiB/s':<22}{'other':>10}{'Mileage':>10}{'ratio':>9}   95 % interval   {given.rounds} paired rounds"
            )
            with held_to(device, given.limit):
                for row in rows_on(device, given.mib):
                    if given.only in row[0]:
                        say(compare(row, given.rounds))
        finally:
            done("losetup", "--detach", device)


if __name__ == "__main__":
    main()
