"""A virtual drive as a block device of the kernel: a process that serves it as a file, and a loop device over the file.

Scope: start, attach, control, and undo everything. The steps stand in the ledger of the caller, so that they are undone
whatever happens; the drive itself lives in `mileage.drive_server`.
What it refuses: a directory with something in it, and a loop device for somebody who is not root.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import shlex
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Final

import msgspec

from mileage.drive_server import ServeOptions, control_address
from mileage.errors import Refused, RunFailed
from mileage.targets.door import Door, ResultPlace, make_directory, refuse_folder, refuse_taken
from mileage.targets.file_identity import FileIdentity
from mileage.targets.guard import users_of
from mileage.targets.kernel_text import read_word
from mileage.targets.ledger import Ledger
from mileage.targets.mounts import read_mounts
from mileage.targets.privileged_steps import AttachedLoop, MadeDirectory, MadeSocket, MountedDrive
from mileage.targets.profiles import load_profile
from mileage.targets.programs import call, find_program
from mileage.targets.purge import discard

FILE_NAME: Final = "drive"
SECTORS: Final = (512, 4096)
_READY_S: Final = 60.0
_ANSWER_S: Final = 3600.0
"""Longest time of an answer: ageing a large drive takes minutes."""
_END_S: Final = 10.0


class ServedDriveOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What is served, and how."""

    profile: str
    """Name of a drive, with changes, or path of a profile."""
    at: Path | None = None
    """Directory on which the file is mounted."""
    nbd: Path | None = None
    """Unix socket for NBD clients."""
    state: Path | None = None
    """State to begin with; a new drive without one."""
    data: Path | None = None
    """File that keeps the data; in memory without one."""
    speed: str = "real"
    spins: bool = False
    sector_bytes: int = 512

    @property
    def name(self) -> str:
        """Name of the control socket."""
        place = self.at or self.nbd
        return os.path.abspath(place) if place is not None else ""


