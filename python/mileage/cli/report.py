"""`mileage report`: the page, the figures and the tables of a study, or of two, made from the journals."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from mileage.cli.json_output import print_json
from mileage.cli.report_output import print_report, print_study, verbose_option


@click.command("report")
@click.argument("studies", nargs=-1, required=True, metavar="DIR [DIR]")
@click.option(
    "--stage", metavar="NAME", help="With two studies: the stage to compare; default: the last measured one."
)
@click.option(
    "--out", "-o", type=click.Path(path_type=Path), metavar="NEW", help="With two studies: the new folder."
)
@click.option(
    "--report",
    "level",
    type=click.Choice(("text", "full")),
    help="Page and tables without figures, or full; default: full.",
)
@click.option(
    "--expect", metavar="SEAL", help="Exit status 1 if the folder changed since its report printed this seal."
)
@click.option(
    "--datasheet",
    "-d",
    metavar="NAME",
    help="Print this data sheet, or FILE.toml, next to what was measured.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the folder and the comparison or cells as JSON.")
@click.option("--method", is_flag=True, help="Print how it was measured and judged, instead of the verdict.")
@verbose_option
def command(
    studies: tuple[str, ...],
    stage: str | None,
    out: Path | None,
    level: str | None,
    expect: str | None,
    method: bool,
    datasheet: str | None,
    as_json: bool,
    verbose: bool,
) -> None:
    """Write the report of a study folder again and print the verdict.

    A study that is still running or damaged is reported with what exists and
    what is missing. Two folders, or two stages written FOLDER:STAGE, give the
    page of their comparison, in a new folder.

    \b
    mileage report study-1
    mileage report study-1 --method           how it was measured, in words
    mileage report study-1 --expect 3fa9...   fails if anything was edited
    mileage report disk-a disk-b --out a-b
    mileage report study-1 -d intel-600p-512gb    quoted and measured rates
    """
    if as_json and method:
        raise click.UsageError("--json and --method: one of them; the method is text")
    if len(studies) > 2:
        raise click.UsageError(
            f"{len(studies)} studies: a report is of one or two; "
            f"`mileage compare {shlex.join(map(str, studies))}` ranks more"
        )
    if datasheet is not None:
        if len(studies) > 1 or method or level or expect is not None:
            raise click.UsageError(
                "--datasheet prints quoted and measured rates of one study, and nothing else"
            )
        _quoted(studies[0], datasheet, as_json)
        return
    if len(studies) == 2:
        if expect is not None:
            raise click.UsageError("--expect is the seal of one study")
        _pair(studies[0], studies[1], stage, out, level, method, as_json, verbose=verbose)
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
        if as_json:
            print_json({"folder": str(result.folder.path), **result.figures()})
        else:
            print_study(result, result.folder.report, verbose=verbose)
    if expect is not None:
        result.expect(expect)


def _pair(
    a: str,
    b: str,
    stage: str | None,
    out: Path | None,
    level: str | None,
    method: bool,
    as_json: bool,
    *,
    verbose: bool,
) -> None:
    from mileage.app.comparison_report import fresh_folder, pair_view, write_pair
    from mileage.report import render_text
    from mileage.terminal import report_width

    view = pair_view(a, b, stage=stage)
    if method:
        click.echo(view.method)
        return
    page = write_pair(view, out or fresh_folder(), level)
    if as_json:
        print_json({"folder": str(page.parent), "comparison": view.comparison})
    else:
        print_report(render_text(view, width=report_width(), verbose=verbose), page)


def _quoted(study: str, datasheet: str, as_json: bool) -> None:
    """Print what a data sheet promises next to what a study measured."""
    from mileage.app.quoted_study import quoted_study
    from mileage.targets.data_sheets import load_data_sheet

    sheet = load_data_sheet(datasheet)
    pairs = quoted_study(study, sheet)
    if as_json:
        print_json({"sheet": sheet.name, "quoted": pairs})
        return
    from mileage.analysis.quoted_text import quoted_text
    from mileage.terminal import report_width

    click.echo("\n".join(quoted_text(sheet, pairs, report_width())))
