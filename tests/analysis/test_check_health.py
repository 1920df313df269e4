"""The health of a drive from the answers of smartctl and nvme-cli, asked as on a real machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mileage.analysis.check_health import Health, health_of
from mileage.store.drive_health import health
from tests import smart_answers as answers


def asked(folder: Path, monkeypatch: pytest.MonkeyPatch, device: str, **programs: dict[str, Any]) -> Health:
    for name, answer in programs.items():
        answers.stand_in(folder / "bin", name, answer)
    (folder / "bin").mkdir(exist_ok=True)
    monkeypatch.setenv("PATH", str(folder / "bin"))
    return health_of(health(device)[0])


def test_a_healthy_drive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = asked(tmp_path, monkeypatch, "sda", smartctl=answers.HEALTHY_SATA)
    assert (found.state, found.problems, found.remarks) == ("good", (), ())
    assert found.text == "SMART passed, 12,874 h on, 31 °C"
    assert found.temperature_c == 31


def test_a_failing_disk_and_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = asked(tmp_path, monkeypatch, "sdb", smartctl=answers.FAILING_DISK)
    assert found.state == "failing"
    assert found.problems == (
        "its SMART self-assessment is FAILED",
        "its attribute Reallocated_Sector_Ct is below its threshold",
        "592 sectors wait to be replaced (pending)",
    )
    assert found.remarks == ("48,016 sectors were replaced", "7 errors were not corrected")
    assert "copy what is on it" in found.advice


def test_the_critical_warning_of_an_nvme_drive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = asked(tmp_path, monkeypatch, "nvme0n1", smartctl=answers.WARNING_NVME)
    assert found.state == "failing"
    assert "spare blocks are below their threshold" in found.problems
    assert "its reliability is degraded by media errors or an internal error" in found.problems
    assert "104 % of its rated life are used" in found.problems
    assert found.remarks == ("9 media errors", "12 minutes above its warning temperature")


def test_nvme_cli_alone_suffices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = asked(tmp_path, monkeypatch, "nvme0n1", nvme=answers.NVME_CLI)
    assert found.state == "failing"
    assert found.problems == ("its reliability is degraded by media errors or an internal error",)
    assert found.temperature_c == 43


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (answers.USB_BRIDGE, "USB bridge does not pass SMART on"),
        (answers.NO_RIGHTS, "only root may ask"),
        ({"temperature": {"current": 30}}, "no verdict on itself"),
        ({"model_name": "Some stick"}, "no SMART data"),
    ],
)
def test_health_that_was_not_reported_is_not_called_good(
    answer: dict[str, Any], expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = asked(tmp_path, monkeypatch, "sdc", smartctl=answer)
    assert found.state == "unknown"
    assert expected in found.text


def test_without_programs_and_without_a_drive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = asked(tmp_path, monkeypatch, "sda")
    assert (found.state, found.advice) == ("unknown", "install smartmontools, which has smartctl")
    assert health_of(health(None)[0]).text == "not known: no local drive is behind this"
