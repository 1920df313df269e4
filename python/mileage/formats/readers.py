"""The readers of results, and the one for a file.

Scope: each layout has a module with `knows` (does a file begin like this?) and `read` (all of it). They are
asked in the order below; a module is loaded when it is asked.
What it refuses: a file that no reader knows, and one that is not what the user says it is.
"""

from __future__ import annotations

import math
import re
import shlex
import tomllib
from collections.abc import Callable, Sequence
from importlib import import_module, resources
from pathlib import Path
from typing import Any, Final, Protocol, cast

import msgspec

from mileage.errors import Refused
from mileage.formats.input_file import Source
from mileage.formats.number_parser import WHOLE_MAX
from mileage.formats.result import Result, ToolRun, Unread, shown
from mileage.terminal import one_line


class Reader(Protocol):
    """Functions that the module of each layout provides."""

    def knows(self, source: Source) -> bool:
        """Whether the beginning of a file has this layout."""

    def read(self, source: Source) -> Result:
        """Read all runs of a file. Raises Refused when it holds none."""


LAYOUTS: Final = {
    "fio-json": "fio 3: --output-format=json or json+, also of clients",
    "fio-text": "fio 3: its normal output",
    "fio-terse": "fio 3: --minimal, terse versions 3 to 5",
    "fio-logs": "fio 3: PREFIX_lat.N.log, _clat, _slat, _bw, _iops; of single operations or averages",
    "fio-hist-log": "fio 3: PREFIX_clat_hist.N.log",
    "fio2-logs": "the same of fio 2, whose latencies are in microseconds",
    "iozone-sheet": "IOzone's spreadsheet, -b FILE: BIFF2 whatever its name",
    "iozone-text": "IOzone's output: one stream, -O, -N, -a, -t, -R",
    "ior-text": "IOR's listing: IOR 2.10, 3 and 4",
    "ior-data": "IOR 3.3 and 4: -O summaryFormat=JSON or CSV",
    "mdtest": "mdtest's table, of mdtest 1.9 and IOR's mdtest 3 and 4",
    "metarates": "metarates' rates of create, stat and utime",
    "io500": "IO500: its result folder, or result_summary.txt in it",
    "diskspd": "DiskSpd's text output",
    "diskspd-xml": "DiskSpd's XML output: -Rxml",
    "iometer-csv": "IOMeter's result file",
    "sysbench": "sysbench 1.0: fileio",
    "pg-test-fsync": "pg_test_fsync of PostgreSQL",
    "bonnie": "bonnie++ 1.9x and 2.0: its line of figures, and its table",
    "crystaldiskmark": "CrystalDiskMark 3 to 9: the text that it saves",
    "vdbench": "vdbench 5.04: console output, logfile, totals.html, summary.html",
    "phoronix": "Phoronix Test Suite: composite.xml",
    "samples-csv": "a table of samples for any other tool: columns cell, repetition, value, unit",
    "raw-tools": "hdparm -T -t, and dd",
    "elbencho-text": "elbencho's console output",
    "elbencho-json": "elbencho --jsonfile",
    "elbencho-csv": "elbencho --csvfile",
}
"""Name of a layout, with "_" for "-" that of its module, and what it is."""


def reader_named(layout: str) -> Reader:
    """The reader of a layout. Raises Refused for a name that there is none of."""
    if layout not in LAYOUTS:
        raise Refused(
            "--layout",
            f"there is no layout {layout!r}",
            expected=f"one of {', '.join(LAYOUTS)}",
            code="unknown-name",
        )
    return cast(Reader, import_module(f"mileage.formats.{layout.replace('-', '_')}"))


def read_source(source: Source, layout: str | None = None) -> Result:
    """Read a file in the named layout, or in the first layout that recognises it. Raises Refused."""
    known = layout or layout_of(source)
    if known is None:
        raise Refused(
            source.path,
            f"{seems(source)} (what can be read: `mileage import --layouts`)",
            code="not-understood",
        )
    try:
        return sound(reader_named(known).read(source))
    except Refused as cause:
        other = layout_of(source)
        if layout in (None, other):
            raise
        words = seems(source) if other is None else f"without --layout it is read as {other}"
        raise cause.advised(words) from cause


