"""The plan of a resolved study: the runs, in the order in which they are done.

Scope: the plan as a value, with the hash that names it. Two plans with the same hash do the same
I/O.
`resolve` makes plans and refuses.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any, Final, Literal

import msgspec

from mileage.json_text import decode_json
from mileage.model.cell_key import CellKey
from mileage.model.metrics import MetricWord
from mileage.model.target_facts import TargetFacts
from mileage.plan.factors import Setting
from mileage.plan.io_options import HOW_KEYS, Reach
from mileage.plan.run_action import Action, FileJob, Idle, Io, Mirror, Reset
from mileage.plan.study import Study
from mileage.plan.toml_literals import toml_key, toml_value
from mileage.plan.workload import Workload

# Origin of a study that another tool measured; such a plan cannot be run.
# Scope: the files with their hashes, the tool and its version as the files say them.
# Whoever would run such a plan asks `Plan.imported` first.


class ImportedFile(msgspec.Struct, frozen=True):
    """One file that was imported."""

    path: str
    """Path as the user gave it."""
    sha256: str
    """SHA-256 of the file's bytes, 64 hexadecimal digits."""
    size_bytes: int
    layout: str
    """The reader that understood it."""


class ImportOrigin(msgspec.Struct, frozen=True):
    """Tool and files of an imported study."""

    tool: str
    """"fio", "iozone" ..."""
    version: str | None
    """Version as the files state it; None where they do not."""
    files: tuple[ImportedFile, ...]

    @property
    def words(self) -> str:
        """The tool with its version: "fio 3.33"."""
        return f"{self.tool} {self.version}" if self.version else f"{self.tool}, version not recorded"


PLAN_VERSION: Final = 3
"""Version of the form of a plan; it is part of the hash."""

SMALL_BYTES: Final = 64 << 10
"""Size of a work file that no run uses."""

READ_BACK: Final = " read back"
"""Ends the name of a run that reads what a round of a torture wrote."""

Arm = Literal["torture", "sham"]
Role = Literal["measure", "torture", "prepare", "idle", "reset"]


class Cell(msgspec.Struct, frozen=True):
    """One combination of levels of a [measure.NAME] table."""

    label: str
    """Unique in the study: "throughput.write 1 MiB"."""
    table: str
    """NAME of the table."""
    kind: Literal["throughput", "iops", "time"]
    """Which relevance margin its rates are judged by."""
    metrics: tuple[MetricWord, ...]
    """Recorded metrics: words of `model.metrics.METRICS`."""
    blocks: int
    """Number of measurements in each stage of each cycle and arm."""
    workload: Workload | None
    """The I/O, with seed 0; every run has a seed of its own. None for work on files, which `job` says."""
    title: str = ""
    """Description of the workload in a few words."""
    reach: Reach | None = None
    """How a real target is accessed; None for a virtual drive."""
    job: FileJob | None = None
    """Work on files; cells of one set of tests have equal jobs."""
    unit: str = ""
    """Label of the run that measures the cell: its own, or that of the set of tests that contains it."""
    setting: int = 0
    """Index of its setting in the plan."""
    stem: str = ""
    """The label without the levels of the study's factors: what cells of different settings have in common."""
    key: CellKey = CellKey()
    """Identity of the measurement, from which labels are rendered.

    Empty in plans of earlier versions (see `with_keys`).
    """
    power_cut: bool = False
    """Whether the power is cut at the end of each run, and the lost writes are counted."""


