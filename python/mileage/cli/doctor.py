"""`mileage doctor [TARGET]`: what on this machine would spoil a measurement.

Scope: one line per thing that is known to spoil results, with its state and what to do about it. The
checks are pure functions of an environment snapshot and of what the target stands on.
What it refuses: changing anything, but for `--repair`, which undoes what the ledger lists. With a target it runs the
same guards as a study and writes nothing but an
empty, nameless file to learn whether O_DIRECT works. Exit status: 0, also with warnings; 2 when the target
would be refused.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

import click
import msgspec

from mileage.analysis.check_health import Health, health_of
from mileage.app.temporary_studies import clean_up_one_offs, one_offs_left
from mileage.errors import Refused
from mileage.model.target_kind import capabilities_of
from mileage.scratch import abandoned, remove_abandoned
from mileage.store.block_device import drives
from mileage.store.drive_facts import own_facts
from mileage.store.drive_health import health
from mileage.store.environment import snapshot
from mileage.targets.bare_path import with_scheme
from mileage.targets.directory import remains_in, remove_remains_of_runs
from mileage.targets.door import remove_leftovers
from mileage.targets.filesystem import UNKNOWN, Ground, look_at, memory_bytes, probe_direct
from mileage.targets.guard import ROOT
from mileage.targets.ledger import UndoResult, left_behind, repair
from mileage.targets.spec import parse_target
from mileage.targets.target_kinds import guard_target

State = Literal["ok", "warn", "unknown", "refused"]

PRESSURE_PERCENT_MAX = 1.0
"""More time than this waiting for I/O or CPU in the last 10 s is foreign load."""
STEAL_PERCENT_MAX = 2.0
LOAD_MAX = 0.5
FILL_PERCENT_MAX = 80.0
_MEMORY_MULTIPLE = 2
_STEADY_CLOCKS = frozenset({"tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page"})
_SPOILING_OPTIONS = {
    "sync": "every write waits for the device",
    "discard": "TRIM runs within the measurement",
    "compress": "data is compressed on its way",
    "data=journal": "data is written twice",
}


class Finding(msgspec.Struct, frozen=True):
    """Result of one examination."""

    name: str
    """Name of the examined property."""
    state: State
    """Whether the finding would spoil a measurement; "refused" marks a target that no study may use."""
    text: str
    """Text of the finding."""
    advice: str = ""
    """The remedy; empty when nothing needs to be done."""


@click.command("doctor")
@click.argument("target", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
@click.option("--repair", "repairs", is_flag=True, help="Undo what killed processes of Mileage left behind.")
@click.pass_context
def doctor(context: click.Context, target: str | None, as_json: bool, repairs: bool) -> None:
    """Report what on this machine would spoil a measurement, and what to do.

    TARGET is a path, or a target such as loop:SIZE; without it only the machine is examined.

    --repair undoes the mounts, loop devices, control groups and settings of killed processes (a ledger lists them)
    and removes their temporary files, including those of single runs in the directory of TARGET. Work files of
    studies that can be resumed are kept.
    """
    if repairs:
        found = undo_all(target)
        kept = kept_work_files(target)
        repaired = [as_finding(undone) for undone in found] + kept or [
            Finding("repair", "ok", "nothing is left")
        ]
        click.echo(as_json_text(target, repaired) if as_json else as_text(repaired))
        context.exit(3 if any(found.state == "warn" for found in repaired) else 0)
    findings = examine(target)
    refused = any(finding.state == "refused" for finding in findings)
    click.echo(
        as_json_text(target, findings) if as_json else f"{as_text(findings)}\n\n{verdict_of(findings)}"
    )
    context.exit(2 if refused else 0)


def examine(target: str | None, *, root: Path = ROOT) -> list[Finding]:
    """Everything that is found on this machine and, if given, at the target. Writes nothing that stays."""
    place: Path | None = None
    guard: list[Finding] = []
    if target is not None:
        try:
            spec = parse_target(with_scheme(target))
            place = guard_target(spec, root=root)
            guard = [Finding("target", "ok", f"{spec} passes every guard")]
        except Refused as refusal:
            guard = [Finding("target", "refused", refusal.message)]
    guard += check_ledger(left_behind())
    guard += check_scratch([*abandoned(), *one_offs_left()])
    findings = guard + list(check_machine(snapshot(place, root=root)))
    if place is None:
        findings += check_drives(root)
    else:
        findings.append(check_drive(health_of(own_facts(place, root=root))))
        findings += check_ground(
            look_at(place, root=root),
            memory=memory_bytes(root),
            direct_supported=probe_direct(place),
            left_over=left_over_files(place),
            place=place,
        )
    return findings


def undo_all(target: str | None) -> list[UndoResult]:
    """Undo and remove what killed processes left on this machine and, if given, in the directory of a target."""
    done = repair() + clean_up_one_offs()
    done += [UndoResult(f"removed {path}") for path in remove_abandoned()]
    remove_leftovers()
    spec = parse_target(with_scheme(target)) if target is not None else None
    if spec is not None and capabilities_of(spec.scheme).has_files:
        done += [UndoResult(f"removed {path}") for path in remove_remains_of_runs(Path(spec.name))]
    return done


def kept_work_files(target: str | None) -> list[Finding]:
    """The work files that a repair keeps in the directory of a target, since their studies can be resumed."""
    spec = parse_target(with_scheme(target)) if target is not None else None
    if spec is None or not capabilities_of(spec.scheme).has_files:
        return []
    advice = "resume their studies (`mileage run FOLDER`), or remove them: rm"
    return [
        Finding("work file", "ok", f"{name} is kept", f"{advice} {shlex.quote(str(Path(spec.name) / name))}")
        for name in left_over_files(Path(spec.name))
    ]


def as_finding(undone: UndoResult) -> Finding:
    """Finding about the attempt to undo one step of a killed process."""
    advice = "remove the cause and repair again" if undone.failed else ""
    return Finding("repair", "warn" if undone.failed else "ok", undone.text, advice)


def check_drive(health: Health) -> Finding:
    """Health of one drive by its own reports."""
    if health.state == "unknown":
        return Finding("drive health", "unknown", health.text, health.advice)
    remarks = "".join(f"; {remark}" for remark in health.remarks)
    if health.state == "failing":
        text = f"FAILING: {'; '.join(health.problems)} ({health.text}{remarks})"
        return Finding("drive health", "warn", text, health.advice)
    return Finding("drive health", "warn" if remarks else "ok", f"{health.text}{remarks}")


def check_drives(root: Path) -> Iterator[Finding]:
    """Health of each drive of the machine by its own reports; one line where smartctl and nvme are missing."""
    for disk in drives(root):
        finding = check_drive(health_of(health(disk)[0]))
        if finding.state == "unknown" and "not installed" in finding.text:
            yield finding
            return
        yield msgspec.structs.replace(finding, text=f"{disk}: {finding.text}")


def check_ledger(ledgers: list[str]) -> list[Finding]:
    """Check whether killed processes left steps that are still to be undone."""
    if not ledgers:
        return []
    return [
        Finding(
            "left-over steps",
            "warn",
            f"killed studies left mounts, devices or settings behind: {', '.join(ledgers)}",
            "undo them: mileage doctor --repair",
        )
    ]


def check_scratch(left: list[Path]) -> list[Finding]:
    """Check whether killed processes left temporary files."""
    if not left:
        return []
    text = ", ".join(map(str, left))
    return [Finding("temporary files", "warn", text, "killed processes left these: mileage doctor --repair")]


def left_over_files(place: Path) -> list[str]:
    """The names of what studies left in this directory, sorted."""
    return [path.name for path in remains_in(place)]


def check_machine(environment: Mapping[str, str]) -> Iterator[Finding]:
    """The findings that do not depend on a target, from an environment snapshot."""
    yield check_governor(environment.get("cpu.governor", UNKNOWN))
    yield check_clock(environment.get("kernel.clocksource", UNKNOWN))
    yield check_swap(environment.get("memory.swap_areas", UNKNOWN))
    yield check_load(environment)
    yield check_steal(
        environment.get("now.steal_percent", UNKNOWN), environment.get("cpu.hypervisor", UNKNOWN)
    )


def check_governor(governor: str) -> Finding:
    """A governor other than `performance` lets the CPU's speed follow the load."""
    if governor == UNKNOWN:
        return Finding(
            "cpu governor", "unknown", "the kernel does not report it", "in a virtual machine ask the host"
        )
    if governor == "performance":
        return Finding("cpu governor", "ok", governor)
    return Finding(
        "cpu governor", "warn", governor, "set it to performance: cpupower frequency-set -g performance"
    )


