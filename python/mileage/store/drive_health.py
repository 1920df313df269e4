"""Identity and health of a drive by its own reports, from `smartctl --json` and `nvme -o json` if they are installed.

Scope: a few flat keys. `target.drive_*` are identity and stable (the serial number as a hash); `now.health_*`
are counters and temperatures of the moment, named as the programs name them, temperatures in degrees Celsius. Texts are
kept as they were given, but for the numbers that name a single drive.
What it refuses: to guess. A program that is not there, or that failed, is said to be so; nothing is made up in its
place.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from collections.abc import Iterator
from typing import Any, Final

TIMEOUT_S: Final = 20.0
"""Seconds that a program may take; a drive that does not answer in time is not waited for."""
KELVIN: Final = 273
_NVME_COUNTERS: Final = "nvme_smart_health_information_log"
_WHOLE: Final = (int, float, str)
_WEAR_IDS: Final = (169, 177, 202, 231, 233)
"""ATA attributes that are indicators of wear, as smartctl's drive database names them."""

Facts = dict[str, str]
Texts = dict[str, str]


def health(device: str | None) -> tuple[Facts, Texts]:
    """Facts of a disk by its kernel name ("nvme0n1", "sda"), and the texts that they were read from.

    Of a target without a disk, only that nothing was asked.
    """
    facts: Facts = {}
    texts: Texts = {}
    for program, commands in _commands(device or ""):
        key = f"target.{program}"
        if not device:
            facts[key] = "not asked: no disk is known"
        elif shutil.which(program) is None:
            facts[key] = f"absent: {program} is not installed"
        else:
            facts[key] = "present"
            for name, command in commands:
                found, text = _asked(command)
                texts[name] = _without_names(found, text)
                if found is not None and (refused := _refused(found)):
                    facts[key] = f"failed: {refused}"
                elif found is None:
                    facts[key] = f"failed: {text.splitlines()[0][:120] if text else 'no answer'}"
                else:
                    facts |= dict(_READERS[name](found))
    return facts, texts


def _commands(device: str) -> Iterator[tuple[str, list[tuple[str, list[str]]]]]:
    path = f"/dev/{device}"
    yield "smartctl", [("smartctl", ["smartctl", "--json=c", "-x", path])]
    nvme = [
        ("nvme id-ctrl", ["nvme", "id-ctrl", path, "-o", "json"]),
        ("nvme smart-log", ["nvme", "smart-log", path, "-o", "json"]),
    ]
    yield "nvme", nvme if device.startswith("nvme") or not device else []


