"""Kills a command at random instants, resumes it, and looks for what is left behind.

`python -m tests.execute.kills [KILLS [SEED [MINUTES]]]` does so for all kinds at the same time and prints a table;
after that number of minutes it begins no further study.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path

from mileage.store import StudyFolder
from mileage.targets.guard import loop_devices
from mileage.targets.ledger import LEDGER_VARIABLE
from mileage.targets.memory_limit import find_controller
from mileage.targets.mounts import read_mounts
from tests.execute.conftest import run_keys
from tests.execute.kill_kinds import KINDS, Kind, block_device, quick_place, write_drive
from tests.execute.mpi_runs import ENVIRONMENT, MPIEXEC

WAIT_S = 120.0
END_S = 1800.0
"""How long an undisturbed command may take: kinds are killed at the same time, on whatever else the machine does."""
KILLS_PER_STUDY = 4
_MARK = "MILEAGE_TEST_KILLS"


@dataclass
class Count:
    """What came of the kills of one kind."""

    kills: int = 0
    studies: int = 0
    repairs: int = 0
    seconds: float = 0.0
    problems: list[str] = field(default_factory=list)


class Killer:
    """One kind, killed and resumed in a folder of its own."""

    def __init__(self, kind: Kind, base: Path, seed: int) -> None:
        self.kind = kind
        self.count = Count()
        self._random = random.Random(f"{seed} {kind.name}")
        self._mark = uuid.uuid4().hex
        self._pids: set[int] = set()
        self._opened = ExitStack()
        self._base = base
        for name in ("place", "temporary", "ledger", "studies"):
            (base / name).mkdir()
        self._device = self._opened.enter_context(block_device(base)) if "{device}" in kind.target else ""
        if "drive.toml" in kind.target:
            write_drive(base / "place")
        self._target = kind.target.format(place=base / "place", device=self._device)
        self._study = kind.write(base, self._target)
        self._files_before = self._files()
        self._duration_s = 0.0
        self._whole: set[str] = set()
        self._environment = {
            **ENVIRONMENT,
            "TMPDIR": str(base / "temporary"),
            LEDGER_VARIABLE: str(base / "ledger"),
            "MILEAGE_REPORT": kind.report,
            _MARK: self._mark,
        }

    def close(self) -> None:
        self._opened.close()

    def kill(self, wanted: int, until_s: float = float("inf")) -> None:
        """Kill until there are `wanted` kills of a command at work, or the monotonic clock says `until_s`."""
        began = time.monotonic()
        reference = self._base / "studies" / "reference"
        self._end(reference, "undisturbed")
        if self.kind.verb == "report":
            # The first time it was the study.
            began = time.monotonic()
            self._end(reference, "undisturbed")
        self._duration_s = time.monotonic() - began
        self._whole = _names(reference)
        while self.count.kills < wanted and time.monotonic() < until_s:
            self.count.studies += 1
            folder = self._base / "studies" / str(self.count.studies)
            if self.kind.verb == "report":
                folder = reference
            for _ in range(min(KILLS_PER_STUDY, wanted - self.count.kills)):
                if not self._killed(folder):
                    break
                self.count.kills += 1
                if self._random.random() < 0.25:
                    self._repair(folder)
            self._end(folder, f"study {self.count.studies}")
        self.count.seconds = time.monotonic() - began

    def _command(self, folder: Path) -> list[str]:
        kind = self.kind
        mileage = [sys.executable, "-m", "mileage"]
        if kind.ranks:
            assert MPIEXEC is not None
            mileage = [MPIEXEC, "-n", str(kind.ranks), "--oversubscribe", *mileage]
        if kind.verb == "measure":
            work = ["-w", "throughput.write", "--record", "4KiB", "--size", "8MiB", "--operations", "2000"]
            return [*mileage, "measure", "-t", self._target, *work]
        if kind.verb == "report" and (folder / "plan.json").exists():
            return [*mileage, "report", str(folder)]
        options = [option.format(device=self._device) for option in kind.options]
        return [*mileage, "run", str(self._study), "--out", str(folder), *options]

    def _start(self, folder: Path) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            self._command(folder),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            errors="replace",
            env=self._environment,
            start_new_session=True,
        )
        self._pids.add(process.pid)
        return process

    def _killed(self, folder: Path) -> bool:
        """Kill the command, or a process that it has started, at a random instant; whether it was at work."""
        with self._start(folder) as process:
            try:
                process.wait(timeout=self._random.uniform(0.0, self._duration_s))
                return False
            except subprocess.TimeoutExpired:
                pass
            mine = self._processes()
            self._pids |= set(mine)
            others = sorted(set(mine) - {process.pid})
            victim = self._random.choice(others) if others and self._random.random() < 0.3 else process.pid
            with suppress(ProcessLookupError):
                os.kill(victim, signal.SIGKILL)
            try:
                process.communicate(timeout=WAIT_S)
            except subprocess.TimeoutExpired:
                self._problem(f"still at work {WAIT_S:g} s after process {victim} was killed")
                os.killpg(process.pid, signal.SIGKILL)
        return True

    def _end(self, folder: Path, what: str) -> None:
        """Let the command come to its end; then nothing is left and each run was done once."""
        with self._start(folder) as process:
            said, _ = process.communicate(timeout=END_S)
        if process.returncode != 0:
            if not self._duration_s:
                raise AssertionError(f"{self.kind.name} cannot be done undisturbed: {said}")
            self._problem(f"{what}: exit status {process.returncode}: {said.strip()[-300:]}")
            return
        if self.kind.verb != "measure":
            planned = [run["index"] for run in StudyFolder(folder).plan()["runs"]]
            if sorted(run_keys(folder)) != planned:
                self._problem(f"{what}: runs {run_keys(folder)}, planned {planned}")
            if self._duration_s and (names := _names(folder)) != self._whole:
                self._problem(f"{what}: {sorted(names ^ self._whole)} differ in the study folder")
        self._look(what, files=True)

    def _repair(self, folder: Path) -> None:
        self.count.repairs += 1
        command = [sys.executable, "-m", "mileage", "doctor", "--repair", self._target]
        done = subprocess.run(
            command, env=self._environment, capture_output=True, text=True, check=False, timeout=WAIT_S
        )
        if done.returncode != 0:
            self._problem(
                f"doctor --repair: exit status {done.returncode}: {(done.stdout + done.stderr)[-300:]}"
            )
        self._look(f"doctor --repair of {folder.name}", files=False)

    def _look(self, what: str, *, files: bool) -> None:
        """Note what is left: mounts, loop devices, control groups, processes and files."""
        for problem in self._left(files=files):
            self._problem(f"{what}: left behind: {problem}")

    def _left(self, *, files: bool) -> list[str]:
        base = str(self._base)
        loops = {f"/dev/{name}": path for name, path in loop_devices() if path.startswith(base)}
        ours = {*loops, *([self._device] if self._device else [])}
        left = [f"mount {mount.mount_point}" for mount in read_mounts() if mount.source in ours]
        left += [f"loop device over {path}" for name, path in loops.items() if name != self._device]
        left += [f"control group {group}" for group in self._groups()]
        end = time.monotonic() + 10.0
        while (processes := self._processes()) and time.monotonic() < end:
            time.sleep(0.05)
        left += [f"process {pid}: {words}" for pid, words in processes.items()]
        left += [f"ledger {path.name}" for path in (self._base / "ledger").iterdir()]
        found = self._files() if files else {name for name in self._files() if name.startswith("temporary/")}
        return left + [f"file {name}" for name in sorted(found - self._files_before)]

    def _groups(self) -> list[Path]:
        """The control groups of processes that were started here; of a number that lives, another one has it now."""
        controller = find_controller()
        found = controller.place.glob("mileage-*") if controller else ()
        numbers = {group: int(group.name.rpartition("-")[2]) for group in found}
        ours = [group for group, number in numbers.items() if number in self._pids]
        return [group for group in ours if not Path(f"/proc/{numbers[group]}").exists()]

    def _files(self) -> set[str]:
        """Files where the target is and in the temporary directory."""
        found = [path for name in ("place", "temporary") for path in (self._base / name).rglob("*")]
        names = {str(path.relative_to(self._base)) for path in found}
        # The session folders of a launcher that was killed are not Mileage's.
        return {name for name in names if not name.startswith(("temporary/ompi.", "temporary/prte"))}

    def _processes(self) -> dict[int, str]:
        """The processes that were started here and have not ended, with their command lines."""
        found = {}
        for place in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if f"{_MARK}={self._mark}".encode() in (place / "environ").read_bytes().split(b"\0"):
                    words = (place / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                    found[int(place.name)] = words[-100:]
        return found

    def _problem(self, text: str) -> None:
        self.count.problems.append(f"{self.kind.name}: {text}")


def _names(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def kill_kind(kind: Kind, base: Path, seed: int, kills: int, until_s: float) -> Count:
    """Kill one kind so often in a new folder, and no longer than until then on the monotonic clock."""
    base.mkdir()
    killer = Killer(kind, base, seed)
    try:
        killer.kill(kills, until_s)
    finally:
        killer.close()
    return killer.count


def main() -> int:
    """Kill so often in all, divided among the kinds that can be done here; prints what came of it."""
    kills = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(2**32)
    until_s = time.monotonic() + 60.0 * (float(sys.argv[3]) if len(sys.argv) > 3 else float("inf"))
    possible = [kind for kind in KINDS if not kind.missing()]
    sys.stdout.write(f"seed {seed}\n")
    for kind in KINDS:
        if kind.missing():
            sys.stdout.write(f"{kind.name}: not done, missing: {kind.missing()}\n")
    each, rest = divmod(kills, len(possible))
    with (
        tempfile.TemporaryDirectory() as name,
        quick_place(Path(name)) as place,
        ThreadPoolExecutor(len(possible)) as pool,
    ):
        jobs = [
            pool.submit(kill_kind, kind, place / str(at), seed, each + (at < rest), until_s)
            for at, kind in enumerate(possible)
        ]
        sys.stdout.write(
            f"{'kind':<26}{'kills':>6}{'studies':>9}{'repairs':>9}{'seconds':>9}{'problems':>10}\n"
        )
        counts = []
        for kind, job in zip(possible, jobs, strict=True):
            counts.append(count := job.result())
            sys.stdout.write(
                f"{kind.name:<26}{count.kills:>6}{count.studies:>9}{count.repairs:>9}{count.seconds:>9.0f}"
                f"{len(count.problems):>10}\n"
            )
            sys.stdout.writelines(f"  {problem}\n" for problem in count.problems)
            sys.stdout.flush()
    problems = sum(len(count.problems) for count in counts)
    total = sum(count.kills for count in counts)
    sys.stdout.write(f"{total} kills, {problems} problems\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
