"""`mileage check`: one minute on a drive."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mileage.cli.json_output import print_json
from mileage.cli.value_types import Number, Size, WholeNumber

if TYPE_CHECKING:
    from mileage.app.check import CheckRun


def _purposes(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """The names of purposes that complete a word."""
    from mileage.plan.builtin import purpose_names

    return [name for name in purpose_names() if name.startswith(incomplete)]


@click.command("check")
@click.argument("targets", nargs=-1, required=True, metavar="TARGET [TARGET]")
@click.option("--quick", is_flag=True, help="Ten seconds: short runs in a small file.")
@click.option("--seconds", type=Number(0.02, 600), metavar="S", help="Length of each run.")
@click.option(
    "--max-writes",
    type=Size(),
    default="32GiB",
    metavar="SIZE",
    help="Bytes written at most; default: 32 GiB.",
)
@click.option("--datasheet", "-d", metavar="NAME", help="Compare with this data sheet, or FILE.toml.")
@click.option(
    "--for",
    "purpose",
    metavar="NAME",
    shell_complete=_purposes,
    help="Is it fit for this purpose? Or FILE.toml.",
)
@click.option("--runs", type=WholeNumber(), metavar="N", help="With --for: runs; default: 5.")
@click.option("--destroy", metavar="PATH", help="With --for: allow the loss of its content.")
@click.option("--save", type=click.Path(path_type=Path), metavar="DIR", help="Keep the study folder.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.pass_context
def command(
    context: click.Context,
    targets: tuple[str, ...],
    quick: bool,
    seconds: float | None,
    max_writes: int,
    datasheet: str | None,
    purpose: str | None,
    runs: int | None,
    destroy: str | None,
    save: Path | None,
    as_json: bool,
) -> None:
    """What is this drive, is it healthy, how fast, and does that fit its
    class? In about a minute, as text that fits a forum post.

    TARGET is a directory, a block device, a file or virtual:NAME. A device,
    and a file with content, is only read; in a directory one work file is
    made and removed; the most that is written is printed before. Two targets
    are measured in turn and printed side by side. Health needs smartctl or
    nvme, and root.

    \b
    mileage check /mnt/ssd
    sudo mileage check /dev/nvme0n1
    mileage check /mnt/old /mnt/new
    mileage check /mnt/ssd -d samsung-960-pro-512gb

    --for NAME asks whether the target is fit for a purpose: its load is
    done in five runs, and its figure judged by the limit that was published
    (mileage list purposes). Its load writes.

    \b
    mileage check /mnt/ssd --for etcd
    mileage check /mnt/old /mnt/new --for postgresql-wal

    The data sheet of a drive whose model is known is compared without being
    named (mileage list datasheets).

    Exit status: 0 measured, and nothing is judged bad; 1 the drive is failing
    or does not fit its class, or the purpose; 2 refused; 3 a run failed;
    5 it cannot be said whether it is fit for the purpose.
    """
    if len(targets) > 2:
        raise click.UsageError(f"{targets[2]} is one target too many; expected one, or two to compare")
    if purpose is not None:
        given = {"--quick": quick, "--datasheet": datasheet is not None}
        if unused := next((option for option, is_given in given.items() if is_given), None):
            words = "has no effect with --for, whose load says what is measured"
            raise click.UsageError(f"{unused} {words}; leave it out")
        status = _fit_check(targets, purpose, (runs, seconds, max_writes, destroy), save, as_json=as_json)
    else:
        for option, value in {"--runs": runs, "--destroy": destroy}.items():
            if value is not None:
                raise click.UsageError(f"{option} has an effect with --for only; leave it out")
        status = _drive_check(targets, (quick, seconds, max_writes), datasheet, save, as_json=as_json)
    context.exit(status)


def _drive_check(
    targets: tuple[str, ...],
    asked: tuple[bool, float | None, int],
    datasheet: str | None,
    save: Path | None,
    *,
    as_json: bool,
) -> int:
    """Do the check of one drive or two and print it; the exit status."""
    from mileage.analysis.check_result import plain_results
    from mileage.analysis.check_text import check_text, pair_text
    from mileage.app.check import CheckOptions, check, plan_of, plan_of_pair
    from mileage.cli.target_choice import chosen_target
    from mileage.execute.live_view import Terminal
    from mileage.report.measurement_setup import labels_of
    from mileage.targets.data_sheets import load_data_sheet

    if datasheet is not None and len(targets) == 2:
        raise click.UsageError("--datasheet is of one target; found two")
    sheet = None if datasheet is None else load_data_sheet(datasheet)
    wanted = CheckOptions(*asked)
    names = [chosen_target(target) for target in targets]
    shared = plan_of_pair(names, wanted) if len(names) == 2 else None
    plans = [plan_of(name, wanted) for name in names] if shared is None else [shared]
    done: list[CheckRun] = []
    for plan, folder in zip(plans, _new_folders(save, len(plans)), strict=True):
        with Terminal(labels=labels_of(plan.cells)) as progress:
            line = ("mileage", *sys.argv[1:])
            done.append(check(plan, save=folder, progress=progress, command=line, sheet=sheet))
    found = [one for each in done for one in each.checked]
    comparison = done[0].comparison
    if as_json:
        print_json(plain_results(found, comparison))
    elif len(found) == 1:
        click.echo(check_text(found[0]), nl=False)
    else:
        click.echo(pair_text(found[0], found[1], comparison), nl=False)
    _print_folders(save, len(plans))
    return max(one.status for one in found)


def _fit_check(
    targets: tuple[str, ...],
    purpose: str,
    asked: tuple[int | None, float | None, int, str | None],
    save: Path | None,
    *,
    as_json: bool,
) -> int:
    """Do the check for a purpose and print it; the exit status."""
    from mileage.app.fitness import FitOptions, check_fitness, load_purpose, plans_for
    from mileage.cli.target_choice import chosen_target
    from mileage.execute.live_view import Terminal
    from mileage.judge.fitness import RUNS_MIN
    from mileage.report.fitness import fit_pair_text, fit_text, plain_fits, status_of
    from mileage.report.measurement_setup import labels_of

    runs, seconds, max_writes, destroy = asked
    wanted = FitOptions(RUNS_MIN if runs is None else runs, seconds, max_writes, destroy)
    load = load_purpose(purpose)
    plans = plans_for(load, [chosen_target(target) for target in targets], wanted)
    done = check_fitness(
        plans,
        load,
        destroy=destroy,
        save=_new_folders(save, len(plans)),
        progress=lambda plan: Terminal(labels=labels_of(plan.cells)),
        command=("mileage", *sys.argv[1:]),
    )
    found = done.checked
    if as_json:
        print_json(plain_fits(found, done.comparison))
    elif len(found) == 1:
        click.echo(fit_text(found[0]), nl=False)
    else:
        click.echo(fit_pair_text(found[0], found[1], done.comparison), nl=False)
    _print_folders(save, len(plans))
    return status_of(found)


def _folders(save: Path | None, count: int) -> list[Path | None]:
    """Study folder of each plan."""
    if save is None or count == 1:
        return [save] * count
    return [save / letter for letter in "ab"]


def _new_folders(save: Path | None, count: int) -> list[Path | None]:
    """Study folder of each plan; Refused where one is there already, before anything is measured."""
    from mileage.app.measurement import refuse_existing

    for folder in (found := _folders(save, count)):
        if folder is not None:
            refuse_existing(folder)
    return found


def _print_folders(save: Path | None, count: int) -> None:
    if save is not None:
        click.echo(f"study folder: {' '.join(map(str, _folders(save, count)))}", err=True)
