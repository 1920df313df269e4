"""`mileage report`: the page, the figures and the tables of a study, or of two, made from the journals."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("report")
@click.argument("studies", nargs=-1, required=True, metavar="DIR [DIR]")
@click.option(
    "--stage", metavar="NAME", help="Of two studies: the stage to compare; default: the last measured one."
)
@click.option(
    "--out",
    "-o",
    type=click.Path(path_type=Path),
    metavar="NEW",
    help="Of two studies: the new folder to write into.",
)
@click.option(
    "--report",
    "level",
    type=click.Choice(("text", "full")),
    help="Page and tables without pictures, or all; default: full.",
)
@click.option(
    "--expect",
    metavar="SEAL",
    help="Exit status 1 unless the folder is as it was when its report printed this seal.",
)
@click.option("--method", is_flag=True, help="Print how it was measured and judged, instead of the verdict.")
def command(
    studies: tuple[str, ...],
    stage: str | None,
    out: Path | None,
    level: str | None,
    expect: str | None,
    method: bool,
) -> None:
    """Write the report of a study folder again and print the verdict; of a
    study that runs still, or that is broken, what there is and what is
    missing. Two folders, or two stages written FOLDER:STAGE, give the page
    of their comparison, in a new folder.

    \b
    mileage report study-1
    mileage report study-1 --method           how it was measured, in words
    mileage report study-1 --expect 3fa9...   nothing was edited since then
    mileage report disk-a disk-b --out a-b
    """
    if len(studies) > 2:
        raise click.UsageError(
            f"{len(studies)} studies: a report is of one or two; `mileage compare` ranks more"
        )
    if len(studies) == 2:
        if expect is not None:
            raise click.UsageError("--expect is the seal of one study")
        _pair(studies[0], studies[1], stage, out, level, method)
        return
    if stage is not None or out is not None:
        raise click.UsageError(
            "--stage and --out belong to two studies: a study's report stands in its own folder"
        )
    from mileage import app

    result = app.load(studies[0])
    if method:
        click.echo(result.method(), nl=False)
    else:
        result.write_report(level)
        _print(result.text(width=80), result.folder.report)
    if expect is not None:
        result.expect(expect)


def _pair(a: str, b: str, stage: str | None, out: Path | None, level: str | None, method: bool) -> None:
    from mileage.app.pair import fresh_folder, pair_view, write_pair
    from mileage.report import render_text

    view = pair_view(a, b, stage=stage)
    if method:
        click.echo(view.method)
        return
    page = write_pair(view, out or fresh_folder(), level)
    _print(render_text(view, width=80), page)


def _print(text: str, page: Path) -> None:
    from mileage.terminal import say

    say(text)
    click.echo(f"Report: {page}")
