"""What must hold of the factors of a study before their levels are looked at one by one.

What it models: names, kinds, keys and levels of [factor.*] tables, `exclude`, `order`, `aa` and `state.carryover`.
What it refuses: nothing itself; each rule that is broken is a path and what is wrong there.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Final

import msgspec

from mileage.model.target_kind import capabilities_of
from mileage.plan.factors import (
    DEVICE_STATE,
    KINDS,
    STATE_LEVELS,
    again,
    excluded,
    key_of,
    kind_of,
    named_levels,
    settings_of,
)
from mileage.plan.faults import join
from mileage.plan.io_options import HOW_KEYS
from mileage.plan.study import PURGE_EACH, WORKLOAD_ARMS, Factor, Measure, State, Study

SETTINGS_MAX: Final = 10_000
"""Combinations of levels at most, those that are excluded among them."""
NAME_MAX: Final = 200
ORDERS: Final = ("random", "blocked", "listed")
CARRYOVERS: Final = ("none", "trim", "purge", PURGE_EACH, "remount")
_WORKLOAD_KEYS: Final = (
    "record",
    "threads",
    "depth",
    "span",
    "span_start",
    *(key for key in HOW_KEYS if key not in ("pin", "log")),
)
_DEFAULTS: Final = {"threads": 1, "depth": 1, "span": "file", "span_start": 0}

Problem = tuple[str, str]


def factor_problems(study: Study) -> Iterator[Problem]:
    """Every broken rule, as (path, what is wrong)."""
    found: list[Problem] = []
    for name, factor in study.factor.items():
        path = join("factor", name)
        found += [*_kind(study, path, name, factor), *_levels(path, factor)]
    found += _twice(study)
    yield from found
    yield from _design(study)
    if not all(factor.levels for factor in study.factor.values()):
        return
    combinations = math.prod(len(named_levels(study, name)) for name in study.factor)
    if combinations > SETTINGS_MAX:
        yield "factor", f"{combinations} combinations of levels; expected at most {SETTINGS_MAX}"
        return
    yield from _exclude(study)


def _kind(study: Study, path: str, name: str, factor: Factor) -> Iterator[Problem]:
    known = ", ".join(f'"{kind}"' for kind in KINDS)
    kind, key = kind_of(name, factor), key_of(name, factor)
    if name in ("stage", WORKLOAD_ARMS):
        yield path, f'compare.arms = "{name}" compares the {name}s; give the factor another name'
    if kind == "label" and any("," in level or "=" in level for level in factor.named):
        yield f"{path}.levels", 'a level of a label has no "," and no "=", since --label NAME=LEVEL names it'
    if factor.kind is not None and kind is None:
        yield f"{path}.kind", f"found {factor.kind!r}, expected one of {known}"
    elif kind is None:
        yield (
            f"{path}.kind",
            f"missing; {name!r} does not say what its levels change: expected one of {known}",
        )
    if factor.key is not None and kind in ("target", "label"):
        yield f"{path}.key", f"has no effect on a factor of kind {kind!r}; leave it out"
    if factor.found is not None and kind != "label":
        yield (
            f"{path}.found",
            f"has no effect on a factor of kind {kind!r}, which Mileage sets itself; leave it out",
        )
    if kind == "state" and key not in STATE_LEVELS:
        what = "cannot change during a study" if key in State.__struct_fields__ else "is not a key of [state]"
        expected = ", ".join(STATE_LEVELS)
        yield f"{path}.key" if factor.key else path, f"{key!r} {what}; expected {expected}"
    if kind == "state" and key in DEVICE_STATE and not capabilities_of(study.target).is_made:
        yield (
            path,
            f"needs a device for each level: a loop: target has one, found {study.target}; on a device of your own "
            'measure one level after the other, with kind = "label"',
        )
    if kind == "workload" and key not in _WORKLOAD_KEYS:
        expected = ", ".join(_WORKLOAD_KEYS)
        yield (
            f"{path}.key" if factor.key else path,
            f"{key!r} is not a key that varies; expected one of {expected}",
        )
    elif kind == "workload":
        for table, measure in study.measure.items():
            yield from _beside(path, table, measure, key)
    if kind == "profile" and not capabilities_of(study.target).simulated:
        yield path, f"changes the profile of a virtual drive; found target {study.target!r}"


def _beside(path: str, table: str, measure: Measure, key: str) -> Iterator[Problem]:
    if getattr(measure, key) != _DEFAULTS.get(key) or key in measure.vary:
        yield f"measure.{table}.{key}", f"is given beside {path}; give it in one place"


def _levels(path: str, factor: Factor) -> Iterator[Problem]:
    if len(factor.levels) < 2:
        yield f"{path}.levels", f"found {len(factor.levels)}, expected two levels or more"
    if len(factor.named) < len(factor.levels):
        yield f"{path}.levels", "a level is in the list twice"
    for level in factor.named:
        if not level.isprintable() or not level.strip() or len(level) > NAME_MAX:
            yield (
                f"{path}.levels",
                f"found {level!r}, expected a name of 1 to {NAME_MAX} characters that print",
            )


def _twice(study: Study) -> Iterator[Problem]:
    seen: dict[tuple[str, str], str] = {}
    for name, factor in study.factor.items():
        kind = kind_of(name, factor)
        if kind is None or kind == "label":
            continue
        changed = (kind, "" if kind == "target" else key_of(name, factor))
        if changed in seen:
            yield f"factor.{name}", f"changes what factor.{seen[changed]} changes; give it in one place"
        seen[changed] = name


def _exclude(study: Study) -> Iterator[Problem]:
    unknown = False
    for index, out in enumerate(study.exclude):
        path = f"exclude[{index}]"
        if not out:
            yield path, 'is empty and would leave out everything; expected for example { cache = "warm" }'
            unknown = True
        for name, level in out.items():
            if name not in study.factor:
                known = ", ".join(study.factor) or "none"
                yield f"{path}.{name}", f"there is no [factor.*] table {name!r}; known: {known}"
                unknown = True
                continue
            text = str(level).lower() if isinstance(level, bool) else str(level)
            levels = named_levels(study, name)
            if text not in levels:
                yield (
                    f"{path}.{name}",
                    f"{text!r} is not a level of factor.{name}; expected one of {', '.join(levels)}",
                )
                unknown = True
        if not unknown and not any(excluded_by(study, index)):
            yield path, "leaves out nothing; remove it"
    if study.factor and not unknown and not settings_of(study):
        yield "exclude", "leaves out every combination of levels; expected at least one to measure"


def excluded_by(study: Study, index: int) -> Iterator[bool]:
    """Whether the exclusions remove every combination."""
    alone = msgspec.structs.replace(study, exclude=(study.exclude[index],))
    for combination in itertools.product(*(named_levels(study, name) for name in study.factor)):
        yield excluded(alone, dict(zip(study.factor, combination, strict=True)))


def _design(study: Study) -> Iterator[Problem]:
    if study.order not in ORDERS:
        yield "order", f'found {study.order!r}, expected "random", "blocked" or "listed"'
    if study.order == "blocked" and not study.factor:
        yield "order", 'found "blocked", but the study has no [factor.*] table, so there are no arms to order'
    if study.aa and study.compare.arms not in study.factor:
        yield (
            "aa",
            "found true, but compare.arms names no [factor.*] table whose baseline could be measured twice",
        )
    elif study.aa and (kind_of(study.compare.arms, study.factor[study.compare.arms]) == "label"):
        yield (
            "aa",
            f"found true, but factor.{study.compare.arms} is a label, which is not measured side by side",
        )
    elif study.aa:
        levels = study.factor[study.compare.arms].named
        if levels and again(study.compare.baseline or next(iter(levels))) in levels:
            yield "aa", "the name of its level is that of another level; rename that one"
    carryover = study.state.carryover
    if carryover not in CARRYOVERS:
        expected = ", ".join(f'"{word}"' for word in CARRYOVERS)
        yield "state.carryover", f"found {carryover!r}, expected one of {expected}"
    makes = study.state.filesystem is not None or "filesystem" in study.factor
    if carryover == "remount" and not makes:
        yield "state.carryover", "'remount' needs a file system that Mileage mounts: give state.filesystem"
    if carryover == "trim" and not makes and not capabilities_of(study.target).can_trim:
        yield (
            "state.carryover",
            f'\'trim\' needs a device; {study.target} is a file on one: expected "none" or "purge"',
        )
    if carryover in ("trim", "purge", PURGE_EACH):
        if any(stage.torture for stage in study.stage):
            yield (
                "state.carryover",
                f'{carryover!r} would undo what the torture did; expected "none" or "remount"',
            )
        if study.state.start == "kept":
            yield "state.carryover", f'{carryover!r} would lose the content that state.start = "kept" keeps'