class PlannedRun(msgspec.Struct, frozen=True):
    """One execution of one cell, one torture, or one pause."""

    index: int
    """Place in the canonical order, from 0."""
    key: str
    """Unique text: "cycle 1/torture/before/block 2/iops.random_read 4 KiB"."""
    cycle: int
    """From 1."""
    arm: Arm
    """The sham arm comes second in its cycle, because it idles for as long as the torture took."""
    stage: str
    role: Role
    block: int
    """Repetition within the stage, from 1; 1 for everything that is done once in a stage."""
    measure: str
    """For role "measure" the kind, "throughput" or "iops"; "" for others."""
    cell: str
    """Label of the cell; NAME of the [torture.NAME] table for torture, prepare and the sham's idling."""
    metrics: tuple[MetricWord, ...]
    """Recorded metrics; empty for runs that are not measured."""
    workload: Workload | None
    """The I/O, with this run's seed; None for role "idle"."""
    seed: int
    """The seed of the workload, the same for the runs of a pair; 0 for role "idle"."""
    idle_ns: int | None = None
    """Length of a pause, in nanoseconds; None when there is none, or when `mirrors` says how long."""
    mirrors: int | None = None
    """For the sham's idling: index of the torture run whose duration is waited, from first submission to the
    end of the final sync; None for others."""
    reach: Reach | None = None
    """How a real target is accessed; None for a virtual drive and for pauses."""
    job: FileJob | None = None
    """Work on files, with this run's seed; its cells are `cell` with the tests' names."""
    setting: int = 0
    """Index of its setting in the plan; of what is not measured, that of the first setting with its target."""
    part: str = msgspec.field(default="", name="session")
    """The labels at which it can be done, "kernel=6.1"; empty when the study has none."""
    turn: int = 1
    """For tortures and preparations in rounds: the number of the round, from 1."""
    power_cut: bool = False
    """Whether the power is cut at its end."""

    @property
    def reads_back(self) -> bool:
        """Whether the run reads the data that a torture wrote."""
        return self.role != "measure" and self.cell.endswith(READ_BACK)

    @property
    def torture(self) -> str:
        """NAME of the [torture.NAME] table that it does, mirrors or reads back; of other runs, `cell`."""
        return self.cell.removesuffix(READ_BACK) if self.reads_back else self.cell

    @property
    def action(self) -> Action:
        """Action of the run; none for a run that another tool did."""
        if self.job is not None:
            return self.job
        if self.workload is not None:
            return Io(self.workload, self.reach, self.power_cut)
        if self.role == "reset":
            return Reset(self.cell)
        return Idle(self.idle_ns or 0) if self.mirrors is None else Mirror(self.mirrors)


class Plan(msgspec.Struct, frozen=True):
    """A study resolved for one target. Make one with `resolve`."""

    study: Study
    """As resolved: target, seed and families of workloads filled in. Resolving it again gives this plan."""
    facts: TargetFacts
    work_bytes: int
    """Size of the first setting's work area: the work file, or the drive rounded down to whole records."""
    cells: tuple[Cell, ...]
    runs: tuple[PlannedRun, ...]
    refusals: tuple[str, ...]
    """Reasons not to start it; empty unless `resolve` was called with `refuse` false."""
    hash: str
    """SHA-256 in 64 hexadecimal digits over everything that decides what is done."""
    settings: tuple[Setting, ...] = ()
    """Every combination of the levels of the study's factors, in order; one when it has none."""
    others: dict[str, TargetFacts] = {}
    """Facts of the targets of all settings but the first, by `Setting.place`."""
    areas: dict[int, int] = {}
    """Size of each work area in bytes, by `Setting.instance`, where they differ: drives of different size."""
    imported: ImportOrigin | None = None
    """Origin of a study that another tool measured; its cells have no workload, and it cannot be run."""

    def setting_of(self, run: PlannedRun) -> Setting:
        """The setting of a run."""
        if not self.settings:
            return Setting(levels={}, target=self.study.target, state=self.study.state)
        return self.settings[run.setting]

    @property
    def governors(self) -> frozenset[str]:
        """Frequency governors of the processor that its settings name."""
        states = [setting.state for setting in self.settings] or [self.study.state]
        return frozenset(state.governor for state in states if state.governor is not None)

    @property
    def parts(self) -> tuple[str, ...]:
        """The labels under which parts of the study are done, in order; one empty text when it has none."""
        return tuple(dict.fromkeys(run.part for run in self.runs))

    @property
    def virtual(self) -> bool:
        """True when every target is a virtual drive, so that time is simulated."""
        return self.facts.virtual and all(facts.virtual for facts in self.others.values())

    @property
    def files(self) -> int:
        """Files next to the work file that are made before the first run, for threads that have one each."""
        return files_of(self.runs)

    @property
    def file_bytes(self) -> int:
        """Size of each of these files."""
        return file_bytes_of(self.runs)

    def facts_of(self, setting: Setting) -> TargetFacts:
        """Facts about a setting's target."""
        return self.others.get(setting.place, self.facts)

    def area_bytes(self, setting: Setting) -> int:
        """Size of a setting's work area."""
        return self.areas.get(setting.instance, self.work_bytes)

    def allocated_bytes(self, instance: int) -> int:
        """Size of the work file, or the used part of the drive, of an instance of a target."""
        return allocated_bytes(self.areas.get(instance, self.work_bytes), self.runs)

    @property
    def hash_short(self) -> str:
        """The first 16 digits, for people."""
        return self.hash[:16]

    @property
    def target(self) -> str:
        """The target of the study, spelled as the user wrote it (`virtual:NAME`, `dir:PATH`, ...)."""
        return self.study.target

    def to_json(self) -> str:
        """The whole plan, runs included, as JSON."""
        return msgspec.json.encode(self).decode()

    def to_toml(self) -> str:
        """The text of plan.toml: a study file that resolves to this plan, with its hash in a comment."""
        identity = f"{self.target}, {self.facts.capacity_bytes} bytes; work area {self.work_bytes} bytes"
        return plan_to_toml(self.study, self.hash, identity, len(self.runs))


