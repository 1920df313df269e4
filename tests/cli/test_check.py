"""`mileage check` on every kind of target: what it measures, what it judges, what it leaves behind."""

from __future__ import annotations

import hashlib
import html
import json
import math
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from subprocess import CompletedProcess
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from mileage.analysis import check_text
from mileage.analysis.check_result import Row
from mileage.app.check import CheckOptions, plan_of, plan_of_pair
from mileage.app.check_findings import TargetFindings, falls, memory_below
from mileage.errors import Refused
from mileage.model.run_record import Series
from mileage.store import StudyFolder
from mileage.store.environment import disk_of
from mileage.targets.filesystem import look_at
from tests import smart_answers as answers
from tests.command import mileage

FAST = ("--seconds", "0.02")
X25E = "virtual:intel-x25e-64gb"


def checked(*words: str, status: int = 0, **more: Any) -> str:
    done: CompletedProcess[str] = mileage("check", *words, *FAST, **more)
    assert done.returncode == status, done.stderr + done.stdout
    return done.stdout


def values(*words: str, status: int = 0, **more: Any) -> Any:
    return json.loads(checked(*words, "--json", status=status, **more))


def flat(text: str) -> str:
    """A text without its line breaks."""
    return " ".join(text.split())


def test_a_virtual_drive_that_is_as_its_class() -> None:
    text = checked(X25E)
    assert all(len(line) <= 72 for line in text.splitlines())
    for words in (
        "Intel X25-E 64 GB (virtual)",
        "simulated time",
        "a virtual drive has no SMART data",
        "as its class does (SLC SSD of the X25-E class, SATA 3 Gb/s)",
        "fresh drive: ",
        "Not tested: the speed once a write cache (SLC) is full",
        f"mileage run sustained --target {X25E}",
    ):
        assert words in flat(text)
    # The spread of a simulation is 0, which is not how sure the rates of the drive are.
    assert "model: ± is the spread of the simulation, not the error of the model" in flat(text)
    assert (
        "missed by over 10 %, most by random write, depth 32: published 3,300 IOPS, simulated 7,347 IOPS (+123 %)"
        in flat(text)
    )


def test_every_test_is_repeated_five_times_and_has_both_units() -> None:
    found = values(X25E)
    tests = [(row["direction"], row["name"], row["depth"]) for row in found["rows"]]
    names = [("SEQ 1 MiB", 8), ("SEQ 1 MiB", 1), ("RND 4 KiB", 32), ("RND 4 KiB", 1)]
    assert tests == [(direction, *name) for direction in ("read", "write") for name in names]
    for row in found["rows"]:
        assert len(row["mb_per_s"]) == len(row["iops"]) == 5
        record = 1 << 20 if row["name"].startswith("SEQ") else 4096
        assert row["mb_per_s"] == pytest.approx([ops * record / 1e6 for ops in row["iops"]])
    assert (found["fit"]["fit"], found["status"]) == ("fits", 0)


def test_a_drive_on_a_slow_bus_is_below_its_class() -> None:
    found = values(f"{X25E},link_mb_per_s=30", status=1)
    assert found["fit"]["fit"] == "below"
    assert "BELOW its class" in found["verdict"]
    assert "TechReport 15931" in found["verdict"]


def test_a_drive_of_no_class_is_not_judged() -> None:
    text = flat(checked("virtual:plain-64gib"))
    assert "no class of drives (such as SATA SSDs) is known for it" in text
    assert "no published rate of a real drive is known to compare the model with" in text


def test_the_bytes_before_a_run_and_of_all_runs_agree() -> None:
    text = flat(checked(X25E))
    sizes = []
    for words in (r"all runs wrote ([\d.]+) GiB", r"at most ([\d.]+) GiB had"):
        found = re.search(words, text)
        assert found, text
        sizes.append(float(found[1]))
    assert sizes[0] / 2 < sizes[1] < sizes[0]


