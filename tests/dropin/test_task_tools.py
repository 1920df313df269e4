"""`mileage ior`, `mdtest`, `metarates` and `mpirun`: their layouts, their formulas, read back equal, their refusals."""

from __future__ import annotations

import json
import re
import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest

from mileage.formats.ior_listing import human
from mileage.formats.metadata_print import Rates, mdtest_table, metarates_lines
from mileage.judge.tasks import column as spread
from mileage.store import StudyFolder
from tests.command import mileage
from tests.formats.sample_reader import SAMPLES, of_text

SMALL = "-a POSIX -b 64k -F -i 2 -s 4 -t 4k"


def dropin(place: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return mileage(words[0], "--save", f"study-{len(list(place.iterdir()))}", *words[1:], cwd=place)


def printed(place: Path, line: str) -> str:
    done = dropin(place, *line.split())
    assert done.returncode == 0, done.stderr
    return done.stdout


def read_back(place: Path, text: str) -> Any:
    result = of_text(place, text)
    assert result.unread == []
    return result


def records(place: Path, study: str = "study-0") -> list[dict[str, Any]]:
    runs = StudyFolder.open(place / study).content().runs()
    return [result for run in runs for result in run.record.results]


def shape(line: str) -> list[int]:
    """Where the words of a line begin."""
    return [found.start() for found in re.finditer(r"\S+", line)]


def test_the_listing_has_the_columns_of_the_original(tmp_path: Path) -> None:
    text = printed(tmp_path, f"ior --tasks 2 {SMALL}")
    real = (SAMPLES / "ior-plain.out").read_text()
    for name in ("access ", "------ ", "write ", "Operation "):
        ours = next(line for line in text.splitlines() if line.startswith(name))
        theirs = next(line for line in real.splitlines() if line.startswith(name))
        assert shape(ours) == shape(theirs), name
    own = [line for line in text.splitlines() if line.startswith("write")][-1]
    their = [line for line in real.splitlines() if line.startswith("write")][-1]
    assert [found.end() for found in re.finditer(r"\S+", own)][:13] == [
        found.end() for found in re.finditer(r"\S+", their)
    ][:13]
    assert len(own.split()) == len(their.split())


def test_the_listing_is_read_back_equal(tmp_path: Path) -> None:
    result = read_back(tmp_path, printed(tmp_path, f"ior --tasks 2 {SMALL} -vv"))
    assert (result.tool, len(result.runs)) == ("ior", 4)
    kept = records(tmp_path)
    assert len(kept) == 4
    for access in ("write", "read"):
        own = [found.record for found in kept if found.name == f"ior.{access}"]
        assert {record.bytes_read + record.bytes_written for record in own} == {2 * 4 * 65536}


def test_figures_are_those_of_the_records_by_iors_formulas(tmp_path: Path) -> None:
    text = printed(tmp_path, f"ior --tasks 2 {SMALL} -O summaryFormat=JSON")
    result = read_back(tmp_path, text)
    assert len(result.runs) == 4
    value = json.loads(text)
    rows = value["tests"][0]["Results"]
    for row, kept in zip(rows, records(tmp_path), strict=True):
        record = kept.record
        ends = [task.close_ns[1] for task in record.tasks]
        begins = [task.transfer_ns[0] for task in record.tasks]
        opened = [task.open_ns for task in record.tasks]
        opening = max(span[1] for span in opened) - min(span[0] for span in opened)
        total_s = (opening + max(ends) - min(begins)) / 1e9
        assert row["bwMiB"] == pytest.approx(0.5 / total_s, rel=1e-3)
        assert row["access"] == kept.name.removeprefix("ior.")
    summary = value["summary"][0]
    rates = [row["bwMiB"] for row in rows if row["access"] == "write"]
    assert summary["bwMaxMIB"] == max(rates)
    assert summary["bwStdMIB"] == pytest.approx(abs(rates[0] - rates[1]) / 2, rel=1e-3)


def test_csv_has_the_iterations(tmp_path: Path) -> None:
    text = printed(tmp_path, "ior --tasks 2 -t 64k -i 2 -C -R -O summaryFormat=CSV")
    assert text.splitlines()[0] == (SAMPLES / "ior.csv").read_text().splitlines()[0]
    assert [line.split(",")[0] for line in text.splitlines()[1:]] == ["write", "read"] * 2
    assert len(read_back(tmp_path, text).runs) == 4


def test_mdtest_has_the_rows_of_the_original_and_is_read_back(tmp_path: Path) -> None:
    text = printed(tmp_path, "mdtest --tasks 2 -n 20 -i 2")
    real = (SAMPLES / "mdtest.out").read_text()

    def names(table: str) -> list[str]:
        return re.findall(r"^   ((?:Directory|File|Tree) [a-z]+) ", table, re.MULTILINE)

    def ends(table: str) -> list[int]:
        line = next(line for line in table.splitlines() if line.startswith("   File creation"))
        return [found.end() for found in re.finditer(r"\S+", line)]

    assert names(text) == names(real)
    assert ends(text) == ends(real)
    result = read_back(tmp_path, text)
    assert len(result.runs) == 20
    assert "2 tasks, 40 files/directories" in text


@pytest.mark.parametrize(
    ("flags", "rows"),
    [
        ("-n 4 -F -C -r", ["File creation", "File removal", "Tree creation", "Tree removal"]),
        ("-n 4 -D -T", ["Directory stat", "Tree creation", "Tree removal"]),
        ("-I 2 -z 1 -b 2 -F -u -w 4096 -e 4096 -y -N 1 -E", ["File read", "Tree creation", "Tree removal"]),
    ],
)
def test_phases_of_mdtest_are_chosen(tmp_path: Path, flags: str, rows: list[str]) -> None:
    text = printed(tmp_path, f"mdtest --tasks 2 {flags}")
    assert re.findall(r"^   ((?:Directory|File|Tree) [a-z]+) ", text, re.MULTILINE) == rows


def test_metarates_prints_three_rates_and_is_read_back(tmp_path: Path) -> None:
    (tmp_path / "machinefile").write_text(f"localhost\n{socket.gethostname()}\n")
    line = "mpirun -machinefile ./machinefile -np 2 ./metarates -d junk -n 100 -C -U -S -u"
    done = dropin(tmp_path, *line.split())
    assert done.returncode == 0, done.stderr
    assert "not unlink" in done.stderr
    assert not (tmp_path / "junk").exists()
    result = read_back(tmp_path, done.stdout)
    assert [run.cell.replace(",", " ").split()[0].rpartition(".")[2] for run in result.runs] == [
        "create",
        "stat",
        "utime",
    ]
    for kept in records(tmp_path, "study-1"):
        slowest = max(end - start for start, end in (task.operate_ns for task in kept.record.tasks))
        assert f"total rate = {2 * 50 / slowest * 1e9:.6f}" in done.stdout


def test_formulas() -> None:
    most, least, mean, deviation = spread([1.0, 2.0, 6.0])
    assert (most, least, mean) == (6.0, 1.0, 3.0)
    assert deviation == pytest.approx((14 / 3) ** 0.5)
    assert mdtest_table({"file_stat": [1.0, 3.0]}).splitlines()[-1].split()[-4:] == [
        "3.000",
        "1.000",
        "2.000",
        "1.414",
    ]
    text = metarates_lines([Rates("create", 100, (1.0, 2.0))])
    assert "max rate = 100.000000" in text
    assert "min rate = 50.000000" in text
    assert "avg rate = 66.666667" in text
    assert "total rate = 100.000000" in text
    assert (human(52_428_800_000), human(65536), human(1 << 20)) == ("48.83 GiB", "65536 bytes", "1 MiB")


@pytest.mark.parametrize(
    ("line", "output"),
    [
        ("ior -a MPIIO", "POSIX"),
        ("ior -b 10k -t 4k", "multiple of the record"),
        ("ior -C -Z", "give one of them"),
        ("ior -Q 1", "no effect without -C"),
        ("ior -w -R", "no effect without -r"),
        ("ior -k", "is not kept in a study"),
        ("ior -O x=1", "summaryFormat"),
        ("ior -b 12q", "expected bytes"),
        ("ior -o missing/file", "no directory"),
        ("ior -s 9999 -b 1g", "free"),
        ("mdtest", "give -n"),
        ("mdtest -n 4 -w 10", "files are read whole"),
        ("mdtest -n 4 -F -D", "give one of them"),
        ("mdtest -n 4 -L", "no effect without -z"),
        ("mdtest -n 1 -z 32 -b 65536", "more than 1000000 directories"),
        ("mdtest -n x", "expected a whole number"),
        ("metarates -d . -n 10", "give -C, -S or -U"),
        ("metarates -C", "give -d DIR"),
        ("metarates --tasks 3 -d . -n 10 -C", "multiple of the 3 tasks"),
        ("metarates -d . -n 10 -S -s", "no effect without -C"),
        ("mpirun -np 2 ls", "none of ior, mdtest and metarates"),
        ("mpirun -np 2", "no program is named"),
        ("mpirun -np 0 ior", "expected a whole number"),
        ("mpirun --rankfile ranks ior", "there is no flag"),
        ("mpirun --wdir none ior", "--wdir none: No such file"),
        ("mpirun -x =1 ior", "expected NAME=VALUE"),
        ("mpirun -H node17:2 ior", "node17 is another machine"),
    ],
)
def test_a_refusal_names_what_cannot_be_and_leaves_nothing(tmp_path: Path, line: str, output: str) -> None:
    done = dropin(tmp_path, *line.split())
    assert done.returncode == 2, done.stdout + done.stderr
    assert output in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_other_machines_are_refused(tmp_path: Path) -> None:
    (tmp_path / "hosts").write_text("node17 slots=4\n")
    done = dropin(tmp_path, "mpirun", "-np", "2", "-machinefile", "hosts", "ior")
    assert done.returncode == 2
    assert "node17 is another machine" in done.stderr


def test_tasks_on_each_host_are_those_of_this_machine_and_placement_is_noted(tmp_path: Path) -> None:
    (tmp_path / "hosts").write_text("localhost\n")
    words = "--oversubscribe --mca pml ob1 --mca btl tcp,self --machinefile hosts -npernode 3 mdtest -n 2 -F -d place"
    done = mileage("mpirun", *words.split(), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "launched with 3 total task(s)" in done.stdout
    assert done.stderr.count("--mca: tasks are processes of one machine") == 1


@pytest.mark.parametrize(
    ("hosts", "tasks"),
    [
        ("localhost\n" * 3, 3),
        ("localhost slots=4\n# localhost\n", 4),
        ("localhost:2\n127.0.0.1 slots=1 max_slots=2\n", 3),
    ],
)
def test_without_np_there_is_a_task_for_each_slot_of_the_hosts(
    tmp_path: Path, hosts: str, tasks: int
) -> None:
    (tmp_path / "hosts").write_text(hosts)
    done = mileage("mpirun", "-machinefile", "hosts", "mdtest", "-n", "2", "-d", "place", cwd=tmp_path)
    assert f"launched with {tasks} total task(s)" in done.stdout, done.stderr
    assert f"{tasks} tasks, the slots of hosts" in done.stderr


def test_slots_are_a_number(tmp_path: Path) -> None:
    (tmp_path / "hosts").write_text("localhost slots=many\n")
    done = dropin(tmp_path, "mpirun", "-machinefile", "hosts", "ior")
    assert done.returncode == 1, "the status of Open MPI"
    assert "found many, expected slots" in done.stderr


def test_environment_directory_and_hosts_of_mpirun_have_their_effect(tmp_path: Path) -> None:
    (tmp_path / "place" / "files").mkdir(parents=True)
    words = "-x MILEAGE_STUDIES=kept -x HOME --wdir place -H localhost:2,127.0.0.1 mdtest -n 2 -F -d files"
    done = mileage("mpirun", *words.split(), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "3 tasks, the slots of localhost:2,127.0.0.1" in done.stderr
    (study,) = (tmp_path / "place" / "kept").iterdir()
    assert study.name.startswith("mileage-mdtest-")


def test_flags_of_mpirun_that_print_or_place_are_noted(tmp_path: Path) -> None:
    flags = "--tag-output -display-map -v -q -bynode --byslot --report-bindings --use-hwthread-cpus --rank-by core"
    done = mileage(
        "mpirun", *flags.split(), "-np", "2", "mdtest", "-n", "2", "-F", "-d", "place", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert "launched with 2 total task(s)" in done.stdout
    notes = [line for line in done.stderr.splitlines() if line.startswith("mileage: --")]
    assert len(notes) == 9


def test_tasks_of_a_real_mpirun_are_refused_with_advice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "4")
    done = dropin(tmp_path, "ior")
    assert done.returncode == 2
    assert "mileage mpirun -np 4 ior" in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        "metarates -C -S -U -n 40 --tasks 2 -d",
        "mdtest -n 10 --tasks 2 -d",
        "iozone -s 1m -r 64k -f",
        "ior -w -r -e -t 64k -b 1m --tasks 2 -o",
    ],
)
def test_the_command_lines_of_tools_run_on_a_modelled_host(words: str, tmp_path: Path) -> None:
    host = "virtual:intel-x25e-64gb@phenom-8gib"
    place = f"{host}/file" if words.startswith("ior") else host
    assert host in printed(tmp_path, f"{words} {place}")
    assert [path.name for path in tmp_path.iterdir()] == ["study-0"]