def layout_of(source: Source) -> str | None:
    """The first layout whose reader knows a file; None where none does."""
    return next((name for name in LAYOUTS if reader_named(name).knows(source)), None)


def read_sources(
    sources: Sequence[Source], layout: str | None = None, advance: Callable[[int], None] | None = None
) -> list[tuple[Source, Result]]:
    """Read several files, in their order; logs of fio that belong together become one run.

    Logs of one prefix in two folders are two runs. A run of fio's JSON that names the prefix of its logs takes them up,
    those of its own folder where there are several. `advance` is called with the bytes of each file, or of files that
    belong together, when they are read. Raises Refused as :func:`read_source`.
    """
    from mileage.formats import fio2_logs, fio_logs

    def read(own: Sequence[Source], result: Result) -> Result:
        if advance is not None:
            advance(sum(source.size for source in own))
        return result

    units = {fio_logs.LAYOUT: 1, fio2_logs.LAYOUT: fio2_logs.UNIT_NS}
    logs = [source for source in sources if layout in units or (layout is None and fio_logs.knows(source))]
    unit_ns = units.get(layout or "")
    found = {
        id(source): read([source], read_source(source, layout)) for source in sources if source not in logs
    }
    groups: dict[tuple[Path, str], list[Source]] = {}
    for source in logs:
        groups.setdefault((source.path.parent, fio_logs.identity(source)[0]), []).append(source)
    runs = [(source, run) for source in sources if id(source) in found for run in found[id(source)].runs]
    for (folder, prefix), group in groups.items():
        named = [(source, run) for source, run in runs if prefix in _prefixes(run)]
        owners = [run for source, run in named if source.path.parent == folder] or [run for _, run in named]
        # A log named by a JSON file has the unit of fio 3, because only JSON of fio 3 is accepted.
        unit = 1 if owners else unit_ns
        if len(owners) == 1:
            result = read(group, sound(fio_logs.read_group(group, unit)))
            fio_logs.attach(owners[0], result.runs.pop())
            found[id(group[0])] = result
            continue
        numbers: dict[str, list[Source]] = {}
        for source in group:
            numbers.setdefault(fio_logs.identity(source)[1], []).append(source)
        for own in numbers.values():
            found[id(own[0])] = read(own, sound(fio_logs.read_group(own, unit)))
    nothing = Result(tool="fio", version=None, layout=fio_logs.LAYOUT, runs=[])
    return [(source, found.get(id(source), nothing)) for source in sources]


def _prefixes(run: ToolRun) -> set[str]:
    """Prefixes of the logs that a run of fio's JSON names."""
    names = (run.levels.get(f"write_{kind}_log", "") for kind in ("lat", "bw", "iops"))
    return {name.rpartition("/")[2] for name in names if name}


# Identify a file that no reader accepts, and advise what to do.
# Scope: marks in the beginning of a file, by which a person would see whose it is: the tool's name, a heading,
# the form of a line. Each has an advice: the option by which the tool prints what can be read, or the command for it.
# What it refuses: guesses. A file without a mark is shown by its first line.

_NO_READER: Final = (
    "there is no reader for it; its figures can be imported as a CSV file with the columns cell, repetition, "
    "value and unit"
)


def seems(source: Source) -> str:
    """Identify a file and give advice: "it seems to be fio's normal text; run fio with ..."."""
    head = source.text_head
    if b"\0" in source.head and not source.wide:
        return "the format of this file is not known, and it is binary; import the text that the tool printed"
    marks = resources.files("mileage.formats").joinpath("marks.toml").read_text(encoding="utf-8")
    for mark in tomllib.loads(marks)["mark"]:
        if re.search(mark["pattern"], head, re.MULTILINE):
            # Insert the file's own name, so that the command can be copied as it is.
            file, folder = (shlex.quote(str(path)) for path in (source.path, source.path.parent))
            advice = mark.get("advice", _NO_READER).replace("FILE", file).replace("FOLDER", folder)
            return f"it seems to be {mark['is']}; {advice}"
    first = next((line for line in head.split("\n") if line.strip()), "")
    return f"the format of this file is not known; it begins with {shown(first)!r}"


