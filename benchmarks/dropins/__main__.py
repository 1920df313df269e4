"""`python -m benchmarks.dropins`: the same command lines by IOzone, IOR, mdtest and by Mileage, with ratios."""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from mileage.formats.input_file import open_source
from mileage.formats.readers import read_source

BAR = 0.05
"""How far the median of the ratios may be from one."""
LINES = {
    "iozone": "-I -e -r {record} -s {size} -i 0 -i 1 -i 2 -i 3 -i 5",
    "ior": "-a POSIX --posix.odirect -e -F -t {record} -b {size} -s 1",
    "mdtest files": "-F -n {files} -i {iterations} -u",
    "mdtest directories": "-D -n {files} -i {iterations} -u",
    "mdtest trees": "-F -I 1 -b 10 -z 3 -i {iterations}",
}
"""The command lines that are compared, each of the tool that its first word names."""
MPI = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
}
HELD = re.compile(
    r"iozone: iozone\.|ior: ior\.|mdtest files: mdtest\.file_|mdtest dir\w+: mdtest\.dir_|mdtest trees: mdtest\.tree_"
)
"""Rows with a bar, behind the name of their line. The device limits IOzone's and IOR's, so that either side of it
counts. Operations on names cost processor time: there the drop-in command may be faster, and the best iteration of
each run, which other work on the machine disturbs least, is compared. A tree counts where it has many directories;
the time of a single one, which other lines have, is that of a first operation."""
BEST = re.compile(r"^ {3}(File|Directory|Tree) (\w+) +([\d.]+) ", re.MULTILINE)
"""A row of mdtest's table as far as its Max."""
WORDS = {"File": "file", "Directory": "dir", "Tree": "tree", "creation": "create", "removal": "remove"}

Figures = dict[str, float]


def tool_of(line: str) -> str:
    """The tool of a line."""
    return line.partition(" ")[0]


def arguments() -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.dropins",
        description="IOzone, IOR and mdtest and their drop-in commands, in turn; a tool without a path is skipped.",
    )
    for tool in dict.fromkeys(map(tool_of, LINES)):
        parser.add_argument(f"--{tool}", type=Path, help=f"the program {tool}")
    parser.add_argument("--mpirun", default="mpirun", help="starts IOR and mdtest (mpirun)")
    parser.add_argument(
        "--folder", type=Path, default=Path("target"), help="where the files are made (target)"
    )
    parser.add_argument("--record", default="1m", help="size of a record (1m)")
    parser.add_argument("--size", default="64m", help="size of a file (64m)")
    parser.add_argument("--files", type=int, default=2000, help="files of each task of mdtest (2000)")
    parser.add_argument("--iterations", type=int, default=20, help="iterations of each run of mdtest (20)")
    parser.add_argument("--rounds", type=int, help="pairs of runs (5, of mdtest 25)")
    parser.add_argument("--tasks", type=int, default=2, help="tasks of IOR and mdtest (2)")
    parser.add_argument("--limit", type=int, help="MiB/s that the device gives either (cgroup, needs root)")
    parser.add_argument("--json", type=Path, help="also write every figure to this file")
    return parser.parse_args()


def commands(asked: argparse.Namespace, line: str) -> tuple[list[str], list[str]]:
    """The tool's own command line and the drop-in one."""
    tool, sizes = tool_of(line), {"record": asked.record, "size": asked.size}
    words = LINES[line].format(**sizes, files=asked.files, iterations=asked.iterations).split()
    program = str(getattr(asked, tool).resolve())
    own = [program, *words]
    tasks: list[str] = []
    if tool != "iozone":
        own = [asked.mpirun, "-np", str(asked.tasks), program, *words]
        # Mileage names files from the directory that it is given; so does mdtest where that is its working directory.
        own += ["-o", "file"] if tool == "ior" else ["-d", "."]
        tasks = ["--tasks", str(asked.tasks)]
    return own, [sys.executable, "-m", "mileage", tool, *tasks, *words]


