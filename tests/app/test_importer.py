"""An imported study answers like a measured one, says what is not known, and cannot be run."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from mileage import app
from mileage.app.importer import bytes_of, make_study, read_files
from mileage.cli.compare import command as compare_command
from mileage.cli.import_results import command
from mileage.errors import JudgedFailure, Refused
from mileage.report.sentence import notes_of
from tests.answers import fio_report

SAMPLES = Path(__file__).parent.parent / "formats" / "samples"
ONE = SAMPLES / "fio-one-job.json"


def repeated(folder: Path, name: str, factor: float, **options: str) -> list[Path]:
    """Six files as fio writes them, with rates around a level."""
    paths = []
    for at in range(6):
        output = json.loads(ONE.read_text())
        output["time"] = f"Wed Jul 12 10:{at:02}:00 2023"
        job = output["jobs"][0]
        job["job options"] |= options
        for key in ("iops", "bw_bytes"):
            job["read"][key] *= factor * (1 + at / 500)
        job["read"]["clat_ns"]["mean"] *= 0.9
        paths.append(folder / f"{name}-{at}.json")
        paths[-1].write_text(json.dumps(output))
    return paths


def imported(paths: list[Path], out: Path) -> app.StudyResult:
    folder = make_study(read_files(paths), out, session="lab")
    return app.load(folder.path)


def test_the_tables_have_the_figures_of_fio(tmp_path: Path) -> None:
    result = imported([ONE], tmp_path / "study")
    result.write_report()
    output = json.loads(ONE.read_text())["jobs"][0]["read"]
    rows = result.table("samples").select("cell", "metric", "value").fetchall()
    assert rows == [
        ("fio.randread 4 KiB", "ops_per_s", output["iops"]),
        ("fio.randread 4 KiB", "latency_p99_ns", output["clat_ns"]["percentile"]["99.000000"]),
    ]
    printed = dict(result.table("printed").select("name", "value").fetchall())
    assert printed["read.lat_ns.max"] == output["lat_ns"]["max"]
    assert "device state" in result.text()
    assert "not known" in (tmp_path / "study" / "report.html").read_text()
    (row,) = app.listing_of([tmp_path])
    assert (row["study"], row["target"], row["finished"]) == ("fio", "imported:fio", True)


def test_what_was_imported_compares(tmp_path: Path) -> None:
    imported(repeated(tmp_path, "b", 1.0), tmp_path / "before")
    imported(repeated(tmp_path, "a", 0.8), tmp_path / "after")
    found = app.compare(str(tmp_path / "before"), str(tmp_path / "after"))
    verdicts = {cell.metric: cell.verdict for cell in found.cells}
    assert verdicts["ops_per_s"] == "slower"
    assert found.vetoes == ()


MEASURED = """
name = "measured"
target = "dir:TARGET"
[state]
file = "8MiB"
cache = "warm"
[[stage]]
name = "fill"
prepare = ["fill"]
[[stage]]
name = "one"
measure = ["blocks", "files"]
[torture.fill]
workload = "throughput.write"
record = "1MiB"
amount = "1x"
[measure.blocks]
workload = ["iops.shuffled_read", "iops.random_read"]
record = "4KiB"
stop = { operations = 200 }
threads = [1, 2]
repeat = 2
[measure.files]
workload = ["iozone.write", "iozone.reread"]
record = "1MiB"
threads = [1, 2]
repeat = 2
"""


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> str:
    place = tmp_path_factory.mktemp("measured")
    (place / "study.toml").write_text(MEASURED.replace("TARGET", str(place)))
    return str(app.run(str(place / "study.toml"), out=place / "study").folder.path)


@pytest.mark.parametrize(
    ("options", "same"),
    [
        ({}, "iops.shuffled_read 4 KiB, 1 thread"),
        ({"time_based": "1"}, "iops.random_read 4 KiB, 1 thread"),
        ({"numjobs": "2"}, "iops.shuffled_read 4 KiB, 2 threads"),
        ({"numjobs": "3"}, None),
        ({"rate_iops": "100"}, None),
    ],
)
def test_what_fio_did_is_compared_with_the_same_work(
    options: dict[str, str], same: str | None, measured: str, tmp_path: Path
) -> None:
    imported(repeated(tmp_path, "a", 1.0, direct="1", **options), tmp_path / "fio")
    if same is None:
        with pytest.raises(Refused, match="no measured cell in common"):
            app.compare(measured, str(tmp_path / "fio"))
        return
    found = app.compare(measured, str(tmp_path / "fio"))
    assert {cell.cell for cell in found.cells} == {same}
    assert [ours for _, ours in found.renamed] == [same]
    # fio read past the page cache and the study through it, which no ratio shows.
    differing = [veto.figures for veto in found.vetoes if veto.code == "setting-differs"]
    assert {"key": "direct", "baseline": "0", "candidate": "1"} in differing
    assert f"is {same}" in " ".join(notes_of(found))


def test_what_iozone_did_is_compared_with_the_same_tests(measured: str, tmp_path: Path) -> None:
    imported([SAMPLES / "iozone-single.out"], tmp_path / "iozone")
    found = app.compare(measured, str(tmp_path / "iozone"))
    assert {cell.cell for cell in found.cells} == {
        "iozone.write 1 MiB, 1 thread",
        "iozone.reread 1 MiB, 1 thread",
    }
    assert dict(found.renamed)["iozone.reread 1 MiB"] == "iozone.reread 1 MiB, 1 thread"
    assert "iozone.stride_read 1 MiB" in found.only_candidate
    assert "file" not in [veto.figures.get("key") for veto in found.vetoes]


def test_settings_that_differ_are_listed_with_the_verdict(tmp_path: Path) -> None:
    imported(repeated(tmp_path, "b", 1.0, size="1g"), tmp_path / "before")
    imported(repeated(tmp_path, "a", 0.8, size="2g"), tmp_path / "after")
    found = app.compare(str(tmp_path / "before"), str(tmp_path / "after"))
    (veto,) = found.vetoes
    assert (veto.code, veto.tests) == ("setting-differs", ("fio.randread 4 KiB",))
    assert veto.figures == {"key": "size", "baseline": "1g", "candidate": "2g"}


def test_little_s_law_catches_figures_that_contradict_each_other(tmp_path: Path) -> None:
    output = json.loads(ONE.read_text())
    output["jobs"][0]["read"]["clat_ns"]["mean"] *= 3
    path = tmp_path / "wrong.json"
    path.write_text(json.dumps(output))
    imported([path], tmp_path / "wrong")
    imported([ONE], tmp_path / "right")
    (veto,) = app.compare(str(tmp_path / "right"), str(tmp_path / "wrong")).vetoes
    assert (veto.code, veto.sides) == ("rate-latency-contradict", ("candidate",))


def test_a_file_twice_or_of_nothing_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    twin = tmp_path / "twin.json"
    twin.write_text(ONE.read_text())
    with pytest.raises(Refused, match="has the same content"):
        read_files([ONE, twin])
    twin.write_text(ONE.read_text() + "\n")
    with pytest.raises(Refused, match="has the same figures"):
        read_files([ONE, twin])
    empty, pipe = tmp_path / "empty", tmp_path / "pipe"
    empty.touch()
    os.mkfifo(pipe)
    for path, why in (
        (empty, "an empty file"),
        (pipe, "not a regular file"),
        (tmp_path, "a folder"),
        (tmp_path / "absent", "No such file"),
        (tmp_path / "a\0b", "null"),
    ):
        with pytest.raises(Refused, match=why):
            read_files([path])
    for magic in (b"\x1f\x8b", b"PK\x03\x04"):
        empty.write_bytes(magic + b"\0" * 100)
        with pytest.raises(Refused, match="compressed with"):
            read_files([empty])
    empty.write_bytes(bytes(range(256)) * 9)
    with pytest.raises(Refused, match="the format of this file is not known"):
        read_files([empty])
    with pytest.raises(Refused, match="there is no layout 'fish'; expected one of fio-json"):
        read_files([ONE], "fish")


def test_each_file_has_a_line_with_its_faults(tmp_path: Path) -> None:
    paths = repeated(tmp_path, "run", 1.0)
    broken = SAMPLES / "fio-two-groups-plus.json"
    text = imported([*paths, broken], tmp_path / "study").text()
    for path in paths:
        assert [line.split("  ")[-1] for line in text.splitlines() if path.name in line] == [
            "1 run of fio-json"
        ]
    assert "[✓]" in text
    assert "seal:" not in text


def test_all_refused_files_are_listed_together(tmp_path: Path) -> None:
    twins = [tmp_path / "twin-1.json", tmp_path / "twin-2.json"]
    for twin in twins:
        twin.write_text(ONE.read_text())
    with pytest.raises(Refused) as copies:
        read_files([ONE, *twins])
    for at, twin in enumerate(twins):
        twin.write_text(ONE.read_text() + "\n" * (at + 1))
    with pytest.raises(Refused) as same:
        read_files([ONE, *twins])
    with pytest.raises(Refused) as foreign:
        read_files([ONE, SAMPLES / "iozone-auto.out", SAMPLES / "bonnie.out"])
    for refused, code in ((copies, "repeated"), (same, "repeated"), (foreign, "mismatch")):
        assert [one.code for one in refused.value.refusals] == [code, code]


def test_files_of_ior_and_mdtest_are_one_campaign(tmp_path: Path) -> None:
    names = ("ior-plain.out", "mdtest.out")
    alone = [imported([SAMPLES / name], tmp_path / name).plan.cells for name in names]
    both = imported([SAMPLES / name for name in names], tmp_path / "both")
    assert {cell.label for cell in both.plan.cells} == {cell.label for own in alone for cell in own}
    assert (both.plan.study.name, both.plan.target) == ("ior-mdtest", "imported:ior-mdtest")
    versus = app.compare(str(tmp_path / names[0]), str(tmp_path / "both"))
    assert {cell.cell for cell in versus.cells} == {cell.label for cell in alone[0]}
    with pytest.raises(Refused):
        read_files([SAMPLES / "mdtest.out", ONE])


def test_equal_files_are_repetitions_where_the_user_says_so(tmp_path: Path) -> None:
    twin = tmp_path / "twin.json"
    twin.write_text(ONE.read_text())
    with pytest.raises(Refused, match="--equal-files if each is of a run of its own"):
        read_files([ONE, twin])
    read: list[int] = []
    found = read_files([ONE, twin], equal=True, advance=read.append)
    assert read == [ONE.stat().st_size] * 2
    assert bytes_of([ONE, twin, tmp_path / "absent"]) == sum(read)
    result = app.load(make_study(found, tmp_path / "out").path)
    assert {cell.blocks for cell in result.plan.cells} == {2}
    assert "twin.json: same figures as" in result.text()
    link = tmp_path / "link.json"
    link.symlink_to(ONE)
    with pytest.raises(Refused, match=r"name one of them\Z"):
        read_files([ONE, link], equal=True)
    with pytest.raises(Refused, match="has the same figures"):
        read_files([SAMPLES / "iozone-single.out", SAMPLES / "iozone-single.xls"], equal=True)


def test_runs_of_equal_rate_are_no_copies(tmp_path: Path) -> None:
    output = json.loads(ONE.read_text())
    output["jobs"][0]["read"]["clat_ns"]["mean"] *= 2
    other = tmp_path / "other.json"
    other.write_text(json.dumps(output))
    assert len(read_files([ONE, other])) == 2
    text, sheet = SAMPLES / "iozone-single.out", SAMPLES / "iozone-single.xls"
    with pytest.raises(Refused, match="has the same figures"):
        read_files([text, sheet])


def test_an_imported_study_cannot_be_run(tmp_path: Path) -> None:
    imported([ONE], tmp_path / "study")
    for call in (app.run, app.time_left):
        with pytest.raises(Refused, match=r"was imported from fio 3\.33: there is nothing to run"):
            call(str(tmp_path / "study"))


def test_names_from_strangers_steer_nothing(tmp_path: Path) -> None:
    output = json.loads(ONE.read_text())
    job = output["jobs"][0]
    job["job options"] = {}
    job["jobname"] = "\x1b[2J<script>\ud800\u202e"
    path = tmp_path / os.fsdecode(b"na\xffme.json")
    path.write_text(json.dumps(output))
    result = imported([path], tmp_path / "study")
    result.write_report()
    for text in (result.text(), (tmp_path / "study" / "report.html").read_text()):
        assert "\x1b" not in text
        assert "\u202e" not in text
    assert "<script>" not in (tmp_path / "study" / "report.html").read_text()


def test_the_command_says_where_and_what_was_not_understood(tmp_path: Path) -> None:
    runner = CliRunner()
    noisy = SAMPLES / "fio-normal-terse-json.out"
    output = runner.invoke(command, [str(noisy), "--out", str(tmp_path / "a")])
    assert output.exit_code == 0
    assert "not understood: 28 lines" in output.output
    assert f"{noisy}:1: " in output.output
    assert f"Study: {tmp_path / 'a'}" in output.output
    strict = runner.invoke(command, [str(noisy), "--out", str(tmp_path / "b"), "--strict", "--json"])
    assert isinstance(strict.exception, JudgedFailure)
    assert json.loads(strict.stdout)["unread"][0]["line"] == 1
    same = runner.invoke(compare_command, [str(tmp_path / "a"), str(tmp_path / "b")])
    assert same.exit_code == 0, same.output


def test_runs_of_other_settings_are_no_repetitions(tmp_path: Path) -> None:
    text = (SAMPLES / "ior-plain.out").read_text()
    four = tmp_path / "four.out"
    four.write_text(
        text.replace("tasks               : 2", "tasks               : 4").replace("287.65", "287.66")
    )
    result = imported([SAMPLES / "ior-plain.out", four], tmp_path / "study")
    assert [cell.label for cell in result.plan.cells] == [
        f"ior.{access} 64 KiB, tasks {tasks}" for tasks in (2, 4) for access in ("write", "read")
    ]
    assert {cell.blocks for cell in result.plan.cells} == {3}


def cells_of(folder: Path, *files: list[dict[str, Any]]) -> dict[str, int]:
    """How many repetitions each cell has, of files with these jobs."""
    paths = []
    for at, jobs in enumerate(files):
        paths.append(folder / fio_report.save(folder / f"{at}.json", fio_report.report(jobs, at)))
    return {cell.label: cell.blocks for cell in imported(paths, folder / "study").plan.cells}


def test_what_differs_between_jobs_of_one_file_is_part_of_the_cell(tmp_path: Path) -> None:
    def jobs(rate: float) -> list[dict[str, Any]]:
        return [
            fio_report.job("ssd", iops=9 * rate, filename="/dev/nvme0n1"),
            fio_report.job("disk", iops=rate, filename="/dev/sda"),
            fio_report.job("disk", iops=2 * rate, filename="/dev/sda", norandommap="1"),
        ]

    assert cells_of(tmp_path, jobs(100), jobs(101), jobs(102)[:1]) == {
        "fio.randread 4 KiB, job ssd": 3,
        "fio.randread 4 KiB, job disk": 2,
        "fio.randread 4 KiB, norandommap 1, job disk": 2,
    }


def test_files_of_other_names_are_repetitions_and_other_devices_are_not(tmp_path: Path) -> None:
    names = ("/mnt/a", "/mnt/b", "/dev/sda")
    runs = [[fio_report.job(f"run{at}", iops=100 + at, filename=name)] for at, name in enumerate(names)]
    for folder in ("paths", "devices"):
        (tmp_path / folder).mkdir()
    assert cells_of(tmp_path / "paths", *runs[:2]) == {"fio.randread 4 KiB": 2}
    assert "differ in their filename: /mnt/a, /mnt/b" in " ".join(
        app.load(tmp_path / "paths" / "study").text().split()
    )
    runs[1][0]["job options"]["filename"] = "/dev/sdb"
    assert list(cells_of(tmp_path / "devices", *runs[1:])) == [
        f"fio.randread 4 KiB, filename /dev/{name}" for name in ("sdb", "sda")
    ]