def files_of(runs: tuple[PlannedRun, ...]) -> int:
    """The most files that a run finds, one for each thread; 0 when all share one."""
    return max((found.threads for found in _workloads(runs)), default=0)


def file_bytes_of(runs: tuple[PlannedRun, ...]) -> int:
    """Bytes that the file of each thread must have: the largest offset that a run with one file per thread reaches."""
    return max((found.span_start_bytes + found.span_bytes for found in _workloads(runs)), default=0)


def _workloads(runs: tuple[PlannedRun, ...], *, made_by_runs: bool = False) -> Iterator[Workload]:
    """The workloads with one file per thread; with `made_by_runs` those whose runs make and remove the files."""
    for run in runs:
        if run.workload is None or run.workload.files != "per_thread":
            continue
        if made_by_runs == (run.reach is not None and (run.reach.makes_files or run.reach.removes_files)):
            yield run.workload


def occupied_bytes(work_bytes: int, runs: tuple[PlannedRun, ...], block_bytes: int = 1) -> int:
    """Bytes of the work files, plus the most that a run makes for itself and removes.

    `block_bytes`: of which the bytes allocated to a file are a multiple.
    """
    own = max((run.job.allocated_bytes(block_bytes) for run in runs if run.job is not None), default=0)
    tasks = max(
        (
            found.threads * (found.span_start_bytes + found.span_bytes)
            for found in _workloads(runs, made_by_runs=True)
        ),
        default=0,
    )
    return allocated_bytes(work_bytes, runs) + files_of(runs) * file_bytes_of(runs) + max(own, tasks)


def new_files(runs: tuple[PlannedRun, ...]) -> int:
    """Files and directories that exist at the same time: the work files, and the most that a run makes for itself."""
    jobs = [run.job for run in runs if run.job is not None]
    # With files of its own a run has a directory in which they lie; files that the user names lie in no other.
    own = max((job.new_files + (not job.names_its_files) for job in jobs if job.new_files), default=0)
    tasks = max((found.threads for found in _workloads(runs, made_by_runs=True)), default=0)
    has_work_file = not jobs or not all(job.names_its_files for job in jobs) or _has_workload(runs)
    return has_work_file + files_of(runs) + max(own, tasks)


def allocated_bytes(work_bytes: int, runs: tuple[PlannedRun, ...]) -> int:
    """Size of the work file: the work area, or hardly anything when every run has files of its own."""
    return work_bytes if _has_workload(runs) else min(work_bytes, SMALL_BYTES)


def _has_workload(runs: tuple[PlannedRun, ...]) -> bool:
    return any(run.workload is not None for run in runs)


def hash_of(
    study: Study,
    facts: TargetFacts,
    work_bytes: int,
    runs: tuple[PlannedRun, ...],
    others: dict[str, TargetFacts] | None = None,
    areas: dict[int, int] | None = None,
) -> str:
    """SHA-256 over the study, the targets' identities and the runs, as canonical JSON, without free space.

    `report`, `band`, `published`, `apart` and `notes` are excluded as well: they change what is said about the
    measurement, not the measurement.
    """
    parts = {"study": study, "facts": facts, "others": others or {}, "work_bytes": work_bytes, "runs": runs}
    return _hash_of(msgspec.to_builtins({**parts, "areas": areas or {}}, str_keys=True))


