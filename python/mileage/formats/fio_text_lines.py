"""The lines of one job in fio's normal output.

Scope: a line is either understood as a whole, with every number under its name, or it is none of the job's. Sizes and
times keep the precision with which fio prints them.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

from mileage.formats.fio_rules import QUANTILES
from mileage.formats.number_parser import number
from mileage.formats.units import TIMES_NS

_FIGURE: Final = r"[0-9.]+[kKMGTP]?"
_SIZE: Final = r"[0-9.]+(?:[kKMGTP]i?)?B"
LISTED: Final = re.compile(
    r"(?P<name>\S.{0,200}?): \(g=(?P<group>[0-9]{1,9})\): rw=(?P<rw>[a-z]{1,20})[^,]{0,20}, "
    rf"bs=(?P<sizes>\([RWT]\) {_SIZE}-{_SIZE}(?:, \([RWT]\) {_SIZE}-{_SIZE}){{0,2}}), "
    r"ioengine=(?P<engine>[^,\s]{1,40}), iodepth=(?P<depth>[0-9]{1,9})"
)
"""A job before it starts."""
SIZES: Final = re.compile(rf"\(([RWT])\) ({_SIZE})-({_SIZE})")
VERSION: Final = re.compile(r"fio-(\S+)")
RESULT: Final = re.compile(
    r"(?P<name>\S.{0,200}?): \(groupid=(?P<group>[0-9]{1,9}), jobs=(?P<jobs>[0-9]{1,6})\): err=\s*(?P<error>[0-9]{1,9})"
    r"(?:\s*\([^)]*\))?: pid=(?P<pid>[0-9]{1,12})(?::\s*(?P<date>.{0,60}))?"
)
"""The beginning of a job's result."""
SECTORS: Final = re.compile(r"sectors=([0-9]{1,15})/([0-9]{1,15})")
DIRECTIONS: Final = ("read", "write", "trim")
"""In the order of `issued rwts`."""
_DIRECTION: Final = re.compile(
    # Of all clients fio prints neither B nor /s: "BW=3197Ki (3274k)".
    rf"\s+(?P<name>read|write|trim): IOPS=(?P<iops>{_FIGURE}), "
    rf"BW=(?:(?P<bw>{_SIZE})/s \({_SIZE}/s\)|(?P<bare>[0-9.]+[KMGTP]i) \([0-9.]+[kMGTP]\))"
    rf"\((?P<io>{_SIZE})/(?P<ms>[0-9]{{1,12}})msec\)(?:; [0-9]+ zone resets)?"
)
_LATENCY: Final = re.compile(
    rf"\s+(?P<kind>[sc]?lat|sync) \((?P<unit>[num]?sec)\): min=\s*(?P<min>{_FIGURE}), max=\s*(?P<max>{_FIGURE}), "
    rf"avg=\s*(?P<avg>{_FIGURE}), stdev=\s*{_FIGURE}"
)
_SYNCS: Final = re.compile(r"\s+fsync/fdatasync/sync_file_range:")
_PERCENTILES: Final = re.compile(r"\s+(?P<kind>[sc]?lat|sync) percentiles \((?P<unit>[num]?sec)\):")
_PERCENTILE_LINE: Final = re.compile(r"\s+\|(?:\s*[0-9.]+th=\[\s*[0-9]+\],?)+")
_PERCENTILE: Final = re.compile(r"([0-9.]+)th=\[\s*([0-9]+)\]")
_ISSUED: Final = re.compile(
    r"\s+issued rwts: total=([0-9]{1,18}),([0-9]{1,18}),([0-9]{1,18}),[0-9]+ short=[0-9,]+ dropped=[0-9,]+"
)
_OTHER: Final = re.compile(
    r"\s+(?P<name>bw \(\s*[kKMG]i?B/s\)|iops|lat \([num]sec\)|cpu|IO depths|submit|complete|latency|errors|sync)\s*:"
    r"(?:\s*(?:[0-9]+ \()?[A-Za-z0-9_>=.]+=\s*[0-9.]+[kKMG]?[%)]?,?)+\)?"
)
_PAIR: Final = re.compile(r"([A-Za-z0-9_>.]+=?)=\s*([0-9.]+)([kKMG]?)")
_DECIMAL: Final = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15}
_BINARY: Final = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40, "P": 1 << 50}


class RoundedFigure(msgspec.Struct, frozen=True):
    """A figure and what one of its last digit is worth."""

    value: float
    digit: float


class Part(msgspec.Struct):
    """What a job did in one direction."""

    iops: RoundedFigure
    bytes_per_s: RoundedFigure
    io_bytes: RoundedFigure
    runtime_ms: int
    means_ns: dict[str, float] = {}
    """Mean latency by kind: slat, clat, lat."""
    ends_ns: dict[str, tuple[float, float]] = {}
    """Least and largest latency by kind."""
    quantiles_ns: dict[str, dict[str, float]] = {}
    """Percentiles by kind."""


