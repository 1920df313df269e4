"""Output of `mileage iozone`: the head, the table or the blocks, the reports, the worksheet.

Scope: from the records of a study to the figures that IOzone prints of such runs.
What it refuses: a worksheet that cannot be written.
"""

from __future__ import annotations

import os
import shlex
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from mileage.dropin.dropin_study import DropinResult, print_notes
from mileage.dropin.flags import GivenFlags
from mileage.dropin.iozone_manner import compute_ms, is_without_streams, verify_splash
from mileage.dropin.task_values import whole_number
from mileage.errors import Refused
from mileage.formats import iozone_print as layout
from mileage.formats.worksheet import write_sheet
from mileage.model.run_record import RunRecord, TestResult, TimedBytes
from mileage.plan.iozone_suite import IOZONE as TESTS
from mileage.plan.iozone_suite import NUMBERED, RETESTS, Suite, SuiteValue

if TYPE_CHECKING:
    from mileage.plan import PlannedRun


_KB: Final = 1024
_S: Final = 1e9
_VERSION: Final = "\t        Version $Revision: 3.471 $\n"

_SPLASH: Final = {
    "-a": "Auto Mode",
    "-c": "Include close in write timing",
    "-e": "Include fsync in write timing",
    "-I": "O_DIRECT feature enabled",
    "-R": "Excel chart generation enabled",
    "-O": "OPS Mode. Output is in operations per second.",
    "-N": "Microseconds/op Mode. Output is in microseconds per operation.",
    "-o": "SYNC Mode. ",
    "-w": "Setting no_unlink",
    "-x": "Stonewall disabled",
    "-z": "Cross over of record size disabled.",
    "-+n": "No retest option selected",
    "-+D": ">>> O_DSYNC mode enabled. <<<",
    "-+B": ">>> Sequential Mixed workload. <<<",
    "-+J": ">>> Think time is included in throughput cal. <<<",
    "-+u": "CPU utilization Resolution = 0.000 seconds.\n\tCPU utilization Excel chart enabled",
    "-B": "Using mmap files",
    "-D": "Using msync(MS_ASYNC) on mmap files",
    "-G": "Using msync(MS_SYNC) on mmap files",
    "-K": "Disrupted read patterns selected.",
    "-p": "Purge Mode On",
    "-Q": "Offset/latency files enabled.",
    "-+Z": "Using old data sets.\n\t Performance measurements may be invalid in this\n\t mode due to published hack.",
    "-+m": "Network distribution mode enabled.",
    "-+d": ">>> I/O Diagnostic mode enabled. <<<\n\tPerformance measurements are invalid in this mode.",
}
"""Lines of the head in which the flag's value is not; parsers look for them."""
_SPLASH_SIZES: Final = {
    "-s": "File size set to {} kB",
    "-r": "Record Size {} kB",
    "-n": "Using minimum file size of {} kilobytes.",
    "-g": "Using maximum file size of {} kilobytes.",
    "-y": "Using Minimum Record Size {} kB",
    "-q": "Using Maximum Record Size {} kB",
}
_SPLASH_VALUES: Final = {
    "-+w": "Dedup activated {} percent.",
    "-+y": "Dedup within & across {} percent.",
    "-+C": "Dedup within {} percent.",
    "-+p": "Percent read in mix test is {}",
    "-+q": "Delay {} seconds between tests enabled.",
    "-+h": "Hostname = {}",
    "-H": "POSIX async I/O (with bcopy). Depth {}",
    "-k": "POSIX Async I/O (no bcopy). Depth {} ",
    "-P": "Binding of processors beginning with {} ",
}


def version_text() -> str:
    """Output of -v."""
    from mileage import __version__

    return f"\tIozone: Performance Test of File I/O\n{_VERSION}\t\tBuild: Mileage {__version__}\n"


