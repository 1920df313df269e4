"""The sentence, word for word. "--" stands for the dash of an interval."""

import re
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from mileage.judge import CellVerdict, Comparison, Sample, Verdict, compare_arms, compare_stages
from mileage.judge.comparison import CutLoss, Work
from mileage.judge.mean_over_cells import MeanRatio
from mileage.judge.standings import standings
from mileage.model.caveat import limit, veto
from mileage.report.sentence import design_words, verdict_sentence
from mileage.report.standings import ranking_words

Make = Callable[..., list[Sample]]

BLANK = CellVerdict(
    cell="iops.random_write 4 KiB",
    measure="iops",
    metric="ops_per_s",
    higher_is_better=True,
    ratio=None,
    ci95=None,
    ci90=None,
    p_raw=None,
    p_holm=None,
    p_bh=None,
    verdict="undecided",
    relevance=0.02,
    n_baseline=0,
    n_candidate=0,
    unit_ratios=(),
    mean_baseline=None,
    mean_candidate=None,
    values_baseline=(),
    values_candidate=(),
    sham_ratio=None,
    mde=None,
    p_exact=None,
    depends_on_method=False,
    caveats=(),
    units_baseline=0,
    units_candidate=0,
)


def cell(verdict: Verdict, ratio: float, low: float, high: float, **more: Any) -> CellVerdict:
    return msgspec.structs.replace(BLANK, verdict=verdict, ratio=ratio, ci95=(low, high), **more)


SLOWER = cell("slower", 0.57, 0.55, 0.59)
FASTER = cell("faster", 1.064, 1.041, 1.084, cell="throughput.read 1 MiB")
SAME = cell("same", 1.001, 0.99, 1.01)
TRIFLE = cell("real but irrelevant", 0.99, 0.985, 0.995)
UNDECIDED = cell("undecided", 0.97, 0.90, 1.05)
LATENCY = {"metric": "latency_p99_ns", "higher_is_better": False, "relevance": 0.1}
LATE = cell("slower", 1.3, 1.2, 1.4, **LATENCY)


def comparison(*headline: CellVerdict, others: tuple[CellVerdict, ...] = (), **more: Any) -> Comparison:
    plain = Comparison(
        kind="stages",
        baseline="before",
        candidate="after",
        descriptive=False,
        unit="cycle",
        units_baseline=3,
        units_candidate=3,
        sham_removed=True,
        alpha=0.05,
        cells=headline + others,
        headline=headline,
    )
    return msgspec.structs.replace(plain, **more)


def rated(found: CellVerdict, baseline: float, candidate: float, **more: Any) -> CellVerdict:
    return msgspec.structs.replace(found, mean_baseline=baseline, mean_candidate=candidate, **more)


BYTES = {"metric": "rate_bytes_per_s", "measure": "throughput", "cell": "throughput.write 128 KiB"}
WORK = {"throughput.write 128 KiB": Work("write", 128 << 10, "sequential")}
SIMULATED: dict[str, Any] = {
    "caveats": (limit("simulated"),),
    "wear_bytes": 190 << 30,
    "wear_order": "random",
    "work": WORK,
}

ARMS: dict[str, Any] = {
    "kind": "arms",
    "baseline": "kernel 5",
    "candidate": "kernel 6",
    "unit": "block",
    "units_baseline": 10,
    "units_candidate": 10,
    "sham_removed": False,
}


