"""Versions of the programs on this machine, compared with those that the package manager knows, and of stand-ins."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import types
from pathlib import Path

import pytest

from mileage.store import environment as module
from mileage.store.environment import ABSENT, NO_MPI, OPTIONS, program_versions
from mileage.targets.programs import find_program

PACKAGES = {"mkfs.ext4": "e2fsprogs", "mkfs.xfs": "xfsprogs", "mount": "mount", "fstrim": "util-linux"}


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is the only one in which programs are found."""
    monkeypatch.setattr(module, "find_program", lambda name: shutil.which(name, path=str(tmp_path)))
    return tmp_path


def stand_in(folder: Path, name: str, script: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


@pytest.mark.parametrize("name", PACKAGES)
def test_a_version_is_that_of_the_package(name: str) -> None:
    if shutil.which("dpkg-query") is None or find_program(name) is None:
        pytest.skip(f"dpkg-query or {name} is not installed")
    known = subprocess.run(
        ["dpkg-query", "--show", "--showformat=${Version}", PACKAGES[name]],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    if known.returncode:
        pytest.skip(f"{name} is not of {PACKAGES[name]}")
    number = re.search(r"\d+(\.\d+)+", known.stdout)
    assert number is not None
    assert number[0] in program_versions()[f"version.{name}"]


def test_each_program_has_a_line_whether_it_is_installed_or_not(programs: Path) -> None:
    stand_in(
        programs, "nvme", '[ "$*" = version ] || exit 1\necho "nvme version 2.9 (git 2.9)"\necho libnvme'
    )
    found = program_versions()
    assert list(found) == [*(f"version.{name}" for name in OPTIONS), "version.mpi_library"]
    assert found.pop("version.nvme") == "nvme version 2.9 (git 2.9)"
    assert found.pop("version.mpi_library") == NO_MPI
    assert set(found.values()) == {ABSENT}


def test_a_program_that_prints_no_version_is_said_so(programs: Path) -> None:
    stand_in(programs, "smartctl", "exit 3")
    assert program_versions()["version.smartctl"] == "unknown: --version gives exit status 3"


def test_a_program_that_is_replaced_is_asked_again(programs: Path) -> None:
    stand_in(programs, "fstrim", "echo 1.0")
    assert program_versions()["version.fstrim"] == "1.0"
    (programs / "fstrim").unlink()
    stand_in(programs, "fstrim", "echo 2.0")
    assert program_versions()["version.fstrim"] == "2.0"


def test_the_mpi_library_of_a_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    mpi = types.ModuleType("mpi4py.MPI")
    monkeypatch.setattr(mpi, "Get_library_version", lambda: "Open MPI v5.0.9, package\0\nmore", raising=False)
    package = types.ModuleType("mpi4py")
    monkeypatch.setattr(package, "MPI", mpi, raising=False)
    monkeypatch.setitem(sys.modules, "mpi4py", package)
    monkeypatch.setitem(sys.modules, "mpi4py.MPI", mpi)
    assert program_versions()["version.mpi_library"] == "Open MPI v5.0.9, package"


def test_the_environment_of_a_real_target_has_them(tmp_path: Path) -> None:
    from mileage import app
    from mileage.store import StudyFolder

    (tmp_path / "disk").mkdir()
    (tmp_path / "study.toml").write_text(
        f'name = "versions"\ntarget = "dir:{tmp_path}/disk"\n[state]\nfile = "1MiB"\n'
        '[[stage]]\nname = "only"\nmeasure = ["m"]\n[measure.m]\nworkload = "iops.random_write"\n'
        'record = "4KiB"\nrepeat = 1\ncache = "warm"\nstop = { operations = 8 }\n'
    )
    app.run(str(tmp_path / "study.toml"), out=tmp_path / "out", report="none")
    for _, found in StudyFolder(tmp_path / "out").environments():
        assert program_versions().items() <= found.items()
