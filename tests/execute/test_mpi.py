"""Studies under MPI: on one host and on two, with ranks that are killed, and what is refused."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mileage.errors import Refused
from mileage.execute.mpi.messages import TIMEOUT_VARIABLE, silence_limit_s
from tests.execute import mpi_runs
from tests.execute.mpi_runs import entries, finished, hosts, no_namespaces, run, started, study, wait_for

pytestmark = pytest.mark.xdist_group("mpi")

needs_mpi = pytest.mark.skipif(bool(mpi_runs.MISSING), reason=f"not here: {mpi_runs.MISSING}")

LIMIT_S = 60.0
"""Within so long a run with a lost rank is over: a second, and what a busy machine makes of it."""

IOR_SMALL = """
[measure.small]
workload = "ior.*"
record = "4KiB"
block = "64KiB"
segments = 6
threads = 4
files = "{files}"
reorder = 1
verify = "all"
repeat = 2
"""
IOR_LARGE = """
[measure.large]
workload = "ior.*"
record = "256KiB"
block = "1MiB"
segments = 3
threads = 4
files = "{files}"
reorder = 1
verify = "all"
repeat = 1
"""
METARATES = """
[measure.names]
workload = ["metarates.create", "metarates.stat", "metarates.utime"]
threads = [1, 2, 4]
files = "{files}"
stop = {{ operations = 240 }}
repeat = 1
"""
MIX = """
[measure.mix]
workload = "random_write"
record = "4KiB"
threads = 5
processes = 3
stop = {{ operations = 500 }}
repeat = 1
"""
SIZES = {"small": 4 * 6 * 65536, "large": 4 * 3 * 1048576}


def check_whole(folder: Path, files: str) -> None:
    """The sum of the ranks is the total, and every byte that was read is the one that was written."""
    found = entries(folder, "run")
    assert len(found) == 2 + 1 + 3 + 1
    for entry in found:
        record = entry["record"]
        if entry["cell"] == "pattern.random_write 4 KiB":
            assert record["ops_written"] == 500 == sum(thread["ops_written"] for thread in record["threads"])
            assert len(record["threads"]) == 5
            continue
        for result in record["results"]:
            whole, tasks = result["record"], result["record"]["tasks"]
            done = whole["ops_read"] + whole["ops_written"] + whole["ops_metadata"]
            assert sum(task["operations"] for task in tasks) == done
            assert sum(task["bytes"] for task in tasks) == whole["bytes_read"] + whole["bytes_written"]
            kinds = [whole["latency"][kind] for kind in ("read", "write", "metadata")]
            assert sum(count for kind in kinds for _, count in kind["buckets"]) == done
            name, _, rest = str(entry["cell"]).partition(" ")
            if name == "ior":
                size = SIZES["small" if rest.startswith("4 KiB") else "large"]
                assert whole["bytes_read"] + whole["bytes_written"] == size
                assert whole["ops_compared"] == whole["ops_read"], files
            else:
                assert done == 240
                spans = [task["operate_ns"] for task in tasks]
                assert whole["elapsed_ns"] == max(end for _, end in spans) - min(start for start, _ in spans)


@needs_mpi
@pytest.mark.sampled(1)
@pytest.mark.parametrize("files", ["shared", "per_thread"])
def test_four_ranks_of_one_host(tmp_path: Path, files: str) -> None:
    target = tmp_path / "target"
    target.mkdir()
    tables = (IOR_SMALL + IOR_LARGE + METARATES + MIX).format(files=files)
    run(4, "run", study(tmp_path / "s.toml", target, tables), "--out", str(tmp_path / "out"))
    check_whole(tmp_path / "out", files)
    (output,) = entries(tmp_path / "out", "ranks")
    assert [rank["rank"] for rank in output["ranks"]] == [0, 1, 2, 3]
    assert not list(target.iterdir())
    small = next(entry for entry in entries(tmp_path / "out", "run") if entry["cell"].startswith("ior 4 KiB"))
    pids = {task["pid"] for task in small["record"]["results"][0]["record"]["tasks"]}
    assert pids == {rank["process"] for rank in output["ranks"]}


@needs_mpi
@pytest.mark.sampled(1)
@pytest.mark.skipif(bool(no_namespaces()), reason=no_namespaces())
@pytest.mark.parametrize(("files", "ahead_s"), [("shared", 0), ("per_thread", 5000)])
def test_two_hosts_in_network_namespaces(tmp_path: Path, files: str, ahead_s: int) -> None:
    """The second host's clock is ahead by a known time: the estimate keeps its bound, and the phases fit together."""
    target = tmp_path / "target"
    target.mkdir()
    tables = (IOR_SMALL + IOR_LARGE + METARATES + MIX).format(files=files)
    with hosts(tmp_path, time_offset_s=ahead_s) as launcher:
        file = study(tmp_path / "s.toml", target, tables)
        said = run(4, "run", file, "--out", str(tmp_path / "out"), launcher=launcher)
    check_whole(tmp_path / "out", files)
    (output,) = entries(tmp_path / "out", "ranks")
    names = [rank["host"] for rank in output["ranks"]]
    assert len(set(names)) == 2, said
    for entry in entries(tmp_path / "out", "run"):
        for result in entry["record"]["results"] or ():
            for task in result["record"]["tasks"] if ahead_s else []:
                known_ns = ahead_s * 10**9 if task["host"] != names[0] else 0
                if "clock_offset_ns" in task:
                    assert abs(task["clock_offset_ns"] - known_ns) <= task["clock_bound_ns"] < 10**8
                else:
                    assert known_ns == 0
            assert result["record"]["elapsed_ns"] < 60 * 10**9


