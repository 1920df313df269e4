"""The lines of a journal, as values: one type for each kind of line, which the member `kind` names.

Scope: every member that a reader of the journal uses. Members that an earlier version did not write have a
default; members that are not listed here are not read. Times are texts in ISO 8601.
What it refuses: counts below zero or too large for a table, hashes and names of files that are none.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec

from mileage.model.imported_record import ImportedRecord
from mileage.model.metrics import MetricWord
from mileage.model.number_ranges import COUNT_MAX, Count, Number, Total
from mileage.model.run_record import RunRecord

Hash = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
SealedFile = Annotated[str, msgspec.Meta(pattern=r"^(plan\.(json|toml)|environment/(raw/)?[^/\x00]+\.json)$")]
Factor = Annotated[int, msgspec.Meta(ge=1, le=COUNT_MAX)]
StageKey = tuple[str, int, str, str]
"""Part, cycle, arm and stage."""


class Entry(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="unknown"):
    """A line of the journal. One of a kind that this version does not know has nothing else."""


class _Place(Entry, frozen=True, kw_only=True, tag="unknown"):
    """Position of a journal line in the plan."""

    part: str = msgspec.field(default="", name="session")
    cycle: Number
    arm: Literal["torture", "sham"]
    stage: str

    @property
    def stage_key(self) -> StageKey:
        """The stage that it belongs to."""
        return self.part, self.cycle, self.arm, self.stage


class _AnyRun(Entry, frozen=True, kw_only=True, tag="unknown"):
    run: Annotated[int, msgspec.Meta(ge=0, le=1 << 31)]
    """The number of the run in the plan."""
    part: str = msgspec.field(default="", name="session")
    cycle: Number
    arm: Literal["torture", "sham"]
    stage: str
    role: Literal["measure", "torture", "prepare", "idle", "reset"]
    block: Number
    measure: str
    cell: str
    levels: dict[str, str] = {}
    metrics: list[MetricWord]
    seed: Total = 0

    @property
    def stage_key(self) -> StageKey:
        """The stage that it belongs to."""
        return self.part, self.cycle, self.arm, self.stage


class Run(_AnyRun, frozen=True, kw_only=True, tag="run"):
    """A finished run."""

    started: str
    finished: str
    record: RunRecord
    watch: dict[str, int] = {}
    """Activity of the machine during the run, by counter."""


class ImportedRun(_AnyRun, frozen=True, kw_only=True, tag="run"):
    """Journal line of one run that was imported from another tool's result file."""

    key: str = ""
    session_name: str = ""
    """What its file calls the session in which it was measured; empty where it does not."""
    record: ImportedRecord


AnyRun = Run | ImportedRun


class DidNotFinish(Run, frozen=True, kw_only=True, tag="dnf"):
    """A run at which the device failed, which ended its arm."""

    cause: str
    message: str
    left_out: Count


class StudyHead(Entry, frozen=True, kw_only=True, tag="study"):
    """First journal line: which study this is, and the version that started it."""

    format: int
    plan: str
    """The hash of the plan."""
    mileage: str
    """The version that wrote it."""
    command: str
    files: dict[SealedFile, Hash] = {}
    started: str | None
    began: str | None = None
    """For an imported study, the start time as the tool wrote it."""
    imported_at: str | None = None


class Files(Entry, frozen=True, kw_only=True, tag="files"):
    """The checksums of files that are about to be written."""

    files: dict[SealedFile, Hash]


DISCARDED: Final = "device_discarded_bytes"
"""Bytes that the device of a target discarded in a run, or in a stage."""
DISCARDED_OUTSIDE: Final = "device_discarded_outside_runs_bytes"
"""Those of a stage before, between and after its runs."""


class StageEnd(_Place, frozen=True, kw_only=True, tag="stage"):
    """The end of a stage, with the states of virtual drives by number of the target."""

    state: str | None = None
    states: dict[str, str] | None = None
    left_out: Count = 0
    watch: dict[str, int] = {}
    """Activity of the device in the whole stage, by counter."""
    at: str

    @property
    def drive_states(self) -> dict[str, str]:
        """The hashes of the states; early versions had a single one."""
        return self.states or ({"0": self.state} if self.state else {})


class SavedPoint(_Place, frozen=True, kw_only=True, tag="point"):
    """States of virtual drives that were saved within a stage, before run `run`."""

    run: Count
    states: dict[str, str]
    at: str = ""


class FailedRun(Entry, frozen=True, kw_only=True, tag="failed"):
    """A run that failed."""

    run: Count
    cause: str
    message: str
    record: RunRecord | None = None
    """Record of the work done before the failure."""
    at: str = ""


