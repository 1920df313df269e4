"""A killed study is resumed, every run done exactly once, and a virtual one ends as if never interrupted."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from mileage.store import StudyFolder
from mileage.store.journal import read_journal
from tests.command import mileage
from tests.execute.conftest import Small, run_keys


def kill_after(args: list[str], delay_s: float) -> bool:
    """Start `mileage run`, SIGKILL it after a while; true when it was still running."""
    command = [sys.executable, "-m", "mileage", "run", *args]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            process.wait(timeout=delay_s)
            return False
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            return True


def run_in_process(args: list[str]) -> float:
    """`mileage run` in a process of its own, to its end; the seconds that it took, its start-up among them."""
    started = time.monotonic()
    subprocess.run([sys.executable, "-m", "mileage", "run", *args], check=True, capture_output=True)
    return time.monotonic() - started


def kill_with_a_saved_state(args: list[str], folder: Path) -> None:
    """Start `mileage run`, SIGKILL it when it has saved the state of a drive."""
    command = [sys.executable, "-m", "mileage", "run", *args, "--out", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while not (folder / "state").is_dir() or not any((folder / "state").iterdir()):
            assert process.poll() is None, "it ended before it was killed"
            time.sleep(0.002)
        process.kill()


def assert_every_run_once(folder: Path) -> None:
    runs = run_keys(folder)
    planned = [run["index"] for run in StudyFolder(folder).plan()["runs"]]
    assert sorted(runs) == planned


def table(folder: Path) -> bytes:
    return (folder / "samples.parquet").read_bytes()


def test_one_seed_gives_one_table_killed_or_not_and_another_seed_another(
    small: Small, tmp_path: Path
) -> None:
    args = small.virtual()
    whole, cut, other = tmp_path / "whole", tmp_path / "cut", tmp_path / "other"
    duration_s = run_in_process([*args, "--out", str(whole)])
    for share in (0.5, 0.75):
        kill_after([*args, "--out", str(cut)], share * duration_s)
    assert mileage("run", *args, "--out", str(cut)).returncode == 0
    assert table(cut) == table(whole)
    for name in ("series", "latency", "counters"):
        assert (cut / f"{name}.parquet").read_bytes() == (whole / f"{name}.parquet").read_bytes(), name
    assert list((whole / "state").iterdir()) == []
    args[-1] = "8"
    assert mileage("run", *args, "--out", str(other)).returncode == 0
    assert table(other) != table(whole)


HOST = "@server-2025,memory_bytes=268435456,cache_bytes=134217728,journal_bytes=4194304"


def test_a_killed_study_of_a_modelled_host_gives_the_same_table(small: Small, tmp_path: Path) -> None:
    """Cache, files, journal and drive are saved together, and a kill at any time loses nothing of them."""
    study, *rest = small.virtual(cycles=1)
    plan = Path(study)
    # Buffered, so that dirty pages and the journal are part of the state that is saved.
    text = (
        plan.read_text()
        .replace('"32MiB"', '"32MiB"\ncache = "warm"')
        .replace("drive.toml", f"drive.toml{HOST}")
    )
    plan.write_text(text)
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    duration_s = run_in_process([study, *rest, "--out", str(whole)])
    kill_with_a_saved_state([study, *rest], cut)
    kill_after([study, *rest, "--out", str(cut)], 0.7 * duration_s)
    assert mileage("run", study, *rest, "--out", str(cut)).returncode == 0
    assert_every_run_once(cut)
    for name in ("samples", "series", "latency", "counters"):
        assert (cut / f"{name}.parquet").read_bytes() == (whole / f"{name}.parquet").read_bytes(), name


def test_kills_at_uniform_times(small: Small, tmp_path: Path) -> None:
    seed = int(os.environ.get("MILEAGE_SEED", "20101121"))
    print(f"MILEAGE_SEED={seed}")
    rng = random.Random(seed)
    args = small.virtual(blocks_per_plane=24)
    reference = tmp_path / "reference"
    duration_s = run_in_process([*args, "--out", str(reference)])
    kills = 0
    study = 0
    wanted = 20 if os.environ.get("MILEAGE_TEST_PROFILE") == "thorough" else 4
    while kills < wanted:
        folder = tmp_path / f"study-{study}"
        study += 1
        for _ in range(4):
            kills += kill_after([*args, "--out", str(folder)], rng.uniform(0.0, duration_s))
        result = mileage("run", *args, "--out", str(folder))
        assert result.returncode == 0, result.stderr
        assert_every_run_once(folder)
        assert table(folder) == table(reference)


def test_a_journal_cut_at_every_byte_of_its_last_two_lines(small: Small, tmp_path: Path) -> None:
    from mileage import app
    from mileage.execute import Silent, execute_study
    from mileage.targets import open_target

    folder = tmp_path / "study"
    study, *rest = small.virtual(blocks_per_plane=3, cycles=2)
    short = (
        Path(study).read_text().replace('"8MiB"', '"256KiB"').replace("2000", "4").replace('"3x"', '"1MiB"')
    )
    Path(study).write_text(short)
    assert mileage("run", study, *rest, "--out", str(folder)).returncode == 0
    journal = folder / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    plan = app.load(folder).plan
    last_run = max(at for at, line in enumerate(lines) if line.startswith(b'{"kind":"run"'))
    # The last two lines of the finished journal, and the last two runs, as a kill in mid-study would leave them.
    # Wherever it is cut, the whole lines are read; and from some cuts, the ends of lines among them, it is resumed.
    rng = random.Random(seed := int(os.environ.get("MILEAGE_SEED", "20101122")))
    print(f"MILEAGE_SEED={seed}")
    thorough = os.environ.get("MILEAGE_TEST_PROFILE") == "thorough"
    for end in (len(lines), last_run + 1):
        kept, last_two = b"".join(lines[: end - 2]), b"".join(lines[end - 2 : end])
        first_bytes = len(lines[end - 2])
        near = {
            *range(3),
            *range(first_bytes - 2, first_bytes + 3),
            *range(len(last_two) - 2, len(last_two) + 1),
        }
        every = range(len(last_two) + 1)
        for cut in every if thorough else sorted(near | set(rng.sample(every, min(300, len(every))))):
            journal.write_bytes(kept + last_two[:cut])
            content = read_journal(journal)
            whole = end - 2 + (cut >= first_bytes) + (cut == len(last_two))
            assert (len(content.entries), content.torn_bytes) == (
                whole,
                cut - (first_bytes if cut >= first_bytes else 0) if cut < len(last_two) else 0,
            )
        resumed = sorted(near) if thorough else rng.sample(sorted(near), 6)
        for cut in {*resumed, *rng.sample(range(len(last_two)), 30 if thorough else 3)}:
            journal.write_bytes(kept + last_two[:cut])
            execute_study(
                plan,
                StudyFolder(folder),
                lambda _setting: open_target(plan.target, plan_hash=plan.hash),
                Silent(),
                command="",
            )
            assert_every_run_once(folder)


def test_ctrl_c_ends_in_a_second_and_keeps_what_finished(small: Small, tmp_path: Path) -> None:
    args = small.virtual(blocks_per_plane=200)
    folder = tmp_path / "study"
    command = [sys.executable, "-m", "mileage", "run", *args, "--out", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        while not (folder / "journal.jsonl").exists() or not run_keys(folder):
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        # A second and the way out; the loose bound is for a busy machine. The study itself takes far longer.
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 3, errors
    assert "To resume: mileage run" in errors


def test_a_saved_state_that_was_tampered_with_is_not_used(small: Small, tmp_path: Path) -> None:
    args = small.virtual(cycles=2)
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    assert mileage("run", *args, "--out", str(whole)).returncode == 0
    kill_with_a_saved_state(args, cut)
    for state in (cut / "state").iterdir():
        state.write_bytes(b"stale")
    assert mileage("run", *args, "--out", str(cut)).returncode == 0
    assert table(cut) == table(whole)
