"""`mileage endurance over-provisioning`: capacity given up against write amplification, rate and life."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from mileage.cli.result_option import ResultFile
from mileage.cli.value_types import Number, WholeNumber

if TYPE_CHECKING:
    from mileage.app.over_provisioning import Poll, Step
    from mileage.execute.live_view import CountedProgress
    from mileage.targets.door import ResultPlace


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
def command(
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
        from mileage.cli.json_output import print_json

        print_json(
            [{**_fields(step), "scale": f"1/{divisor}", "years": _years(step, rate)} for step in steps]
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


def _fields(step: Step) -> dict[str, Any]:
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
