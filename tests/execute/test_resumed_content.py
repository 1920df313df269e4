"""A resumed study measures what an uninterrupted one does: content that was lost is written again, all of it."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mileage import _core, app
from mileage.errors import Refused, RunFailed
from mileage.execute import cycle
from mileage.execute.progress import Silent
from mileage.targets.ledger import LEDGER_VARIABLE
from tests.execute.conftest import small_profile
from tests.execute.test_resume import assert_every_run_once

pytestmark = pytest.mark.xdist_group("devices")

STUDY = """
name = "resumed"
target = "{target}"
cycles = 2
[state]
file = "1MiB"
{state}
[[stage]]
name = "before"
prepare = ["fill"]
[[stage]]
name = "torture"
torture = ["wear"]
[[stage]]
name = "after"
measure = ["m"]
[measure.m]
workload = "{measured}"
record = "64KiB"
{files}
stop = {{ bytes = "1MiB" }}
repeat = 2
[torture.fill]
workload = "throughput.write"
record = "64KiB"
{files}
amount = "1MiB"
[torture.wear]
workload = "{wear}"
record = "64KiB"
{files}
amount = "256KiB"
"""
TWO = 'threads = 2\nfiles = "per_thread"'
WRITE, READ, DISCARD = "throughput.write", "throughput.read", "pattern.discard"


class Seen:
    """Does runs, and remembers of each its key and what the target's files held before it."""

    def __init__(self, fail_at: str = "") -> None:
        self.runs: list[tuple[str, list[str]]] = []
        self._fail_at = fail_at
        self._genuine = cycle.perform

    def __call__(self, target: Any, run: Any, **rest: Any) -> Any:
        if run.key.startswith(self._fail_at) and self._fail_at:
            raise RunFailed("pulled out", cause="vanished")
        if run.role == "reset":
            return self._genuine(target, run, **rest)
        self.runs.append((run.key, [hashlib.sha256(path.read_bytes()).hexdigest() for path in target.paths]))
        return self._genuine(target, run, **rest)


@pytest.fixture
def target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(LEDGER_VARIABLE, str(tmp_path / "ledger"))
    (tmp_path / "target").mkdir()
    return tmp_path / "target"


def study(folder: Path, scheme: str, **keys: str) -> Path:
    if scheme.startswith("loop:") and (os.geteuid() != 0 or shutil.which("losetup") is None):
        pytest.skip("loop devices are attached by root, with losetup")
    output = {"state": "", "files": "", "wear": WRITE, "measured": READ, **keys}
    path = folder.parent / "resumed.toml"
    path.write_text(STUDY.format(target=f"{scheme}{folder}", **output), encoding="utf-8")
    return path


def run(
    name: Path,
    out: Path,
    monkeypatch: pytest.MonkeyPatch,
    fail_at: str = "",
    labels: dict[str, str] | None = None,
) -> list[tuple[str, list[str]]]:
    with monkeypatch.context() as patch:
        patch.setattr(cycle, "perform", seen := Seen(fail_at))
        if fail_at:
            with pytest.raises(RunFailed, match="pulled out"):
                app.run(str(name), out=out, labels=labels)
        else:
            app.run(str(name), out=out, labels=labels)
    return seen.runs


def compare(
    target: Path,
    name: Path,
    monkeypatch: pytest.MonkeyPatch,
    lose: Callable[[], None],
    fail_at: str = "cycle 1/torture/after/block 2",
) -> list[str]:
    """Every run finds what it finds in a study that is not cut off; the keys of what the second process did."""
    whole = dict(run(name, target.parent / "whole", monkeypatch))
    cut = target.parent / "cut"
    first = run(name, cut, monkeypatch, fail_at)
    lose()
    second = run(cut, cut, monkeypatch)
    assert [key for key, content in (*first, *second) if content != whole[key]] == []
    assert_every_run_once(cut)
    return [key for key, _ in second]


def of_plan(target: Path, end: str) -> Path:
    (found,) = target.glob(f".mileage-*{end}")
    return found