def _asked(command: list[str]) -> tuple[dict[str, Any] | None, str]:
    """The decoded answer of a program, and its text. The exit status of smartctl is about the drive, not the call."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as cause:
        return None, f"{type(cause).__name__} from {' '.join(command)}"
    try:
        found = json.loads(done.stdout)
    except ValueError:
        return None, done.stdout or done.stderr
    return (found, done.stdout) if isinstance(found, dict) else (None, done.stdout)


def _refused(found: dict[str, Any]) -> str | None:
    """Reason why smartctl could not query the drive (bits 0 and 1 of its exit status); None when it could."""
    report = found.get("smartctl")
    if (
        not isinstance(report, dict)
        or not isinstance(report.get("exit_status"), int)
        or not report["exit_status"] & 3
    ):
        return None
    messages = report.get("messages")
    texts = (
        [str(m.get("string")) for m in messages if isinstance(m, dict)] if isinstance(messages, list) else []
    )
    return (texts or ["the drive could not be asked"])[0][:120]


def _without_names(found: dict[str, Any] | None, text: str) -> str:
    """An answer with the numbers that name a single drive replaced by their hashes."""
    wwn = (found or {}).get("wwn")
    names = [(found or {}).get(key) for key in ("serial_number", "sn")]
    names += [wwn.get("id")] if isinstance(wwn, dict) else []
    for name in names:
        word = str(name).strip() if name else ""
        if word:
            text = text.replace(
                word, str(int(_hash(word), 16)) if isinstance(name, int) else f"hash {_hash(word)}"
            )
    return text


def _smartctl(found: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield from _identity(
        found.get("model_name") or found.get("scsi_model_name"),
        found.get("firmware_version") or found.get("scsi_revision"),
        found.get("serial_number"),
    )
    wwn = found.get("wwn")
    if isinstance(wwn, dict):
        yield "target.drive_wwn_hash", _hash("-".join(str(wwn.get(part)) for part in ("naa", "oui", "id")))
    temperature = found.get("temperature")
    if isinstance(temperature, dict) and isinstance(temperature.get("current"), int):
        yield "now.health_temperature_c", str(temperature["current"])
    status = found.get("smart_status")
    if isinstance(status, dict) and isinstance(status.get("passed"), bool):
        yield "now.health_smart_passed", str(status["passed"]).lower()
    if isinstance(found.get("rotation_rate"), int):
        yield "target.drive_rotation_rpm", str(found["rotation_rate"])
    hours = found.get("power_on_time")
    if isinstance(hours, dict) and isinstance(hours.get("hours"), int):
        # Use the decoded value: some drives pack more than the hours into the raw value of the attribute.
        yield "now.health_power_on_hours", str(hours["hours"])
    used = found.get("endurance_used")
    if isinstance(used, dict) and isinstance(used.get("current_percent"), int):
        yield "now.health_percentage_used", str(used["current_percent"])
    counters = found.get(_NVME_COUNTERS)
    for name, value in (counters if isinstance(counters, dict) else {}).items():
        if isinstance(value, _WHOLE) and name != "temperature":
            yield f"now.health_{name}", str(value)
    table = found.get("ata_smart_attributes")
    rows = table.get("table") if isinstance(table, dict) else None
    for row in rows if isinstance(rows, list) else []:
        raw = row.get("raw") if isinstance(row, dict) else None
        if isinstance(row, dict) and row.get("when_failed") == "now":
            yield f"now.health_ata_{row.get('id')}_failing_now", str(row.get("name"))
        if isinstance(raw, dict):
            name = f"now.health_ata_{row.get('id')}_{str(row.get('name')).lower()}"
            yield name, str(raw.get("value"))
            if row.get("id") in _WEAR_IDS and isinstance(row.get("value"), int):
                # Use the normalised value, which falls from 100 as the cells wear: the raw value has no common unit.
                yield f"{name}_normalised", str(row["value"])


def _id_ctrl(found: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield from _identity(found.get("mn"), found.get("fr"), found.get("sn"))
    for key in ("wctemp", "cctemp"):
        if isinstance(found.get(key), int) and found[key]:
            yield f"target.drive_{key}_c", str(found[key] - KELVIN)
    if isinstance(found.get("vwc"), int):
        yield "target.drive_volatile_cache", "present" if found["vwc"] & 1 else "none"


def _smart_log(found: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for name, given in found.items():
        # Newer versions of nvme-cli print the bits as a table instead of a number.
        value = given.get("value") if isinstance(given, dict) else given
        if isinstance(value, _WHOLE) and name != "temperature":
            yield f"now.health_{name}", str(value)
    kelvin = found.get("temperature")
    if isinstance(kelvin, int):
        yield "now.health_temperature_c", str(kelvin - KELVIN)


_READERS: Final = {"smartctl": _smartctl, "nvme id-ctrl": _id_ctrl, "nvme smart-log": _smart_log}


def _identity(model: object, firmware: object, serial: object) -> Iterator[tuple[str, str]]:
    if model:
        yield "target.drive_model", str(model).strip()
    if firmware:
        yield "target.drive_firmware", str(firmware).strip()
    if serial:
        yield "target.drive_serial_hash", _hash(str(serial).strip())


def _hash(text: str) -> str:
    """The first 16 hexadecimal digits of SHA-256: distinguishes drives without identifying one."""
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:16]
