"""Folders of one study made at different labels become one; folders that do not fit are refused."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from mileage.app import load, run
from mileage.errors import Refused
from mileage.model.journal_entries import End, LengthFactor, MergedFolder
from mileage.store import StudyFolder
from mileage.store.merge import merge_folders
from tests.execute.test_calibration import HOST, LEVELS
from tests.execute.test_factors import DRIVES, KERNELS, written
from tests.store.sealing import seal_again, unseal


def test_two_sessions_become_one_study(tmp_path: Path) -> None:
    study = written(tmp_path, KERNELS)
    for name, kernel in (("a", "6.1"), ("b", "6.8")):
        run(study, out=tmp_path / name, labels={"kernel": kernel})
    merged = merge_folders([tmp_path / "a", tmp_path / "b"], tmp_path / "both")
    whole = tmp_path / "whole"
    run(study, out=whole, labels={"kernel": "6.1"})
    run(str(whole), labels={"kernel": "6.8"})
    runs = {entry.run: entry.record for entry in merged.content().runs()}
    assert runs == {entry.run: entry.record for entry in StudyFolder(whole).content().runs()}
    assert merged.content().of_kind(End)
    assert len(merged.content().of_kind(MergedFolder)) == 2
    assert not load(tmp_path / "both").comparison().vetoes


def test_a_merged_study_that_lacks_a_session_resumes(tmp_path: Path) -> None:
    study = written(tmp_path, KERNELS.replace('"6.8"]', '"6.8", "6.9"]'))
    for name, kernel in (("a", "6.1"), ("b", "6.8")):
        run(study, out=tmp_path / name, labels={"kernel": kernel})
    merged = merge_folders([tmp_path / "a", tmp_path / "b"], tmp_path / "both")
    assert not merged.content().of_kind(End)
    run(str(merged.path), labels={"kernel": "6.9"})
    assert merged.content().of_kind(End)
    assert len(merged.content().runs()) == len(load(merged.path).plan.runs)


def test_a_merged_folder_is_sealed_when_all_of_its_sources_are(tmp_path: Path) -> None:
    study = written(tmp_path, KERNELS)
    for name, kernel in (("a", "6.1"), ("b", "6.8")):
        run(study, out=tmp_path / name, labels={"kernel": kernel})
    sources = [tmp_path / "a", tmp_path / "b"]
    sealed = load(merge_folders(sources, tmp_path / "sealed").path)
    assert sealed.content().seal is not None
    assert not [caveat for caveat in sealed.caveats() if caveat.is_veto]
    unseal(tmp_path / "b")
    unsealed = load(merge_folders(sources, tmp_path / "unsealed").path)
    assert unsealed.content().seal is None
    assert not [caveat for caveat in unsealed.caveats() if caveat.is_veto]


def test_folders_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    run(written(tmp_path, KERNELS), out=tmp_path / "a", labels={"kernel": "6.1"})
    run(written(tmp_path, DRIVES), out=tmp_path / "c")
    with pytest.raises(Refused, match=r"c holds another plan than .*a;"):
        merge_folders([tmp_path / "a", tmp_path / "c"], tmp_path / "out")
    with pytest.raises(Refused, match="give two study folders or more, each once"):
        merge_folders([tmp_path / "a", tmp_path / "a"], tmp_path / "out")
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    journal = tmp_path / "b" / "journal.jsonl"
    journal.write_bytes(journal.read_bytes().replace(b'"elapsed_ns":', b'"elapsed_ns":1'))
    with pytest.raises(Refused, match=r"was changed after it was written; .*restore the file"):
        merge_folders([tmp_path / "a", tmp_path / "b"], tmp_path / "out")
    seal_again(tmp_path / "b")
    with pytest.raises(
        Refused, match=r"run 0 \(fill\) was done both in .*a and in .*b, with different results"
    ):
        merge_folders([tmp_path / "a", tmp_path / "b"], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_folders_that_found_other_numbers_of_files_are_refused(tmp_path: Path) -> None:
    study = tmp_path / "names.toml"
    study.write_text(
        LEVELS.replace("HOST", HOST) + '[factor.kernel]\nkind = "label"\nlevels = ["6.1", "6.8"]\n'
    )
    for name, kernel in (("a", "6.1"), ("b", "6.8")):
        run(str(study), out=tmp_path / name, labels={"kernel": kernel}, report="none")
    assert merge_folders([tmp_path / "a", tmp_path / "b"], tmp_path / "alike").content().of_kind(LengthFactor)
    lines = (tmp_path / "b" / "journal.jsonl").read_bytes()
    (found,) = re.findall(rb'"factor":(\d+)', lines)
    seal_again(tmp_path / "b", lines.replace(b'"factor":' + found, b'"factor":99').splitlines())
    with pytest.raises(
        Refused, match=rf"trials found {int(found)} times .* in .*a and 99 times in .*b \(meta"
    ):
        merge_folders([tmp_path / "a", tmp_path / "b"], tmp_path / "out")
    assert not (tmp_path / "out").exists()
