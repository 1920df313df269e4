"""Factors of a whole study: what each level changes, and which combinations of levels are measured.

Scope: a `Setting` for every combination that is not excluded, with the target, the state and the keys of the
workloads at its levels; and the A/A setting, the baseline a second time under another name.
`study_checks` refuses factors that make no sense, and the settings that come of them are
resolved like studies of their own.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping
from typing import Final, Literal

import msgspec

from mileage.model.target_kind import capabilities_of, with_change
from mileage.plan.study import Factor, FactorLevel, Measure, State, Study
from mileage.plan.toml_literals import toml_value

FactorKind = Literal["target", "profile", "state", "workload", "label"]

KINDS: Final[tuple[FactorKind, ...]] = ("target", "profile", "state", "workload", "label")
DEVICE_STATE: Final = (
    *("filesystem", "mkfs", "mount", "scheduler", "read_ahead", "write_cache", "fill", "aged"),
)
"""Keys of [state] whose levels need a device each: those of a loop: target, which are as many as there are levels."""
STATE_LEVELS: Final = ("cache", "governor", *DEVICE_STATE)
"""Keys of [state] whose levels may be measured side by side."""
AGAIN: Final = "again"
"""Ends the name of the A/A level."""
TARGET_NAMES: Final = ("target", "drive", "device")
"""Names of factors whose levels are targets, whether they say so or not."""

Levels = Mapping[str, str]
"""Name of a level by name of its factor."""


class Setting(msgspec.Struct, frozen=True):
    """One combination of levels: the target, its state, and the changes to each workload."""

    levels: dict[str, str]
    """Name of the level of each factor; empty in a study without factors."""
    target: str
    """The target, with what is changed of a virtual drive's profile: "virtual:NAME,spare_percent=28"."""
    state: State
    """The state, with the levels put in. `start` and `file` are those of the study."""
    workload: dict[str, FactorLevel] = {}
    """Keys of [measure.*] tables, and their levels."""
    labels: dict[str, str] = {}
    """The levels of labels among `levels`: settings with equal labels make up one part."""
    instance: int = 0
    """Settings with equal numbers share one opened target; from 0."""

    @property
    def words(self) -> tuple[str, ...]:
        """The levels with their factors, in the form of cell labels: "cache warm", "kernel 6.1"."""
        return tuple(f"{name} {level}" for name, level in self.levels.items())

    @property
    def place(self) -> str:
        """The target with what is made on it, "loop:1GiB filesystem=ext4": what is opened, and has facts of its own."""
        values = {key: getattr(self.state, key) for key in DEVICE_STATE}
        made = [f"{key}={value}" for key, value in values.items() if value is not None and value != ""]
        return " ".join([self.target, *made])

    @property
    def part(self) -> str:
        """The labels in a few words, "kernel=6.1"; empty without labels."""
        return part_of(self.labels)


def part_of(labels: Levels) -> str:
    """Labels in a few words: "kernel=6.1, machine=b"."""
    return ", ".join(f"{name}={level}" for name, level in labels.items())


def kind_of(name: str, factor: Factor) -> FactorKind | None:
    """Kind of a factor: as stated, or as its name implies; None when neither defines it."""
    if factor.kind is not None:
        return next((kind for kind in KINDS if kind == factor.kind), None)
    if name in TARGET_NAMES:
        return "target"
    if name in State.__struct_fields__:
        return "state"
    if name in Measure.__struct_fields__:
        return "workload"
    return None


def key_of(name: str, factor: Factor) -> str:
    """The key that a level changes."""
    return factor.key or name


def again(level: str) -> str:
    """The name under which a level is measured a second time."""
    return f"{level} {AGAIN}"


def named_levels(study: Study, name: str) -> dict[str, FactorLevel]:
    """The levels of a factor by name, with the A/A level behind the baseline where the study asks for one."""
    levels = study.factor[name].named
    if not (study.aa and study.compare.arms == name):
        return levels
    baseline = study.compare.baseline or next(iter(levels))
    found: dict[str, FactorLevel] = {}
    for level, value in levels.items():
        found[level] = value
        if level == baseline:
            found[again(level)] = value
    return found


def excluded(study: Study, levels: Levels) -> bool:
    """Whether a combination is excluded; the A/A level is excluded together with the baseline."""

    def matches(name: str, level: FactorLevel) -> bool:
        text = str(level).lower() if isinstance(level, bool) else str(level)
        twin = again(text) if study.aa and study.compare.arms == name else text
        return levels[name] in (text, twin)

    return any(all(matches(name, level) for name, level in out.items()) for out in study.exclude)


def settings_of(study: Study) -> tuple[Setting, ...]:
    """Every combination of levels that is not excluded, the last factor changing fastest; labels change slowest."""
    names = sorted(study.factor, key=lambda name: kind_of(name, study.factor[name]) != "label")
    found: list[Setting] = []
    instances: dict[tuple[str, ...], int] = {}
    for combination in itertools.product(*(named_levels(study, name).items() for name in names)):
        picked = dict(zip(names, combination, strict=True))
        levels = {name: picked[name][0] for name in study.factor}
        if excluded(study, levels):
            continue
        setting = _setting(study, {name: picked[name][1] for name in study.factor}, levels)
        virtual = capabilities_of(setting.target).simulated
        own = tuple(level for name, level in levels.items() if _makes_drive(study, name)) if virtual else ()
        instance = instances.setdefault((setting.part, setting.place, *own), len(instances))
        found.append(msgspec.structs.replace(setting, instance=instance))
    return tuple(found)


def _makes_drive(study: Study, name: str) -> bool:
    """Whether each level of a factor has a virtual drive of its own; the A/A level has a drive like the baseline's."""
    return kind_of(name, study.factor[name]) in ("target", "profile")


def _setting(study: Study, values: Mapping[str, FactorLevel], levels: dict[str, str]) -> Setting:
    target, changes = study.target, list[str]()
    state: dict[str, FactorLevel] = {}
    workload: dict[str, FactorLevel] = {}
    labels: dict[str, str] = {}
    for name, value in values.items():
        factor = study.factor[name]
        key = key_of(name, factor)
        match kind_of(name, factor):
            case "target":
                target = str(value)
            case "profile":
                changes.append(f"{key}={value if isinstance(value, str) else toml_value(value)}")
            case "state":
                state[key] = value
            case "workload":
                workload[key] = value
            case _:
                labels[name] = levels[name]
    return Setting(
        levels=levels,
        target=functools.reduce(with_change, changes, target),
        state=msgspec.convert({**msgspec.to_builtins(study.state), **state}, State),
        workload=workload,
        labels=labels,
    )


def at_setting(study: Study, setting: Setting) -> Study:
    """The study as it would be written for one setting alone: without factors."""
    return msgspec.structs.replace(
        study,
        target=setting.target,
        state=setting.state,
        measure={name: with_levels(table, setting.workload) for name, table in study.measure.items()},
        factor={},
        exclude=(),
        order="random",
        aa=False,
        compare=msgspec.structs.replace(study.compare, arms="stage", baseline=None, candidate=None)
        if study.factor
        else study.compare,
    )


def with_levels(table: Measure, levels: Mapping[str, FactorLevel]) -> Measure:
    """A table with the levels of workload factors put in. Raises msgspec.ValidationError for one of the wrong type."""
    return msgspec.convert({**msgspec.to_builtins(table), **levels}, Measure) if levels else table
