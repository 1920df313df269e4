"""Fitting of a drive profile: figures that are not published are chosen so that published rates are reached.

Scope: each rate of the profile that names a free figure (`fits = "controller_us"`) is one equation in one
unknown, solved by the secant method on logarithms: a rate is close to a power of the figure that bounds it. The pairs
are solved in the order of the profile, again until all hold, since figures share what they bound. Rates that are held
out are simulated once, after the last figure was chosen.
What it refuses: profiles without a drive; nothing else: a figure that does not move its rate is reported.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

import msgspec

from mileage.app.published_rates import SimulatedRate, published_rates, simulate_rate
from mileage.errors import Refused
from mileage.model.published_rate import PublishedRate
from mileage.regular_file import read_regular
from mileage.targets.door import write_result
from mileage.targets.profiles import PROFILE_BYTES_MAX, changed, profile_figures

CLOSE: Final = 0.004
"""Relative distance from the published rate at which a figure is accepted."""
ROUNDS: Final = 3
"""How often all figures are solved at most."""
TRIALS: Final = 12
"""Values that are tried for one figure in a round."""
_STEP_MOST: Final = 4.0
_FLAT: Final = 0.02
"""Below this exponent a rate does not depend on the figure."""
_DIGITS: Final = 4
_SHARES: Final = ("_us", "_ms", "_mb_per_s")
"""Ends of the names of figures that need not be whole numbers."""

Seen = Callable[[str], None]


class Trial(msgspec.Struct, frozen=True):
    """A value that was tried for a figure, and the rate of the drive with it."""

    figure: str
    value: float
    simulated: float


class FittedFigure(msgspec.Struct, frozen=True):
    """A free figure before and after."""

    figure: str
    rate: PublishedRate
    before: float
    after: float
    simulated: float
    """The rate of the drive with all figures as they are in the end."""
    bound_elsewhere: bool
    """True when the rate stopped depending on the figure before it was reached."""


class Fit(msgspec.Struct, frozen=True):
    """Fitted figures of a drive profile, with the simulated rates that they give."""

    drive: str
    figures: tuple[FittedFigure, ...]
    trials: tuple[Trial, ...]
    rates: tuple[SimulatedRate, ...]
    """All rates of the profile, simulated with the fitted figures."""


def fit_profile(drive: str, profile: str, seen: Seen = lambda _: None) -> Fit:
    """Fit the free figures of a profile's text to their rates. `drive` is the drive in messages.

    Raises Refused when the profile is none, or a drive cannot do a rate.
    """
    rates = published_rates(drive, profile)
    pairs = [(rate.fits, rate) for rate in rates if rate.fits is not None]
    before = {figure: _value_of(profile, figure) for figure, _ in pairs}
    values: dict[str, float] = dict(before)
    trials: list[Trial] = []
    stuck: set[str] = set()

    def tried(figure: str, rate: PublishedRate, value: float) -> float:
        seen(f"{figure} = {value:g}")
        found = simulate_rate(_with(profile, {**values, figure: value}, drive), rate, drive)
        trials.append(Trial(figure, value, found))
        return found

    for _ in range(ROUNDS if len(pairs) > 1 else 1):
        moved = False
        for figure, rate in pairs:
            solved, flat = _solved(partial(tried, figure, rate), values[figure], rate, figure)
            stuck = stuck | {figure} if flat else stuck - {figure}
            moved |= solved != values[figure]
            values[figure] = solved
        if not moved:
            break
    final = _with(profile, values, drive)
    simulated = []
    for rate in rates:
        seen(rate.in_short)
        simulated.append(SimulatedRate(drive, rate, simulate_rate(final, rate, drive)))
    figures = tuple(
        FittedFigure(name, one.rate, before[name], values[name], one.simulated, name in stuck)
        for one in simulated
        if (name := one.rate.fits) is not None
    )
    return Fit(drive, figures, tuple(trials), tuple(simulated))


def _value_of(profile: str, figure: str) -> float:
    found: Any = profile_figures(profile).get(figure)
    value = found["value"] if isinstance(found, dict) else found
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise Refused(
            f"fits = {figure!r}", found=f"{value!r}", expected="a figure that is a number", code="wrong-value"
        )
    return value


def _with(profile: str, values: Mapping[str, float], name: str) -> str:
    """The profile with other values of some figures."""
    return (
        changed(profile, [f"{key}={value!r}" for key, value in values.items()], f"virtual:{name}")
        if values
        else profile
    )


def _rounded(value: float, whole: bool) -> float:
    return max(round(value), 1) if whole else float(f"{value:.{_DIGITS}g}")


def _solved(
    tried: Callable[[float], float], start: float, rate: PublishedRate, figure: str
) -> tuple[float, bool]:
    """Find the value with which simulated and published rate agree; True: the rate no longer depends on it."""
    points = [(start, tried(start))]
    whole = not figure.endswith(_SHARES)

    def off(point: tuple[float, float]) -> float:
        return abs(point[1] / rate.value - 1)

    exponent = _first_exponent(figure, rate)
    flat = False
    for _ in range(TRIALS - 1):
        value, found = points[-1]
        if off(points[-1]) <= CLOSE:
            break
        step = (rate.value / found) ** (1 / exponent)
        wanted = _rounded(value * min(max(step, 1 / _STEP_MOST), _STEP_MOST), whole)
        wanted = _between(points, rate, wanted, whole)
        if any(wanted == known for known, _ in points):
            break
        points.append((wanted, tried(wanted)))
        slope = _slope(points[-2], points[-1])
        flat = abs(slope) < _FLAT
        if flat:
            break
        exponent = slope
    if flat and min(map(off, points)) > CLOSE:
        return start, True
    return min(points, key=off)[0], False


def _first_exponent(figure: str, rate: PublishedRate) -> float:
    """Exponent of a figure in a rate as long as nothing else is known: 1 or -1."""
    slower = figure.endswith(("_us", "_ms")) != (rate.unit == "mean_us")
    return -1.0 if slower else 1.0


def _slope(first: tuple[float, float], second: tuple[float, float]) -> float:
    return math.log(second[1] / first[1]) / math.log(second[0] / first[0])


def _between(points: list[tuple[float, float]], rate: PublishedRate, wanted: float, whole: bool) -> float:
    """The wanted value, or the geometric middle of the values around the rate where it lies outside of them."""
    low = [value for value, found in points if found < rate.value]
    high = [value for value, found in points if found >= rate.value]
    if not low or not high:
        return wanted
    falls = max(low) > max(high)
    one, other = (max(high), min(low)) if falls else (max(low), min(high))
    near, far = min(one, other), max(one, other)
    return wanted if near < wanted < far else _rounded(math.sqrt(near * far), whole)


def write_fit(path: Path, fit: Fit) -> None:
    """Write the fitted figures, and what the drive does of every rate, into the file of a profile; all else stays.

    Raises Refused when the file writes its figures or rates in another form than tables, and RunFailed when it cannot
    be written.
    """
    before = text = read_regular(path, PROFILE_BYTES_MAX).decode()
    for one in fit.figures:
        text = _with_figure(text, one.figure, one.after, path)
    text = _with_rates(text, [one.simulated for one in fit.rates], path)
    # --write says that this file is changed; the head is all that it held when it was read.
    write_result("--write", path, "profile", text, before.encode())


def _with_figure(text: str, figure: str, value: float, path: Path) -> str:
    table = re.compile(rf"(^\[{figure}\]\n(?:(?!\[).*\n)*?value *= *)([^\n]*)", re.MULTILINE)
    inline = re.compile(rf"(^{figure} *= *\{{ *value *= *)([^,}}]*)", re.MULTILINE)
    for form in (table, inline):
        written, count = form.subn(lambda found: f"{found[1]}{_number(value)}", text, count=1)
        if count:
            return written
    raise Refused(path, f"no table [{figure}] with a line `value = `", code="malformed")


def _with_rates(text: str, values: list[float], path: Path) -> str:
    """The text with a line `simulated = ` in each of its tables [[rate]]."""
    head, *blocks = re.split(r"(?m)^(?=\[\[rate\]\])", text)
    if len(blocks) != len(values):
        raise Refused(
            path,
            f"{len(blocks)} tables [[rate]] for {len(values)} rates",
            expected="each rate as a table [[rate]]",
            code="malformed",
        )
    return head + "".join(map(_with_simulated, blocks, values))


def _with_simulated(block: str, value: float) -> str:
    line = f"simulated = {_number(float(f'{value:.4g}'))}"
    written, count = re.subn(r"(?m)^simulated *=.*$", line, block, count=1)
    if count:
        return written
    body = block.rstrip("\n")
    return f"{body}\n{line}{block[len(body) :]}"


def _number(value: float) -> str:
    """Format a number as TOML for a drive profile."""
    if value == int(value) and abs(value) >= 1:
        return f"{int(value):_}" if abs(value) >= 1000 else f"{int(value)}"
    return f"{value:.6g}"


def log_lines(fit: Fit) -> Iterator[str]:
    """The log of a fit: what was free, what it was fitted to, every value that was tried, and all rates afterwards."""
    yield f"mileage drive fit {fit.drive}"
    yield ""
    for one in fit.figures:
        yield f"{one.figure}: fitted to {one.rate.quoted} ({one.rate.in_short}; {one.rate.source})"
        ratio = one.rate.ratio(one.simulated)
        yield f"  {one.before:g} before, {one.after:g} after; simulated {one.simulated:,.4g}, ratio {ratio:.3f}"
        if one.bound_elsewhere:
            yield "  the rate no longer depends on this figure: something else bounds it"
    if not fit.figures:
        yield "no figure is fitted to a rate"
    if fit.trials:
        yield "\ntrials, in their order"
        yield from (f"  {trial.figure} = {trial.value:g}: {trial.simulated:,.5g}" for trial in fit.trials)
    yield "\nall rates with these figures"
    for rate in fit.rates:
        role = f" [{rate.rate.role}]" if rate.rate.role else ""
        yield f"  {rate.rate.in_short}, {rate.rate.quoted}: {rate.simulated:,.5g}, ratio {rate.ratio:.3f}{role}"
