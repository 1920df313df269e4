"""IOzone's tests with a cold cache: reads come from storage, rereads from what the reads left in memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from mileage import app
from mileage.errors import Refused
from mileage.model.journal_entries import Run

FILE_BYTES = 16 << 20
STUDY = """
name = "suite"
question = "Do read and reread differ?"
target = "dir:{target}"

[state]
file = "16MiB"
cache = "{cache}"

[[stage]]
name = "only"
measure = ["suite"]

[measure.suite]
workload = ["iozone.read", "iozone.reread", "iozone.random_read"]
record = "64KiB"
repeat = 1
"""


def fetched_bytes(folder: Path, cache: str) -> dict[str, int]:
    """Bytes that the device below read during each test; of a file system in memory the test is skipped."""
    study = folder / f"{cache}.toml"
    study.write_text(STUDY.format(target=folder, cache=cache))
    result = app.run(str(study), out=folder / cache, report="none")
    (run,) = [run for run in result.content().runs() if isinstance(run, Run)]
    results = run.record.results or []
    devices = {one.name: one.record.usage.device for one in results}
    if not all(devices.values()):
        pytest.skip("the temporary directory is on no device whose kernel counters can be read")
    return {name: device["read_bytes"] for name, device in devices.items() if device}


def test_cold_reads_come_from_storage_and_rereads_from_memory(tmp_path: Path) -> None:
    cold, warm = (fetched_bytes(tmp_path, cache) for cache in ("cold", "warm"))
    # Other programs may read a little meanwhile.
    assert cold["iozone.read"] >= FILE_BYTES
    assert cold["iozone.random_read"] >= FILE_BYTES // 2
    assert cold["iozone.reread"] < FILE_BYTES // 2
    assert max(warm.values()) < FILE_BYTES // 2


def test_a_modelled_host_has_no_cold_tests(tmp_path: Path) -> None:
    study = tmp_path / "host.toml"
    text = STUDY.format(target="x", cache="cold").replace("dir:x", "virtual:intel-x25e-64gb@phenom-8gib")
    study.write_text(text)
    with pytest.raises(Refused, match="cold has no effect"):
        app.plan(str(study))


def test_iozones_own_calls_are_refused_with_a_cold_cache_before_anything_runs(tmp_path: Path) -> None:
    study = tmp_path / "faithful.toml"
    study.write_text(STUDY.format(target=tmp_path, cache="cold") + "fidelity = true\n")
    with pytest.raises(Refused, match="cold, which IOzone has not"):
        app.plan(str(study))
