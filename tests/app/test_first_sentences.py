"""Weak studies, really made: each says what is weak in its first sentence, on the terminal and on the page."""

import html
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mileage.model.journal_entries import Run
from mileage.store import StudyFolder
from tests.command import mileage
from tests.execute.conftest import STUDY, FinishedStudies, Small
from tests.execute.test_faulty_drive import DROPS, faulty

MEMORY = Path("/dev/shm")
ONE_STAGE = (
    STUDY.split('[[stage]]\nname = "torture"')[0] + "[measure.iops]" + STUDY.split("[measure.iops]")[1]
)


def said_first(folder: Path) -> tuple[str, str]:
    """The first sentence of the verdict, which ends the report of a comparison, and of the page."""
    done = mileage("report", str(folder))
    assert done.returncode == 0, done.stderr
    paragraphs = done.stdout.split("\n\n")
    terminal = " ".join(paragraphs[-2 if "Repeat it:" in done.stdout else 0].split())
    page = (folder / "report.html").read_text(encoding="utf-8")
    output = re.search(r'<p class="verdict[^"]*">(.*?)</p>', page, re.S) or re.search(
        r'<p class="caution mild">(.*?)</p>', page
    )
    assert output, "the page has no verdict"
    plain = " ".join(html.unescape(re.sub("<[^>]*>", "", output[1])).removeprefix("✕ ").split())
    return _sentence(terminal), _sentence(plain)


def _sentence(text: str) -> str:
    return re.split(r"(?<=\.) (?=[A-Z])", text)[0]


def check(folder: Path, *words: str) -> None:
    terminal, page = said_first(folder)
    for sentence in (terminal, page):
        # A path that is longer than a line of the terminal is broken.
        assert all(word.replace(" ", "") in sentence.replace(" ", "") for word in words), sentence


@pytest.mark.skipif(not MEMORY.is_dir(), reason="/dev/shm is missing: a directory in memory")
def test_a_failed_audit(small: Small, tmp_path: Path) -> None:
    """A target in memory that takes O_DIRECT: every byte comes from memory, though the plan promises a device."""
    place = MEMORY / f"mileage-{tmp_path.name}"
    place.mkdir()
    try:
        done = mileage("run", str(small.study(f"dir:{place}")), "--out", str(tmp_path / "s"))
    finally:
        place.rmdir()
    assert done.returncode == 0, done.stderr
    check(tmp_path / "s", "Not conclusive because", "is a tmpfs, which is memory")


def test_a_drive_that_did_not_finish(small: Small, tmp_path: Path) -> None:
    mileage("run", faulty(small, DROPS), "--out", str(tmp_path / "s"))
    check(tmp_path / "s", "Not conclusive because", "DNF", "did not finish", "dropped off")


def test_a_study_that_stopped_at_a_failure(small: Small, tmp_path: Path) -> None:
    path = Path(faulty(small, DROPS))
    path.write_text(path.read_text().replace('on_failure = "dnf"', 'on_failure = "stop"'))
    done = mileage("run", str(path), "--out", str(tmp_path / "s"))
    assert done.returncode == 3
    check(
        tmp_path / "s",
        "Not conclusive because",
        "the study stopped at a failure",
        "dropped off",
        "are missing",
    )


def test_one_run_only(small: Small, tmp_path: Path) -> None:
    path = Path(small.virtual(cycles=1)[0])
    path.write_text(path.read_text().replace("repeat = 2", "repeat = 1"))
    mileage("run", str(path), "--out", str(tmp_path / "s"))
    check(tmp_path / "s", "one run of each test only")


def test_one_run_of_a_study_that_compares_nothing(small: Small, tmp_path: Path) -> None:
    small.virtual(cycles=1)
    path = tmp_path / "one.toml"
    text = ONE_STAGE.replace("TARGET", f"virtual:{tmp_path}/small-drive.toml").replace("ON_FAILURE", "dnf")
    text = text.replace('"throughput", ', "").replace("repeat = 2", "repeat = 1").split("[torture.churn]")[0]
    path.write_text(text.replace("CYCLES", "1").replace("SHAM", "false"))
    done = mileage("run", str(path), "--out", str(tmp_path / "s"))
    assert done.returncode == 0, done.stderr
    check(tmp_path / "s", "One run of each cell")


def test_one_cycle_only(finished: FinishedStudies, tmp_path: Path) -> None:
    finished(tmp_path / "s")
    check(tmp_path / "s", "From one cycle on one device only")


def started(arguments: list[str], folder: Path, runs: int) -> "subprocess.Popen[bytes]":
    """A study that has done that many runs."""
    command = [sys.executable, "-m", "mileage", "run", *arguments, "--out", str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    end = time.monotonic() + 120
    while time.monotonic() < end and process.poll() is None:
        if (folder / "journal.jsonl").exists() and len(StudyFolder(folder).content().of_kind(Run)) >= runs:
            break
        time.sleep(0.02)
    assert process.poll() is None, "the study was done before it could be looked at"
    return process


def slow(small: Small) -> list[str]:
    """A study whose runs take their time: a directory, each measured run two seconds."""
    path = small.study(f"dir:{small.folder}")
    path.write_text(re.sub(r"stop = \{[^}]*\}", 'stop = { time = "2 s" }', path.read_text()))
    return [str(path)]


def test_running_then_interrupted(small: Small, tmp_path: Path) -> None:
    process = started(slow(small), tmp_path / "s", 2)
    try:
        check(
            tmp_path / "s",
            "Not conclusive because",
            "the study is still running (about",
            "left)",
            "runs are missing",
        )
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(60)
    check(tmp_path / "s", "Not conclusive because", "the study was interrupted", "runs are missing")


def test_killed_before_the_first_run(finished: FinishedStudies, tmp_path: Path) -> None:
    finished(tmp_path / "s")
    (tmp_path / "s" / "journal.jsonl").write_bytes(b"")
    check(tmp_path / "s", "Not conclusive because", "the study was interrupted", "36 of 36 runs are missing")


def test_a_damaged_journal(finished: FinishedStudies, tmp_path: Path) -> None:
    finished(tmp_path / "s")
    journal = tmp_path / "s" / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    at = next(number for number, line in enumerate(lines) if line.startswith(b'{"kind":"run","run":3,'))
    lines[at] = lines[at][:40] + b"\xff\x00" + lines[at][42:]
    journal.write_bytes(b"".join(lines))
    environment = next((tmp_path / "s" / "environment").glob("*.json"))
    environment.write_bytes(b"{")
    check(
        tmp_path / "s",
        "1 of 36 runs is missing",
        f"line {at + 1} of the journal was changed after it was written",
    )
    assert f"machine at {environment.stem} is damaged or edited, and ignored" in " ".join(
        mileage("report", str(tmp_path / "s")).stdout.split()
    )
