"""`mileage powercut`: power cuts under real file systems and applications."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from mileage.app.power_cut_result import CombinationResult

_SWITCH = {"on": [True], "off": [False], "on,off": [True, False]}
_POWER = {"volatile": [False], "protected": [True], "volatile,protected": [False, True]}
_FLUSH = {"honest": [True], "lying": [False], "honest,lying": [True, False]}


@click.command("powercut", short_help="Power cuts under real file systems and applications.")
@click.argument("drive", default="intel-x25e-64gb")
@click.option("--fs", default="ext4", show_default=True, metavar="LIST", help="Of ext4, xfs, btrfs.")
@click.option(
    "--app",
    "apps",
    multiple=True,
    default=("fsync-loop",),
    show_default=True,
    metavar="NAME",
    help="fsync-loop, sqlite[:JOURNAL-SYNCHRONOUS], postgres[:fsync|nofsync], or a command; may be repeated.",
)
@click.option("--cuts", type=click.IntRange(1, 100_000), default=60, show_default=True, metavar="N")
@click.option(
    "--barriers",
    type=click.Choice(list(_SWITCH)),
    default="on",
    show_default=True,
    help="Flushes of the host.",
)
@click.option(
    "--power", type=click.Choice(list(_POWER)), default="volatile", show_default=True, help="Write buffer."
)
@click.option(
    "--flush",
    type=click.Choice(list(_FLUSH)),
    default="honest",
    show_default=True,
    help="Flushes of the drive.",
)
@click.option(
    "--speed",
    default="real",
    show_default=True,
    metavar="real|xN",
    help="Of the drive's clock; x0.05: a slow drive, which has more to lose.",
)
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, metavar="N")
@click.option(
    "--report", type=click.Path(file_okay=False, path_type=Path), metavar="DIR", help="Write a page into DIR."
)
@click.option("--json", "as_json", is_flag=True, help="Print every cut as JSON.")
def command(
    drive: str,
    fs: str,
    apps: tuple[str, ...],
    cuts: int,
    barriers: str,
    power: str,
    flush: str,
    speed: str,
    seed: int,
    report: Path | None,
    as_json: bool,
) -> None:
    """Cut the power of a served virtual DRIVE at random instants while an
    application commits on a real file system; let both recover, and compare
    what was acknowledged with what is there. Needs root. Exit status 1 if a
    combination that must keep every acknowledged transaction lost one.

    \b
    mileage powercut --app sqlite --fs ext4,xfs
    mileage powercut --app sqlite:delete-full --barriers on,off --cuts 20
    mileage powercut --app "./my-database-test.sh" --power protected
    """
    import shlex
    import sys

    import msgspec

    from mileage.app.comparison_report import new_folder
    from mileage.app.power_cut import (
        FILE_SYSTEMS,
        PowerCutOptions,
        check_programs,
        combinations_of,
        run_combination,
    )
    from mileage.app.power_cut_apps import apps_of
    from mileage.app.power_cut_result import row_of, sentence_of
    from mileage.errors import Refused
    from mileage.report.power_cut_page import power_cut_text, render_power_cuts

    kinds = fs.split(",")
    if unknown := [kind for kind in kinds if kind not in FILE_SYSTEMS]:
        raise Refused(f"--fs {unknown[0]}", expected=", ".join(FILE_SYSTEMS), code="unknown-word")
    check_programs(set(kinds))
    options = PowerCutOptions(drive=drive, cuts=cuts, seed=seed, speed=speed)
    pairs = list(combinations_of(kinds, apps_of(apps), _SWITCH[barriers], _POWER[power], _FLUSH[flush]))
    results = []
    for number, (combination, app) in enumerate(pairs, start=1):
        head = f"{number}/{len(pairs)} {combination.name}"

        def note(done: int, head: str = head) -> None:
            if done % 10 == 0 or done == cuts:
                click.echo(f"{head}: {done} of {cuts} cuts", err=True)

        results.append(run_combination(combination, app, options, note))
    sentence, rows = sentence_of(results), [row_of(result) for result in results]
    if report is not None:
        line = shlex.join(["mileage", *sys.argv[1:]])
        with new_folder(report, "--report") as folder:
            folder.write("report.html", render_power_cuts(drive, sentence, rows, line).encode())
            folder.write("cuts.json", msgspec.json.format(msgspec.json.encode(results), indent=2))
        click.echo(f"page: {report / 'report.html'}", err=True)
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(results), indent=2))
    else:
        click.echo(power_cut_text(sentence, rows), nl=False)
    _judge(results)


def _judge(results: list[CombinationResult]) -> None:
    """Raise JudgedFailure when a promise was broken, and RunFailed when one was not examined."""
    from mileage.errors import JudgedFailure, RunFailed

    if any(result.is_judged and result.first_failure for result in results):
        raise JudgedFailure("a combination that must keep every acknowledged transaction failed")
    for result in results:
        if result.combination.must_keep and result.why_not_judged:
            raise RunFailed(f"{result.combination.name}: not judged, because {result.why_not_judged}")
