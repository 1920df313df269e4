"""Check the factors of a study, before their levels are checked one by one.

Scope: names, kinds, keys and levels of [factor.*] tables, `exclude`, `order`, `aa` and `state.carryover`.
Each rule that is broken is a path and what is wrong there.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Final

import msgspec

from mileage.errors import Refusal
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


def factor_problems(study: Study) -> Iterator[Refusal]:
    """Every broken rule; `where` is the path of the value in the study."""
    found: list[Refusal] = []
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
        yield Refusal(
            "factor",
            text=f"{combinations} combinations of levels",
            expected=f"at most {SETTINGS_MAX}",
            code="out-of-range",
        )
        return
    yield from _exclude(study)


def _kind(study: Study, path: str, name: str, factor: Factor) -> Iterator[Refusal]:
    known = ", ".join(f'"{kind}"' for kind in KINDS)
    kind, key = kind_of(name, factor), key_of(name, factor)
    if name in ("stage", WORKLOAD_ARMS):
        yield Refusal(
            path,
            text=f'compare.arms = "{name}" compares the {name}s',
            advice="give the factor another name",
            code="repeated",
        )
    if kind == "label" and any("," in level or "=" in level for level in factor.named):
        yield Refusal(
            f"{path}.levels",
            text='a level of a label has no "," and no "=", since --label NAME=LEVEL names it',
            code="wrong-value",
        )
    if factor.kind is not None and kind is None:
        yield Refusal(
            f"{path}.kind", found=f"{factor.kind!r}", expected=f"one of {known}", code="unknown-word"
        )
    elif kind is None:
        yield Refusal(
            f"{path}.kind",
            text=f"missing; {name!r} does not say what its levels change",
            expected=f"one of {known}",
            code="missing",
        )
    else:
        yield from _key(study, path, factor, kind, key)


def _key(study: Study, path: str, factor: Factor, kind: str, key: str) -> Iterator[Refusal]:
    """The key that a factor of a known kind changes."""
    if factor.key is not None and kind in ("target", "label"):
        yield Refusal(
            f"{path}.key",
            text=f"has no effect on a factor of kind {kind!r}",
            advice="remove it",
            code="no-effect",
        )
    if factor.found is not None and kind != "label":
        yield Refusal(
            f"{path}.found",
            text=f"has no effect on a factor of kind {kind!r}, which Mileage sets itself",
            advice="remove it",
            code="no-effect",
        )
    if kind == "state" and key not in STATE_LEVELS:
        what = "cannot change during a study" if key in State.__struct_fields__ else "is not a key of [state]"
        expected = ", ".join(STATE_LEVELS)
        yield Refusal(
            f"{path}.key" if factor.key else path,
            text=f"{key!r} {what}",
            expected=expected,
            code="unknown-key",
        )
    if kind == "state" and key in DEVICE_STATE and not capabilities_of(study.target).is_made:
        yield Refusal(
            path,
            text=f"needs a device for each level: a loop: target has one, found {study.target}",
            advice='on a device of your own measure one level after the other, with kind = "label"',
            code="unsupported",
        )
    if kind == "workload" and key not in _WORKLOAD_KEYS:
        expected = ", ".join(_WORKLOAD_KEYS)
        yield Refusal(
            f"{path}.key" if factor.key else path,
            text=f"{key!r} is not a key that varies",
            expected=f"one of {expected}",
            code="unknown-key",
        )
    elif kind == "workload":
        for table, measure in study.measure.items():
            yield from _doubled(path, table, measure, key)
    if kind == "profile" and not capabilities_of(study.target).simulated:
        yield Refusal(
            path,
            text="changes the profile of a virtual drive",
            advice=f"found target {study.target!r}",
            code="unsupported",
        )


def _doubled(path: str, table: str, measure: Measure, key: str) -> Iterator[Refusal]:
    if getattr(measure, key) != _DEFAULTS.get(key) or key in measure.vary:
        yield Refusal(
            f"measure.{table}.{key}",
            text=f"is given together with {path}",
            advice="give it in one place",
            code="conflict",
        )


def _levels(path: str, factor: Factor) -> Iterator[Refusal]:
    if len(factor.levels) < 2:
        yield Refusal(
            f"{path}.levels", found=f"{len(factor.levels)}", expected="two levels or more", code="too-few"
        )
    if len(factor.named) < len(factor.levels):
        yield Refusal(f"{path}.levels", text="a level is in the list twice", code="repeated")
    for level in factor.named:
        if not level.isprintable() or not level.strip() or len(level) > NAME_MAX:
            yield Refusal(
                f"{path}.levels",
                found=f"{level!r}",
                expected=f"a name of 1 to {NAME_MAX} characters that print",
                code="wrong-value",
            )


def _twice(study: Study) -> Iterator[Refusal]:
    seen: dict[tuple[str, str], str] = {}
    for name, factor in study.factor.items():
        kind = kind_of(name, factor)
        if kind is None or kind == "label":
            continue
        changed = (kind, "" if kind == "target" else key_of(name, factor))
        if changed in seen:
            yield Refusal(
                f"factor.{name}",
                text=f"changes what factor.{seen[changed]} changes",
                advice="give it in one place",
                code="repeated",
            )
        seen[changed] = name


def _exclude(study: Study) -> Iterator[Refusal]:
    unknown = False
    for index, out in enumerate(study.exclude):
        path = f"exclude[{index}]"
        if not out:
            yield Refusal(
                path,
                text="is empty and would exclude everything",
                expected='for example { cache = "warm" }',
                code="empty",
            )
            unknown = True
        for name, level in out.items():
            if name not in study.factor:
                known = ", ".join(study.factor) or "none"
                yield Refusal(
                    f"{path}.{name}",
                    text=f"there is no [factor.*] table {name!r}",
                    advice=f"known: {known}",
                    code="unknown-name",
                )
                unknown = True
                continue
            text = str(level).lower() if isinstance(level, bool) else str(level)
            levels = named_levels(study, name)
            if text not in levels:
                yield Refusal(
                    f"{path}.{name}",
                    text=f"{text!r} is not a level of factor.{name}",
                    expected=f"one of {', '.join(levels)}",
                    code="unknown-word",
                )
                unknown = True
        if not unknown and not any(excluded_by(study, index)):
            yield Refusal(path, text="excludes nothing", advice="remove it", code="no-effect")
    if study.factor and not unknown and not settings_of(study):
        yield Refusal(
            "exclude",
            text="excludes every combination of levels",
            expected="at least one to measure",
            code="empty",
        )


def excluded_by(study: Study, index: int) -> Iterator[bool]:
    """Check whether the exclusions remove every combination."""
    alone = msgspec.structs.replace(study, exclude=(study.exclude[index],))
    for combination in itertools.product(*(named_levels(study, name) for name in study.factor)):
        yield excluded(alone, dict(zip(study.factor, combination, strict=True)))


def _design(study: Study) -> Iterator[Refusal]:
    if study.order not in ORDERS:
        yield Refusal(
            "order", found=f"{study.order!r}", expected='"random", "blocked" or "listed"', code="unknown-word"
        )
    if study.order == "blocked" and not study.factor:
        yield Refusal(
            "order",
            found='"blocked", but the study has no [factor.*] table, so there are no arms to order',
            code="no-effect",
        )
    if study.aa and study.compare.arms not in study.factor:
        yield Refusal(
            "aa",
            found="true, but compare.arms names no [factor.*] table whose baseline could be measured twice",
            code="no-effect",
        )
    elif study.aa and (kind_of(study.compare.arms, study.factor[study.compare.arms]) == "label"):
        yield Refusal(
            "aa",
            found=f"true, but factor.{study.compare.arms} is a label, which is not measured side by side",
            code="no-effect",
        )
    elif study.aa:
        levels = study.factor[study.compare.arms].named
        if levels and again(study.compare.baseline or next(iter(levels))) in levels:
            yield Refusal(
                "aa",
                text="the name of its level is that of another level",
                advice="rename that one",
                code="repeated",
            )
    carryover = study.state.carryover
    if carryover not in CARRYOVERS:
        expected = ", ".join(f'"{word}"' for word in CARRYOVERS)
        yield Refusal(
            "state.carryover", found=f"{carryover!r}", expected=f"one of {expected}", code="unknown-word"
        )
    makes = study.state.filesystem is not None or "filesystem" in study.factor
    if carryover == "remount" and not makes:
        yield Refusal(
            "state.carryover",
            text="'remount' needs a file system that Mileage mounts: give state.filesystem",
            code="unsupported",
        )
    if carryover == "trim" and not makes and not capabilities_of(study.target).can_trim:
        yield Refusal(
            "state.carryover",
            text=f"'trim' needs a device; {study.target} is a file on one",
            expected='"none" or "purge"',
            code="unsupported",
        )
    if carryover in ("trim", "purge", PURGE_EACH):
        if any(stage.torture for stage in study.stage):
            yield Refusal(
                "state.carryover",
                text=f"{carryover!r} would undo what the torture did",
                expected='"none" or "remount"',
                code="conflict",
            )
        if study.state.start == "kept":
            yield Refusal(
                "state.carryover",
                text=f'{carryover!r} would lose the content that state.start = "kept" keeps',
                code="conflict",
            )
