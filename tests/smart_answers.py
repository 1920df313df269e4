"""Answers of smartctl and nvme-cli in the shape that the programs print, cut to what matters, and programs that give
them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

HEALTHY_SATA: dict[str, Any] = {
    "json_format_version": [1, 0],
    "smartctl": {"version": [7, 3], "exit_status": 0},
    "device": {"name": "/dev/sda", "info_name": "/dev/sda [SAT]", "type": "sat", "protocol": "ATA"},
    "model_family": "Samsung based SSDs",
    "model_name": "Samsung SSD 860 EVO 500GB",
    "serial_number": "S0SECRET",
    "firmware_version": "RVT04B6Q",
    "rotation_rate": 0,
    "interface_speed": {
        "max": {"sata_value": 14, "string": "6.0 Gb/s"},
        "current": {"sata_value": 3, "string": "6.0 Gb/s"},
    },
    "smart_status": {"passed": True},
    "ata_smart_attributes": {
        "revision": 1,
        "table": [
            {
                "id": 5,
                "name": "Reallocated_Sector_Ct",
                "value": 100,
                "thresh": 10,
                "when_failed": "",
                "raw": {"value": 0, "string": "0"},
            },
            {
                "id": 9,
                "name": "Power_On_Hours",
                "value": 97,
                "thresh": 0,
                "when_failed": "",
                "raw": {"value": 12874, "string": "12874"},
            },
        ],
    },
    "power_on_time": {"hours": 12874},
    "temperature": {"current": 31},
}
FAILING_DISK: dict[str, Any] = {
    "json_format_version": [1, 0],
    "smartctl": {"version": [7, 3], "exit_status": 24},
    "device": {"name": "/dev/sdb", "info_name": "/dev/sdb [SAT]", "type": "sat", "protocol": "ATA"},
    "model_name": "ST3000DM001-1CH166",
    "serial_number": "Z0SECRET",
    "firmware_version": "CC29",
    "rotation_rate": 7200,
    "smart_status": {"passed": False},
    "ata_smart_attributes": {
        "revision": 10,
        "table": [
            {
                "id": 5,
                "name": "Reallocated_Sector_Ct",
                "value": 1,
                "thresh": 10,
                "when_failed": "now",
                "raw": {"value": 48016, "string": "48016"},
            },
            {
                "id": 187,
                "name": "Reported_Uncorrect",
                "value": 93,
                "thresh": 0,
                "when_failed": "",
                "raw": {"value": 7, "string": "7"},
            },
            {
                "id": 197,
                "name": "Current_Pending_Sector",
                "value": 97,
                "thresh": 0,
                "when_failed": "",
                "raw": {"value": 592, "string": "592"},
            },
        ],
    },
    "temperature": {"current": 38},
}
WARNING_NVME: dict[str, Any] = {
    "json_format_version": [1, 0],
    "smartctl": {"version": [7, 4], "exit_status": 8},
    "device": {"name": "/dev/nvme0", "info_name": "/dev/nvme0", "type": "nvme", "protocol": "NVMe"},
    "model_name": "Example NVMe 1TB",
    "serial_number": "S0SECRET",
    "firmware_version": "2B2QEXM7",
    "smart_status": {"passed": False, "nvme": {"value": 5}},
    "nvme_smart_health_information_log": {
        "critical_warning": 5,
        "temperature": 44,
        "available_spare": 3,
        "available_spare_threshold": 10,
        "percentage_used": 104,
        "power_on_hours": 41231,
        "media_errors": 9,
        "warning_temp_time": 12,
        "critical_comp_time": 0,
    },
    "temperature": {"current": 44},
}
USB_BRIDGE: dict[str, Any] = {
    "json_format_version": [1, 0],
    "smartctl": {
        "version": [7, 3],
        "messages": [
            {"string": "/dev/sdc: Unknown USB bridge [0x0bda:0x9201 (0xf200)]", "severity": "error"}
        ],
        "exit_status": 1,
    },
}
NO_RIGHTS: dict[str, Any] = {
    "json_format_version": [1, 0],
    "smartctl": {
        "version": [7, 3],
        "messages": [
            {
                "string": "Smartctl open device: /dev/sda failed: Permission denied",
                "severity": "error",
            }
        ],
        "exit_status": 2,
    },
}
NVME_CLI: dict[str, Any] = {
    "critical_warning": {
        "value": 4,
        "available_spare": 0,
        "temp_threshold": 0,
        "reliability_degraded": 1,
        "ro": 0,
    },
    "temperature": 316,
    "avail_spare": 100,
    "spare_thresh": 10,
    "percent_used": 12,
    "media_errors": 31,
}


def stand_in(folder: Path, name: str, answer: dict[str, Any]) -> None:
    """A program in a folder that prints an answer, with the exit status that smartctl gives with it."""
    folder.mkdir(exist_ok=True)
    status = answer.get("smartctl", {}).get("exit_status", 0)
    program = folder / name
    program.write_text(f"#!/bin/sh\nprintf '%s' '{json.dumps(answer)}'\nexit {status}\n")
    program.chmod(0o755)
