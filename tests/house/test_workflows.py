"""The workflows in .github call what the repository has, with words that the service knows."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.house.repository import ROOT

WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
TARGETS = set(re.findall(r"(?m)^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8")))


def commands_of(path: Path) -> list[str]:
    content: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return [step["run"] for job in content["jobs"].values() for step in job["steps"] if "run" in step]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_each_workflow_calls_targets_of_the_makefile(path: Path) -> None:
    called = [word for line in commands_of(path) for word in re.findall(r"\bmake ([a-z-]+)", line)]
    assert called
    assert set(called) <= TARGETS
    for line in commands_of(path):
        for script in re.findall(r"(?:^|\s)(\.ci/\S+)", line):
            assert (ROOT / script).stat().st_mode & 0o100, f"{script} cannot be executed"


def test_tests_lints_documentation_and_the_wheel_are_each_in_a_workflow() -> None:
    called = " ".join(line for path in WORKFLOWS for line in commands_of(path))
    for command in ("make lint", ".ci/run", "make docs", "make check-wheel"):
        assert command in called


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_asks_for_no_more_rights_than_to_read(path: Path) -> None:
    content: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert content["permissions"] == {"contents": "read"}
    assert all("permissions" not in job for job in content["jobs"].values())


def test_actionlint_finds_nothing() -> None:
    place = shutil.which("actionlint")
    if place is None:
        pytest.skip("actionlint is not installed")
    examples = ROOT / "examples/ci/github-actions.yml"
    done = subprocess.run(
        [place, *map(str, [*WORKFLOWS, examples])], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stdout
