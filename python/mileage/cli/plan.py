"""`mileage plan`: what a study would do; nothing is written."""

from __future__ import annotations

import click

from mileage.cli.json_output import print_json
from mileage.cli.value_types import file_option, scale_option, seed_option, target_option


@click.command("plan")
@click.argument("study", required=False)
@target_option
@click.option("--quick", is_flag=True, help="Plan one small, short cycle, as run --quick does it.")
@seed_option
@scale_option
@file_option
@click.option("--destroy", metavar="PATH", help="Plan as if the content of this file or device may be lost.")
@click.option(
    "--as", "other", metavar="TOOL", help="Print the study as a job of fio, iozone, ior or elbencho."
)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print the plan as JSON; for a refused study, the list of its errors.",
)
@click.option("--schema", is_flag=True, help="Print the JSON schema of study files, for editors.")
def command(
    study: str | None,
    target: str | None,
    quick: bool,
    seed: int | None,
    scale: str | None,
    file: str | None,
    destroy: str | None,
    other: str | None,
    as_json: bool,
    schema: bool,
) -> None:
    """Print tests, runs, time, bytes to be written and drive writes of STUDY.

    STUDY may be the folder of an unfinished study: the time left then
    follows from the runs that are done.
    """
    if schema:
        from mileage.plan.study import study_schema

        if study is not None:
            raise click.UsageError(f"--schema is for all studies; remove {study}")
        print_json(study_schema())
        return
    from mileage import app
    from mileage.cli.target_choice import optional_target
    from mileage.execute import cycles_at_once
    from mileage.plan.estimate import estimate
    from mileage.plan.plan_text import describe

    if study is not None and (left := app.time_left(study)) is not None:
        from mileage.plan.sizes import duration

        left_s, done, needed = left
        click.echo(
            f"{study}: {done} of {needed} runs done; about {duration(left_s)} left, as fast as they were"
        )
        return
    resolved = app.plan(
        study, target=optional_target(target), quick=quick, seed=seed, destroy=destroy, scale=scale, file=file
    )
    if other is not None:
        from mileage.formats.equivalents import in_words_of

        click.echo(in_words_of(resolved, other), nl=False)
        return
    lanes = cycles_at_once(resolved)
    if as_json:
        cells = [cell.label for cell in resolved.cells]
        found = {
            "study": resolved.study.name,
            "target": resolved.target,
            "hash": resolved.hash,
            "cells": cells,
        }
        print_json({**found, "estimate": estimate(resolved, lanes=lanes)})
        return
    click.echo(describe(resolved, lanes=lanes))