def check_clock(clock: str) -> Finding:
    """A slow clock source costs a microsecond or more at each reading."""
    if clock == UNKNOWN:
        return Finding("clock source", "unknown", "the kernel does not report it")
    if clock in _STEADY_CLOCKS:
        return Finding("clock source", "ok", clock)
    advice = (
        "boot with clocksource=tsc if this CPU's TSC is steady; latencies under 10 us are not to be trusted"
    )
    return Finding("clock source", "warn", f"{clock} is slow to read", advice)


def check_swap(areas: str) -> Finding:
    """Swapping mixes its own I/O into the measurement."""
    if areas == UNKNOWN:
        return Finding("swap", "unknown", "the kernel does not report it")
    if areas == "none":
        return Finding("swap", "ok", "none")
    return Finding("swap", "warn", areas, "turn it off while measuring: swapoff -a")


def check_load(environment: Mapping[str, str]) -> Finding:
    """Other work on the machine, from pressure over the last 10 s and the load over the last minute."""
    io = _number(environment.get("now.pressure_io_some_percent", UNKNOWN))
    cpu = _number(environment.get("now.pressure_cpu_some_percent", UNKNOWN))
    load = _number(environment.get("now.loadavg", UNKNOWN).split(" ", maxsplit=1)[0])
    if io is None and cpu is None and load is None:
        return Finding("other load", "unknown", "the kernel reports neither pressure nor load")
    pressures = [f"{name} {value:g} %" for name, value in (("io", io), ("cpu", cpu)) if value is not None]
    parts = [f"tasks waited in the last 10 s (pressure): {', '.join(pressures)}"] if pressures else []
    parts += [] if load is None else [f"load of the last minute {load:g}{_processors(environment)}"]
    text = "; ".join(parts)
    busy = max(io or 0.0, cpu or 0.0) > PRESSURE_PERCENT_MAX or (load or 0.0) > LOAD_MAX
    if busy:
        return Finding(
            "other load", "warn", text, "stop other work on this machine, or wait until it is over"
        )
    return Finding("other load", "ok", text)