@pytest.mark.parametrize(
    ("judged", "expected"),
    [
        (
            comparison(SLOWER, SLOWER, SLOWER, SAME, SAME, UNDECIDED),
            "After the stress this drive is 43 % slower than before (95 % CI 41--45 %) at iops.random_write 4 "
            "KiB; slower in 3 of 6 tests, undecided in 1, within 2 % in 2. Three repetitions of the whole "
            "experiment, less the change of an idle control.",
        ),
        (
            comparison(SLOWER),
            "After the stress this drive is 43 % slower than before (95 % CI 41--45 %) at iops.random_write 4 "
            "KiB. Three repetitions of the whole experiment, less the change of an idle control.",
        ),
        (
            comparison(FASTER, SLOWER, candidate="rested"),
            "In the stage named rested this drive is 43 % slower than in the stage named before (95 % CI 41--45 %) "
            "at iops.random_write 4 KiB, but 6.4 % faster (95 % CI 4.1--8.4 %) at throughput.read 1 MiB; "
            "slower in 1 of 2 tests, faster in 1. "
            "Three repetitions of the whole experiment, less the change of an idle control.",
        ),
        (
            comparison(FASTER, SAME, **ARMS),
            "Kernel 6 is 6.4 % faster than kernel 5 (95 % CI 4.1--8.4 %) at throughput.read 1 MiB; faster in 1 of"
            " 2 tests, within 2 % in 1. Ten paired blocks.",
        ),
        (
            comparison(cell("faster", 3.44, 3.1, 3.7), **{**ARMS, "unit": "run", "units_candidate": 14}),
            "Kernel 6 is 3.4 times as fast as kernel 5 (95 % CI 3.1--3.7 times) at iops.random_write 4 KiB. "
            "14 against ten independent runs.",
        ),
        (
            comparison(SAME, SAME, msgspec.structs.replace(SAME, relevance=0.05, metric="rate_bytes_per_s")),
            "After the stress this drive is as fast as before (within 5 % in 1 of 3 tests, within 2 % in 2). "
            "Three repetitions of the whole experiment, less the change of an idle control.",
        ),
        (
            comparison(SAME, SAME, sham_removed=False),
            "After the stress this drive is as fast as before (both tests within 2 %). Three repetitions of the "
            "whole experiment, without an idle control.",
        ),
        (
            comparison(TRIFLE, SAME, SAME),
            "After the stress this drive is as fast as before (all 3 tests within 2 %). Three repetitions of the "
            "whole experiment, less the change of an idle control.",
        ),
        (
            comparison(UNDECIDED, SAME),
            "After the stress, whether this drive is faster or slower than before is undecided in 1 of 2 tests; "
            "the other is within 2 %. Three repetitions of the whole experiment, less the change of an idle "
            "control.",
        ),
        (
            comparison(UNDECIDED, **ARMS),
            "Whether kernel 6 is faster or slower than kernel 5 is undecided "
            "(95 % CI of the ratio to the baseline 0.9--1.05). Ten paired blocks.",
        ),
        (
            comparison(msgspec.structs.replace(UNDECIDED, mde=0.083), **ARMS),
            "Whether kernel 6 is faster or slower than kernel 5 is undecided "
            "(95 % CI of the ratio to the baseline 0.9--1.05); "
            "a difference of 8.3 % would have been found four times in five. Ten paired blocks.",
        ),
        (
            comparison(
                msgspec.structs.replace(UNDECIDED, mde=0.25), msgspec.structs.replace(UNDECIDED, mde=3.9)
            ),
            "After the stress, whether this drive is faster or slower than before is undecided in both tests; "
            "differences of 25 % to 4.9 times, by test, would have been found four times in five. Three "
            "repetitions of the whole experiment, less the change of an idle control.",
        ),
        (
            comparison(SLOWER, descriptive=True, caveats=(limit("one-cycle"),), unit="run"),
            "From one cycle on one device only: after the stress this drive is 43 % slower than before (95 % CI "
            "41--45 %) at iops.random_write 4 KiB. Less the change of an idle control.",
        ),
        (
            comparison(
                SLOWER,
                caveats=(veto("interrupted"), veto("edited", what="of heat"), veto("blocked-order")),
            ),
            "Not conclusive because the study was interrupted, of heat and one arm was measured after the other "
            '(order = "blocked"), so that any drift looks like a difference. What was measured: after the stress '
            "this drive is 43 % slower than before (95 % CI 41--45 %) at iops.random_write 4 KiB. Three "
            "repetitions of the whole experiment, less the change of an idle control.",
        ),
        (
            comparison(SAME, others=(LATE, cell("undecided", 1.1, 0.8, 1.4, **LATENCY))),
            "After the stress this drive is as fast as before (the one test within 2 %). In p99 latency: higher "
            "in 1 of 2 tests, undecided in 1; 30 % higher (95 % CI 20--40 %) at iops.random_write 4 KiB. Three "
            "repetitions of the whole experiment, less the change of an idle control.",
        ),
        (
            comparison(headline=(), cells=(LATE,)),
            "After the stress this drive has a p99 latency 30 % higher than before (95 % CI 20--40 %) at "
            "iops.random_write 4 KiB. Three repetitions of the whole experiment, less the change of an idle "
            "control.",
        ),
        (
            comparison(headline=(), cells=(cell("faster", 0.4, 0.3, 0.5, **LATENCY),), **ARMS),
            "Kernel 6 has a p99 latency 60 % lower than kernel 5 (95 % CI 50--70 %) "
            "at iops.random_write 4 KiB. Ten paired blocks.",
        ),
        (
            comparison(cell("slower", 0.5, 0.5, 0.5)),
            "After the stress this drive is 50 % slower than before (no spread between repetitions) at "
            "iops.random_write 4 KiB. Three repetitions of the whole experiment, less the change of an idle "
            "control.",
        ),
        (
            comparison(cell("slower", 0.5, 0.4996, 0.5004)),
            "After the stress this drive is 50.00 % slower than before (95 % CI 49.96--50.04 %) at "
            "iops.random_write 4 KiB. Three repetitions of the whole experiment, less the change of an idle "
            "control.",
        ),
        (
            comparison(rated(cell("slower", 0.085, 0.084, 0.086), 195e6, 16.5e6, **BYTES), **SIMULATED),
            "After 190 GiB of random writes this simulated drive writes 128 KiB blocks in sequence at 16.5 MB/s "
            "instead of 195: 91.5 % slower (95 % CI 91.4--91.6 %). "
            "The 95 % CI covers the repetitions of this simulation only, not how well the drive is modelled. "
            "Three repetitions of the whole experiment, less the change of an idle control.",
        ),
        (
            comparison(rated(SLOWER, 12_345.0, 7_037.0), SAME, **SIMULATED),
            "After 190 GiB of random writes this simulated drive does iops.random_write 4 KiB at 7,037 IOPS "
            "instead of 12,345: 43 % slower (95 % CI 41--45 %); slower in 1 of 2 tests, within 2 % in 1. The 95 %"
            " CI covers the repetitions of this simulation only, not how well the drive is modelled. Three "
            "repetitions of the whole experiment, less the change of an idle control.",
        ),
        (
            comparison(SAME, **SIMULATED),
            "After 190 GiB of random writes this simulated drive is as fast as before (the one test within 2 %). "
            "Three repetitions of the whole experiment, less the change of an idle control.",
        ),
        (
            comparison(rated(cell("faster", 3.44, 3.1, 3.7), 100e6, 344e6, **BYTES), **ARMS, work=WORK),
            "Kernel 6 writes 128 KiB blocks in sequence at 344 MB/s and kernel 5 at 100: 3.4 times as fast "
            "(95 % CI 3.1--3.7 times). Ten paired blocks.",
        ),
        (
            comparison(rated(SLOWER, 2.0, 1.14, metric="elapsed_s")),
            "After the stress this drive is 43 % slower than before (95 % CI 41--45 %) at iops.random_write 4 "
            "KiB. Three repetitions of the whole experiment, less the change of an idle control.",
        ),
        (
            comparison(**ARMS),
            "There is nothing to compare: no test was measured in kernel 5 or kernel 6.",
        ),
        (
            comparison(BLANK, descriptive=True, caveats=(limit("no-complete-cycle"),)),
            "From no complete cycle only: after the stress, whether this drive is faster or slower than before is"
            " undecided.",
        ),
    ],
)
def test_sentence(judged: Comparison, expected: str) -> None:
    assert verdict_sentence(judged) == expected.replace("--", "\N{EN DASH}")