# The last look at what a reader made of a stranger's file, before it goes into tables and onto terminals.
# Scope: texts of one harmless line each, of bounded length; figures
# that are finite and fit the tables.
# A figure that cannot be becomes None, and is named among what was not understood.

TEXT_MAX: Final = 300
"""Characters of a label or a setting."""
LINE_MAX: Final = 4000
"""Characters of a command line or a note."""
FIGURE_MAX: Final = 1e24
"""Bytes or operations per second, seconds, nanoseconds: more than this is damage."""
_FIGURES: Final = ("rate_bytes_per_s", "ops_per_s", "latency_p99_ns", "elapsed_s", "latency_sum_ns")
_COUNTS: Final = ("bytes_read", "bytes_written", "ops_read", "ops_written", "outstanding", "device_bytes")


def sound(result: Result) -> Result:
    """A copy of a result whose texts are safe to print in tables and on terminals."""
    unsound = [
        Unread(run.line, run.cell, f"figures that cannot be: {', '.join(_changes(run))}")
        for run in result.runs
    ]
    unsound = [entry for entry, run in zip(unsound, result.runs, strict=True) if _changes(run)]
    return msgspec.structs.replace(
        result,
        version=_maybe(result.version),
        began=_maybe(result.began),
        command=None if result.command is None else tidy(result.command, LINE_MAX),
        machine=_texts(result.machine),
        facts=_texts(result.facts),
        unread=[
            Unread(entry.line, tidy(entry.text), tidy(entry.why)) for entry in [*result.unread, *unsound]
        ],
        lost=[tidy(text, LINE_MAX) for text in result.lost],
        runs=[_run(run) for run in result.runs],
    )


def tidy(text: str, most: int = TEXT_MAX) -> str:
    """A text that cannot steer a terminal, of at most the given number of characters."""
    text = one_line(text[: most + 1])
    return text if len(text) <= most else f"{text[: most - 3]}..."


def _maybe(text: str | None) -> str | None:
    return None if text is None else tidy(text)


def _texts(texts: dict[str, str]) -> dict[str, str]:
    return {tidy(key): tidy(value) for key, value in texts.items()}


def _changes(run: ToolRun) -> dict[str, None]:
    """The figures of a run that cannot be, each with what takes its place."""
    found: dict[str, None] = {}
    for name in (*_FIGURES, *_COUNTS):
        value = getattr(run, name)
        if value is not None and not 0 <= value <= (FIGURE_MAX if name in _FIGURES else WHOLE_MAX):
            found[name] = None
    return found


def _run(run: ToolRun) -> ToolRun:
    changes: dict[str, Any] = dict(_changes(run))
    notes = [tidy(note, LINE_MAX) for note in run.notes]
    latency = {kind: found for kind, found in run.latency.items() if 0 < found.count <= WHOLE_MAX}
    if len(latency) < len([found for found in run.latency.values() if found.count]):
        notes.append("a histogram counts more operations than can be; it is ignored")
    return msgspec.structs.replace(
        run,
        **changes,
        cell=tidy(run.cell) or "unnamed",
        title=tidy(run.title),
        levels=_texts(run.levels),
        latency=latency,
        counters={tidy(name): value for name, value in run.counters.items() if 0 <= value <= WHOLE_MAX},
        quantiles_ns={name: value for name, value in run.quantiles_ns.items() if math.isfinite(value)},
        printed=[(tidy(name), value) for name, value in run.printed if math.isfinite(value)],
        notes=notes,
        error=_maybe(run.error),
        invalid=_maybe(run.invalid),
    )