def figures(command: list[str], place: Path) -> tuple[Figures, str]:
    """What a command printed, by test: bytes or operations per second, as the readers have them."""
    done = subprocess.run(
        [*WITHIN, *command], cwd=place, env={**os.environ, **MPI}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: {done.stderr.strip() or done.stdout.strip()}")
    if rows := BEST.findall(done.stdout):
        _clear(place)
        return {
            f"mdtest.{WORDS[kind]}_{WORDS.get(test, test)}": float(most) for kind, test, most in rows
        }, done.stdout
    path = place / "printed"
    path.write_text(done.stdout)
    result = read_source(open_source(path))
    path.unlink()
    _clear(place)
    rates = {
        run.cell.split()[0].rstrip(","): run.rate_bytes_per_s or run.ops_per_s or 0.0 for run in result.runs
    }
    return rates, done.stdout


def _clear(place: Path) -> None:
    for folder in place.glob("mileage-*"):
        shutil.rmtree(folder)


WITHIN: list[str] = []
"""What runs a command within the limit of the device; nothing without one."""


@contextmanager
def limited(folder: Path, mib_per_s: int | None) -> Iterator[None]:
    """Give everything that `WITHIN` runs a limit in MiB/s on the folder's device, reading and writing."""
    if mib_per_s is None:
        yield
        return
    number = os.stat(folder).st_dev
    device, rate = f"{os.major(number)}:{os.minor(number)}", mib_per_s << 20
    old, new = Path("/sys/fs/cgroup/blkio"), Path("/sys/fs/cgroup")
    group = (old if old.is_dir() else new) / f"mileage-dropins-{os.getpid()}"
    group.mkdir()
    try:
        if old.is_dir():
            for way in ("read", "write"):
                (group / f"blkio.throttle.{way}_bps_device").write_text(f"{device} {rate}")
        else:
            (group / "io.max").write_text(f"{device} rbps={rate} wbps={rate}")
        WITHIN[:] = ["sh", "-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"', str(group)]
        yield
    finally:
        WITHIN.clear()
        group.rmdir()


def shapes(text: str) -> list[list[int]]:
    """Where the figures of each line of a table end."""
    lines = [
        line for line in text.splitlines() if re.match(r"(?:\s+\d+){3,}|write |read |   (?:File|Dir)", line)
    ]
    return [[found.end() for found in re.finditer(r"\S+", line)][:8] for line in lines]


def compare(asked: argparse.Namespace, line: str) -> tuple[list[str], dict[str, list[Figures]], bool]:
    """The rows of the table for one line, every figure, and whether the bars hold."""
    own, dropin = commands(asked, line)
    names = tool_of(line) == "mdtest"
    taken: dict[str, list[Figures]] = {"tool": [], "dropin": []}
    texts: dict[str, str] = {}
    with TemporaryDirectory(dir=asked.folder, prefix="dropins-") as name:
        place = Path(name)
        for number in range(asked.rounds or (25 if names else 5)):
            turns = [("tool", own), ("dropin", dropin)]
            for who, command in turns if number % 2 == 0 else reversed(turns):
                found, texts[who] = figures(command, place)
                taken[who].append(found)
    same = shapes(texts["tool"]) == shapes(texts["dropin"])
    rows, held = [f"{line}: columns {'equal' if same else 'DIFFER'}"], same
    for test in taken["tool"][0]:
        pairs = [
            (one[test], two[test])
            for one, two in zip(taken["tool"], taken["dropin"], strict=True)
            if test in two
        ]
        ratios = [two / one for one, two in pairs if one]
        if not ratios:
            continue
        middle, barred = median(ratios), bool(HELD.match(f"{line}: {test}"))
        ok = middle >= 1 - BAR and (names or middle <= 1 + BAR)
        held = held and (ok or not barred)
        mark = "" if not barred else "ok" if ok else f"beyond {BAR:.0%}"
        rates = " ".join(
            f"{median(side) / (1 if names else 1 << 20):10,.1f}" for side in zip(*pairs, strict=True)
        )
        rows.append(f"  {test:<24}{rates}  {middle:6.3f} ({min(ratios):.3f} to {max(ratios):.3f}) {mark}")
    return rows, taken, held


def main() -> None:
    """Compare every tool that is given; ends with 1 when a bar does not hold."""
    asked = arguments()
    lines = [line for line in LINES if getattr(asked, tool_of(line)) is not None]
    if not lines:
        raise SystemExit("give at least one of --iozone, --ior and --mdtest")
    sys.stdout.write(
        "MiB/s (mdtest: operations per second) of the tool and of its drop-in command, ratio (range over pairs)\n"
    )
    every, held = {}, True
    asked.folder.mkdir(parents=True, exist_ok=True)
    with limited(asked.folder, asked.limit):
        for line in lines:
            rows, every[line], ok = compare(asked, line)
            held = held and ok
            sys.stdout.write("\n".join(rows) + "\n")
            sys.stdout.flush()
    if asked.json is not None:
        asked.json.write_text(json.dumps(every, indent=2))
    raise SystemExit(0 if held else 1)


if __name__ == "__main__":
    main()
