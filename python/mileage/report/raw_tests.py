"""Raw tests of drives next to simulated ones, drive specifications and memory technologies, as text and as a page.

Scope: rows of a table.
What it refuses: nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from mileage.model.data_sheet import DataSheet, QuotedRate
from mileage.model.published_rate import rate_text
from mileage.model.raw_tests import Memory, RawTables, SimulatedTest
from mileage.report.quoted_figures import decimal_bytes

_NONE: Final = ""

Row = tuple[str, ...]

_TESTS: Final = {
    "hdparm -Tt, cached": "hdparm.cached",
    "hdparm -Tt, buffered": "hdparm.buffered",
    "--direct, cached": "hdparm.cached_direct",
    "--direct, buffered": "hdparm.buffered_direct",
    "dd read": "dd.read",
    "dd write": "dd.write",
}
"""Titles of the columns, and the tests."""


def test_rows(simulated: Sequence[SimulatedTest]) -> list[Row]:
    """A head, and for each drive a row of what was published and one of what the simulated drive does, in MB/s."""
    found = {(one.drive, one.test): one for one in simulated}
    rows: list[Row] = [("drive", "MB/s", *_TESTS)]
    for drive in dict.fromkeys(one.drive for one in simulated):
        own = [found[drive, test] for test in _TESTS.values()]
        rows.append((drive, "published", *(f"{one.published:,.0f}" for one in own)))
        rows.append(("", "simulated", *map(_simulated, own)))
    return rows


def test_notes(simulated: Sequence[SimulatedTest]) -> list[str]:
    """What else is printed of the tests: each note with those that it is about."""
    about: dict[str, list[str]] = {}
    for one in simulated:
        if one.note:
            tests = about.setdefault(one.note, [])
            name = one.test if one.test.startswith("hdparm") else f"{one.test} of {one.drive}"
            tests += [] if name in tests else [name]
    return [f"{', '.join(tests)}: {note}." for note, tests in about.items()]


def _simulated(one: SimulatedTest) -> str:
    return f"{one.simulated:,.0f} ({one.simulated / one.published:.2f})"


def specification_rows(sheets: Sequence[DataSheet]) -> list[Row]:
    """A head and a row for each data sheet."""
    head = (
        *("drive", "form factor", "link", "medium", "capacity", "cache"),
        *("sequential read / write", "random read / write", "TBW", "DWPD", "power-loss protection"),
    )
    return [head, *map(_specification, sheets)]


def _specification(sheet: DataSheet) -> Row:
    plp = sheet.power_loss_protection
    return (
        sheet.title,
        str(sheet.form_factor.value) if sheet.form_factor else _NONE,
        sheet.link.value if sheet.link else _NONE,
        sheet.medium.value,
        decimal_bytes(sheet.capacity_bytes.value),
        decimal_bytes(sheet.cache_bytes.value) if sheet.cache_bytes else _NONE,
        _pair(sheet, "sequential"),
        _pair(sheet, "random"),
        f"{sheet.rated_tbw.value:,.4g}" if sheet.rated_tbw else _NONE,
        f"{sheet.rated_dwpd.value:g}" if sheet.rated_dwpd else _NONE,
        _NONE if plp is None else "yes" if plp.value else "no",
    )


def _pair(sheet: DataSheet, order: str) -> str:
    """The highest quoted rates of reads and of writes."""
    texts = [_highest(sheet.rate, f"{order}_{direction}") for direction in ("read", "write")]
    return " / ".join(text or "not stated" for text in texts) if any(texts) else _NONE


def _highest(rates: Sequence[QuotedRate], workload: str) -> str:
    own = [rate for rate in rates if rate.workload == workload and rate.unit != "mean_us"]
    best = max(own, key=lambda rate: rate.value, default=None)
    return "" if best is None else rate_text(best.value, best.unit)


def memory_rows(memories: Sequence[Memory]) -> list[Row]:
    """A head and a row for each kind of memory."""
    rows: list[Row] = [
        ("medium", "P/E cycles", "bits per cell", "seek, us", "read, us", "write, us", "erase, us")
    ]
    for one in memories:
        times = (one.seek_us, one.read_us, one.write_us, one.erase_us)
        rows.append(
            (
                one.medium,
                f"{one.pe_cycles:,}" if one.pe_cycles else _NONE,
                f"{one.bits_per_cell}" if one.bits_per_cell else _NONE,
                *(" to ".join(f"{value:,g}" for value in time) for time in times),
            )
        )
    return rows


def raw_tests_page(tables: RawTables, simulated: Sequence[SimulatedTest], sheets: Sequence[DataSheet]) -> str:
    """Markdown page: raw I/O tests of an article next to the simulated rates, in three tables."""
    parts = [
        "# Raw tests, specifications and memories",
        "Written by `mileage drive raw-tests --page FILE`, which runs the built-in study `qmul-2017` on the modelled "
        "host `hpe-dl60-2gib`: means of three runs, the figures of [published studies]"
        "(published-studies.md#qmul-2017). The speed of a copy, which decides -T, is assumed there.",
        "## Raw tests",
        f"Published: {tables.source}, slide Raw Tests. In brackets: simulated over published.",
        *_markdown(test_rows(simulated)),
        *test_notes(simulated),
        "## Drive specifications",
        "From the data sheets that ship with Mileage: the highest quoted rates. An empty cell is not stated.",
        *_markdown(specification_rows(sheets)),
        "## Memory technologies",
        f"{tables.source}, slide Performance. An empty cell is an operation that the medium does not have.",
        *_markdown(memory_rows(tables.memory)),
    ]
    return "\n\n".join(parts) + "\n"


def _markdown(rows: Sequence[Row]) -> Iterator[str]:
    head, *rest = rows
    lines = [head, ("---",) * len(head), *rest]
    yield "\n".join(f"| {' | '.join(row)} |" for row in lines)
