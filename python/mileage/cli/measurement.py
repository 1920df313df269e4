"""Implementation of `mileage measure`: read the options, run, print."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
import msgspec

from mileage.app.measurement import Measurement, asked_of, measure, refuse_existing
from mileage.cli.foreign_options import refuse_elsewhere
from mileage.cli.one_off_plan import plan_of
from mileage.cli.target_choice import chosen_target
from mileage.errors import Refused
from mileage.execute.live_view import Terminal
from mileage.plan import MeasurementRequest, TraceFile, to_toml
from mileage.plan.io_options import IoOptions
from mileage.plan.load_model import Spacing
from mileage.plan.measure_options import OPTIONS
from mileage.plan.one_off_study import one_off
from mileage.report.measurement_setup import labels_of, setting_text

if TYPE_CHECKING:
    from mileage.app.rate_search import SearchResult

_WIDTH = 80
_PROCESSOR_DIGITS: Final = 5
"""Digits of the number of a processor: no kernel has 100,000 of them."""


def run(given: dict[str, Any], arguments: Sequence[str]) -> None:
    """Measure what the options ask for. Raises Refused and RunFailed."""
    if given["target"] is None:
        raise Refused(
            "--target", "missing: what is measured, such as -t /mnt/scratch or -t null:", code="missing"
        )
    given = {**given, "target": chosen_target(given["target"])}
    refuse_elsewhere(given["vary"])
    asked = _asked(given)
    destroy, save = given["destroy"], given["save"]
    if save is not None:
        refuse_existing(save)
    if given["log"] is not None and given["log"].exists():
        raise Refused(f"--log {given['log']}", "exists", advice="name a new file", code="exists")
    if given["log"] is not None and not given["log"].parent.is_dir():
        raise Refused(
            f"--log {given['log']}",
            f"{given['log'].parent} is no folder",
            advice="make it first",
            code="not-found",
        )
    found = None
    if given["latency_target"] is not None:
        from mileage.cli.rate_search import print_nothing, searched

        found = searched(asked, given)
        if found.best is None:
            print_nothing(found, given)
            return
        spacing: Spacing = "poisson" if given["poisson"] else "constant"
        how = msgspec.structs.replace(asked.how, rate=found.best.rate, spacing=spacing)
        asked = msgspec.structs.replace(asked, how=how)
    study = one_off(asked)
    plan = plan_of(study, destroy)
    if given["as_study"]:
        click.echo(to_toml(study), nl=False)
        return
    labels = labels_of(plan.cells)
    with Terminal(labels=labels) as progress:
        done = measure(
            plan,
            destroy=destroy,
            save=save,
            log=given["log"],
            progress=progress,
            command=("mileage", *arguments),
        )
    _print(done, found, given)


def _print(done: Measurement, found: SearchResult | None, given: dict[str, Any]) -> None:
    from mileage.report.measurement_text import measured_text

    if given["as_json"]:
        value: Any = done.cells if found is None else {"search": found, "cells": done.cells}
        click.echo(msgspec.json.format(msgspec.json.encode(value), indent=2))
        return
    if found is not None and found.best is not None:
        summary = f"{given['latency_target']} is kept up to {found.best.rate:,} operations per second"
        click.echo(f"\n{summary}; measured there once more:\n")
    click.echo(setting_text(done.plan))
    for caution in done.cautions:
        click.echo(textwrap.fill(f"[!] {caution}", _WIDTH, subsequent_indent="    "))
    if done.cautions:
        click.echo()
    click.echo(measured_text(done.cells, done.plan.cells), nl=False)
    for note in done.notes:
        click.echo(textwrap.fill(f"note: {note}", _WIDTH, subsequent_indent="  "))
    if given["save"] is not None:
        click.echo(f"\nStudy folder: {given['save']} (mileage report, mileage compare)")


def _asked(given: dict[str, Any]) -> MeasurementRequest:
    cache = _cache(given)
    asked = asked_of(given["target"], given["destroy"], cache)
    how = {option.key: given[option.key] for option in OPTIONS if option.sets == "how"}
    how |= {
        "spacing": "poisson" if given["poisson"] and given["latency_target"] is None else None,
        "cache": cache,
        "dsync": given["dsync"] or None,
        "power_cut": given["power_cut"] or None,
        "pin": _processors(given["pin"]),
        "log": True if given["log"] is not None else None,
    }
    fields = {option.key: given[option.key] for option in OPTIONS if option.sets == "asked"}
    return msgspec.structs.replace(asked, **fields, how=IoOptions(**how), traces=_traces(given))


def _traces(given: dict[str, Any]) -> dict[str, TraceFile]:
    """The traces that the workload, or a level of it, replays. Raises Refused."""
    words = [
        given["workload"] or "",
        *(word for text in given["vary"] for word in text.partition("=")[2].split(",")),
    ]
    found: dict[str, TraceFile] = {}
    for word in words:
        head, colon, path = word.strip().partition(":")
        if head == "trace" and colon:
            from mileage.formats.trace import read_trace, trace_file

            found[path] = trace_file(Path(path).resolve(), read_trace(Path(path)))
    return found


def _cache(given: dict[str, Any]) -> str | None:
    if given["cold"]:
        if given["direct"]:
            raise Refused(
                "--cold and --direct",
                "a cache that is bypassed is not emptied",
                advice="give one of them",
                code="conflict",
            )
        return "cold"
    if given["direct"] is None:
        return None
    return "direct" if given["direct"] else "warm"


def _processors(text: str | None) -> tuple[int, ...] | None:
    """The processors that a list such as "0,2-3" names, or "node1" for those of a NUMA node. Raises Refused."""
    if text is None:
        return None
    found: list[int] = []
    for part in text.split(","):
        if part.strip().startswith("node"):
            found += _of_node(text, part.strip().removeprefix("node"))
            continue
        first, dash, last = part.strip().partition("-")
        numbers = (first, last) if dash else (first,)
        if not all(number.isdecimal() and len(number) <= _PROCESSOR_DIGITS for number in numbers):
            raise Refused(
                f"--pin {text}",
                expected="processor numbers such as 0,2-3, or node0",
                advice=f"this machine has {os.cpu_count()}",
                code="wrong-value",
            )
        found += range(int(first), int(last or first) + 1)
    return tuple(found)


def _of_node(text: str, node: str) -> tuple[int, ...]:
    from mileage import _core

    if not node.isdecimal() or len(node) > 9:
        raise Refused(
            f"--pin {text}", expected="the number of a NUMA node, such as node0", code="wrong-value"
        )
    try:
        return tuple(_core.cpus_of_node(int(node)))
    except Refused as refusal:
        raise refusal.within(f"--pin {text}") from refusal
