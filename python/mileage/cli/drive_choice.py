"""`mileage endurance choose`: which drive fits a need."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from mileage.cli.value_types import Number, WholeNumber

if TYPE_CHECKING:
    from mileage.endurance.requirement import Requirement

_ABOVE_0 = Number(min=0, min_open=True)


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
def command(as_json: bool, **given: Any) -> None:
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
        from mileage.endurance.array_loss import is_possible

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
        from mileage.cli.json_output import print_json

        print_json({"need": need, "offers": found.offers, "excluded": found.excluded})
        return
    from mileage.endurance.choice_text import choice_text
    from mileage.terminal import report_width

    click.echo(choice_text(found, need, terms, report_width()), nl=False)


def _requirement(given: dict[str, Any]) -> Requirement:
    """The need of the case, with what the options say in its place."""
    import msgspec

    from mileage.cli.endurance_values import bytes_of, rate_of
    from mileage.endurance.cases import case_named
    from mileage.endurance.requirement import Requirement
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
