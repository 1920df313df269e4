"""What was checked is what is written: a target that is replaced while a study runs is noticed, and nothing is written.

Every kind of target, replaced by a file, a link, a directory or a device, at every step from the plan to the clean-up.
The replacement happens between two calls of the study itself, so that each case is the same at every repetition.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from mileage import app
from mileage.app import plan_execution as session
from mileage.errors import MileageError
from mileage.execute import cycle, study
from mileage.execute.workers import for_other_machine
from mileage.targets.ledger import LEDGER_VARIABLE

pytestmark = pytest.mark.xdist_group("devices")

MIB = 1 << 20
SIZE = 4 * MIB
STEPS = ("planned", "opened", "stages", "runs", "reset", "cleanup")
WORDS = (
    "vanished",
    "would not be comparable",
    "use block:",
    "than the study was planned for",
    "was replaced",
    "is no longer the directory",
    "symbolic link",
    "hard link",
    "--destroy",
    "not a ",
    "is in the way",
)

STUDY = """
name = "replaced"
target = "{target}"
[state]
{state}
[[stage]]
name = "first"
measure = ["work"]
[[stage]]
name = "second"
measure = ["work"]
[measure.work]
{work}
repeat = 2
"""
WRITES = 'workload = ["iops.random_write"]\nrecord = "4KiB"\nstop = {{ operations = 40 }}\n{more}'
FILE = 'file = "4MiB"\ncarryover = "purge"'
KEPT = 'start = "kept"'


@dataclass
class Kind:
    """A kind of target: what the study says, and which of its names are replaced."""

    target: str
    state: str
    work: str
    destroys: bool = False
    more: str = ""
    """Further tables of the study."""
    names: Callable[[Place], list[Path]] = lambda place: [place.work_file]


@dataclass
class Place:
    """The folder of one case: the target's directory, the victims, and loop devices."""

    folder: Path
    hash: str = ""
    loops: list[Path] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Make the directory of the target and the victim."""
        self.directory.mkdir()
        self.victim.write_bytes(b"victim" * 1000 + bytes(SIZE))

    @property
    def directory(self) -> Path:
        return self.folder / "target"

    @property
    def victim(self) -> Path:
        return self.folder / "victim"

    @property
    def work_file(self) -> Path:
        return self.directory / f".mileage-{self.hash[:8]}.dat"

    @property
    def named(self) -> Path:
        return self.directory / "named"

    def loop(self, name: str, content: bytes = b"") -> Path:
        """A loop device over a file with this content."""
        image = self.folder / name
        image.write_bytes(content)
        os.truncate(image, 2 * SIZE)
        output = subprocess.run(
            ["losetup", "--find", "--show", str(image)], check=True, capture_output=True, text=True
        )
        self.loops.append(Path(output.stdout.strip()))
        return self.loops[-1]


KINDS = {
    "shared": Kind("dir:{directory}", FILE, WRITES.format(more="")),
    "per-thread": Kind(
        "dir:{directory}",
        FILE,
        WRITES.format(more='threads = 2\nfiles = "per_thread"'),
        names=lambda place: [Path(f"{place.work_file}.{number}") for number in (0, 1)],
    ),
    "processes": Kind("dir:{directory}", FILE, WRITES.format(more="threads = 2\nprocesses = 2")),
    "file-made": Kind("file:{named}", FILE, WRITES.format(more=""), names=lambda place: [place.named]),
    "file-kept": Kind(
        "file:{named}", KEPT, WRITES.format(more=""), destroys=True, names=lambda place: [place.named]
    ),
    "file-taken": Kind("file:{named}", FILE, WRITES.format(more=""), names=lambda place: [place.named]),
}


def by_file(place: Place, name: Path) -> None:
    """The victim itself under the name of the target."""
    new = place.folder / "new"
    os.link(place.victim, new)
    new.rename(name)


def by_link(place: Place, name: Path) -> None:
    """A symbolic link to the victim."""
    new = place.folder / "new"
    new.symlink_to(place.victim)
    new.rename(name)


def by_device(place: Place, name: Path) -> None:
    """A symbolic link to a disk."""
    new = place.folder / "new"
    new.symlink_to(place.loops[0])
    new.rename(name)


def by_directory(place: Place, name: Path) -> None:
    """The whole directory is another one, in which the victim has the name of the target."""
    if not place.directory.is_symlink():
        other = place.folder / "other"
        other.mkdir()
        place.directory.rename(place.folder / "moved")
        place.directory.symlink_to(other)
    os.link(place.victim, name)


REPLACEMENTS = {"file": by_file, "link": by_link, "device": by_device, "directory": by_directory}


class Attack:
    """Does the replacement once, at one step of the study."""

    def __init__(self, place: Place, kind: Kind, replace: Callable[[Place, Path], None]) -> None:
        self.place, self.kind, self.replace = place, kind, replace
        self.done = False

    def strike(self) -> None:
        if not self.done:
            self.done = True
            for name in self.kind.names(self.place):
                self.replace(self.place, name)

    def at(self, step: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """Strike at this step."""
        keep_traces = session.keep_traces

        def planned(resolved: Any, folder: Any) -> None:
            self.place.hash = resolved.hash
            keep_traces(resolved, folder)
            if step == "planned":
                self.strike()

        monkeypatch.setattr(session, "keep_traces", planned)
        owner, name, call, after = {
            "planned": (cycle, "perform", 0, False),
            "opened": (cycle.Cycle, "_restore_real", 1, False),
            "stages": (cycle.Cycle, "_end_stage", 1, True),
            "runs": (cycle, "perform", 2, False),
            "reset": (cycle, "perform", 1, False),
            "cleanup": (study, "_run_cycles", 1, True),
        }[step]
        original = getattr(owner, name)
        calls = itertools.count(1)

        def seam(*arguments: Any, **keys: Any) -> Any:
            is_counted = name != "perform" or (arguments[1].role == "reset") == (step == "reset")
            is_now = is_counted and next(calls) == call
            if is_now and not after:
                self.strike()
            result = original(*arguments, **keys)
            if is_now and after:
                self.strike()
            return result

        monkeypatch.setattr(owner, name, seam)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    if os.geteuid() != 0:
        pytest.skip("loop devices need root")
    monkeypatch.setenv(LEDGER_VARIABLE, str(tmp_path / "ledger"))
    made = Place(tmp_path)
    try:
        yield made
    finally:
        for loop in made.loops:
            subprocess.run(["losetup", "-d", str(loop)], check=True)


def perform(place: Place, kind: Kind) -> MileageError | None:
    """Run the study of a kind; why it ended, if it did not come to its end."""
    words = {"directory": place.directory, "named": place.named, "folder": place.folder}
    target = kind.target.format(**words)
    path = place.folder / "study.toml"
    path.write_text(STUDY.format(target=target, state=kind.state, work=kind.work) + kind.more)
    destroy = target.partition(":")[2] if kind.destroys else None
    try:
        app.run(str(path), out=place.folder / "study", destroy=destroy, report="text", allow_commands=True)
    except MileageError as error:
        return error
    return None


def at_steps(kinds: dict[str, Kind], steps: tuple[str, ...]) -> list[tuple[str, str]]:
    """Each kind at each step that it has: what is kept is not reset."""
    both = itertools.product(kinds, steps)
    return [(name, step) for name, step in both if not (step == "reset" and kinds[name].state == KEPT)]


@pytest.mark.sampled(10)
@pytest.mark.parametrize("replacement", REPLACEMENTS)
@pytest.mark.parametrize(("name", "step"), at_steps(KINDS, STEPS))
def test_a_replaced_file_is_noticed_and_never_written(
    place: Place, monkeypatch: pytest.MonkeyPatch, name: str, replacement: str, step: str
) -> None:
    kind = KINDS[name]
    disk = place.loop("other-disk", b"disk" * 1000)
    if name.startswith("file-") and name != "file-made":
        place.named.write_bytes(b"own" + bytes(SIZE) if name == "file-kept" else b"")
    victims = {path: path.read_bytes() for path in (place.victim, disk)}
    attack = Attack(place, kind, REPLACEMENTS[replacement])
    attack.at(step, monkeypatch)

    error = perform(place, kind)

    assert attack.done, error
    assert {path: path.read_bytes() for path in victims} == victims
    assert_noticed(error)


def assert_noticed(error: MileageError | None) -> None:
    """The study ended with one line that says what happened."""
    assert error is not None
    assert error.exit_status in (2, 3)
    assert "\n" not in error.message
    assert any(word in error.message for word in WORDS), error.message


JOBS = {
    "command": Kind(
        "dir:{directory}",
        FILE,
        'workload = "writes"',
        more='[workload.writes]\ncommand = ["sh", "-c", "echo made > out"]\ncleanup = ["rm", "-f", "out"]\n',
        names=lambda place: [place.directory / "out"],
    ),
    "metadata": Kind(
        "dir:{directory}",
        FILE,
        'workload = ["metadata.create"]\nstop = { operations = 20 }',
        names=lambda place: [],
    ),
    "ior": Kind(
        "dir:{directory}",
        FILE,
        'workload = "ior.*"\nrecord = "4KiB"\nblock = "64KiB"\nthreads = 2\nfiles = "shared"',
        names=lambda place: [place.work_file.with_suffix(".tasks") / "ior"],
    ),
    "mdtest": Kind(
        "dir:{directory}",
        FILE,
        'workload = ["mdtest.file_create"]\nthreads = 2\nstop = { operations = 40 }',
        names=lambda place: [place.work_file.with_suffix(".tasks") / "mdtest"],
    ),
    "iozone": Kind(
        "dir:{directory}",
        FILE,
        'workload = ["iozone.write", "iozone.rewrite"]\nrecord = "64KiB"',
        names=lambda place: [Path(f"{place.work_file}.iozone")],
    ),
}


def by_other_directory(place: Place, names: list[Path]) -> None:
    """Another directory, in which the victim has the name that the work uses."""
    place.directory.rename(place.folder / "moved")
    place.directory.mkdir()
    _fill(place, names)


def by_link_to_directory(place: Place, names: list[Path]) -> None:
    """A link to another directory."""
    other = place.folder / "other"
    other.mkdir()
    place.directory.rename(place.folder / "moved")
    place.directory.symlink_to(other)
    _fill(place, names)


def _fill(place: Place, names: list[Path]) -> None:
    for name in names:
        name.parent.mkdir(exist_ok=True)
        os.link(place.victim, name)
    (place.directory / "precious").write_text("precious")


@pytest.mark.sampled(4)
@pytest.mark.parametrize("step", STEPS[1:])
@pytest.mark.parametrize("replace", [by_other_directory, by_link_to_directory])
@pytest.mark.parametrize("name", JOBS)
def test_a_replaced_directory_is_noticed_and_nothing_is_made_or_removed_in_it(
    place: Place, monkeypatch: pytest.MonkeyPatch, name: str, replace: Callable[..., None], step: str
) -> None:
    kind = JOBS[name]
    before = place.victim.read_bytes()
    there: list[str] = []

    def strike(place: Place, _name: Path) -> None:
        replace(place, kind.names(place))
        there.extend(listing(place.directory))

    once = Kind(kind.target, kind.state, kind.work, more=kind.more, names=lambda place: [place.directory])
    attack = Attack(place, once, strike)
    attack.at(step, monkeypatch)

    error = perform(place, once)

    assert attack.done, error
    assert place.victim.read_bytes() == before
    assert listing(place.directory) == there
    assert_noticed(error)


def listing(directory: Path) -> list[str]:
    """All names below a directory."""
    return sorted(str(path.relative_to(directory)) for path in directory.rglob("*"))


DISKS = {
    "kept": Kind("block:{folder}/disk", KEPT, WRITES.format(more=""), destroys=True),
    "purged": Kind("block:{folder}/disk", FILE, WRITES.format(more=""), destroys=True),
    "processes": Kind(
        "block:{folder}/disk", KEPT, WRITES.format(more="threads = 2\nprocesses = 2"), destroys=True
    ),
    "formatted": Kind(
        "block:{folder}/disk",
        f'{FILE}\nfilesystem = "ext4"',
        WRITES.format(more=""),
        destroys=True,
    ),
}
DISK_BYTES = 64 * MIB


def reattach(place: Place, loop: Path) -> None:
    """The same number is another disk, as after the reset of a controller."""
    for command in (["losetup", "-d", loop], ["losetup", loop, place.victim]):
        subprocess.run([str(word) for word in command], check=True)


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("name", "step"), [(name, step) for name, step in at_steps(DISKS, STEPS) if name != "formatted"]
)
def test_another_disk_under_the_same_number_is_noticed_and_never_written(
    place: Place, monkeypatch: pytest.MonkeyPatch, name: str, step: str
) -> None:
    disk = place.loop("image")
    (place.folder / "disk").symlink_to(disk)
    os.truncate(place.victim, 2 * SIZE)
    before = place.victim.read_bytes()
    kind = Kind(**{**vars(DISKS[name]), "names": lambda place: [disk]})
    attack = Attack(place, kind, reattach)
    attack.at(step, monkeypatch)

    error = perform(place, kind)

    assert attack.done, error
    assert place.victim.read_bytes() == before
    assert_noticed(error)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("replacement", ["file", "device", "directory"])
@pytest.mark.parametrize(("name", "step"), at_steps(DISKS, STEPS[1:]))
def test_the_link_of_a_device_is_resolved_once(
    place: Place, monkeypatch: pytest.MonkeyPatch, name: str, replacement: str, step: str
) -> None:
    """A link that comes to mean something else is not followed again: the study stays on its disk."""
    disk, other = place.loop("image"), place.loop("other-disk", b"disk" * 1000)
    os.truncate(place.folder / "image", DISK_BYTES)
    subprocess.run(["losetup", "-c", str(disk)], check=True)
    link = place.folder / "disk"
    link.symlink_to(disk)
    new = {"file": place.victim, "device": other, "directory": place.directory}[replacement]
    victims = {path: path.read_bytes() for path in (place.victim, other)}

    def relink(_place: Place, name: Path) -> None:
        name.unlink()
        name.symlink_to(new)

    kind = Kind(**{**vars(DISKS[name]), "names": lambda place: [link]})
    attack = Attack(place, kind, relink)
    attack.at(step, monkeypatch)

    error = perform(place, kind)

    assert attack.done, error
    assert error is None, error
    assert {path: path.read_bytes() for path in victims} == victims
    assert listing(place.directory) == []


def test_another_machine_compares_no_numbers_of_file_systems() -> None:
    def own(device: int | None) -> dict[str, int | None]:
        return {"device": device, "inode": 7, "disk_sequence": 0}

    def options(device: int | None) -> dict[str, Any]:
        return {"directory": own(device), "expects": [own(device)], "within": ["/place", own(device)]}

    order = {"kind": "bytes", "options": json.dumps(options(2049))}
    assert json.loads(for_other_machine(order)["options"]) == options(None)
    assert json.loads(for_other_machine({**order, "options": "{}"})["options"]) == {}
