"""`mileage drive`: look at a virtual drive, drive one workload on it, and check the model against theory."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from mileage.cli.drive_serve import control, serve
from mileage.cli.published_rates import array_tests, fit, rates, raw_tests
from mileage.cli.result_option import ResultFile
from mileage.cli.value_types import WHOLE_MAX, Number, WholeNumber

if TYPE_CHECKING:
    from mileage._core import Drive
    from mileage.plan.workload import Workload
    from mileage.targets.door import ResultPlace

_PATTERNS = ("random_write", "sequential_write", "random_read", "sequential_read")
_Command = TypeVar("_Command", bound=Callable[..., Any])
_FRESH = """[!] fresh drive: it was empty when the run began, so writes rarely waited for garbage
    collection; --fill writes the whole drive first, --from FILE starts from a used one
"""
_STATE_MAX = 1 << 34
"""Bytes of the largest state that is read."""
_LOSS_YEARS = 5.0
_LOSS_ARRAYS = 100_000
"""Arrays that are simulated for the probability of data loss."""
_FILLING = {"record": "128KiB", "passes": 1.0, "discards": 0, "size": None, "power_cut": None}


@click.group("drive")
def command() -> None:
    """Virtual drives: their data sheets, one workload on one of them, one of
    them as a real block device, and theory against simulation.
    """


def _share(option: str, text: str) -> Callable[[_Command], _Command]:
    """An option that is a share in percent, 0 unless given."""
    return click.option(
        option, type=WholeNumber(0, 100), default=0, show_default=True, metavar="PERCENT", help=text
    )


def _echo_json(value: object) -> None:
    import msgspec

    click.echo(msgspec.json.format(msgspec.json.encode(value), indent=2))


@command.command("show", short_help="Data sheet of a drive, each figure with its source.")
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.option("--toml", "as_toml", is_flag=True, help="The profile itself, to begin one of your own with.")
def show(name: str, as_json: bool, as_toml: bool) -> None:
    """Print the data sheet of the drive NAME (or of a profile, PATH.toml):
    every figure with its source, how far to trust it and what it may be
    instead, and which published rates the simulated drive reaches; of an
    array that states how often members fail, the probability of data loss.

    \b
    mileage drive show intel-x25e-64gb
    mileage drive show micron-7450-pro-1920gb --toml > my-drive.toml
    """
    import msgspec

    from mileage._core import array_data_loss, drive_alternatives, drive_figures, drive_rates, drive_title
    from mileage.errors import Refused
    from mileage.report.datasheet import alternative_lines, data_loss_lines, data_sheet, rate_lines
    from mileage.targets.profiles import load_profile

    if as_json and as_toml:
        raise Refused(
            "--json and --toml", "two forms of one output", advice="give one of them", code="conflict"
        )
    profile = load_profile(name)
    if as_toml:
        click.echo(profile, nl=False)
        return
    figures, rates = drive_figures(profile), msgspec.json.decode(drive_rates(profile))
    alternatives = drive_alternatives(profile)
    loss = array_data_loss(profile, _LOSS_YEARS, _LOSS_ARRAYS, 1)
    if as_json:
        keys = ("name", "value", "source", "confidence")
        rows = [dict(zip(keys, figure, strict=True)) for figure in figures]
        names = ("name", "value", "alternative", "reason")
        others = [dict(zip(names, row, strict=True)) for row in alternatives]
        parts = ("repair_hours", "mean_hours_to_loss", "exact", "simulated", "low", "high")
        found = {"data_loss": {"years": _LOSS_YEARS, **dict(zip(parts, loss, strict=True))}} if loss else {}
        _echo_json({"figures": rows, "alternatives": others, "rates": rates, **found})
        return
    click.echo(data_sheet(drive_title(profile), figures), nl=False)
    if alternatives:
        click.echo("\n" + "\n".join(alternative_lines(alternatives)))
    if rates:
        click.echo("\n" + "\n".join(rate_lines(rates)))
    if loss:
        click.echo("\n" + "\n".join(data_loss_lines(_LOSS_YEARS, loss)))


@command.command("run", short_help="Run one workload on a drive.")
@click.argument("name")
@click.option(
    "--workload",
    "-w",
    type=click.Choice(_PATTERNS),
    default="random_write",
    show_default=True,
    help="Kind of operations.",
)
@click.option(
    "--record", "-r", default="4KiB", show_default=True, metavar="SIZE", help="Size of an operation."
)
@click.option(
    "--depth",
    "-d",
    type=WholeNumber(1, 4096),
    default=32,
    show_default=True,
    metavar="N",
    help="Queue depth.",
)
@click.option("--size", metavar="SIZE", help="Part of the drive that is accessed; default: all.")
@click.option(
    "--passes",
    type=Number(min=0, max=1e6),
    default=1.0,
    show_default=True,
    metavar="X",
    help="Length of the run: bytes moved, in multiples of --size.",
)
@_share("--discards", "Share of the operations that discard (TRIM) instead.")
@_share("--compressible", "Share of the content that compression saves.")
@_share("--duplicates", "Share of the 4 KiB blocks whose content recurs.")
@click.option("--fill", is_flag=True, help="First write the whole drive once, in order.")
@click.option("--idle", metavar="SECONDS", type=Number(min=0, max=1e9), help="Idle time before the run.")
@click.option(
    "--power-cut",
    type=Number(min=0, max=1e9, min_open=True),
    metavar="SECONDS",
    help="End the run this long after its start, and cut the power.",
)
@click.option(
    "--seed",
    type=WholeNumber(),
    default=1,
    show_default=True,
    metavar="N",
    help="Seed of all random choices.",
)
@click.option(
    "--from",
    "state",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Start from a state that --save wrote.",
)
@click.option(
    "--save",
    type=ResultFile("drive-state"),
    metavar="FILE",
    help="Write the state of the drive after the run.",
)
@click.option(
    "--report",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Write a page with the course of the run into DIR.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the whole record of the run as JSON.")
def run(
    name: str,
    as_json: bool,
    state: Path | None,
    save: ResultPlace | None,
    report: Path | None,
    **options: Any,
) -> None:
    """Run one workload on the virtual drive NAME and draw rate, latency
    and counters. Exit status 3 if the drive ended the run.

    mileage measure -t virtual:NAME has more options, such as --for and
    --threads.
    """
    import msgspec

    from mileage._core import Drive, drive_figures, drive_rates
    from mileage.errors import Refused, RunFailed
    from mileage.model.run_record import RunRecord
    from mileage.regular_file import read_state
    from mileage.report.datasheet import missed_rates, power_cut_line, run_drawing
    from mileage.targets.profiles import load_profile

    profile = load_profile(name)
    try:
        drive = Drive.restore(profile, read_state(state)) if state else Drive(profile)
        if options["power_cut"]:
            # Refuse options that do not apply to this drive before the run, which may take minutes.
            Drive(profile).power_cut()
        start_ns, text = _simulate(drive, name, options)
        record = RunRecord.from_json(text)
        cut = _power_cut(drive, start_ns, options["power_cut"])
    except ValueError as error:
        raise Refused(name, str(error), code="wrong-value") from error
    if save:
        save.write(drive.save())
    if as_json:
        _echo_json({**msgspec.json.decode(text), "gauges": dict(drive.gauges()), "life": drive.life, **cut})
    else:
        figures = {name: value for name, value, *_ in drive_figures(profile)}
        page_bytes = figures.get("mapping_bytes", figures.get("page_bytes"))
        pages = drive.capacity_bytes // int(page_bytes) if page_bytes else None
        for missed in missed_rates(msgspec.json.decode(drive_rates(profile)), {options["workload"]}):
            click.echo(f"{missed.sentence()} (`mileage drive show {shlex.quote(name)}` says why)")
        if pages and not (state or options["fill"]) and options["workload"].endswith("_write"):
            click.echo(_FRESH)
        click.echo(run_drawing(record, drive.gauges(), drive.life, pages), nl=False)
        if cut:
            click.echo("\n" + power_cut_line(cut["power_cut"]))
    if report is not None:
        _write_page(report, name, options["workload"], record, drive.gauges())
    if record.error is not None:
        raise RunFailed(f"{name}: {record.error.message}")


def _simulate(drive: Drive, name: str, options: dict[str, Any]) -> tuple[int, str]:
    """Fill the drive, idle, and run the workload, with a view of the bytes; when the run began, and its record."""
    from mileage.execute.live_view import CountedProgress

    main = _workload(drive.capacity_bytes, options["workload"], options)
    fill = _workload(drive.capacity_bytes, "sequential_write", {**options, **_FILLING})
    works = [("filling", fill)] if options["fill"] else []
    works.append((f"{options['workload'].replace('_', ' ')}s", main))
    with CountedProgress("", sum(work.stop.bytes or 0 for _, work in works), unit="bytes") as view:
        start_ns, text = 0, ""
        for number, (what, work) in enumerate(works, start=1):
            if number == len(works) and options["idle"]:
                drive.idle(int(options["idle"] * 1e9))
            view.step(f"simulating {name}: {what}")
            start_ns = drive.now_ns
            text = drive.run(work.to_json(), view.advance_to())
    return start_ns, text


def _write_page(out: Path, name: str, workload: str, record: Any, gauges: Any) -> None:
    """The page of a run, with the command line that made it."""
    import shlex
    import sys

    from mileage.app.drive_run import write_run_page

    command = shlex.join(["mileage", *sys.argv[1:]])
    page = write_run_page(out, name, workload.replace("_", " "), record, gauges, command)
    click.echo(f"page: {page}", err=True)


def _power_cut(drive: Any, start_ns: int, after_s: float | None) -> dict[str, Any]:
    """Cut the power so long after the start, or when all that was issued by then is answered; what that lost."""
    if after_s is None:
        return {}
    at_ns = max(drive.now_ns, start_ns + int(after_s * 1e9))
    lost = [
        {"write": write, "offset_bytes": offset_bytes, "length_bytes": length_bytes}
        for write, offset_bytes, length_bytes in drive.power_cut(at_ns)
    ]
    return {"power_cut": {"after_ns": at_ns - start_ns, "lost": lost}}


def _workload(capacity_bytes: int, pattern: str, options: dict[str, Any]) -> Workload:
    """The workload; its span is cut to whole records."""
    from mileage._core import parse_bytes
    from mileage.errors import Refused
    from mileage.plan.content import ContentTable, MixedContent
    from mileage.plan.workload import Stop, Workload

    record_bytes = parse_bytes(options["record"])
    if not record_bytes:
        raise Refused("--record", found=options["record"], expected="a byte or more", code="out-of-range")
    wanted_bytes = parse_bytes(options["size"]) if options["size"] else capacity_bytes
    span_bytes = wanted_bytes // record_bytes * record_bytes
    if not span_bytes:
        expected = f"one record of {options['record']} or more"
        raise Refused("--size", found=options["size"], expected=expected, code="out-of-range")
    order, _, direction = pattern.partition("_")
    stop_bytes = max(int(span_bytes * options["passes"]) // record_bytes, 1) * record_bytes
    if stop_bytes > WHOLE_MAX:
        where, found = "--passes", f"{stop_bytes:,} bytes in all"
        raise Refused(where, found=found, expected=f"at most {WHOLE_MAX:,}", code="out-of-range")
    cut_s = options["power_cut"]
    return Workload(
        pattern="random" if order == "random" else "sequential",
        read_percent=100 if direction == "read" else 0,
        discard_percent=options["discards"],
        record_bytes=record_bytes,
        span_start_bytes=0,
        span_bytes=span_bytes,
        depth=options["depth"],
        threads=1,
        stop=Stop(bytes=stop_bytes, time_ns=max(int(cut_s * 1e9), 1) if cut_s else None),
        seed=options["seed"],
        content=ContentTable(mixed=MixedContent(options["compressible"], options["duplicates"])),
    )


@command.command("check", short_help="Theory against simulation.")
@click.option("--quick", is_flag=True, help="A part of the checks, in some seconds.")
@click.option(
    "--life", is_flag=True, help="Wear out a 64 GB SLC drive at a thousandth of its size instead; a minute."
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def check(quick: bool, life: bool, as_json: bool) -> None:
    """Print theory against simulation: write amplification of every policy,
    saturation, links, queues, wear; seeks, rates and scheduling of disks.
    Exit status 1 on a miss.
    """
    from mileage._core import check_drives
    from mileage.errors import JudgedFailure

    if quick and life:
        raise click.UsageError("--quick and --life are different checks: give one of them")
    rows: list[dict[str, Any]] = []

    def print_row(name: str, theory: float, simulated: float, tolerance: float, holds: bool) -> None:
        rows.append(
            {"name": name, "theory": theory, "simulated": simulated, "tolerance": tolerance, "holds": holds}
        )
        if not as_json:
            off = simulated / theory - 1 if theory else simulated
            mark = "" if holds else "  MISS"
            click.echo(f"{name:<68}{theory:>16,.3f}{simulated:>16,.3f}{off:>+10.3%}{mark}")

    if not as_json:
        click.echo(f"{'':<68}{'theory':>16}{'simulated':>16}{'off':>10}")
    held = check_drives("life" if life else "quick" if quick else "all", print_row)
    if as_json:
        _echo_json(rows)
    if not held:
        misses = [row["name"] for row in rows if not row["holds"]]
        raise JudgedFailure(
            f"{len(misses)} of {len(rows)} comparisons differ from theory, first: {misses[0]}"
        )


command.add_command(rates)
command.add_command(fit)
command.add_command(raw_tests)
command.add_command(array_tests)
command.add_command(serve)
command.add_command(control)
