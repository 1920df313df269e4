"""`mileage powercut`: power cuts under real file systems and applications."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from mileage.cli.json_output import print_json
from mileage.cli.value_types import WholeNumber

if TYPE_CHECKING:
    from mileage.app.power_cut_result import CampaignResult
    from mileage.store.safe_directory import Directory

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
@click.option("--cuts", type=WholeNumber(1, 100_000), default=60, show_default=True, metavar="N")
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
@click.option("--seed", type=WholeNumber(min=0), default=1, show_default=True, metavar="N")
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
    from contextlib import ExitStack

    from mileage.app.comparison_report import new_folder
    from mileage.app.power_cut import PowerCutOptions, check_campaign, combinations_of, run_campaign
    from mileage.app.power_cut_apps import apps_of
    from mileage.app.power_cut_result import row_of, sentence_of
    from mileage.execute.live_view import CountedProgress
    from mileage.report.power_cut_page import power_cut_text
    from mileage.terminal import report_width

    kinds = fs.split(",")
    options = PowerCutOptions(drive=drive, cuts=cuts, seed=seed, speed=speed)
    check_campaign(kinds, _POWER[power], options)
    pairs = list(combinations_of(kinds, apps_of(apps), _SWITCH[barriers], _POWER[power], _FLUSH[flush]))

    with ExitStack() as stack:
        # Before the cuts: what came out after hours must not be refused then.
        folder = stack.enter_context(new_folder(report, "--report")) if report is not None else None
        with CountedProgress("power cuts", cuts * len(pairs), unit="cuts") as view:
            before = 0

            def note(number: int, name: str, done: int) -> None:
                nonlocal before
                view.step(f"{number}/{len(pairs)} {name}: {done} of {cuts} cuts")
                # A combination that ended early leaves no cuts to wait for.
                now = (number - 1) * cuts + done
                view.advance(now - before)
                before = now

            campaign = run_campaign(pairs, options, note)
        if folder is not None:
            _write_page(folder, campaign)
            click.echo(f"page: {folder.path / 'report.html'}", err=True)
    if as_json:
        print_json(campaign)
    else:
        rows = [row_of(result) for result in campaign.combinations]
        click.echo(power_cut_text(sentence_of(campaign), rows, report_width()), nl=False)
    _judge(campaign)


def _write_page(folder: Directory, campaign: CampaignResult) -> None:
    import shlex
    import sys

    import msgspec

    from mileage.app.power_cut_result import row_of, sentence_of
    from mileage.report.power_cut_page import render_power_cuts

    line = shlex.join(["mileage", *sys.argv[1:]])
    rows = [row_of(result) for result in campaign.combinations]
    page = render_power_cuts(campaign.drive, sentence_of(campaign), rows, line)
    folder.write("report.html", page.encode())
    folder.write("cuts.json", msgspec.json.format(msgspec.json.encode(campaign), indent=2))


def _judge(campaign: CampaignResult) -> None:
    """Raise JudgedFailure when a promise was broken, and RunFailed when one was not examined, or not to the end."""
    from mileage.errors import Interrupted, JudgedFailure, RunFailed

    results = campaign.combinations
    if any(result.is_judged and result.failures for result in results):
        raise JudgedFailure("a combination that must keep every acknowledged transaction failed")
    if any(result.is_interrupted for result in results):
        raise Interrupted("interrupted; the cuts until then are reported")
    for result in results:
        if result.combination.must_keep and result.why_not_judged:
            raise RunFailed(f"{result.combination.name}: not judged, because {result.why_not_judged}")
        if result.ended:
            raise RunFailed(
                f"{result.combination.name}: ended after {len(result.cuts)} of {result.planned} cuts: {result.ended}"
            )
