"""A memory limit holds what a process caches, and is removed afterwards."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from mileage.errors import Refused, RunFailed
from mileage.targets.ledger import LEDGER_VARIABLE
from mileage.targets.memory_limit import find_controller, limited_memory
from mileage.targets.page_cache import empty_cache, fill_cache, resident_bytes

pytestmark = pytest.mark.xdist_group("devices")

MIB = 1 << 20
Machine = Callable[[dict[str, str]], Path]


@pytest.fixture
def limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if os.geteuid() != 0 or find_controller() is None:
        pytest.skip("limiting memory needs root and a memory controller")
    monkeypatch.setenv(LEDGER_VARIABLE, str(tmp_path / "ledger"))


def own_groups() -> str:
    return Path("/proc/self/cgroup").read_text()


@pytest.mark.usefixtures("limits")
def test_no_more_is_cached_than_the_limit_leaves(tmp_path: Path) -> None:
    path, before = tmp_path / "file", own_groups()
    path.write_bytes(os.urandom(256 * MIB))
    empty_cache(path)
    fill_cache(path)
    assert resident_bytes(path) == 256 * MIB
    empty_cache(path)
    with limited_memory(96 * MIB, "test"):
        assert own_groups() != before
        fill_cache(path)
        assert 16 * MIB < resident_bytes(path) <= 96 * MIB
    assert own_groups() == before


@pytest.mark.usefixtures("limits")
def test_pages_that_somebody_cached_before_escape_a_limit(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(os.urandom(192 * MIB))
    with limited_memory(96 * MIB, "test"):
        fill_cache(path)
        # This is why a limited run begins with an empty cache.
        assert resident_bytes(path) == 192 * MIB


@pytest.mark.usefixtures("limits")
def test_a_limit_that_is_removed_is_reported(tmp_path: Path) -> None:
    controller = find_controller()
    assert controller is not None
    group = controller.place / f"mileage-{os.getpid()}"
    with pytest.raises(RunFailed, match="was removed during the run"), limited_memory(96 * MIB, "test"):
        (group / controller.limit_file).write_text(str(1 << 40))
    assert not group.exists()
    assert tmp_path.exists()


@pytest.mark.usefixtures("limits")
def test_an_error_inside_passes_and_the_limit_goes(tmp_path: Path) -> None:
    before = own_groups()
    with pytest.raises(ZeroDivisionError), limited_memory(96 * MIB, "test"):
        raise ZeroDivisionError
    assert own_groups() == before
    assert tmp_path.exists()


def test_version_2_makes_its_group_next_to_its_own(machine: Machine) -> None:
    root = machine(
        {
            "proc/self/mountinfo": "30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
            "proc/self/cgroup": "0::/user.slice/session.scope\n",
            "sys/fs/cgroup/cgroup.controllers": "cpu memory\n",
            "sys/fs/cgroup/user.slice/session.scope/memory.max": "max\n",
        }
    )
    found = find_controller(root)
    assert found is not None
    assert found.version == 2
    assert found.place == root / "sys/fs/cgroup/user.slice"
    assert found.limit_file == "memory.max"


def test_version_2_without_the_controller_is_none(machine: Machine) -> None:
    root = machine(
        {
            "proc/self/mountinfo": "30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
            "proc/self/cgroup": "0::/\n",
            "sys/fs/cgroup/cgroup.controllers": "cpu\n",
        }
    )
    assert find_controller(root) is None
    with pytest.raises(Refused, match="no control group here"), limited_memory(96 * MIB, "test", root=root):
        pass
