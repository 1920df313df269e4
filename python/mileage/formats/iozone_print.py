"""IOzone's own text: the table of a single stream, the blocks of several children, and the reports of `-R`.

Scope: the layout of IOzone 3.471, column for column, of figures that are given as values. A kB is 1024 bytes.
A test that was not done prints as IOzone prints it (blank, or 0 with -+n).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

Measure = Literal["kB", "ops", "us"]
"""Unit of the figures: kB per second, operations per second (-O) or microseconds per operation (-N)."""

COLUMNS: Final = (
    *(("write", 9), ("rewrite", 9), ("read", 9), ("reread", 9), ("random_read", 9), ("random_write", 9)),
    *(("backward_read", 9), ("record_rewrite", 10), ("stride_read", 10)),
    *(("fwrite", 9), ("frewrite", 9), ("fread", 9), ("freread", 9)),
)
"""The tests of a single stream in the order of their columns, with the width of each."""
EXTENDED_COLUMNS: Final = (*COLUMNS, ("pwrite", 9), ("repwrite", 9), ("pread", 8), ("repread", 9))
"""The columns with -E."""
SHORT_COLUMNS: Final = COLUMNS[:9]
"""The columns without the tests of C streams, whose heads are blank."""
Columns = tuple[tuple[str, int], ...]

_HEAD: Final = (
    ("", "", "", "", "", "", "random", "random", "bkwd", "record", "stride", "", "", "", "", "", "", "", ""),
    (
        *("kB", "reclen", "write", "rewrite", "read", "reread", "read", "write"),
        *("read", "rewrite", "read", "fwrite", "frewrite", "fread", "freread"),
        *("pwrite", "repwrite", "pread", "repread"),
    ),
)
_HEAD_WIDTHS: Final = (16, 8, 9, 9, 8, 10, 8, 10, 9, 10, 10, 9, 9, 9, 9, 8, 9, 8, 10)

REPORTS: Final = {
    "write": "Writer report",
    "rewrite": "Re-writer report",
    "read": "Reader report",
    "reread": "Re-Reader report",
    "random_read": "Random read report",
    "random_write": "Random write report",
    "backward_read": "Backward read report",
    "record_rewrite": "Record rewrite report",
    "stride_read": "Stride read report",
    "fwrite": "Fwrite report",
    "frewrite": "Re-Fwrite report",
    "fread": "Fread report",
    "freread": "Re-Fread report",
    "pwrite": "Pwrite report",
    "repwrite": "Re-Pwrite report",
    "pread": "Pread report",
    "repread": "Re-Pread report",
}
"""The reports of -R, by test, in their order."""

CHILDREN: Final = {
    "write": ("%2d initial writers \t", "%2d initial writers \t", "Initial write"),
    "rewrite": ("%2d rewriters \t", "%2d rewriters \t", "Rewrite"),
    "read": ("%2d readers \t\t", "%2d readers \t\t", "Read"),
    "reread": ("%d re-readers \t", "%d re-readers \t", "Re-read"),
    "backward_read": ("%d reverse readers \t", "%d reverse readers \t", "Reverse Read"),
    "stride_read": ("%d stride readers \t", "%d stride readers \t", "Stride read"),
    "random_read": ("%d random readers \t", "%d random readers \t", "Random read"),
    "mix": ("%d mixed workload \t", "%d mixed workload \t", "Mixed workload"),
    "random_write": ("%d random writers \t", "%d random writers \t", "Random write"),
    "pwrite": ("%d pwrite writers \t", "%d pwrite writers \t", "Pwrite"),
    "pread": ("%d pread readers \t", "%d pread readers \t", "Pread"),
    "fwrite": ("%2d fwriters \t", "%2d fwriters \t\t", "Fwrite"),
    "fread": ("%2d freaders \t", "%2d freaders \t\t", "Fread"),
}
"""The tests of children in their order: the phrases of "Children see" and "Parent sees", the row of the report."""


@dataclass(frozen=True)
class Row:
    """One row of the table: file size and record in kB, and the figure of each test.

    Blank when the test was not done.
    """

    file_kb: int
    record_kb: int
    values: dict[str, int]
    used_s: dict[str, tuple[float, float]] = field(default_factory=dict)
    """Wall time and processor time of each test, in seconds."""

    def cpu_percent(self, test: str) -> float:
        """Processor time as a percentage of wall time; 0 for a test that was not done."""
        wall_s, cpu_s = self.used_s.get(test, (0.0, 0.0))
        return 100.0 * cpu_s / wall_s if wall_s else 0.0


@dataclass(frozen=True)
class Child:
    """Work of one child in kB or operations, and its rate per second."""

    moved: float
    rate: float


@dataclass(frozen=True)
class Block:
    """One test of several children; `parent` is the rate as the parent process measures it."""

    test: str
    children: tuple[Child, ...]
    parent: float
    wall_s: float = 0.0
    cpu_s: float = 0.0

    @property
    def total(self) -> float:
        return sum(child.rate for child in self.children)

    @property
    def cpu_percent(self) -> float:
        return 100.0 * self.cpu_s / self.wall_s if self.wall_s else 0.0


_BLANKS: Final = {"freread": 8, "pread": 9}
"""Widths of tests that were not done, where they are not those of figures."""


def table_head(columns: Columns = COLUMNS) -> str:
    """The two lines above the table of a single stream."""
    named = len(columns) + 2
    cells = max(named, len(COLUMNS) + 2)
    lines = [
        "".join(
            (name if at < named else "").rjust(width)
            for at, (name, width) in enumerate(zip(names[:cells], _HEAD_WIDTHS[:cells], strict=True))
        )
        for names in _HEAD
    ]
    return f"{lines[0]}\n{lines[1]}\n"


def table_row(row: Row, columns: Columns = COLUMNS) -> str:
    """One row of the table."""
    cells = [f"{row.file_kb:16d}{row.record_kb:8d}"]
    for test, width in columns:
        value = row.values.get(test)
        blank = _BLANKS.get(test, width)
        cells.append(" " * blank if value is None else f"{value:{width}d}")
    return "".join(cells) + "\n"


def row_until(row: Row, columns: Columns, last: str) -> str:
    """The beginning of a row, up to and including the column of a test."""
    widths = [width for _, width in columns]
    place = [test for test, _ in columns].index(last)
    filled = Row(row.file_kb, row.record_kb, row.values)
    return table_row(filled, columns)[: 24 + sum(widths[: place + 1])]


def table_reports(rows: Sequence[Row], records_kb: Sequence[int], cpu: bool) -> str:
    """The reports after "Excel output is below:": one for each test that any row has."""
    tests = [test for test in REPORTS if any(test in row.values for row in rows)]
    texts = [
        _report(REPORTS[test], rows, records_kb, [f" {row.values.get(test, 0)} " for row in rows])
        for test in tests
    ]
    if cpu:
        for test in tests:
            title = f"{REPORTS[test].removesuffix(' report')} CPU utilization report (Zero values should be ignored)"
            shown = [f" {row.cpu_percent(test):6.2f}" for row in rows]
            texts.append(_report(title, rows, records_kb, shown))
    return "Excel output is below:\n" + "".join(texts)


def _report(title: str, rows: Sequence[Row], records_kb: Sequence[int], shown: Sequence[str]) -> str:
    lines = [f'\n"{title}"\n', "      ", *(f'  "{record}"' for record in records_kb), "\n"]
    for place, row in enumerate(rows):
        if place == 0 or row.file_kb != rows[place - 1].file_kb:
            lines.append(("\n" if place else "") + f'"{row.file_kb}"  ')
        lines.append(shown[place])
    return "".join(lines) + "\n"


def table_times(rows: Sequence[Row]) -> str:
    """Wall time, processor time and percent of each test of a single stream, which IOzone has for children only.

    With more digits than IOzone prints of children: a test of a small file takes less than a millisecond.
    """
    return "\n" + "".join(
        f"\tCPU utilization: Wall time {wall_s:12.6f}    CPU time {cpu_s:12.6f}    "
        f"CPU utilization {row.cpu_percent(test):6.2f} %    {test}, {row.file_kb} kB, {row.record_kb} kB\n"
        for row in rows
        for test, (wall_s, cpu_s) in row.used_s.items()
    )


def children_block(
    block: Block, unit: str, port: str, *, each: bool, cpu: bool, clients: bool = False
) -> str:
    """One test of several children; `unit` is "kB" or "ops", `port` "process" or "thread".

    With `clients` (-+m) IOzone has a line above in place of the parent's rate.
    """
    count = len(block.children)
    see, parent, _ = CHILDREN[block.test]
    rates = [child.rate for child in block.children]
    own = f"\tParent sees throughput for {parent % count}= {block.parent:10.2f} {unit}/sec"
    lines = [
        *(["\tTest running:"] if clients else []),
        f"\tChildren see throughput for {see % count}= {block.total:10.2f} {unit}/sec",
        *([] if clients else [own]),
        f"\tMin throughput per {port} \t\t\t= {min(rates):10.2f} {unit}/sec ",
        f"\tMax throughput per {port} \t\t\t= {max(rates):10.2f} {unit}/sec",
        f"\tAvg throughput per {port} \t\t\t= {block.total / count:10.2f} {unit}/sec",
        f"\tMin xfer \t\t\t\t\t= {min(child.moved for child in block.children):10.2f} {unit}",
    ]
    if cpu:
        word = "CPU Utilization" if block.test == "write" and block.wall_s else "CPU utilization"
        lines.append(
            f"\t{word}: Wall time {block.wall_s:8.3f}    CPU time {block.cpu_s:8.3f}    "
            f"CPU utilization {block.cpu_percent:6.2f} %\n"
        )
    if each:
        lines += [_child_line(number, child, unit) for number, child in enumerate(block.children)]
    return "\n".join(lines) + "\n"


def _child_line(number: int, child: Child, unit: str) -> str:
    rate = f"Throughput = {child.rate:10.2f} {unit}/sec"
    return f"\tChild[{number}] xfer count = {child.moved:10.2f} {unit}, {rate}"


def children_report(
    rows: Iterable[tuple[str, Sequence[float]]],
    record_kb: int,
    unit: str,
    port: str,
    what: str = "Throughput",
) -> str:
    """The quoted report of -R over the numbers of children: a row for each test, a column for each number."""
    lines = [
        f'\n"{what} report Y-axis is type of test X-axis is number of {port}"',
        f'"Record size = {record_kb} kBytes "',
        f'"Output is in {unit}"',
        "",
    ]
    for name, values in rows:
        cells = "".join(f" {f'{value:10.2f}'} " for value in values)
        lines += [f'"{name:>15} "{cells}', ""]
    return "\n".join(lines) + "\n"


Cell = tuple[int, int, str | float]
"""Row and column from 0, and what stands there."""


def sheet_of_table(command: str, rows: Sequence[Row], records_kb: Sequence[int], cpu: bool) -> Iterator[Cell]:
    """The worksheet that -b makes of a single stream's table."""
    yield 0, 0, command
    yield 1, 0, " "
    yield 2, 0, "The top row is records sizes, the left column is file sizes"
    line = 3
    tests = [test for test in REPORTS if any(test in row.values for row in rows)]
    pages = [(_sheet_title(test), test, False) for test in tests]
    pages += [(_cpu_title(test), test, True) for test in tests if cpu]
    for title, test, of_cpu in pages:
        yield line, 0, title
        yield from ((line + 1, 1 + place, float(record)) for place, record in enumerate(records_kb))
        line, column, last = line + 1, 0, None
        for row in rows:
            if row.file_kb != last:
                line, column, last = line + 1, 1, row.file_kb
                yield line, 0, float(row.file_kb)
            yield line, column, row.cpu_percent(test) if of_cpu else float(row.values.get(test, 0))
            column += 1
        line += 1


def _sheet_title(test: str) -> str:
    return " ".join(word.capitalize() for word in REPORTS[test].split())


def _cpu_title(test: str) -> str:
    return f"{REPORTS[test].removesuffix(' report')} CPU utilization report (Zero values should be ignored)"


def sheet_of_children(
    command: str,
    parts: Sequence[tuple[str, str, Sequence[tuple[str, Sequence[float]]]]],
    record_kb: int,
    port: str,
) -> Iterator[Cell]:
    """The worksheet that -b makes of children: for each part its name, its unit, and its rows by test."""
    yield 0, 0, command
    line = 1
    for what, unit, rows in parts:
        yield line, 0, f"{what} report Y-axis is type of test X-axis is number of {port}"
        yield line + 1, 0, f"Record size = {record_kb} kBytes"
        yield line + 2, 0, f"Output is in {unit}"
        line += 3
        for name, values in rows:
            yield line, 0, f"{name:>15} "
            yield from ((line, 2 + place, value) for place, value in enumerate(values))
            line += 1
