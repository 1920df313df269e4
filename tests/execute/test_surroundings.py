"""A machine that changes in mid-study: the study stops and says what changed, or notes it and goes on."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from mileage.errors import RunFailed
from mileage.record import StudyFolder
from tests.execute.conftest import Small
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
