"""mdtest's table and metarates' lines, with the formulas of each.

Scope: mdtest's rates over the iterations, with the deviation that divides by their number less one; metarates'
rates of the fastest, the slowest and the mean task, and of all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from mileage.judge.tasks import mdtest_column, metarates_figures

MDTEST_VERSION: Final = "4.0.0"
ROWS: Final = {
    "dir_create": "Directory creation",
    "dir_stat": "Directory stat",
    "dir_rename": "Directory rename",
    "dir_remove": "Directory removal",
    "file_create": "File creation",
    "file_stat": "File stat",
    "file_read": "File read",
    "file_remove": "File removal",
    "tree_create": "Tree creation",
    "tree_remove": "Tree removal",
}
"""The rows of mdtest's table in their order, by test."""


def mdtest_head(started: str, words: Sequence[str], path: str, system: str, tasks: int, items: str) -> str:
    """The lines above the summary.

    `system`: use of the file system, a line that is omitted where it is empty; `items`: "400 files".
    """
    quoted = "".join(f" '{word}'" for word in words)
    fs = f"{'FS':<20}: {system}\n" if system else ""
    return (
        f"-- started at {started} --\n\n"
        f"mdtest-{MDTEST_VERSION} was launched with {tasks} total task(s) on 1 node(s)\n"
        f"Command line used: mdtest{quoted}\n"
        f"{'Path':<20}: {path}\n{fs}"
        f"Nodemap: {'1' * tasks}\n"
        f"{tasks} tasks, {items}\n\n"
    )


def mdtest_table(rates: dict[str, list[float]]) -> str:
    """The summary: `rates` are operations per second of each iteration, by test."""
    return _summary("rate", rates)


def mdtest_times(seconds: dict[str, list[float]]) -> str:
    """The summary of times: seconds of each iteration, by test."""
    return _summary("time", seconds)


def _summary(what: str, rates: dict[str, list[float]]) -> str:
    count = max((len(values) for values in rates.values()), default=0)
    lines = [
        f"SUMMARY {what}: (of {count} iterations)",
        "   Operation                     Max            Min           Mean        Std Dev",
        "   ---------                     ---            ---           ----        -------",
    ]
    for test, name in ROWS.items():
        if values := rates.get(test):
            lines.append(f"   {name:<22s}" + "".join(f" {value:14.3f}" for value in mdtest_column(values)))
    return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class Rates:
    """One test of metarates: seconds and number of files of each task."""

    test: str
    files: int
    seconds: tuple[float, ...]


_WORDS: Final = {
    "create": ("Starting Create...", "creates per second"),
    "stat": ("Preparing Stat...\nStarting Stat...", "stats per second"),
    "utime": ("Preparing Utime...\nStarting Utime...", "utimes per second"),
}


def metarates_lines(rates: Sequence[Rates]) -> str:
    """Output of metarates for its tests."""
    lines = []
    for one in rates:
        begin, unit = _WORDS[one.test]
        shown = zip(
            ("max", "min", "avg", "total"),
            metarates_figures(one.files * len(one.seconds), one.seconds),
            strict=True,
        )
        lines += [begin, ", ".join(f"{name} rate = {value:.6f} {unit}" for name, value in shown)]
    return "\n".join(lines) + "\n"


def metarates_head(
    directory: str, files: int, tasks: int, tests: Sequence[str], *, own: bool, fsync: bool
) -> str:
    """The parameters of a run, as metarates prints them."""
    where = "unique subdirectories will be used by each process" if own else "a common directory will be used"
    lines = [
        "run parameters:",
        f"dirname = {directory}",
        f"total number of files used in tests = {files}",
        f"number of files used per process in tests = {files // tasks}",
        f"processes = {tasks}",
        where,
        "test files will be removed between tests and at the end",
    ]
    if "create" in tests:
        lines.append("file creation rates will be measured")
        lines.append(f"\tfsync will {'' if fsync else 'not '}be called prior to close call")
    lines += [f"file {test} rates will be measured" for test in ("stat", "utime") if test in tests]
    return "\n".join(lines) + "\n"
