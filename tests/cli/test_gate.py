"""`mileage compare --fail-if`: exit status 1 exactly when a cell is so, by as much as was said."""

from __future__ import annotations

from pathlib import Path

import pytest

from mileage.app import run
from tests.command import mileage
from tests.execute.test_factors import DRIVES, written


@pytest.fixture(scope="module")
def slower(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study whose drive reads more slowly at the other level: random reads by about 25 %."""
    folder = tmp_path_factory.mktemp("gate")
    run(written(folder, DRIVES), out=folder / "out")
    return folder / "out"


@pytest.mark.parametrize(
    ("rule", "status", "said"),
    [
        ("slower", 1, 'the rule "slower" is broken in 1 of 2 tests: iops.random_read 4 KiB'),
        ("slower > 5%", 1, 'the rule "slower > 5%" is broken in 1 of 2 tests: iops.random_read 4 KiB'),
        ("slower > 90%", 0, ""),
        ("faster", 0, ""),
        ("different>1.5 %", 1, 'the rule "different>1.5 %" is broken'),
        ("slower > many", 2, 'expected "slower", "faster", "different", "undecided"'),
    ],
)
def test_the_gate_of_a_study(slower: Path, rule: str, status: int, said: str) -> None:
    done = mileage("compare", str(slower), "--fail-if", rule)
    assert done.returncode == status, done.stderr
    assert said in done.stderr
