"""Studies that vary something as a whole: several drives at once, labels, resets, and resuming after each."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

import mileage
from mileage.app import load, run
from mileage.errors import Refused
from mileage.model.journal_entries import End, Run
from mileage.report.sentence import design_words
from mileage.store import StudyFolder
from tests.execute.conftest import small_profile

STUDY = """
name = "arms"
target = "TARGET"
seed = 3
[[stage]]
name = "prepare"
prepare = ["fill"]
[[stage]]
name = "measured"
measure = ["iops"]
[measure.iops]
workload = ["iops.random_read", "iops.random_write"]
record = "4KiB"
stop = { operations = 200 }
repeat = 4
[torture.fill]
workload = "throughput.write"
record = "1MiB"
amount = "100%"
"""
DRIVES = """
[factor.read_us]
kind = "profile"
levels = [50, 80]
[compare]
arms = "read_us"
"""
KERNELS = """
[factor.kernel]
kind = "label"
levels = ["6.1", "6.8"]
[compare]
arms = "kernel"
"""


def written(folder: Path, more: str, *changes: tuple[str, str]) -> str:
    profile = folder / "drive.toml"
    profile.write_text(small_profile(8))
    text = STUDY.replace("TARGET", f"virtual:{profile}") + more
    for found, changed in changes:
        assert found in text
        text = text.replace(found, changed, 1)
    path = folder / "arms.toml"
    path.write_text(text)
    return str(path)


def records(folder: Path) -> dict[int, object]:
    return {entry.run: entry.record for entry in StudyFolder(folder).content().runs()}


def test_a_counterfactual_drive_is_slower_where_it_was_made_slower_and_nowhere_else(tmp_path: Path) -> None:
    result = run(written(tmp_path, DRIVES, ("seed = 3", "seed = 3\naa = true")), out=tmp_path / "out")
    found = {cell.cell: cell for cell in result.comparison().headline}
    assert found["iops.random_read 4 KiB"].verdict == "slower"
    assert found["iops.random_write 4 KiB"].ratio == pytest.approx(1.0, abs=1e-3)
    assert design_words(result.comparison()) == "four paired blocks"
    assert "A/A" in result.text(verbose=True)


def test_a_study_of_two_drives_resumes_where_it_was_cut_off(tmp_path: Path) -> None:
    study = written(tmp_path, DRIVES, ("[[stage]]", '[state]\ncarryover = "purge"\n[[stage]]'))
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    run(study, out=whole)
    run(study, out=cut)
    journal = StudyFolder(cut).journal
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:9]) + lines[9][:20])
    run(str(cut))
    assert records(cut) == records(whole)
    for table in ("samples", "series", "latency", "counters"):
        assert (cut / f"{table}.parquet").read_bytes() == (whole / f"{table}.parquet").read_bytes()


def test_a_label_is_measured_at_the_level_of_the_machine_and_resumes_at_the_other(tmp_path: Path) -> None:
    study, out = written(tmp_path, KERNELS), tmp_path / "out"
    with pytest.raises(Refused, match=r"give --label kernel=LEVEL; expected one of 6.1, 6.8"):
        run(study, out=out)
    assert not out.exists()
    with pytest.raises(Refused, match=r"kernel=5.0: not a level"):
        run(study, out=out, labels={"kernel": "5.0"})
    run(study, out=out, labels={"kernel": "6.8"})
    content = StudyFolder(out).content()
    assert {entry.part for entry in content.of_kind(Run)} == {"kernel=6.8"}
    assert not content.of_kind(End)
    result = run(str(out), labels={"kernel": "6.1"})
    assert result.folder.content().of_kind(End)
    comparison = result.comparison()
    assert not comparison.vetoes
    assert comparison.unit != "block"
    assert all(cell.ratio == pytest.approx(1.0) for cell in comparison.headline)


def test_a_label_that_the_machine_contradicts_is_refused(tmp_path: Path) -> None:
    found = ('kind = "label"', 'kind = "label"\nfound = "kernel.release"')
    study = written(tmp_path, KERNELS.replace('["6.1", "6.8"]', '["0.1", "0.2"]'), found)
    with pytest.raises(
        Refused, match=r"factor.kernel: found kernel.release = '.*', expected one of 0.1, 0.2"
    ):
        run(study, out=tmp_path / "out")
    with pytest.raises(Refused, match=r"--label kernel=0.1: found kernel.release"):
        run(study, out=tmp_path / "out", labels={"kernel": "0.1"})


def test_blocked_order_is_stated_with_the_verdict(tmp_path: Path) -> None:
    study = written(tmp_path, DRIVES, ("seed = 3", 'seed = 3\norder = "blocked"'))
    comparison = run(study, out=tmp_path / "out").comparison()
    assert comparison.has("blocked-order")
    assert comparison.unit == "run"


def test_two_directories_are_two_arms(tmp_path: Path) -> None:
    study = written(tmp_path, '[factor.disk]\nkind = "target"\nlevels = { a = "dir:A", b = "dir:B" }\n')
    text = Path(study).read_text().replace('A", b', f'{tmp_path}/a", b').replace("dir:B", f"dir:{tmp_path}/b")
    text = text.replace("[[stage]]", '[state]\nfile = "4MiB"\ncache = "warm"\n[[stage]]', 1)
    text += '[compare]\narms = "disk"\n'
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    Path(study).write_text(text)
    result = run(study, out=tmp_path / "out")
    assert {entry.levels["disk"] for entry in result.folder.content().runs()} == {"a", "b"}
    assert not list((tmp_path / "a").iterdir())
    assert not list((tmp_path / "b").iterdir())
    with pytest.raises(Refused, match=r"factor.disk of arms names its targets"):
        mileage.run(study, target=f"dir:{tmp_path}", out=tmp_path / "other")
    assert load(tmp_path / "out").plan.settings[1].target == f"dir:{tmp_path}/b"


@pytest.mark.xdist_group("devices")
@pytest.mark.skipif(
    os.geteuid() != 0 or not all(map(shutil.which, ("losetup", "mkfs.ext4", "mkfs.xfs"))),
    reason="needs root, losetup, mkfs.ext4 and mkfs.xfs",
)
def test_file_systems_are_arms_each_on_a_device_of_its_own(tmp_path: Path) -> None:
    study = Path(
        written(tmp_path, '[factor.filesystem]\nlevels = ["ext4", "xfs"]\n[compare]\narms = "filesystem"\n')
    )
    text = study.read_text().replace(f"virtual:{tmp_path / 'drive.toml'}", "loop:400MiB")
    study.write_text(text.replace("[[stage]]", '[state]\nfile = "8MiB"\n[[stage]]', 1))
    result = run(str(study), out=tmp_path / "out")
    assert {entry.levels["filesystem"] for entry in result.folder.content().runs()} == {"ext4", "xfs"}
    assert design_words(result.comparison()) == "four paired blocks"
    kinds = {
        found.get("target.fs_type") for name, found in result.folder.environments() if "start" not in name
    }
    assert {"ext4", "xfs"} <= kinds, kinds
