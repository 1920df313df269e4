"""The class of a drive, and whether what was measured fits it.

Scope: classes as data (`check_classes.toml`), each with the slowest and the fastest data sheet and with what
its link carries. A rate is below its class when the upper end of its interval is below half of the slowest data sheet:
data sheets are of fresh drives, without a file system, at their best place. A rate is beyond its class when the lower
end of its interval is above what the link carries: something else than the drive answered.
What it refuses: to guess a class. Drives behind a virtual machine, RAID, or a bus that no class has are in none.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from typing import Any, Final, Literal

import msgspec

FIT_SHARE_MIN: Final = 0.5
"""Share of the slowest data sheet of a class that a drive reaches at least if it fits."""

Fit = Literal["fits", "below", "beyond", "no class"]
FIGURES: Final = ("seq_read", "seq_write", "rnd_read_1", "rnd_read_32", "rnd_write_32")
_WORDS: Final = {
    "seq_read": ("sequential reads", "MB/s"),
    "seq_write": ("sequential writes", "MB/s"),
    "rnd_read_1": ("random reads at depth 1", "IOPS"),
    "rnd_read_32": ("random reads at depth 32", "IOPS"),
    "rnd_write_32": ("random writes at depth 32", "IOPS"),
}


class Figure(msgspec.Struct, frozen=True, rename={"least": "from", "most": "to"}):
    """One figure of a class: MB/s of sequential work, operations a second of random work."""

    least: float
    most: float
    source: str


class Link(msgspec.Struct, frozen=True):
    """What a link carries at most."""

    mb_per_s: float
    """Rate of one lane, for links with several lanes; MB/s."""
    source: str
    lanes: int = 1
    """Lanes unless the drive says otherwise."""


class Match(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The conditions by which a drive belongs to a class: all given ones must hold.

    A virtual drive is matched by its name alone.
    """

    bus: str | None = None
    speed: tuple[str, ...] = ()
    rotational: bool | None = None
    rpm: tuple[int, int] | None = None
    model: str | None = None
    virtual: tuple[str, ...] = ()


class DriveClass(msgspec.Struct, frozen=True, rename={"matches": "match"}):
    """A class of drives."""

    name: str
    title: str
    matches: Match
    figures: dict[str, Figure]
    link: Link | None = None


class DriveFacts(msgspec.Struct, frozen=True):
    """Facts from which the class of a drive is found; an empty fact is unknown."""

    model: str = ""
    bus: str = ""
    speed: str = ""
    lanes: int | None = None
    rotational: bool | None = None
    rpm: int | None = None
    virtual: str = ""
    """Name of the virtual drive."""


class ClassVerdict(msgspec.Struct, frozen=True):
    """Whether the measured rates fit a class, and if not, why."""

    fit: Fit
    title: str = ""
    reasons: tuple[str, ...] = ()
    """The figures that do not fit, each with what was expected and its source."""


def drive_classes() -> tuple[DriveClass, ...]:
    """All classes, in the order in which they are tried."""
    text = resources.files("mileage.analysis").joinpath("check_classes.toml").read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text)["class"], tuple[DriveClass, ...])


def class_of(drive: DriveFacts, classes: Sequence[DriveClass] | None = None) -> DriveClass | None:
    """The first class that a drive is of; None where there is none."""
    known = drive_classes() if classes is None else classes
    return next((found for found in known if _is_of(drive, found.matches)), None)


def _is_of(drive: DriveFacts, match: Match) -> bool:
    if drive.virtual:
        return drive.virtual in match.virtual
    if match.model is not None:
        return re.search(match.model, drive.model) is not None
    rpm_fits = match.rpm is None or (drive.rpm is not None and match.rpm[0] <= drive.rpm <= match.rpm[1])
    return (
        match.bus == drive.bus
        and (not match.speed or drive.speed in match.speed)
        and (match.rotational is None or match.rotational == drive.rotational)
        and rpm_fits
    )


Interval = tuple[float, float, float]
"""Low end, value, high end."""


def judged(drive: DriveFacts, measured: Mapping[str, Interval]) -> ClassVerdict:
    """Judge measured figures, by their names in `FIGURES`, against the class of a drive."""
    found = class_of(drive)
    if found is None:
        return ClassVerdict("no class")
    carried = _carried(drive, found)
    beyond = tuple(_beyond(found, carried, measured))
    below = tuple(_below(found, carried, measured))
    if beyond:
        return ClassVerdict("beyond", _title(drive, found), beyond)
    return ClassVerdict("below" if below else "fits", _title(drive, found), below)


def _carried(drive: DriveFacts, found: DriveClass) -> float | None:
    """The highest rate of the link in MB/s; None where it is not known."""
    return None if found.link is None else found.link.mb_per_s * (drive.lanes or found.link.lanes)


def _title(drive: DriveFacts, found: DriveClass) -> str:
    has_lanes = found.link is not None and found.link.lanes > 1
    return f"{found.title} x{drive.lanes}" if has_lanes and drive.lanes else found.title


def _below(found: DriveClass, carried: float | None, measured: Mapping[str, Interval]) -> Iterator[str]:
    for name, figure in found.figures.items():
        if name not in measured:
            continue
        words, unit = _WORDS[name]
        least = figure.least
        if unit == "MB/s" and carried is not None:
            # A link with fewer lanes than usual limits the drive, so expect no more than the link carries.
            least = min(least, carried)
        _, value, high = measured[name]
        if high < FIT_SHARE_MIN * least:
            yield f"{words} {_number(value)} {unit}, data sheets begin at {_number(figure.least)} ({figure.source})"


def _beyond(found: DriveClass, carried: float | None, measured: Mapping[str, Interval]) -> Iterator[str]:
    if found.link is None or carried is None:
        return
    for name in ("seq_read", "seq_write"):
        if name in measured and measured[name][0] > carried:
            words, unit = _WORDS[name]
            value = _number(measured[name][1])
            yield f"{words} {value} {unit}, its link carries {_number(carried)} ({found.link.source})"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def facts_from(known: Mapping[str, Any]) -> DriveFacts:
    """The facts of a real drive, from those of the bus, of the block device and of its programs, as flat keys."""
    rotational = known.get("target.rotational")
    rpm, lanes = str(known.get("target.drive_rotation_rpm", "")), str(known.get("lanes", ""))
    return DriveFacts(
        model=str(known.get("target.drive_model") or known.get("target.model") or ""),
        bus=str(known.get("bus", "")),
        speed=str(known.get("speed", "")),
        lanes=int(lanes) if lanes.isdecimal() else None,
        rotational=None if rotational is None else rotational == "1",
        rpm=int(rpm) if rpm.isdecimal() and int(rpm) else None,
    )
