"""The readers of results, and the one for a file.

Scope: each layout has a module with `knows` (does a file begin like this?) and `read` (all of it). They are
asked in the order below; a module is loaded when it is asked.
What it refuses: a file that no reader knows, and one that is not what the user says it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Final, Protocol, cast

from mileage.errors import Refused
from mileage.formats.input_file import Source
from mileage.formats.recognition import seems
from mileage.formats.result import Result, ToolRun
from mileage.formats.sanitize import sound


class Reader(Protocol):
    """Functions that the module of each layout provides."""

    def knows(self, source: Source) -> bool:
        """Whether the beginning of a file has this layout."""

    def read(self, source: Source) -> Result:
        """Read all runs of a file. Raises Refused when it holds none."""


LAYOUTS: Final = {
    "fio-json": ("mileage.formats.fio_json", "fio 3: --output-format=json or json+, also of clients"),
    "fio-text": ("mileage.formats.fio_text", "fio 3: its normal output"),
    "fio-terse": ("mileage.formats.fio_terse", "fio 3: --minimal, terse versions 3 to 5"),
    "fio-logs": (
        "mileage.formats.fio_logs",
        "fio 3: PREFIX_lat.N.log, _clat, _slat, _bw, _iops; of single operations or averages",
    ),
    "fio-hist-log": ("mileage.formats.fio_hist_log", "fio 3: PREFIX_clat_hist.N.log"),
    "fio2-logs": ("mileage.formats.fio2_logs", "the same of fio 2, whose latencies are in microseconds"),
    "iozone-sheet": (
        "mileage.formats.iozone_sheet",
        "IOzone's spreadsheet, -b FILE: BIFF2 whatever its name",
    ),
    "iozone-text": ("mileage.formats.iozone_text", "IOzone's output: one stream, -O, -N, -a, -t, -R"),
    "ior-text": ("mileage.formats.ior_text", "IOR's listing: IOR 2.10, 3 and 4"),
    "ior-data": ("mileage.formats.ior_data", "IOR 3.3 and 4: -O summaryFormat=JSON or CSV"),
    "mdtest": ("mileage.formats.mdtest", "mdtest's table, of mdtest 1.9 and IOR's mdtest 3 and 4"),
    "metarates": ("mileage.formats.metarates", "metarates' rates of create, stat and utime"),
    "io500": ("mileage.formats.io500", "IO500: its result folder, or result_summary.txt in it"),
    "diskspd": ("mileage.formats.diskspd", "DiskSpd's text output"),
    "diskspd-xml": ("mileage.formats.diskspd_xml", "DiskSpd's XML output: -Rxml"),
    "iometer-csv": ("mileage.formats.iometer_csv", "IOMeter's result file"),
    "sysbench": ("mileage.formats.sysbench", "sysbench 1.0: fileio"),
    "bonnie": ("mileage.formats.bonnie", "bonnie++ 1.9x and 2.0: its line of figures, and its table"),
    "crystaldiskmark": ("mileage.formats.crystaldiskmark", "CrystalDiskMark 3 to 9: the text that it saves"),
    "vdbench": (
        "mileage.formats.vdbench",
        "vdbench 5.04: console output, logfile, totals.html, summary.html",
    ),
    "phoronix": ("mileage.formats.phoronix", "Phoronix Test Suite: composite.xml"),
    "samples-csv": (
        "mileage.formats.samples_csv",
        "a table of samples for any other tool: columns cell, repetition, value, unit",
    ),
    "raw-tools": ("mileage.formats.raw_tools", "hdparm -T -t, and dd"),
    "elbencho-text": ("mileage.formats.elbencho_text", "elbencho's console output"),
    "elbencho-json": ("mileage.formats.elbencho_json", "elbencho --jsonfile"),
    "elbencho-csv": ("mileage.formats.elbencho_csv", "elbencho --csvfile"),
}
"""Name of a layout, its module, and what it is."""


def reader_named(layout: str) -> Reader:
    """The reader of a layout. Raises Refused for a name that there is none of."""
    if layout not in LAYOUTS:
        raise Refused(
            "--layout",
            f"there is no layout {layout!r}",
            expected=f"one of {', '.join(LAYOUTS)}",
            code="unknown-name",
        )
    return cast(Reader, import_module(LAYOUTS[layout][0]))


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