IOZONE_CHILDREN = """
[measure.children]
workload = ["iozone.write", "iozone.read"]
record = "64KiB"
threads = 4
repeat = 1
fidelity = true
iozone = { file = "1MiB", processes = true }
"""


@needs_mpi
@pytest.mark.skipif(bool(no_namespaces()), reason=no_namespaces())
def test_children_of_iozone_are_ranks_of_two_hosts_with_other_clocks(tmp_path: Path) -> None:
    target, out = tmp_path / "target", tmp_path / "out"
    target.mkdir()
    with hosts(tmp_path, time_offset_s=5000) as launcher:
        file = study(tmp_path / "s.toml", target, IOZONE_CHILDREN)
        said = run(4, "run", file, "--out", str(out), launcher=launcher)
    (output,) = entries(out, "ranks")
    assert len({rank["host"] for rank in output["ranks"]}) == 2, said
    (entry,) = entries(out, "run")
    results = {result["name"]: result for result in entry["record"]["results"]}
    assert list(results) == ["iozone.write", "iozone.read"]
    for result in results.values():
        parent = result["workers"]["parent"]
        assert 0 < parent["ns"] < 60 * 10**9
        assert result["record"]["elapsed_ns"] < 60 * 10**9
    assert results["iozone.write"]["record"]["bytes_written"] == 4 << 20
    assert not list(target.iterdir())


@needs_mpi
def test_more_children_of_iozone_than_ranks_are_refused(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.mkdir()
    file = study(tmp_path / "s.toml", target, IOZONE_CHILDREN)
    status, said = finished(started(2, "run", file, "--out", str(tmp_path / "out")))
    assert status == 2
    assert "4 tasks are needed and this MPI run has 2 ranks" in " ".join(said.split())


@needs_mpi
@pytest.mark.skipif(bool(no_namespaces()), reason=no_namespaces())
def test_a_machine_file_of_two_hosts_starts_a_task_of_metarates_per_line_on_each(tmp_path: Path) -> None:
    out, target = tmp_path / "out", tmp_path / "target"
    words = ("metarates", "-d", str(target), "-n", "40", "-C", "-S", "-U", "--study", str(out))
    with hosts(tmp_path) as launcher:
        addresses = [
            line.split()[0] for line in (tmp_path / "hosts").read_text(encoding="utf-8").splitlines()
        ]
        machines = "".join(f"{address}\n" * 2 for address in addresses)
        (tmp_path / "hosts").write_text(machines, encoding="utf-8")
        said = run(4, *words, launcher=launcher)
    assert "processes = 4\n" in said
    assert all(unit in said for unit in ("creates per second", "stats per second", "utimes per second"))
    (output,) = entries(out, "ranks")
    names = [rank["host"] for rank in output["ranks"]]
    assert [names.count(name) for name in dict.fromkeys(names)] == [2, 2]
    (entry,) = entries(out, "run")
    for result in entry["record"]["results"]:
        assert [task["host"] for task in result["record"]["tasks"]] == names


KILLED = """
[measure.ior]
workload = "ior.*"
record = "512"
block = "64KiB"
segments = 600
threads = 4
repeat = 1
[measure.names]
workload = ["metarates.create", "metarates.stat", "metarates.utime"]
threads = 4
stop = { operations = 40000 }
repeat = 1
"""
KILLED_BYTES = 4 * 600 * 65536


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Path]:
    """A directory in memory, where there is one: the runs that are killed are long enough on any machine."""
    shared = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=shared if os.access(shared, os.W_OK) else tmp_path) as place:
        yield Path(place)