def test_emphasis_surrounds_the_size() -> None:
    assert "is **43 % slower** than" in verdict_sentence(comparison(SLOWER), "**")
    assert "is **as fast** as before" in verdict_sentence(comparison(SAME), "**")


def test_the_largest_difference_leads_in_either_direction() -> None:
    judged = comparison(SLOWER, cell("faster", 2.5, 2.0, 3.0, cell="larger"))
    assert "2.5 times as fast as before" in verdict_sentence(judged)


def test_from_samples_to_words(stages: Make) -> None:
    samples = stages(1, cycles=4, effect=-0.56)
    judged = compare_stages(samples, baseline="before", candidate="after", relevance={"iops": 0.05})
    output = verdict_sentence(judged)
    assert output.startswith("After the stress this drive does iops.random_write 4 KiB at ")
    assert re.search(
        r"IOPS instead of [\d,.]+: 4\d(\.\d+)? % slower .*\. Four repetitions of the whole experiment, "
        r"less the change of an idle control\.$",
        output,
    )


def test_one_cycle_begins_descriptive(stages: Make) -> None:
    judged = compare_stages(stages(2, cycles=1), baseline="before", candidate="after", relevance={})
    assert verdict_sentence(judged).startswith("From one cycle on one device only: after the stress")


def test_names_are_left_as_given(arm: Make) -> None:
    judged = compare_arms(
        arm([10, 11, 10]), arm([15, 16.5, 15.5]), relevance={}, paired=False, labels=("/mnt/a", "/mnt/b")
    )
    assert verdict_sentence(judged).startswith(
        "/mnt/b does iops.random_write 4 KiB at 15.7 IOPS and /mnt/a at 10.3: 52 % faster (95 % CI"
    )


