"""Ways to destroy the wrong thing on real devices: each is refused, and what is there stays as it was."""

from __future__ import annotations

import hashlib
import os
import shutil
import struct
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import msgspec
import pytest

from mileage.app.plan_execution import do, facts_of
from mileage.errors import MileageError, Refused
from mileage.execute import Silent
from mileage.plan import parse_study
from mileage.plan.filesystems import file_system_of
from mileage.plan.resolver import resolve
from mileage.store import StudyFolder
from mileage.targets import open_target
from mileage.targets.kernel_text import read_word
from mileage.targets.ledger import LEDGER_VARIABLE
from mileage.targets.mounts import read_mounts

pytestmark = pytest.mark.xdist_group("devices")

MIB = 1 << 20
HASH = "cafecafe" * 8
EXT4 = file_system_of("ext4", "", "")


def run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout.strip()


class Bench:
    """Loop devices over files with known content, and what was done to them, undone at the end."""

    def __init__(self, folder: Path, undo: ExitStack) -> None:
        self.folder = folder
        self.undo = undo
        self.images: dict[str, Path] = {}

    def image(self, name: str, size: int = 24 * MIB) -> Path:
        path = self.folder / name
        path.write_bytes(b"precious" * (size // 8))
        return path

    def loop(self, name: str = "image", *options: str) -> str:
        path = self.images[name] = self.image(name) if name not in self.images else self.images[name]
        device = run("losetup", "--find", "--show", *options, str(path))
        self.undo.callback(subprocess.run, ["losetup", "--detach", device], check=False, timeout=60)
        return device

    @staticmethod
    def format_ext4(device: str) -> None:
        """Complete at once: a mounted ext4 would else write the rest of its tables by itself, seconds later."""
        run("mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0", device)

    def mounted(self, device: str, *options: str) -> Path:
        self.format_ext4(device)
        place = self.folder / f"mnt{Path(device).name}"
        place.mkdir()
        run("mount", *options, device, str(place))
        self.undo.callback(subprocess.run, ["umount", str(place)], check=False, timeout=60)
        return place


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    if os.geteuid() != 0:
        pytest.skip("a loop device needs root")
    if shutil.which("losetup") is None or shutil.which("mkfs.ext4") is None:
        pytest.skip("losetup or mkfs.ext4 is not installed")
    monkeypatch.setenv(LEDGER_VARIABLE, str(tmp_path / "ledger"))
    with ExitStack() as undo:
        yield Bench(tmp_path, undo)


def partitioned(bench: Bench, partitions: int = 1) -> str:
    """A loop device with several partitions of 8 MiB, from 1 MiB on."""
    image = bench.images["parts"] = bench.image("parts")
    table = bytearray(64)
    for number in range(partitions):
        first = 2048 + number * 16384
        struct.pack_into("<B3xB3xII", table, 16 * number, 0, 0x83, first, 16384)
    with image.open("r+b") as file:
        file.seek(446)
        file.write(bytes(table) + b"\x55\xaa")
    device = bench.loop("parts", "--partscan")
    if not Path(f"{device}p1").exists():
        pytest.skip("this kernel does not look for partitions on loop devices, or makes no nodes for them")
    return device


Way = Callable[[Bench], tuple[str, str | None]]
"""Sets the scene and gives the target and what `--destroy` says."""


def _unnamed(bench: Bench) -> tuple[str, str | None]:
    return f"block:{bench.loop()}", None


def _another_named(bench: Bench) -> tuple[str, str | None]:
    return f"block:{bench.loop()}", bench.loop("other")


def _named_by_a_link(bench: Bench) -> tuple[str, str | None]:
    device = bench.loop()
    (bench.folder / "link").symlink_to(device)
    return f"block:{device}", str(bench.folder / "link")


def _named_with_its_scheme(bench: Bench) -> tuple[str, str | None]:
    device = bench.loop()
    return f"block:{device}", f"block:{device}"


def _mounted(bench: Bench) -> tuple[str, str | None]:
    device = bench.loop()
    bench.mounted(device)
    return f"block:{device}", device


def _mounted_read_only(bench: Bench) -> tuple[str, str | None]:
    device = bench.loop()
    bench.mounted(device, "-o", "ro")
    return f"block:{device}", device


def _link_to_a_mounted_one(bench: Bench) -> tuple[str, str | None]:
    device = bench.loop()
    bench.mounted(device)
    link = bench.folder / "scratch"
    link.symlink_to(device)
    return f"block:{link}", str(link)


def _own_node_of_a_mounted_one(bench: Bench) -> tuple[str, str | None]:
    device = bench.loop()
    bench.mounted(device)
    node = bench.folder / "node"
    try:
        os.mknod(node, 0o060600, Path(device).stat().st_rdev)
        node.open("rb").close()
    except PermissionError:
        pytest.skip("device nodes do not work in this folder")
    return f"block:{node}", str(node)


def _hidden_by_another_mount(bench: Bench) -> tuple[str, str | None]:
    device = bench.loop()
    place = bench.mounted(device)
    run("mount", "-t", "tmpfs", "none", str(place))
    bench.undo.callback(subprocess.run, ["umount", str(place)], check=False, timeout=60)
    return f"block:{device}", device


def _mounted_in_another_namespace(bench: Bench) -> tuple[str, str | None]:
    device = bench.loop()
    bench.format_ext4(device)
    place = bench.folder / "elsewhere"
    place.mkdir()
    script = f"mount {device} {place} && echo mounted && exec sleep 60"
    command = ["unshare", "--mount", "--propagation", "private", "sh", "-c", script]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    bench.undo.callback(process.wait, timeout=60)
    bench.undo.callback(process.kill)
    assert process.stdout is not None
    if process.stdout.readline() != "mounted\n":
        pytest.skip("no mount namespace can be made")
    return f"block:{device}", device


def _whole_disk_of_a_mounted_partition(bench: Bench) -> tuple[str, str | None]:
    device = partitioned(bench)
    bench.mounted(f"{device}p1")
    return f"block:{device}", device


def _partition_of_a_held_disk(bench: Bench) -> tuple[str, str | None]:
    device = partitioned(bench)
    descriptor = os.open(device, os.O_RDWR | os.O_EXCL)
    bench.undo.callback(os.close, descriptor)
    return f"block:{device}p1", f"{device}p1"


def _swap(bench: Bench) -> tuple[str, str | None]:
    device = bench.loop()
    run("mkswap", device)
    try:
        run("swapon", device)
    except subprocess.CalledProcessError:
        pytest.skip("swap cannot be turned on here")
    bench.undo.callback(subprocess.run, ["swapoff", device], check=False, timeout=60)
    return f"block:{device}", device


def _disk_of_the_system(_bench: Bench) -> tuple[str, str | None]:
    number = os.stat("/").st_dev
    name = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}").resolve().name
    if not Path("/dev", name).is_block_device():
        pytest.skip("the system does not stand on a block device that shows")
    return f"block:/dev/{name}", f"/dev/{name}"


def _below_another_loop(bench: Bench) -> tuple[str, str | None]:
    device = bench.loop()
    upper = run("losetup", "--find", "--show", device)
    bench.undo.callback(subprocess.run, ["losetup", "--detach", upper], check=False, timeout=60)
    return f"block:{device}", device


def _member_of_a_btrfs(bench: Bench) -> tuple[str, str | None]:
    if shutil.which("mkfs.btrfs") is None:
        pytest.skip("mkfs.btrfs is not installed")
    for name in ("one", "two"):
        bench.images[name] = bench.image(name, 128 * MIB)
    first, second = bench.loop("one"), bench.loop("two")
    run("mkfs.btrfs", "-q", "-f", "-m", "single", "-d", "single", first, second)
    place = bench.folder / "pool"
    place.mkdir()
    # Mounted to be written it would write by itself, half a minute later too.
    run("mount", "-o", "ro", first, str(place))
    bench.undo.callback(subprocess.run, ["umount", str(place)], check=False, timeout=60)
    return f"block:{second}", second


def _held_by_a_program(bench: Bench) -> tuple[str, str | None]:
    device = bench.loop()
    descriptor = os.open(device, os.O_RDONLY | os.O_EXCL)
    bench.undo.callback(os.close, descriptor)
    return f"block:{device}", device


def _read_only(bench: Bench) -> tuple[str, str | None]:
    device = bench.loop("image", "--read-only")
    return f"block:{device}", device


def _missing(bench: Bench) -> tuple[str, str | None]:
    return f"block:{bench.folder}/sdz", f"{bench.folder}/sdz"


def _regular_file(bench: Bench) -> tuple[str, str | None]:
    return f"block:{bench.image('plain')}", str(bench.folder / "plain")


def _directory_as_device(bench: Bench) -> tuple[str, str | None]:
    return f"block:{bench.folder}", str(bench.folder)


def _character_device(_bench: Bench) -> tuple[str, str | None]:
    return "block:/dev/zero", "/dev/zero"


def _file_with_content(bench: Bench) -> tuple[str, str | None]:
    return f"file:{bench.image('plain')}", None


def _file_with_other_names(bench: Bench) -> tuple[str, str | None]:
    path = bench.image("plain")
    (bench.folder / "other name").hardlink_to(path)
    return f"file:{path}", str(path)


def _link_to_a_file(bench: Bench) -> tuple[str, str | None]:
    (bench.folder / "link").symlink_to(bench.image("plain"))
    return f"file:{bench.folder}/link", f"{bench.folder}/link"


def _file_below_a_loop(bench: Bench) -> tuple[str, str | None]:
    bench.loop("image")
    return f"file:{bench.images['image']}", str(bench.images["image"])


def _device_as_file(bench: Bench) -> tuple[str, str | None]:
    device = bench.loop()
    return f"file:{device}", device


def _directory_with_files(bench: Bench) -> tuple[str, str | None]:
    bench.image("plain")
    return f"dir:{bench.folder}", str(bench.folder)


def _foreign_loop_file(bench: Bench) -> tuple[str, str | None]:
    path = bench.image(f".mileage-{HASH[:8]}.img")
    (bench.folder / "other name").hardlink_to(path)
    return f"loop:24MiB@{bench.folder}", None


def _loop_file_is_a_link(bench: Bench) -> tuple[str, str | None]:
    (bench.folder / f".mileage-{HASH[:8]}.img").symlink_to(bench.image("plain"))
    return f"loop:24MiB@{bench.folder}", None


WAYS: dict[Way, str] = {
    _unnamed: "--destroy",
    _another_named: "does not name the target exactly",
    _named_by_a_link: "does not name the target exactly",
    _named_with_its_scheme: "does not name the target exactly",
    _mounted: "mounted at",
    _mounted_read_only: "mounted at",
    _link_to_a_mounted_one: "mounted at",
    _own_node_of_a_mounted_one: "mounted at",
    _hidden_by_another_mount: "mounted at",
    _mounted_in_another_namespace: "in the mount namespace of process",
    _whole_disk_of_a_mounted_partition: "mounted at",
    _partition_of_a_held_disk: "in use",
    _swap: "swap area",
    _disk_of_the_system: "mounted at",
    _below_another_loop: "backs loop",
    _member_of_a_btrfs: "member of the btrfs",
    _held_by_a_program: "opened exclusively",
    _read_only: "read-only",
    _missing: "no such device",
    _regular_file: "a regular file, not a block device",
    _directory_as_device: "a directory, not a block device",
    _character_device: "a character device, not a block device",
    _file_with_content: "which would be lost",
    _file_with_other_names: "1 other name (hard links)",
    _link_to_a_file: "a symbolic link",
    _file_below_a_loop: "backs loop",
    _device_as_file: "this is a block device",
    _directory_with_files: "destroys nothing",
    _foreign_loop_file: "hard links",
    _loop_file_is_a_link: "cannot open",
}


def test_a_loop_file_needs_a_folder_that_is_there(bench: Bench) -> None:
    with pytest.raises(Refused, match="does not exist"):
        open_target(f"loop:24MiB@{bench.folder}/none", plan_hash=HASH)


def test_one_plan_at_a_time_uses_a_loop_file(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mileage.file_lock.RELEASE_S", 0.2)
    with open_target(f"loop:24MiB@{bench.folder}", plan_hash=HASH) as target:
        target.prepare(MIB)
        with pytest.raises(Refused, match="in use"):
            open_target(f"loop:24MiB@{bench.folder}", plan_hash=HASH)
    assert not list(bench.folder.glob(".mileage-*"))


def digest(bench: Bench) -> dict[str, str]:
    """What stands in every image and plain file."""
    found = {}
    for path in sorted(bench.folder.iterdir()):
        if path.is_file() and not path.is_symlink():
            found[path.name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__.strip("_"))
@pytest.mark.parametrize("formats", [False, True], ids=["raw", "formatted"])
def test_a_way_to_destroy_the_wrong_thing_is_refused(bench: Bench, way: Way, formats: bool) -> None:
    target, destroy = way(bench)
    scheme = target.partition(":")[0]
    if formats and scheme in ("file", "dir"):
        pytest.skip("a file system is made on devices only")
    os.sync()
    before = digest(bench)
    with pytest.raises(Refused) as refused:
        open_target(target, plan_hash=HASH, destroy=destroy, made=EXT4 if formats else None)
    assert WAYS[way] in refused.value.message
    os.sync()
    assert digest(bench) == before


STUDY = """
name = "guarded"
target = "{target}"
[state]
filesystem = "ext4"
file = "4MiB"
[[stage]]
name = "write"
measure = ["write"]
[measure.write]
workload = "throughput.write"
record = "1MiB"
stop = {{ bytes = "file" }}
repeat = 1
"""


def test_a_device_that_became_another_one_since_it_was_planned_is_refused(bench: Bench) -> None:
    device = bench.loop()
    study = parse_study(STUDY.format(target=f"block:{device}"), "guarded")
    planned = resolve(study, facts_of(study.target, device, state=study.state))
    run("losetup", "--detach", device)
    wait_for(lambda: read_word(Path("/sys/block", Path(device).name, "loop/backing_file")) is None)
    other = bench.image("other")
    run("losetup", device, str(other))
    before = digest(bench)
    folder = StudyFolder.create(bench.folder / "study", planned.to_toml(), planned.to_json().encode())
    with pytest.raises(Refused, match="another device than the study was planned for"):
        do(planned, folder, device, Silent(), command="test")
    assert digest(bench)["other"] == before["other"]


def test_a_device_that_was_mounted_since_it_was_opened_is_refused(bench: Bench) -> None:
    device = bench.loop()
    with open_target(f"block:{device}", plan_hash=HASH, destroy=device, made=EXT4) as target:
        place = bench.mounted(device)
        (place / "precious").write_text("kept")
        with pytest.raises(MileageError, match="in use"):
            target.prepare(MIB)
        assert (place / "precious").read_text() == "kept"


def test_a_link_that_leads_to_another_device_since_it_was_opened_is_not_followed_again(bench: Bench) -> None:
    first, second = bench.loop(), bench.loop("other")
    link = bench.folder / "scratch"
    link.symlink_to(first)
    before = digest(bench)
    with open_target(f"block:{link}", plan_hash=HASH, destroy=str(link), made=EXT4) as target:
        link.unlink()
        link.symlink_to(second)
        target.prepare(MIB)
        assert any(mount.source == first for mount in read_mounts())
    assert digest(bench)["other"] == before["other"]


def test_named_exactly_the_device_is_given_up(bench: Bench) -> None:
    device = bench.loop()
    with open_target(f"block:{device}", plan_hash=HASH, destroy=device, made=EXT4) as target:
        target.prepare(MIB)
        assert target.path is not None
        assert target.path.stat().st_size == MIB
    before = digest(bench)
    assert before["image"] != hashlib.sha256(b"precious" * (3 * MIB)).hexdigest()


def test_there_are_twenty_five_ways_and_more() -> None:
    assert len(WAYS) >= 25
    assert msgspec.json.encode([way.__name__ for way in WAYS])


def wait_for(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)
