"""The readers of results, and the one for a file.

What it models: each layout has a module with `knows` (does a file begin like this?) and `read` (all of it). They are
asked in the order below; a module is loaded when it is asked.
What it refuses: a file that no reader knows, and one that is not what the user says it is.
"""

from __future__ import annotations

from importlib import import_module
from typing import Final, Protocol, cast

from mileage.errors import Refused
from mileage.formats.result import Result
from mileage.formats.sound import sound
from mileage.formats.source import Source


class Reader(Protocol):
    """What a module of a layout has."""

    def knows(self, source: Source) -> bool:
        """Whether a file begins as this layout does."""

    def read(self, source: Source) -> Result:
        """All runs of a file. Raises Refused when it holds none."""


LAYOUTS: Final = {
    "fio-json": ("mileage.formats.fio_json", "fio 3: --output-format=json or json+, also of clients"),
    "iozone-sheet": (
        "mileage.formats.iozone_sheet",
        "IOzone's spreadsheet, -b FILE: BIFF2 whatever its name",
    ),
    "iozone-text": ("mileage.formats.iozone_text", "IOzone's output: one stream, -O, -N, -a, -t, -R"),
    "ior-text": ("mileage.formats.ior_text", "IOR's listing: IOR 2.10, 3 and 4"),
    "ior-data": ("mileage.formats.ior_data", "IOR 3.3 and 4: -O summaryFormat=JSON or CSV"),
    "mdtest": ("mileage.formats.mdtest", "mdtest's table, of mdtest 1.9 and IOR's mdtest 3 and 4"),
    "metarates": ("mileage.formats.metarates", "metarates' rates of create, stat and utime"),
    "elbencho-csv": ("mileage.formats.elbencho_csv", "elbencho --csvfile"),
}
"""Name of a layout, its module, and what it is."""


def reader_named(layout: str) -> Reader:
    """The reader of a layout. Raises Refused for a name that there is none of."""
    if layout not in LAYOUTS:
        raise Refused(f"there is no layout {layout!r}; expected one of {', '.join(LAYOUTS)}")
    return cast(Reader, import_module(LAYOUTS[layout][0]))


def read_source(source: Source, layout: str | None = None) -> Result:
    """What a file holds, read as the layout that is named, or as the first that knows it. Raises Refused."""
    if layout is not None:
        return sound(reader_named(layout).read(source))
    for name in LAYOUTS:
        reader = reader_named(name)
        if reader.knows(source):
            return sound(reader.read(source))
    raise Refused(
        f"{source.path}: no reader knows this file; name its layout with --layout: {', '.join(LAYOUTS)}"
    )
