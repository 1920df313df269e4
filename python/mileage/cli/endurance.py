"""`mileage endurance`: conversions, the life of a drive, its wear over time, which drive fits."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mileage.cli.endurance_values import bytes_of, rate_of
from mileage.cli.json_output import print_json
from mileage.cli.result_option import ResultFile
from mileage.cli.value_types import Number, WholeNumber

if TYPE_CHECKING:
    from mileage.app.over_provisioning import Poll, Step
    from mileage.endurance.cases import Requirement
    from mileage.endurance.life import Rating, Wear
    from mileage.endurance.wear_monitor import WearEvaluation
    from mileage.endurance.wear_rate import Sample
    from mileage.endurance.write_counters import Reading
    from mileage.execute.live_view import CountedProgress
    from mileage.targets.door import ResultPlace

_ABOVE_0 = Number(min=0, min_open=True)


# `mileage endurance watch`: how fast a drive wears, measured over hours to months.


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
def watch(target: str, log: Path, every: str, lasting: str | None, once: bool, **options: Any) -> None:
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
    from mileage.endurance.wear_monitor import begin, watch, watched
    from mileage.endurance.wear_rate import WearLog
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


# `mileage endurance over-provisioning`: capacity given up against write amplification, rate and life.


@click.command("over-provisioning", short_help="What unused capacity brings a flash drive.")
@click.argument("drive")
@click.option(
    "--give-up",
    "shares",
    multiple=True,
    type=Number(),
    metavar="PERCENT",
    help="Share of the capacity that is never written; may be given several times. Default: 0, 7, 15 and 28.",
)
@click.option("--depth", type=WholeNumber(1, 4096), default=32, metavar="N", help="Queue depth; default 32.")
@click.option(
    "--seed", type=WholeNumber(0), default=1, metavar="N", help="Seed of the random writes; default 1."
)
@click.option("--writes", metavar="RATE", help='Rate of writing, such as "1 DWPD": life in years as well.')
@click.option("--chart", type=ResultFile("over-provisioning-chart"), metavar="SVG", help="Write a chart.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def over_provisioning(
    drive: str,
    shares: tuple[float, ...],
    depth: int,
    seed: int,
    writes: str | None,
    chart: ResultPlace | None,
    as_json: bool,
) -> None:
    """What does it bring to leave a part of a flash drive unused? The virtual
    drive DRIVE is filled, overwritten at random until garbage collection is
    steady, and measured, once for each share.

    \b
    mileage endurance over-provisioning intel-x25e-64gb
    mileage endurance over-provisioning plain-64gib --give-up 10 --chart op.svg
    """
    from mileage.app.over_provisioning import SHARES, bytes_of, divisor_of, over_provisioning
    from mileage.cli.endurance_values import rate_of
    from mileage.execute.live_view import CountedProgress

    wanted = [share / 100 for share in shares] or list(SHARES)
    full = _capacity(drive)
    rate = None if writes is None else rate_of("--writes", writes, full)
    divisor = divisor_of(drive, full)
    with CountedProgress("over-provisioning", bytes_of(full / divisor, wanted), unit="bytes") as view:

        def seen(share: float) -> Poll:
            view.step(f"simulating {100 * share:g} % given up")
            return _advance_through(view)

        steps = over_provisioning(drive, wanted, depth=depth, seed=seed, divisor=divisor, seen=seen)
    if chart is not None:
        from mileage.report.over_provisioning_chart import over_provisioning_svg

        rows = [
            {
                "percent": 100 * step.share,
                "write_amplification": step.write_amplification,
                "mb_per_s": step.rate_bytes_per_s / 1e6,
                "life": step.life,
            }
            for step in steps
        ]
        chart.write(over_provisioning_svg(rows, f"Over-provisioning of {drive}"))
    if as_json:
        print_json(
            [{**_swept_fields(step), "scale": f"1/{divisor}", "years": _years(step, rate)} for step in steps]
        )
        return
    click.echo(_text(drive, steps, rate, depth, divisor), nl=False)


def _advance_through(view: CountedProgress) -> Poll:
    """A function for runs one after the other to call with their bytes, of which each counts from 0."""
    last = 0

    def poll(byte_count: int, _operations: int) -> bool:
        nonlocal last
        view.advance(byte_count - last if byte_count >= last else byte_count)
        last = byte_count
        return False

    return poll


def _capacity(drive: str) -> float:
    """Bytes of the whole drive, of which a rate in drive writes is a multiple."""
    from mileage._core import Drive
    from mileage.errors import Refused
    from mileage.targets.profiles import load_profile

    profile = load_profile(drive)
    try:
        return float(Drive(profile).capacity_bytes)
    except ValueError as error:
        raise Refused(drive, str(error), code="wrong-value") from error


def _swept_fields(step: Step) -> dict[str, Any]:
    return {key: getattr(step, key) for key in step.__struct_fields__}


def _years(step: Step, rate: float | None) -> float | None:
    return None if rate is None or step.written_bytes is None else step.written_bytes / (rate * 365 * 86_400)


def _text(drive: str, steps: list[Step], rate: float | None, depth: int, divisor: int) -> str:
    from mileage.endurance.life_text import columns_of_rows
    from mileage.report.quantity import figure
    from mileage.report.quoted_figures import decimal_bytes
    from mileage.terminal import report_width, wrapped

    width = report_width()
    first = f"{drive}: random writes of 4 KiB at depth {depth} over what is left of it, garbage collection steady."
    if divisor > 1:
        first += f" Simulated at 1/{divisor} of its size; {drive},scale=1/1 is simulated whole."
    rows = [("given up", "usable", "spare", "WA", "MB/s", "life", "can be written", "years")]
    for step in steps:
        years = _years(step, rate)
        rows.append(
            (
                f"{100 * step.share:g} %",
                decimal_bytes(step.usable_bytes),
                f"{step.spare_share:.0%}",
                f"{step.write_amplification:.2f}",
                figure(step.rate_bytes_per_s / 1e6),
                f"{step.life:.2f}",
                "" if step.written_bytes is None else decimal_bytes(step.written_bytes),
                "" if years is None else figure(years),
            )
        )
    notes = [
        "Spare: flash beyond the usable bytes, over the usable bytes. Life: bytes that the host can write, 1 with "
        "nothing given up; can be written: cycles x flash / write amplification.",
        "Sequential writes, and data that are trimmed, gain less: their write amplification is near 1 already.",
    ]
    lines = [*wrapped(first, width), "", *columns_of_rows(rows), ""]
    return "\n".join([*lines, *(line for note in notes for line in wrapped(note, width))]) + "\n"


# `mileage endurance choose`: which drive fits a need.


@click.command("choose", short_help="Rank the drives that fit a need.")
@click.option("--case", metavar="NAME", help="Needs of a sizing case (mileage endurance case).")
@click.option("--capacity", metavar="SIZE", help="Usable capacity, such as 512GB.")
@click.option("--writes", metavar="RATE", help='Rate of writing, such as "75 TB/year".')
@click.option("--years", type=_ABOVE_0, metavar="N", help="Years that the storage must last; default 5.")
@click.option(
    "--pattern", type=click.Choice(["sequential", "random"]), help="Access pattern of most operations."
)
@click.option(
    "--min-read",
    type=_ABOVE_0,
    metavar="RATE",
    help="Least rate of reads: IOPS at random, or MB/s in sequence.",
)
@click.option(
    "--min-write",
    type=_ABOVE_0,
    metavar="RATE",
    help="Least rate of writes: IOPS at random, or MB/s in sequence.",
)
@click.option("--plp/--no-plp", default=None, help="Power-loss protection is needed, or not.")
@click.option("--hot-swap/--no-hot-swap", default=None, help="Hot swap is needed, or not.")
@click.option("--link", metavar="NAME", help="Beginning of the link's name: sata, sas, pcie, pcie-4.")
@click.option(
    "--raid",
    type=click.Choice(["none", "0", "1", "5", "6", "10"]),
    default="none",
    show_default=True,
    help="RAID level; the fewest drives that meet the need are taken.",
)
@click.option("--drives", type=WholeNumber(1, 1000), metavar="N", help="Exactly N drives.")
@click.option(
    "--afr", type=Number(0, 99), metavar="PERCENT", help="Annual failure rate, where a sheet states none."
)
@click.option(
    "--repair",
    metavar="TIME",
    default="24 h",
    show_default=True,
    help="Time until a failed drive is replaced.",
)
@click.option("--price", "prices", multiple=True, metavar="NAME=AMOUNT", help="Price of one drive.")
@click.option(
    "--currency", default="USD", show_default=True, metavar="CUR", help="Currency of prices and budget."
)
@click.option("--budget", type=_ABOVE_0, metavar="AMOUNT", help="Most to pay for drives and energy.")
@click.option("--kwh", type=Number(min=0), metavar="AMOUNT", help="Price of a kilowatt-hour.")
@click.option(
    "--active",
    type=Number(0, 100),
    default=50.0,
    show_default=True,
    metavar="PERCENT",
    help="Share of the time in which a drive is active.",
)
@click.option(
    "--from", "names", multiple=True, metavar="NAME", help="Data sheets to choose from, or FILE.toml."
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def choose(as_json: bool, **given: Any) -> None:
    """Which drive fits a need: data sheets ranked with their reasons, the
    others excluded with theirs.

    \b
    mileage endurance choose --case worker-node
    mileage endurance choose --capacity 20TB --writes "100 TB/year" --raid 6
    mileage endurance choose --capacity 1TB --price optane-16gb=30 --budget 500
    mileage endurance choose --case zfs-zil --from my-drive.toml
    """
    from mileage.endurance.drive_selection import Terms, choose
    from mileage.errors import Refused
    from mileage.targets.data_sheets import all_data_sheets, load_data_sheet

    need = _requirement(given)
    level, drives = given["raid"], given["drives"]
    if drives is not None:
        from mileage.endurance.drive_selection import is_possible

        if not is_possible(level, drives):
            raise Refused(
                "--drives",
                found=f"{drives} at RAID {level}",
                expected="1 without RAID, 2 at RAID 1, 3 or more at RAID 5, 4 or more at RAID 6, an even number at 10",
                code="out-of-range",
            )
    names = given["names"]
    sheets = [load_data_sheet(name) for name in names] if names else all_data_sheets()
    from mileage.cli.endurance_values import time_s_of

    terms = Terms(
        level=level,
        drives=drives,
        currency=given["currency"],
        budget=given["budget"],
        prices=_prices(given["prices"], {sheet.name for sheet in sheets}),
        kwh_price=given["kwh"],
        active_share=given["active"] / 100,
        afr=None if given["afr"] is None else given["afr"] / 100,
        repair_h=time_s_of("--repair", given["repair"]) / 3600,
    )
    found = choose(sheets, need, terms)
    if as_json:
        print_json({"need": need, "offers": found.offers, "excluded": found.excluded})
        return
    from mileage.endurance.choice_text import choice_text
    from mileage.terminal import report_width

    click.echo(choice_text(found, need, terms, report_width()), nl=False)


def _requirement(given: dict[str, Any]) -> Requirement:
    """The need of the case, with what the options say in its place."""
    import msgspec

    from mileage.cli.endurance_values import bytes_of, rate_of
    from mileage.endurance.cases import Requirement, case_named
    from mileage.errors import Refused

    capacity = bytes_of("--capacity", given["capacity"])
    if given["case"] is not None:
        need = case_named(given["case"]).need
    elif capacity is None:
        raise Refused(
            "--capacity", "missing", expected="a size such as 512GB, or --case NAME", code="missing"
        )
    else:
        need = Requirement(capacity_bytes=capacity)
    years = given["years"] or need.years
    # A case states a rate, so a different number of years changes the amount written.
    tbw = need.tbw / need.years * years
    if given["writes"] is not None:
        tbw = (
            rate_of("--writes", given["writes"], capacity or need.capacity_bytes)
            * 365
            * 86_400
            * years
            / 1e12
        )
    own = {
        "capacity_bytes": capacity,
        "tbw": tbw,
        "years": years,
        "pattern": given["pattern"],
        "power_loss_protection": given["plp"],
        "hot_swap": given["hot_swap"],
        "link": given["link"],
        "read_rate": given["min_read"],
        "write_rate": given["min_write"],
    }
    return msgspec.structs.replace(need, **{key: value for key, value in own.items() if value is not None})


def _prices(texts: tuple[str, ...], known: set[str]) -> dict[str, float]:
    from mileage.errors import Refused

    found = {}
    for text in texts:
        name, _, amount = text.partition("=")
        try:
            price = float(amount)
        except ValueError:
            price = 0.0
        if not 0 < price < 1e9:
            raise Refused("--price", found=repr(text), expected="NAME=AMOUNT above 0", code="wrong-value")
        if name not in known:
            raise Refused("--price", f"there is no data sheet {name!r} to choose from", code="unknown-name")
        found[name] = price
    return found


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

    from mileage.endurance.write_counters import wear_of

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
            print_json([{"name": one.name, "title": one.title} for one in cases])
            return
        width = max(len(one.name) for one in cases)
        for one in cases:
            click.echo(f"{one.name:<{width}}  {one.title}")
        return
    found = case_named(name)
    if as_json:
        print_json({**_fields(found), "contradictions": case_contradictions(found)})
        return
    from mileage.endurance.life_text import case_text
    from mileage.terminal import report_width

    click.echo(case_text(found, report_width()), nl=False)
