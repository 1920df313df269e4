"""Words and text of `mileage check --for`: one sentence that answers, then how it was measured and what limits it.

Scope: the facts of `judge.fitness` in words, the same for the text, for JSON and for two targets; whether power loss
was tested, and what tests it. At most 72 columns; only a command is never broken.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final, Literal

import msgspec

from mileage.judge import Comparison
from mileage.judge.disturbance_bound import KIND_LIMITS
from mileage.judge.fitness import RUNS_MAX, Fitness
from mileage.model.caveat import Caveat
from mileage.model.metrics import METRICS
from mileage.plan.purpose import Purpose
from mileage.plan.sizes import format_bytes
from mileage.report.caveat_words import each_in_words, listed
from mileage.report.sentence import verdict_sentence
from mileage.report.wording import digits, plain, quantity, scale_of
from mileage.terminal import wrapped

WIDTH: Final = 72
_LABEL: Final = 10


class PublishedLimit(msgspec.Struct, frozen=True):
    """The limit of a purpose as it was published."""

    text: str
    """As it stands in the purpose: "10 ms"."""
    title: str
    """Who published it."""
    url: str = ""
    says: str = ""
    read: str = ""
    """The day on which it was read there."""


def published_limit(purpose: Purpose) -> PublishedLimit | None:
    """The limit of a purpose; None where none is published."""
    text, source = purpose.head.at_most or purpose.head.at_least, purpose.head.source
    if text is None or source is None:
        return None
    return PublishedLimit(text, source.title, source.url, source.says, source.read)


def limit_words(purpose: Purpose) -> str:
    """The limit of a purpose in a list: "limit 10 ms (etcd documentation)"."""
    found = published_limit(purpose)
    return "no limit is published" if found is None else f"limit {found.text} ({found.title})"


CacheKind = Literal["none", "volatile", "protected", "not stated"]


class DriveCache(msgspec.Struct, frozen=True):
    """What the profile of a virtual drive says of its write cache."""

    kind: CacheKind
    ignores_flushes: bool = False
    size_bytes: int | None = None


class PowerLoss(msgspec.Struct, frozen=True):
    """What is known of the writes that a power cut would lose. It is never tested by a check."""

    tested: bool = False
    how: Literal["drive", "model", ""] = ""
    """What the commands cut: the power of another drive, that of this model; empty where nothing can."""
    cache: DriveCache | None = None
    """None for a real drive, which nobody can ask."""
    commands: tuple[str, ...] = ()


def power_loss_words(found: PowerLoss) -> str:
    """What was not tested, what is known of the cache, and what the commands do."""
    words = (
        "Power loss was not tested: whether what was synced survives a power cut cannot be seen from outside, "
        "since a drive may answer from a cache that it then loses."
    )
    if (cache := found.cache) is not None:
        size = "" if cache.size_bytes is None else f" of {format_bytes(cache.size_bytes)}"
        words += (
            " "
            + {
                "none": "The profile of this drive has no write cache.",
                "volatile": f"By its profile the write cache{size} of this drive loses what was not flushed.",
                "protected": f"By its profile the write cache{size} of this drive is protected.",
                "not stated": "The profile of this drive does not state whether its write cache is protected.",
            }[cache.kind]
        )
        words += " It answers flushes and ignores them." if cache.ignores_flushes else ""
    ends = {
        "drive": "Mileage cannot cut the power of this drive. Of file systems and programs above a virtual drive:",
        "model": "A simulated cut:",
        "": "",
    }
    return f"{words} {ends[found.how]}".strip()


class FitResult(msgspec.Struct, frozen=True):
    """The check of one target for a purpose."""

    target: str
    date_utc: str
    purpose: str
    title: str
    """What the purpose is, and what its load does."""
    limit: PublishedLimit | None
    sync: str
    """The call that makes writes durable, where there is one: "fdatasync"."""
    simulated: bool
    method: str
    fitness: Fitness
    again: str = ""
    """The command with the runs that would decide it; empty where none is known."""
    notes: tuple[str, ...] = ()
    """What is to be known besides the caveats."""
    power_loss: PowerLoss | None = None
    """None where the load makes no promise that a power cut could break."""

    @property
    def status(self) -> int:
        """The exit status: 0 fit, or no limit; 1 not fit; CANNOT_SAY."""
        return {"fit": 0, "no limit": 0, "not fit": 1}.get(self.fitness.outcome, CANNOT_SAY)

    @property
    def verdict(self) -> str:
        """The answer in one sentence."""
        return fit_sentence(self)


NO_SPREAD: Final = 1e-9
"""Relative width of an interval that is rounding: the runs of a simulation may be equal."""
CANNOT_SAY: Final = 5
"""The exit status of a check for a purpose that cannot say."""


def status_of(found: Sequence[FitResult]) -> int:
    """The exit status for several targets: 1 where one is not fit, else CANNOT_SAY where nothing can be said of one."""
    statuses = {one.status for one in found}
    return 1 if 1 in statuses else max(statuses)


def plain_fits(found: Sequence[FitResult], comparison: Comparison | None) -> dict[str, Any]:
    """One result as values for programs, or two as `targets` with their `comparison`."""
    plain = [{**msgspec.to_builtins(one), "verdict": one.verdict, "status": one.status} for one in found]
    return plain[0] if len(plain) == 1 else {"targets": plain, "comparison": comparison}


def figure_words(found: FitResult) -> str:
    """The name of the figure: "p99 of fdatasync"."""
    metric = METRICS[found.fitness.metric]
    if metric.latency == "sync" and found.sync:
        return f"{'median' if metric.quantile == 0.5 else f'p{100 * metric.quantile:g}'} of {found.sync}"
    return "rate" if metric.word == "iops" else metric.title


def fit_sentence(found: FitResult) -> str:
    """Whether the target is fit for the purpose, the figure with its interval, and the limit with its source."""
    fit, name = found.fitness, found.purpose
    simulated = " in this simulation" if found.simulated else ""
    measured = f"{figure_words(found)} {_value(fit)}"
    if fit.outcome == "no limit":
        shared = (
            "" if found.simulated or not _is_disturbed(fit) else "; something else used the machine meanwhile"
        )
        return f"no limit is published for {name}: {measured}{simulated}{shared}"
    if found.limit is None:
        return f"no limit is published for {name}, and its figure is not known: {_undecided(fit)}"
    measured += f", limit {found.limit.text} ({found.limit.title})"
    if fit.outcome != "cannot say":
        return f"{fit.outcome} for {name}{simulated}: {measured}"
    return f"cannot say whether it is fit for {name}{simulated}: {measured}; {_undecided(fit)}"


def _undecided(fit: Fitness) -> str:
    """Why nothing can be said, and what would decide it."""
    if fit.reasons:
        return _beyond(fit) + listed(each_in_words(fit.reasons)) + _remedy(fit)
    if fit.runs_needed is None:
        return f"the limit lies in the interval, and at this spread no {RUNS_MAX:,} runs would decide it"
    return f"the limit lies in the interval; at this spread about {fit.runs_needed} runs would decide it"


def _beyond(fit: Fitness) -> str:
    """On which side of the limit the whole interval is, where something else forbids the verdict; otherwise empty."""
    if fit.limit is None or fit.ci95 is None or fit.ci95[0] <= fit.limit <= fit.ci95[1]:
        return ""
    is_above = fit.ci95[0] > fit.limit
    count = sum((value > fit.limit) == is_above for value in fit.values)
    side = "above" if is_above else "below"
    return f"the whole interval and {count} of {len(fit.values)} runs are {side} the limit, but "


def _is_disturbed(fit: Fitness) -> bool:
    return any(caveat.code in KIND_LIMITS for caveat in fit.caveats)


def _remedy(fit: Fitness) -> str:
    """What would decide it, where that is not more runs."""
    why = {caveat.code for caveat in fit.reasons}
    if "few-operations" in why:
        return "; longer runs would have them"
    if why & {"disturbed", "level-change"} and _is_disturbed(fit):
        return "; repeat it when nothing else uses the machine"
    return ""


def _value(fit: Fitness) -> str:
    if fit.value is None:
        return "not known"
    text = plain(quantity(fit.figure, fit.value))
    if fit.ci95 is None:
        return f"{text} (no interval)"
    if math.isclose(*fit.ci95, rel_tol=NO_SPREAD):
        return f"{text} (no spread in {len(fit.values)} runs)"
    scale = scale_of(fit.figure, [fit.value])
    low, high = (digits(end / scale.per_unit) for end in fit.ci95)
    if low == high:
        return f"{text} (95 % CI ±{100 * max(abs(end / fit.value - 1) for end in fit.ci95):.1g} %)"
    return f"{text} (95 % CI {low}-{high})"


def fit_text(found: FitResult) -> str:
    """The answer first, then how it was found."""
    return "\n".join([*wrapped(found.verdict, WIDTH), "-" * WIDTH, *_details(found)]) + "\n"


def fit_pair_text(one: FitResult, other: FitResult, comparison: Comparison | None) -> str:
    """The answers for two targets, and the second compared with the first on the figure that is judged."""
    lines = []
    for letter, found in (("A", one), ("B", other)):
        lines += wrapped(f"{letter}: {found.verdict}", WIDTH, indent="   ")
    lines += ["", *wrapped(compared_words(comparison), WIDTH), "-" * WIDTH]
    for letter, found in (("A", one), ("B", other)):
        lines += [f"{letter}:", *_details(found)]
    return "\n".join(lines) + "\n"


def compared_words(comparison: Comparison | None) -> str:
    """The comparison of two targets in a sentence."""
    if comparison is None:
        return "A and B are not compared: their runs are of different sizes."
    return verdict_sentence(comparison)


def _details(found: FitResult) -> list[str]:
    lines = _line("Purpose", found.title)
    lines += _line("Target", found.target)
    lines += _line("Method", found.method)
    values = ", ".join(plain(quantity(found.fitness.figure, value)) for value in found.fitness.values)
    lines += _line("Runs", values or "none has the figure")
    if found.limit is not None:
        read = f", read on {found.limit.read}" if found.limit.read else ""
        quoted = f": {found.limit.says}" if found.limit.says else ""
        lines += _line("Limit", f"{found.limit.text}, {found.limit.title}{quoted}{read}")
        lines += [" " * _LABEL + found.limit.url] if found.limit.url else []
    model = "the interval is that of the simulation: how well the drive is modelled is in no interval"
    words = [*each_in_words(_remaining(found.fitness)), *([model] if found.simulated else [])]
    for text in (*words, *found.notes):
        lines += wrapped(text, WIDTH, first="[!] ", indent="    ")
    if found.again:
        lines += ["More runs:", f"  {found.again}"]
    if found.power_loss is not None:
        lines += wrapped(power_loss_words(found.power_loss), WIDTH, indent="  ")
        lines += [f"  {command}" for command in found.power_loss.commands]
    return lines


def _remaining(fit: Fitness) -> list[Caveat]:
    """The caveats that are not in the sentence, and not in that of the model."""
    said = {id(caveat) for caveat in fit.reasons} if fit.outcome == "cannot say" else set()
    return [one for one in fit.caveats if id(one) not in said and one.code != "simulated"]


def _line(label: str, text: str) -> list[str]:
    return wrapped(text, WIDTH, first=f"{label:<{_LABEL}}", indent=" " * _LABEL)
