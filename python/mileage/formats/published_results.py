"""Results that a source printed, as CSV (profiles/published, or a file of the user's).

Scope: lines that begin with # name the source; then a header and one row for each result.
What it refuses: columns that are missing or unknown, figures that are no numbers, units and statements that nobody
judges, ranges with ends in the wrong order; each with its line.
"""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import Final

from mileage.errors import Refused, closest
from mileage.model.published_result import CHANGE, RATIO, STATEMENTS, UNITS, PublishedResult, PublishedStudy
from mileage.plan.sizes import parse_bytes, record_words
from mileage.regular_file import read_regular
from mileage.targets.profiles import profile_folder

COLUMNS: Final = (
    "place", "workload", "record", "threads", "levels", "over",
    "low", "high", "unit", "spread", "verdict", "use", "note",
)  # fmt: skip
OPTIONAL: Final = ("why_off",)
_BYTES_MAX: Final = 16 << 20


def published_names() -> tuple[str, ...]:
    """Names of the sources that ship with Mileage, sorted."""
    folder = _folder()
    return () if folder is None else tuple(sorted(path.stem for path in folder.glob("*.csv")))


def read_published_study(name: str) -> PublishedStudy:
    """The results of a shipped source by its name, or of a CSV file by its path. Raises Refused."""
    folder = _folder()
    shipped = folder is not None and name in published_names()
    path = folder / f"{name}.csv" if shipped and folder is not None else Path(name)
    if not shipped and not path.is_file():
        close = closest(name, published_names())
        raise Refused(
            f"--published {name}",
            "is neither a source that ships with Mileage nor a file",
            expected=f"one of {', '.join(published_names())}, or the path of a CSV file",
            advice=f"did you mean {close}?" if close else "",
            code="unknown-name",
        )
    try:
        lines = read_regular(path, _BYTES_MAX).decode().splitlines()
    except (OSError, UnicodeDecodeError) as cause:
        raise Refused(path, f"cannot be read: {cause}", code="unreadable") from cause
    source = tuple(line[1:].strip() for line in lines if line.startswith("#"))
    if not all(line.isprintable() for line in source):
        raise Refused(path, "has control characters in its first lines", code="malformed")
    rows = [(number, line) for number, line in enumerate(lines, 1) if line and not line.startswith("#")]
    table = list(csv.reader(line for _, line in rows))
    if not table:
        raise Refused(path, "is empty", expected=f"the columns {', '.join(COLUMNS)}", code="empty")
    header = table[0]
    if missing := [column for column in COLUMNS if column not in header]:
        raise Refused(path, f"has no column {missing[0]}", found=", ".join(header), code="malformed")
    if unknown := [column for column in header if column not in (*COLUMNS, *OPTIONAL)]:
        raise Refused(path, f"has the unknown column {unknown[0]}", code="unknown-key")
    results = tuple(
        _Row(path, number, header, fields).result
        for (number, _), fields in zip(rows[1:], table[1:], strict=True)
    )
    return PublishedStudy(name if shipped else path.stem, source, results)


def shipped_study(name: str) -> PublishedStudy:
    """The results of a source that ships with Mileage; no name of a study file reads another file. Raises Refused."""
    if name not in published_names():
        expected = f"one of {', '.join(published_names())}"
        raise Refused("published", found=repr(name), expected=expected, code="unknown-name")
    return read_published_study(name)


def _folder() -> Path | None:
    drives = profile_folder()
    return None if drives is None else drives.parent / "published"


class _Row:
    """One row, read field by field."""

    def __init__(self, path: Path, line: int, header: list[str], fields: list[str]) -> None:
        self.where = f"{path}, line {line}"
        if len(fields) != len(header):
            raise Refused(self.where, f"{len(fields)} fields", expected=f"{len(header)}", code="malformed")
        self.fields = dict(zip(header, fields, strict=True))
        for name, text in self.fields.items():
            if not text.isprintable():
                raise self._wrong(name, ascii(text), "text without control characters")

    @property
    def result(self) -> PublishedResult:
        """The row as a value. Raises Refused."""
        fields = self.fields
        low, high = self._number("low"), self._number("high")
        if (low is None) != (high is None) or (low is not None and high is not None and low > high):
            raise self._wrong(
                "low and high", f"{fields['low']} and {fields['high']}", "both, the lower first, or none"
            )
        unit = self._word("unit", tuple(UNITS))
        statement = self._word("verdict", STATEMENTS)
        if unit != CHANGE and low is None:
            raise self._wrong("low", "nothing", "a figure: only changes may be stated in words")
        if unit == CHANGE and not statement:
            raise self._wrong("verdict", "nothing", "changed, same or not stated")
        over = self._levels("over")
        if bool(over) != (unit == RATIO):
            raise self._wrong(
                "over", fields["over"] or "nothing", "levels for a ratio, nothing for other units"
            )
        return PublishedResult(
            name=self._name(),
            place=fields["place"],
            workload=fields["workload"],
            record_bytes=self._bytes(),
            threads=self._threads(),
            levels=self._levels("levels"),
            over=over,
            low=low,
            high=high,
            unit=unit,
            spread_percent=self._number("spread"),
            statement=statement,
            use=fields["use"],
            note=fields["note"],
            why_off=fields.get("why_off", ""),
        )

    def _name(self) -> str:
        """The cell in words."""
        size, threads = self._bytes(), self._threads()
        head = " ".join([self.fields["workload"], *([] if size is None else [record_words(size)])])
        tasks = [] if threads is None else [f"{threads} thread{'' if threads == 1 else 's'}"]
        levels = [f"{factor} {level}" for factor, level in self._levels("levels").items()]
        over = [f"over {level}" for level in self._levels("over").values()]
        return ", ".join(filter(None, [head, *tasks, " ".join([*levels[:1], *over]), *levels[1:]]))

    def _wrong(self, what: str, found: str, expected: str) -> Refused:
        return Refused(self.where, f"{what}: found {found}", expected=expected, code="wrong-value")

    def _word(self, key: str, words: tuple[str, ...]) -> str:
        if self.fields[key] not in words:
            raise self._wrong(key, repr(self.fields[key]), ", ".join(filter(None, words)))
        return self.fields[key]

    def _number(self, key: str) -> float | None:
        """A figure in the unit of the row: a change above -100 %, a rate or ratio above 0, a spread of 0 or more."""
        text = self.fields[key]
        if not text:
            return None
        above = -math.inf if key == "spread" else -100.0 if self.fields["unit"] == CHANGE else 0.0
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not math.isfinite(number) or number <= above or (key == "spread" and number < 0):
            least = "0 or more" if key == "spread" else f"above {above:g}"
            raise self._wrong(key, repr(text), f"a number {least}")
        return number

    def _bytes(self) -> int | None:
        try:
            return parse_bytes(self.fields["record"]) if self.fields["record"] else None
        except ValueError as error:
            raise self._wrong("record", str(error), "a size") from None

    def _threads(self) -> int | None:
        text = self.fields["threads"]
        if text and not text.isdecimal():
            raise self._wrong("threads", repr(text), "a whole number")
        return int(text) if text else None

    def _levels(self, key: str) -> dict[str, str]:
        parts = [part for part in self.fields[key].split(";") if part]
        pairs = [part.partition("=") for part in parts]
        if any(not equals for _, equals, _ in pairs):
            raise self._wrong(key, repr(self.fields[key]), "factor=level, with ; between two")
        return {name.strip(): level.strip() for name, _, level in pairs}