def test_discards_leave_the_work_file_as_it_is(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = study(target, "dir:", wear=DISCARD)
    again = compare(target, name, monkeypatch, lambda: None)
    assert again[0] == "cycle 1/torture/after/block 2/throughput.read 64 KiB"


def test_remounting_leaves_the_work_file_as_it_is(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state = 'filesystem = "ext4"\ncarryover = "remount"'
    runs = run(study(target, "loop:64MiB@", wear=DISCARD, state=state), target.parent / "out", monkeypatch)
    (first, second) = [found for key, found in runs if key.startswith("cycle 1/torture/after")]
    assert first == second


def test_a_work_file_of_another_size_is_written_again(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = study(target, "dir:")
    again = compare(target, name, monkeypatch, lambda: os.truncate(of_plan(target, ".dat"), 512 << 10))
    assert again[0] == "cycle 1/torture/before/block 1/fill"


@pytest.mark.parametrize("number", [0, 1])
def test_so_is_the_file_of_a_thread(target: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    name = study(target, "dir:", files=TWO)
    again = compare(target, name, monkeypatch, lambda: of_plan(target, f".dat.{number}").unlink())
    assert again[0] == "cycle 1/torture/before/block 1/fill"


@pytest.mark.parametrize("state", ["", 'filesystem = "ext4"'])
def test_so_is_a_loop_device(target: Path, monkeypatch: pytest.MonkeyPatch, state: str) -> None:
    """And the next cycle begins with a purge, although the device was made by this process."""
    name = study(target, "loop:64MiB@", state=state)
    again = compare(target, name, monkeypatch, lambda: of_plan(target, ".img").unlink())
    assert again[0] == "cycle 1/torture/before/block 1/fill"


@pytest.mark.parametrize("fail_at", ["cycle 1/torture/before", "cycle 1/torture/after/block 2"])
def test_another_session_in_between_is_not_measured(
    target: Path, monkeypatch: pytest.MonkeyPatch, fail_at: str
) -> None:
    """What a session leaves is not what another one, that was cut off, wrote: that is written again."""
    name = study(target, "dir:")
    factor = '[factor.kernel]\nkind = "label"\nlevels = ["a", "b"]\n'
    name.write_text(name.read_text("utf-8").replace("[[stage]]", f"{factor}[[stage]]", 1), "utf-8")
    a, b, out = {"kernel": "a"}, {"kernel": "b"}, target.parent / "out"
    whole = dict(run(name, target.parent / "whole", monkeypatch, labels=a))
    whole |= run(name, target.parent / "whole", monkeypatch, labels=b)
    parts = [
        run(name, out, monkeypatch, "cycle 1/torture/after/block 2", a),
        run(out, out, monkeypatch, fail_at, b),
        run(out, out, monkeypatch, "cycle 2/torture/after/block 2", a),
        run(out, out, monkeypatch, labels=b),
        run(out, out, monkeypatch, labels=a),
    ]
    assert [key for part in parts for key, content in part if content != whole[key]] == []
    assert [part[0][0] for part in parts[2:]] == [
        f"cycle {n}/torture/before/block 1/fill (kernel {k})" for n, k in ((1, "a"), (1, "b"), (2, "a"))
    ]
    assert_every_run_once(out)


def test_a_drive_whose_profile_was_changed_is_not_gone_on_with(
    target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    profile = target / "own.toml"
    text = small_profile(8)
    profile.write_text(text, encoding="utf-8")
    name = study(profile, "virtual:")
    out = target.parent / "out"
    run(name, out, monkeypatch, "cycle 2/torture/after/block 2")
    profile.write_text(text.replace("read_us = { value = 50", "read_us = { value = 500"), encoding="utf-8")
    with pytest.raises(Refused, match="another device than the study was planned for"):
        app.run(str(out))
    profile.write_text(f"# a comment\n{text}", encoding="utf-8")
    run(out, out, monkeypatch)
    assert_every_run_once(out)


def test_what_was_measured_writing_is_written_again_too(
    target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What later runs read may have been written by measured ones."""
    name = study(target, "dir:")
    text = name.read_text("utf-8").replace('prepare = ["fill"]', 'measure = ["w"]')
    text = text.replace('measure = ["m"]', 'measure = ["w", "m"]')
    fill = text[text.index("[torture.fill]") : text.index("[torture.wear]")]
    writing = fill.replace("torture.fill", "measure.w").replace(
        'amount = "1MiB"', 'stop = { bytes = "1MiB" }'
    )
    name.write_text(text.replace(fill, f"{writing}repeat = 1\n"), "utf-8")
    again = compare(target, name, monkeypatch, lambda: of_plan(target, ".dat").unlink())
    assert again[0] == f"cycle 1/torture/before/block 1/{WRITE} 64 KiB"


def test_what_was_purged_between_blocks_is_not_written_again(
    target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = study(target, "dir:", state='carryover = "purge"')
    text = name.read_text("utf-8").replace('[[stage]]\nname = "torture"\ntorture = ["wear"]\n', "")
    name.write_text(text[: text.index("[torture.wear]")], "utf-8")
    again = compare(
        target,
        name,
        monkeypatch,
        lambda: of_plan(target, ".dat").unlink(),
        "cycle 1/torture/after/block 2/throughput",
    )
    assert again[0] == "cycle 1/torture/after/block 2/fill"


def test_a_raw_device_of_a_resumed_study_is_reported_without_a_mark(
    target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing on it says who wrote last: the user sees what the rest of the study relies on."""
    name = study(target, "loop:")
    image = target / "image"
    image.write_bytes(bytes(16 << 20))
    found = subprocess.run(["losetup", "-f", "--show", image], check=True, capture_output=True, text=True)
    device, out = found.stdout.strip(), target.parent / "out"
    text = name.read_text("utf-8").replace(f"loop:{target}", f"block:{device}")
    name.write_text(text.replace('file = "1MiB"', ""), "utf-8")
    notes: list[str] = []
    output = Silent()
    monkeypatch.setattr(output, "note", notes.append)
    try:
        with monkeypatch.context() as patch:
            patch.setattr(cycle, "perform", Seen("cycle 1/torture/after/block 2"))
            with pytest.raises(RunFailed, match="pulled out"):
                app.run(str(name), out=out, destroy=device, progress=output)
        assert not [note for note in notes if "mark" in note]
        app.run(str(out), destroy=device, progress=output)
    finally:
        subprocess.run(["losetup", "-d", device], check=True)
    (note,) = [note for note in notes if "mark" in note]
    assert note.startswith(f"{device} has no mark of this study: if anything else wrote to it since")
    assert_every_run_once(out)


IOZONE = """
name = "iozone"
target = "dir:{target}"
cycles = 1
[state]
file = "1MiB"
[[stage]]
name = "only"
measure = ["m"]
[measure.m]
workload = ["iozone.write", "iozone.rewrite"]
record = "64KiB"
repeat = 2
fidelity = true
{threads}
"""


@pytest.mark.parametrize(("threads", "files"), [("", [""]), ("threads = 2", [".0", ".1"])])
def test_iozone_writes_new_files_after_a_process_was_killed(
    target: Path, monkeypatch: pytest.MonkeyPatch, threads: str, files: list[str]
) -> None:
    name = target.parent / "iozone.toml"
    name.write_text(IOZONE.format(target=target, threads=threads), encoding="utf-8")
    out = target.parent / "out"
    run(name, out, monkeypatch, "cycle 1/torture/only/block 2")
    for end in files:
        Path(f"{of_plan(target, '.dat')}.iozone{end}").write_bytes(os.urandom(1 << 20))
    genuine = _core.run_iozone
    there: list[Path] = []

    def looked_at(path: str, *rest: Any) -> str:
        there.extend(target.glob(".mileage-*.iozone*"))
        return genuine(path, *rest)

    monkeypatch.setattr(_core, "run_iozone", looked_at)
    app.run(str(out))
    assert there == []
    assert_every_run_once(out)
