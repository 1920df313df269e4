"""The benchmark of the judgement runs, small, and judges what it made."""

import subprocess
import sys

from tests.house.repository import ROOT


def test_it_runs_small() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.judgement", "--samples", "4000", "--cells", "20"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == "", "its status says only whether its goals of time and memory were met"
    assert "4,000 samples over 20 cells" in done.stdout
    assert "slower in 2 cells; 2 are" in done.stdout
