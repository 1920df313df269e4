"""Children of `mileage iozone` that are ranks of an MPI run: on the hosts of `-+m`, ended by signals, and refused."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

import pytest

from tests.execute import mpi_runs
from tests.execute.mpi_runs import entries, finished, hosts, no_namespaces, started, wait_for

pytestmark = [
    pytest.mark.xdist_group("mpi"),
    pytest.mark.skipif(bool(mpi_runs.MISSING), reason=f"not here: {mpi_runs.MISSING}"),
]

LINE = ("-i", "0", "-i", "1", "-s", "256k", "-r", "64k", "-+q", "0")


def clients(place: Path, *names: str) -> tuple[str, ...]:
    """The words for children on clients that use one directory."""
    (place / "files").mkdir(exist_ok=True)
    file = place / "clients"
    file.write_text("".join(f"{name} {place}/files iozone\n" for name in names))
    return ("iozone", "-+m", str(file), "-t", str(len(names)))


needs_hosts = pytest.mark.skipif(bool(no_namespaces()), reason=no_namespaces())


def addresses(place: Path) -> list[str]:
    return [line.split()[0] for line in (place / "hosts").read_text(encoding="utf-8").splitlines()]


@needs_hosts
def test_children_on_clients_are_ranks_on_their_hosts(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with hosts(tmp_path, time_offset_s=5000) as launcher:
        here, there = addresses(tmp_path)
        words = clients(tmp_path, here, "localhost", there, there)
        status, said = finished(started(4, *words, *LINE, "-w", "--study", str(out), launcher=launcher))
    assert status == 0, said
    assert said.count("\tChildren see throughput for ") == 4
    assert "Parent sees" not in said
    (ranks,) = entries(out, "ranks")
    names = [rank["host"] for rank in ranks["ranks"]]
    assert names[0] == names[1] == os.uname().nodename
    assert names[2] == names[3] != names[0]
    (entry,) = entries(out, "run")
    results = [result["record"] for result in entry["record"]["results"]]
    assert [result["bytes_written"] for result in results] == [1 << 20, 1 << 20, 0, 0]
    assert [result["bytes_read"] for result in results] == [0, 0, 1 << 20, 1 << 20]
    assert {path.name: path.stat().st_size for path in (tmp_path / "files").iterdir()} == {
        f"iozone.DUMMY.{child}": 256 << 10 for child in range(4)
    }


@needs_hosts
def test_ranks_in_another_order_than_the_clients_are_refused_with_a_command_that_works(
    tmp_path: Path,
) -> None:
    with hosts(tmp_path) as launcher:
        here, there = addresses(tmp_path)
        words = clients(tmp_path, here, there, here, there)
        status, said = finished(started(4, *words, *LINE, launcher=launcher))
        assert status == 2, said
        assert (
            f"-+m: client 2: found {there}, and rank 1 is on {os.uname().nodename}; start a rank for each"
            in said
        )
        assert not list((tmp_path / "files").iterdir())
        advised = re.search(r"mpiexec -n 4 (--host \S+ --map-by seq) mileage iozone -\+m ", said)
        assert advised, said
        status, said = finished(started(4, *words, *LINE, launcher=(*launcher, *advised[1].split())))
        assert status == 0, said
        lost = clients(tmp_path, here, "localhost", there, "localhost")
        status, said = finished(started(4, *lost, *LINE, launcher=launcher))
        assert status == 2, said
        assert "client 4: found localhost, and rank 3 is on " in said


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ((), "a single stream is the work of one process: found 2 ranks; start it without the launcher"),
        (("-t", "2", "-T"), "-T: threads are the work of one process"),
        (("-t", "3"), "3 tasks are needed and this MPI run has 2 ranks"),
    ],
)
def test_what_ranks_do_not_do_is_refused(tmp_path: Path, words: tuple[str, ...], reason: str) -> None:
    process = started(2, "iozone", *words, *LINE, launcher=("--oversubscribe", "--wdir", str(tmp_path)))
    status, said = finished(process)
    assert status == 2
    assert reason in said
    assert not list(tmp_path.iterdir())


def test_ranks_without_children_are_said(tmp_path: Path) -> None:
    process = started(3, "iozone", "-t", "2", *LINE, launcher=("--oversubscribe", "--wdir", str(tmp_path)))
    status, said = finished(process)
    assert status == 0, said
    assert "mileage: 1 of 3 ranks have nothing to do: 2 are children\n" in said
    assert "\tChildren see throughput for  2 initial writers " in said


def test_at_sigint_ranks_end_as_iozone_does(tmp_path: Path) -> None:
    words = clients(tmp_path, "localhost", "localhost")
    process = started(2, *words, "-i", "0", "-s", "4g", "-r", "4k", "--study", str(tmp_path / "out"))
    wait_for(lambda: len(list((tmp_path / "files").glob("iozone.DUMMY.*"))) == 2)
    (ranks,) = entries(tmp_path / "out", "ranks")
    os.kill(ranks["ranks"][0]["process"], signal.SIGINT)
    status, said = finished(process)
    assert status == 0, said
    assert said.endswith("\niozone: interrupted\n\nexiting iozone\n\n")
    assert not list((tmp_path / "files").iterdir())