def test_two_drives_side_by_side() -> None:
    text = checked(X25E, f"{X25E},link_mb_per_s=30", status=1)
    assert all(len(line) <= 72 for line in text.splitlines() if "mileage" not in line)
    (row,) = [line for line in text.splitlines() if "read  SEQ 1 MiB depth 8" in line]
    ratio = float(row.split()[8])
    assert ratio == pytest.approx(30 / 254.2, abs=0.02)
    assert "A: This virtual drive reads" in text
    assert "B: This virtual drive reads" in text
    assert "in turn on A and B" in text
    assert "In this simulation drive B does SEQ 1 MiB read depth 8 at 30" in flat(text)
    assert "Five paired blocks." in flat(text)
    # What is true of both is printed once.
    own, _, shared = text.partition("\nA and B:\n")
    assert "[!] fresh drive" in shared
    assert "[!] fresh drive" not in own
    assert "[!] random reads at depth 32" in own


def test_the_saved_page_has_the_text_of_the_check(tmp_path: Path) -> None:
    text = checked(X25E, "--save", str(tmp_path / "one"), env={"MILEAGE_REPORT": "text"})
    assert (tmp_path / "one" / "check.txt").read_text() == text
    for again in (False, True):
        if again:
            assert mileage("report", str(tmp_path / "one"), "--report", "text").returncode == 0
        page = html.unescape((tmp_path / "one" / "report.html").read_text())
        assert text.rstrip() in page
        assert '<p class="verdict">This virtual drive reads 254 MB/s in sequence and' in page
        assert "--as-study" not in page
        assert "Note: " not in page
    # What speaks against conclusions stands above the verdict of the check and does not replace it.
    journal = tmp_path / "one" / "journal.jsonl"
    journal.write_text(journal.read_text().replace('"run":1', '"run":2', 1))
    assert mileage("report", str(tmp_path / "one"), "--report", "text").returncode == 0
    page = html.unescape((tmp_path / "one" / "report.html").read_text())
    note, verdict = (
        page.index('<p class="caution mild">Note: '),
        page.index('<p class="verdict">This virtual'),
    )
    assert note < verdict


