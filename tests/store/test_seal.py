"""What was edited after it was written is ignored and reported, next to a verdict that is then not conclusive."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from mileage import app
from mileage.app.export_tables import exported_tables
from mileage.app.importer import make_study, read_files
from mileage.app.study import run
from mileage.cli.report import command as report
from mileage.errors import JudgedFailure, Refused
from mileage.plan.planned_runs import hash_is_right
from mileage.store import read_journal
from mileage.store.merge import merge_folders
from mileage.store.query import Query
from tests.command import mileage
from tests.execute.test_factors import DRIVES, written
from tests.formats.sample_reader import SAMPLES
from tests.store.sealing import seal_again, unseal

Entry = dict[str, Any]
Edit = Callable[[list[Entry]], object]


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("study")
    return run(written(place, DRIVES), out=place / "out").folder.path


@pytest.fixture
def folder(study: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(study, tmp_path / "copy"))


def runs(entries: list[Entry]) -> list[Entry]:
    """The measured runs among the entries."""
    return [entry for entry in entries if entry.get("role") == "measure"]


def edited(folder: Path, edit: Edit) -> None:
    """Edit the entries of a journal, each with the checksum that it has."""
    journal = folder / "journal.jsonl"
    entries = [json.loads(line) for line in journal.read_bytes().splitlines()]
    edit(entries)
    journal.write_bytes(b"".join(msgspec.json.encode(entry) + b"\n" for entry in entries))


def output(folder: Path) -> str:
    """The report on the terminal, in one line. It is also written, and everything else that reads is done."""
    result = app.load(folder)
    result.write_report("text")
    text = " ".join(result.text().split())
    assert [list(table.rows()) for table in exported_tables(folder)[1]]
    assert Query([folder]).sql("SELECT count(*) FROM samples")
    vetoes = [caveat for caveat in result.caveats() if caveat.is_veto]
    page = result.folder.report.read_text(encoding="utf-8")
    assert not vetoes or ("Not conclusive because" in text and "Not conclusive because" in page)
    assert set(map(str, vetoes)) <= set(map(str, result.comparison().caveats)), "compare --json has them"
    return text


def change(name: str, value: object) -> Edit:
    return lambda entries: runs(entries)[3].update({name: value})


def change_record(name: str, value: object) -> Edit:
    return lambda entries: runs(entries)[3]["record"].update({name: value})


def double_bytes(entries: list[Entry]) -> None:
    for name in ("bytes_read", "bytes_written"):
        runs(entries)[3]["record"][name] *= 2


def widen_histogram(entries: list[Entry]) -> None:
    runs(entries)[3]["record"]["latency"]["read"]["buckets"].append([7000, 3])


def shorten_series(entries: list[Entry]) -> None:
    runs(entries)[3]["record"]["series"]["ops"].append(5)


def again(entries: list[Entry]) -> None:
    entries.insert(6, dict(runs(entries)[0]))


VALUES: dict[str, tuple[Edit, str]] = {
    "stage": (change("stage", "after"), "has stage 'after' for run"),
    "role": (change("role", "torture"), "has role 'torture' for run"),
    "cycle": (change("cycle", 2), "has cycle 2 for run"),
    "block": (change("block", 9), "has block 9 for run"),
    "cell": (change("cell", "iops.other"), "has cell 'iops.other' for run"),
    "levels": (change("levels", {"read_us": "7"}), "has levels {'read_us': '7'} for run"),
    "run number": (change("run", 999), "has run 999, which the plan does not have"),
    "elapsed 0": (change_record("elapsed_ns", 0), "has an elapsed time of 0 ns"),
    "elapsed negative": (change_record("elapsed_ns", -5), "is damaged (Expected `int` >= 0"),
    "histogram": (widen_histogram, "has a histogram of read latencies"),
    "series": (shorten_series, "has a series of"),
    "run twice": (again, "again, which is in line"),
}


@pytest.mark.slow
@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", VALUES)
def test_an_edited_value_is_noticed_by_its_checksum_and_by_the_plan(
    folder: Path, tmp_path: Path, name: str
) -> None:
    """With the checksum that it had; with all of them computed again; and in a folder without any."""
    edit, why = VALUES[name]
    forged = Path(shutil.copytree(folder, tmp_path / "forged"))
    unsealed = Path(shutil.copytree(folder, tmp_path / "unsealed"))
    edited(folder, edit)
    expected = (
        "were removed, added or moved before"
        if edit is again
        else "was changed after it was written (ignored)"
    )
    assert expected in output(folder)
    edited(forged, edit)
    seal_again(forged)
    assert why in output(forged)
    unseal(unsealed)
    edited(unsealed, edit)
    text = output(unsealed)
    assert why in text
    assert "seal: none: the folder is unsealed" in text


def test_doubled_bytes_are_noticed(folder: Path) -> None:
    edited(folder, double_bytes)
    assert "of the journal was changed after it was written (ignored)" in output(folder)


LINES: dict[str, tuple[Callable[[list[bytes]], object], str]] = {
    "removed": (
        lambda lines: lines.pop(4),
        "lines of the journal were removed, added or moved before line 5",
    ),
    "swapped": (lambda lines: lines.insert(4, lines.pop(8)), "moved before lines 5, 6, 10"),
    "unreadable": (lambda lines: lines.__setitem__(4, b"{\n"), "line 5 of the journal is damaged"),
    "without its checksum": (
        lambda lines: lines.__setitem__(4, lines[4].split(b',"after"')[0] + b"}\n"),
        "line 5 of the journal has no checksum",
    ),
    "first removed": (lambda lines: lines.pop(0), "moved before line 1"),
    "end removed": (lambda lines: lines.pop(), "the journal has no line for the end of the study"),
    "half a line after the end": (
        lambda lines: lines.append(b'{"kind'),
        "the journal has 6 bytes after its last",
    ),
}


@pytest.mark.parametrize("name", LINES)
def test_lines_that_are_not_where_they_were_written_are_noticed(folder: Path, name: str) -> None:
    edit, why = LINES[name]
    journal = folder / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    edit(lines)
    journal.write_bytes(b"".join(lines))
    assert why in output(folder)


def test_an_edited_plan_or_environment_is_noticed(folder: Path, tmp_path: Path) -> None:
    snapshot = folder / "environment" / "start.json"
    whole = snapshot.read_bytes()
    snapshot.write_bytes(whole.replace(b"kernel.release", b"kernel.releasf"))
    assert "environment/start.json was changed after it was written" in output(folder)
    with pytest.raises(Refused, match=r"start.json: was changed after it was written; restore it"):
        merge_folders([folder, Path(shutil.copytree(folder, tmp_path / "b"))], tmp_path / "both")
    snapshot.unlink()
    assert "environment/start.json is missing" in output(folder)
    snapshot.write_bytes(whole)
    (folder / "environment" / "stop.json").write_bytes(whole)
    assert "environment/stop.json was added to the folder" in output(folder)
    (folder / "environment" / "stop.json").unlink()
    toml = folder / "plan.toml"
    toml.write_text(toml.read_text() + "# more\n")
    assert "plan.toml was changed after it was written" in output(folder)
    plan = folder / "plan.json"
    plan.write_bytes(plan.read_bytes().replace(b'"question":"', b'"question":"Really? '))
    with pytest.raises(
        Refused, match=r"plan.json: was changed after the study was planned; restore it; .*export"
    ):
        app.load(folder)
    assert exported_tables(folder)[2], "what was judged is missing, and that is noted"


def test_an_edited_plan_of_an_unsealed_folder_is_noticed_by_its_hash(folder: Path) -> None:
    unseal(folder)
    assert "unsealed" in output(folder)
    plan = folder / "plan.json"
    assert hash_is_right(plan.read_bytes())
    plan.write_bytes(plan.read_bytes().replace(b'"block":2', b'"block":3', 1))
    with pytest.raises(Refused, match="was changed after the study was planned"):
        app.load(folder)


def test_a_report_expects_a_seal(folder: Path) -> None:
    seal = app.load(folder).content().seal or ""
    output(folder)
    assert seal in "".join(app.load(folder).text(verbose=True).split())
    assert seal in (folder / "report.html").read_text(encoding="utf-8")
    wrong = f"{int(seal[0], 16) ^ 1:x}{seal[1:]}"
    for expected, status in ((seal, 0), (seal[:16], 0), (wrong, 1), ("3fa9", 2)):
        done = mileage("report", str(folder), "--report", "text", "--expect", expected)
        assert done.returncode == status, done.stderr
    edited(folder, double_bytes)
    with pytest.raises(JudgedFailure, match=r"is not as it was written: line \d+ of the journal was changed"):
        app.load(folder).expect(seal)


def test_two_studies_have_no_one_seal(folder: Path) -> None:
    done = CliRunner().invoke(report, [str(folder), str(folder), "--expect", "0" * 16])
    assert done.exit_code == 2
    assert "--expect is the seal of one study" in done.output


def test_a_resumed_study_continues_the_chain_and_an_edited_one_is_refused(
    study: Path, tmp_path: Path
) -> None:
    cut = Path(shutil.copytree(study, tmp_path / "cut"))
    journal = cut / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:12]))
    before = Path(shutil.copytree(cut, tmp_path / "before"))
    journal.write_bytes(b"".join(lines[:12]) + lines[12][:50])
    assert not [caveat for caveat in run(str(cut)).caveats() if caveat.is_veto]
    assert read_journal(journal).seal
    edited(before, double_bytes)
    with pytest.raises(
        Refused, match=r"line \d+ of the journal was changed after it was written; restore the file"
    ):
        run(str(before))
    again = Path(shutil.copytree(study, tmp_path / "again"))
    (again / "journal.jsonl").write_bytes(b"".join(lines[:12]))
    (again / "environment" / "start.json").write_text("{}")
    with pytest.raises(Refused, match=r"start.json: was changed after it was written; restore it"):
        run(str(again))


def test_an_unsealed_study_is_resumed_as_it_is(study: Path, tmp_path: Path) -> None:
    cut = Path(shutil.copytree(study, tmp_path / "cut"))
    unseal(cut)
    journal = cut / "journal.jsonl"
    journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:12]))
    result = run(str(cut))
    assert not [caveat for caveat in result.caveats() if caveat.is_veto]
    assert "unsealed" in result.text()
    assert b'"seal"' not in journal.read_bytes()


def test_an_imported_study_is_sealed(tmp_path: Path) -> None:
    folder = make_study(read_files([SAMPLES / "fio-one-job.json"]), tmp_path / "out").path
    result = app.load(folder)
    result.write_report()
    seal = result.content().seal or "none"
    assert re.search(seal, result.text(verbose=True).replace("\n", "")), "on the terminal"
    assert seal in result.folder.report.read_text(encoding="utf-8")
    edited(folder, lambda entries: entries[1]["record"]["reported"].update({"ops_per_s": 1.0}))
    text = " ".join(app.load(folder).text().split())
    assert "[✕] seal line 2 of the journal was changed after it was written" in text