def working(target: Path) -> Path | None:
    """The directory of the current run."""
    return next(target.glob(".mileage-*.tasks"), None)


def file_bytes(target: Path) -> int:
    place = working(target)
    file = place / "ior" if place else None
    return file.stat().st_size if file is not None and file.exists() else -1


def names(target: Path) -> int:
    place = working(target)
    try:
        return len(os.listdir(place)) if place else 0
    except FileNotFoundError:
        return 0


PHASES: dict[str, Callable[[Path, Path], Any]] = {
    "before the first step": lambda _target, _out: True,
    "ior.write": lambda target, _out: 0 < file_bytes(target) < KILLED_BYTES,
    "ior.read": lambda target, _out: file_bytes(target) == KILLED_BYTES,
    "metarates.create": lambda target, _out: names(target) > 100,
    "metarates.stat": lambda target, out: names(target) > 39_990 or len(entries(out, "run")) == 2,
}


@needs_mpi
@pytest.mark.sampled(1)
@pytest.mark.parametrize("phase", PHASES)
def test_a_rank_that_is_killed_is_named_and_the_study_continues(
    tmp_path: Path, memory: Path, phase: str
) -> None:
    target, out = memory, tmp_path / "out"
    file = study(tmp_path / "s.toml", target, KILLED)
    process = started(4, "run", file, "--out", str(out))
    ranks = wait_for(lambda: entries(out, "ranks"))[0]["ranks"]
    wait_for(lambda: PHASES[phase](target, out))
    os.kill(ranks[2]["process"], signal.SIGKILL)
    status, said = finished(process, wait_s=LIMIT_S)
    assert status != 0
    name = f"rank 2 (host {ranks[2]['host']}, process {ranks[2]['process']})"
    if len(entries(out, "run")) < 2:
        assert f"{name} died" in said
        assert next(entry["message"] for entry in entries(out, "failed")).startswith(f"{name} died")
    run(4, "run", str(out))
    assert sorted(entry["run"] for entry in entries(out, "run")) == [0, 1]
    assert not list(target.iterdir())


@needs_mpi
def test_a_leader_that_is_killed_takes_all_with_it_and_the_study_continues(
    tmp_path: Path, memory: Path
) -> None:
    target, out = memory, tmp_path / "out"
    file = study(tmp_path / "s.toml", target, KILLED)
    process = started(4, "run", file, "--out", str(out))
    ranks = wait_for(lambda: entries(out, "ranks"))[0]["ranks"]
    wait_for(lambda: PHASES["ior.write"](target, out))
    os.kill(ranks[0]["process"], signal.SIGKILL)
    status, _ = finished(process, wait_s=LIMIT_S)
    assert status != 0
    for rank in ranks:
        assert wait_for(lambda rank=rank: not Path(f"/proc/{rank['process']}").exists(), wait_s=LIMIT_S)
    run(4, "run", str(out))
    assert sorted(entry["run"] for entry in entries(out, "run")) == [0, 1]


@needs_mpi
def test_more_tasks_than_ranks_are_refused(tmp_path: Path) -> None:
    file = study(tmp_path / "s.toml", tmp_path, IOR_SMALL.format(files="shared"))
    status, said = finished(started(2, "run", file, "--out", str(tmp_path / "out")))
    assert status == 2
    assert "4 tasks are needed and this MPI run has 2 ranks" in said


FIRST_ALONE = """
name = "ranks"
target = "dir:TARGET"
[state]
cache = "warm"
file = "1MiB"
[[stage]]
name = "first"
prepare = ["alone"]
[[stage]]
name = "later"
measure = ["names"]
[torture.alone]
workload = "throughput.write"
record = "64KiB"
amount = "1MiB"
[measure.names]
workload = "metarates.create"
threads = 4
stop = { operations = 400 }
repeat = 1
"""


