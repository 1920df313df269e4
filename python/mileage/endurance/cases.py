"""The sizing cases of a talk: a worker node, bulk storage, and the logs and journals of ZFS and CEPH.

Scope: `cases.toml` has the figures of the slides and what each case needs of a drive; what follows from the
figures is computed here, and so is where the slides contradict themselves.
What it refuses: names of no case.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping
from importlib import resources
from typing import Final, Literal

import msgspec

from mileage.endurance.conversions import TB, bytes_of_dwpd, dwpd_of_bytes, years_of_bytes
from mileage.errors import Refused, closest

# Requirements on storage: capacity, endurance, years, protection, speed, money.
# Scope: values; `choice` finds the drives that meet them.

Pattern = Literal["sequential", "random"]


class Requirement(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Requirements on the storage as a whole."""

    capacity_bytes: float
    """Usable bytes."""
    tbw: float = 0.0
    """Terabytes (10^12 bytes) that are written to it in its years."""
    years: float = 5.0
    pattern: Pattern = "random"
    """Access pattern of most operations; it decides which quoted rates count."""
    power_loss_protection: bool = False
    hot_swap: bool = False
    link: str = ""
    """Beginning of the name of the link, such as "sata" or "pcie"; empty for any."""
    read_rate: float = 0.0
    """Reads per second at random, or MB/s in sequence, at least."""
    write_rate: float = 0.0
    """Writes per second at random, or MB/s in sequence, at least."""
    note: str = ""
    """Assumptions that were made."""


GB: Final = 10**9
_DIFFERS_MIN: Final = 0.02


class Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One quantity of a case: a range of values (both ends equal for a single value).

    None where no number is stated.
    """

    quantity: str
    unit: str
    low: float | None = None
    high: float | None = None
    derived: bool = False
    note: str = ""


class Case(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A sizing case."""

    name: str
    title: str
    source: str
    need: Requirement
    row: tuple[Row, ...]

    def value(self, quantity: str) -> float:
        """The stated value of a quantity."""
        found = next(row.low for row in self.row if row.quantity == quantity)
        assert found is not None
        return found


def all_cases() -> tuple[Case, ...]:
    """All cases, with derived quantities filled in."""
    text = resources.files("mileage.endurance").joinpath("cases.toml").read_text(encoding="utf-8")
    return tuple(_computed(case) for case in msgspec.convert(tomllib.loads(text)["case"], tuple[Case, ...]))


def case_named(name: str) -> Case:
    """The case of a name. Raises Refused for a name of none."""
    cases = {case.name: case for case in all_cases()}
    found = cases.get(name.replace("_", "-"))
    if found is None:
        close = closest(name, cases)
        hint = f"did you mean {close!r}?" if close else f"known: {', '.join(cases)}"
        raise Refused("", f"there is no case {name!r}", advice=hint, code="unknown-name")
    return found


def _computed(case: Case) -> Case:
    return msgspec.structs.replace(case, row=tuple(_filled(case, row) for row in case.row))


def _filled(case: Case, row: Row) -> Row:
    if not row.derived:
        return row
    low, high = _DERIVED[case.name, row.quantity](case)
    return msgspec.structs.replace(row, low=low, high=high)


def _worker_life(case: Case) -> tuple[float, float]:
    years = years_of_bytes(case.value("required_endurance"), case.value("writes_per_year"))
    return years, years


def _worker_dwpd(case: Case) -> tuple[float, float]:
    capacity = case.value("required_capacity") * GB
    daily = dwpd_of_bytes(case.value("writes_per_day") * GB, capacity, 1 / 365)
    return daily, dwpd_of_bytes(case.value("writes_per_year") * TB, capacity, 1)


def _bulk_dwpd(case: Case) -> tuple[float, float]:
    daily = case.value("assumed_drive_writes_per_year") / 365
    return daily, daily


def _zil_dwpd(case: Case) -> tuple[float, float]:
    capacity = case.value("ssd_capacity") * TB
    daily = dwpd_of_bytes(case.value("required_endurance") * TB, capacity, case.value("period"))
    return daily, daily


