"""What `mileage measure` does with its options: asks, measures, prints."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import click
import msgspec

from mileage.errors import Refused
from mileage.execute.watch import Watch
from mileage.measuring import Measurement, asked_of, measure, planned, refuse_existing
from mileage.plan import Asked, one_off, to_toml
from mileage.plan.how import Cache, How
from mileage.report.measured import measured_text
from mileage.report.setting import labels_of, setting_text


def run(given: dict[str, Any], arguments: Sequence[str]) -> None:
    """Measure what the options ask for. Raises Refused and RunFailed."""
    asked = _asked(given)
    study = one_off(asked)
    if given["as_study"]:
        planned(study, given["destroy"])
        click.echo(to_toml(study), nl=False)
        return
    save = given["save"]
    if save is not None:
        refuse_existing(save)
    plan = planned(study, given["destroy"])
    labels = labels_of([cell.label for cell in plan.cells])
    names = [labels.get(run.cell, "writing what is read") for run in plan.runs]
    with Watch(plan.runs, names, simulated=plan.facts.virtual) as progress:
        found = measure(
            plan, destroy=given["destroy"], save=save, progress=progress, command=("mileage", *arguments)
        )
    _print(found, labels, given)


def _print(found: Measurement, labels: dict[str, str], given: dict[str, Any]) -> None:
    if given["as_json"]:
        click.echo(msgspec.json.format(msgspec.json.encode(found.cells), indent=2))
        return
    click.echo(setting_text(found.plan))
    click.echo(measured_text(found.cells, [labels[cell.cell] for cell in found.cells]), nl=False)
    for note in found.notes:
        click.echo(f"note: {note}")
    if given["save"] is not None:
        click.echo(f"\nStudy folder: {given['save']} (mileage report, mileage compare)")


def _asked(given: dict[str, Any]) -> Asked:
    cache = _cache(given)
    asked = asked_of(given["target"], given["destroy"], cache)
    rate, poisson = given["rate"], given["poisson"]
    how = How(
        reads=given["reads"],
        discards=given["discards"],
        content=given["content"],
        verify=given["verify"],
        generation=given["generation"],
        sync=given["sync"],
        sync_every=given["sync_every"],
        rate=rate,
        spacing="poisson" if poisson else None,
        cap=given["cap"],
        think=given["think"],
        burst=given["burst"],
        warm_up=given["warm_up"],
        api=given["api"],
        cache=cache,
        dsync=given["dsync"] or None,
        pin=_processors(given["pin"]),
        timeout=given["timeout"],
    )
    return msgspec.structs.replace(
        asked,
        workload=given["workload"],
        record=given["record"],
        depth=given["depth"],
        threads=given["threads"],
        time=given["time"],
        bytes=given["size_limit"],
        operations=given["operations"],
        size=given["size"],
        start=given["start"],
        how=how,
        vary=given["vary"],
        repeat=given["repeat"],
        seed=given["seed"],
    )


def _cache(given: dict[str, Any]) -> Cache | None:
    if given["cold"]:
        if given["direct"]:
            raise Refused("--cold and --direct: a cache that is bypassed is not emptied; give one of them")
        return "cold"
    if given["direct"] is None:
        return None
    return "direct" if given["direct"] else "warm"


def _processors(text: str | None) -> tuple[int, ...] | None:
    """The processors that a list such as "0,2-3" names. Raises Refused."""
    if text is None:
        return None
    found: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not (first.isdecimal() and (last.isdecimal() if dash else True)) or len(part) > 9:
            raise Refused(
                f"--pin {text}: expected processor numbers such as 0,2-3; this machine has {os.cpu_count()}"
            )
        found += range(int(first), int(last or first) + 1)
    return tuple(found)
