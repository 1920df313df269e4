"""The process that serves a virtual drive: `python -m mileage.drive_server`.

Scope: one drive, mounted as a file and offered to NBD clients as its options say (one line of JSON on standard
input). It prints one line of JSON: that it is ready, or why not. After that it obeys a control socket: one JSON object
per line, and one in answer. It is a process of its own, because a process that uses a file which it serves itself
cannot be killed.
The control socket is in the abstract namespace of unix sockets, so that nothing is left of it, and only the same user
and root are answered. The death of the parent ends the process at once; what is mounted then fails with EIO until it is
unmounted, which the parent's ledger does.
It imports only what a server needs, to begin soon.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import select
import signal
import socket
import struct
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypedDict

from mileage import _core
from mileage.errors import MileageError, Refused, RunFailed
from mileage.regular_file import read_state

LINE_MAX: Final = 65536
"""Longest line of a control socket, in bytes."""
_PR_SET_PDEATHSIG: Final = 1
_IDLE_S: Final = 600.0
"""Time after which a control client that sends nothing is left."""


class ServeOptions(TypedDict):
    """What a process serves, and where."""

    name: str
    """Name of the control socket."""
    profile: str
    """Text of the profile."""
    state: str | None
    """Path of a state that a virtual drive of this profile saved."""
    data: str | None
    """Path of the file that keeps the data; in memory without one."""
    at: str | None
    """Directory on which the file system with the drive is mounted."""
    nbd: str | None
    """Path of a unix socket for NBD clients."""
    speed: str
    spins: bool
    block_bytes: int


def control_address(name: str) -> bytes:
    """The address of a control socket; a leading zero byte is the abstract namespace (unix(7))."""
    return b"\0mileage-drive:" + os.fsencode(name)


class DriveServerProcess:
    """A server and what its control socket can ask of it."""

    def __init__(self, options: ServeOptions) -> None:
        state = read_state(Path(options["state"])) if options["state"] else None
        self._server = _core.DriveServer(
            options["profile"],
            state=state,
            data=options["data"],
            speed=options["speed"],
            spins=options["spins"],
        )
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._socket.bind(control_address(options["name"]))
        except OSError as error:
            is_used = error.errno == errno.EADDRINUSE
            raise Refused(
                options["name"],
                "a drive is served here already" if is_used else "is too long for a control socket",
                advice="choose another directory or socket",
                code="in-use" if is_used else "wrong-value",
            ) from error
        self._socket.listen(16)
        if options["nbd"]:
            self._server.listen_nbd(options["nbd"])
        if options["at"]:
            try:
                self._server.mount(options["at"], options["block_bytes"])
            except Refused as error:
                # The system failed: nothing that was asked for is wrong.
                raise RunFailed(str(error), cause="program") from error
        self.over = threading.Event()
        self._commands: dict[str, Callable[..., dict[str, Any]]] = {
            "stats": self._stats,
            "lateness": lambda: dict(json.loads(self._server.recent_lateness())),
            "save": self._save,
            "fault": self._fault,
            "power-cut": lambda seed=0: dict(json.loads(self._server.power_cut(seed))),
            "power-on": self._power_on,
            "stop": self._stop,
        }

    def accept(self) -> None:
        """Serve control clients until the process ends."""
        while True:
            client, _ = self._socket.accept()
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        # A client that leaves early gets no answer, and nobody else is disturbed.
        with client:
            try:
                if not _is_trusted(client):
                    return
                client.settimeout(_IDLE_S)
                with client.makefile("rb") as lines:
                    while line := lines.readline(LINE_MAX):
                        answer = self._answer(line, client)
                        state = answer.pop("state", b"")
                        client.sendall(json.dumps(answer).encode() + b"\n")
                        client.sendall(state)
            except OSError:
                return

    def _answer(self, line: bytes, client: socket.socket) -> dict[str, Any]:
        try:
            order = dict(json.loads(line))
            command = str(order.pop("do"))
            if command == "age":
                return self._age(client, **order)
            if command not in self._commands:
                return {
                    "error": f"{command!r}: expected one of {', '.join(sorted((*self._commands, 'age')))}"
                }
            return self._commands[command](**order)
        except Refused as refusal:
            return {"error": str(refusal)}
        except OSError as error:
            return {"error": f"{error.filename or 'the system'}: {error.strerror}"}
        except (ValueError, TypeError, KeyError, RecursionError, OverflowError) as error:
            return {"error": f"not understood: {error}"}

    def _stats(self) -> dict[str, Any]:
        return dict(json.loads(self._server.stats()))

    def _save(self) -> dict[str, Any]:
        """The state, which follows the answer: the client writes it where its user may write."""
        state = bytes(self._server.save())
        return {"bytes": len(state), "state": state}

    def _age(self, client: socket.socket, drive_writes: float, seed: int = 1) -> dict[str, Any]:
        """Age the drive; a client that leaves ends that."""

        def has_left(done_bytes: int) -> bool:
            del done_bytes
            ready, _, _ = select.select([client], [], [], 0)
            return bool(ready) and not client.recv(1, socket.MSG_PEEK)

        wanted = int(self._server.capacity_bytes * drive_writes)
        return {"aged_bytes": self._server.age(wanted, seed, has_left)}

    def _fault(self, name: str, seconds: float = 1.0, offset: int = 0, length: int = 4096) -> dict[str, Any]:
        match name:
            case "stall":
                self._server.stall(int(seconds * 1e9))
            case "unreadable":
                return {"fault": name, "unreadable_sectors": self._server.damage(offset, length)}
            case "drop-off":
                return {"fault": name, "failed_requests": self._server.drop_off()}
            case "none":
                return {"fault": name, "healed_sectors": self._server.heal()}
            case _:
                return {"error": f"fault {name!r}: expected stall, unreadable, drop-off or none"}
        return {"fault": name}

    def _power_on(self) -> dict[str, Any]:
        self._server.power_on()
        return {"is_on": True}

    def _stop(self) -> dict[str, Any]:
        self.over.set()
        return {"stopped": True}


def _is_trusted(client: socket.socket) -> bool:
    peer = client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    return struct.unpack("3i", peer)[1] in (0, os.geteuid())


def main() -> None:
    """Serve until a command or a signal ends it, or the parent dies."""
    parent = os.getppid()
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != parent:
        return
    # Ctrl-C at a terminal reaches the parent, which ends this process in order.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        process = DriveServerProcess(json.loads(sys.stdin.readline()))
    except (MileageError, OSError, ValueError, MemoryError) as error:
        words = str(error) or "not enough memory"
        sys.stdout.write(json.dumps({"error": words, "is_refused": isinstance(error, Refused)}) + "\n")
        return
    signal.signal(signal.SIGTERM, lambda *_: process.over.set())
    sys.stdout.write(json.dumps({"ready": True}) + "\n")
    sys.stdout.flush()
    threading.Thread(target=process.accept, daemon=True).start()
    process.over.wait()
    sys.stdout.flush()
    # What is still mounted fails from now on; there is nothing that a further step could save.
    os._exit(0)


if __name__ == "__main__":
    main()
