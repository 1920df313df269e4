"""Another user replaces what is measured: root's measurement in a user's directory, and a user's in a shared one."""

from __future__ import annotations

import ctypes
import os
import signal
import tempfile
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mileage.targets.ledger import LEDGER_VARIABLE
from tests.execute.test_replaced_targets import (
    JOBS,
    KINDS,
    Attack,
    Kind,
    Place,
    assert_noticed,
    listing,
    perform,
)

pytestmark = [
    pytest.mark.xdist_group("devices"),
    pytest.mark.skipif(os.geteuid() != 0, reason="two users need root"),
]

NOBODY = 65534
PR_SET_DUMPABLE = 4


def as_nobody(act: Callable[[], None]) -> int:
    """Do something in a process of an ordinary user; 0 when it came to its end."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.setgroups([])
            os.setresgid(NOBODY, NOBODY, NOBODY)
            os.setresuid(NOBODY, NOBODY, NOBODY)
            # The kernel lets a process that changed its user not read its own account in /proc otherwise.
            ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)
            act()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        monkeypatch.setenv(LEDGER_VARIABLE, f"{folder}/ledger")
        made = Place(Path(folder))
        made.victim.chmod(0o600)
        yield made


@pytest.mark.slow
@pytest.mark.sampled(4)
@pytest.mark.parametrize("step", ["opened", "stages", "runs", "cleanup"])
@pytest.mark.parametrize("name", ["shared", "per-thread", "processes", "file-made", "ior", "iozone"])
def test_in_a_users_directory_root_writes_to_no_file_that_the_user_links_to(
    place: Place, monkeypatch: pytest.MonkeyPatch, name: str, step: str
) -> None:
    """The user owns the directory, so may rename and remove all that root makes in it."""
    os.chown(place.directory, NOBODY, NOBODY)
    kind = {**KINDS, **JOBS}[name]
    before = place.victim.read_bytes()

    def link(place: Place, path: Path) -> None:
        # The name of the work may lie in a directory of its own, which is made in its place.
        top = place.directory / path.relative_to(place.directory).parts[0]

        def strike() -> None:
            if top.exists():
                top.rename(f"{top}.moved")
            path.parent.mkdir(exist_ok=True)
            path.symlink_to(place.victim)

        assert as_nobody(strike) == 0

    attack = Attack(place, Kind(**vars(kind)), link)
    attack.at(step, monkeypatch)

    error = perform(place, kind)

    assert attack.done, error
    assert place.victim.read_bytes() == before
    if name not in JOBS:
        assert_noticed(error)


@pytest.mark.parametrize("name", ["shared", "file-made"])
def test_in_a_shared_directory_a_link_that_a_user_made_before_is_refused(
    place: Place, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    place.directory.chmod(0o1777)
    before = place.victim.read_bytes()

    def plant(place: Place, path: Path) -> None:
        assert as_nobody(lambda: path.symlink_to(place.victim)) == 0

    attack = Attack(place, KINDS[name], plant)
    attack.at("planned", monkeypatch)
    error = perform(place, KINDS[name])
    assert attack.done
    assert place.victim.read_bytes() == before
    assert_noticed(error)


@pytest.mark.parametrize("step", ["runs", "cleanup"])
def test_a_users_measurement_does_not_write_to_another_file_of_the_user(
    place: Place, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """Root replaces the work file in a shared directory by a link to a file that the measuring user may write."""
    # Modules are loaded as they are needed, from folders that an ordinary user may not read.
    (place.folder / "first").mkdir()
    assert perform(Place(place.folder / "first"), KINDS["shared"]) is None
    place.directory.chmod(0o1777)
    place.folder.chmod(0o777)
    os.chown(place.victim, NOBODY, NOBODY)
    before = place.victim.read_bytes()
    (asked, ask), (answered, answer) = os.pipe(), os.pipe()

    def request(_place: Place, path: Path) -> None:
        os.write(ask, os.fsencode(path))
        os.read(answered, 1)

    attack = Attack(place, KINDS["shared"], request)
    attack.at(step, monkeypatch)

    def measure() -> None:
        error = perform(place, KINDS["shared"])
        assert attack.done, error
        assert_noticed(error)

    root = os.fork()
    if root == 0:
        path = Path(os.fsdecode(os.read(asked, 4096)))
        path.unlink()
        path.symlink_to(place.victim)
        os.write(answer, b"x")
        os._exit(0)
    try:
        assert as_nobody(measure) == 0
    finally:
        os.kill(root, signal.SIGKILL)
        os.waitpid(root, 0)
    assert place.victim.read_bytes() == before
    assert [name for name in listing(place.directory) if not name.startswith(".mileage-")] == []
