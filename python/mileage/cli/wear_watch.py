"""`mileage endurance watch`: how fast a drive wears, measured over hours to months."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from mileage.endurance.wear_log import Sample
    from mileage.endurance.wear_monitor import WearEvaluation
    from mileage.endurance.write_counters import Reading


@click.command("watch", short_help="Measure how fast a drive wears, over hours to months.")
@click.argument("target")
@click.option(
    "--log",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("mileage-wear.jsonl"),
    show_default=True,
    help="File of the samples; an existing one is appended to.",
)
@click.option("--every", default="10 min", show_default=True, metavar="TIME", help="Time between samples.")
@click.option(
    "--for", "lasting", metavar="TIME", help='Length of the watch, such as "720 h"; default: until Ctrl-C.'
)
@click.option("--once", is_flag=True, help="Take one sample and end, for cron.")
@click.option("--datasheet", "-d", metavar="NAME", help="Data sheet of the drive, or FILE.toml.")
@click.option("--tbw", metavar="SIZE", help="Rated endurance, such as 600TB, in place of the data sheet's.")
@click.option(
    "--written", metavar="SIZE", help="Bytes written before the watch; default: what the drive counted."
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def command(target: str, log: Path, every: str, lasting: str | None, once: bool, **options: Any) -> None:
    """Sample what is written to the drive below TARGET, a path or a block
    device, and report TB per year with its interval and the day of wear-out.
    TARGET is only looked at; nothing is written to it.

    \b
    mileage endurance watch / --for "1 h" --every "1 min"
    mileage endurance watch /srv --once --log /var/log/srv-wear.jsonl

    Counters: the drive's own (smartctl or nvme, as root), /proc/diskstats, and
    lifetime_write_kbytes of ext4. A watch may be ended and started again, with
    the same log, at any time.
    """
    from mileage.app.check_findings import place_of
    from mileage.cli.endurance_values import time_s_of
    from mileage.cli.target_choice import chosen_target
    from mileage.endurance.wear_log import WearLog
    from mileage.endurance.wear_monitor import begin, watch, watched
    from mileage.errors import Refused

    if once and lasting is not None:
        raise click.UsageError("--once and --for exclude each other")
    every_s = time_s_of("--every", every)
    for_s = None if lasting is None else time_s_of("--for", lasting)
    place = place_of(chosen_target(target))
    if place is None:
        raise Refused(target, "has no real drive", expected="a path or a block device", code="unsupported")
    reading = begin(place)
    with WearLog(log, target, reading.identity) as opened:
        if once:
            opened.append(reading.sample)
        else:
            watch(opened, place, every_s=every_s, for_s=for_s, seen=_print_progress)
        found = watched(opened.samples)
        _report(found, reading, opened.samples, target, options)


def _print_progress(samples: Sequence[Sample]) -> None:
    """A line on standard error for each sample: the rate so far."""
    from mileage.endurance.conversions import TB
    from mileage.endurance.wear_monitor import watched
    from mileage.plan.write_rates import S_PER_YEAR

    rate = watched(samples).rate
    words = "first sample" if rate is None else f"{rate.bytes_per_s * S_PER_YEAR / TB:,.3g} TB/year so far"
    click.echo(f"sample {len(samples)}: {words}", err=True)


def _report(
    found: WearEvaluation, reading: Reading, samples: Sequence[Sample], target: str, options: dict[str, Any]
) -> None:
    from mileage.cli.endurance_values import bytes_of
    from mileage.endurance.life import rated_bytes_of, rating_of
    from mileage.endurance.watch_text import watch_text
    from mileage.endurance.write_counters import DRIVE
    from mileage.targets.data_sheets import data_sheet_of, load_data_sheet
    from mileage.terminal import report_width

    sheet = (
        load_data_sheet(options["datasheet"]) if options["datasheet"] else data_sheet_of(model=reading.model)
    )
    rated = bytes_of("--tbw", options["tbw"])
    if rated is None and sheet is not None:
        rated = rated_bytes_of(rating_of(sheet))[0]
    written = bytes_of("--written", options["written"])
    counter = samples[-1].counters.get(DRIVE)
    if written is None and counter is not None:
        written = float(counter.value * counter.unit_bytes)
    if options["as_json"]:
        from mileage.cli.json_output import print_json
        from mileage.endurance.conversions import TB
        from mileage.plan.write_rates import S_PER_YEAR

        rate = found.rate
        per_year = None if rate is None else rate.bytes_per_s * S_PER_YEAR / TB
        print_json({"watch": found, "tb_per_year": per_year, "rated_bytes": rated, "written_bytes": written})
        return
    text = watch_text(
        found,
        target=target,
        now_s=samples[-1].time_s,
        capacity_bytes=reading.capacity_bytes,
        rated_bytes=rated,
        written_bytes=written,
        width=report_width(),
    )
    click.echo(text, nl=False)
    for words in reading.missing:
        click.echo(f"not read: {words}", err=True)