def _ceph_life(case: Case) -> tuple[float, float]:
    years = years_of_bytes(case.value("ssd_endurance"), case.value("observed_writes"))
    return years, years


def _ceph_dwpd(case: Case) -> tuple[float, float]:
    capacity = case.value("journal_ssd_capacity") * GB
    daily = dwpd_of_bytes(case.value("observed_writes") * TB, capacity, 1)
    return daily, daily


def _proxmox_dwpd(case: Case) -> tuple[float, float]:
    daily = dwpd_of_bytes(case.value("ssd_endurance") * TB, case.value("ssd_capacity") * GB, case.need.years)
    return daily, daily


_DERIVED: Final[Mapping[tuple[str, str], Callable[[Case], tuple[float, float]]]] = {
    ("worker-node", "lifetime_at_stated_rate"): _worker_life,
    ("worker-node", "dwpd_needed"): _worker_dwpd,
    ("bulk-storage", "dwpd_needed"): _bulk_dwpd,
    ("zfs-zil", "dwpd_recomputed"): _zil_dwpd,
    ("ceph-typical", "lifetime_at_observed_rate"): _ceph_life,
    ("ceph-typical", "observed_dwpd"): _ceph_dwpd,
    ("ceph-proxmox", "dwpd_recomputed"): _proxmox_dwpd,
}


def case_contradictions(case: Case) -> list[str]:
    """Contradictions within the slides of a case, one sentence each."""
    return list(_CONTRADICTIONS[case.name](case))


def _differ(one: float, other: float) -> bool:
    return abs(one / other - 1) > _DIFFERS_MIN


def _of_worker(case: Case) -> Iterator[str]:
    yearly, daily = case.value("writes_per_year"), case.value("writes_per_day")
    if _differ(yearly * TB / 365, daily * GB):
        yield (
            f"{yearly:g} TB/year are {yearly * 1000 / 365:.0f} GB/day, not {daily:g}; {daily:g} GB/day are "
            f"{daily * 365 / 1000:g} TB/year"
        )


def _of_bulk(case: Case) -> Iterator[str]:
    capacity = case.value("reference_capacity")
    needed = _bulk_dwpd(case)[0]
    rated = case.value("reference_endurance")
    if needed > rated:
        yield f"{needed:.3g} DWPD needed are more than the {rated:g} of a drive of {capacity:g} TB"


def _of_zil(case: Case) -> Iterator[str]:
    tbw, dwpd = case.value("required_endurance"), case.value("required_dwpd")
    follows = _zil_dwpd(case)[0]
    if _differ(follows, dwpd):
        most = bytes_of_dwpd(dwpd, case.value("ssd_capacity") * TB, case.value("period")) / TB
        yield f"{tbw:,g} TBW are {follows:.3g} DWPD, not {dwpd:g}; {dwpd:g} DWPD would be {most:,.0f} TBW"


def _of_ceph(case: Case) -> Iterator[str]:
    tbw, dwpd, years = case.value("ssd_endurance"), case.value("ssd_dwpd"), case.value("period")
    seen, daily = case.value("observed_writes"), _ceph_dwpd(case)[0]
    if daily > dwpd:
        yield f"{seen:g} TB/year are {daily:.3g} DWPD, above the rated {dwpd:g}"
    if (life := _ceph_life(case)[0]) < years:
        yield f"{tbw:,g} TBW last {life:.1f} years at {seen:g} TB/year, not the {years:g} of the rating"


def _of_proxmox(case: Case) -> Iterator[str]:
    tbw, dwpd, follows = case.value("ssd_endurance"), case.value("ssd_dwpd"), _proxmox_dwpd(case)[0]
    if _differ(follows, dwpd):
        yield f"{tbw:,g} TBW of {case.value('ssd_capacity'):g} GB over 5 years are {follows:.3g} DWPD, not {dwpd:g}"


_CONTRADICTIONS: Final[Mapping[str, Callable[[Case], Iterator[str]]]] = {
    "worker-node": _of_worker,
    "bulk-storage": _of_bulk,
    "zfs-zil": _of_zil,
    "ceph-typical": _of_ceph,
    "ceph-proxmox": _of_proxmox,
}
