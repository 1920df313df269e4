"""What does not fit on a file system of 128 MiB is refused before the first byte and leaves nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.command import mileage

pytestmark = pytest.mark.xdist_group("devices")

IMAGE_BYTES = 128 << 20
INODES = 2048

COMMANDS = {
    "metarates files": "metarates -n 1000000 -C -d {}",
    "metarates directories": "metarates --tasks 4 -n 2036 -C -u -d {}",
    "mdtest files": "mdtest -n 5000 -d {} --study {}.study",
    "mdtest bytes": "mdtest -n 1000 -w 200k -e 200k -d {} --study {}.study",
    "mdtest blocks": "mdtest --tasks 2 -n 950 -w 65k -e 65k -d {} --study {}.study",
    "ior bytes": "ior -w -b 200M -t 1M -o {}/f --study {}.study",
    "ior ranks and segments": "ior --tasks 4 -w -F -b 1M -s 100 -t 256k -o {}/f --study {}.study",
    "iozone": "iozone -i 0 -s 200M -r 1M -f {0}/a",
    "iozone children": "iozone -t 4 -s 100M -r 1M -i 0 -F {0}/a {0}/b {0}/c {0}/d",
    "dd": "dd if=/dev/zero of={}/f bs=1M count=200",
    "measure files": "measure --target dir:{} --workload metadata.create --operations 5000",
    "measure file": "measure --target file:{}/f --workload throughput.write --size 200MiB",
    "measure threads": (
        "measure --target dir:{} --workload throughput.write --size 20MiB --threads 8 --files per_thread"
    ),
    "run": "run {}.toml --out {}.study",
    "fio": "fio --name=a --rw=write --size=200m --filename={}/f",
    "fio files of jobs": "fio --name=a --rw=randread --size=20m --numjobs=8 --directory={}",
    "fio inodes": "fio --name=a --ioengine=filecreate --rw=write --filesize=4k --nrfiles=4000 --directory={}",
    "ior": "ior -b 200M -t 1M -o {}/f",
    "ior tasks": "ior --tasks 4 -b 1M -F -s 100 -t 256k -o {}/f",
    "mpirun": "mpirun -np 4 ior -w -k -b 50M -t 1M -o {}/f",
    "mdtest": "mdtest -n 5000 -d {}/m",
    "mdtest bytes of tasks": "mdtest --tasks 2 -n 900 -w 80k -e 80k -F -d {}/m",
}
TOOL_STATUSES = {"dd": 1, "fio": 1, "ior": 255, "mpirun": 255, "mdtest": 255}
"""Exit statuses of tools that fail; of a study it is 3."""
STUDY = """
name = "small"
question = "How fast are files created?"
target = "dir:{}"
[state]
file = "1MiB"
[[stage]]
name = "new"
measure = ["files"]
[measure.files]
workload = "metadata.create"
record = "4KiB"
stop.operations = 5000
"""
UNAWARE = """
import os, sys
real = os.statvfs
def much(path):
    found = [*real(path)]
    return os.statvfs_result([*found[:2], *(1000 * value for value in found[2:8]), *found[8:]])