def test_stages_without_torture_between_them_are_named_as_they_are(stages: Make) -> None:
    runs = stages(3, cycles=3, sham=False, effect=-0.5)
    worn = compare_stages(runs, baseline="before", candidate="after", relevance={})
    rested = compare_stages(runs, baseline="before", candidate="after", relevance={}, tortured=False)
    assert verdict_sentence(worn).startswith("After the stress this drive does")
    assert verdict_sentence(rested).startswith("Afterwards this drive does")
    assert verdict_sentence(worn).endswith(
        "Three repetitions of the whole experiment, without an idle control."
    )
    assert verdict_sentence(rested).endswith("Three repetitions of the whole experiment.")


def test_arms_of_one_session_each_are_descriptive(arm: Callable[..., list[Sample]]) -> None:
    old = [replace(sample, session=1) for sample in arm([100.0, 101.3, 99.1])]
    new = [replace(sample, session=2) for sample in arm([200.0, 201.0, 198.7])]
    judged = compare_arms(old, new, relevance={}, paired=False, labels=("kernel old", "kernel new"))
    assert judged.descriptive
    assert [(cell.verdict, cell.p_raw) for cell in judged.cells] == [("undecided", None)]
    assert design_words(judged) == "one session of three runs against one session of three runs"
    output = verdict_sentence(judged)
    assert output.startswith("Not conclusive because there is one session on each side")
    assert "kernel new was" in output
    assert "95 % CI of the runs within them" in output


def test_one_run_of_each_is_said_first(arm: Make) -> None:
    judged = compare_arms(arm([100.0]), arm([200.0]), relevance={}, paired=False, labels=("old", "new"))
    output = verdict_sentence(judged)
    assert output.startswith("From one run of each test only: whether new is faster or slower than old")
    vetoed = verdict_sentence(msgspec.structs.replace(judged, caveats=(*judged.caveats, veto("interrupted"))))
    assert vetoed.startswith("Not conclusive because the study was interrupted. What was measured: from one")


def test_cells_that_cannot_be_judged_are_not_counted_as_no_runs() -> None:
    """A rate of 0 has no logarithm: the sentence says this, not "No against no independent runs"."""
    arms = [
        [
            Sample(run=f"{arm}{n}", cycle=1, arm="torture", stage="s", block=n, measure="iops", cell="c",
                   metric="ops_per_s", value=0.0, higher_is_better=True)
            for n in range(3)
        ]
        for arm in "ab"
    ]  # fmt: skip
    output = verdict_sentence(compare_arms(*arms, relevance={}, paired=False, labels=("a", "b")))
    assert "No against no" not in output
    assert "Nothing could be judged: " in output