class JobLines:
    """The result of one job, line by line."""

    def __init__(self, line: int, found: re.Match[str]) -> None:
        """`found`: the match of RESULT in the first line, which is `line` of the file."""
        self.line = line
        self.name, self.group, self.jobs = found["name"], int(found["group"]), int(found["jobs"])
        self.error = int(found["error"])
        self.pid, self.date = int(found["pid"]), found["date"] or ""
        self.parts: dict[str, Part] = {}
        self.issued: tuple[int, ...] | None = None
        self.printed: list[tuple[str, float]] = []
        self._direction = ""
        self._percentiles = ("", 0.0)

    def add(self, line: str) -> bool:
        """Take a line; whether it is one of a job."""
        if _PERCENTILE_LINE.fullmatch(line) and self._percentiles[0] and self._direction:
            return self._add_percentiles(line)
        self._percentiles = ("", 0.0)
        if found := _DIRECTION.fullmatch(line):
            return self._add_direction(found)
        if found := _ISSUED.fullmatch(line):
            self.issued = int(found[1]), int(found[2]), int(found[3])
            return True
        if found := _PERCENTILES.fullmatch(line):
            kind, part = found["kind"], self.parts.get(self._direction)
            if part is None or kind in part.quantiles_ns:
                return False
            self._percentiles = kind, TIMES_NS[found["unit"].removesuffix("ec")]
            part.quantiles_ns[kind] = {}
            return True
        if found := _LATENCY.fullmatch(line):
            return self._add_latency(found)
        if found := _OTHER.fullmatch(line):
            before = f"{self._direction}." if found["name"].startswith(("bw", "iops")) else ""
            self._print(before + " ".join(found["name"].split()), line)
            return True
        if _SYNCS.fullmatch(line):
            return True
        if not line.startswith("   "):
            # The line may begin a direction, and what follows is of none that is known.
            self._direction = ""
        return False

    def _add_direction(self, found: re.Match[str]) -> bool:
        figures = (_count(found["iops"]), sized(found["bw"] or found["bare"]), sized(found["io"]))
        if found["name"] in self.parts or None in figures:
            return False
        iops, rate, moved = figures
        assert iops is not None
        assert rate is not None
        assert moved is not None
        self._direction = found["name"]
        self.parts[self._direction] = Part(iops, rate, moved, int(found["ms"]))
        names = ("IOPS", "BW (bytes/s)", "io (bytes)", "runtime (msec)")
        values = (iops.value, rate.value, moved.value, float(found["ms"]))
        self.printed += [
            (f"{self._direction}.{name}", value) for name, value in zip(names, values, strict=True)
        ]
        return True

    def _add_latency(self, found: re.Match[str]) -> bool:
        part, unit_ns = self.parts.get(self._direction), TIMES_NS[found["unit"].removesuffix("ec")]
        low, high, mean = (_count(found[name]) for name in ("min", "max", "avg"))
        kind = found["kind"]
        if part is None or kind in part.means_ns or low is None or high is None or mean is None:
            return False
        part.means_ns[kind] = mean.value * unit_ns
        part.ends_ns[kind] = low.value * unit_ns, high.value * unit_ns
        self._print(f"{self._name(kind)} ({found['unit']})", found[0])
        return True

    def _add_percentiles(self, line: str) -> bool:
        kind, unit_ns = self._percentiles
        for share, text in _PERCENTILE.findall(line):
            percent, value = number(share), number(text)
            if percent is not None and value is not None:
                self.printed.append((f"{self._name(kind)} {share}th (ns)", value * unit_ns))
                if percent in QUANTILES:
                    kept = self.parts[self._direction].quantiles_ns[kind]
                    kept[QUANTILES[percent]] = value * unit_ns
        return True

    def _name(self, kind: str) -> str:
        """A kind of latency with its direction; a sync has none."""
        return kind if kind == "sync" else f"{self._direction}.{kind}"

    def _print(self, name: str, line: str) -> None:
        for key, text, letter in _PAIR.findall(line):
            if (value := number(text)) is not None:
                self.printed.append((f"{name}.{key}", value * _DECIMAL[letter]))


def _count(text: str) -> RoundedFigure | None:
    """A number with a letter for a power of 1000."""
    digits = text.rstrip("kKMGTP")
    return _rounded(digits, _DECIMAL[text[len(digits) :]])


def sized(text: str) -> RoundedFigure | None:
    """Bytes of "183MiB" or "96.0MB"."""
    digits = text.rstrip("BikKMGTP")
    unit = text[len(digits) :].removesuffix("B")
    scale = _BINARY.get(unit[:1].upper(), 0) if unit.endswith("i") else _DECIMAL.get(unit, 0)
    return _rounded(digits, scale) if scale else None


def _rounded(digits: str, scale: int) -> RoundedFigure | None:
    value = number(digits)
    if value is None:
        return None
    places = len(digits.partition(".")[2])
    return RoundedFigure(value * scale, scale / 10**places if scale > 1 or places else 0.0)
