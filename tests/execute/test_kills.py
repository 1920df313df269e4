"""Some kills of each kind, drawn by the seed; `make kills` does hundreds."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tests.execute.kill_kinds import KINDS, Kind, quick_place
from tests.execute.kills import Killer

pytestmark = [pytest.mark.xdist_group("devices"), pytest.mark.sampled(2)]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_killed_command_leaves_nothing_and_does_each_run_once(kind: Kind, tmp_path: Path) -> None:
    if missing := kind.missing():
        pytest.skip(f"needs {missing}")
    with quick_place(tmp_path) as place:
        killer = Killer(kind, place, int(os.environ["MILEAGE_TEST_SEED"]))
        try:
            killer.kill(1, until_s=time.monotonic() + 60.0)
        finally:
            killer.close()
    assert killer.count.problems == []
