"""`mileage merge`: the parts of one study, done on other boots or other machines, in one folder."""

from __future__ import annotations

from pathlib import Path

import click

from mileage.cli.json_output import print_json
from mileage.cli.report_output import print_study


@click.command("merge")
@click.argument("folders", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="DIR...")
@click.option(
    "--out", "-o", required=True, type=click.Path(path_type=Path), metavar="DIR", help="The new folder."
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def command(folders: tuple[Path, ...], out: Path, as_json: bool) -> None:
    """Join study folders that have one plan: copy an unfinished folder to
    another machine, run it there, and merge.

    \b
    mileage run study.toml --label machine=a --out a
    mileage merge a b --out both
    """
    from mileage import app
    from mileage.store.merge import merge_folders

    merged = merge_folders(folders, out)
    result = app.load(merged.path)
    done = len(merged.content().any_runs())
    needed = len(result.plan.runs)
    if done:
        result.write_report()
    if as_json:
        found = {"folder": str(merged.path), "runs_done": done, "runs_planned": needed}
        print_json({**found, **(result.figures() if done else {})})
        return
    click.echo(f"{merged.path}: {done} of {needed} runs")
    if done:
        print_study(result, merged.report)
