"""A virtual drive as a real block device: what the kernel does with it, and that nothing of it is left."""

import json
import mmap
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from mileage.drive_server import control_address
from mileage.errors import Refused
from mileage.targets.ledger import Ledger, left_behind, repair
from mileage.targets.served_drive import ServedDrive, ServedDriveOptions, ask_drive
from tests.command import mileage

CAN_SERVE = os.geteuid() == 0 and Path("/dev/fuse").exists() and Path("/dev/loop-control").exists()
DRIVE = "samsung-pm1635-400gb"

pytestmark = [
    pytest.mark.xdist_group("devices"),
    pytest.mark.skipif(not CAN_SERVE, reason="serving a drive needs root, /dev/fuse and /dev/loop-control"),
]


@pytest.fixture(autouse=True)
def _ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MILEAGE_LEDGER", str(tmp_path / "ledger"))


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[ServedDrive, Ledger, Path]]:
    ledger = Ledger()
    drive = ServedDrive("test", ServedDriveOptions(profile=DRIVE, at=tmp_path / "at", speed="x100"))
    drive.start(ledger)
    try:
        yield drive, ledger, drive.attach(ledger)
    finally:
        drive.kill()
        ledger.undo_all()


def run(*words: str | Path) -> str:
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{words}: {done.stderr}"
    return done.stdout


def left_of(place: Path) -> str:
    mounts = Path("/proc/self/mounts").read_text()
    backings = [path.read_text() for path in Path("/sys/block").glob("loop*/loop/backing_file")]
    return "".join(text for text in (mounts, *backings) if str(place) in text)


@pytest.mark.parametrize("kind", ["ext4", "xfs", "btrfs"])
def test_file_system_keeps_its_files(
    kind: str, served: tuple[ServedDrive, Ledger, Path], tmp_path: Path
) -> None:
    if shutil.which(f"mkfs.{kind}", path=f"{os.environ['PATH']}:/usr/sbin") is None:
        pytest.skip(f"mkfs.{kind} is not installed")
    drive, _, device = served
    place = tmp_path / "place"
    place.mkdir()
    run(f"mkfs.{kind}", "-q", device)
    noise = os.urandom(3 << 20)
    for _ in range(2):
        run("mount", device, place)
        try:
            if not (place / "file").exists():
                (place / "file").write_bytes(noise)
            assert (place / "file").read_bytes() == noise
            run("fstrim", place)
        finally:
            run("umount", place)
    run("blkdiscard", "--force", device)
    requests = drive.control("stats")["requests"]
    assert requests["flush"]["requests"] > 0
    assert requests["discard"]["requests"] > 0
    assert sum(row["failed"] for row in requests.values()) == 0


def test_what_the_server_counts_is_what_was_sent(served: tuple[ServedDrive, Ledger, Path]) -> None:
    drive, _, _ = served
    assert drive.file is not None
    before = drive.control("stats")["requests"]
    descriptor = os.open(drive.file, os.O_RDWR)
    try:
        for number in range(7):
            os.pwrite(descriptor, bytes(4096), number * 8192)
        for number in range(5):
            os.pread(descriptor, 512, number * 512)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    after = drive.control("stats")["requests"]
    counted = {
        kind: (row["requests"] - before[kind]["requests"], row["bytes"] - before[kind]["bytes"])
        for kind, row in after.items()
    }
    wanted = {
        "read": (5, 2560),
        "write": (7, 28672),
        "flush": (1, 0),
        "discard": (0, 0),
        "write_zeroes": (0, 0),
    }
    assert counted == wanted


def test_requests_of_a_loop_device_are_in_flight_together(tmp_path: Path) -> None:
    ledger = Ledger()
    # A read takes some ten milliseconds of the host, so that eight of them meet.
    options = ServedDriveOptions(profile="intel-x25e-64gb", at=tmp_path / "at", speed="x0.01")
    drive = ServedDrive("test", options)
    drive.start(ledger)
    try:
        descriptor = os.open(drive.attach(ledger), os.O_RDONLY | os.O_DIRECT)

        def read(thread: int) -> None:
            page = mmap.mmap(-1, 4096)
            for number in range(20):
                os.preadv(descriptor, [page], (thread * 1000 + number) * 4096)

        with ThreadPoolExecutor(8) as threads:
            done = [threads.submit(read, thread) for thread in range(8)]
            most = 0
            while not all(one.done() for one in done):
                most = max(most, drive.control("stats")["outstanding"])
            for one in done:
                one.result()
        os.close(descriptor)
    finally:
        drive.stop(ledger)
    assert most >= 4


