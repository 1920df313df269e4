"""The part of `mileage measure` that searches the highest rate which keeps a latency, with a line per probe."""

from __future__ import annotations

from typing import Any

import click
import msgspec

from mileage.app.rate_search import SearchResult, read_goal, search
from mileage.cli.one_off_plan import plan_of
from mileage.errors import Refused
from mileage.execute.live_view import Terminal
from mileage.judge.highest_rate_search import Probe
from mileage.plan import MeasurementRequest, PlannedRun
from mileage.plan.load_model import Spacing
from mileage.plan.one_off_study import one_off
from mileage.report.measurement_setup import setting_text
from mileage.report.quantity import duration


def searched(asked: MeasurementRequest, given: dict[str, Any]) -> SearchResult:
    """Search the rate, with a line for each finished probe."""
    goal = read_goal(given["latency_target"])
    if given["rate"] is not None:
        raise Refused("--latency-target", "searches the rate itself", advice="remove --rate", code="conflict")
    # The operation log belongs to the run at the found rate, not to this closed loop before the search.
    closed = msgspec.structs.replace(asked, how=msgspec.structs.replace(asked.how, spacing=None, log=None))
    plan = plan_of(one_off(closed), given["destroy"])
    quiet = given["as_json"]
    spacing: Spacing = "poisson" if given["poisson"] else "constant"
    if not quiet:
        click.echo(setting_text(plan))
        click.echo(f"{'due /s':>10} {'done /s':>10} {goal.quantile:>9}   kept")
    with Terminal(endless=True) as watch:
        watch.start(plan, {}, 1)
        watch.stage("searching the rate")
        in_flight: list[tuple[PlannedRun, int]] = []

        def moved(run: PlannedRun, byte_count: int) -> None:
            if not in_flight or in_flight[0][0] is not run:
                in_flight[:] = [(run, 0)]
                watch.run(run)
            watch.advance(byte_count - in_flight[0][1])
            in_flight[:] = [(run, byte_count)]

        def on_probe(probe: Probe) -> None:
            if not quiet:
                row = f"{probe.rate:>10,} {probe.done_per_s:>10,.0f} {duration(probe.latency_ns):>9}"
                watch.print(f"{row}   {'yes' if probe.kept else 'no'}")

        found = search(plan, goal, spacing, given["destroy"], on_probe=on_probe, moved=moved)
    if not quiet and (doubt := found.doubt(goal)):
        click.echo(f"note: {doubt}")
    return found


def print_nothing(found: SearchResult, given: dict[str, Any]) -> None:
    """Print that no rate keeps the goal."""
    if given["as_json"]:
        click.echo(msgspec.json.format(msgspec.json.encode({"search": found, "cells": []}), indent=2))
        return
    lowest = min((probe.rate for probe in found.probes), default=0)
    click.echo(f"\nNo rate keeps {given['latency_target']}: {lowest:,} operations per second do not.")