def head_text(given: GivenFlags, asked: IozoneRequest) -> str:
    """Everything above the first figures."""
    lines = [version_text(), f"\tRun began: {time.ctime()}", ""]
    for flag, value in given.flags:
        if flag.spelling in _SPLASH:
            lines.append(f"\t{_SPLASH[flag.spelling]}")
        elif flag.spelling in _SPLASH_SIZES:
            lines.append(f"\t{_SPLASH_SIZES[flag.spelling].format(size_of(flag.spelling, value) // _KB)}")
        elif flag.spelling in _SPLASH_VALUES:
            lines.append(f"\t{_SPLASH_VALUES[flag.spelling].format(value)}")
        elif flag.spelling == "-i" and is_unknown(value):
            lines.append("\tSelected test not available on the version.")
        elif flag.spelling == "-V":
            lines.append(f"\t{verify_splash(value)}")
        elif flag.spelling == "-M":
            lines.append(f"\n\tMachine = {_machine()}\n")
    lines.append(f"\tCommand line used: {_command(given)}")
    if not given.has("-O") and not given.has("-N"):
        lines.append("\tOutput is in kBytes/sec")
    if given.has("-J") and not (given.last("-J") or "").strip().startswith("-"):
        lines.append(f"\tCompute time {compute_ms(given) / 1000:.6f} seconds for reads and writes.")
    lines += [
        "\tTime Resolution = 0.000001 seconds.",
        f"\tProcessor cache size set to {given.last('-S') or 1024} kBytes.",
        f"\tProcessor cache line size set to {given.last('-L') or 32} bytes.",
        f"\tFile stride size set to {given.last('-j') or 17} * record size.",
    ]
    head = "" if asked.children else layout.table_head(_columns(given))
    return "\n".join(lines + _head_of_children(given, asked)) + "\n" + head


def _columns(given: GivenFlags) -> layout.Columns:
    if given.has("-E"):
        return layout.EXTENDED_COLUMNS
    return layout.SHORT_COLUMNS if is_without_streams(given) else layout.COLUMNS


def _head_of_children(given: GivenFlags, asked: IozoneRequest) -> list[str]:
    if not asked.children:
        return []
    lines = []
    if given.has("-l") or given.has("-u"):
        lines += [f"\tMin process = {min(asked.children)} ", f"\tMax process = {max(asked.children)} "]
    # IOzone prints the last -t, and the first number of -l and -u.
    count = asked.children[0] if given.has("-l") or given.has("-u") else int(given.every("-t")[-1])
    return [*lines, f"\tThroughput test with {count} {_ports(given) if count > 1 else _port(given)}"]


def _command(given: GivenFlags) -> str:
    """The command line with words that are no flags at its end, where the C library's getopt puts them."""
    last = list(given.operands)
    words = []
    for word in reversed(given.words):
        if last and word == last[-1]:
            last.pop()
        else:
            words.append(word)
    return shlex.join(["iozone", *reversed(words), *given.operands])


def _port(given: GivenFlags) -> str:
    return "thread" if given.has("-T") else "process"


def _ports(given: GivenFlags) -> str:
    return "threads" if given.has("-T") else "processes"


def text_of_run(given: GivenFlags, asked: IozoneRequest, run: PlannedRun, record: RunRecord) -> str:
    """Output for one run: a row of the table, or the blocks of one number of children."""
    if not isinstance(run.job, Suite):
        return ""
    if not asked.children:
        return layout.table_row(_row(given, run.job.value, record), _columns(given))
    return children_text(given, run.job.value, blocks_of(given, run.job.value, record))


class PartialText:
    """Text of a run in pieces: after each test what the text has more by then, at the end the rest.

    Tests are done in the order of the columns, or of the blocks, so that each piece follows from what is done.
    """

    def __init__(self, given: GivenFlags, asked: IozoneRequest) -> None:
        self._given = given
        self._asked = asked
        self._begun = -1
        self._results: list[TestResult] = []
        self._printed = ""

    def tested(self, run: PlannedRun, result: TestResult) -> str:
        """What the text has more after this test."""
        if not isinstance(run.job, Suite):
            return ""
        if run.index != self._begun:
            self._begun, self._results, self._printed = run.index, [], ""
        self._results.append(result)
        given, value = self._given, run.job.value
        if self._asked.children:
            blocks = [_block(given, value, one) for one in self._results]
            return self._more(children_text(given, value, blocks, done=False))
        row = row_of(given, value, self._results)
        return self._more(layout.row_until(row, _columns(given), result.test))

    def rest(self, run: PlannedRun, record: RunRecord) -> str:
        """What is not printed yet of a finished run."""
        text = text_of_run(self._given, self._asked, run, record)
        return self._more(text) if run.index == self._begun else text

    def _more(self, text: str) -> str:
        more = text[len(self._printed) :]
        self._printed = text
        return more