def test_power_cut_loses_what_was_not_flushed(tmp_path: Path) -> None:
    ledger = Ledger()
    drive = ServedDrive(
        "test", ServedDriveOptions(profile="intel-x25e-64gb", at=tmp_path / "at", speed="x0.001")
    )
    drive.start(ledger)
    try:
        assert drive.file is not None
        descriptor = os.open(drive.file, os.O_RDWR)
        try:
            os.pwrite(descriptor, b"1" * 4096, 0)
            os.fsync(descriptor)
            # A read would wait until the page is programmed, and so durable.
            os.pwrite(descriptor, b"2" * 4096, 0)
            cut = drive.control("power-cut", seed=1)
            assert cut["old_sectors"] == 8
            with pytest.raises(OSError, match="Input/output error"):
                os.pread(descriptor, 4096, 0)
            with pytest.raises(Refused, match="no power"):
                drive.control("power-cut")
            drive.control("power-on")
            assert os.pread(descriptor, 4096, 0) == b"1" * 4096
        finally:
            os.close(descriptor)
    finally:
        drive.stop(ledger)
    assert not left_of(tmp_path)


def test_dead_server_gives_an_error_and_nothing_is_left(
    served: tuple[ServedDrive, Ledger, Path], tmp_path: Path
) -> None:
    drive, ledger, device = served
    load = subprocess.Popen(
        ["dd", "if=/dev/zero", f"of={device}", "bs=4k", "oflag=direct"], stderr=subprocess.PIPE, text=True
    )
    time.sleep(0.3)
    drive.kill()
    _, message = load.communicate(timeout=20)
    assert "Input/output error" in message
    ledger.undo_all()
    assert not left_of(tmp_path)


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["stall", "--seconds", "0.01"], {"fault": "stall"}),
        (
            ["unreadable", "--offset", "4KiB", "--length", "8KiB"],
            {"fault": "unreadable", "unreadable_sectors": 16},
        ),
        (["drop-off"], {"fault": "drop-off", "failed_requests": 0}),
        (["none"], {"fault": "none", "healed_sectors": 0}),
    ],
)
def test_fault_is_injected_from_the_command_line(
    words: list[str], answer: dict[str, object], served: tuple[ServedDrive, Ledger, Path]
) -> None:
    drive, _, _ = served
    assert drive.file is not None
    done = mileage("drive", "control", str(drive.file.parent), "fault", *words)
    assert done.returncode == 0, done.stderr
    assert answer.items() <= json.loads(done.stdout).items()


def fill_with_x(descriptor: int) -> None:
    for number in range(32):
        os.pwrite(descriptor, b"x" * (1 << 19), number << 19)


