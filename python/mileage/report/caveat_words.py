"""The words of each caveat, by its code: they follow "not conclusive because", or stand as a sentence.

Scope: every code in use; a code without words is an error of the program. Names of the two sides are those of the
comparison, and a caveat of one side alone says which.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from mileage.model.caveat import Caveat
from mileage.plan import sizes
from mileage.report.quantity import duration
from mileage.targets.io_limits import limit_words

if TYPE_CHECKING:
    from mileage.judge import Comparison


class Names(NamedTuple):
    """The names of two sides."""

    baseline: str = "the baseline"
    candidate: str = "the candidate"


Sides: TypeAlias = "Comparison | Names"
_UNNAMED: Final = Names()


def listed(items: Sequence[str]) -> str:
    """Join texts to a list: "a, b and c"; empty for none."""
    return f"{', '.join(items[:-1])} and {items[-1]}" if len(items) > 1 else "".join(items)


def caveat_words(caveat: Caveat, sides: Sides = _UNNAMED) -> str:
    """The words of a caveat. `sides`: the comparison that has it; without, "the baseline" and "the candidate"."""
    return WORDS[caveat.code](caveat, sides) + _whose(caveat, sides)


def each_in_words(caveats: Iterable[Caveat], sides: Sides = _UNNAMED) -> list[str]:
    """The words of each caveat; what both sides have in the same words is one text."""
    found: dict[str, list[Caveat]] = {}
    for caveat in caveats:
        found.setdefault(WORDS[caveat.code](caveat, sides), []).append(caveat)
    return [
        words + (_whose(same[0], sides) if len(same) == 1 else " (on both sides)")
        for words, same in found.items()
    ]


_NAMES_ITS_SIDE: Final = frozenset({"missing-tests", "simulated", "rate-limited", "one-session"})
"""Codes whose words have the name of their side already."""


def _whose(caveat: Caveat, sides: Sides) -> str:
    if sides is _UNNAMED or len(caveat.sides) != 1 or caveat.code in _NAMES_ITS_SIDE:
        return ""
    return f" (in {_one(caveat, sides)})"


def _one(caveat: Caveat, sides: Sides) -> str:
    """The name of the side that a caveat is about."""
    return sides.baseline if caveat.sides[:1] == ("baseline",) else sides.candidate


def _first(tests: Sequence[str]) -> str:
    """The first test of some, and how many more there are."""
    more = f" and {len(tests) - 1} more" if len(tests) > 1 else ""
    return f"{tests[0]}{more}" if tests else "all tests"


def some(tests: Sequence[str], most: int = 4) -> str:
    """The first of some tests, and how many more there are."""
    return listed(tests) if len(tests) <= most else f"{', '.join(tests[:most])} and {len(tests) - most} more"


def _plural(count: float | str, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def _too_few(caveat: Caveat, _: Sides) -> str:
    f = caveat.figures
    return f"{_plural(f['count'], str(f['unit']))} on a side, at least {f['needed']} needed"


def _level_change(caveat: Caveat, _: Sides) -> str:
    f = caveat.figures
    of = f" in {f['changed_runs']} of {f['runs']} runs" if f.get("runs", 1) != 1 else ""
    stage = f" in stage {f['stage']}" if f.get("stage") else ""
    remedy = f"; {f['remedy']}" if f.get("remedy") else ""
    return f"{_first(caveat.tests)}{stage} changes its rate level{of}: {f['course']}{remedy}"


def _trend(caveat: Caveat, _: Sides) -> str:
    f = caveat.figures
    change, p = float(f["change"]), float(f["p"])
    p_words = "< 0.001" if p < 0.001 else f"= {p:.3f}"
    return (
        f"{_first(caveat.tests)} goes {'up' if change > 0 else 'down'} by {abs(change):.0%} from the first of "
        f"{f['runs']} runs to the last (Spearman's rho {f['rho']:+.2f}, p {p_words}): a trend from run to run, so that "
        "they are no independent repetitions"
    )


def _odd(caveat: Caveat, _: Sides) -> str:
    f = caveat.figures
    change = float(f["change"])
    return (
        f"{f['file']}, from line {f['line']}, is unlike the other {f['others']}: its {f['test_count']} tests are "
        f"together {abs(change):.1%} {'faster' if change > 0 else 'slower'} (Grubbs's test, p < {f['alpha']:g})"
    )


def _outlier(caveat: Caveat, _: Sides) -> str:
    f = caveat.figures
    words = f"run {f['run']} of {f['runs']} of {_first(caveat.tests)} is unlike all others"
    if "ratio_without" not in f:
        return words
    ratio, low, high = (float(f[f"{end}_without"]) for end in ("ratio", "low", "high"))
    return f"{words}; without it the change is {ratio - 1:+.1%} (95 % CI {low - 1:+.1%} to {high - 1:+.1%})"


def _figure(caveat: Caveat, name: str) -> str:
    """A rate in bytes or operations per second, or a time, with three digits."""
    value, metric = float(caveat.figures[name]), caveat.figures.get("metric", "")
    if metric == "rate_bytes_per_s":
        return f"{value / 1e6:.4g} MB/s"
    return f"{value:.4g} s" if metric == "elapsed_s" else f"{value:,.4g} operations/s"


def _unwritten_reads(caveat: Caveat, _: Sides) -> str:
    stages = str(caveat.figures["stages"]).split(", ")
    stage = f"{'stages' if stages[1:] else 'stage'} {listed(stages)}"
    return (
        f"up to {caveat.figures['unwritten_share']:.0%} of what {_first(caveat.tests)} read in {stage} was never "
        "written or was discarded, so that no flash was read for it"
    )


def _printed_twice(caveat: Caveat, _: Sides) -> str:
    f = caveat.figures
    here, there = (f"{f[f'{at}_percent']:+.2f} ± {f[f'{at}_sd_percent']:.2f} %" for at in ("here", "there"))
    elsewhere = f"; that pair belongs to {f['elsewhere']}" if f["elsewhere"] else ""
    return f"the second table prints {_first(caveat.tests)} as {there} and not as {here}{elsewhere}"


def disturbance_words(kind: str, figures: Mapping[str, Any]) -> str:
    """Words of the largest share of a run that something else had, and of the runs with more than is allowed."""
    share = _DISTURBANCES[kind].format(share=f"{figures['worst_share']:.1%}")
    if not figures["disturbed_runs"]:
        return share
    return f"{share} (above {figures['limit_share']:.0%} in {figures['disturbed_runs']} of {figures['runs']} runs)"


def _disturbance(caveat: Caveat, _: Sides) -> str:
    words = disturbance_words(caveat.code, caveat.figures)
    return (
        f"{words}, which may have made the difference of {_first(caveat.tests)}" if caveat.is_veto else words
    )


_DISTURBANCES: Final = {
    "other-load": "other programs used up to {share} of all processor time",
    "steal": "other virtual machines took up to {share} of the processor time",
    "memory-pressure": "tasks waited for memory for up to {share} of the time",
    "foreign-bytes": "up to {share} of what the device moved was for other programs",
}


def _text(template: str, both: str = "") -> Callable[[Caveat, Sides], str]:
    """Words from a template with the names of figures; `both`: the template of a caveat of both sides.

    Of the tests, `test` is the first, and `tests` are some; `place` is the first in brackets, or nothing. `one` is the
    name of the side that it is about, `low` and `high` are those of the baseline and of the candidate.
    """

    def words(caveat: Caveat, sides: Sides) -> str:
        about = {
            "test": _first(caveat.tests),
            "tests": some(caveat.tests),
            "place": f" ({_first(caveat.tests)})" if caveat.tests else "",
            "one": _one(caveat, sides),
            "low": sides.baseline,
            "high": sides.candidate,
        }
        return (both if both and len(caveat.sides) == 2 else template).format(**{**about, **caveat.figures})

    return words


_DEPENDENT: Final = _text(
    "neighbouring runs of {test} are alike (autocorrelation {phi:.2f}): its {runs_baseline} and {runs_candidate} "
    "runs are worth {effective_baseline:.1f} and {effective_candidate:.1f} independent ones, and the interval is "
    "as wide as that"
)
_DEPENDENT_ALONE: Final = _text(
    "neighbouring runs are alike (autocorrelation {phi:.2f}): {runs_baseline} are worth {effective_baseline:.1f} "
    "independent ones, and the interval is as wide as that"
)
_DIFFERS: Final = _text("{key} is {baseline} in {low} and {candidate} in {high}{place}")
WORDS: Final[Mapping[str, Callable[[Caveat, Sides], str]]] = {
    # A purpose.
    "few-runs": _text("{runs} runs have the figure, and {needed} are needed"),
    "disturbed": _text(
        "something else had up to {disturbed_share:.0%} of the runs, and without it they might keep the limit"
    ),
    "within-resolution": _text(
        "the limit is nearer to the interval than a figure is exact ({resolution_share:.1%})"
    ),
    # The state of the study.
    "running": _text("the study is still running ({left})"),
    "failed": _text("the study stopped at a failure ({message})"),
    "waiting": _text("the runs at {parts} are still to be done"),
    "interrupted": _text("the study was interrupted"),
    "no-end": _text(
        "the journal has no line for the end of the study: it was cut off after its last run, or the line was removed"
    ),
    "runs-missing": lambda caveat, _: (
        f"{caveat.figures['missing']:,} of {caveat.figures['needed']:,} runs "
        f"{'is' if caveat.figures['missing'] == 1 else 'are'} missing"
    ),
    "edited": _text("{what}"),
    "did-not-finish": _text("{what}"),
    "run-failed": _text("{test} failed: {message}"),
    "run-invalid": _text("{what}"),
    "file-damaged": _text("the file is damaged: {what}"),
    # The evidence.
    "rate-latency-contradict": _text("rate and latency contradict each other in {test}"),
    "read-from-memory": _text("{memory_share:.0%} of {test} was read from memory"),
    "memory-file-system": _text("{target} is a {file_system}, which is memory: no device is measured"),
    "from-memory": _text("{what}"),
    **dict.fromkeys(_DISTURBANCES, _disturbance),
    "unwritten-reads": _unwritten_reads,
    "group-limit": lambda caveat, _: (
        f"a control group limited {limit_words(caveat.figures)}: in {_first(caveat.tests)} the limit was measured, "
        "not the drive"
    ),
    "short-runs": lambda caveat, _: (
        f"{caveat.figures['short_runs']:,} of {caveat.figures['runs']:,} runs are shorter than "
        f"{caveat.figures['enough_s']:g} s (the shortest {duration(1e9 * float(caveat.figures['shortest_s']))}), and "
        "short runs are more sensitive to noise"
    ),
    "overlapping-runs": _text(
        "{one} and {other} are of the same time, so {test} was measured under the load of both"
    ),
    "level-change": _level_change,
    "trend": _trend,
    "odd-repetition": _odd,
    "environment-changed": _text("the machine changed during the study: {change}"),
    "blocked-order": _text(
        'one arm was measured after the other (order = "blocked"), so that any drift looks like a difference'
    ),
    "listed-order": _text(
        'one workload always came before the other (order = "listed"), so that any drift looks like a difference'
    ),
    "baseline-differs-from-itself": _text(
        "the baseline measured twice differs from itself in {differing} of {tested} cells"
    ),
    "same-disk": _text("A and B are both on {disk}"),
    # The two sides.
    **dict.fromkeys(("setting-differs", "environment-differs", "state-differs", "margin-differs"), _DIFFERS),
    "renamed-tests": _text("compared as the same work under the baseline's name: {pairs}"),
    "missing-tests": _text("not compared, because {one} has no such test: {tests}"),
    "simulated": _text(
        "{one} is a simulation, and no interval covers how well it is modelled",
        both="both sides are simulations, and no interval covers how well they are modelled",
    ),
    "served": _text("{drives}; how late they were is a check, how well it is modelled is in no interval"),
    "model-miss": _text("the model is not exact: off the published rates by up to {rates}"),
    "few-operations": _text(
        "the {metric} of {tests} is not judged: {fewest_operations:,} {unit}s in a run, {needed:,} are needed"
    ),
    "rate-limited": _text(
        "the load held {test} at {limit_per_s:,.0f} operations per second in {one}, which may do more than that",
        both="{test} ran at a fixed rate on both sides, so its latency is judged and not its rate",
    ),
    # The units.
    "one-cycle": _text("there is one cycle on one device"),
    "one-session": _text(
        "{one} is one session, and sessions differ from day to day by a spread that nobody knows here",
        both="there is one session on each side, and the difference includes whatever else changed between them",
    ),
    "session-spread": _text("the interval has the spread between {sessions} sessions of this target"),
    "sessions-of-one-visit": lambda caveat, _: (
        f"the {caveat.figures['sessions']} sessions were on one boot within "
        f"{sizes.duration(float(caveat.figures['span_s']))}, so that what differs between boots and days is in no "
        "interval"
    ),
    "copied-runs": lambda caveat, _: (
        f"the runs{' of ' + some(caveat.tests) if caveat.tests else ''} are copies of each other, as such or changed "
        "a little, so they show no spread"
    ),
    "dependent-runs": lambda caveat, sides: (
        _DEPENDENT if "runs_candidate" in caveat.figures else _DEPENDENT_ALONE
    )(caveat, sides),
    "two-regimes": lambda caveat, _: (
        f"{_first(caveat.tests)} has two levels: {_figure(caveat, 'low')} in {caveat.figures['low_runs']} runs and "
        f"{_figure(caveat, 'high')} in {caveat.figures['high_runs']}, so that no run is like the mean"
    ),
    "one-outlier": _outlier,
    "history-changed": lambda caveat, _: (
        f"{_first(caveat.tests)} changed by {float(caveat.figures['ratio']) - 1:+.1%} from {caveat.figures['since']} "
        "on; the sessions since then are the baseline"
    ),
    "history-drifts": _text(
        "{test} drifts by {change:+.1%} over {sessions} sessions (Spearman, p = {p:.2g}): its first {used} are the "
        "baseline, until the history is given from a later session on"
    ),
    "history-weekly": _text("days of the week differ in {tests} (p = {p:.2g}), which widens the interval"),
    "one-run": _text("there is one run of each test"),
    # A table that others printed.
    "equal-spread": _text(
        "both arms are taken to have the spread that is printed of one ({df} degrees of freedom): {different} of "
        "{cells} tests differ after correction for their number by Benjamini-Hochberg ({uncorrected} uncorrected, "
        "{holm} by Holm), {within} are shown to be the same within the margin; if only the printed spread is known "
        "({df_alone} degrees of freedom), {different_alone} differ and {within_alone} are the same"
    ),
    "error-bars": _text(
        "an error bar of one standard deviation calls {different} tests different, of {nothing} nothing can be said by "
        "it, {ties} are ties"
    ),
    "printed-twice": _printed_twice,
    "printed-spread-only": _text("{verdict} if only the printed spread is known (p = {p:.2g})"),
    "no-complete-cycle": _text("no cycle was measured in both stages"),
    # One test.
    "no-logarithm": _text(
        "run {run}, stage {stage}: {value} has no logarithm, so there is no ratio; {completed} of {runs} runs have a "
        "value above 0"
    ),
    "no-run": _text("one side has no run of this test"),
    "no-pair": _text("no block or cycle has this test on both sides"),
    "no-control": _text("the idle control lacks this test"),
    "control-not-paired": _text(
        "{stress_cycles} stress cycles and {control_cycles} control cycles cannot be paired: compared as two groups"
    ),
    "too-few-units": _too_few,
    "lone-units": lambda caveat, _: (
        f"{_plural(caveat.figures['count'], str(caveat.figures['unit']))} without a partner not used"
    ),
    "no-spread": _text("no spread between the units: the interval is a point"),
    "no-spread-known": _text(
        "the runs show no spread, so the figures are too coarse to know how runs differ"
    ),
    "pooled-spread": _text("the runs of one arm have equal values; the spread is that of both arms together"),
    "depends-on-method": _text("depends on the method: p = {p_t:.2g} (t), {p_permutation:.2g} (permutation)"),
}
"""Words by code."""
