"""What the commands of the canaries need: inputs, made once when first needed, and a runner that ends what hangs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

HANGS_S: Final = 20.0
"""After this time a command is killed."""
STRACE: Final = (
    *("strace", "-f", "-qq", "-y", "--seccomp-bpf", "-s", "4096", "-e", "signal=none"),
    *("-e", "trace=%file,bind,connect,ftruncate,fallocate,fchmod,fchown,fsetxattr"),
)
DRIVE: Final = "plain-64gib"

STUDY: Final = """name = "s"
target = "virtual:plain-64gib"
report = "none"
[[stage]]
name = "a"
measure = ["m"]
[measure.m]
workload = "sequential_write"
record = "4KiB"
stop = { bytes = "64KiB" }
repeat = 1
"""
FACTORS: Final = f"""{STUDY}
[factor.f]
kind = "workload"
key = "depth"
levels = [1, 2]
[compare]
arms = "f"
"""
ICF: Final = """Version 1.1.0
'TEST SETUP ====
'Run Time
'	hours      minutes    seconds
	0          0          1
'Ramp Up Time (s)
	0
'END test setup
'ACCESS SPECIFICATIONS ====
'Access specification name,default assignment
	Mix,NONE
'size,% of size,% reads,% random,delay,burst,align,reply
	4096,100,50,100,0,1,0,0
'End access specifications
'MANAGER LIST ====
'Worker
	Worker 1
'Number of outstanding IOs,test connection rate,transactions per connection,use fixed seed,fixed seed value
	1,DISABLED,1,DISABLED,0
'Disk maximum size,starting sector,Data pattern
	128,0,0
'Assigned access specs
	Mix
'Target
	C: ""
'End worker
"""


@dataclass(frozen=True)
class Done:
    """A command that ended."""

    status: int
    output: str
    errors: str
    hung: bool

    @property
    def crashed(self) -> bool:
        return self.status < 0 or any(word in self.errors for word in ("Traceback", "panicked"))


class Shop:
    """A folder of inputs."""

    def __init__(self, folder: Path, undo: ExitStack) -> None:
        self.folder = folder
        self.undo = undo
        self._made: dict[str, str] = {}
        folder.mkdir(parents=True, exist_ok=True)
        self.environment = {**os.environ, "MILEAGE_REPORT": "text", "MILEAGE_LEDGER": str(folder / "ledger")}

    def fill(self, words: str, more: Mapping[str, str]) -> str:
        """A text with {names} replaced: those of `more`, and of inputs."""
        for name, make in _INPUTS.items():
            if f"{{{name}}}" in words:
                if name not in self._made:
                    self._made[name] = make(self)
                words = words.replace(f"{{{name}}}", self._made[name])
        for name, value in more.items():
            words = words.replace(f"{{{name}}}", value)
        return words

    def run(
        self, words: list[str], cwd: Path, before: tuple[str, ...] = (), limit_s: float = HANGS_S
    ) -> Done:
        """Run `mileage WORDS`, killed with all its children when it hangs."""
        command = [*before, sys.executable, "-m", "mileage", *words]
        out, err = cwd.parent / "stdout", cwd.parent / "stderr"
        with out.open("wb") as output, err.open("wb") as errors:
            process = subprocess.Popen(
                command,
                cwd=cwd,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
                start_new_session=True,
            )
            hung = not _ends(process, limit_s, out if words[:2] == ["drive", "serve"] else None)
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            status = process.wait()
        return Done(status, out.read_text(errors="replace"), err.read_text(errors="replace"), hung)

    def make(self, words: str) -> None:
        """Run a command that makes an input."""
        place = self.folder / "cwd"
        place.mkdir(exist_ok=True)
        done = self.run(words.split(), place)
        assert done.status == 0, f"mileage {words}: {done.errors}"

    def serve(self) -> str:
        """Serve a drive at a socket; the socket."""
        socket = self.folder / "served"
        command = [sys.executable, "-m", "mileage", "drive", "serve", DRIVE, "--nbd", str(socket)]
        process = subprocess.Popen(
            command, env=self.environment, stdout=subprocess.PIPE, start_new_session=True, text=True
        )
        self.undo.callback(process.wait, 20)
        self.undo.callback(process.send_signal, signal.SIGINT)
        assert process.stdout is not None
        while "Ctrl-C" not in (line := process.stdout.readline()):
            assert line, "the drive is not served"
        return str(socket)

    def text(self, name: str, content: str) -> str:
        path = self.folder / name
        path.write_text(content)
        return str(path)


def _ends(process: subprocess.Popen[bytes], limit_s: float, served: Path | None) -> bool:
    """Wait for the end of a process; one that serves is interrupted as soon as it does. False where it hangs."""
    until = time.monotonic() + limit_s
    while time.monotonic() < until:
        with suppress(subprocess.TimeoutExpired):
            process.wait(0.05 if served else limit_s)
            return True
        if served and b"Ctrl-C" in served.read_bytes():
            os.killpg(process.pid, signal.SIGINT)
            served = None
    return False


def unmount_below(folder: Path) -> None:
    """Unmount what a killed command left mounted below a folder."""
    for line in Path("/proc/self/mounts").read_text().splitlines():
        place = line.split()[1]
        if place.startswith(f"{folder}/"):
            subprocess.run(["umount", "--lazy", place], check=False, timeout=60)


def _study(shop: Shop, name: str) -> str:
    shop.make(f"run {shop.fill('{toml}', {})} --out {shop.folder}/{name}")
    return f"{shop.folder}/{name}"


def _results(shop: Shop) -> str:
    file = f"{shop.folder}/fio.json"
    shop.make(f"fio --name=a --rw=write --size=64k --filename=file --output-format=json --output={file}")
    return file


def _state(shop: Shop) -> str:
    shop.make(f"drive run {DRIVE} --passes 0.00001 --save {shop.folder}/state")
    return f"{shop.folder}/state"


_INPUTS: Final[dict[str, Callable[[Shop], str]]] = {
    "study": lambda shop: _study(shop, "study"),
    "other_study": lambda shop: _study(shop, "other_study"),
    "results": _results,
    "state": _state,
    "served": Shop.serve,
    "toml": lambda shop: shop.text("tiny.toml", STUDY),
    "factors": lambda shop: shop.text("factors.toml", FACTORS),
    "icf": lambda shop: shop.text("tiny.icf", ICF),
    "table": lambda shop: shop.text("table.csv", "test,diff_percent,std_percent\nwrite,9,1\nread,1,1\n"),
    "machines": lambda shop: shop.text("machines", "localhost slots=2\n"),
    "drive": lambda _: DRIVE,
    "small": lambda _: f"{DRIVE},scale=1/64",
}