def test_full_data_file_is_reported_and_the_drive_lives_on(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    run("mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", small)
    ledger = Ledger()
    options = ServedDriveOptions(profile=DRIVE, at=tmp_path / "at", data=small / "data", speed="unbounded")
    drive = ServedDrive("test", options)
    try:
        drive.start(ledger)
        assert drive.file is not None
        descriptor = os.open(drive.file, os.O_RDWR)
        try:
            with pytest.raises(OSError, match="No space left"):
                fill_with_x(descriptor)
            assert os.pread(descriptor, 1 << 19, 0) == b"x" * (1 << 19)
        finally:
            os.close(descriptor)
        stats = drive.control("stats")
        assert stats["data_failures"] == 1
        assert "No space left" in stats["data_failure"]
    finally:
        drive.stop(ledger)
        run("umount", small)


def test_dead_and_wrong_control_clients_disturb_nobody(served: tuple[ServedDrive, Ledger, Path]) -> None:
    drive, _, _ = served
    name = str(drive.file.parent) if drive.file else ""
    clients = []
    for text in (
        b"",
        b"{",
        b"[]\n",
        b'{"do": "nothing"}\n',
        b'{"do": "age"}\n',
        b'{"do": "save", "x": 1}\n',
        b"\xff\n",
    ):
        client = socket.socket(socket.AF_UNIX)
        client.connect(control_address(name))
        client.sendall(text)
        clients.append(client)
    assert ask_drive(name, "stats")["is_on"]
    for client in clients:
        client.close()
    assert ask_drive(name, "stats")["is_on"]
    with pytest.raises(Refused, match="expected one of"):
        ask_drive(name, "nothing")


def serve(tmp_path: Path, *more: str) -> tuple[subprocess.Popen[str], str]:
    words = [sys.executable, "-m", "mileage", "drive", "serve", DRIVE, "--at", str(tmp_path / "at"), *more]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    text = ""
    while "Ctrl-C" not in text and process.poll() is None:
        text += process.stdout.readline()
    return process, text


def test_state_of_a_served_drive_continues_in_virtual_time(tmp_path: Path) -> None:
    state = tmp_path / "state"
    process, text = serve(tmp_path, "--save", str(state))
    device = re.search(r"device: +(\S+)", text)
    assert device is not None, text
    run("dd", "if=/dev/zero", f"of={device[1]}", "bs=1M", "count=8", "oflag=direct")
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "state saved" in out
    assert not left_of(tmp_path)
    run(sys.executable, "-m", "mileage", "drive", "run", DRIVE, "--from", state, "--size", "1MiB")


def test_killed_command_is_cleaned_up_by_the_ledger(tmp_path: Path) -> None:
    process, text = serve(tmp_path)
    assert "device:" in text
    process.kill()
    process.communicate(timeout=20)
    assert left_of(tmp_path)
    assert left_behind()
    assert not [done for done in repair() if done.failed]
    assert not left_of(tmp_path)
    assert not (tmp_path / "at").exists()


def test_drive_in_use_is_served_until_a_second_signal(tmp_path: Path) -> None:
    process, text = serve(tmp_path)
    device = re.search(r"device: +(\S+)", text)
    assert device is not None, text
    place = tmp_path / "place"
    place.mkdir()
    run("mkfs.ext4", "-q", device[1])
    run("mount", device[1], place)
    try:
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        line = process.stderr.readline()
        assert f"mounted at {place}" in line
        (place / "file").write_bytes(b"still there")
    finally:
        run("umount", place)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 0
    assert not left_of(tmp_path)


@pytest.mark.slow
def test_second_signal_saves_the_state_of_a_drive_in_use(tmp_path: Path) -> None:
    state, place = tmp_path / "state", tmp_path / "place"
    process, text = serve(tmp_path, "--save", str(state))
    device = re.search(r"device: +(\S+)", text)
    assert device is not None, text
    place.mkdir()
    run("mkfs.ext4", "-q", device[1])
    run("mount", device[1], place)
    try:
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        assert "a second signal ends it" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        out, message = process.communicate(timeout=60)
    finally:
        run("umount", place)
    assert "state saved" in out
    assert process.returncode == 3
    assert "mileage doctor --repair" in message
    run(sys.executable, "-m", "mileage", "drive", "run", DRIVE, "--from", state, "--size", "1MiB")
    assert not [done for done in repair() if done.failed]
    assert not left_of(tmp_path)


@pytest.mark.parametrize(
    "words",
    [
        ["--sector", "512"],
        ["--loop"],
        ["--no-loop"],
        ["--wait", "spin", "--speed", "unbounded"],
    ],
)
def test_option_that_would_do_nothing_is_refused(words: list[str], tmp_path: Path) -> None:
    done = mileage("drive", "serve", DRIVE, "--nbd", str(tmp_path / "socket"), *words)
    assert done.returncode == 2
    assert f"{words[0]}: has no effect" in done.stderr


def test_used_directory_and_missing_place_are_refused(tmp_path: Path) -> None:
    (tmp_path / "at").mkdir()
    (tmp_path / "at" / "file").write_text("")
    drive = ServedDrive("test", ServedDriveOptions(profile=DRIVE, at=tmp_path / "at"))
    with pytest.raises(Refused, match="not an empty directory"):
        drive.start(Ledger())
    with pytest.raises(Refused) as refusal:
        ServedDrive(
            "test", ServedDriveOptions(profile=DRIVE, at=tmp_path / "new", data=tmp_path / "none" / "data")
        ).start(Ledger())
    assert refusal.value.refusals[0].code == "not-found"
    assert not left_of(tmp_path)
    assert not (tmp_path / "new").exists()


def test_data_and_socket_of_something_else_are_refused_and_own_data_are_continued(tmp_path: Path) -> None:
    data, socket_path = tmp_path / "data", tmp_path / "socket"
    data.write_bytes(b"mine")
    socket_path.touch()
    foreign = (
        ServedDriveOptions(profile=DRIVE, at=tmp_path / "at", data=data),
        ServedDriveOptions(profile=DRIVE, nbd=socket_path),
        ServedDriveOptions(profile=DRIVE, nbd=Path("/dev/mileage-typo")),
        ServedDriveOptions(profile=DRIVE, at=tmp_path / "at", data=Path("/dev/mileage-typo")),
    )
    for options in foreign:
        with pytest.raises(Refused):
            ServedDrive("test", options).start(Ledger())
    assert data.read_bytes() == b"mine"
    assert socket_path.stat().st_size == 0
    data.unlink()
    options = ServedDriveOptions(profile=DRIVE, at=tmp_path / "at", data=data, speed="unbounded")
    for turn in range(2):
        ledger = Ledger()
        drive = ServedDrive("test", options)
        drive.start(ledger)
        try:
            with pytest.raises(Refused):
                ServedDrive("test", options).start(Ledger())
            assert drive.file is not None
            with drive.file.open("r+b") as file:
                assert file.read(4096) == (b"x" * 4096 if turn else bytes(4096))
                file.seek(0)
                file.write(b"x" * 4096)
        finally:
            drive.stop(ledger)
    with data.open("r+b") as file:
        file.write(b"mine")
    with pytest.raises(Refused):
        ServedDrive("test", options).start(Ledger())
    assert not left_of(tmp_path)


def test_a_state_is_saved_over_a_state_only(served: tuple[ServedDrive, Ledger, Path], tmp_path: Path) -> None:
    drive, _, _ = served
    assert drive.file is not None
    at, state = str(drive.file.parent), tmp_path / "state"
    for _ in range(2):
        done = mileage("drive", "control", at, "save", str(state))
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["bytes"] == state.stat().st_size
    state.write_text("mine")
    assert mileage("drive", "control", at, "save", str(state)).returncode == 2
    assert state.read_text() == "mine"


def test_fio_verifies_what_it_wrote_through_nbd(tmp_path: Path) -> None:
    for program in ("nbdinfo", "fio"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    ledger = Ledger()
    path = tmp_path / "socket"
    drive = ServedDrive("test", ServedDriveOptions(profile="optane-16gb", nbd=path, speed="unbounded"))
    drive.start(ledger)
    try:
        uri = f"nbd+unix:///?socket={path}"
        assert str(drive.control("stats")["capacity_bytes"]) in run("nbdinfo", uri)
        words = "--rw=randwrite --bsrange=4k-64k --size=32m --iodepth=16 --verify=crc32c --fsync=32"
        run("fio", "--name=test", "--verify_state_save=0", "--ioengine=nbd", f"--uri={uri}", *words.split())
        requests = drive.control("stats")["requests"]
        assert requests["flush"]["requests"] > 0
        assert requests["read"]["bytes"] >= 32 << 20
    finally:
        drive.stop(ledger)
    assert not path.exists()


@pytest.mark.parametrize("option", ["nbd", "data"])
@pytest.mark.parametrize("kind", ["content", "link", "fifo", "folder"])
def test_a_socket_and_data_are_not_put_where_something_is(option: str, kind: str, tmp_path: Path) -> None:
    place, other = tmp_path / "place", tmp_path / "other"
    other.write_text("")
    if kind == "content":
        place.write_text("kept")
    elif kind == "link":
        place.symlink_to(other)
    elif kind == "fifo":
        os.mkfifo(place)
    else:
        place.mkdir()
    before = place.lstat()
    words = {"nbd": tmp_path / "socket", "data": None} | {option: place}
    with pytest.raises(Refused) as refused:
        ServedDrive("test", ServedDriveOptions(profile=DRIVE, **words)).start(Ledger())
    # The data are a work file, a socket is always new.
    of_data = "needs-destroy" if kind == "content" else "wrong-kind"
    assert refused.value.refusals[0].code == ("exists" if option == "nbd" else of_data)
    after = place.lstat()
    assert (after.st_ino, after.st_mode, after.st_mtime_ns) == (
        before.st_ino,
        before.st_mode,
        before.st_mtime_ns,
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other", "place"]


def test_a_drive_is_served_once_at_an_address(tmp_path: Path) -> None:
    ledger, path = Ledger(), tmp_path / "socket"
    drive = ServedDrive("test", ServedDriveOptions(profile=DRIVE, nbd=path, speed="unbounded"))
    drive.start(ledger)
    try:
        path.rename(tmp_path / "elsewhere")
        with pytest.raises(Refused, match="served here already"):
            ServedDrive("test", ServedDriveOptions(profile=DRIVE, nbd=path)).start(ledger)
        for arguments in (
            {"offset": 1 << 60, "length": 4096},
            {"offset": 0, "length": 0},
            {"offset": 1 << 70},
        ):
            with pytest.raises(Refused):
                drive.control("fault", name="unreadable", **arguments)
        assert drive.control("stats")["is_on"]
    finally:
        drive.stop(ledger)


def test_a_state_of_another_kind_is_refused(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("no state")
    options = ServedDriveOptions(profile=DRIVE, nbd=tmp_path / "socket", state=tmp_path / "state")
    with pytest.raises(Refused, match="does not fit"):
        ServedDrive("test", options).start(Ledger())
