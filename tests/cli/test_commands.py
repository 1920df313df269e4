"""Every command answers: its help, its tables, its exit status."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mileage import app
from mileage.cli import COMMANDS
from mileage.report.sentence import verdict_sentence
from tests.command import mileage
from tests.execute.conftest import Small
from tests.house.repository import ROOT


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_every_command_has_its_help(command: str) -> None:
    result = mileage(command, "--help")
    assert result.returncode == (1 if command in ("ior", "mdtest") else 0), result.stderr
    assert result.stdout.startswith("Usage: ")


def test_the_help_loads_none_of_the_heavy_libraries() -> None:
    code = "import sys; sys.argv = ['mileage', '--help']\n" + (
        "from mileage.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'numpy', 'scipy', 'duckdb', 'vl_convert', 'rich', 'msgspec', 'mileage._core'} & set(sys.modules)\n"
        "sys.exit(repr(heavy) if heavy else 0)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


def test_no_command_is_a_question_for_help() -> None:
    bare, asked = mileage(), mileage("--help")
    assert (bare.returncode, bare.stdout) == (0, asked.stdout)


def test_reports_end_with_the_verdict_and_every_reporting_command_has_json(tmp_path: Path) -> None:
    folder = tmp_path / "study"
    done = mileage("run", *Small(tmp_path).virtual(), "--out", str(folder))
    assert done.returncode == 0, done.stderr
    page = f"Report: {folder / 'report.html'}"
    assert done.stdout.splitlines()[-1] == page
    again = mileage("report", str(folder), "--report", "text")
    assert again.stdout == done.stdout
    verdict = " ".join(
        done.stdout.removesuffix(f"{page}\n").rpartition("\n\n")[0].rpartition("\n\n")[2].split()
    )
    assert verdict == verdict_sentence(app.load(folder).comparison())
    twin = shutil.copytree(folder, tmp_path / "twin")
    values = [
        mileage("report", str(folder), "--report", "text", "--json"),
        mileage("merge", str(folder), str(twin), "--out", str(tmp_path / "both"), "--json"),
    ]
    for output in values:
        assert output.returncode == 0, output.stderr
        assert {cell["verdict"] for cell in json.loads(output.stdout)["comparison"]["cells"]}
    exported = mileage("export", "csv", str(folder), "--out", str(tmp_path / "csv"), "--json")
    files = json.loads(exported.stdout)["files"]
    assert {Path(file["file"]).stat().st_size == file["bytes"] for file in files} == {True}
    both = mileage("report", str(folder), "--json", "--method")
    assert both.returncode == 2


def test_json_is_all_of_standard_output(tmp_path: Path) -> None:
    """Of a study that compares, of one that only measures, of a refused one, and of folders that are merged."""
    small = Small(tmp_path)
    study, measured = tmp_path / "study", tmp_path / "measured"
    done = mileage("run", *small.virtual(), "--out", str(study), "--json")
    assert done.returncode == 0, done.stderr
    values = json.loads(done.stdout)
    assert set(values) == {"folder", "comparison"}
    assert values["folder"] == str(study)
    again = json.loads(mileage("run", str(study), "--json").stdout)
    assert again == values, "a finished study is printed, not run again"
    words = ("-t", "virtual:plain-64gib", "-w", "random_read", "--operations", "200")
    assert mileage("measure", *words, "--save", str(measured)).returncode == 0
    for command in (("run", str(measured)), ("report", str(measured))):
        output = mileage(*command, "--json")
        (cell,) = json.loads(output.stdout)["cells"]
        assert (output.returncode, cell["ops_read"], cell["runs"]) == (0, 200, 1)
    twin = shutil.copytree(measured, tmp_path / "twin")
    merged = mileage("merge", str(measured), str(twin), "--out", str(tmp_path / "both"), "--json")
    found = json.loads(merged.stdout)
    assert (merged.returncode, found["runs_done"], found["runs_planned"]) == (0, 2, 2)
    assert [(cell["ops_read"], cell["runs"]) for cell in found["cells"]] == [(200, 1)]
    for refused in (
        ("run", str(tmp_path / "none.toml"), "--json"),
        ("merge", str(measured), str(study), "--out", str(tmp_path / "mixed"), "--json"),
    ):
        output = mileage(*refused)
        assert output.returncode == 2, output.stderr
        assert json.loads(output.stdout)["refused"]["faults"][0]["code"]
        assert output.stderr.startswith("mileage: ")


def test_doctor_looks_at_a_directory(tmp_path: Path) -> None:
    result = mileage("doctor", f"dir:{tmp_path}", "--json")
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)


@pytest.mark.parametrize("what", ["studies", "workloads", "drives"])
def test_lists_name_what_exists(what: str) -> None:
    rows = json.loads(mileage("list", what, "--json").stdout)
    assert all(row["name"] and row["title"] for row in rows)
    expected = {"studies": "degradation", "workloads": "iops.random_write", "drives": "intel-x25e-64gb"}
    assert expected[what] in {row["name"] for row in rows}


def test_a_comparison_sets_the_exit_status(tmp_path: Path) -> None:
    folder = tmp_path / "study"
    assert mileage("run", *Small(tmp_path).virtual(), "--out", str(folder)).returncode == 0
    stages = (f"{folder}:before", f"{folder}:after")
    output = mileage("compare", *stages, "--json")
    assert output.returncode == 0, output.stderr
    verdicts = {cell["verdict"] for cell in json.loads(output.stdout)["cells"]}
    assert "slower" in verdicts
    assert mileage("compare", *stages, "--fail-if", "slower").returncode == 1
    assert mileage("compare", *reversed(stages), "--fail-if", "slower").returncode == 0
    assert mileage("compare", stages[0], stages[0]).returncode == 2
    assert mileage("report", str(folder)).returncode == 0
    assert mileage("report", str(tmp_path / "none")).returncode == 2
    twin = tmp_path / "elsewhere" / "study"
    shutil.copytree(folder, twin)
    both = mileage("compare", f"{folder}:after", f"{twin}:after", "--json")
    assert both.returncode == 0, both.stderr
    assert f"{tmp_path.name}/study:after" in both.stdout
    assert "elsewhere/study:after" in both.stdout
    folders = [str(folder), str(twin)]
    folders += [str(shutil.copytree(folder, tmp_path / f"night-{number}")) for number in range(4)]
    ranks = mileage("compare", *folders[:3], "--stage", "after")
    assert ranks.returncode == 0, ranks.stderr
    assert "    1-3  " in ranks.stdout
    assert all(len(line) <= 80 for line in ranks.stdout.splitlines())
    history = json.loads(mileage("compare", "--history", *folders, "--json").stdout)
    assert (history["sessions"], history["history"]["changes"]) == ([5, 1], [])
    for wrong in (
        [],
        [folders[0], "--stage", "after"],
        [*folders[:2], folders[0]],
        ["--history", *folders[:3]],
    ):
        assert mileage("compare", *wrong).returncode == 2


def test_a_published_table_is_judged_again() -> None:
    folder = ROOT / "examples" / "published"
    tables = ("--table", str(folder / "sandforce_kernel_diff.csv"))
    output = mileage("compare", *tables, "--against", str(folder / "sandforce_highlights.csv"))
    assert output.returncode == 0, output.stderr
    assert all(len(line) <= 80 for line in output.stdout.splitlines())
    words = " ".join(output.stdout.split())
    assert words.startswith("The candidate against the baseline: slower in 56 of 414 tests, faster in 38,")
    assert "232 of 414 tests differ after correction" in words
    assert words.count("the second table prints") + words.count("The second table prints") == 4
    assert mileage("compare", *tables, "--fail-if", "slower").returncode == 1
    belongs = (("a", "--runs", "3"), ("a", "b", "--out", "x"))
    for wrong in (*belongs, (*tables, "--stage", "x"), (*tables, "--runs", "1"), ()):
        assert mileage("compare", *wrong).returncode == 2
