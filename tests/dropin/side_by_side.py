"""Public command lines by the tools and by the drop-in commands, side by side: files, calls, status, printed lines.

`python -m tests.dropin.side_by_side --real DIR` takes lines of `command_lines.tsv` evenly, runs each with the tool
itself and with Mileage, each in an empty directory under strace, and prints a row for each line with what differs:
exit status; names and sizes of the files that are left; number and bytes of reads and writes, and number of syncs, of
files in that directory; kinds of printed lines. Calls through queues (`io_submit`, `io_uring_enter`, mappings) are not
seen by strace as reads and writes, and are not compared. Sizes and times of the lines are scaled.

Not compared, as it differs by intent: calls on worksheets, which IOzone writes cell by cell, and on Mileage's own
file `.mileage-...`, by which it learns what the directory can do; the authors that IOzone names in its head, and the
path by which the tool was called. IOzone's children stop when the first one ends, after counts that no two runs have
in common: its lines with children get `-x`, with which each child does its whole part. Of fio's lines kinds are
compared, each once, and not its statistics of the disk, which Mileage does not print. Lines that only IOR 4.1 and
mdtest 4.1 print are not compared: Mileage prints those of 4.0.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Final, NamedTuple

from tests.dropin.command_lines import PLACES, CommandLine, command_lines, scaled
from tests.dropin.fio_lines import fixed_by, lines_of

TOOLS: Final = ("ior", "mdtest", "iozone", "fio")
_CALLS: Final = {
    **dict.fromkeys(("read", "pread64", "readv", "preadv", "preadv2"), "reads"),
    **dict.fromkeys(("write", "pwrite64", "writev", "pwritev", "pwritev2"), "writes"),
    **dict.fromkeys(("fsync", "fdatasync"), "syncs"),
}
_QUEUES: Final = ("io_submit", "io_uring_enter")
_LINE: Final = re.compile(r"^(\w+)\([0-9]+<([^>]*)>.* = ([0-9]+)")
_QUEUED: Final = re.compile(r"^(?:io_submit|io_uring_enter)\(")
_UNPRINTED: Final = re.compile(r"(memoryBuffer|dataAccess|GPUDirect) +:|IOR-4|mdtest-4|SUMMARY rate")
_UNIT: Final = re.compile(r"\b(?<![a-zA-Z])[num]sec\b|(?<=[0-9(])[kKMGT]?i?B(?=/s|[,;) -]|$)")
_BLANK: Final = re.compile(r"(?<=[=\[(]) +")
_NUMBER: Final = re.compile(r"[-+]?(?:[0-9][0-9.,:/]*)(?:e[-+][0-9]+)?")
_SECONDS: Final = 60
_OWN: Final = (".mileage-",)
_SHEETS: Final = (".xls", ".wks", ".xlsx")
_CREDITS: Final = re.compile(r"^\t(Contributors:|             |\tCompiled for|\tBuild:)")


class Outcome(NamedTuple):
    """What one run left and did."""

    status: int
    files: dict[str, int]
    calls: dict[str, int]
    """Number of `reads`, `writes` and `syncs`, and bytes, of files in the directory; empty when queues were used."""
    printed: Counter[str]
    """Lines without their numbers."""


def calls_of(trace: str, place: str) -> dict[str, int]:
    """Calls of a trace of strace (`-y`) on files in a directory; nothing where a queue was used."""
    found = dict.fromkeys(("reads", "bytes read", "writes", "bytes written", "syncs"), 0)
    for line in trace.splitlines():
        if _QUEUED.match(line):
            return {}
        match = _LINE.match(line)
        if match is None or not match[2].startswith(place) or _is_aside(match[2]):
            continue
        kind = _CALLS.get(match[1])
        if kind is not None:
            found[kind] += 1
        if kind in ("reads", "writes"):
            found["bytes read" if kind == "reads" else "bytes written"] += int(match[3])
    return found


def _is_aside(path: str) -> bool:
    name = path.rpartition("/")[2]
    return name.startswith(_OWN) or name.removesuffix("(deleted)").endswith(_SHEETS)


def kinds_of(text: str, program: str = "") -> Counter[str]:
    """Printed lines with every number as #, units that follow from it as one, and spaces as one.

    `program` is what stands for the tool's name.
    """
    shown = (line for line in text.splitlines() if not _CREDITS.match(line))
    shown = (line for line in shown if not _UNPRINTED.match(line))
    named = (line.replace(f" {program} ", f" {Path(program).name} ") if program else line for line in shown)
    lines = (" ".join(_NUMBER.sub("#", _UNIT.sub("unit", _BLANK.sub("", line))).split()) for line in named)
    return Counter(line for line in lines if line)


#: What `timeout` ends with, when the first signal was enough and when it was not.
_TIMED_OUT: Final = (124, 137)


def outcome(program: list[str], words: list[str], place: Path) -> Outcome:
    """Run a command line in a new directory under strace."""
    place.mkdir(parents=True)
    for name in PLACES:
        (place / name).mkdir()
    # One trace for each process: no line is broken by another process.
    trace = place.with_name(f"{place.name}-trace")
    watch = ["strace", "-ff", "-qq", "-y", "-s", "0", "-o", str(trace), "-e", ",".join((*_CALLS, *_QUEUES))]
    # `timeout` ends the whole process group: without strace the tool would run on.
    limit = ["timeout", "--kill-after=2", str(_SECONDS)]
    done = subprocess.run(
        [*limit, *watch, *program, *words],
        cwd=place,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    status, said = (-1, "") if done.returncode in _TIMED_OUT else (done.returncode, done.stdout)
    left = [path for path in place.rglob("*") if path.is_file()]
    # A worksheet begins with the command line, and so with the path of the tool.
    files = {
        str(path.relative_to(place)): 0 if _is_aside(path.name) else path.stat().st_size for path in left
    }
    traced = "".join(path.read_text(errors="replace") for path in place.parent.glob(f"{trace.name}.*"))
    is_fio = Path(program[-1]).name == "fio"
    printed = lines_of(said, fixed_by(words)) if is_fio else kinds_of(said, program[-1])
    return Outcome(status, files, calls_of(traced, str(place)), printed)


def differences(theirs: Outcome, ours: Outcome) -> list[str]:
    """What of the tool's run differs, in a few words each."""
    found = [] if theirs.status == ours.status else [f"status {theirs.status}, {ours.status}"]
    if theirs.files != ours.files:
        found.append(f"files {_sizes(theirs.files)}, {_sizes(ours.files)}")
    if theirs.calls and ours.calls:
        found += [
            f"{name} {count}, {ours.calls[name]}"
            for name, count in theirs.calls.items()
            if ours.calls[name] != count
        ]
    missing, more = theirs.printed - ours.printed, ours.printed - theirs.printed
    if missing or more:
        counts = f"{sum(missing.values())} missing and {sum(more.values())} more"
        found.append(f"{counts} of {sum(theirs.printed.values())} printed lines")
    return found


