"""Where each figure and table of the sources is drawn from the studies of Mileage.

Scope: one row for each group of figures or tables that a source prints, with the study that has its data and the
files in the study's folder. A study that was written without charts, or is not there, has none, and the count says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple


class Drawn(NamedTuple):
    """Figures or tables of a source. `files`: a pattern in the folder of `study`; empty where a command prints them."""

    source: str
    what: str
    study: str
    files: str
    number: int
    differs: str = ""


DRAWN: Final = (
    Drawn("X25-E, figure 1", "layout of the files of IOR", "x25e-2010", "figures/layout_ior_*.svg", 2,
          "one for each of the two runs"),
    Drawn("X25-E, figures 2 to 14", "throughput before and after, by record", "x25e-2010",
          "figures/iozone_*.svg", 13, "MB/s; the source's axes are KB/s"),
    Drawn("X25-E, figures 15 to 18", "operations per second before and after", "x25e-2010",
          "figures/iozone_*_iops.svg", 4),
    Drawn("X25-E, figures 19 to 21", "metadata before and after, by tasks", "x25e-2010",
          "figures/metarates_*.svg", 3),
    Drawn("X25-E, lists of differences", "what favours before and after", "x25e-2010", "report.html", 1,
          "the section Largest changes of each test"),
    Drawn("X25-E, description of the system", "what was run on what", "x25e-2010", "report.html", 1,
          "the section Environment; the modelled host is `mileage plan x25e-2010`"),
    Drawn("SandForce, figures 1 to 13", "difference in percent by record and data", "sandforce-2011",
          "figures/iozone_*_change.svg", 13),
    Drawn("SandForce, figures 14 to 17", "difference in operations per second by data", "sandforce-2011",
          "figures/iozone_*_iops_change.svg", 4),
    Drawn("SandForce, tables 1 to 13", "worst case and largest gain of each test", "sandforce-2011",
          "report.html", 1, "the section Largest changes of each test"),
    Drawn("SandForce, tables 14 to 16", "all differences with standard deviation", "sandforce-2011",
          "tables/differences_*.csv", 2, "writes and reads; 4 KiB stand among them"),
    Drawn("QMUL, drive specifications", "data sheets", "", "", 0, "`mileage list datasheets`"),
    Drawn("QMUL, raw tests", "hdparm and dd, eight drives", "qmul-2017", "figures/hdparm_*.svg", 4,
          "`mileage drive raw-tests` prints the table with the published figures"),
    Drawn("QMUL, dd", "writes and reads of dd", "qmul-2017", "figures/dd_*.svg", 2),
    Drawn("QMUL, IOzone tests 1 and 2", "throughput with many threads, by drive", "qmul_iozone",
          "figures/iozone_*.svg", 8, "the talk prints no figures; five flash drives, 2 GiB for each thread"),
    Drawn("QMUL, Optane vs SLC", "throughput with six threads", "optane_or_flash", "figures/iozone_*.svg", 8,
          "the talk prints no figures"),
    Drawn("QMUL, IOzone ratio", "drives against one of them", "qmul_iozone", "figures/iozone_*_change.svg", 24),
    Drawn("QMUL, NVMe", "rate behind the cache of one-bit cells", "slc_cache", "figures/headline_runs.svg", 1,
          "rate over the bytes written, with the change of level"),
    Drawn("AnandTech, sequential reads", "rate by kind and number of disks", "anandtech-2009",
          "figures/throughput_read.svg", 1, "`mileage drive array-tests` adds published rates and ranks"),
    Drawn("AnandTech, one and two controllers", "the same with two controllers", "anandtech-2009",
          "figures/levels.svg", 1),
)  # fmt: skip
_PARTS: Final = ("_change", "_iops")
"""Parts of names that files have only where the pattern has them."""
EXAMPLES: Final = tuple(dict.fromkeys(row.study for row in DRAWN if "_" in row.study))
"""Studies among them that are files in examples/."""


def found_files(row: Drawn, folder: Path) -> list[Path]:
    """The files of a row in the folder that holds the studies."""
    if not row.files:
        return []
    found = sorted((folder / row.study).glob(row.files))
    return [path for path in found if all((part in path.stem) == (part in row.files) for part in _PARTS)]


def figure_rows(folder: Path) -> Iterator[tuple[str, str, str, str, str]]:
    """The table of the page: source, what it shows, where it is here, files found of those expected, what differs."""
    yield "source", "what it shows", "here", "files", "what differs"
    for row in DRAWN:
        place = f"`{row.study}/{row.files}`" if row.files else "a command"
        count = f"{len(found_files(row, folder))} of {row.number}" if row.files else "–"
        yield row.source, row.what, place, count, row.differs
