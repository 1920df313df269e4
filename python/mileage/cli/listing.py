"""`mileage list`: what this version has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from mileage.cli.json_output import print_json


@click.command("list")
@click.argument(
    "what", type=click.Choice(["studies", "workloads", "drives", "tortures", "datasheets", "purposes"])
)
@click.argument("folders", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--show", metavar="NAME", help="With studies or purposes: print the file; with datasheets: a data sheet."
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def command(what: str, folders: tuple[Path, ...], show: str | None, as_json: bool) -> None:
    """List the built-in studies, workloads, drives, tortures, data sheets or
    purposes (of `mileage check --for`); with FOLDERs the studies in them.

    \b
    mileage list studies
    mileage list studies .                    what was measured below here
    mileage list studies --show degradation   the study file of a built-in study
    mileage list datasheets --show NAME       a data sheet; or FILE.toml, your own
    """
    if show is not None and what == "datasheets" and not folders:
        _show_data_sheet(show, as_json)
        return
    if show is not None:
        if what not in ("studies", "purposes") or folders or as_json:
            raise click.UsageError(
                "--show prints a study file (`mileage list studies --show NAME`), a purpose "
                "(`mileage list purposes --show NAME`) or a data sheet (`mileage list datasheets --show NAME`)"
            )
        from mileage.plan.builtin import builtin_text, purpose_text

        click.echo(builtin_text(show) if what == "studies" else purpose_text(show), nl=False)
        return
    from mileage import app

    if folders and what != "studies":
        raise click.UsageError(f"{what} are not found in folders; remove {folders[0]}")
    rows: Sequence[Mapping[str, object]]
    rows = app.listing_of(folders) if folders else app.listing(what)
    if as_json:
        print_json(rows)
        return
    width = max(len(str(row["name"])) for row in rows)
    for row in rows:
        click.echo(f"{row['name']!s:<{width}}  {row['title']}")


def _show_data_sheet(name: str, as_json: bool) -> None:
    from mileage.targets.data_sheets import load_data_sheet

    sheet = load_data_sheet(name)
    if as_json:
        print_json(sheet)
        return
    from mileage.report.quoted_figures import data_sheet_text
    from mileage.terminal import report_width

    click.echo(data_sheet_text(sheet, report_width()), nl=False)
