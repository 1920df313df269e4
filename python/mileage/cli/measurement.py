"""Implementation of `mileage measure`: read the options, run, print."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from mileage.app.kept_history import next_plan
from mileage.app.measurement import OPERATION_LOG, Measurement, measure, refuse_existing
from mileage.app.measurement_request import requested
from mileage.cli.foreign_options import refuse_elsewhere
from mileage.cli.kept_sessions import append, check_options
from mileage.cli.one_off_plan import plan_of
from mileage.cli.target_choice import chosen_target
from mileage.errors import Refused
from mileage.execute.live_view import Terminal
from mileage.plan import Plan, to_toml
from mileage.plan.load_model import Spacing
from mileage.plan.one_off_study import one_off
from mileage.report.measurement_setup import labels_of, setting_text
from mileage.targets.door import check_result

if TYPE_CHECKING:
    from mileage.app.rate_search import SearchResult

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
        from mileage.cli.rate_search import print_nothing, searched

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