def _processors(environment: Mapping[str, str]) -> str:
    """The number of processors, from the kernel's list of those online, such as "0-3,6"; empty if not known."""
    ends = [part.split("-") for part in environment.get("cpu.online", UNKNOWN).split(",")]
    if not all(end.isdecimal() for part in ends for end in part):
        return ""
    count = sum(int(part[-1]) - int(part[0]) + 1 for part in ends)
    return f" on {count} processor{'' if count == 1 else 's'}"


def check_steal(steal: str, hypervisor: str) -> Finding:
    """CPU time that a hypervisor gave to others, since boot."""
    share = _number(steal)
    if share is None:
        return Finding("stolen time", "unknown", "the kernel does not report it")
    where = {"none": "bare metal", "unnamed": "hypervisor not identified"}.get(
        hypervisor, f"hypervisor {hypervisor}"
    )
    text = f"{share:.2f} % since boot ({where})"
    if share > STEAL_PERCENT_MAX:
        return Finding("stolen time", "warn", text, "other guests take CPU time; use a quieter host")
    return Finding("stolen time", "ok", text)


def check_ground(
    ground: Ground, *, memory: int, direct_supported: bool, left_over: list[str], place: Path = Path()
) -> Iterator[Finding]:
    """The findings about what a directory or file target in `place` stands on. `memory` is in bytes."""
    yield check_file_system(ground)
    yield check_mount_options(ground.mount_options)
    yield check_space(ground)
    yield check_cache(ground.free_bytes, memory, direct_supported)
    if direct_supported:
        yield Finding("O_DIRECT", "ok", "supported")
    else:
        yield Finding(
            "O_DIRECT", "warn", "not supported here", "the page cache is in every result: use cache = cold"
        )
    if left_over:
        yield Finding(
            "left-over files",
            "warn",
            ", ".join(left_over),
            f"unfinished studies left these; resume them, or remove all but work files: "
            f"mileage doctor --repair {shlex.quote(f'dir:{place}')}",
        )


