"""`mileage import`: other tools' results become a study folder."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from mileage.cli.json_output import print_json


def _layouts(ctx: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        from mileage.formats.readers import LAYOUTS

        width = max(map(len, LAYOUTS))
        for name, text in LAYOUTS.items():
            click.echo(f"{name:<{width}}  {text}")
        ctx.exit()


@click.command("import")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE...")
@click.option("--out", "-o", type=click.Path(path_type=Path), metavar="DIR", help="The new study folder.")
@click.option("--layout", metavar="NAME", help="Read the files in this layout, without detecting it.")
@click.option("--name", metavar="NAME", help="Name of the study; default: the tool.")
@click.option("--stage", default="imported", metavar="NAME", help='Name of its stage, such as "before".')
@click.option(
    "--session",
    default="",
    metavar="NAME",
    help="Name of the session in which it was measured: imports of one name are one session.",
)
@click.option(
    "--equal-files", is_flag=True, help="Files with equal figures are repetitions, not copies of one file."
)
@click.option("--strict", is_flag=True, help="Exit status 1 if anything was lost or not understood.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.option(
    "--layouts",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_layouts,
    help="List the layouts that can be read.",
)
def command(
    files: tuple[Path, ...],
    out: Path | None,
    layout: str | None,
    name: str | None,
    stage: str,
    session: str,
    equal_files: bool,
    strict: bool,
    as_json: bool,
) -> None:
    """Make a study folder of other tools' result FILEs: fio, IOzone, IOR and
    others. Files of repeated runs, named together, become repetitions.

    \b
    mileage import result.json
    mileage import before-*.json --out before
    mileage compare before after
    """
    from mileage import app
    from mileage.app.importer import bytes_of, make_study, read_files
    from mileage.errors import JudgedFailure
    from mileage.execute.live_view import CountedProgress
    from mileage.terminal import report_width, say

    line = shlex.join(["mileage", "import", *map(str, files)])
    with CountedProgress("reading", bytes_of(files), unit="bytes") as view:
        found = read_files(files, layout, equal=equal_files, advance=view.advance)
        view.step("writing the study and its page")
        folder = make_study(found, out, name=name, stage=stage, session=session, command=line)
        result = app.load(folder.path)
        result.write_report()
    if as_json:
        from mileage.analysis.imported_study import imported_page
        from mileage.report.cell_estimates import with_estimates

        page = imported_page(result.plan, folder)
        fields = {name: getattr(page, name) for name in page.__struct_fields__}
        print_json({"folder": str(folder.path), **fields, "cells": with_estimates(page.cells)})
    else:
        say(result.text(width=report_width()))
        click.echo(f"Study: {folder.path} (page: {folder.path / 'report.html'})")
    flawed = sum(bool(result.unread or result.lost) for _, result in found)
    if strict and flawed:
        raise JudgedFailure(f"{flawed} of {len(found)} files were understood only in part")
