"""The same study on a real directory: what is journalled is what the kernel saw; what fails can be gone on with."""

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from mileage.model.journal_entries import FailedRun, Run
from mileage.store import StudyFolder
from tests.command import mileage
from tests.execute.conftest import Small, run_keys
from tests.execute.test_resume import assert_every_run_once


def runs_of(folder: Path) -> Sequence[Run]:
    return StudyFolder(folder).content().of_kind(Run)


@pytest.mark.thorough  # half a minute; .ci/run runs it after the demo
def test_quick_degradation_runs_on_a_directory(tmp_path: Path) -> None:
    target, folder = tmp_path / "target", tmp_path / "study"
    target.mkdir()
    result = mileage("run", "degradation", "--quick", "--target", f"dir:{target}", "--out", str(folder))
    assert result.returncode == 0, result.stderr
    assert "one cycle on one device" in " ".join(result.stdout.split())
    assert (folder / "report.html").stat().st_size > 10_000
    assert list(target.iterdir()) == []
    assert_every_run_once(folder)


def test_the_journal_agrees_with_the_kernels_count_of_each_thread(small: Small, tmp_path: Path) -> None:
    folder = tmp_path / "study"
    (tmp_path / "target").mkdir()
    result = mileage("run", str(small.study(f"dir:{tmp_path}/target")), "--out", str(folder))
    assert result.returncode == 0, result.stderr
    compared = 0
    for entry in runs_of(folder):
        if not entry.record.threads:
            continue
        counted = entry.record.audit
        if counted is None:
            pytest.skip("this kernel keeps no /proc/self/task/TID/io")
        kernel = {thread.tid: thread for thread in counted}
        for thread in entry.record.threads:
            seen = kernel[thread.tid]
            assert seen.rchar == thread.bytes_read
            assert seen.wchar == thread.bytes_written
            assert seen.syscr + seen.syscw == thread.calls
            compared += 1
    assert compared >= 20


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
def test_the_journal_agrees_with_strace(small: Small, tmp_path: Path) -> None:
    folder, trace = tmp_path / "study", tmp_path / "trace"
    (tmp_path / "target").mkdir()
    study = small.study(f"dir:{tmp_path}/target")
    calls = "trace=pread64,pwrite64,preadv,pwritev,preadv2,pwritev2,read,write"
    command = ["strace", "-f", "-y", "-o", str(trace), "-e", calls, sys.executable, "-m", "mileage"]
    result = subprocess.run(
        [*command, "run", str(study), "--out", str(folder)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert result.returncode == 0, result.stderr
    seen: Counter[int] = Counter()
    moved: Counter[int] = Counter()
    unfinished = set()
    for line in trace.read_text().splitlines():
        thread = int(line.split(maxsplit=1)[0])
        on_target = re.search(r"\w+\(\d+<[^>]*/\.mileage-[0-9a-f]+\.dat>", line) is not None
        if on_target and "<unfinished" in line:
            unfinished.add(thread)
            continue
        if on_target or ("resumed>" in line and thread in unfinished):
            unfinished.discard(thread)
            seen[thread] += 1
            moved[thread] += int(line.rsplit("= ", 1)[1].split()[0])
    journalled: Counter[int] = Counter()
    journalled_bytes: Counter[int] = Counter()
    for entry in runs_of(folder):
        for thread in entry.record.threads:
            journalled[thread.tid] += thread.calls
            journalled_bytes[thread.tid] += thread.bytes_read + thread.bytes_written
    assert journalled
    assert seen == journalled
    assert moved == journalled_bytes


@pytest.fixture
def tiny_file_system(tmp_path: Path):
    """A tmpfs of 48 MiB, where root."""
    place = tmp_path / "tiny"
    place.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=48m", "none", str(place)], capture_output=True, check=False
    )
    if made.returncode:
        pytest.skip("needs root and mount")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=False)


def test_no_room_in_mid_run_fails_that_run_and_the_study_resumes_later(
    small: Small, tmp_path: Path, tiny_file_system: Path
) -> None:
    from mileage import app
    from mileage.errors import RunFailed
    from mileage.execute import cycle

    folder = tmp_path / "study"
    study = small.study(f"dir:{tiny_file_system}")
    genuine = cycle.perform
    filler = tiny_file_system / "filler"

    def perform(target, run, **rest):  # type: ignore[no-untyped-def]
        """Another program fills the disk and ours loses its space in the middle of the torture."""
        if run.role == "torture" and not filler.exists():
            os.truncate(target.path, 0)
            filler.write_bytes(bytes(40 << 20))
            os.truncate(target.path, 32 << 20)
        return genuine(target, run, **rest)

    cycle.perform = perform
    try:
        with pytest.raises(RunFailed) as failure:
            app.run(str(study), out=folder)
        assert failure.value.cause == "ENOSPC"
        assert failure.value.exit_status == 3
        (failed,) = StudyFolder(folder).content().of_kind(FailedRun)
        assert failed.cause == "ENOSPC"
        filler.write_bytes(b"")
        app.run(str(folder))
    finally:
        cycle.perform = genuine
    assert_every_run_once(folder)


def test_a_directory_that_vanishes_fails_the_run_and_can_come_back(small: Small, tmp_path: Path) -> None:
    from mileage import app
    from mileage.errors import RunFailed
    from mileage.execute import cycle

    target, folder = tmp_path / "target", tmp_path / "study"
    target.mkdir()
    study = small.study(f"dir:{target}")
    genuine = cycle.perform

    def perform(target_, run, **rest):  # type: ignore[no-untyped-def]
        if run.role == "torture":
            shutil.rmtree(target)
        return genuine(target_, run, **rest)

    cycle.perform = perform
    try:
        with pytest.raises(RunFailed) as failure:
            app.run(str(study), out=folder)
    finally:
        cycle.perform = genuine
    assert failure.value.exit_status == 3
    assert StudyFolder(folder).content().of_kind(FailedRun)[0].cause == "vanished"
    before = run_keys(folder)
    target.mkdir()
    again: list[tuple[str, bool]] = []

    def watch(target_, run, **rest):  # type: ignore[no-untyped-def]
        again.append((run.role, run.workload is not None and run.workload.read_percent < 100))
        return genuine(target_, run, **rest)

    cycle.perform = watch
    try:
        app.run(str(folder))
    finally:
        cycle.perform = genuine
    # The content was removed with the directory: reads of a file without content would cost the device nothing.
    until_torture = again[: again.index(("torture", True))]
    assert until_torture[0] == ("prepare", True)
    assert set(until_torture[1:]) == {("measure", True)}, "what was measured writing has left its content too"
    assert_every_run_once(folder)
    assert run_keys(folder)[: len(before)] == before
