"""A machine that changes in mid-study: the study stops and says what changed, or notes it and goes on."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mileage.errors import Interrupted, RunFailed
from mileage.execute.surround import settle
from mileage.record import StudyFolder
from tests.execute.conftest import Small, run_mileage
from tests.execute.test_resume import assert_every_run_once

FILES = {
    "proc/sys/kernel/osrelease": "6.1.0-before",
    "proc/sys/kernel/version": "#1 SMP",
    "proc/sys/kernel/random/boot_id": "first-boot",
    "proc/meminfo": "MemTotal: 1048576 kB\n",
}


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine made of files, which the study takes for the one that it runs on."""
    from mileage.execute import surroundings

    root = tmp_path / "machine"
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    monkeypatch.setattr(surroundings, "HOST", root)
    return root


class Stop(Exception):
    """The process dies."""


def run_until_torture(study: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin a study and end it as a crash would, before its torture."""
    from mileage import lab
    from mileage.execute import cycle

    genuine = cycle.perform

    def perform(target, run, **rest):  # type: ignore[no-untyped-def]
        if run.role == "torture":
            raise Stop
        return genuine(target, run, **rest)

    with monkeypatch.context() as patch:
        patch.setattr(cycle, "perform", perform)
        with pytest.raises(Stop):
            lab.run(str(study), out=folder)


@pytest.fixture
def begun(small: Small, tmp_path: Path, machine: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a study on a directory, cut off before its torture."""
    (tmp_path / "target").mkdir()
    folder = tmp_path / "study"
    run_until_torture(small.study(f"dir:{tmp_path}/target"), folder, monkeypatch)
    return folder


MACHINE = """
import sys
from pathlib import Path
from mileage import lab
from mileage.execute import surroundings
surroundings.HOST = Path(sys.argv[1])
lab.run(sys.argv[2], out=sys.argv[3])
"""


def test_killed_and_booted_anew_nothing_is_lost(small: Small, tmp_path: Path, machine: Path) -> None:
    """Killed at random moments, with another boot each time: every run is there once, with what it had."""
    from mileage import lab

    seed = int(os.environ.get("MILEAGE_SEED", "6"))
    print(f"MILEAGE_SEED={seed}")
    rng = random.Random(seed)
    (tmp_path / "target").mkdir()
    study, folder = small.study(f"dir:{tmp_path}/target"), tmp_path / "study"
    seen: dict[int, object] = {}
    for boot in range(4):
        (machine / "proc/sys/kernel/random/boot_id").write_text(f"boot {boot}")
        command = [sys.executable, "-c", MACHINE, str(machine), str(study), str(folder)]
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
            try:
                process.wait(timeout=rng.uniform(0.8, 3.0))
            except subprocess.TimeoutExpired:
                process.kill()
        if (folder / "journal.jsonl").exists():
            for entry in StudyFolder(folder).content().of_kind("run"):
                assert seen.setdefault(entry["run"], entry["record"]) == entry["record"]
    lab.run(str(study), out=folder)
    assert_every_run_once(folder)
    done = {entry["run"]: entry["record"] for entry in StudyFolder(folder).content().of_kind("run")}
    assert seen.items() <= done.items()


def test_a_study_folder_that_fills_up_fails_cleanly_and_goes_on(small: Small, tmp_path: Path) -> None:
    """On a file system of 300 KiB, which grows before the study goes on."""
    place = tmp_path / "tiny"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=300k", "none", str(place)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("needs root and mount")
    try:
        args = small.virtual(cycles=1)
        result = run_mileage("run", *args, "--out", str(place / "study"))
        assert result.returncode == 3, result.stderr
        assert "No space left on device" in result.stderr
        assert "Traceback" not in result.stderr
        assert "to go on: mileage run" in result.stderr
        subprocess.run(["mount", "-o", "remount,size=50m", str(place)], check=True)
        assert run_mileage("run", str(place / "study")).returncode == 0
        whole = tmp_path / "whole"
        assert run_mileage("run", *args, "--out", str(whole)).returncode == 0
        assert (place / "study/samples.parquet").read_bytes() == (whole / "samples.parquet").read_bytes()
        with pytest.raises(OSError, match="No space left"):
            (place / "full").write_bytes(bytes(64 << 20))
        there = sorted((place / "study").iterdir())
        result = run_mileage("report", str(place / "study"))
        assert result.returncode == 3
        assert result.stderr.endswith(f"writing the study folder {place}/study: No space left on device\n")
        assert "Traceback" not in result.stderr
        assert sorted((place / "study").iterdir()) == there, "nothing half written is left"
    finally:
        subprocess.run(["umount", "-l", str(place)], check=False)


def test_another_boot_is_noted_and_the_study_goes_on(begun: Path, machine: Path) -> None:
    from mileage import lab

    (machine / "proc/sys/kernel/random/boot_id").write_text("second-boot")
    lab.run(str(begun))
    assert_every_run_once(begun)
    after = StudyFolder(begun).load_environment("cycle-1-torture-after")
    assert after is not None
    assert after["kernel.boot_id"] == "second-boot"


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        (
            "proc/sys/kernel/osrelease",
            "6.2.0-after",
            "kernel.release changed from 6.1.0-before to 6.2.0-after",
        ),
        ("proc/meminfo", "MemTotal: 524288 kB\n", "memory.total_bytes changed from 1073741824 to 536870912"),
    ],
)
def test_a_changed_kernel_or_memory_stops_the_study_and_says_which(
    begun: Path, machine: Path, name: str, text: str, told: str
) -> None:
    from mileage import lab

    (machine / name).write_text(text)
    with pytest.raises(RunFailed) as failure:
        lab.run(str(begun))
    assert told in str(failure.value)
    assert failure.value.exit_status == 3
    (stopped,) = StudyFolder(begun).content().of_kind("environment")
    assert told in stopped["changes"]
    # Put back, the study goes on; it was not damaged.
    (machine / name).write_text(FILES[name])
    lab.run(str(begun))
    assert_every_run_once(begun)


