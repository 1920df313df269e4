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


def scripts(name: str) -> list[str]:
    """The shell lines of a pipeline in their order, without those that fetch artifacts from a service."""
    content: dict[str, Any] = yaml.safe_load((FOLDER / name).read_text(encoding="utf-8"))
    job = content["storage"] if "storage" in content else content["jobs"]["storage"]
    lines = job["script"] if "script" in job else [step["run"] for step in job["steps"] if "run" in step]
    return [line for line in lines if "mileage " in line]


def status(name: str, place: Path, target: str) -> int:
    shutil.rmtree(place / "candidate", ignore_errors=True)
    settings = {
        "TARGET": target,
        "LENGTH": "--operations 2000",
        "BASELINE": str(place / "baseline"),
        "GITHUB_STEP_SUMMARY": str(place / "summary.md"),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    done = subprocess.run(
        ["bash", "-e", "-c", "\n".join(scripts(name))],
        cwd=place,
        env=os.environ | settings,
        capture_output=True,
        check=False,
    )
    return done.returncode


@pytest.mark.parametrize("name", ["github-actions.yml", "gitlab-ci.yml"])
def test_a_pipeline_fails_for_a_slower_drive_alone(name: str, tmp_path: Path) -> None:
    drive = "virtual:plain-64gib"
    (first,) = [line for line in scripts(name) if "mileage measure" in line]
    environment = os.environ | {"TARGET": drive, "LENGTH": "--operations 2000"}
    environment["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    subprocess.run(
        ["bash", "-e", "-c", first.replace("--save candidate", "--save baseline")],
        cwd=tmp_path,
        env=environment,
        check=True,
        capture_output=True,
    )
    assert status(name, tmp_path, drive) == 0
    assert status(name, tmp_path, f"{drive},program_us=900") == 1
