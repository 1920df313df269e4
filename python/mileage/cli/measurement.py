"""Implementation of `mileage measure`: read the options, run, print."""

from __future__ import annotations

import shlex
import textwrap
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final

import click
import msgspec

from mileage.app.kept_history import kept_study, new_place, next_plan
from mileage.app.measurement import OPERATION_LOG, Measurement, measure, planned, refuse_existing
from mileage.app.measurement_request import requested
from mileage.app.rate_search import SearchResult, read_goal, search
from mileage.cli.endurance_values import time_s_of
from mileage.cli.foreign_options import refuse_elsewhere
from mileage.cli.json_output import print_json
from mileage.cli.target_choice import chosen_target
from mileage.errors import Refusal, Refused
from mileage.execute.live_view import Terminal
from mileage.judge.highest_rate_search import Probe
from mileage.model.target_kind import capabilities_of
from mileage.plan import MeasurementRequest, Plan, PlannedRun, Study, to_toml
from mileage.plan.faults import BrokenStudy, steps_of
from mileage.plan.load_model import Spacing
from mileage.plan.measure_options import option_of
from mileage.plan.one_off_study import one_off
from mileage.plan.resolver import NO_ROOM
from mileage.plan.sizes import duration
from mileage.plan.work_area import UNEVEN
from mileage.report.measurement_setup import labels_of, setting_text
from mileage.report.quantity import duration as latency_text
from mileage.targets.door import check_result
from mileage.targets.page_cache import drop_caches

_WIDTH = 80


def run(given: dict[str, Any], arguments: Sequence[str]) -> None:
    """Measure what the options ask for. Raises Refused and RunFailed."""
    if given["target"] is None:
        raise Refused(
            "--target", "missing: what is measured, such as -t /mnt/scratch or -t null:", code="missing"
        )
    given = {**given, "target": chosen_target(given["target"])}
    refuse_elsewhere(given["vary"])
    check_options(given)
    destroy, save = given["destroy"], given["save"]
    own = partial(plan_of, destroy=destroy)
    if save is not None and not given["append"]:
        refuse_existing(save)
    asked = requested(given)
    if given["append"]:
        next_plan(asked, save, own)
    if given["log"] is not None:
        check_result("--log", given["log"], OPERATION_LOG)
    found = None
    if given["latency_target"] is not None:
        found = searched(asked, given)
        if found.best is None:
            print_nothing(found, given)
            return
        spacing: Spacing = "poisson" if given["poisson"] else "constant"
        how = msgspec.structs.replace(asked.how, rate=found.best.rate, spacing=spacing)
        asked = msgspec.structs.replace(asked, how=how)

    def measured(plan: Plan, place: Path | None) -> Measurement:
        with Terminal(labels=labels_of(plan.cells)) as progress:
            return measure(
                plan,
                destroy=destroy,
                save=place,
                log=given["log"],
                progress=progress,
                command=("mileage", *arguments),
            )

    if given["append"] and not given["as_study"]:
        append(asked, given, measured, partial(_print, found=found, given=given))
        return
    plan = next_plan(asked, save, own) if given["append"] else own(one_off(asked))
    if given["as_study"]:
        click.echo(to_toml(plan.study), nl=False)
        return
    _print(measured(plan, save), found, given)
    if save is not None and not given["as_json"]:
        click.echo(
            f"\nStudy folder: {save}; to write its page again: mileage report {shlex.quote(str(save))}"
        )


def _print(done: Measurement, found: SearchResult | None, given: dict[str, Any]) -> None:
    from mileage.report.cell_estimates import with_estimates
    from mileage.report.measurement_text import measured_text

    if given["as_json"]:
        cells = with_estimates(done.cells)
        value: Any = cells if found is None else {"search": found, "cells": cells}
        print_json(value)
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


# The plan of a measurement, whose refusals give the option of `mileage measure` and not a key of a study file.


def plan_of(study: Study, destroy: str | None) -> Plan:
    """The plan of a one-off study. Raises Refused in the words of the command line."""
    try:
        return planned(study, destroy)
    except BrokenStudy as broken:
        # The filling run has the same options and repeats the faults of the measurement: report its own only if there
        # are no others.
        faults = broken.refusals
        asked = [fault for fault in faults if not fault.where.startswith("torture.")] or faults
        cold = any(table.cache == "cold" for table in study.measure.values())
        raise Refused.because(*dict.fromkeys(_in_options(fault, cold=cold) for fault in asked)) from broken


_ADVICE: Final = {
    NO_ROOM: "free some space, or give a smaller --size",
    UNEVEN: "choose a --record and a --size that divide evenly",
}
"""Advice in terms of command-line options, by the code of a refusal whose own advice names keys of a study file."""


def _in_options(fault: Refusal, *, cold: bool) -> Refusal:
    """Reword an error of the generated study so that it gives the command-line option that set the faulty key.

    `cold`: the page cache was set by --cold rather than by --direct.
    """
    if fault.where:
        fault = fault._replace(advice=_ADVICE.get(fault.code, fault.advice))
    steps = [step for step in steps_of(fault.where) if not step.isdecimal()]
    if steps == ["state", "file"]:
        return fault._replace(where="--size")
    if steps == ["record"]:
        return fault._replace(where="--record")
    if len(steps) < 3 or steps[0] not in ("measure", "torture"):
        return fault
    key = ".".join(steps[3:] if steps[2] == "vary" else steps[2:])
    return fault._replace(where="--cold" if key == "cache" and cold else f"--{option_of(key)}")


