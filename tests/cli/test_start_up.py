"""Commands load only the libraries that they need: seen in `sys.modules` of a fresh process, not from the time.

`python -m benchmarks.start_up` has the times. A failure here names the library; `python -X importtime -m mileage ...`
shows which module imports it.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

LIBRARIES = {"scipy", "numpy", "duckdb", "vl_convert", "jinja2", "pyarrow", "xlsxwriter", "mpi4py"}
ROOMS = {
    *("plan", "targets", "store", "execute", "judge", "report", "formats", "analysis", "app", "dropin"),
}
PROBE = """
import atexit, json, pathlib, sys
found = pathlib.Path(sys.argv.pop(1))
atexit.register(lambda: found.write_text(json.dumps(sorted(sys.modules))))
from mileage.cli import main
main()
"""


def modules_of(folder: Path, command: str, status: int) -> set[str]:
    """The modules that a process has loaded when the command ends with `status`."""
    (folder / "data").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", PROBE, str(folder / "modules.json"), *shlex.split(command)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == status, done.stderr
    return set(json.loads((folder / "modules.json").read_text(encoding="utf-8")))


def libraries_among(modules: set[str]) -> set[str]:
    return {name.partition(".")[0] for name in modules} & LIBRARIES


def rooms_among(modules: set[str]) -> set[str]:
    parts = [name.split(".") for name in modules]
    return {part[1] for part in parts if part[0] == "mileage" and len(part) > 1} & ROOMS


def test_help_loads_no_room_and_no_library(tmp_path: Path) -> None:
    modules = modules_of(tmp_path, "--help", 0)
    assert not rooms_among(modules)
    assert not libraries_among(modules) | ({"msgspec", "rich", "mileage._core"} & modules)


def test_list_drives_loads_the_target_alone(tmp_path: Path) -> None:
    modules = modules_of(tmp_path, "list drives", 0)
    # Of `plan` what a name of an array needs: sizes, and values as TOML.
    assert rooms_among(modules) == {"app", "plan", "targets"}
    assert not {"mileage.plan.study", "mileage.plan.transfer_api"} & modules
    assert not libraries_among(modules)


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("command", "status"),
    [
        ("list studies", 0),
        ("plan degradation --quick", 0),
        ("plan sustained --target dir:data", 0),
        ("measure -t dir:data -w random_read --for 50ms --size 1MiB --repeat 2", 0),
        ("measure -t virtual:intel-x25e-64gb -w random_write --for 50ms", 0),
        ("drive show intel-x25e-64gb", 0),
        ("drive run intel-x25e-64gb --size 16MiB", 0),
        ("doctor", 0),
        ("iozone --help", 0),
    ],
)
def test_a_command_that_judges_nothing_loads_no_library(tmp_path: Path, command: str, status: int) -> None:
    modules = modules_of(tmp_path, command, status)
    assert not libraries_among(modules)
    assert not [name for name in modules if name.startswith("mileage.execute.mpi")]


@pytest.mark.parametrize(
    ("command", "status"),
    [
        ("no-such-command", 2),
        ("run no-such-study", 2),
        ("measure -t nowhere:", 2),
        ("report no-such-folder", 2),
        ("hdparm -t data", 2),
        ("dd if=/dev/zero bs=nothing of=data/zeros", 1),
    ],
)
def test_a_refused_command_loads_no_library(tmp_path: Path, command: str, status: int) -> None:
    assert not libraries_among(modules_of(tmp_path, command, status))


def test_a_command_line_of_another_tool_loads_only_what_writes_its_study_folder(tmp_path: Path) -> None:
    modules = modules_of(tmp_path, "ior -t 64k -b 128k -o data/file", 0)
    assert not libraries_among(modules) & {"scipy", "vl_convert", "pyarrow", "xlsxwriter"}
