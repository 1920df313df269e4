"""At which levels of a study's labels this machine is now.

Scope: a label is a factor that Mileage cannot change: a kernel, a machine. The user says its level, or the
environment does; where both do, they must agree.
What it refuses: levels that the study does not have, labels that nobody said, and a level that is not what was found.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from mileage.errors import Refused
from mileage.plan import Plan, part_of
from mileage.plan.factors import kind_of
from mileage.plan.study import Factor


def part_now(plan: Plan, said: Mapping[str, str]) -> str:
    """The part of a plan that can be done now; empty in a study without labels. Raises Refused."""
    study = plan.study
    labels = {name: factor for name, factor in study.factor.items() if kind_of(name, factor) == "label"}
    for name in said:
        if name not in labels:
            known = ", ".join(labels) or "none"
            raise Refused(
                f"--label {name}",
                f"{study.name} has no label of this name",
                advice=f"known: {known}",
                code="unknown-name",
            )
    levels = {name: _level(study.name, name, factor, said.get(name)) for name, factor in labels.items()}
    part = part_of(levels)
    if part not in plan.parts:
        raise Refused(
            study.name,
            f"{part} is excluded",
            expected=f"one of {'; '.join(plan.parts)}",
            code="unknown-word",
        )
    return part


def _level(study: str, name: str, factor: Factor, said: str | None) -> str:
    levels = list(factor.named)
    expected = f"one of {', '.join(levels)}"
    found = None if factor.found is None else _fact(factor.found)
    if factor.found is not None and found is None:
        raise Refused(
            f"{study}: factor.{name}.found",
            f"this machine has no {factor.found!r}",
            advice="remove it and use --label",
            code="missing",
        )
    if said is not None and said not in levels:
        raise Refused(
            f"--label {name}={said}",
            f"not a level of factor.{name} of {study}",
            expected=expected,
            code="unknown-word",
        )
    if found is None:
        if said is None:
            raise Refused(
                f"{study}: factor.{name}",
                f"is a label: give --label {name}=LEVEL",
                expected=expected,
                code="missing",
            )
        return said
    fitting = [level for level in levels if is_level(found, level)]
    if said is not None and said not in fitting:
        raise Refused(
            f"--label {name}={said}",
            found=f"{factor.found} = {found!r}, which is not that",
            expected=expected,
            code="mismatch",
        )
    if not fitting:
        raise Refused(
            f"{study}: factor.{name}", found=f"{factor.found} = {found!r}", expected=expected, code="mismatch"
        )
    return said or max(fitting, key=len)


def _fact(key: str) -> str | None:
    from mileage.store.environment import snapshot

    return snapshot(None).get(key)


def is_level(found: str, level: str) -> bool:
    """Whether the detected text matches a level: equal, or one that continues after it ("6.1" for "6.1.0-27-amd64")."""
    return re.match(rf"{re.escape(level)}(?![A-Za-z0-9])", found) is not None
