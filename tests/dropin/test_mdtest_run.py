"""`mileage mdtest` without a study: names and calls of the original, phases in calls of their own, exit statuses."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mileage.targets.door.marks import LEDGER_VARIABLE
from tests.command import mileage


def names(place: Path) -> list[str]:
    return sorted(str(path.relative_to(place)) for path in place.rglob("*"))


def run(place: Path, line: str) -> tuple[int, str]:
    done = mileage("mdtest", *line.split(), cwd=place)
    return done.returncode, done.stdout


def test_names_are_those_of_the_original(tmp_path: Path) -> None:
    status, _ = run(tmp_path, "-C -n 6 -z 1 -b 2 -w 10 -d out")
    assert status == 0
    tree = "out/test-dir.0-0/mdtest_tree.0"
    expected = ["out", "out/test-dir.0-0", tree]
    for directory, items in (("", (0, 1)), ("/mdtest_tree.1", (2, 3)), ("/mdtest_tree.2", (4, 5))):
        expected += [f"{tree}{directory}"] if directory else []
        expected += [
            f"{tree}{directory}/{kind}.mdtest.0.{item}" for item in items for kind in ("dir", "file")
        ]
    assert names(tmp_path) == sorted(expected)
    assert {path.stat().st_size for path in tmp_path.rglob("file.*")} == {10}


def test_phases_in_calls_of_their_own_find_what_was_left(tmp_path: Path) -> None:
    for tasks, more in (
        (1, ""),
        (3, "-u -N 1"),
        (2, "-L -z 1 -b 2"),
        (2, "-R"),
        (2, "-c"),
        (2, "-k"),
        (2, "-S"),
    ):
        written = "" if more == "-k" else "-w 100"
        base = f"--tasks {tasks} -F -n 4 {written} -d out -G 7 {more}"
        assert run(tmp_path, f"{base} -C")[0] == 0
        # mknod makes files without content.
        read = "" if more == "-k" else "-e 100 -X"
        status, text = run(tmp_path, f"{base} -T -E {read}")
        assert (status, "WARNING: unable" in text) == (0, False), (more, text)
        assert run(tmp_path, f"{base} -r")[0] == 0
        assert [name for name in names(tmp_path) if "file" in name] == [], more


def test_all_phases_leave_nothing(tmp_path: Path) -> None:
    status, text = run(tmp_path, "--tasks 2 -n 8 -i 2 -z 2 -b 2 -u -d made/here -P -Y -y -w 5 -e 5")
    assert status == 0, text
    assert [name for name in names(tmp_path) if name != "made"] == []
    assert text.count("(of 2 iterations)") == 2
    assert "   Directory rename" in text


def test_the_table_has_a_row_of_zeros_for_a_phase_that_was_not_done(tmp_path: Path) -> None:
    _, text = run(tmp_path, "-C -F -n 4 -d out")
    rows = {line[3:25].strip(): line[25:].split() for line in text.splitlines() if line.startswith("   ")}
    assert rows["File stat"] == ["0.000"] * 4
    assert float(rows["File creation"][0]) > 0
    assert text.splitlines()[7:9] == ["1 tasks, 4 files", ""]


def test_a_stonewall_is_kept_for_later_calls(tmp_path: Path) -> None:
    base = "--tasks 2 -F -n 100000000 -d out -x status"
    assert run(tmp_path, f"{base} -C -W 1")[0] == 0
    count = int((tmp_path / "status").read_text())
    assert len(list(tmp_path.rglob("file.mdtest.*"))) == 2 * count
    status, text = run(tmp_path, f"{base} -r")
    assert (status, "WARNING" in text) == (0, False)
    assert list(tmp_path.rglob("file.mdtest.*")) == []


def test_a_missing_file_is_a_warning_and_a_short_one_too(tmp_path: Path) -> None:
    status, text = run(tmp_path, "-T -F -n 2 -d out")
    assert status == 0
    assert text.count("WARNING: unable to stat") == 2


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
def test_the_first_task_makes_and_removes_the_files_of_all_in_the_timed_window(tmp_path: Path) -> None:
    """Truth: strace says who made each call and when; the window is not shorter than from the first to the last."""
    trace, place = tmp_path / "trace", tmp_path / "place"
    place.mkdir()
    line = "mileage mdtest --tasks 3 -c -F -n 300 -d with.mdtest.0.inside"
    done = subprocess.run(
        ["strace", "-f", "-ttt", "-e", "trace=unlinkat,newfstatat,statx", "-o", str(trace), sys.executable, "-m",
         *line.split()],
        cwd=place, check=True, capture_output=True, text=True,
        # What other tests have killed is another folder's to remove.
        env={**os.environ, LEDGER_VARIABLE: str(tmp_path / "ledger")},
    )  # fmt: skip
    assert names(place) == []
    calls = [call.split(maxsplit=2) for call in trace.read_text().splitlines() if '"file.mdtest.' in call]
    removed = [(task, float(at_s)) for task, at_s, call in calls if call.startswith("unlinkat(")]
    assert len(removed) == 900
    assert len({task for task, _ in removed}) == 1
    assert len({task for task, _, call in calls if not call.startswith("unlinkat(")}) == 3
    rows = {row[3:25].strip(): row[25:].split() for row in done.stdout.splitlines() if row.startswith("   ")}
    assert float(rows["File removal"][0]) <= 900 / (removed[-1][1] - removed[0][1])


def test_pairs_that_mdtest_does_not_do_are_refused(tmp_path: Path) -> None:
    for pair in (
        "-c -u",
        "-c -S",
        "-c -B",
        "-u -S",
        "-N 1 -B",
        "-k -w 5",
        "-X -e 0",
        "-w 5 -e 6",
        "-c -d a@b",
    ):
        refused = mileage("mdtest", "-n", "4", "-F", *pair.split(), cwd=tmp_path)
        assert (refused.returncode, names(tmp_path)) == (2 if pair == "-c -u" else 1, []), pair


def test_shared_names_leave_directories_out(tmp_path: Path) -> None:
    status, text = run(tmp_path, "-D -S -n 4 -d out")
    rows = [line.split("  ")[0] for line in text.partition("-------\n")[2].split("   ") if line[:1].isalpha()]
    assert (status, rows) == (0, ["Tree creation", "Tree removal"])
    status, text = run(tmp_path, "--tasks 2 -S -n 4 -d out")
    # Only the first task removes the files, so that no removal fails.
    assert (status, text.count("unlink()"), "File removal" in text) == (0, 0, True)


def test_files_that_are_missing_end_reading_and_not_removal(tmp_path: Path) -> None:
    status, text = run(tmp_path, "-n 2 -r -d out")
    assert status == 0
    tree = "out/test-dir.0-0/mdtest_tree.0/"
    for line in (
        f"WARNING: unable to remove directory {tree}dir.mdtest.0.0",
        f'WARNING: [RANK 000]: unlink() of file "{tree}file.mdtest.0.1" failed',
        f"WARNING: Unable to remove directory {tree}",
    ):
        assert line in text.splitlines(), line
    status, text = run(tmp_path, "-n 2 -E -F -d out")
    assert status == 255
    assert f'ERROR: open64("{tree}file.mdtest.0.0", 2) failed: No such file or directory, (mileage)' in text


def test_a_random_order_calls_nothing_with_dummy(tmp_path: Path) -> None:
    status, text = run(tmp_path, "-a DUMMY -R -n 5 -d out")
    assert (status, "   File stat" in text) == (0, True)
    assert [name for name in names(tmp_path) if name != "out"] == []


def test_a_warning_is_an_error_where_that_is_asked_for(tmp_path: Path) -> None:
    status, text = run(tmp_path, "-T -F -n 2 -d out --warningAsErrors")
    assert (status, "ERROR: unable to stat file out/" in text) == (255, True)


def test_a_flag_without_an_effect_is_noted(tmp_path: Path) -> None:
    done = mileage("mdtest", "-n", "2", "-F", "-v", "-V", "1", "-t", cwd=tmp_path)
    assert done.returncode == 0
    assert [line.partition(": ")[2].partition(":")[0] for line in done.stderr.splitlines()] == ["-t"]


def test_what_was_finished_is_printed_when_it_is_terminated(tmp_path: Path) -> None:
    program = [str(Path(sys.executable).with_name("mileage")), "mdtest"]
    words = ["-n", "20", "-i", "10000", "-F", "-d", "d"]
    with subprocess.Popen([*program, *words], cwd=tmp_path, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        for line in run.stdout:
            if "1 tasks, 20 files" in line:
                break
        # A later iteration than the first has begun when its directory is there.
        while not any(path.name != "test-dir.0-0" for path in (tmp_path / "d").glob("test-dir.*")):
            assert run.poll() is None
            time.sleep(0.001)
        run.terminate()
        text = run.stdout.read()
    assert run.returncode == -signal.SIGTERM
    assert re.search(r"File creation +[0-9]+\.[0-9]+", text)
    assert "finished" not in text
