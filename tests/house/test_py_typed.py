"""The installed package brings its types: a user's script is checked against them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

RIGHT = """
import mileage

result = mileage.run("degradation", quick=True, out="study")
print(result.text(100), [sample.cell for sample in result.samples()])
print(mileage.compare("one", "two").cells[0].ratio or 1.0)
drive = mileage.Drive("plain-64gib")
"""
WRONG = """
import mileage

mileage.load(3)
mileage.run("degradation").no_such_answer
"""


def checked(path: Path, script: str) -> str:
    path.write_text(script, "utf-8")
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "mypy",
            "--strict",
            "--no-incremental",
            "--config-file",
            "/dev/null",
            path.name,
        ],
        cwd=path.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


@pytest.mark.slow
def test_a_script_is_checked_against_the_types_of_the_package(tmp_path: Path) -> None:
    assert checked(tmp_path / "right.py", RIGHT).startswith("Success: no issues")
    found = checked(tmp_path / "wrong.py", WRONG)
    assert 'wrong.py:4: error: Argument 1 to "load"' in found, found
    assert '"StudyResult" has no attribute "no_such_answer"' in found, found