def nothing_text(given: GivenFlags, asked: IozoneRequest) -> str:
    """What follows the head where no test is done: rows without figures, and the end."""
    if asked.children:
        sizes = asked.sizes[0][0] // _KB, asked.sizes[0][1] // _KB
        rows = [
            f"\tEach {_port(given)} writes a {sizes[0]} kByte file in {sizes[1]} kByte records\n\n\n"
            for _ in asked.children
        ]
    else:
        rows = [
            layout.table_row(layout.Row(file // _KB, record // _KB, {}), _columns(given))
            for file, record in asked.sizes
        ]
    return "".join([*rows, "\niozone test complete.\n"])


def print_end(given: GivenFlags, asked: IozoneRequest, done: DropinResult) -> None:
    """Print IOzone's closing lines, and write the Excel worksheet if -b was given. Raises Refused."""
    if asked.children:
        _end_children(given, asked, done)
    else:
        _end_single(given, asked, done)


def _end_single(given: GivenFlags, asked: IozoneRequest, done: DropinResult) -> None:
    rows = [_row(given, run.job.value, record) for run, record in done.runs() if isinstance(run.job, Suite)]
    out = ["\niozone test complete.\n"]
    cpu = given.has("-+u")
    reports = _with_skipped(rows, asked)
    if given.has("-R") or given.has("-b"):
        out.append(layout.table_reports(reports, asked.records_kb, cpu))
    if cpu:
        out.append(layout.table_times(rows))
    sys.stdout.write("".join(out))
    if sheet := given.last("-b"):
        write_sheet(Path(sheet), layout.sheet_of_table(_command(given) + " ", reports, asked.records_kb, cpu))


def _with_skipped(rows: list[layout.Row], asked: IozoneRequest) -> list[layout.Row]:
    """The rows, with zeros in the reports for small records of large files that -a skips."""
    found = {(row.file_kb, row.record_kb) for row in rows}
    tests = rows[0].values
    zeros = [
        layout.Row(file, record, dict.fromkeys(tests, 0))
        for file in dict.fromkeys(file for file, _ in found)
        for record in asked.records_kb
        if len(found) > 1 and record <= file and (file, record) not in found
    ]
    return sorted([*rows, *zeros], key=lambda row: (row.file_kb, row.record_kb))


def _row(given: GivenFlags, suite: SuiteValue, record: RunRecord) -> layout.Row:
    return row_of(given, suite, record.results or ())


def row_of(given: GivenFlags, suite: SuiteValue, results: Sequence[TestResult]) -> layout.Row:
    """The row of the table, in the unit that the flags choose."""
    values: dict[str, int] = {}
    used_s: dict[str, tuple[float, float]] = {}
    for result in results:
        values[result.test] = int(_figure(given, result.record))
        used_s[result.test] = result.record.elapsed_s, result.record.usage.cpu_ns / _S
    if given.has("-+n"):
        pairs = (
            *(("write", "rewrite"), ("read", "reread"), ("fwrite", "frewrite"), ("fread", "freread")),
            *(("pwrite", "repwrite"), ("pread", "repread")),
        )
        values |= {again: 0 for first, again in pairs if first in values}
    return layout.Row(suite.file_bytes // _KB, suite.record_bytes // _KB, values, used_s)


def _figure(given: GivenFlags, record: RunRecord) -> float:
    """Kilobytes per second, operations per second, or microseconds per operation; 0 when no time passed."""
    # The compute cycles of -J, which the single thread has.
    computed_ns = 0 if given.has("-+J") else sum(thread.computed_ns for thread in record.threads)
    seconds = (record.elapsed_ns - computed_ns) / _S
    ops = record.ops_read + record.ops_written
    if not seconds or not ops:
        return 0.0
    if given.has("-N"):
        return float(seconds * 1e6 / ops)
    if given.has("-O"):
        return float(ops / seconds)
    return float(record.bytes_moved / _KB / seconds)


def blocks_of(given: GivenFlags, suite: SuiteValue, record: RunRecord) -> list[layout.Block]:
    """The tests of one number of children, in IOzone's order."""
    blocks = [_block(given, suite, result) for result in record.results or ()]
    return sorted(blocks, key=lambda block: list(layout.CHILDREN).index(block.test))


def children_text(
    given: GivenFlags, suite: SuiteValue, blocks: list[layout.Block], *, done: bool = True
) -> str:
    """The text of the tests of one number of children; `done`: with its end."""
    clients = given.has("-+m")
    unit = "ops" if given.has("-O") else "kB"
    sizes = suite.file_bytes // _KB, suite.record_bytes // _KB
    out = [f"\tEach {_port(given)} writes a {sizes[0]} kByte file in {sizes[1]} kByte records\n"]
    for block in blocks:
        each, cpu = given.has("-C"), given.has("-+u")
        text = layout.children_block(block, unit, _port(given), each=each, cpu=cpu, clients=clients)
        out.append("\n" + text)
    if not done:
        return "".join(out)
    return "".join([*out, "\n\tTest cleanup:" if clients and not given.has("-w") else "", "\n\n"])


def _end_children(given: GivenFlags, asked: IozoneRequest, done: DropinResult) -> None:
    columns = {
        run.job.value.workers or 1: blocks_of(given, run.job.value, record)
        for run, record in done.runs()
        if isinstance(run.job, Suite)
    }
    parts = parts_of(given, columns, given.has("-+u"))
    record_kb = asked.sizes[0][1] // _KB
    out = []
    if given.has("-R") or given.has("-b"):
        for what, label, rows in parts:
            out.append(layout.children_report(rows, record_kb, label, _ports(given), what))
    sys.stdout.write("".join([*out, "\niozone test complete.\n"]))
    if sheet := given.last("-b"):
        cells = layout.sheet_of_children(_command(given) + " ", parts, record_kb, _ports(given))
        write_sheet(Path(sheet), cells)


Part = tuple[str, str, list[tuple[str, list[float]]]]


def parts_of(given: GivenFlags, columns: dict[int, list[layout.Block]], cpu: bool) -> list[Part]:
    """The report of rates, and of the processors where wanted: rows by test, a figure for each number of children."""
    tests = [block.test for block in next(iter(columns.values()))]
    if given.has("-+n"):
        pairs = {"write": "rewrite", "read": "reread"}
        tests = [one for test in tests for one in (test, *([pairs[test]] if test in pairs else []))]

    def rows(of_cpu: bool) -> list[tuple[str, list[float]]]:
        found = []
        for test in tests:
            blocks = [next((one for one in column if one.test == test), None) for column in columns.values()]
            values = [0.0 if one is None else one.cpu_percent if of_cpu else one.total for one in blocks]
            found.append((layout.CHILDREN[test][2], values))
        return found

    label = "ops/sec" if given.has("-O") else "kBytes/sec"
    parts: list[Part] = [("Throughput", label, rows(False))]
    if cpu:
        parts.append(("CPU utilization", "CPU%", rows(True)))
    return parts


def _block(given: GivenFlags, suite: SuiteValue, result: TestResult) -> layout.Block:
    size = suite.record_bytes if given.has("-O") else _KB
    workers, record = result.workers, result.record
    assert workers is not None

    def rate(moved: TimedBytes) -> float:
        return moved.bytes / size * _S / moved.ns if moved.ns else 0.0

    children = tuple(layout.Child(child.bytes / size, rate(child)) for child in workers.children)
    cpu_s = record.usage.cpu_ns / _S
    return layout.Block(result.test, children, rate(workers.parent), record.elapsed_s, cpu_s)


def _machine() -> str:
    """The machine in one line, as `uname -a` begins."""
    return " ".join(os.uname())


# Tests of a command line of IOzone: the numbers of `-i`, the tests that IOzone skips, and the order.
# What it refuses: nothing; of tests that IOzone skips without a word it prints a note.

_MISSING: Final = 11
"""The test that IOzone's builds for Linux do not have; they count every larger number as 0."""


def is_unknown(number: str) -> bool:
    """Whether IOzone counts this number of `-i` as 0, and prints a line that says so."""
    return number.isdecimal() and int(number.lstrip("0")[:9] or "0") > _MISSING


def tests_of(given: GivenFlags, together: bool) -> tuple[str, ...]:
    """Names of the tests, in the order in which they are done; none where IOzone does none. Raises Refused."""
    numbers = [
        whole_number(given, "-i", text, 0, 99) if text[:1].isdecimal() or text[:1] == "-" else 0
        for text in given.every("-i")
    ]
    print_notes(
        [
            f"-i {text}: IOzone takes 0 where there is no number"
            for text in given.every("-i")
            if not (text[:1].isdecimal() or text[:1] == "-")
        ]
    )
    if _MISSING in numbers:
        print_notes([f"-i {_MISSING}: no Linux build of IOzone has pwritev, and so nothing is done of it"])
    if set(numbers) == {_MISSING}:
        return ()
    if unknown := [number for number in dict.fromkeys(numbers) if number > _MISSING]:
        print_notes([f"-i {number}: IOzone does not have it and does test 0" for number in unknown])
    numbers = [0 if number > _MISSING else number for number in numbers if number != _MISSING]
    omitted = _omitted(given, together)
    wanted = {NUMBERED[number] for number in numbers} or set(NUMBERED) - omitted
    if numbers and (never := wanted & omitted):
        word = "with -t" if together else "without -t" if "mix" in never else "without -E"
        if is_without_streams(given):
            word = "with mmap or asynchronous I/O"
        print_notes(
            [
                f"{', '.join(sorted(never))}: IOzone leaves this test out {word}, and so nothing is printed of it"
            ]
        )
    wanted -= omitted
    retests = ("frewrite", "freread", "repwrite", "repread") if together else ()
    none = RETESTS if given.has("-+n") else retests
    order = _TOGETHER if together else tuple(TESTS)
    return tuple(test for test in order if TESTS[test][0] in wanted and test not in none)


def _omitted(given: GivenFlags, together: bool) -> set[str]:
    """Groups that IOzone does not do whatever -i says."""
    found = {"record_rewrite"} if together else {"mix"}
    if not together and not given.has("-E"):
        found |= {"pwrite", "pread"}
    return found | ({"fwrite", "fread", "pwrite", "pread"} if is_without_streams(given) else set())


_TOGETHER: Final = (
    *("write", "rewrite", "read", "reread", "backward_read", "stride_read", "random_read", "mix"),
    *("random_write", "pwrite", "pread", "fwrite", "fread"),
)
"""The order of children."""


# A command line of IOzone as a value: its tests, sizes, children and files.

_REQUEST_KB: Final = 1024
CHILDREN_MAX: Final = 1024
_RECORD: Final = 4 * _REQUEST_KB
"""The record of -r without a number."""


@dataclass(frozen=True)
class IozoneRequest:
    """Request parsed from a command line of IOzone; sizes in bytes."""

    tests: tuple[str, ...]
    """Names such as "random_read"."""
    sizes: tuple[tuple[int, int], ...]
    """File and record of each row."""
    records_kb: tuple[int, ...]
    """The columns of the reports."""
    children: tuple[int, ...]
    """Numbers of children; none for a single stream."""
    place: Path
    name: str
    files: tuple[str, ...]


def size_of(flag: str, text: str) -> int:
    """Convert a size as IOzone takes it to bytes: a number alone counts KiB; suffixes k, m, g are KiB, MiB, GiB.

    `flag` is named in the error. A record without a number is 4 kB, as IOzone has it. Raises Refused.
    """
    if flag == "-r" and not text[:1].isdecimal():
        return _RECORD
    factors = {"k": _REQUEST_KB, "m": _REQUEST_KB**2, "g": _REQUEST_KB**3}
    digits, factor = (
        (text[:-1], factors[text[-1].lower()]) if text[-1:].lower() in factors else (text, _REQUEST_KB)
    )
    if not (digits.isascii() and digits.isdecimal() and len(digits) < 16 and int(digits) > 0):
        raise Refused(
            f"iozone: {flag} {text}",
            expected="kB as a whole number, or one with k, m or g, such as 64k",
            code="wrong-value",
        )
    return int(digits) * factor
