"""`mileage doctor`: the checks, its text and its exit status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from mileage.cli import doctor as module
from mileage.cli.doctor import (
    Finding,
    as_text,
    check_cache,
    check_clock,
    check_file_system,
    check_governor,
    check_ground,
    check_load,
    check_machine,
    check_mount_options,
    check_space,
    check_steal,
    check_swap,
    doctor,
    verdict_of,
)
from mileage.targets.filesystem import Ground
from tests import smart_answers as answers

GIB = 1 << 30

QUIET = {
    "cpu.governor": "performance",
    "cpu.hypervisor": "none",
    "cpu.online": "0-3,6",
    "kernel.clocksource": "tsc",
    "memory.swap_areas": "none",
    "now.loadavg": "0.10 0.20 0.30",
    "now.pressure_cpu_some_percent": "0.00",
    "now.pressure_io_some_percent": "0.25",
    "now.steal_percent": "0.00",
}
SPOILED = QUIET | {
    "cpu.governor": "powersave",
    "cpu.hypervisor": "kvm",
    "kernel.clocksource": "hpet",
    "memory.swap_areas": "/dev/sda3",
    "now.loadavg": "3.10 0.20 0.30",
    "now.pressure_io_some_percent": "12.00",
    "now.steal_percent": "3.50",
}


def ground(
    *,
    fs_type: str = "ext4",
    mount_point: str = "/mnt/t",
    options: tuple[str, ...] = ("rw", "noatime"),
    device: str = "sdb1",
    capacity_bytes: int = 100 * GIB,
    free_bytes: int = 60 * GIB,
) -> Ground:
    return Ground(
        fs_type=fs_type,
        mount_point=mount_point,
        mount_options=options,
        source="/dev/sdb1",
        device=device,
        disk="sdb",
        block_bytes=512,
        capacity_bytes=capacity_bytes,
        free_bytes=free_bytes,
        read_only=False,
    )


def test_a_quiet_machine_as_text() -> None:
    findings = list(check_machine(QUIET))
    findings += check_ground(ground(), memory=16 * GIB, direct_supported=True, left_over=[])
    assert as_text(findings) == (
        "ok       cpu governor     performance\n"
        "ok       clock source     tsc\n"
        "ok       swap             none\n"
        "ok       other load       tasks waited in the last 10 s (pressure): io 0.25 %, cpu 0 %; "
        "load of the last minute 0.1 on 5 processors\n"
        "ok       stolen time      0.00 % since boot (bare metal)\n"
        "ok       file system      ext4 on sdb1\n"
        "ok       mount options    rw,noatime\n"
        "ok       free space       60.0 GiB of 100.0 GiB (40 % is not available)\n"
        "ok       page cache       memory 16.0 GiB, free space 60.0 GiB: a file of twice the memory fits\n"
        "ok       O_DIRECT         supported"
    )


def test_a_spoiled_machine_as_text() -> None:
    assert as_text(list(check_machine(SPOILED))) == (
        "warn     cpu governor     powersave\n"
        "                          -> set it to performance: cpupower frequency-set -g performance\n"
        "warn     clock source     hpet is slow to read\n"
        "                          -> boot with clocksource=tsc if this CPU's TSC is steady; "
        "latencies under 10 us are not to be trusted\n"
        "warn     swap             /dev/sda3\n"
        "                          -> turn it off while measuring: swapoff -a\n"
        "warn     other load       tasks waited in the last 10 s (pressure): io 12 %, cpu 0 %; "
        "load of the last minute 3.1 on 5 processors\n"
        "                          -> stop other work on this machine, or wait until it is over\n"
        "warn     stolen time      3.50 % since boot (hypervisor kvm)\n"
        "                          -> other guests take CPU time; use a quieter host"
    )


@pytest.mark.parametrize(
    ("environment", "verdict"),
    [
        (QUIET, "Verdict: nothing was found that would spoil a measurement."),
        (
            QUIET | {"cpu.governor": "unknown"},
            "Verdict: nothing was found that would spoil a measurement. Not known: cpu governor.",
        ),
        (
            SPOILED,
            "Verdict: results measured now would be doubtful; mend first: cpu governor, clock source, swap, "
            "other load, stolen time.",
        ),
    ],
)
def test_the_last_line_says_whether_to_measure(environment: dict[str, str], verdict: str) -> None:
    assert verdict_of(list(check_machine(environment))) == verdict


def test_a_refused_target_is_the_verdict() -> None:
    refused = Finding("target", "refused", "/etc/passwd: the file holds data")
    assert verdict_of([refused, *check_machine(SPOILED)]) == "Verdict: this target cannot be measured."


def test_what_cannot_be_read_is_unknown_and_never_fine() -> None:
    assert {finding.state for finding in check_machine({})} == {"unknown"}


def test_a_finding_that_is_not_fine_says_what_to_do() -> None:
    spoiled = list(check_machine(SPOILED))
    spoiled += check_ground(
        ground(fs_type="tmpfs", device="unknown", options=("sync",), free_bytes=GIB),
        memory=16 * GIB,
        direct_supported=False,
        left_over=[".mileage-01234567.dat"],
    )
    assert {finding.state for finding in spoiled} == {"warn"}
    assert all(finding.advice for finding in spoiled)


@pytest.mark.parametrize(
    ("finding", "state"),
    [
        (check_governor("performance, powersave"), "warn"),
        (check_clock("kvm-clock"), "ok"),
        (check_swap("/swapfile"), "warn"),
        (check_steal("2.00", "kvm"), "ok"),
        (check_steal("2.01", "kvm"), "warn"),
        (check_load({"now.loadavg": "0.60 0 0"}), "warn"),
        (check_load({"now.pressure_cpu_some_percent": "1.00"}), "ok"),
        (check_load({"now.pressure_cpu_some_percent": "1.01"}), "warn"),
        (check_file_system(ground(mount_point="/")), "warn"),
        (check_file_system(ground(fs_type="nfs4", device="unknown")), "warn"),
        (check_file_system(ground(fs_type="unknown", mount_point="unknown")), "unknown"),
        (check_mount_options(()), "unknown"),
        (check_mount_options(("rw", "discard=async")), "warn"),
        (check_mount_options(("rw", "compress-force=zstd")), "warn"),
        (check_mount_options(("rw", "async")), "ok"),
        (check_mount_options(("rw", "data=journal")), "warn"),
        (check_mount_options(("rw", "data=ordered")), "ok"),
        (check_space(ground(free_bytes=20 * GIB)), "ok"),
        (check_space(ground(free_bytes=19 * GIB)), "warn"),
        (check_space(ground(capacity_bytes=0)), "unknown"),
        (check_cache(32 * GIB, 16 * GIB, True), "ok"),
        (check_cache(32 * GIB - 1, 16 * GIB, True), "warn"),
        (check_cache(32 * GIB, 0, True), "unknown"),
    ],
)
def test_where_the_lines_are_drawn(finding: Finding, state: str) -> None:
    assert finding.state == state


@pytest.fixture
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "snapshot", lambda *_, **__: QUIET)


@pytest.mark.usefixtures("quiet")
def test_the_command_without_a_target_ends_with_0() -> None:
    result = CliRunner().invoke(doctor, [])
    assert result.exit_code == 0
    assert result.output.startswith("ok       cpu governor     performance\n")


@pytest.mark.usefixtures("quiet")
def test_without_a_target_every_drive_is_asked_for_its_health(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers.stand_in(tmp_path, "smartctl", answers.FAILING_DISK)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(module, "drives", lambda root: ["sda", "sdb"])
    result = CliRunner().invoke(doctor, [])
    assert result.exit_code == 0
    for disk in ("sda", "sdb"):
        assert (
            f"warn     drive health     {disk}: FAILING: its SMART self-assessment is FAILED" in result.output
        )
    (tmp_path / "smartctl").unlink()
    assert CliRunner().invoke(doctor, []).output.count("smartctl is not installed") == 1


@pytest.mark.usefixtures("quiet")
def test_the_command_on_a_directory_leaves_nothing_there(tmp_path: Path) -> None:
    result = CliRunner().invoke(doctor, [f"dir:{tmp_path}"])
    assert result.exit_code == 0, result.output
    assert f"dir:{tmp_path} passes every guard" in result.output
    assert "O_DIRECT" in result.output
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("quiet")
def test_left_over_work_files_are_named(tmp_path: Path) -> None:
    (tmp_path / ".mileage-01234567.dat").touch()
    assert ".mileage-01234567.dat" in CliRunner().invoke(doctor, [f"dir:{tmp_path}"]).output


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize(
    "target", ["dir:/none/such", "block:/dev/null", "/none/such", "virtual:no-such-drive"]
)
def test_a_target_that_would_be_refused_ends_with_2(target: str) -> None:
    result = CliRunner().invoke(doctor, [target])
    assert result.exit_code == 2
    assert result.output.startswith("refused  target ")


@pytest.mark.usefixtures("quiet")
def test_json(tmp_path: Path) -> None:
    result = CliRunner().invoke(doctor, ["--json", f"dir:{tmp_path}"])
    report = json.loads(result.output)
    assert report["target"] == f"dir:{tmp_path}"
    assert report["findings"][0] == {
        "name": "target",
        "state": "ok",
        "text": f"dir:{tmp_path} passes every guard",
        "advice": "",
    }
    assert CliRunner().invoke(doctor, ["--json", "nonsense"]).exit_code == 2


def test_a_directory_whose_owner_may_not_write_is_refused(tmp_path: Path) -> None:
    (tmp_path / "place").mkdir(mode=0o555)
    assert CliRunner().invoke(doctor, [f"dir:{tmp_path}/place"]).exit_code == 2