def test_two_directories_of_one_drive_are_not_two_drives(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    found = values(str(tmp_path / "a"), str(tmp_path / "b"))
    if disk_of(tmp_path):
        assert "same-disk" in [caveat["code"] for caveat in found["comparison"]["caveats"]]
    (tmp_path / "again").symlink_to(tmp_path / "a")
    assert "is given twice" in mileage("check", str(tmp_path / "a"), str(tmp_path / "again"), *FAST).stderr


@pytest.mark.slow
def test_the_runs_of_two_targets_take_turns(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    plan = plan_of_pair([f"dir:{tmp_path}/a", f"dir:{tmp_path}/b"], CheckOptions(quick=True))
    assert plan is not None
    measured = [run for run in plan.runs if run.role == "measure"]
    assert len(measured) == 80
    for block in range(1, 6):
        own = [run.setting for run in measured if run.block == block]
        assert sorted(own) == [0] * 8 + [1] * 8
    found = values(str(tmp_path / "a"), str(tmp_path / "b"), "--quick")
    assert [one["target"] for one in found["targets"]] == [f"dir:{tmp_path}/a", f"dir:{tmp_path}/b"]
    assert not list((tmp_path / "a").iterdir())
    assert not list((tmp_path / "b").iterdir())


@pytest.mark.slow
def test_targets_of_two_kinds_follow_each_other(tmp_path: Path) -> None:
    text = checked(str(tmp_path), X25E, "--quick")
    assert "all of A, then all of B" in flat(text)
    assert "given twice" in mileage("check", X25E, X25E, *FAST).stderr
    assert mileage("check", X25E, X25E, X25E).returncode == 2


@pytest.mark.slow
def test_a_directory_holds_nothing_afterwards(tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    text = checked(str(place), "--quick")
    assert list(place.iterdir()) == []
    assert f"dir:{place}" in text.replace("\n", "").replace(" ", "")
    assert "Write" in text


@pytest.mark.parametrize("wanted", [CheckOptions(), CheckOptions(quick=True), CheckOptions(seconds=5)])
@pytest.mark.parametrize("target", [X25E, "dir:"])
def test_the_plan_is_possible_however_long_the_runs_are(
    wanted: CheckOptions, target: str, tmp_path: Path
) -> None:
    plan = plan_of(f"dir:{tmp_path}" if target == "dir:" else target, wanted)
    assert len([run for run in plan.runs if run.role == "measure"]) == 40
    blocks = [[run.cell for run in plan.runs if run.role == "measure" and run.block == n] for n in (1, 2)]
    assert sorted(blocks[0]) == sorted(blocks[1]) == sorted(cell.label for cell in plan.cells)
    assert blocks[0] != blocks[1]


@pytest.mark.slow
def test_without_io_uring_threads_make_the_depth(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mileage.app.check.has_io_uring", lambda: False)
    found = values(str(tmp_path), "--quick")
    assert sorted({row["depth"] for row in found["rows"]}) == [1, 8, 32]
    assert "depth by threads" in dict(found["drive"])["Method"]
    assert "threads" not in dict(values(X25E)["drive"])["Method"]


def test_a_study_folder_is_kept_where_it_is_wanted(tmp_path: Path) -> None:
    checked(X25E, "--save", str(tmp_path / "kept"))
    assert "sequential_read" in mileage("report", str(tmp_path / "kept")).stdout + (
        tmp_path / "kept" / "report.html"
    ).read_text(encoding="utf-8")
    assert mileage("check", X25E, *FAST, "--save", str(tmp_path / "kept")).returncode == 2


def test_memory_and_nothing_are_refused(tmp_path: Path) -> None:
    if not Path("/dev/shm").is_mount():
        pytest.skip("there is no tmpfs at /dev/shm")
    done = mileage("check", "/dev/shm", *FAST)
    assert done.returncode == 2
    assert "is a tmpfs, which is memory: there is no drive to check" in done.stderr
    assert "no drive to check" in mileage("check", "null:", *FAST).stderr
    assert mileage("check", str(tmp_path / "missing"), *FAST).returncode == 2


def test_too_little_room_is_refused(tmp_path: Path) -> None:
    (tmp_path / "small").write_bytes(b"x" * 5000)
    done = mileage("check", str(tmp_path / "small"), *FAST)
    assert done.returncode == 2
    assert "a check needs 1 MiB at least" in done.stderr
    if Path("/sys/kernel").is_dir():
        assert "has room for 0 B; a check needs 8 MiB at least" in mileage("check", "/sys/kernel").stderr


def test_a_check_states_the_most_that_it_writes_and_keeps_to_it(tmp_path: Path) -> None:
    limit = 1 << 30
    plan = plan_of(f"dir:{tmp_path}", CheckOptions(quick=True, max_write_bytes=limit))
    most = sum(run.action.bytes_written for run in plan.runs)
    assert 0.5 * limit < most <= limit
    assert all(cell.workload.stop.bytes for cell in plan.cells if cell.workload is not None)
    done = mileage("check", str(tmp_path), *FAST, "--max-writes", "3GiB", "--save", str(tmp_path / "kept"))
    assert re.search(r"writes 2\.\S+ GiB at most to dir:", done.stderr)
    written = sum(run.record.bytes_written for run in StudyFolder.open(tmp_path / "kept").content().runs())
    assert 0 < written <= 3 * limit
    with pytest.raises(Refused) as refused:
        plan_of(f"dir:{tmp_path}", CheckOptions(max_write_bytes=1 << 20))
    assert refused.value.refusals[0].code == "out-of-range"
    assert "at most" not in mileage("check", X25E, *FAST).stderr


def test_a_file_with_a_content_is_only_read(tmp_path: Path) -> None:
    file = tmp_path / "data"
    file.write_bytes(os.urandom(1 << 22))
    before = hashlib.sha256(file.read_bytes()).hexdigest()
    text = checked(str(file))
    assert hashlib.sha256(file.read_bytes()).hexdigest() == before
    assert "Not tested: writes, since this file has content" in flat(text)
    assert "zeros only" not in text


@pytest.mark.slow
@pytest.mark.xdist_group("devices")
def test_ext4_on_a_loop_device(small_ext4: Path) -> None:
    text = checked(str(small_ext4), "--quick")
    assert "(ext4, " in flat(text)
    assert "a file as a loop device" in flat(text)
    assert "no class of drives" in flat(text)
    assert {path.name for path in small_ext4.iterdir()} == {"lost+found"}


@pytest.mark.xdist_group("devices")
def test_a_raw_device_is_only_read(loop_device: Path) -> None:
    def written() -> int:
        return int(Path(f"/sys/block/{loop_device.name}/stat").read_text().split()[6])

    def digest() -> str:
        with loop_device.open("rb") as device:
            return hashlib.file_digest(device, "sha256").hexdigest()

    before = digest(), written()
    text = flat(checked(str(loop_device)))
    assert (digest(), written()) == before
    assert "read only" in text
    assert "Write" not in text
    # The file below it has no blocks yet.
    assert "100 % of the sampled blocks hold only zeros" in text
    assert f"mileage run sustained --target block:{loop_device} --destroy {loop_device}" in text


@pytest.fixture
def limited(loop_device: Path) -> Iterator[Path]:
    """A control group that holds a loop device to 8 MiB/s; the test's own processes may enter it."""
    top = Path("/sys/fs/cgroup/blkio")
    if not os.access(top, os.W_OK):
        pytest.skip("needs the control group controller blkio, version 1")
    group = top / f"mileage-test-{os.getpid()}"
    group.mkdir()
    try:
        yield _held(group, loop_device)
    finally:
        group.rmdir()


def _held(group: Path, loop_device: Path) -> Path:
    """The group, which now limits reads of a device."""
    numbers = Path(f"/sys/block/{loop_device.name}/dev").read_text().strip()
    (group / "blkio.throttle.read_bps_device").write_text(f"{numbers} {8 << 20}")
    return group


@pytest.mark.slow
@pytest.mark.xdist_group("devices")
def test_a_throttled_device_is_reported_and_not_judged(limited: Path, loop_device: Path) -> None:
    command = [sys.executable, "-m", "mileage", "check", str(loop_device), "--json", "--seconds", "0.2"]
    done = subprocess.run(
        ["/bin/sh", "-c", f'echo $$ > {limited}/cgroup.procs && exec "$@"', "sh", *command],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert "a control group limits reads to 8,388,608 bytes/s" in found["findings"][0]["text"]
    assert found["findings"][0]["disturbs"]


@pytest.mark.slow
@pytest.mark.sampled(2)
@pytest.mark.xdist_group("devices")
def test_a_device_that_cannot_be_read_ends_with_status_3(loop_device: Path) -> None:
    with Path("/sys/block", loop_device.name, "loop/backing_file").open() as file:
        os.truncate(file.read().strip(), 0)
    for command in (["check", *FAST], ["measure", "--for", "20ms", "-w", "sequential_read", "-t"]):
        done = mileage(*command, f"block:{loop_device}")
        assert done.returncode == 3
        assert "failed after 0 bytes: Input/output error (EIO): the device reports a fault" in done.stderr
        assert "MB/s" not in done.stdout


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("answer", "status", "expected"),
    [
        (answers.HEALTHY_SATA, 0, "This drive is healthy; it reads"),
        (answers.FAILING_DISK, 1, "is FAILING (its SMART self-assessment is FAILED"),
        (answers.WARNING_NVME, 1, "spare blocks are below their threshold"),
        (answers.USB_BRIDGE, 0, "its USB bridge does not pass SMART on"),
    ],
    ids=["healthy", "failing", "nvme-warning", "usb-bridge"],
)
def test_health_decides_over_the_exit_status(
    answer: dict[str, Any], status: int, expected: str, tmp_path: Path
) -> None:
    place = tmp_path / "place"
    place.mkdir()
    if disk_of(place) is None:
        pytest.skip("no disk is known below the temporary directory")
    answers.stand_in(tmp_path / "bin", "smartctl", answer)
    path = {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
    text = checked(str(place), "--quick", status=status, env=path)
    assert expected in flat(text)
    health = mileage("doctor", str(place), env=path).stdout
    assert "drive health" in health
    assert ("FAILING" in health) == (status == 1)


def test_nothing_is_left_when_it_is_killed(tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    command = [sys.executable, "-m", "mileage", "check", str(place), "--quick", "--seconds", "30"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        until = time.monotonic() + 60
        while not list(place.iterdir()) and time.monotonic() < until:
            time.sleep(0.05)
        assert list(place.iterdir())
        process.send_signal(signal.SIGKILL)
    checked(X25E)
    assert list(place.iterdir()) == []


NVME = {
    "disk": "nvme0n1",
    "bus": "nvme",
    "speed": "8.0",
    "lanes": "2",
    "best_speed": "8.0",
    "best_lanes": "4",
    "above": "dm-0",
    "target.rotational": "0",
    "target.drive_model": "Samsung SSD 970 EVO 1TB",
    "target.drive_firmware": "2B2QEXE7",
    "target.disk_bytes": "1000204886016",
    "target.fs_type": "ext4",
    "target.smartctl": "present",
    "now.health_smart_passed": "true",
    "now.health_temperature_c": "41",
    "now.health_thm_temp1_trans_count": "2",
}


@pytest.mark.slow
def test_what_is_known_of_an_nvme_drive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = iter([NVME, {**NVME, "now.health_temperature_c": "63", "now.health_thm_temp1_trans_count": "3"}])
    monkeypatch.setattr("mileage.app.check.drive_facts", lambda place: next(looks))
    text = flat(checked(str(tmp_path), "--quick"))
    for words in (
        "Drive Samsung SSD 970 EVO 1TB, firmware 2B2QEXE7, 1 TB, NVMe, PCIe 3.0 x2, /dev/nvme0n1",
        "Health good: SMART passed, 63 °C",
        "NVMe SSD on PCIe 3.0 x2",
        "dm-0 lies on nvme0n1: encryption or a volume manager has a part in the rates",
        "warmed up from 41 to 63 °C",
        "throttled itself lightly because of its temperature",
        "its link runs at 8.0 GT/s x2 of 8.0 GT/s x4: another slot may be faster",
    ):
        assert words in text


def test_rates_that_fall_are_reported() -> None:
    """Truth: three of five runs of a made-up test fall to half after their first half; another test halves."""
    steady, falling = series([100] * 40), series([100] * 20 + [50] * 20)
    assert list(falls(seen([100.0] * 5, [falling, falling, falling, steady, steady]))) == [
        "RND 4 KiB read depth 1 slows down within its runs (3 of 5): after 200 ms of 390 ms the rate falls by 50% "
        "and stays there"
    ]
    (slower,) = falls(seen([100.0, 101.0, 80.0, 50.0, 51.0], [steady] * 5))
    assert slower.startswith("RND 4 KiB read depth 1 became 50 % slower from the first repetitions")
    assert list(falls(seen([100.0, 90.0, 95.0, 92.0, 85.0], [steady] * 5))) == []


@pytest.mark.parametrize(
    "rates",
    [
        [0.01, 0.05, 0.06, 0.4, 1.2],
        [30.0, 900.0, 850.0, 6000.0, 60.0],
        [12_345.0, 400_000.0, 3.0, 900_000.0, 20_000.0],
        [99.94, 100.1, 100.0, 100.2, 99.9],
    ],
)
def test_the_columns_never_touch(rates: list[float]) -> None:
    """A wide interval is printed itself; it stays two columns away from the rate, however long its ends are."""
    row = Row("RND 4 KiB", "read", 32, tuple(rates), tuple(256 * rate for rate in rates), 99_950.0, 1e6)
    line = check_text._row(row)
    assert len(line) <= check_text.WIDTH
    fields = re.split(r"\s+", line.strip().replace(" to ", "-").replace(" %", "%"))
    assert fields[:4] == ["RND", "4", "KiB", "depth"]
    mean = math.exp(sum(map(math.log, rates)) / len(rates))
    assert float(fields[5].replace(",", "")) == pytest.approx(mean, rel=0.2)
    ends = fields[6].split("-")
    if len(ends) == 2:
        low, high = (float(end.replace(",", "")) for end in ends)
        assert low <= mean <= high


def test_a_loop_device_on_a_file_in_memory_is_no_drive(tmp_path: Path) -> None:
    memory = Path("/dev/shm")
    if not memory.is_mount():
        pytest.skip("there is no tmpfs at /dev/shm")
    for name, place in (("loop7", tmp_path), ("loop8", memory)):
        folder = tmp_path / "sys/block" / name / "loop"
        folder.mkdir(parents=True)
        (folder / "backing_file").write_text(f"{place}\n")
    assert memory_below("loop8", tmp_path) == "the file behind loop8 lies on a tmpfs"
    if not look_at(tmp_path).is_memory:
        assert memory_below("loop7", tmp_path) == ""
    assert memory_below("ram0") == "ram0 is a disk in memory"
    assert memory_below("sda") == memory_below("") == memory_below("loop9", tmp_path) == ""


def series(operations: list[int]) -> Series:
    """The series of a run of reads of 4 KiB, in intervals of 10 ms."""
    count = len(operations)
    return Series(10_000_000, [4096 * number for number in operations], [0] * count, operations, [0] * count)


def seen(rates: list[float], courses: list[Series]) -> TargetFindings:
    """What was seen of a made-up test: its rates, and the course of each run."""
    row = Row("RND 4 KiB", "read", 1, tuple(rates), tuple(rates), None, None)
    runs: Any = tuple(SimpleNamespace(cell="a", record=SimpleNamespace(series=course)) for course in courses)
    cell: Any = SimpleNamespace(cell="a", notes=())
    plan: Any = None
    return TargetFindings(plan, ((cell, row),), runs, (), {}, {}, {}, {})


@pytest.mark.slow
@pytest.mark.xdist_group("devices")
def test_a_file_system_without_direct_io_is_reported(loop_device: Path, tmp_path: Path) -> None:
    """Truth: ext4 has no direct I/O with data=journal, as its documentation says; O_DIRECT goes through the cache."""
    place = tmp_path / "mounted"
    place.mkdir()
    subprocess.run(["mkfs.ext4", "-q", "-F", str(loop_device)], check=True)
    if subprocess.run(["mount", "-o", "data=journal", str(loop_device), str(place)], check=False).returncode:
        pytest.skip("this kernel's ext4 has no data journal")
    try:
        assert not look_at(place).has_direct
        text = flat(checked(str(place)))
    finally:
        subprocess.run(["umount", str(place)], check=True)
    assert "page cache NOT bypassed" in text
    assert "the rates include the page cache" in text
    assert "direct I/O," not in text


@pytest.mark.parametrize(("fs_type", "served"), [("fuse.sshfs", True), ("nfs4", True), ("ext4", False)])
def test_a_file_system_that_another_program_serves_may_cache(
    fs_type: str, served: bool, tmp_path: Path
) -> None:
    assert replace(look_at(tmp_path), fs_type=fs_type).is_served == served