def test_of_many_cells_the_counts_lead() -> None:
    """The largest of many ratios is mostly the luckiest; each workload has a mean of its own."""
    slower = [rated(SLOWER, 100.0, 57.0, p_holm=0.03, p_bh=0.01) for _ in range(5)]
    others = [msgspec.structs.replace(UNDECIDED, p_holm=0.2, p_bh=0.04) for _ in range(8)]
    groups = {"iops.read": MeanRatio(0.9, (0.85, 0.95), 0.5, 1.1, 3)}
    judged = comparison(*slower, *others, groups=groups, wear_bytes=2 << 40)
    assert verdict_sentence(judged, "*") == (
        "After 2 TiB of writes this drive is *slower in 5 of 13 tests, undecided in 8*. "
        "By workload: iops.read -10.0 %, 95 % interval -15.0 to -5.0 %. "
        "The largest difference: after 2 TiB of writes this drive does iops.random_write 4 KiB at 57 IOPS instead of "
        "100: 43 % slower (95 % CI 41–45 %). "
        "Three repetitions of the whole experiment, less the change of an idle control."
    )
    unknown = comparison(*others, *others, descriptive=True, caveats=(limit("one-cycle"),))
    assert verdict_sentence(unknown, "*").startswith(
        "From one cycle on one device only: after the stress, whether this drive is faster or slower than before "
        "is *undecided in all 16 tests*"
    )
    arms = verdict_sentence(comparison(*slower, *others, **ARMS), "*")
    assert arms.startswith("Kernel 6 against kernel 5: *slower in 5 of 13 tests, undecided in 8*")
    few = verdict_sentence(comparison(*slower, groups=groups))
    assert few.startswith("After the stress this drive does iops.random_write 4 KiB at 57 IOPS")


def test_all_levels_are_ranked_in_the_sentence() -> None:
    steady = {"a": [100.0, 101, 99], "b": [200.0, 202, 198], "c": [100.0, 99, 101]}
    cells = [standings(name, "ops_per_s", steady) for name in ("read", "stat", "write")]
    turned = standings(
        "append", "ops_per_s", {"a": [9.0, 9.1, 9.2], "b": [1.0, 1.1, 1.2], "c": [4.0, 4.1, 4.2]}
    )
    ranking = ranking_words([*cells, turned], "drive")
    assert ranking == (
        "Ranks by drive: read, stat, write: 1st b, 2nd a and c (no difference found); append: 1st a, 2nd c, 3rd b."
    )
    assert ranking in verdict_sentence(comparison(SLOWER, **ARMS, standings=(*cells, turned), factor="drive"))
    assert ranking_words([standings("read", "ops_per_s", {"a": [1.0, 2.0], "b": [3.0, 4.0]})], "drive") == ""
    many = {f"d{at}": [at * 100.0, at * 101.0, at * 99.0] for at in range(1, 10)}
    ranking = ranking_words([standings("read", "ops_per_s", many)], "drive")
    assert ranking == "Ranks by drive: read: 1st d9, 2nd d8, 3rd d7, ..., 9th d1."


@pytest.mark.parametrize(
    ("baseline", "words"),
    [
        (
            CutLoss(3, 0, 601),
            "3 power cuts lose 596 of 601 synced writes with kernel 6, none of 601 synced writes",
        ),
        (
            CutLoss(2, 0, 400),
            "596 of 601 synced writes with kernel 6 in 3 cuts, none of 400 synced writes with",
        ),
    ],
)
def test_writes_that_cuts_lost_are_those_of_their_own_cuts(baseline: CutLoss, words: str) -> None:
    found = comparison(UNDECIDED, **ARMS, cut_losses={UNDECIDED.cell: (baseline, CutLoss(3, 596, 601))})
    assert words in verdict_sentence(found)
