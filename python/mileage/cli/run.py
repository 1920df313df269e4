"""`mileage run`: a whole study, from the plan to the report."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from mileage.cli.json_output import print_json
from mileage.cli.report_output import print_study, verbose_option
from mileage.cli.value_types import Size, file_option, scale_option, seed_option, target_option


@click.command("run")
@click.argument("study", required=False)
@target_option
@click.option(
    "--quick", is_flag=True, help="One small, short cycle: shows differences, but not whether they repeat."
)
@click.option(
    "--out", "-o", type=click.Path(path_type=Path), metavar="DIR", help="Study folder; resumed if unfinished."
)
@seed_option
@scale_option
@file_option
@click.option("--destroy", metavar="PATH", help="Allow the loss of the content of this file or device.")
@click.option(
    "--allow-commands",
    is_flag=True,
    help="Let the study start the programs that its file names; read the file first.",
)
@click.option(
    "--accept-change",
    is_flag=True,
    help="Resume although kernel, firmware, scheduler, mount or memory changed.",
)
@click.option(
    "--label",
    "labels",
    multiple=True,
    metavar="NAME=LEVEL",
    help="State which level of a factor this machine is: with --label kernel=6.1 only the runs of kernel 6.1 are done.",
)
@click.option(
    "--band/--no-band",
    default=None,
    help="On a virtual drive: repeat the comparison on variants of it, each with one unpublished figure changed; "
    "default: the study's own.",
)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print the result as JSON; for a refused study, the list of its errors.",
)
@click.option(
    "--report",
    type=click.Choice(("none", "text", "full")),
    help="What to write at the end: none, text (page and tables without charts) or full (with charts); default: the "
    "study's own, or full.",
)
@click.option(
    "--max-writes", type=Size(), metavar="SIZE", help="Refuse a study that may write more bytes than this."
)
@verbose_option
def command(
    study: str | None,
    target: str | None,
    quick: bool,
    out: Path | None,
    seed: int | None,
    scale: str | None,
    file: str | None,
    destroy: str | None,
    accept_change: bool,
    allow_commands: bool,
    labels: tuple[str, ...],
    as_json: bool,
    report: str | None,
    band: bool | None,
    max_writes: int | None,
    verbose: bool,
) -> None:
    """Run STUDY (a built-in study, a study file, or the folder of an
    unfinished study; default: degradation) and print the verdict.

    \b
    mileage run
    mileage run degradation --quick --target dir:/mnt/scratch
    mileage run mileage-degradation-1        resume after a crash
    """
    from mileage import app
    from mileage.app.report_level import report_level
    from mileage.cli.target_choice import optional_target
    from mileage.execute.live_view import Terminal

    with Terminal() as progress:
        result = app.run(
            study,
            target=optional_target(target),
            quick=quick,
            out=out,
            seed=seed,
            destroy=destroy,
            labels=_labels(labels),
            progress=progress,
            accept_change=accept_change,
            allow_commands=allow_commands,
            report=report,
            band=band,
            scale=scale,
            file=file,
            max_write_bytes=max_writes,
        )
    if as_json:
        print_json({"folder": str(result.folder.path), **result.figures()})
        return
    written = report_level(report, result.plan.study.report) != "none"
    folder = shlex.quote(str(result.folder.path))
    unwritten = f"No report was written; to write it: mileage report {folder}"
    print_study(result, result.folder.report if written else unwritten, verbose=verbose)


def _labels(texts: tuple[str, ...]) -> dict[str, str]:
    """NAME=LEVEL pairs. Raises UsageError for a text without "=" and a name that is given twice."""
    found: dict[str, str] = {}
    for text in texts:
        name, equals, level = text.partition("=")
        if not equals or not name or name in found:
            raise click.UsageError(f"--label {text}: expected NAME=LEVEL, each name once")
        found[name] = level
    return found