class ServedDrive:
    """A drive that is served by a process of its own."""

    def __init__(self, what: str, options: ServedDriveOptions) -> None:
        self._what = what
        self._options = options
        self._profile = load_profile(options.profile)
        if options.state is not None and not options.state.is_file():
            raise Refused(
                options.state, "is no file", expected="a saved state of the drive", code="not-found"
            )
        self._door = Door("--data")
        self.is_saved = False
        """Whether the state was written."""
        self._process: subprocess.Popen[str] | None = None
        self._loop: Path | None = None
        self._socket_step = MadeSocket(str(options.nbd)) if options.nbd is not None else None
        self._mount_step: MountedDrive | None = None
        self._directory_step: MadeDirectory | None = None
        self._loop_step: AttachedLoop | None = None

    @property
    def file(self) -> Path | None:
        """Path of the file that is the drive; None without a mount."""
        return self._options.at / FILE_NAME if self._options.at is not None else None

    @property
    def sector_bytes(self) -> int:
        """Logical sector of a loop device over it."""
        return self._options.sector_bytes

    @property
    def loop(self) -> Path | None:
        """Loop device over the file, once attached."""
        return self._loop

    @property
    def is_alive(self) -> bool:
        """Whether the process that serves the drive lives."""
        return self._process is not None and self._process.poll() is None

    @property
    def process_number(self) -> int:
        """Number of the process that serves the drive, once started."""
        if self._process is None:
            raise RuntimeError("start must come before process_number")
        return self._process.pid

    @property
    def end_status(self) -> int | None:
        """Exit status of the process, once it has ended; negative: the signal that ended it."""
        return self._process.poll() if self._process is not None else None

    def start(self, ledger: Ledger) -> None:
        """Mount the drive and listen. Raises Refused and RunFailed; then nothing is left."""
        self._refuse_used_places()
        at = self._options.at
        if at is None:
            if self._socket_step is not None:
                ledger.take(self._socket_step, self._spawn)
            return
        self._refuse_used_directory(at)
        try:
            if not at.exists():
                self._directory_step = MadeDirectory(str(at))
                ledger.take(
                    self._directory_step, lambda: make_directory("--at", at, parents=True, mode=0o700)
                )
            if self._socket_step is not None:
                ledger.take(self._socket_step, lambda: None)
            self._mount_step = MountedDrive(str(at))
            ledger.take(self._mount_step, self._spawn)
        except BaseException:
            self._end()
            for step in (self._socket_step, self._directory_step):
                if step is not None:
                    ledger.undo(step)
            raise

    def attach(self, ledger: Ledger, wanted: Path | None = None) -> Path:
        """Attach a loop device to the file, this one if it is free, which is root's to do.

        Raises Refused and RunFailed.
        """
        file = self.file
        if file is None:
            raise Refused(
                self._what, "is served without a directory, so nothing can be attached", code="unsupported"
            )
        if self._loop is None:
            sector = ("--sector-size", str(self._options.sector_bytes))
            self._loop_step = AttachedLoop(str(file))
            words = ("--direct-io=on", *sector)
            self._loop = ledger.take(self._loop_step, lambda: self._losetup(words, str(file), wanted))
        return self._loop

    def _losetup(self, words: tuple[str, ...], file: str, wanted: Path | None) -> Path:
        if wanted is not None:
            with contextlib.suppress(RunFailed):
                call(self._what, "losetup", *words, str(wanted), file)
                return wanted
        return Path(call(self._what, "losetup", "--find", "--show", *words, file).strip())

    def detach(self, ledger: Ledger) -> None:
        """Detach the loop device. Raises RunFailed when it is in use."""
        if self._loop_step is not None:
            ledger.undo(self._loop_step)
            self._loop, self._loop_step = None, None

    def users(self) -> str:
        """Who uses the loop device or the file, in words; empty when nobody does."""
        found = []
        if self._loop is not None:
            number = read_word(Path("/sys/block") / self._loop.name / "dev") or ""
            found += [f"mounted at {it.mount_point}" for it in read_mounts() if it.device == number]
            if not found and _is_held(self._loop):
                found.append(f"{self._loop} is in use by {users_of(str(self._loop)) or 'another program'}")
        return ", ".join(found)

    def control(self, command: str, /, **arguments: Any) -> dict[str, Any]:
        """Ask the drive's process for something; its answer. Raises Refused and RunFailed."""
        return ask_drive(self._options.name, command, **arguments)

    def discard(self) -> str:
        """Discard the whole device; says how."""
        if self._loop is None:
            raise RuntimeError("attach must come before discard")
        return discard(self._what, self._loop, FileIdentity.at(self._loop))

    def stop(self, ledger: Ledger, save: ResultPlace | None = None) -> None:
        """Undo everything, and write the drive's state before its process ends. Raises RunFailed.

        The state is written also where the drive is in use and cannot be detached: as it is then.
        """
        if save is not None and self.users():
            self._save(save)
        self.detach(ledger)
        if self._mount_step is not None:
            ledger.undo(self._mount_step)
            self._mount_step = None
        if save is not None and self.is_alive:
            self._save(save)
        self._end()
        for step in (self._socket_step, self._directory_step):
            if step is not None:
                ledger.undo(step)
        self._directory_step = None

    def _save(self, place: ResultPlace) -> None:
        save_drive(self._options.name, place)
        self.is_saved = True

    def kill(self) -> None:
        """End the process at once, as `kill -9` does: whoever uses the drive gets EIO."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._give_back_data()

    def _give_back_data(self) -> None:
        """Mark the file with the data as closed: a later drive may use it again while nothing changes it."""
        self._door.close()
        self._door = Door("--data")

    def _refuse_used_places(self) -> None:
        """Refuse what is taken: the name of the drive, its socket, a file with the data of something else."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection, contextlib.suppress(OSError):
            connection.connect(control_address(self._options.name))
            raise Refused(
                self._options.name, "a drive is served here already", advice="end that one", code="in-use"
            )
        if self._options.nbd is not None:
            refuse_taken("--nbd", self._options.nbd, "a socket")
        if self._options.data is not None:
            refuse_folder("--data", self._options.data)
            self._door.work(str(self._options.data), writes=True)

    def _refuse_used_directory(self, at: Path) -> None:
        if any(mount.mount_point == str(at.absolute()) for mount in read_mounts()):
            raise Refused(
                at,
                "something is mounted here",
                advice="unmount it, or undo what a killed command left with mileage doctor --repair",
                code="in-use",
            )
        if at.exists() and (not at.is_dir() or any(at.iterdir())):
            raise Refused(at, "is not an empty directory", expected="an empty or a new one", code="exists")

    def _spawn(self) -> None:
        options = self._options
        data = None
        if options.data is not None:
            data = self._door.work(str(options.data), writes=True).open(os.O_RDWR | os.O_CREAT)
        order = ServeOptions(
            name=options.name,
            profile=self._profile,
            state=str(options.state) if options.state else None,
            data=None if data is None else f"/proc/self/fd/{data}",
            at=str(options.at) if options.at else None,
            nbd=str(options.nbd) if options.nbd else None,
            speed=options.speed,
            spins=options.spins,
            block_bytes=max(options.sector_bytes, 4096),
        )
        self._process = subprocess.Popen(
            [sys.executable, "-m", "mileage.drive_server"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            process_group=0,
            pass_fds=() if data is None else (data,),
        )
        if data is not None:
            os.close(data)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(order) + "\n")
            self._process.stdin.flush()
        ready, _, _ = select.select([self._process.stdout], [], [], _READY_S)
        line = self._process.stdout.readline() if ready else ""
        answer = msgspec.json.decode(line) if line else {"error": "the process of the drive did not begin"}
        if "error" in answer:
            self._end()
            if answer.get("is_refused"):
                raise Refused(self._what, str(answer["error"]), code="refused")
            needs = os.geteuid() != 0 and options.at is not None and find_program("fusermount3") is None
            hint = "; without root a mount needs fusermount3, on Debian from fuse3" if needs else ""
            raise RunFailed(f"{self._what}: {answer['error']}{hint}", cause="program")

    def _end(self) -> None:
        process = self._process
        if process is None:
            return
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(_END_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        self._give_back_data()


def ask_drive(name: str, command: str, /, **arguments: Any) -> dict[str, Any]:
    """Ask the served drive of this name (its directory or NBD socket) for something; its answer.

    Raises Refused when nothing is served there, or the drive refuses; RunFailed when it does not answer.
    """
    return _asked(name, command, arguments)[0]


def save_drive(name: str, place: ResultPlace) -> dict[str, Any]:
    """Write the state of the served drive of this name; what was written. Raises as :func:`ask_drive`."""
    answer, state = _asked(name, "save", {})
    place.write(state)
    return {"saved": str(place.path), **answer}


def _asked(name: str, command: str, arguments: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    """The answer of a served drive, and the state that follows the answer to `save`."""
    state = b""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(_ANSWER_S)
        try:
            connection.connect(control_address(name))
        except OSError as error:
            raise Refused(
                name,
                "no drive is served here",
                advice=f"`mileage drive serve PROFILE --at {shlex.quote(name)}` serves one; "
                "as the same user or as root it can be asked",
                code="not-found",
            ) from error
        try:
            connection.sendall(json.dumps({"do": command, **arguments}).encode() + b"\n")
            with connection.makefile("rb") as lines:
                line = lines.readline()
                answer: dict[str, Any] = msgspec.json.decode(line) if line else {}
                if command == "save":
                    state = lines.read(answer.get("bytes", 0))
        except OSError as error:
            raise RunFailed.from_os_error(f"{name}: the drive does not answer", error) from error
    if not line or len(state) != (answer.get("bytes", 0) if command == "save" else 0):
        raise RunFailed(
            f"{name}: the process of the drive has ended, or belongs to another user", cause="program"
        )
    if "error" in answer:
        raise Refused(name, str(answer["error"]), code="refused")
    return answer, state


def _is_held(device: Path) -> bool:
    """Whether somebody has the device open exclusively; a mount has."""
    end = time.monotonic() + 1.0
    while True:
        try:
            os.close(os.open(device, os.O_RDONLY | os.O_EXCL | os.O_CLOEXEC))
        except OSError:
            # udev looks at a device for a moment after it was written.
            if time.monotonic() > end:
                return True
            time.sleep(0.05)
        else:
            return False