def _sizes(files: dict[str, int]) -> str:
    return f"{len(files)} with {sum(files.values())} B"


def chosen(tool: str, count: int) -> list[CommandLine]:
    """Lines that the tool itself ends with 0, evenly over the corpus."""
    found = [one for one in command_lines(tool) if one.ends in ("0", "-")]
    return [found[len(found) * at // count] for at in range(min(count, len(found)))]


def main() -> None:
    """Print a row for each line, and for each tool how many lines are equal in each respect."""
    parser = argparse.ArgumentParser(description="Tools and drop-in commands, side by side.")
    parser.add_argument("--real", type=Path, required=True, help="directory with ior, mdtest, iozone and fio")
    parser.add_argument("--tool", choices=TOOLS)
    parser.add_argument("--lines", type=int, default=20, help="lines of each tool (20)")
    parser.add_argument("--itself", action="store_true", help="compare the tool with itself")
    parser.add_argument("--verbose", action="store_true", help="show the printed lines that differ")
    given = parser.parse_args()
    mileage = str(Path(sys.executable).with_name("mileage"))
    launcher = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np"]
    for tool in (given.tool,) if given.tool else TOOLS:
        equal: Counter[str] = Counter()
        ran = 0
        with tempfile.TemporaryDirectory() as folder:
            for number, one in enumerate(chosen(tool, given.lines)):
                words = scaled(one)
                if tool == "iozone" and any(
                    re.match(r"-[a-zA-Z]*[tlu]$|-[tlu]=?[0-9]", word) for word in words
                ):
                    words = ["-x", *words]
                tasks, own = (words[1], words[2:]) if words[0] == "--tasks" else ("1", words)
                before = [*launcher, tasks] if tasks != "1" else []
                theirs = outcome([*before, str(given.real / tool)], own, Path(folder, f"{number}-theirs"))
                second = (
                    ([*before, str(given.real / tool)], own) if given.itself else ([mileage, tool], words)
                )
                ours = outcome(*second, Path(folder, f"{number}-ours"))
                ran += 1
                found = differences(theirs, ours)
                respects = {text.split()[0] for text in found}
                equal.update({"status", "files"} - respects)
                equal["calls"] += not respects & {"reads", "writes", "bytes", "syncs"}
                equal["printed"] += not any(text.endswith("printed lines") for text in found)
                print(f"{tool} {' '.join(words)}\n    {'; '.join(found) or 'equal'}", flush=True)
                if given.verbose:
                    for sign, lines in (
                        ("-", theirs.printed - ours.printed),
                        ("+", ours.printed - theirs.printed),
                    ):
                        for line, count in lines.items():
                            print(f"      {sign}{count} x {line}", flush=True)
        print(f"{tool}: of {ran} lines equal in " + ", ".join(f"{k} {equal[k]}" for k in sorted(equal)))


if __name__ == "__main__":
    main()
