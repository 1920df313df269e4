"""A question asked of the command line, as a user types it.

A wrong answer is an AssertionError, and only that: a command that does not run ends the test by `pytest.fail`, which a
mark `xfail(raises=AssertionError)` does not excuse. So a test that is marked as failing today fails for its reason.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.command import mileage


def ask(*words: str, cwd: Path, status: int = 0) -> str:
    """Standard output of `mileage WORDS` in a folder."""
    return ask_both(*words, cwd=cwd, status=status)[0]


def ask_both(*words: str, cwd: Path, status: int = 0) -> tuple[str, str]:
    """Standard output and standard error of `mileage WORDS`, which must end with this status."""
    done = mileage(*words, cwd=cwd)
    if done.returncode != status:
        pytest.fail(f"mileage {' '.join(words)} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}")
    return done.stdout, done.stderr


def ask_json(*words: str, cwd: Path) -> Any:
    """What `mileage WORDS --json` prints."""
    return json.loads(ask(*words, "--json", cwd=cwd))


def suppose(premise: bool, what: str) -> None:
    """End the test if what it takes for granted does not hold."""
    if not premise:
        pytest.fail(f"the premise does not hold: {what}", pytrace=False)