os.statvfs = much
from mileage.__main__ import main
sys.argv[0] = "mileage"
main()
"""
"""The command line where a thousand times as much is free as there is: others have taken the rest meanwhile."""


def _run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout.strip()


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """An ext4 of 128 MiB with few inodes, mounted."""
    if os.geteuid() != 0:
        pytest.skip("a loop device needs root")
    folder = tmp_path_factory.mktemp("room")
    image, place = folder / "image", folder / "small"
    with image.open("wb") as file:
        file.truncate(IMAGE_BYTES)
    place.mkdir()
    try:
        _run("mkfs.ext4", "-q", "-N", str(INODES), str(image))
        device = _run("losetup", "--find", "--show", str(image))
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no file system can be had: {error}")
    try:
        _run("mount", device, str(place))
        try:
            place.with_suffix(".toml").write_text(STUDY.format(place))
            yield place
        finally:
            _run("umount", str(place))
    finally:
        _run("losetup", "-d", device)


def _inside(place: Path) -> tuple[list[Path], int, int]:
    space = os.statvfs(place)
    return sorted(place.rglob("*")), space.f_bfree, space.f_ffree


def _words(command: str, place: Path, study: Path) -> list[str]:
    text = command.replace("{}.study", str(study)).replace("{}", "{0}")
    return text.format(place).split()


@pytest.mark.parametrize("name", COMMANDS)
def test_what_does_not_fit_is_refused_before_the_first_byte(small: Path, tmp_path: Path, name: str) -> None:
    before, changed_ns = _inside(small), small.stat().st_mtime_ns
    done = mileage(*_words(COMMANDS[name], small, tmp_path / "study"))
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    refused = [line for line in done.stderr.splitlines() if " free on " in line]
    # What is needed and what is free.
    assert refused, done.stderr
    assert all(sum(word[0].isdigit() for word in line.split()) >= 2 for line in refused), refused
    assert (_inside(small), small.stat().st_mtime_ns) == (before, changed_ns)
    assert not (tmp_path / "study").exists()


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "run"])
def test_a_file_system_that_fills_up_keeps_nothing(small: Path, tmp_path: Path, name: str) -> None:
    before = _inside(small)[0]
    words = _words(COMMANDS[name], small, tmp_path / "study")
    done = subprocess.run(
        [sys.executable, "-c", UNAWARE, *words], capture_output=True, text=True, timeout=120, check=False
    )
    status = 3 if "--study" in words else TOOL_STATUSES.get(words[0], 3)
    assert done.returncode == status, done.stderr
    text = done.stderr if status != 255 else done.stdout
    said = [line for line in text.splitlines() if "No space left on device" in line]
    assert len(said) == 1, text
    assert "Traceback" not in done.stderr
    assert _inside(small)[0] == before


@pytest.mark.skipif(os.geteuid() != 0, reason="a loop device needs root")
def test_files_beyond_the_inodes_of_a_file_system_that_is_made_are_refused(tmp_path: Path) -> None:
    study = STUDY.replace("dir:{}", "loop:64MiB").replace("[state]", '[state]\nfilesystem = "ext4"')
    (tmp_path / "study.toml").write_text(study.replace("5000", "50000").replace('record = "4KiB"', ""))
    done = mileage("run", str(tmp_path / "study.toml"), "--out", str(tmp_path / "study"))
    assert done.returncode == 2, done.stderr
    assert "50,003" in done.stderr


def test_space_of_files_that_are_written_again_counts_as_free(small: Path) -> None:
    file = small / "kept"
    try:
        for tests in ("-i 0", "-i 1", "-i 0 -i 2"):
            done = mileage(*f"iozone -w {tests} -s 80m -r 1m -f {file}".split(), "--destroy", str(file))
            assert done.returncode == 0, done.stderr
            assert file.stat().st_size == 80 << 20
        done = mileage(*f"iozone -w -i 0 -s 200m -r 1m -f {file}".split(), "--destroy", str(file))
        assert (done.returncode, file.stat().st_size) == (2, 80 << 20)
    finally:
        file.unlink(missing_ok=True)


def test_a_study_that_no_longer_fits_is_refused_when_it_is_resumed(small: Path, tmp_path: Path) -> None:
    before = _inside(small)[0]
    study = tmp_path / "study"
    first = [sys.executable, "-c", UNAWARE, *_words(COMMANDS["run"], small, study)]
    assert subprocess.run(first, capture_output=True, timeout=120, check=False).returncode == 3
    # The work file stays for the study that can be resumed, the files of the run do not.
    (kept,) = set(_inside(small)[0]) - set(before)
    try:
        done = mileage("run", str(study))
        assert done.returncode == 2
        assert "5,003" in done.stderr
    finally:
        kept.unlink()
