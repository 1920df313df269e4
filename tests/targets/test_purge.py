"""Purging: what the device offers is used, what it has not is refused, and no password outlives its erase.

Drives that can be erased by ATA or NVMe commands are stood in for by programs named hdparm and nvme, which keep the
state of such a drive in a file and do to a loop device what the drive would do to itself.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

import pytest

from mileage.errors import MileageError, Refused
from mileage.targets import open_target
from mileage.targets.ledger import LEDGER_VARIABLE, Ledger, repair
from mileage.targets.purge import _nvme_format, formats_all, other_namespaces, purge_device

pytestmark = pytest.mark.xdist_group("devices")

HASH = "5ec0de00" * 8
STAND_IN = """#!{python}
import json, os, signal, sys
from pathlib import Path
state_file = Path({state!r})
state = json.loads(state_file.read_text())
arguments = sys.argv[1:]
device = next((a for a in arguments if a.startswith("/dev/")), None)
state["calls"].append([Path(sys.argv[0]).name, *arguments])
def wipe():
    with open(device, "r+b") as drive:
        size = drive.seek(0, 2)
        drive.seek(0)
        drive.write(bytes(size))
failed = 0
if "-I" in arguments:
    print("Security:")
    print("\\tsupported")
    for word in ("enabled", "locked", "frozen"):
        print(f"\\t{{'' if state[word] else 'not'}}\\t{{word}}")
    print("\\t2min for SECURITY ERASE UNIT. 8min for ENHANCED SECURITY ERASE UNIT.")
elif "--security-set-pass" in arguments:
    state["enabled"], state["password"] = True, arguments[arguments.index("--security-set-pass") + 1]
elif "--security-erase" in arguments:
    if state["dies"]:
        state_file.write_text(json.dumps(state))
        os.kill(os.getppid(), signal.SIGKILL)
        sys.exit(1)
    if state["fails"] or arguments[arguments.index("--security-erase") + 1] != state["password"]:
        failed = 5
    else:
        wipe()
        state["enabled"], state["password"] = False, None
elif "--security-disable" in arguments:
    if arguments[arguments.index("--security-disable") + 1] == state["password"]:
        state["enabled"], state["password"] = False, None
    else:
        failed = 5
elif arguments[:1] == ["id-ctrl"]:
    print(state["answer"])
elif arguments[:1] == ["format"]:
    wipe()
state_file.write_text(json.dumps(state))
sys.exit(failed)
"""


class Drive:
    """The state of the drive that the programs stand in for."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "drive.json"
        self.set(
            enabled=False,
            locked=False,
            frozen=False,
            password=None,
            fails=False,
            dies=False,
            calls=[],
            answer="{}",
        )
        for name in ("hdparm", "nvme"):
            program = folder / "bin" / name
            program.parent.mkdir(exist_ok=True)
            program.write_text(STAND_IN.format(python=sys.executable, state=str(self.file)))
            program.chmod(0o755)

    def get(self) -> dict[str, object]:
        return dict(json.loads(self.file.read_text()))

    def set(self, **changed: object) -> None:
        before = self.get() if self.file.exists() else {}
        self.file.write_text(json.dumps({**before, **changed}))


