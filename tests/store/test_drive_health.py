"""What drives say of themselves, from stand-ins for the programs that give documented answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mileage.store.drive_health import health

SMARTCTL_NVME: dict[str, Any] = {
    "json_format_version": [1, 0],
    "smartctl": {"version": [7, 3], "exit_status": 4},
    "model_name": "Example NVMe 1TB",
    "serial_number": "S0SECRET",
    "firmware_version": "2B2QEXM7",
    "nvme_smart_health_information_log": {
        "critical_warning": 0,
        "temperature": 41,
        "available_spare": 100,
        "percentage_used": 3,
        "data_units_written": 41325512,
        "media_errors": 0,
        "warning_temp_time": 7,
        "temperature_sensors": [41, 50],
    },
    "temperature": {"current": 41},
}
SMARTCTL_ATA: dict[str, Any] = {
    "model_name": "INTEL SSDSA2SH064G1GC",
    "serial_number": "CVEM0SECRET",
    "firmware_version": "045C8850",
    "wwn": {"naa": 5, "oui": 6829, "id": 1234567},
    "temperature": {"current": 30},
    "ata_smart_attributes": {
        "revision": 5,
        "table": [
            {
                "id": 225,
                "name": "Host_Writes_32MiB",
                "value": 199,
                "raw": {"value": 148487, "string": "148487"},
            },
            {"id": 233, "name": "Media_Wearout_Indicator", "value": 99, "raw": {"value": 0, "string": "0"}},
        ],
    },
}
ID_CTRL = {
    "vid": 5197,
    "sn": "S0SECRET   ",
    "mn": "Example NVMe 1TB   ",
    "fr": "2B2QEXM7",
    "wctemp": 358,
    "vwc": 7,
}
SMART_LOG = {
    "critical_warning": 0,
    "temperature": 314,
    "avail_spare": 100,
    "percent_used": 3,
    "data_units_written": 41325512,
    "thm_temp1_trans_count": 2,
    "thm_temp1_total_time": 15,
}


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder which is the whole PATH, so that only stand-ins are found."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def stand_in(folder: Path, name: str, script: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


def answer(value: object) -> str:
    return f"printf '%s' '{json.dumps(value)}'"


def test_an_nvme_drive_by_both_programs(programs: Path) -> None:
    # The exit status of smartctl has a bit for every finding about the drive; its answer counts all the same.
    stand_in(
        programs,
        "smartctl",
        f'[ "$*" = "--json=c -x /dev/nvme0n1" ] || exit 2\n{answer(SMARTCTL_NVME)}\nexit 4',
    )
    stand_in(
        programs,
        "nvme",
        f'case "$1 $2 $3 $4" in\n"id-ctrl /dev/nvme0n1 -o json") {answer(ID_CTRL)};;\n'
        f'"smart-log /dev/nvme0n1 -o json") {answer(SMART_LOG)};;\n*) exit 1;; esac',
    )
    facts, texts = health("nvme0n1")
    assert facts["target.smartctl"] == facts["target.nvme"] == "present"
    assert facts["target.drive_model"] == "Example NVMe 1TB"
    assert facts["target.drive_firmware"] == "2B2QEXM7"
    assert facts["now.health_temperature_c"] == "41"
    assert facts["now.health_data_units_written"] == "41325512"
    assert facts["now.health_thm_temp1_trans_count"] == "2"
    assert facts["target.drive_wctemp_c"] == "85"
    assert facts["target.drive_volatile_cache"] == "present"
    assert "SECRET" not in " ".join(facts.values())
    assert json.loads(texts["nvme id-ctrl"])["mn"] == ID_CTRL["mn"]
    assert json.loads(texts["nvme smart-log"]) == SMART_LOG
    given = json.loads(texts["smartctl"])
    assert {**given, "serial_number": "S0SECRET"} == SMARTCTL_NVME
    assert "SECRET" not in " ".join(texts.values())


def test_an_ata_drive_has_its_attributes_by_number_and_name(programs: Path) -> None:
    stand_in(programs, "smartctl", answer(SMARTCTL_ATA))
    stand_in(programs, "nvme", "exit 1")
    facts, texts = health("sda")
    assert "SECRET" not in texts["smartctl"]
    assert "1234567" not in texts["smartctl"]
    assert json.loads(texts["smartctl"])["wwn"]["oui"] == 6829
    assert facts["now.health_ata_225_host_writes_32mib"] == "148487"
    assert facts["now.health_ata_233_media_wearout_indicator"] == "0"
    assert facts["now.health_ata_233_media_wearout_indicator_normalised"] == "99"
    assert "now.health_ata_225_host_writes_32mib_normalised" not in facts
    assert facts["now.health_temperature_c"] == "30"
    # A disk that is no NVMe drive is not asked as one.
    assert facts["target.nvme"] == "present"


def test_what_is_absent_is_said_to_be_absent(programs: Path) -> None:
    facts, texts = health("sda")
    assert facts == {
        "target.smartctl": "absent: smartctl is not installed",
        "target.nvme": "absent: nvme is not installed",
    }
    assert texts == {}
    assert set(health(None)[0].values()) == {"not asked: no disk is known"}


@pytest.mark.parametrize(
    "script", ["echo 'Permission denied' >&2; exit 2", "echo '[1, 2]'", "echo '{\"a\":'", "true"]
)
def test_a_program_that_fails_is_said_to_have_failed(programs: Path, script: str) -> None:
    stand_in(programs, "smartctl", script)
    facts, _ = health("sda")
    assert facts["target.smartctl"].startswith("failed: ")
    assert not [key for key in facts if key.startswith("now.")]


@pytest.mark.parametrize(
    "strange",
    [
        {"temperature": "hot"},
        {"wwn": 5},
        {"ata_smart_attributes": {"table": [1, {"raw": 2}]}},
        {"serial_number": None},
    ],
)
def test_a_strange_answer_breaks_nothing(programs: Path, strange: dict[str, Any]) -> None:
    stand_in(programs, "smartctl", answer(strange))
    assert health("sda")[0]["target.smartctl"] == "present"


def test_a_drive_that_smartctl_cannot_ask_is_said_to_be_so(programs: Path) -> None:
    """The answer of smartctl 7.3 for a virtio disk."""
    output = {"string": "/dev/vda: Unable to detect device type", "severity": "error"}
    stand_in(
        programs, "smartctl", answer({"smartctl": {"exit_status": 1, "messages": [output]}}) + "\nexit 1"
    )
    assert health("vda")[0]["target.smartctl"] == "failed: /dev/vda: Unable to detect device type"