def check_file_system(ground: Ground) -> Finding:
    """What kind of storage this is, and whether the system lives on it too."""
    text = f"{ground.fs_type} on {ground.device if ground.device != UNKNOWN else ground.source}"
    if ground.is_memory:
        return Finding(
            "file system", "warn", f"{text} is memory, not storage", "choose a directory on a drive"
        )
    if ground.fs_type == UNKNOWN:
        return Finding("file system", "unknown", "the mount table does not show it")
    if ground.mount_point == "/":
        return Finding(
            "file system", "warn", f"{text} also holds the system", "measure on a drive without the system"
        )
    if ground.device == UNKNOWN:
        return Finding(
            "file system", "warn", f"{text} has no local device", "the result includes whatever is behind it"
        )
    return Finding("file system", "ok", text)


def check_mount_options(options: tuple[str, ...]) -> Finding:
    """Find mount options that cause I/O of their own during a measurement."""
    if not options:
        return Finding("mount options", "unknown", "the mount table does not show it")
    spoiling = {
        option: why
        for option in options
        for word, why in _SPOILING_OPTIONS.items()
        if option == word or option.startswith((f"{word}=", f"{word}-"))
    }
    if not spoiling:
        return Finding("mount options", "ok", ",".join(options))
    text = "; ".join(f"{option}: {why}" for option, why in spoiling.items())
    return Finding("mount options", "warn", text, "mount without it, or mention it next to the results")


def check_space(ground: Ground) -> Finding:
    """Free space; a nearly full file system fragments new files."""
    if ground.capacity_bytes == 0:
        return Finding("free space", "unknown", "the file system does not report it")
    filled = 100 * (1 - ground.free_bytes / ground.capacity_bytes)
    text = f"{_gib(ground.free_bytes)} of {_gib(ground.capacity_bytes)} ({filled:.0f} % is not available)"
    if filled > FILL_PERCENT_MAX:
        return Finding("free space", "warn", text, "a full file system fragments new files; free some space")
    return Finding("free space", "ok", text)


def check_cache(free_bytes: int, memory: int, direct_supported: bool) -> Finding:
    """Check whether the page cache can be avoided: by O_DIRECT, or by a file of twice the memory."""
    if memory == 0:
        return Finding("page cache", "unknown", "the size of memory is not known")
    text = f"memory {_gib(memory)}, free space {_gib(free_bytes)}"
    if free_bytes >= _MEMORY_MULTIPLE * memory:
        return Finding("page cache", "ok", f"{text}: a file of twice the memory fits")
    advice = "use cache = direct" if direct_supported else "limit the memory: cache = limited:SIZE"
    return Finding("page cache", "warn", f"{text}: a file of twice the memory does not fit", advice)


def as_text(findings: list[Finding]) -> str:
    """The findings for a terminal: one line each, and one for the advice."""
    lines = []
    for finding in findings:
        lines.append(f"{finding.state:<8} {finding.name:<16} {finding.text}")
        if finding.advice:
            lines.append(f"{'':<8} {'':<16} -> {finding.advice}")
    return "\n".join(lines)


def verdict_of(findings: Sequence[Finding]) -> str:
    """Whether to measure now, in a sentence."""

    def named(state: State) -> str:
        return ", ".join(finding.name for finding in findings if finding.state == state)

    if named("refused"):
        return "Verdict: this target cannot be measured."
    unknown = f" Not known: {named('unknown')}." if named("unknown") else ""
    if spoiled := named("warn"):
        return f"Verdict: results measured now would be doubtful; mend first: {spoiled}.{unknown}"
    return f"Verdict: nothing was found that would spoil a measurement.{unknown}"


def as_json_text(target: str | None, findings: list[Finding]) -> str:
    """The findings as one JSON object: {"target", "verdict", "findings": [{"name", "state", "text", "advice"}]}."""
    verdict = verdict_of(findings).removeprefix("Verdict: ")
    return json.dumps(
        {"target": target, "verdict": verdict, "findings": msgspec.to_builtins(findings)}, indent=2
    )


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _gib(size_bytes: int) -> str:
    return f"{size_bytes / 2**30:.1f} GiB"


command = doctor
