"""`mileage endurance`: conversions, the life of a drive, its wear over time, which drive fits."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mileage.cli.drive_choice import command as choose
from mileage.cli.endurance_values import bytes_of, rate_of
from mileage.cli.over_provisioning import command as over_provisioning
from mileage.cli.value_types import Number
from mileage.cli.wear_watch import command as watch

if TYPE_CHECKING:
    from mileage.endurance.life import Rating, Wear


@click.group("endurance")
def command() -> None:
    """How long a drive lasts, how fast it wears, and which drive fits a need.

    \b
    mileage endurance convert --capacity 400GB --dwpd 3
    mileage endurance life --datasheet intel-600p-512gb --writes "200 GB/day"
    mileage endurance case worker-node
    mileage endurance watch / --for "1 h" --every "1 min"
    mileage endurance choose --case worker-node
    mileage endurance over-provisioning intel-x25e-64gb
    """


command.add_command(watch)
command.add_command(choose)
command.add_command(over_provisioning)


_ABOVE_0 = Number(min=0, min_open=True)


@command.command("convert", short_help="TBW, drive writes per day and cycles, converted.")
@click.option("--capacity", metavar="SIZE", required=True, help="Capacity of the drive, such as 400GB.")
@click.option("--years", type=_ABOVE_0, default=5.0, metavar="N", help="Years of the rating; default 5.")
@click.option("--tbw", metavar="SIZE", help="Bytes that may be written, such as 2190TB.")
@click.option("--dwpd", type=_ABOVE_0, metavar="X", help="Drive writes per day.")
@click.option("--writes", metavar="RATE", help='A rate, such as "75 TB/year" or "1 drive write/week".')
@click.option("--cycles", type=_ABOVE_0, metavar="N", help="Program/erase cycles of a cell.")
@click.option("--raw", metavar="SIZE", help="All flash of the drive; default: its capacity.")
@click.option("--wa", type=_ABOVE_0, default=1.0, metavar="X", help="Write amplification; default 1.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def convert(capacity: str, years: float, wa: float, raw: str | None, as_json: bool, **given: Any) -> None:
    """Convert one statement of endurance into all others: TBW, drive writes
    per day, bytes per day and year, cycles of the cells. Give one of --tbw,
    --dwpd, --writes and --cycles.
    """
    from mileage.endurance import conversions as by

    named = {key: value for key, value in given.items() if value is not None}
    if len(named) != 1:
        found = " and ".join(f"--{key}" for key in named) or "none"
        raise click.UsageError(f"give one of --tbw, --dwpd, --writes and --cycles; found {found}")
    size = bytes_of("--capacity", capacity)
    assert size is not None
    flash = bytes_of("--raw", raw) or size
    ((key, value),) = named.items()
    if key == "tbw":
        rated = bytes_of("--tbw", value) or 0.0
    elif key == "dwpd":
        rated = by.bytes_of_dwpd(value, size, years)
    elif key == "cycles":
        rated = by.bytes_of_cycles(value, flash, wa)
    else:
        rated = rate_of("--writes", value, size) * 86_400 * 365 * years
    daily = by.dwpd_of_bytes(rated, size, years)
    row = {
        "capacity_bytes": size,
        "years": years,
        "rated_bytes": rated,
        "drive_writes_per_day": daily,
        "drive_writes_per_week": 7 * daily,
        "bytes_per_day": rated / years / 365,
        "bytes_per_year": rated / years,
        "cycles": by.cycles_of_bytes(rated, flash, wa),
    }
    if as_json:
        from mileage.cli.json_output import print_json

        print_json(row)
        return
    from mileage.endurance.life_text import columns_of_rows
    from mileage.report.quoted_figures import decimal_bytes

    click.echo(f"A drive of {decimal_bytes(size)} over {years:g} years of 365 days:\n")
    lines = columns_of_rows(
        [
            ("TBW", f"{rated / by.TB:,.5g} TB"),
            ("DWPD", f"{daily:.4g} drive writes per day"),
            ("", f"{7 * daily:.4g} drive writes per week"),
            ("per day", decimal_bytes(rated / years / 365)),
            ("per year", f"{rated / years / by.TB:,.5g} TB"),
            (
                "cycles",
                f"{row['cycles']:,.5g} of each cell, write amplification {wa:g}, {decimal_bytes(flash)} of flash",
            ),
        ]
    )
    click.echo("\n".join(lines))


@command.command("life", short_help="Years of a drive at a rate of writing.")
@click.option(
    "--datasheet", "-d", metavar="NAME", help="A data sheet (mileage list datasheets), or FILE.toml."
)
@click.option("--target", "-t", metavar="PATH", help="A drive in use: its model, and what it counted (root).")
@click.option(
    "--writes", metavar="RATE", help='Rate of writing, such as "200 GB/day" or "1 drive write/week".'
)
@click.option("--capacity", metavar="SIZE", help="Capacity, without a data sheet.")
@click.option("--tbw", metavar="SIZE", help="Rated endurance, such as 400TB.")
@click.option("--dwpd", type=_ABOVE_0, metavar="X", help="Rated drive writes per day.")
@click.option("--years", type=_ABOVE_0, metavar="N", help="Years of the rating.")
@click.option("--cycles", type=_ABOVE_0, metavar="N", help="Program/erase cycles of a cell.")
@click.option("--raw", metavar="SIZE", help="All flash of the drive.")
@click.option("--wa", type=_ABOVE_0, metavar="X", help="Write amplification.")
@click.option(
    "--wa-from",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="Write amplification of a study folder.",
)
@click.option("--written", metavar="SIZE", help="What the host has written so far.")
@click.option("--used", type=Number(min=0), metavar="PERCENT", help="The drive's wear indicator.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def life(writes: str | None, as_json: bool, **given: Any) -> None:
    """How long a drive lasts at a rate of writing, by its rated bytes, its
    drive writes per day and the wear of its cells, side by side.

    \b
    mileage endurance life -d samsung-sm863-120gb --writes "170 TB/year"
    mileage endurance life --capacity 1TB --tbw 600TB --writes "50 GB/day"
    sudo mileage endurance life -t /dev/nvme0n1

    With --target and without --writes, the rate is what the drive counted
    over its hours so far.
    """
    from mileage.endurance.life import life_of
    from mileage.errors import Refused

    facts = _facts(given["target"])
    rating = _rating(facts, given)
    wear = _wear(facts, given)
    if given["wa"] is not None and given["wa_from"] is not None:
        raise click.UsageError("--wa and --wa-from both give the write amplification; expected one of them")
    amplification = given["wa"]
    if given["wa_from"] is not None:
        from mileage.app.study_amplification import study_amplification

        amplification = study_amplification(given["wa_from"])
    if writes is not None:
        rate = rate_of("--writes", writes, rating.capacity_bytes)
    elif wear.written_bytes and wear.power_on_hours:
        rate = wear.written_bytes / (wear.power_on_hours * 3600)
    else:
        raise Refused(
            "--writes",
            "the rate of writing is not known",
            expected='a rate such as "200 GB/day"',
            advice=f"`mileage endurance watch {shlex.quote(given['target'] or 'TARGET')}` measures it",
            code="missing",
        )
    found = life_of(rating, rate, amplification, wear)
    if as_json:
        from mileage.cli.json_output import print_json

        print_json({**_fields(found), "years": found.years})
        return
    from mileage.endurance.life_text import life_text
    from mileage.terminal import report_width

    click.echo(life_text(found, report_width()), nl=False)


def _fields(value: Any) -> dict[str, Any]:
    return {key: getattr(value, key) for key in value.__struct_fields__}


def _facts(target: str | None) -> dict[str, str]:
    if target is None:
        return {}
    from mileage.app.check_findings import place_of
    from mileage.cli.target_choice import chosen_target
    from mileage.store.drive_facts import drive_facts

    return drive_facts(place_of(chosen_target(target)))


def _rating(facts: dict[str, str], given: dict[str, Any]) -> Rating:
    """The rating from a data sheet, named or recognised, with what the options say in place of its figures."""
    import msgspec

    from mileage.endurance.life import Rating, rating_of
    from mileage.errors import Refused
    from mileage.targets.data_sheets import data_sheet_of, load_data_sheet

    model = facts.get("target.drive_model") or facts.get("target.model", "")
    sheet = load_data_sheet(given["datasheet"]) if given["datasheet"] else data_sheet_of(model=model)
    capacity = bytes_of("--capacity", given["capacity"])
    if sheet is not None:
        rating = rating_of(sheet)
    else:
        size = facts.get("target.disk_bytes", "")
        capacity = capacity or (float(size) if size.isdigit() else None)
        if capacity is None:
            raise Refused(
                "--capacity",
                "the drive is not known",
                expected="--datasheet NAME, or --capacity with --tbw, --dwpd or --cycles",
                code="missing",
            )
        rating = Rating(title=model or "This drive", capacity_bytes=capacity)
    own = {
        "capacity_bytes": capacity,
        "rated_bytes": bytes_of("--tbw", given["tbw"]),
        "rated_dwpd": given["dwpd"],
        "rated_years": given["years"],
        "cycles": given["cycles"],
        "raw_bytes": bytes_of("--raw", given["raw"]),
    }
    return msgspec.structs.replace(rating, **{key: value for key, value in own.items() if value is not None})


def _wear(facts: dict[str, str], given: dict[str, Any]) -> Wear:
    import msgspec

    from mileage.endurance.drive_wear import wear_of

    found = wear_of(facts)
    own = {"written_bytes": bytes_of("--written", given["written"]), "percent_used": given["used"]}
    return msgspec.structs.replace(found, **{key: value for key, value in own.items() if value is not None})


@command.command("case", short_help="Sizing cases, with their contradictions.")
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def case(name: str | None, as_json: bool) -> None:
    """Sizing cases: a worker node, bulk storage, the intent log of ZFS, the
    journals of CEPH. Without NAME all are listed; with it every figure is
    printed, stated and derived, and where the source contradicts itself.
    """
    from mileage.endurance.cases import all_cases, case_contradictions, case_named

    if name is None:
        cases = all_cases()
        if as_json:
            from mileage.cli.json_output import print_json

            print_json([{"name": one.name, "title": one.title} for one in cases])
            return
        width = max(len(one.name) for one in cases)
        for one in cases:
            click.echo(f"{one.name:<{width}}  {one.title}")
        return
    found = case_named(name)
    if as_json:
        from mileage.cli.json_output import print_json

        print_json({**_fields(found), "contradictions": case_contradictions(found)})
        return
    from mileage.endurance.life_text import case_text
    from mileage.terminal import report_width

    click.echo(case_text(found, report_width()), nl=False)
