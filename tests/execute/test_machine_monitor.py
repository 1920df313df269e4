"""What is monitored during a run, on a machine made of files and on this one."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mileage.execute import environment_guard
from mileage.execute import machine_monitor as monitor
from mileage.model.journal_entries import Run
from mileage.store import StudyFolder
from mileage.targets import open_target
from tests.execute.conftest import Small

BEFORE = {
    "proc/stat": "cpu 100 0 100 700 50 0 0 50 0 0\n",
    "proc/pressure/io": "some avg10=0.00 avg60=0.00 avg300=0.00 total=1000\nfull avg10=0 avg60=0 avg300=0 total=9\n",
    "sys/block/vdz/stat": "10 0 80 5 20 0 160 5 0 0 0",
    "sys/block/vdz/device/hwmon1/temp1_input": "40000",
    "sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count": "1",
    "sys/class/block/vdz/dev": "253:9\n",
    "proc/self/mountinfo": "21 1 0:99 / / rw,noatime - xfs /dev/vdz rw\n",
}
AFTER = {
    "proc/stat": "cpu 150 0 110 720 50 0 0 70 0 0\n",
    "proc/pressure/io": "some avg10=9.00 avg60=0.00 avg300=0.00 total=4500\nfull avg10=0 avg60=0 avg300=0 total=9\n",
    "sys/block/vdz/stat": "12 0 96 5 24 0 192 5 0 0 0",
    "sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count": "4",
}


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def test_counters_are_differences_and_temperatures_are_looked_at_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "machine"
    write(root, BEFORE)
    monkeypatch.setattr(environment_guard, "HOST", root)
    monkeypatch.setattr(monitor, "PERIOD_S", 0.02)
    seen = threading.Event()
    moments = monitor._moments

    def seeing(*place: Any) -> Iterator[tuple[str, int]]:
        for key, value in moments(*place):
            yield key, value
            if value == 55000:
                seen.set()

    monkeypatch.setattr(monitor, "_moments", seeing)
    with open_target(f"dir:{tmp_path}", plan_hash="0" * 16) as target, monitor.Monitor(target) as watch:
        opened_ns = time.monotonic_ns()
        (root / "sys/block/vdz/device/hwmon1/temp1_input").write_text("55000")
        assert seen.wait(60)
        lasted_ns = time.monotonic_ns() - opened_ns
        (root / "sys/block/vdz/device/hwmon1/temp1_input").write_text("50000")
        write(root, AFTER)
    found = watch.found
    # 100 ticks a second.
    assert (found["cpu_all_us"], found["cpu_idle_us"], found["steal_us"]) == (1_000_000, 200_000, 200_000)
    assert found["pressure_io_us"] == 3500
    assert (found["device_read_bytes"], found["device_written_bytes"]) == (16 * 512, 32 * 512)
    assert (found["device_reads"], found["cpu_throttles"]) == (2, 3)
    assert found["device_millicelsius_first"] == 40000
    assert found["device_millicelsius_most"] == 55000
    assert found["wall_us"] >= lasted_ns // 1000
    assert "pressure_memory_us" not in found


def test_every_run_on_a_real_target_is_watched_and_in_the_table_and_no_simulated_one(
    small: Small, tmp_path: Path
) -> None:
    import duckdb

    from mileage import app

    (tmp_path / "target").mkdir()
    folder = tmp_path / "study"
    result = app.run(str(small.study(f"dir:{tmp_path}/target")), out=folder)
    runs = list(StudyFolder(folder).content().of_kind(Run))
    assert all(entry.watch["wall_us"] > 0 for entry in runs)
    counted = duckdb.sql(
        f"SELECT count(*) FROM '{folder}/counters.parquet' WHERE counter = 'host_wall_us'"
    ).fetchall()
    assert counted == [(len(runs),)]
    checks = {check.name for check in result.view().trust}
    assert {"steal", "other programs", "memory pressure", "temperature"} <= checks
    study, *_ = small.virtual(cycles=1)
    simulated = app.run(study, out=tmp_path / "simulated")
    assert not any(entry.watch for entry in simulated.folder.content().of_kind(Run))
    assert "steal" not in {check.name for check in simulated.view().trust}