@needs_mpi
def test_more_tasks_than_ranks_are_refused_before_anything_is_done(tmp_path: Path) -> None:
    (tmp_path / "target").mkdir()
    file = tmp_path / "s.toml"
    file.write_text(FIRST_ALONE.replace("TARGET", str(tmp_path / "target")), encoding="utf-8")
    status, said = finished(started(2, "run", str(file), "--out", str(tmp_path / "out")))
    assert status == 2
    assert "4 tasks are needed and this MPI run has 2 ranks" in said
    assert not entries(tmp_path / "out", "run")
    assert not list((tmp_path / "target").iterdir())
    run(4, "run", str(tmp_path / "out"))
    assert len(entries(tmp_path / "out", "run")) == 2


@needs_mpi
def test_ranks_with_different_commands_are_refused(tmp_path: Path) -> None:
    toml = study(tmp_path / "s.toml", tmp_path, '[measure.m]\nworkload = "metarates.create"\nrepeat = 1\n')
    one = ("run", toml, "--out", str(tmp_path / "a"))
    other = (":", "-n", "1", sys.executable, "-m", "mileage", *one[:-1], str(tmp_path / "b"))
    status, said = finished(started(1, *one, *other))
    assert status != 0
    assert re.search(
        r"rank 1 \(host \S+, process \d+\) was given `mileage run \S+ --out \S+/b` and rank 0", said
    )
    assert not (tmp_path / "a").exists()
    assert not (tmp_path / "b").exists()


@needs_mpi
def test_ranks_of_different_versions_are_refused(tmp_path: Path) -> None:
    other = tmp_path / "other.py"
    other.write_text(
        "import mileage\nmileage.__dict__['__version__'] = '0.0.1'\nfrom mileage.cli import main\nmain()\n",
        encoding="utf-8",
    )
    command = ("measure", "-t", f"dir:{tmp_path}", "-w", "metarates.create", "--operations", "4")
    status, said = finished(started(1, *command, ":", "-n", "1", sys.executable, str(other), *command))
    assert status != 0
    assert " is Mileage 0.0.1 and rank 0 (" in said
    assert "all hosts need the same version" in said


@needs_mpi
def test_ranks_with_different_time_outs_are_refused(tmp_path: Path) -> None:
    command = (
        "-m",
        "mileage",
        "measure",
        "-t",
        f"dir:{tmp_path}",
        "-w",
        "metarates.create",
        "--operations",
        "4",
    )
    other = (":", "-n", "1", "-x", f"{TIMEOUT_VARIABLE}=20", sys.executable, *command)
    status, said = finished(started(1, *command[2:], *other))
    assert status != 0
    assert re.search(r"rank 1 \(host \S+, process \d+\) has a time-out of 20 s and rank 0", said)


@pytest.mark.parametrize("text", ["", "soon", "nan", "inf", "1.9", "-8"])
def test_a_time_out_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv(TIMEOUT_VARIABLE, text)
    with pytest.raises(
        Refused, match=r"MILEAGE_RANK_TIMEOUT: found .*, expected a number of seconds, at least 2"
    ):
        silence_limit_s()


def test_the_time_out_is_eight_seconds_unless_the_environment_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(TIMEOUT_VARIABLE, raising=False)
    assert silence_limit_s() == 8.0
    monkeypatch.setenv(TIMEOUT_VARIABLE, "2.5")
    assert silence_limit_s() == 2.5


@needs_mpi
def test_commands_for_one_are_refused_under_several(tmp_path: Path) -> None:
    status, said = finished(started(2, "plan"))
    assert status == 2
    assert said.count("is not done by several ranks") == 1
    assert "Under it: run, measure, sweep, metarates, iozone\n" in said
    status, said = finished(started(2, "ior", "-b", "64k", "-t", "4k"))
    assert status == 2
    assert said.count("mileage mpirun -np 2 ior") == 1


def test_a_launcher_without_mpi4py_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mpi4py.py").write_text("raise ModuleNotFoundError('mpi4py')\n", encoding="utf-8")
    environment = {**mpi_runs.ENVIRONMENT, "OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_RANK": "0"}
    environment["PYTHONPATH"] = f"{tmp_path}{os.pathsep}{environment['PYTHONPATH']}"
    command = [sys.executable, "-m", "mileage", "run", "degradation"]
    output = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert output.returncode == 2
    assert "OMPI_COMM_WORLD_SIZE is set" in output.stderr
    assert "pip install 'mileage[mpi]'" in output.stderr


def test_without_a_launcher_nothing_of_mpi_is_loaded(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "sys.argv = ['mileage', 'plan']\n"
        "from mileage.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "assert not [name for name in sys.modules if 'mpi4py' in name or 'execute.mpi' in name], sys.modules\n"
    )
    output = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert output.returncode == 0, output.stderr