# `mileage measure --append`: a study added to a history, or several sessions over time, each a study of it.

_SESSIONS_MAX: Final = 1000


def check_options(given: dict[str, Any]) -> None:
    """Raises Refused for options of a history that do not fit each other."""
    sessions, every = given["sessions"], given["every"]
    if given["append"] and given["save"] is None:
        raise Refused("--append", "adds to a folder", advice="name it with --save DIR", code="missing")
    if sessions is None:
        if every is not None:
            raise Refused(
                "--every", "is the time between sessions", advice="add --sessions N", code="missing"
            )
        return
    if not given["append"]:
        raise Refused("--sessions", "are kept in a history", advice="add --append and --save", code="missing")
    if not 2 <= sessions <= _SESSIONS_MAX:
        raise Refused(f"--sessions {sessions}", expected=f"2 to {_SESSIONS_MAX}", code="out-of-range")
    for option in ("session", "log"):
        if given[option] is not None:
            why = "each session is named by its time" if option == "session" else "it is of one measurement"
            raise Refused(f"--{option} and --sessions", why, advice=f"remove --{option}", code="conflict")
    simulated = capabilities_of(given["target"]).simulated
    if simulated and every is not None:
        raise Refused("--every", "has no effect in simulated time", advice="remove it", code="no-effect")
    if not simulated and every is None:
        raise Refused(
            "--sessions", "need a time from one start to the next", advice="add --every 30min", code="missing"
        )
    if every is not None:
        time_s_of("--every", every)


def append(
    asked: MeasurementRequest,
    given: dict[str, Any],
    measured: Callable[[Plan, Path], Measurement],
    show: Callable[[Measurement], None],
) -> None:
    """Measure once, or in several sessions, and keep each study. Raises Refused and RunFailed.

    `measured` does a plan in a new folder; `show` prints what came out.
    """
    history, count = given["save"], given["sessions"] or 1
    every_s = 0.0 if given["every"] is None else time_s_of("--every", given["every"])
    kind = capabilities_of(asked.target)
    if count > 1:
        click.echo(textwrap.fill(_scope(count, every_s, asked), _WIDTH), err=True)
    kept = []
    for number in range(count):
        began = datetime.now(UTC)
        place = new_place(history, began)
        if count > 1:
            asked = msgspec.structs.replace(asked, session=place.name)
        plan = next_plan(asked, history, partial(plan_of, destroy=given["destroy"]))
        if count > 1 and kind.is_real:
            # Without permission the files of this measurement are still its own.
            with suppress(Refused):
                drop_caches("--sessions")
        with kept_study(place):
            done = measured(plan, place)
        kept.append((place, done))
        if not given["as_json"]:
            show(done)
            click.echo(f"\nStudy folder: {place} ({_use(history)})")
        if number + 1 < count and not kind.simulated:
            _wait(began + timedelta(seconds=every_s), number + 2, count)
    if given["as_json"]:
        _print_json(kept, show, several=count > 1)


def _use(history: Path) -> str:
    count = sum(1 for _ in history.iterdir())
    studies = f"{count} {'study' if count == 1 else 'studies'} in {history}"
    return f"{studies}: `mileage compare --history {shlex.quote(str(history))} NEW`"


def _scope(count: int, every_s: float, asked: MeasurementRequest) -> str:
    """What several sessions of one command cover, and what not."""
    kind = capabilities_of(asked.target)
    if kind.simulated:
        return f"{count} simulations, each with a seed of its own: they show no spread of a machine."
    made = ""
    if not asked.kept and (kind.is_made or kind.has_work_file):
        made = f"a {'target' if kind.is_made else 'work file'} made anew, "
    last = duration((count - 1) * every_s)
    return (
        f"{count} sessions; the last begins in {last}. Each has {made}another seed and, where permitted, an empty page "
        "cache. All are on one boot, in one stretch of time, next to the same neighbours: what differs between "
        "boots and days is not in their spread."
    )


def _wait(until: datetime, number: int, count: int) -> None:
    left_s = (until - datetime.now(UTC)).total_seconds()
    if left_s > 0:
        click.echo(f"Session {number} of {count} begins at {until:%H:%M:%S} UTC", err=True)
        time.sleep(left_s)


def _print_json(
    kept: Sequence[tuple[Path, Measurement]], show: Callable[[Measurement], None], *, several: bool
) -> None:
    from mileage.report.cell_estimates import with_estimates

    if not several:
        show(kept[0][1])
        return
    found = [{"study": str(place), "cells": with_estimates(done.cells)} for place, done in kept]
    print_json({"sessions": found})


# The part of `mileage measure` that searches the highest rate which keeps a latency, with a line per probe.


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
        click.echo(f"{'due /s':>10} {'done /s':>10} {goal.name:>11}   kept")
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
                row = f"{probe.rate:>10,} {probe.done_per_s:>10,.0f} {latency_text(probe.latency_ns):>11}"
                watch.print(f"{row}   {'yes' if probe.kept else 'no'}")

        found = search(plan, goal, spacing, given["destroy"], on_probe=on_probe, moved=moved)
    if not quiet and (doubt := found.doubt(goal)):
        click.echo(f"note: {doubt}")
    return found


def print_nothing(found: SearchResult, given: dict[str, Any]) -> None:
    """Print that no rate keeps the goal."""
    if given["as_json"]:
        print_json({"search": found, "cells": []})
        return
    lowest = min((probe.rate for probe in found.probes), default=0)
    click.echo(f"\nNo rate keeps {given['latency_target']}: {lowest:,} operations per second do not.")
