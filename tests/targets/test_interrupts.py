"""Cut off at every privileged step, nothing is left on the machine after the next repair."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mileage.plan.filesystems import file_system_of
from mileage.targets import open_target
from mileage.targets.ledger import LEDGER_VARIABLE, Ledger, repair
from mileage.targets.memory_limit import find_controller, limited_memory
from mileage.targets.mounts import read_mounts

pytestmark = pytest.mark.xdist_group("devices")

MIB = 1 << 20
HASH = "feedbeef" * 8
POINTS_MAX = 200


@pytest.fixture(autouse=True)
def ready(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root, the programs, a memory controller, and a ledger of the test's own."""
    if os.geteuid() != 0:
        pytest.skip("privileged steps need root")
    for program in ("losetup", "mkfs.ext4", "mount"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    if find_controller() is None:
        pytest.skip("there is no memory controller")
    monkeypatch.setenv(LEDGER_VARIABLE, str(tmp_path / "ledger"))


def world() -> dict[str, object]:
    """What steps of this study could leave behind: mounts, loop devices with their settings, control groups.

    What other studies have on the machine meanwhile is theirs: they have other names, and processes that live.
    """
    controller = find_controller()
    assert controller is not None
    loops = {}
    for loop in sorted(Path("/sys/block").glob("loop*/loop/backing_file")):
        text = loop.read_text()
        if f".mileage-{HASH[:8]}" in text:
            loops[loop.parent.parent.name] = text
    return {
        "mounts": [m.mount_point for m in read_mounts() if m.mount_point.startswith("/run/mileage/feedbeef")],
        "loops": loops,
        "groups": sorted(
            path.name
            for path in controller.place.glob("mileage-*")
            if not Path(f"/proc/{path.name.rpartition('-')[2]}").exists()
        ),
        "own group": str(controller.own),
        "directories": sorted(path.name for path in Path("/run/mileage").glob("feedbeef*")),
    }


def life(folder: Path) -> None:
    """Every kind of step: a loop device, a setting of it, a file system, a mount; purged; a memory limit."""
    with open_target(
        f"loop:48MiB@{folder}",
        plan_hash=HASH,
        made=file_system_of("ext4", "", "noatime"),
        settings={"write_cache": "write through"},
    ) as target:
        target.prepare(4 * MIB)
        target.purge()
        target.purge()
        with limited_memory(256 * MIB, "test"):
            assert target.path is not None
            target.path.write_bytes(b"x" * MIB)


class Cut:
    """Does something at the nth of the moments around writing the ledger and acting."""

    def __init__(self, at: int, act: Callable[[], None]) -> None:
        self.at = at
        self.act = act
        self.seen = 0

    def point(self) -> None:
        self.seen += 1
        if self.seen == self.at:
            self.act()

    def install(self) -> None:
        write, take = Ledger._write, Ledger.take

        def cut_write(ledger: Ledger, entry: dict[str, object]) -> None:
            self.point()
            write(ledger, entry)
            self.point()

        def cut_take(ledger: Ledger, step: object, act: Callable[[], object]) -> object:
            def acting() -> object:
                done = act()
                self.point()
                return done

            return take(ledger, step, acting)  # type: ignore[arg-type]

        Ledger._write, Ledger.take = cut_write, cut_take  # type: ignore[method-assign, assignment]


def in_child(folder: Path, cut: Cut) -> int:
    """Live in a child process that is cut off; its exit status, negative for a signal."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            sys.stderr = open(os.devnull, "w")  # noqa: SIM115
            cut.install()
            life(folder)
            status = 0 if cut.seen < cut.at else 4
        except KeyboardInterrupt:
            status = 3
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def interrupt() -> None:
    raise KeyboardInterrupt


def kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def cuts(folder: Path, act: Callable[[], None]) -> Iterator[tuple[int, int]]:
    """The number of a moment and the exit status of the process that was cut off there, until it lives to its end."""
    for at in range(1, POINTS_MAX):
        status = in_child(folder, Cut(at, act))
        if status == 0:
            return
        yield at, status
    raise AssertionError("the life has more moments than this test believes")


def test_killed_at_any_moment_all_is_undone_by_repair(tmp_path: Path) -> None:
    before, last = world(), 0
    left = set()
    for at, status in cuts(tmp_path, kill):
        assert status == -signal.SIGKILL
        last = at
        left |= {name for name, found in world().items() if found != before[name]}
        undone = repair()
        assert not [step for step in undone if step.failed], (at, undone)
        assert world() == before, f"killed at moment {at}"
    assert last > 30
    # The test can fail: before the repair, each of these was left behind at some moment.
    assert left == {"mounts", "loops", "groups", "directories"}
    assert list((tmp_path / "ledger").iterdir()) == []


def test_interrupted_at_any_moment_all_is_undone_on_the_way_out(tmp_path: Path) -> None:
    before = world()
    for at, status in cuts(tmp_path, interrupt):
        assert status == 3, at
        undone = repair()
        assert not [step for step in undone if step.failed], (at, undone)
        assert world() == before, f"interrupted at moment {at}"
