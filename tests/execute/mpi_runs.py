"""For the tests of MPI runs: what they need, started and looked after."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

MPIEXEC = shutil.which("mpiexec", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
MISSING = (
    "mpi4py and an MPI launcher (pip install 'mileage[mpi]')"
    if MPIEXEC is None or not find_spec("mpi4py")
    else ""
)
WAIT_S = 200.0
"""When a test gives up what hangs: far beyond what anything takes on a busy machine, and before the time limit of a
test, which would not say what the launcher said."""

ENVIRONMENT = {
    **os.environ,
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
}

_TEMPORARY = tempfile.TemporaryDirectory(prefix="mpi-")
"""Removed when the process of the tests ends."""


def launch_environment() -> dict[str, str]:
    """The environment of one launch, with a directory for temporary files of its own.

    A launcher keeps files in a directory that is named after its process number, and one that is killed leaves it
    there. A later launcher with the same number and the same place finds them and does not start, or its daemon on
    another host does not: "The PMIx server's listener thread failed to start".
    """
    return {**ENVIRONMENT, "TMPDIR": tempfile.mkdtemp(dir=_TEMPORARY.name)}


def started(
    ranks: int,
    *arguments: str,
    launcher: tuple[str, ...] = (),
    program: tuple[str, ...] = ("-m", "mileage"),
    environment: dict[str, str] | None = None,
) -> subprocess.Popen[str]:
    """`mileage ARGUMENTS`, or another program of Python, under `ranks` ranks; `environment` is added to theirs."""
    assert MPIEXEC is not None
    how = launcher or ("--oversubscribe",)
    command = [MPIEXEC, "-n", str(ranks), *how, sys.executable, *program]
    return subprocess.Popen(
        [*command, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**launch_environment(), **(environment or {})},
        start_new_session=True,
    )


def finished(process: subprocess.Popen[str], wait_s: float = WAIT_S) -> tuple[int, str]:
    """Exit status and what was said; one that hangs is killed and fails the test."""
    try:
        said, _ = process.communicate(timeout=wait_s)
    except subprocess.TimeoutExpired:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        said, _ = process.communicate()
        raise AssertionError(f"still there after {wait_s:g} s: {said}") from None
    return process.returncode, said


def run(ranks: int, *arguments: str, launcher: tuple[str, ...] = ()) -> str:
    """Run to the end and return what was said."""
    status, said = finished(started(ranks, *arguments, launcher=launcher))
    assert status == 0, said
    return said


def entries(folder: Path, kind: str) -> list[dict[str, Any]]:
    """The journal's entries of a kind, as far as it goes."""
    journal = folder / "journal.jsonl"
    lines = journal.read_text(encoding="utf-8").splitlines() if journal.exists() else []
    found = []
    for line in lines:
        with suppress(json.JSONDecodeError):
            found.append(json.loads(line))
    return [entry for entry in found if entry["kind"] == kind]


def wait_for(what: Any, wait_s: float = WAIT_S) -> Any:
    """The first answer that is true. AssertionError when none comes."""
    end_s = time.monotonic() + wait_s
    while time.monotonic() < end_s:
        if answer := what():
            return answer
        time.sleep(0.005)
    raise AssertionError("waited in vain")


def study(path: Path, target: Path, tables: str) -> str:
    """A study file of one measuring stage with these tables; its path."""
    names = [line.split(".")[1].rstrip("]") for line in tables.splitlines() if line.startswith("[measure.")]
    head = f'name = "ranks"\ntarget = "dir:{target}"\n[state]\ncache = "warm"\n[[stage]]\nname = "now"\n'
    path.write_text(f"{head}measure = {json.dumps(names)}\n{tables}", encoding="utf-8")
    return str(path)


IP = shutil.which("ip", path=f"{os.environ['PATH']}:/usr/sbin:/sbin")


def no_namespaces() -> str:
    """Why hosts cannot be made of network namespaces here; empty when they can."""
    if os.geteuid() != 0:
        return "root makes network namespaces"
    if IP is None or shutil.which("unshare") is None or shutil.which("nsenter") is None:
        return "the programs ip, unshare and nsenter are not here"
    tried = subprocess.run(["unshare", "-n", "-u", "true"], capture_output=True, check=False)
    return "" if tried.returncode == 0 else "the kernel makes no network namespaces here"


def _name() -> str:
    return f"mlg{os.getpid() % 100000}"


def _network() -> str:
    """The first three bytes of a network of this process's own."""
    return f"10.{224 + (os.getpid() >> 8) % 16}.{os.getpid() % 256}"


def cut_off() -> None:
    """Take the link between the two hosts away."""
    assert IP is not None
    subprocess.run([IP, "link", "set", f"{_name()}a", "down"], check=True, capture_output=True)


def _end_all(name: str) -> None:
    """Kill what is left in a network namespace: a daemon of the launcher that was cut off from it."""
    assert IP is not None
    left = subprocess.run([IP, "netns", "pids", name], capture_output=True, text=True, check=False)
    for number in left.stdout.split():
        with suppress(ProcessLookupError):
            os.kill(int(number), signal.SIGKILL)


@contextmanager
def hosts(place: Path, *, time_offset_s: int = 0) -> Iterator[tuple[str, ...]]:
    """Two hosts: this one and a network namespace with a name of its own; the launcher's options for them.

    With `time_offset_s` the second has a monotonic clock that far ahead.
    """
    assert IP is not None
    name, network = _name(), _network()
    here, there = f"{name}a", f"{name}b"
    agent = place / "agent"
    ahead = f"-T --monotonic {time_offset_s} --boottime {time_offset_s} --fork" if time_offset_s else ""
    # The launcher says: agent HOST COMMAND... Not by `ip netns exec`: that copies all mounts for as long as the ranks
    # run, and keeps the devices busy that other tests mount meanwhile.
    inside = f'nsenter --net=/run/netns/{name} unshare -u {ahead} sh -c "hostname {there}; $*"'
    agent.write_text(f"#!/bin/sh\nshift\nexec {inside}\n", encoding="utf-8")
    agent.chmod(0o755)
    made = [
        ["netns", "add", name],
        ["link", "add", here, "type", "veth", "peer", "name", there],
        ["link", "set", there, "netns", name],
        ["addr", "add", f"{network}.1/24", "dev", here],
        ["link", "set", here, "up"],
        ["netns", "exec", name, IP, "addr", "add", f"{network}.2/24", "dev", there],
        ["netns", "exec", name, IP, "link", "set", there, "up"],
        ["netns", "exec", name, IP, "link", "set", "lo", "up"],
    ]
    try:
        for command in made:
            subprocess.run([IP, *command], check=True, capture_output=True)
        hostfile = place / "hosts"
        hostfile.write_text(f"{network}.1 slots=2\n{network}.2 slots=2\n", encoding="utf-8")
        yield (
            *("--hostfile", str(hostfile)),
            *("--prtemca", "plm_ssh_agent", str(agent)),
            *("--prtemca", "prte_if_include", f"{network}.0/24"),
            *(
                "--mca",
                "btl_tcp_if_include",
                f"{network}.0/24",
                "--mca",
                "pml",
                "ob1",
                "--mca",
                "btl",
                "self,tcp",
            ),
        )
    finally:
        _end_all(name)
        subprocess.run([IP, "netns", "del", name], check=False, capture_output=True)
        subprocess.run([IP, "link", "del", here], check=False, capture_output=True)
