"""Exit statuses: those of the tools, for help and for what they do not accept; 2 for refusals of Mileage's own."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from mileage.dropin.flags import tool_named
from tests.command import mileage

INSTALLED = (
    "dd --help",
    "dd --version",
    "dd bogus=1",
    "dd bogus",
    "dd --bogus",
    "dd --version=1",
    "dd if=/dev/zero of=new bs=1q count=1",
    "dd if=/dev/zero of=new bs=0 count=1",
    "dd if=/dev/zero of=new count=x",
    "dd if=/dev/zero of=new count=1 conv=bogus",
    "dd if=/dev/zero of=new count=1 oflag=bogus",
    "dd if=/dev/zero of=new count=1 status=bogus",
    "fio",
    "fio -h",
    "fio --help",
    "fio -v",
    "fio --version",
    "fio --bogus",
    "fio --name=a --bogus=1",
    "fio --name=a --size=4k --rw=bogus",
    "fio --name=a --size=4k --bs=x",
    "fio --name=a --size=4k --ioengine=bogus",
    "fio --name=a --size=4k --verify=bogus",
    "fio --name=a --size=4k --direct=2",
    "fio --name=a --size=4k --rwmixread=150 --rw=rw",
    "fio --name=a --size=4k --runtime=x",
    "fio --name=a --size=4k --cpus_allowed=777",
    "fio --name=a --size=4k --output-format=bogus",
    "fio --name=a --size=4k --terse-version=9",
    "hdparm",
    "hdparm -h",
    "hdparm -V",
    "hdparm --bogus",
    "hdparm -@",
    "hdparm -t",
    "hdparm -t none",
    "hdparm -t --offset x /dev/null",
    "hdparm -t --direct=1 /dev/null",
)
"""Command lines of tools that are asked here as well."""
WRITTEN = {
    "ior -h": 1,
    "ior --help": 1,
    "ior -b 4k -h": 1,
    "ior --bogus": 1,
    "ior -8": 1,
    "ior bogus": 1,
    "ior -b": 1,
    "ior -a BOGUS": 255,
    "mdtest -h": 1,
    "mdtest --help": 1,
    "mdtest -Q": 1,
    "mdtest -n": 1,
    "mdtest bogus": 1,
    "mdtest -n 2 -c -S": 1,
    "mdtest -n 2 -W 1 -b 2": 1,
    "mdtest -n 2 -X": 1,
    "mdtest -n 2 -F -w 10 -e 20": 1,
    "mdtest -n 2 --dataPacketType q": 255,
    "iozone": 255,
    "iozone -h": 0,
    "iozone -v": 0,
    "iozone -s": 255,
    "iozone -8": 255,
    "iozone -?": 255,
    "iozone -+@": 255,
    "iozone --bogus": 255,
    "iozone -i 1 -s 64 -f none": 58,
    "iozone -i 2 -s 64 -f none": 70,
    "iozone -i 3 -s 64 -f none": 75,
    "iozone -i 5 -s 64 -f none": 86,
    "iozone -i 7 -s 64 -f none": 52,
    "iozone -E -i 10 -s 64 -f none": 101,
    "mpirun --bogus ior": 1,
    "mpirun ior -h": 1,
    "mpirun -np x ior": 1,
    "mpirun -machinefile none ior": 1,
}
"""Statuses of IOR and mdtest 4.1, IOzone 3.489 and Open MPI 4.1, which few machines have."""
OWN = (
    "dd if=/dev/zero of=new bs=1M count=1 conv=swab",
    "dd if=/dev/zero of=new bs=1M count=1 oflag=append",
    "fio --name=a --size=4k --rw=trim",
    "fio --name=a --size=4k --mem=malloc",
    "fio --name=a --size=4k --ioengine=rdma",
    "fio --name=a --size=4k --verify=pattern",
    "hdparm -Z /dev/null",
    "hdparm -t --verbose /dev/null",
    "ior -a MPIIO",
    "ior --posix.rangelocks",
    "mdtest -n 2 -a MPIIO",
    "mdtest -n 2 --print-all-procs",
    "mdtest -n 2 -c -u",
    "iozone -s 64 -r 128 -i 0",
    "iozone -s x",
    "iozone -+Q 4 -i 0",
)
"""What the tools do, and Mileage refuses."""


@pytest.mark.parametrize("line", INSTALLED)
def test_a_status_is_that_of_the_installed_tool(line: str, tmp_path: Path) -> None:
    program, *words = line.split()
    original = shutil.which(program) or shutil.which(program, path="/usr/sbin:/sbin")
    if original is None:
        pytest.skip(f"needs {program}")
    theirs = subprocess.run((original, *words), cwd=tmp_path, capture_output=True, check=False)
    ours = mileage(program, *words, cwd=tmp_path)
    assert ours.returncode == theirs.returncode, ours.stderr
    assert bool(ours.stderr) == bool(theirs.returncode)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("line", "status"), WRITTEN.items(), ids=WRITTEN)
def test_a_status_is_that_of_the_tool(line: str, status: int, tmp_path: Path) -> None:
    done = mileage(*line.split(), cwd=tmp_path)
    assert done.returncode == status, done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("line", OWN)
def test_a_refusal_of_what_the_tool_does_stays_2(line: str, tmp_path: Path) -> None:
    done = mileage(*line.split(), cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_other_options_are_those_of_fio() -> None:
    program = shutil.which("fio")
    if program is None:
        pytest.skip("needs fio")
    lists = [("--cmdhelp=all",), *((f"--enghelp={name}",) for name in ("libaio", "io_uring", "net", "sg"))]
    texts = [
        subprocess.run((program, *words), capture_output=True, text=True, check=True).stdout
        for words in lists
    ]
    lines = [line.partition(":") for text in texts for line in text.splitlines()]
    theirs = {f"--{name.strip()}" for name, colon, _ in lines if colon}
    fio = tool_named("fio")
    ours = {spelling for flag in fio.flags for spelling in flag.spellings} | fio.others
    assert len(theirs) > 200
    assert theirs - ours == set()


REFUSED_BY_THE_ENGINE = (
    "fio --name=a --size=64k --bs=513 --direct=1",
    "fio --name=a --size=64k --ioengine=mmap --direct=1",
    "fio --name=a --size=64k --loops=999999999999999999",
    "fio --name=a --size=64k --numjobs=100000",
    "fio --name=a --size=64k --numjobs=40 --name=b --numjobs=4095",
    "fio --name=a --size=64k --nrfiles=100000000",
)


@pytest.mark.parametrize("line", REFUSED_BY_THE_ENGINE)
def test_a_job_that_the_engine_refuses_ends_before_the_head(line: str, tmp_path: Path) -> None:
    done = mileage(*line.split(), cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