class Finding(Entry, frozen=True, kw_only=True, omit_defaults=True, tag="unknown"):
    """Result of a stop rule for repetitions: whether enough was measured, and the figures behind it."""

    rule: Literal["precision", "pts-steady", "steady"]
    enough: bool
    cells: Count = 0
    half_width: float | None = None
    """Half-width of the pooled 95 % interval, as a share of the mean."""
    precision: float | None = None
    """The half width that was asked for."""
    detectable: float | None = None
    """The least difference that would be found in 80 % of cases."""
    range: float | None = None
    """Range of the rounds in the window, as a share of their mean."""
    excursion: float | None = None
    """Excursion of the fitted line over the window, as a share of the mean."""
    drift: float | None = None
    """Relative change over 20 rounds, with its 90 % interval."""
    low: float | None = None
    high: float | None = None
    drive_writes: float | None = None
    level_rounds: Count | None = None
    """Rounds since the level changed last."""


class Look(Finding, frozen=True, kw_only=True, tag="look"):
    """The result of a decision to stop: for a table of a stage, or for rounds of writing on a target."""

    part: str = msgspec.field(default="", name="session")
    cycle: Number
    arm: Literal["torture", "sham"]
    stage: str
    table: str
    setting: Count
    times: Count
    """Blocks or rounds that were looked at."""

    @property
    def stage_key(self) -> StageKey:
        """The stage that it belongs to."""
        return self.part, self.cycle, self.arm, self.stage


class Rewrite(_Place, frozen=True, kw_only=True, tag="rewrite"):
    """The content of a target that was lost is written again, or was."""

    target: Count
    done: bool
    at: str = ""


class PartEnd(Entry, frozen=True, kw_only=True, tag="session"):
    """Entry that follows the last run of a part."""

    part: str = msgspec.field(name="session")
    finished: str


class End(Entry, frozen=True, kw_only=True, tag="end"):
    """Entry that follows the last run of the study."""

    finished: str


class ChoiceRatio(msgspec.Struct, frozen=True):
    """Candidate over baseline in one metric of one cell, the sham removed."""

    cell: str
    metric: str
    ratio: Annotated[float, msgspec.Meta(gt=0)]


class Choice(Entry, frozen=True, kw_only=True, tag="choice"):
    """The comparison on a virtual drive of which one figure is another than in the study: a part of the model band."""

    figure: str
    value: str
    instead_of: str
    """The value that the study's drive has."""
    reason: str
    ratios: list[ChoiceRatio] = []
    failure: str = ""
    """Reason for missing ratios."""
    at: str


class AcceptedChange(Entry, frozen=True, kw_only=True, tag="accepted"):
    """A change of the machine that the user accepted."""

    part: str = msgspec.field(name="session")
    changes: list[str]
    was: dict[str, str] = {}
    now: dict[str, str] = {}


class EnvironmentChange(Entry, frozen=True, kw_only=True, tag="environment"):
    """A change of the machine that ended the study."""

    when: str
    changes: list[str]


class LengthFactor(Entry, frozen=True, kw_only=True, tag="calibrated"):
    """Factor by which the length of each run of a cell is multiplied, so that runs last long enough.

    `trials` were done before `run`, `elapsed_ns` is the time of the last one. `cell` is the cell that was tried.
    """

    cell: str
    run: Count
    factor: Factor
    trials: list[Factor]
    elapsed_ns: Count = 0
    reached: bool = True
    shared: bool = False
    """Whether all cells of the same work on names share it: all numbers of tasks, and all levels."""


class Rank(msgspec.Struct, frozen=True):
    """A rank of an MPI run."""

    rank: int
    host: str
    process: int


class RankList(Entry, frozen=True, kw_only=True, tag="ranks"):
    """The ranks that did the runs that follow."""

    ranks: list[Rank]
    at: str


class MergedFolder(Entry, frozen=True, kw_only=True, tag="merged"):
    """A folder that runs were taken from."""

    folder: str
    head: StudyHead


class UnreadLine(msgspec.Struct, frozen=True):
    """A line of another tool's file that was not understood."""

    line: Count
    text: str
    why: str


class SourceFile(Entry, frozen=True, kw_only=True, tag="file"):
    """A file that a study was imported from."""

    path: str
    sha256: str = ""
    layout: str = ""
    tool: str
    version: str | None = None
    began: str | None
    began_at: str | None = None
    """The same in ISO 8601; None where it is no date."""
    command: str | None
    machine: dict[str, str]
    facts: dict[str, str] = {}
    left_out: list[str] = []
    """Cells of which the file has no figure."""
    unread: list[UnreadLine]
    lost: list[str]


ENTRY_TYPES: Final[tuple[type[Entry], ...]] = (
    *(StudyHead, Files, Run, DidNotFinish, FailedRun, StageEnd, SavedPoint, Rewrite, Look, LengthFactor),
    *(PartEnd, End, Choice, AcceptedChange, EnvironmentChange, RankList, MergedFolder, SourceFile),
)
"""The type of each kind of line; of an imported study, `ImportedRun` takes the place of `Run`."""


def kind_of(entry: Entry | type[Entry]) -> str:
    """Value of the member `kind` of an entry, or of a type of entries."""
    return str(entry.__struct_config__.tag)
