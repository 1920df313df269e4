"""Arrays of equal drives: what they hold, what they write, and how probable the loss of their data is.

Scope: closed forms for drives that fail independently at a constant rate and are repaired one at a time
(Patterson, Gibson and Katz, A Case for Redundant Arrays of Inexpensive Disks, 1988, with the mean time to data
loss as the rate of an exponential distribution). With n drives, a failure rate f per hour and R hours of repair,
the rate of loss per hour is n f without redundancy, n f (f R) of mirrors, n (n-1) f^2 R of RAID 5, n (n-1) (n-2)
f^3 R^2 of RAID 6.
Without redundancy nothing is repaired and the form is exact. The simulation of the other levels repairs failed drives
at the same time, each in an exponential time, so for RAID 6 it finds half the closed form.
What it refuses: numbers of drives that a level cannot have, by ValueError. Unreadable sectors, failures that
drives of one batch share, and controllers are not considered.
"""

from __future__ import annotations

import math
from typing import Final, Literal

from mileage.plan.data_sheet_reader import HOURS_PER_YEAR

Level = Literal["none", "0", "1", "5", "6", "10"]
LEVELS: Final[tuple[Level, ...]] = ("none", "0", "1", "5", "6", "10")
HISTORIES: Final = 20_000
"""Arrays that are simulated: the interval ends within some percent of the mean."""
DRIVES_MIN: Final[dict[Level, int]] = {"none": 1, "0": 2, "1": 2, "5": 3, "6": 4, "10": 4}


def is_possible(level: Level, drives: int) -> bool:
    """Whether a level can have this number of drives."""
    if level in ("none", "1"):
        return drives == DRIVES_MIN[level]
    return drives >= DRIVES_MIN[level] and not (level == "10" and drives % 2)


def data_drives(level: Level, drives: int) -> float:
    """The capacity of an array, in drives. Raises ValueError."""
    if not is_possible(level, drives):
        raise ValueError(f"RAID {level} of {drives} drives")
    spare = {"none": 0, "0": 0, "1": 1, "5": 1, "6": 2, "10": drives // 2}
    return drives - spare[level]


def writes_per_host_write(level: Level, drives: int, *, random: bool) -> float:
    """Bytes that all drives together write for each byte of the host.

    Mirrors write twice. Parity is written once for a full stripe, and with each write that is smaller than one.
    """
    if level in ("1", "10"):
        return 2.0
    parity = {"5": 1, "6": 2}.get(level, 0)
    if not parity:
        return 1.0
    return 1.0 + parity if random else drives / data_drives(level, drives)


def operations_per_host_write(level: Level, drives: int, *, random: bool) -> float:
    """Operations of all drives together for each write of the host.

    A write smaller than a stripe reads the old data and each old parity and writes all of them anew: 4 operations at
    RAID 5, 6 at RAID 6. A full stripe is only written.
    """
    if random and level in ("5", "6"):
        return 4.0 if level == "5" else 6.0
    return writes_per_host_write(level, drives, random=random)


def has_exact_loss(level: Level) -> bool:
    """Whether the closed form is exact: without redundancy the first failure loses data, and nothing is repaired."""
    return level in ("none", "0")


def loss_probability(level: Level, drives: int, afr: float, years: float, repair_h: float) -> float:
    """The probability that an array loses data within some years.

    `afr`: annual failure rate of a drive, 0 to below 1. Raises ValueError for a number of drives that the level cannot
    have.
    """
    data_drives(level, drives)
    rate = -math.log1p(-afr) / HOURS_PER_YEAR
    hours = years * HOURS_PER_YEAR
    if has_exact_loss(level):
        loss = drives * rate
    elif level in ("1", "10"):
        loss = drives * rate * (rate * repair_h)
    elif level == "5":
        loss = drives * (drives - 1) * rate**2 * repair_h
    else:
        loss = drives * (drives - 1) * (drives - 2) * rate**3 * repair_h**2
    return -math.expm1(-loss * hours)


def simulated_loss_probability(
    level: Level, drives: int, afr: float, years: float, repair_h: float
) -> tuple[float, float, float]:
    """The probability of `loss_probability` by simulation, and the ends of its 95 % interval.

    The seed is fixed, so equal arrays give equal figures. Without failures nothing is lost. Raises ValueError for a
    number of drives that the level cannot have.
    """
    from mileage._core import simulated_array_loss

    data_drives(level, drives)
    if not afr:
        return 0.0, 0.0, 0.0
    rate = -math.log1p(-afr) / HOURS_PER_YEAR
    number = 0 if level == "none" else int(level)
    hours = years * HOURS_PER_YEAR
    return simulated_array_loss(number, drives, rate, repair_h, hours, HISTORIES, 1)
