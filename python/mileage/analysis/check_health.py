"""Judge whether a drive is healthy from its own reports (SMART, NVMe health log).

Scope: a drive is failing when it says so itself, when it has sectors that cannot be read, when its spare
blocks or its rated life are used up. What is not zero and need not be a failure is a remark.
What it refuses: to call a drive healthy that was not asked; the state is then "unknown", with what would help.

Rules: the overall self-assessment, and attributes below their threshold, as smartctl(8) reads them; the bits of
`critical_warning`, `available_spare_threshold` and `percentage_used` by the NVMe base specification, SMART / Health
Information log; ATA attributes 197 and 198 (sectors that cannot be read now) as a failure, 5 and 187 (sectors that were
replaced, errors that were not corrected) as remarks: they are among the five that Backblaze found to announce failures.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final, Literal

import msgspec

State = Literal["good", "failing", "unknown"]

LIFE_PERCENT_MAX: Final = 100
"""Percent of the rated life from which a drive has used it up."""
LIFE_PERCENT_NOTED: Final = 80
_CRITICAL: Final = (
    "spare blocks are below their threshold",
    "its temperature is beyond a threshold",
    "its reliability is degraded by media errors or an internal error",
    "it is in read-only mode",
    "the backup of its volatile memory failed",
    "its persistent memory region is unreliable or read-only",
)
"""The bits of an NVMe drive's critical warning, lowest first."""
_UNREADABLE: Final = {"197": "sectors wait to be replaced (pending)", "198": "sectors cannot be read"}
_REMARKED: Final = {"5": "sectors were replaced", "187": "errors were not corrected"}


class Health(msgspec.Struct, frozen=True):
    """The known state of a drive's health."""

    state: State
    text: str
    """Its figures, or why they are not known, in a few words."""
    problems: tuple[str, ...] = ()
    """Reasons why the drive counts as failing, one clause each."""
    remarks: tuple[str, ...] = ()
    """Counters that are not zero, or near their limit, without being a failure."""
    advice: str = ""
    """The remedy; empty when nothing needs to be done."""
    temperature_c: int | None = None


def health_of(facts: Mapping[str, str]) -> Health:
    """The health of a drive, from the facts that `store.drive_health` gives, each a text."""
    own = {
        key.removeprefix("now.health_"): value
        for key, value in facts.items()
        if key.startswith("now.health_")
    }
    if not own:
        return _not_known(facts)
    problems, remarks = tuple(_problems(own)), tuple(_remarks(own))
    figures = ", ".join(_figures(own))
    if not problems and not _is_judged(own):
        return Health("unknown", f"the drive gives no verdict on itself ({figures})", (), remarks)
    return Health(
        "failing" if problems else "good",
        figures,
        problems,
        remarks,
        "copy what is on it to another drive now, then replace it" if problems else "",
        _whole(own, "temperature_c"),
    )


def _is_judged(own: Mapping[str, str]) -> bool:
    """Whether the reports allow a verdict; a temperature alone does not."""
    return any(key in own for key in ("smart_passed", "critical_warning", "percentage_used", "percent_used"))


def _problems(own: Mapping[str, str]) -> Iterator[str]:
    if own.get("smart_passed") == "false":
        yield "its SMART self-assessment is FAILED"
    bits = _whole(own, "critical_warning") or 0
    yield from (words for bit, words in enumerate(_CRITICAL) if bits >> bit & 1)
    spare = _first(own, "available_spare", "avail_spare")
    least = _first(own, "available_spare_threshold", "spare_thresh")
    if spare is not None and least is not None and spare < least and not bits & 1:
        yield f"{spare} % of its spare blocks are left, below its threshold of {least} %"
    used = _first(own, "percentage_used", "percent_used")
    if used is not None and used >= LIFE_PERCENT_MAX:
        yield f"{used} % of its rated life are used"
    for key, name in own.items():
        if key.startswith("ata_") and key.endswith("_failing_now"):
            yield f"its attribute {name} is below its threshold"
    yield from _counted(own, _UNREADABLE)


def _remarks(own: Mapping[str, str]) -> Iterator[str]:
    yield from _counted(own, _REMARKED)
    for key, words in (
        ("media_errors", "media errors"),
        ("warning_temp_time", "minutes above its warning temperature"),
        ("critical_comp_time", "minutes above its critical temperature"),
    ):
        if count := _whole(own, key):
            yield f"{count:,} {words}"
    used = _first(own, "percentage_used", "percent_used")
    if used is not None and LIFE_PERCENT_NOTED <= used < LIFE_PERCENT_MAX:
        yield f"{used} % of its rated life are used"


def _counted(own: Mapping[str, str], rows: Mapping[str, str]) -> Iterator[str]:
    """ATA attributes that count, where they are not zero."""
    for key in own:
        match = re.fullmatch(r"ata_(\d+)_(?!failing_now).*", key)
        if match and match[1] in rows and (count := _whole(own, key)):
            yield f"{count:,} {rows[match[1]]}"


def _figures(own: Mapping[str, str]) -> Iterator[str]:
    if (passed := own.get("smart_passed")) is not None:
        yield "SMART passed" if passed == "true" else "SMART FAILED"
    used = _first(own, "percentage_used", "percent_used")
    if used is not None:
        yield f"{used} % of life used"
    if (spare := _first(own, "available_spare", "avail_spare")) is not None:
        yield f"spare {spare} %"
    if (errors := _whole(own, "media_errors")) is not None:
        yield f"{errors:,} media errors"
    if (hours := _whole(own, "power_on_hours")) is not None:
        yield f"{hours:,} h on"
    if (celsius := _whole(own, "temperature_c")) is not None:
        yield f"{celsius} °C"


def _not_known(facts: Mapping[str, str]) -> Health:
    """Explain why the drive's health is unknown: tool missing, no permission, no SMART."""
    answers = {name: facts[f"target.{name}"] for name in ("smartctl", "nvme") if f"target.{name}" in facts}
    failed = next((text for text in answers.values() if text.startswith("failed: ")), None)
    if failed is not None:
        why = failed.removeprefix("failed: ")
        if "ermission denied" in why:
            return Health("unknown", "not known: only root may ask the drive", advice="run it as root once")
        if "USB bridge" in why:
            advice = "attach the drive to SATA or NVMe, or try smartctl -d sat on it"
            return Health("unknown", "not known: its USB bridge does not pass SMART on", advice=advice)
        return Health("unknown", f"not known: {why}")
    if "present" in answers.values():
        return Health("unknown", "not known: the drive has no SMART data")
    if any(text.startswith("absent") for text in answers.values()):
        advice = "install smartmontools, which has smartctl"
        return Health("unknown", "not known: smartctl is not installed", advice=advice)
    return Health("unknown", "not known: no local drive is behind this")


def _first(own: Mapping[str, str], *keys: str) -> int | None:
    return next((found for key in keys if (found := _whole(own, key)) is not None), None)


def _whole(own: Mapping[str, str], key: str) -> int | None:
    """A whole number; None where it is missing, or is something else."""
    text = own.get(key, "")
    return int(text) if text.isascii() and text.removeprefix("-").isdecimal() else None
