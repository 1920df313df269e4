"""A machine that changes in mid-study: the study stops and reports what changed, or notes it and continues."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mileage.errors import Interrupted, RunFailed
from mileage.execute.run import settle
from mileage.model.caveat import veto
from mileage.model.journal_entries import AcceptedChange, EnvironmentChange, Rewrite, Run
from mileage.plan import parse_study
from mileage.store import StudyFolder
from tests.command import mileage
from tests.execute.conftest import Small
from tests.execute.test_resume import assert_every_run_once
from tests.store.sealing import seal_again

FILES = {
    "proc/sys/kernel/osrelease": "6.1.0-before",
    "proc/sys/kernel/version": "#1 SMP",
    "proc/sys/kernel/random/boot_id": "first-boot",
    "proc/meminfo": "MemTotal: 1048576 kB\n",
}


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine made of files, which the study takes for the one that it runs on."""
    from mileage.execute import environment_guard

    root = tmp_path / "machine"
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    monkeypatch.setattr(environment_guard, "HOST", root)
    return root


class Stop(Exception):
    """The process dies."""


def run_until_torture(study: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin a study and end it as a crash would, before its torture."""
    from mileage import app
    from mileage.execute import cycle

    genuine = cycle.perform

    def perform(target, run, **rest):  # type: ignore[no-untyped-def]
        if run.role == "torture":
            raise Stop
        return genuine(target, run, **rest)

    with monkeypatch.context() as patch:
        patch.setattr(cycle, "perform", perform)
        with pytest.raises(Stop):
            app.run(str(study), out=folder)


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
from mileage import app
from mileage.execute import environment_guard
environment_guard.HOST = Path(sys.argv[1])
app.run(sys.argv[2], out=sys.argv[3])
"""


def test_killed_and_booted_anew_nothing_is_lost(small: Small, tmp_path: Path, machine: Path) -> None:
    """Killed at random moments, with another boot each time: every run is there once, with what it had."""
    from mileage import app

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
        assert process.wait() in (0, -9), "it ran until it was done or killed"
        if (folder / "journal.jsonl").exists():
            for entry in StudyFolder(folder).content().of_kind(Run):
                assert seen.setdefault(entry.run, entry.record) == entry.record
    app.run(str(study), out=folder)
    assert_every_run_once(folder)
    done = {entry.run: entry.record for entry in StudyFolder(folder).content().of_kind(Run)}
    assert seen.items() <= done.items()


def test_a_study_folder_that_fills_up_fails_cleanly_and_resumes(small: Small, tmp_path: Path) -> None:
    """On a file system of 300 KiB, which grows before the study is resumed."""
    place = tmp_path / "tiny"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=300k", "none", str(place)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("needs root and mount")
    try:
        args = small.virtual(cycles=1)
        result = mileage("run", *args, "--out", str(place / "study"))
        assert result.returncode == 3, result.stderr
        assert "No space left on device" in result.stderr
        assert "Traceback" not in result.stderr
        assert "To resume: mileage run" in result.stderr
        subprocess.run(["mount", "-o", "remount,size=50m", str(place)], check=True)
        assert mileage("run", str(place / "study")).returncode == 0
        whole = tmp_path / "whole"
        assert mileage("run", *args, "--out", str(whole)).returncode == 0
        assert (place / "study/samples.parquet").read_bytes() == (whole / "samples.parquet").read_bytes()
        with pytest.raises(OSError, match="No space left"):
            (place / "full").write_bytes(bytes(64 << 20))
        there = sorted((place / "study").iterdir())
        result = mileage("report", str(place / "study"))
        assert result.returncode == 3
        assert result.stderr.endswith(f"writing the study folder {place}/study: No space left on device\n")
        assert "Traceback" not in result.stderr
        assert sorted((place / "study").iterdir()) == there, "nothing half written is left"
    finally:
        subprocess.run(["umount", "-l", str(place)], check=False)


def test_another_boot_is_noted_and_the_study_continues(begun: Path, machine: Path) -> None:
    from mileage import app

    (machine / "proc/sys/kernel/random/boot_id").write_text("second-boot")
    app.run(str(begun))
    assert_every_run_once(begun)
    after = StudyFolder(begun).load_environment("cycle-1-torture-after")
    assert after is not None
    assert after["kernel.boot_id"] == "second-boot"


@pytest.mark.parametrize(
    ("name", "text", "output"),
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
    begun: Path, machine: Path, name: str, text: str, output: str
) -> None:
    from mileage import app

    (machine / name).write_text(text)
    with pytest.raises(RunFailed) as failure:
        app.run(str(begun))
    assert output in str(failure.value)
    assert failure.value.exit_status == 3
    (stopped,) = StudyFolder(begun).content().of_kind(EnvironmentChange)
    assert output in stopped.changes
    # With the setting restored the study continues; it was not damaged.
    (machine / name).write_text(FILES[name])
    app.run(str(begun))
    assert_every_run_once(begun)


def test_an_accepted_change_lets_the_study_go_on_and_stays_on_record(begun: Path, machine: Path) -> None:
    from mileage import app

    (machine / "proc/sys/kernel/osrelease").write_text("6.2.0-after")
    app.run(str(begun), accept_change=True)
    assert_every_run_once(begun)
    (accepted,) = StudyFolder(begun).content().of_kind(AcceptedChange)
    assert accepted.changes == ["kernel.release changed from 6.1.0-before to 6.2.0-after"]


def test_a_study_set_to_mark_continues_and_reports_the_change(
    small: Small, tmp_path: Path, machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mileage import app

    (tmp_path / "target").mkdir()
    study, folder = small.study(f"dir:{tmp_path}/target"), tmp_path / "study"
    study.write_text(study.read_text().replace("[state]", '[state]\non_change = "mark"'))
    run_until_torture(study, folder, monkeypatch)
    (machine / "proc/sys/kernel/osrelease").write_text("6.2.0-after")
    result = app.run(str(folder))
    assert_every_run_once(folder)
    check = next(check for check in result.view().trust if check.name == "environment")
    assert check.state == "bad"


def test_simulated_time_depends_on_no_machine(small: Small, tmp_path: Path, machine: Path) -> None:
    from mileage import app

    study, *_ = small.virtual(cycles=1)
    folder = tmp_path / "study"
    app.run(study, out=folder)
    (folder / "journal.jsonl").write_bytes(
        b"".join((folder / "journal.jsonl").read_bytes().splitlines(keepends=True)[:6])
    )
    shutil.rmtree(folder / "state")
    (folder / "state").mkdir()
    (machine / "proc/sys/kernel/osrelease").write_text("6.2.0-after")
    app.run(str(folder))
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


def test_a_lost_run_is_not_written_again_on_a_machine_that_changed(
    begun: Path, tmp_path: Path, machine: Path
) -> None:
    """The directory of a target that is not mounted is another file system's, which is not to be filled."""
    from mileage import app

    (left,) = (tmp_path / "target").iterdir()
    left.unlink()
    (machine / "proc/sys/kernel/osrelease").write_text("6.2.0-after")
    with pytest.raises(RunFailed, match="the study stops"):
        app.run(str(begun))
    assert list((tmp_path / "target").iterdir()) == []
    assert not StudyFolder(begun).content().of_kind(Rewrite)
    app.run(str(begun), accept_change=True)
    assert_every_run_once(begun)


def test_the_report_has_an_accepted_change_as_it_was(begun: Path, machine: Path) -> None:
    from mileage import app

    (machine / "proc/sys/kernel/osrelease").write_text("6.2.0-after")
    view = app.run(str(begun), accept_change=True).view()
    output = [line for line in view.environment_changes if "kernel.release" in line]
    assert output == ["accepted: kernel.release changed from 6.1.0-before to 6.2.0-after"]


ONE_STAGE = """
name = "one-stage"
target = "TARGET"
[state]
file = "1MiB"
[[stage]]
name = "measure"
measure = ["m"]
[measure.m]
workload = "throughput.write"
record = "64KiB"
threads = [1, 2]
stop = { bytes = "1MiB" }
repeat = 3
"""


def test_a_change_accepted_within_a_stage_counts_against_the_verdict(
    tmp_path: Path, machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing but the journal remembers it: both snapshots of the only stage are of the machine after it."""
    from mileage import app
    from mileage.execute import cycle

    (tmp_path / "target").mkdir()
    study, folder = tmp_path / "one.toml", tmp_path / "study"
    study.write_text(ONE_STAGE.replace("TARGET", f"dir:{tmp_path}/target"))
    genuine = cycle.perform

    def perform(target, run, **rest):  # type: ignore[no-untyped-def]
        if run.block == 2 and run.role == "measure":
            raise Stop
        return genuine(target, run, **rest)

    with monkeypatch.context() as patch:
        patch.setattr(cycle, "perform", perform)
        with pytest.raises(Stop):
            app.run(str(study), out=folder)
    assert StudyFolder(folder).content().of_kind(Run)
    (machine / "proc/sys/kernel/osrelease").write_text("6.2.0-after")
    result = app.run(str(folder), accept_change=True)
    output = "kernel.release changed from 6.1.0-before to 6.2.0-after"
    assert veto("environment-changed", change=output) in result.caveats()


def test_a_change_at_another_target_of_a_study_is_reported(tmp_path: Path) -> None:
    import json

    from mileage import app

    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    text = ONE_STAGE.replace('target = "TARGET"\n', "")
    study, folder = tmp_path / "two.toml", tmp_path / "study"
    study.write_text(
        f'{text}[factor.drive]\nlevels = {{ one = "dir:{tmp_path}/one", two = "dir:{tmp_path}/two" }}\n'
        '[compare]\narms = "drive"\nbaseline = "one"\n'
    )
    app.run(str(study), out=folder)
    (kept,) = (path for path in (folder / "environment").glob("cycle-*target-1.after.json"))
    snapshot = json.loads(kept.read_text())
    kept.write_text(json.dumps({**snapshot, "target.scheduler": "another"}))
    seal_again(folder)
    (output,) = app.load(folder).view().environment_changes
    assert output.endswith(f"target.scheduler changed from {snapshot['target.scheduler']} to another"), output


def test_a_study_that_is_not_kept_stops_on_a_changed_machine_too(
    small: Small, tmp_path: Path, machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mileage.app.measurement import measure, planned
    from mileage.execute import cycle

    genuine = cycle.perform

    def perform(target, run, **rest):  # type: ignore[no-untyped-def]
        (machine / "proc/sys/kernel/osrelease").write_text("6.2.0-after")
        return genuine(target, run, **rest)

    monkeypatch.setattr(cycle, "perform", perform)
    (tmp_path / "target").mkdir()
    study = parse_study(small.study(f"dir:{tmp_path}/target").read_text(), "small")
    with pytest.raises(
        RunFailed, match=r"kernel\.release changed from 6\.1\.0-before to 6\.2\.0-after \(seen during"
    ):
        measure(planned(study, None), save=tmp_path / "study", kept=False)
    assert not list((tmp_path / "study/environment").rglob("*.json"))
