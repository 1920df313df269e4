"""The pipelines in examples/ci do what they promise: they pass without a change and fail for a slower drive."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.house.repository import ROOT

FOLDER = ROOT / "examples" / "ci"
EVENTS = ("push", "pull_request")


def scripts(name: str, event: str) -> list[str]:
    """The shell lines of a pipeline on an event, in their order, without those that fetch artifacts from a service."""
    content: dict[str, Any] = yaml.safe_load((FOLDER / name).read_text(encoding="utf-8"))
    if "jobs" in content:
        steps = content["jobs"]["storage"]["steps"]
        other = EVENTS[1 - EVENTS.index(event)]
        lines = [step["run"] for step in steps if "run" in step and f"'{other}'" not in step.get("if", "")]
    else:
        lines = content["history" if event == "push" else "storage"]["script"]
    return [line for line in lines if "mileage " in line]


def status(name: str, event: str, place: Path, target: str) -> int:
    shutil.rmtree(place / "candidate", ignore_errors=True)
    settings = {
        "TARGET": target,
        "LENGTH": "--operations 2000",
        "BASELINE": str(place / "baseline"),
        "GITHUB_STEP_SUMMARY": str(place / "summary.md"),
        "MILEAGE_REPORT": "none",
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    done = subprocess.run(
        ["bash", "-e", "-c", "\n".join(scripts(name, event))],
        cwd=place,
        env=os.environ | settings,
        capture_output=True,
        check=False,
    )
    return done.returncode


@pytest.mark.parametrize("name", ["github-actions.yml", "gitlab-ci.yml"])
def test_a_pipeline_fails_for_a_slower_drive_alone(name: str, tmp_path: Path) -> None:
    drive = "virtual:plain-64gib"
    assert [status(name, "push", tmp_path, drive) for _ in range(3)] == [0, 0, 0]
    assert len(os.listdir(tmp_path / "baseline")) == 3
    assert status(name, "pull_request", tmp_path, drive) == 0
    assert status(name, "pull_request", tmp_path, f"{drive},program_us=900") == 1
    assert len(os.listdir(tmp_path / "baseline")) == 3


@pytest.mark.parametrize("name", ["github-actions.yml", "gitlab-ci.yml"])
def test_a_pipeline_without_a_history_does_not_pass(name: str, tmp_path: Path) -> None:
    assert status(name, "push", tmp_path, "virtual:plain-64gib") == 0
    assert status(name, "pull_request", tmp_path, "virtual:plain-64gib") == 2
