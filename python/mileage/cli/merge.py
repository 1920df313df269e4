"""`mileage merge`: the sessions of one study, done on other boots or other machines, in one folder."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("merge")
@click.argument("folders", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="DIR...")
@click.option(
    "--out", "-o", required=True, type=click.Path(path_type=Path), metavar="DIR", help="The new folder."
)
def command(folders: tuple[Path, ...], out: Path) -> None:
    """Join study folders that have one plan: copy an unfinished folder to
    another machine, run it there, and merge.

    \b
    mileage run study.toml --label machine=a --out a
    mileage merge a b --out both
    """
    from mileage import app
    from mileage.store.merge import merge_folders
    from mileage.terminal import say

    merged = merge_folders(folders, out)
    result = app.load(merged.path)
    done = len(merged.content().of_kind("run"))
    click.echo(f"{merged.path}: {done} of {len(result.plan.runs)} runs")
    if done:
        result.write_report()
        say(result.text(width=80))
        click.echo(f"Report: {merged.report}")
