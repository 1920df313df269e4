"""A plan looks at its target: nothing is opened for writing, nothing is made, whatever kind of target it is."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mileage.errors import Refused
from mileage.model.target_kind import TARGET_KINDS, capabilities_of
from mileage.targets import open_target
from mileage.targets.target_kinds import CLASSES

HASH = "ab" * 32
needs_strace = pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
CALLS = "trace=openat,open,creat,mkdir,mkdirat,mknodat,rename,renameat2,unlink,unlinkat,truncate,ftruncate,fallocate"
_CHANGES = re.compile(
    r"\b(creat|mkdir|mkdirat|mknodat|rename|renameat2|unlink|unlinkat|truncate|ftruncate|fallocate)\("
)
STUDY = """\
name = "look"
target = "{target}"
{state}
[[stage]]
name = "before"
measure = ["reads"]
[measure.reads]
workload = "throughput.{work}"
record = "64KiB"
span = "64KiB"
stop = {{ operations = 1 }}
repeat = 1
"""


def plan_calls(tmp_path: Path, target: str, state: str = "", work: str = "write") -> list[str]:
    """The calls of `mileage plan` that change something in the place of a target, as strace prints them."""
    study, trace = tmp_path / "look.toml", tmp_path / "trace"
    study.write_text(STUDY.format(target=target, state=state, work=work))
    command = ["strace", "-f", "-y", "-o", str(trace), "-e", CALLS, sys.executable, "-m", "mileage", "plan"]
    result = subprocess.run(
        [*command, str(study)], capture_output=True, text=True, check=False, timeout=120, cwd=tmp_path
    )
    assert result.returncode == 0, result.stderr
    calls = trace.read_text().splitlines()
    assert any("look.toml" in line for line in calls), "strace saw nothing"
    place = target.partition(":")[2].rpartition("@")[2]
    lines = [line for line in calls if place in line]
    opened = [line for line in lines if re.search(r"O_(WRONLY|RDWR|CREAT|TMPFILE)\b", line)]
    return opened + [line for line in lines if _CHANGES.search(line)]


@needs_strace
def test_planning_on_a_directory_opens_nothing_for_writing(tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    before = place.stat().st_mtime_ns
    assert plan_calls(tmp_path, f"dir:{place}", '[state]\nfile = "1MiB"') == []
    assert list(place.iterdir()) == []
    assert place.stat().st_mtime_ns == before


@needs_strace
@pytest.mark.parametrize("state", ['[state]\nfile = "1MiB"', '[state]\nstart = "kept"'])
def test_planning_on_a_file_opens_nothing_for_writing(tmp_path: Path, state: str) -> None:
    place = tmp_path / "place"
    place.mkdir()
    named = place / "data"
    named.write_bytes(bytes(1 << 20) if "kept" in state else b"")
    assert plan_calls(tmp_path, f"file:{named}", state, "read" if "kept" in state else "write") == []
    assert list(place.iterdir()) == [named]


@needs_strace
def test_planning_on_a_device_opens_nothing_for_writing(tmp_path: Path, loop_device: Path) -> None:
    assert plan_calls(tmp_path, f"block:{loop_device}", '[state]\nstart = "kept"', "read") == []


@needs_strace
def test_planning_on_a_loop_device_makes_no_file(tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    assert plan_calls(tmp_path, f"loop:16MiB@{place}") == []
    assert list(place.iterdir()) == []


def test_a_probe_leaves_the_work_file_of_a_running_study_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mileage.file_lock.RELEASE_S", 0.2)
    with open_target(f"dir:{tmp_path}", plan_hash=HASH) as running:
        running.prepare(1 << 20)
        looked = open_target(f"dir:{tmp_path}", plan_hash=HASH, probe=True).facts()
        assert looked.free_bytes > 0
        with pytest.raises(Refused, match="in use by another study"):
            open_target(f"dir:{tmp_path}", plan_hash=HASH)
        assert running.resumes(1 << 20)


def test_a_probe_and_an_open_target_have_the_same_facts(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for target in (
        f"dir:{tmp_path}",
        f"file:{tmp_path}/file",
        f"file:{tmp_path}/new",
        "virtual:plain-64gib",
        "null:",
    ):
        looked = open_target(target, plan_hash=HASH, probe=True).facts()
        with open_target(target, plan_hash=HASH) as opened:
            assert opened.facts().direct_supported == looked.direct_supported, target
            assert opened.facts().kind == looked.kind
            assert opened.facts().virtual == looked.virtual == looked.capabilities.simulated


def test_direct_io_of_a_file_system_in_memory_is_known_without_a_file() -> None:
    place = Path("/dev/shm")
    if not place.is_dir():
        pytest.skip("needs /dev/shm")
    looked = open_target(f"dir:{place}", plan_hash=HASH, probe=True).facts()
    with open_target(f"dir:{place}", plan_hash=HASH) as opened:
        assert opened.facts().direct_supported == looked.direct_supported


def test_every_kind_of_target_has_its_row() -> None:
    assert set(TARGET_KINDS) == set(CLASSES)
    for scheme, row in TARGET_KINDS.items():
        assert row.form.startswith(f"{scheme}:")
        assert capabilities_of(f"{scheme}:anything") is capabilities_of(scheme) is row
    assert not any(
        getattr(capabilities_of("imported:fio"), name) for name in ("simulated", "has_files", "in_place")
    )