def test_an_accepted_change_lets_the_study_go_on_and_stays_on_record(begun: Path, machine: Path) -> None:
    from mileage import lab

    (machine / "proc/sys/kernel/osrelease").write_text("6.2.0-after")
    lab.run(str(begun), accept_change=True)
    assert_every_run_once(begun)
    (accepted,) = StudyFolder(begun).content().of_kind("accepted")
    assert accepted["changes"] == ["kernel.release changed from 6.1.0-before to 6.2.0-after"]


def test_a_study_told_to_mark_goes_on_and_the_report_has_the_change(
    small: Small, tmp_path: Path, machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mileage import lab

    (tmp_path / "target").mkdir()
    study, folder = small.study(f"dir:{tmp_path}/target"), tmp_path / "study"
    study.write_text(study.read_text().replace("[state]", '[state]\non_change = "mark"'))
    run_until_torture(study, folder, monkeypatch)
    (machine / "proc/sys/kernel/osrelease").write_text("6.2.0-after")
    result = lab.run(str(folder))
    assert_every_run_once(folder)
    lamp = next(lamp for lamp in result.view().trust if lamp.name == "environment")
    assert lamp.state == "bad"


def test_simulated_time_depends_on_no_machine(small: Small, tmp_path: Path, machine: Path) -> None:
    from mileage import lab

    study, *_ = small.virtual(cycles=1)
    folder = tmp_path / "study"
    lab.run(study, out=folder)
    (folder / "journal.jsonl").write_bytes(
        b"".join((folder / "journal.jsonl").read_bytes().splitlines(keepends=True)[:6])
    )
    shutil.rmtree(folder / "state")
    (folder / "state").mkdir()
    (machine / "proc/sys/kernel/osrelease").write_text("6.2.0-after")
    lab.run(str(folder))
    assert_every_run_once(folder)


def test_a_rest_ends_when_it_is_asked_to(monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[None] = []
    monkeypatch.setattr(os, "sync", lambda: synced.append(None))
    asked = iter([False, False, True])
    with pytest.raises(Interrupted):
        settle(3600 * 10**9, lambda _operations, _bytes: next(asked))
    assert (next(asked, None), len(synced)) == (None, 1)
    settle(0, lambda _operations, _bytes: True)
    assert len(synced) == 1, "no rest was asked for"