_UNHASHED: Final = ("report", "band", "scale", "published", "apart", "notes", "session")
"""Keys of a study that say nothing about its measurement; no plan has a scale."""


def _hash_of(parts: dict[str, Any]) -> str:
    """The hash of a plan as plain values, as its JSON holds them."""
    everything = {
        "version": PLAN_VERSION,
        "study": {name: value for name, value in parts["study"].items() if name not in _UNHASHED},
        "target": _identity(parts["facts"]),
        "others": {target: _identity(found) for target, found in (parts.get("others") or {}).items()},
        "work_bytes": parts["work_bytes"],
        "runs": parts["runs"],
    }
    if areas := {int(instance): size for instance, size in (parts.get("areas") or {}).items()}:
        everything["areas"] = sorted(areas.items())
    return hashlib.sha256(msgspec.json.encode(everything, order="sorted")).hexdigest()


def hash_is_right(plan_json: bytes) -> bool:
    """Whether the JSON of a plan has the hash that it states.

    An imported study is hashed by the files of the other tool.
    """
    try:
        parts: Any = decode_json(plan_json)
        return parts.get("imported") is not None or _hash_of(parts) == parts["hash"]
    except (AttributeError, KeyError, TypeError, ValueError):
        # A part of another type than Mileage writes: somebody edited it.
        return False


def _identity(facts: dict[str, Any]) -> dict[str, Any]:
    return {name: facts[name] for name in ("kind", "name", "capacity_bytes", "block_bytes", "virtual")}


# From a study back to TOML.
# Scope: the subset of TOML that a study needs: a table per section, inline tables inside them. Reading
# the text gives an equal study.
# None is omitted.

_TABLES_OF_TABLES: Final = ("factor", "workload", "measure", "torture")


def to_toml(study: Study) -> str:
    """The text of a study file, every value given, ending in a newline."""
    fields = _without_none(msgspec.to_builtins(study))
    plain = {key: value for key, value in fields.items() if not isinstance(value, dict) and key != "stage"}
    sections = [_section("", plain)]
    if fields["notes"]:
        sections.append(_section("[notes]", fields["notes"]))
    sections.append(_section("[state]", fields["state"]))
    sections += [_section("[[stage]]", stage) for stage in fields["stage"]]
    for group in _TABLES_OF_TABLES:
        for name, table in fields[group].items():
            sections.append(_section(f"[{group}.{toml_key(name)}]", _readable(table)))
    sections.append(_section("[compare]", fields["compare"]))
    if study.apart is not None:
        sections.append(_section("[apart]", fields["apart"]))
    return "\n".join(sections)


def plan_to_toml(study: Study, plan_hash: str, identity: str, runs: int) -> str:
    """The text of plan.toml: the resolved study, after comments with hash, target and number of runs."""
    head = [
        "# The resolved study. Resolving it again for the same target gives the same plan.",
        f"# plan {plan_hash}",
        f"# target {_one_line(identity)}",
        f"# {runs} runs",
    ]
    return "\n".join(head) + "\n\n" + to_toml(study)


def _one_line(text: str) -> str:
    """A text that cannot end the comment it is put into."""
    return "".join(character if character.isprintable() else "?" for character in text)


def _section(head: str, table: dict[str, Any]) -> str:
    lines = [head] if head else []
    lines += [f"{toml_key(key)} = {toml_value(value)}" for key, value in table.items()]
    return "\n".join(lines) + "\n"


def _readable(table: dict[str, Any]) -> dict[str, Any]:
    """The keys in the order in which people think of them: what, then how; without empty tables."""
    first = {key: value for key, value in table.items() if key not in HOW_KEYS and value != {}}
    return {**first, **{key: value for key, value in table.items() if key in HOW_KEYS}}


def _without_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_none(member) for key, member in value.items() if member is not None}
    if isinstance(value, (list, tuple)):
        return [_without_none(member) for member in value]
    return value