@pytest.fixture
def drive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Drive:
    found = Drive(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv(LEDGER_VARIABLE, str(tmp_path / "ledger"))
    return found


def fill(device: Path) -> None:
    with device.open("r+b") as file:
        size = file.seek(0, 2)
        file.seek(0)
        file.write(b"precious" * (size // 8))


def reads_zeros(device: Path) -> bool:
    return not device.read_bytes().strip(b"\0")


def test_discarding_empties_a_device(loop_device: Path, drive: Drive) -> None:
    fill(loop_device)
    assert not reads_zeros(loop_device)
    assert "discarded" in purge_device("x", loop_device, "discard", Ledger())
    assert reads_zeros(loop_device)
    assert drive.get()["calls"] == []


def test_an_ata_erase_leaves_no_password(loop_device: Path, drive: Drive) -> None:
    fill(loop_device)
    with open_target(
        f"block:{loop_device}", plan_hash=HASH, destroy=str(loop_device), purge="ata-erase"
    ) as target:
        assert "ATA security erase (rated 2 min)" in target.purge()
    assert reads_zeros(loop_device)
    assert drive.get()["enabled"] is False
    assert repair() == []


def test_an_erase_that_fails_takes_the_password_off_again(loop_device: Path, drive: Drive) -> None:
    drive.set(fails=True)
    fill(loop_device)
    with pytest.raises(MileageError, match="security-erase"):
        purge_device("x", loop_device, "ata-erase", Ledger())
    assert drive.get()["enabled"] is False
    assert not reads_zeros(loop_device)


def test_killed_in_the_middle_of_an_erase_the_next_repair_takes_the_password_off(
    loop_device: Path, drive: Drive
) -> None:
    drive.set(dies=True)
    child = os.fork()
    if child == 0:
        try:
            purge_device("x", loop_device, "ata-erase", Ledger())
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    assert drive.get()["enabled"] is True
    assert [step.text for step in repair()] == [f"took the security password off {loop_device}"]
    assert drive.get()["enabled"] is False


@pytest.mark.parametrize(
    ("state", "words"), [("frozen", "frozen the security"), ("enabled", "password already")]
)
def test_a_drive_that_cannot_be_erased_is_left_alone(
    loop_device: Path, drive: Drive, state: str, words: str
) -> None:
    drive.set(**{state: True})
    fill(loop_device)
    with pytest.raises(Refused, match=words):
        purge_device("x", loop_device, "ata-erase", Ledger())
    assert not reads_zeros(loop_device)
    assert [call[1] for call in drive.get()["calls"]] == ["-I"]  # type: ignore[attr-defined]


def test_only_an_nvme_namespace_is_formatted(loop_device: Path, drive: Drive, tmp_path: Path) -> None:
    fill(loop_device)
    with pytest.raises(Refused, match="no NVMe namespace"):
        purge_device("x", loop_device, "nvme-format", Ledger())
    assert drive.get()["calls"] == []
    named = tmp_path / "nvme0n1"
    os.mknod(named, 0o060600, loop_device.stat().st_rdev)
    with pytest.raises(Refused, match="the whole of"):
        purge_device("x", named, "nvme-format", Ledger())
    assert not reads_zeros(loop_device)


def test_an_nvme_namespace_is_formatted_with_erasing(
    loop_device: Path, drive: Drive, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mileage.targets.purge._NVME", __import__("re").compile(r"loop\d+"))
    fill(loop_device)
    assert "user data erased" in purge_device("x", loop_device, "nvme-format", Ledger())
    assert reads_zeros(loop_device)
    assert drive.get()["calls"] == [["nvme", "format", str(loop_device), "--ses=1", "--force"]]


def test_what_is_in_use_is_not_erased(loop_device: Path, drive: Drive) -> None:
    fill(loop_device)
    held = os.open(loop_device, os.O_RDONLY | os.O_EXCL)
    try:
        for method in ("ata-erase", "nvme-format"):
            with pytest.raises(Refused, match="in use"):
                purge_device("x", loop_device, method, Ledger())
        with pytest.raises(MileageError, match="busy"):
            purge_device("x", loop_device, "discard", Ledger())
    finally:
        os.close(held)
    assert not reads_zeros(loop_device)
    assert drive.get()["calls"] == []


@pytest.mark.parametrize(
    ("answer", "all_of_them"),
    [
        ('{"fna": 0}', False),
        ('{"fna": 4}', False),
        ('{"fna": 1}', True),
        ('{"fna": 2}', True),
        ("no JSON", True),
        ("{}", True),
    ],
)
def test_a_format_that_reaches_other_namespaces_is_known(
    drive: Drive, answer: str, all_of_them: bool
) -> None:
    drive.set(answer=answer)
    assert formats_all("x", "/dev/nvme0") is all_of_them


def test_the_other_namespaces_of_a_controller_are_found(tmp_path: Path) -> None:
    for name in ("nvme0n1", "nvme0n2", "nvme0c0n1", "nvme10n1", "nvme1n1", "sda"):
        (tmp_path / "sys/block" / name).mkdir(parents=True)
    assert other_namespaces("nvme0n1", root=tmp_path) == ["nvme0n2"]
    assert other_namespaces("nvme1n1", root=tmp_path) == []
    assert other_namespaces("sda", root=tmp_path) == []


def test_a_namespace_whose_format_reaches_another_is_not_formatted(tmp_path: Path, drive: Drive) -> None:
    for name in ("nvme0n1", "nvme0n2"):
        (tmp_path / "sys/block" / name).mkdir(parents=True)
    drive.set(answer='{"fna": 1}')
    with pytest.raises(Refused, match="formats all of its namespaces at once, and nvme0n2 would be erased"):
        _nvme_format("x", Path("/dev/nvme0n1"), Ledger(), tmp_path)
    assert [call[1] for call in drive.get()["calls"]] == ["id-ctrl"]  # type: ignore[attr-defined]
