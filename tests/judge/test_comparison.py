"""From samples to verdicts: unit of inference, sham, families, and data that is not as it should be."""

import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats  # type: ignore[import-untyped, unused-ignore]
from statsmodels.stats.multitest import multipletests  # type: ignore[import-untyped, unused-ignore]

from mileage.judge import CellVerdict, Comparison, Sample, compare_arms, compare_stages
from mileage.judge.verdict import Verdict
from mileage.model.caveat import limit, note, veto

Make = Callable[..., list[Sample]]
MakeOne = Callable[..., Sample]

RELEVANCE = {"throughput": 0.02, "iops": 0.05, "p99": 0.10}
VALUES = st.lists(st.floats(10, 1000), min_size=2, max_size=8)
MIRROR = {"faster": "slower", "slower": "faster"}


def judge_stages(samples: Sequence[Sample], **more: float) -> Comparison:
    return compare_stages(samples, baseline="before", candidate="after", relevance=RELEVANCE, **more)  # type: ignore[arg-type]


def judge_arms(a: Sequence[Sample], b: Sequence[Sample], *, paired: bool) -> Comparison:
    return compare_arms(a, b, relevance=RELEVANCE, paired=paired, labels=("old", "new"))


def only(comparison: Comparison) -> CellVerdict:
    assert len(comparison.cells) == 1
    return comparison.cells[0]


def cycle_changes(samples: Sequence[Sample], arm: str) -> list[float]:
    """Mean log change of each cycle, computed afresh."""
    changes = []
    for cycle in sorted({s.cycle for s in samples}):
        mean = {
            stage: np.mean(
                [np.log(s.value) for s in samples if (s.cycle, s.arm, s.stage) == (cycle, arm, stage)]
            )
            for stage in ("before", "after")
        }
        changes.append(float(mean["after"] - mean["before"]))
    return changes


def everything(comparison: Comparison) -> list[float]:
    numbers: list[float] = []
    for cell in comparison.cells:
        for name in cell.__struct_fields__:
            value = getattr(cell, name)
            numbers += [value] if isinstance(value, float) else []
            numbers += [x for x in value if isinstance(x, float)] if isinstance(value, tuple) else []
    return numbers


# Stages, several cycles


@pytest.mark.parametrize("cycles", [2, 3, 8])
def test_unit_is_the_cycle_and_the_sham_is_subtracted(stages: Make, cycles: int) -> None:
    samples = stages(1, cycles=cycles, effect=-0.5, drift=0.1)
    comparison = judge_stages(samples)
    torture, sham = cycle_changes(samples, "torture"), cycle_changes(samples, "sham")
    oracle = stats.ttest_rel(torture, sham)
    cell = only(comparison)
    assert cell.ratio == pytest.approx(math.exp(np.mean(torture) - np.mean(sham)))
    assert cell.p_raw == pytest.approx(oracle.pvalue)
    assert cell.ci95 == pytest.approx(tuple(np.exp(oracle.confidence_interval(0.95))))
    assert cell.ci90 == pytest.approx(tuple(np.exp(oracle.confidence_interval(0.90))))
    assert cell.sham_ratio == pytest.approx(math.exp(np.mean(sham)))
    assert len(cell.unit_ratios) == cycles
    assert (comparison.unit, comparison.descriptive) == ("cycle", False)
    assert (comparison.unit, comparison.units_candidate, comparison.sham_removed) == ("cycle", cycles, True)


def test_without_a_sham_the_cycles_stand_alone(stages: Make) -> None:
    samples = stages(2, sham=False, effect=-0.5)
    comparison = judge_stages(samples)
    oracle = stats.ttest_1samp(cycle_changes(samples, "torture"), 0)
    assert only(comparison).p_raw == pytest.approx(oracle.pvalue)
    assert only(comparison).sham_ratio is None
    assert (comparison.unit, comparison.units_candidate, comparison.sham_removed) == ("cycle", 3, False)


def test_many_runs_do_not_replace_cycles(stages: Make) -> None:
    samples = stages(3, cycles=3, blocks=200, sham=False, effect=0.03, between=0.03)
    runs = {s: [math.log(x.value) for x in samples if x.stage == s] for s in ("before", "after")}
    assert stats.ttest_ind(runs["after"], runs["before"], equal_var=False).pvalue < 1e-9
    assert only(judge_stages(samples)).verdict == "undecided"


def test_drift_that_the_sham_shares_is_not_an_effect(stages: Make) -> None:
    samples = stages(4, cycles=5, effect=0.0, drift=-0.4)
    cell = only(judge_stages(samples))
    assert cell.verdict not in ("faster", "slower")
    assert cell.ratio == pytest.approx(1, abs=0.03)
    assert only(judge_stages([s for s in samples if s.arm == "torture"])).verdict == "slower"


def test_unequal_numbers_of_runs_weigh_cycles_equally(sample: MakeOne) -> None:
    samples = [
        sample(level, cycle=cycle, stage=stage, run=run)
        for cycle, runs in ((1, 1), (2, 9))
        for stage, level in (("before", 100.0), ("after", 100.0 * cycle))
        for run in range(runs)
    ]
    assert only(judge_stages(samples)).ratio == pytest.approx(math.sqrt(2))


def test_one_sham_for_several_cycles_is_compared_unpaired(stages: Make) -> None:
    samples = [s for s in stages(5, effect=-0.5, drift=0.1) if s.arm == "torture" or s.cycle == 1]
    cell = only(judge_stages(samples))
    torture = cycle_changes(samples, "torture")
    sham = cycle_changes([s for s in samples if s.cycle == 1], "sham")[0]
    t = (np.mean(torture) - sham) / (np.std(torture, ddof=1) * math.sqrt(1 / 3 + 1))
    assert cell.p_raw == pytest.approx(2 * stats.t.sf(abs(t), 2))
    assert cell.ratio == pytest.approx(math.exp(np.mean(torture) - sham))
    assert note("control-not-paired", stress_cycles=3, control_cycles=1) in cell.caveats


def test_an_unfinished_cycle_is_not_a_cycle(stages: Make) -> None:
    samples = [s for s in stages(6, cycles=2) if s.cycle == 1 or s.stage == "before"]
    comparison = judge_stages(samples)
    assert comparison.descriptive
    assert only(comparison).n_baseline == 5


def test_other_stages_are_ignored(stages: Make, sample: MakeOne) -> None:
    samples = stages(7)
    extra = [sample(1.0, stage="idle", cycle=c) for c in (1, 2, 3)]
    assert judge_stages([*samples, *extra]) == judge_stages(samples)


# Stages, one cycle


def test_one_cycle_is_descriptive_and_compares_runs(stages: Make) -> None:
    samples = stages(8, cycles=1, sham=False, effect=-0.5)
    comparison = judge_stages(samples)
    logs = {s: [math.log(x.value) for x in samples if x.stage == s] for s in ("before", "after")}
    oracle = stats.ttest_ind(logs["after"], logs["before"], equal_var=False)
    cell = only(comparison)
    assert cell.p_raw == pytest.approx(oracle.pvalue)
    assert cell.ci95 == pytest.approx(tuple(np.exp(oracle.confidence_interval(0.95))))
    assert cell.p_exact == pytest.approx(2 / math.comb(10, 5))
    assert (comparison.descriptive, comparison.unit) == (True, "run")
    assert comparison.has("one-cycle")
    assert cell.verdict == "slower"


def test_one_cycle_with_a_sham_adds_its_variance(stages: Make) -> None:
    samples = stages(9, cycles=1, effect=-0.5, drift=0.2)
    comparison = judge_stages(samples)
    cell = only(comparison)
    logs = {
        (a, s): [math.log(x.value) for x in samples if (x.arm, x.stage) == (a, s)]
        for a in ("torture", "sham")
        for s in ("before", "after")
    }
    share = {key: np.var(x, ddof=1) / len(x) for key, x in logs.items()}
    total = sum(share.values())
    df = total**2 / sum(share[key] ** 2 / (len(x) - 1) for key, x in logs.items())
    torture, sham = cycle_changes(samples, "torture")[0], cycle_changes(samples, "sham")[0]
    assert cell.ratio == pytest.approx(math.exp(torture - sham))
    assert cell.p_raw == pytest.approx(2 * stats.t.sf(abs(torture - sham) / math.sqrt(total), df))
    assert comparison.has("one-cycle")


def test_one_cycle_snapshot(sample: MakeOne) -> None:
    samples = [
        sample(value, run=run, stage=stage, block=run % 3 + 1)
        for run, (stage, value) in enumerate(
            [(s, v) for s, values in (("before", (100, 110, 90)), ("after", (50, 55, 45))) for v in values]
        )
    ]
    cell = only(judge_stages(samples))
    assert cell == CellVerdict(
        cell="iops.random_write 4 KiB",
        measure="iops",
        metric="ops_per_s",
        higher_is_better=True,
        ratio=pytest.approx(0.5),  # type: ignore[arg-type]
        ci95=pytest.approx((0.398241, 0.627761), abs=1e-6),  # type: ignore[arg-type]
        ci90=pytest.approx((0.419846, 0.595457), abs=1e-6),  # type: ignore[arg-type]
        p_raw=pytest.approx(0.001071, abs=1e-6),  # type: ignore[arg-type]
        p_holm=pytest.approx(0.001071, abs=1e-6),  # type: ignore[arg-type]
        p_bh=pytest.approx(0.001071, abs=1e-6),  # type: ignore[arg-type]
        verdict="slower",
        relevance=0.05,
        n_baseline=3,
        n_candidate=3,
        unit_ratios=pytest.approx((0.501678, 0.551846, 0.451510), abs=1e-6),  # type: ignore[arg-type]
        mean_baseline=pytest.approx(99.665549, abs=1e-6),  # type: ignore[arg-type]
        mean_candidate=pytest.approx(49.832775, abs=1e-6),  # type: ignore[arg-type]
        values_baseline=(100, 110, 90),
        values_candidate=(50, 55, 45),
        sham_ratio=None,
        mde=pytest.approx(0.356178, abs=1e-6),  # type: ignore[arg-type]
        p_exact=pytest.approx(0.1),  # type: ignore[arg-type]
        depends_on_method=False,
        caveats=(),
        units_baseline=3,
        units_candidate=3,
        superiority=0.0,
    )


# Arms


@pytest.mark.parametrize("n", [2, 5, 10])
def test_paired_arms_are_tested_block_by_block(arm: Make, n: int) -> None:
    rng = np.random.default_rng(n)
    level = rng.normal(7, 0.5, n)
    a, b = np.exp(level + rng.normal(0, 0.01, n)), np.exp(level + rng.normal(0.03, 0.01, n))
    comparison = judge_arms(arm(a), arm(b)[::-1], paired=True)
    oracle = stats.ttest_rel(np.log(b), np.log(a))
    cell = only(comparison)
    assert cell.p_raw == pytest.approx(oracle.pvalue)
    assert cell.ci95 == pytest.approx(tuple(np.exp(oracle.confidence_interval(0.95))))
    assert cell.unit_ratios == pytest.approx(tuple(b / a))
    assert (comparison.unit, cell.units_baseline, cell.units_candidate) == ("block", n, n)


def test_unpaired_arms_are_tested_by_welch(arm: Make) -> None:
    rng = np.random.default_rng(11)
    a, b = np.exp(rng.normal(5, 0.1, 8)), np.exp(rng.normal(5.2, 0.3, 12))
    comparison = judge_arms(arm(a), arm(b), paired=False)
    oracle = stats.ttest_ind(np.log(b), np.log(a), equal_var=False)
    assert only(comparison).p_raw == pytest.approx(oracle.pvalue)
    assert only(comparison).p_exact == pytest.approx(stats.mannwhitneyu(a, b, method="exact").pvalue)
    assert (comparison.units_baseline, comparison.units_candidate) == (8, 12)


def test_unpaired_arms_of_several_cycles_are_tested_by_cycle(sample: MakeOne) -> None:
    rng = np.random.default_rng(12)
    arms: list[list[Sample]] = []
    for _ in range(2):
        levels = rng.normal(5, 0.2, 4)
        arms.append(
            [
                sample(math.exp(x + rng.normal(0, 0.001)), cycle=c, run=run)
                for c, x in enumerate(levels)
                for run in range(3)
            ]
        )
    comparison = judge_arms(*arms, paired=False)
    means = [
        [np.mean([math.log(s.value) for s in samples if s.cycle == c]) for c in range(4)] for samples in arms
    ]
    assert only(comparison).p_raw == pytest.approx(
        stats.ttest_ind(means[1], means[0], equal_var=False).pvalue
    )
    assert (comparison.unit, comparison.units_baseline, comparison.units_candidate) == ("cycle", 4, 4)


def test_block_without_a_partner_is_said(arm: Make) -> None:
    cell = only(judge_arms(arm([10, 11, 12, 13]), arm([20, 22, 25]), paired=True))
    assert cell.caveats == (note("lone-units", count=1, unit="block"),)
    assert len(cell.unit_ratios) == 3
    assert cell.n_baseline == 4


def test_the_same_samples_on_both_sides_are_the_same(arm: Make) -> None:
    samples = arm([10, 11, 12])
    assert only(judge_arms(samples, samples, paired=True)).verdict == "same"
    assert only(judge_arms(samples, samples, paired=False)).ratio == 1


def test_disagreement_with_the_permutation_test_is_flagged(arm: Make) -> None:
    ratios = [1.01, 1.02, 1.01, 1.03, 1.02, 1.01, 1.02, 3.0]
    cell = only(judge_arms(arm([1.0] * 8), arm(ratios), paired=True))
    assert cell.p_raw is not None
    assert cell.p_raw > 0.05
    assert cell.p_exact == 2 / 2**8
    assert cell.depends_on_method
    assert [caveat.code for caveat in cell.caveats] == ["depends-on-method"]


def test_a_permutation_test_too_small_to_decide_does_not_disagree(arm: Make) -> None:
    cell = only(judge_arms(arm([1.0] * 5), arm([2.0, 2.01, 2.02, 2.01, 2.0]), paired=True))
    assert cell.p_exact == 2 / 2**5 > 0.05
    assert cell.verdict == "faster"
    assert not cell.depends_on_method


@given(a=VALUES, b=VALUES, paired=st.booleans())
def test_swapping_the_arms_inverts_the_ratio_and_the_word(
    arm: Make, a: list[float], b: list[float], paired: bool
) -> None:
    one, other = (only(judge_arms(arm(x), arm(y), paired=paired)) for x, y in ((a, b), (b, a)))
    assert one.ratio is not None
    assert other.ratio == pytest.approx(1 / one.ratio)
    assert one.verdict == MIRROR.get(other.verdict, other.verdict)
    assert one.ci95 is not None
    assert other.ci95 is not None
    assert other.ci95 == pytest.approx((1 / one.ci95[1], 1 / one.ci95[0]))


@given(a=VALUES, b=VALUES, paired=st.booleans(), scale=st.sampled_from([1e-6, 0.5, 1024.0, 1e9]))
def test_scaling_both_arms_changes_nothing(
    arm: Make, a: list[float], b: list[float], paired: bool, scale: float
) -> None:
    plain = only(judge_arms(arm(a), arm(b), paired=paired))
    scaled = only(judge_arms(arm([x * scale for x in a]), arm([x * scale for x in b]), paired=paired))
    assert scaled.ratio == pytest.approx(plain.ratio)
    assert scaled.ci90 == pytest.approx(plain.ci90, rel=1e-6)
    assert scaled.p_raw == pytest.approx(plain.p_raw, abs=1e-6)


@given(order=st.permutations(range(60)), data=st.integers(0, 5))
def test_order_of_samples_is_irrelevant(stages: Make, order: list[int], data: int) -> None:
    samples = stages(data, cycles=3, effect=-0.1)
    assert judge_stages([samples[i] for i in order]) == judge_stages(samples)


def test_slower_is_worse_for_a_latency(arm: Make) -> None:
    latency = {"metric": "latency_p99_ns", "higher_is_better": False}
    cell = only(judge_arms(arm([100, 101, 99], **latency), arm([200, 202, 199], **latency), paired=False))
    assert cell.ratio == pytest.approx(2.0, rel=0.01)
    assert cell.verdict == "slower"
    assert cell.relevance == 0.10


# Families


def grid(arm: Make) -> tuple[list[Sample], list[Sample]]:
    rng = np.random.default_rng(20)
    arms: tuple[list[Sample], list[Sample]] = ([], [])
    for index in range(12):
        measure, metric = ("throughput", "rate_bytes_per_s") if index % 2 else ("iops", "ops_per_s")
        for side, shift in zip(arms, (0.0, 0.004 * index), strict=True):
            labels = {"cell": f"cell {index}", "measure": measure}
            side.extend(arm(np.exp(rng.normal(shift, 0.02, 10)), metric=metric, **labels))
            latency = np.exp(rng.normal(shift, 0.05, 10))
            side.extend(arm(latency, metric="latency_p99_ns", higher_is_better=False, **labels))
    return arms


def test_headline_by_holm_and_grid_by_benjamini_hochberg(arm: Make) -> None:
    comparison = judge_arms(*grid(arm), paired=True)
    assert len(comparison.cells) == 24
    assert [c.metric for c in comparison.headline].count("latency_p99_ns") == 0
    assert len(comparison.headline) == 12
    raw = [c.p_raw for c in comparison.headline]
    expected = multipletests(raw, method="holm")[1]
    assert [c.p_holm for c in comparison.headline] == pytest.approx(list(expected))
    expected = multipletests([c.p_raw for c in comparison.cells], method="fdr_bh")[1]
    assert [c.p_bh for c in comparison.cells] == pytest.approx(list(expected))
    for cell in comparison.cells:
        assert cell.p_adjusted == (cell.p_bh if cell.metric == "latency_p99_ns" else cell.p_holm)


def test_the_verdict_rests_on_the_adjusted_p(arm: Make) -> None:
    comparison = judge_arms(*grid(arm), paired=True)
    saved = [c for c in comparison.headline if c.p_raw is not None and c.p_raw <= 0.05 < (c.p_holm or 0)]
    assert saved
    assert all(c.verdict in ("same", "undecided") for c in saved)


def test_relevance_follows_the_metric(arm: Make) -> None:
    relevance = {c.metric: c.relevance for c in judge_arms(*grid(arm), paired=True).cells}
    assert relevance == {"rate_bytes_per_s": 0.02, "ops_per_s": 0.05, "latency_p99_ns": 0.10}


def test_a_throughput_cell_has_one_headline(arm: Make) -> None:
    def both(scale: float) -> list[Sample]:
        values = [scale * x for x in (1.0, 1.1, 1.2)]
        return arm(values, measure="throughput", metric="rate_bytes_per_s") + arm(
            values, measure="throughput", metric="ops_per_s"
        )

    comparison = judge_arms(both(1.0), both(2.0), paired=False)
    assert [c.metric for c in comparison.headline] == ["rate_bytes_per_s"]
    assert len(comparison.cells) == 2


def test_the_size_of_the_task_is_the_number_of_cells(arm: Make) -> None:
    a, b = (
        [s for i in range(414) for s in arm(np.random.default_rng([i, k]).uniform(90, 110, 10), cell=f"c{i}")]
        for k in (0, 1)
    )
    comparison = judge_arms(a, b, paired=True)
    assert len(comparison.cells) == len(comparison.headline) == 414
    assert sum(c.n_baseline + c.n_candidate for c in comparison.cells) == 8280
    assert all(c.p_holm is not None and c.p_exact is not None for c in comparison.cells)


# Data that is not as it should be


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
@pytest.mark.parametrize("cycles", [1, 3])
def test_a_value_without_a_logarithm_leaves_its_cell_undecided(
    stages: Make, sample: MakeOne, bad: float, cycles: int
) -> None:
    good = stages(30, cycles=cycles, sham=False, effect=-0.5, cells=("good",))
    spoiled = stages(31, cycles=cycles, sham=False, effect=-0.5, cells=("spoiled",))
    spoiled.append(sample(bad, run=77, stage="after", cell="spoiled"))
    fine, cell = judge_stages([*good, *spoiled]).cells
    assert fine.verdict == "slower"
    assert fine.p_holm == fine.p_raw
    assert (cell.cell, cell.verdict, cell.p_raw, cell.ratio) == ("spoiled", "undecided", None, None)
    assert [(c.code, c.figures["run"], c.figures["stage"]) for c in cell.caveats] == [
        ("no-logarithm", 77, "after")
    ]


@pytest.mark.parametrize(
    ("change", "verdict", "p"), [(1.0, "same", 1.0), (0.5, "slower", 0.0), (1.01, "real but irrelevant", 0.0)]
)
@pytest.mark.parametrize("cycles", [1, 2, 3])
def test_a_deterministic_drive(
    sample: MakeOne, change: float, verdict: Verdict, p: float, cycles: int
) -> None:
    samples = [
        sample(value, cycle=cycle, arm=arm, stage=stage, block=block)
        for cycle in range(cycles)
        for arm, after in (("torture", 123.4 * change), ("sham", 123.4))
        for stage, value in (("before", 123.4), ("after", after))
        for block in (1, 2, 3)
    ]
    cell = only(judge_stages(samples))
    assert (cell.verdict, cell.p_raw, cell.mde) == (verdict, p, 0.0)
    assert cell.ci95 == cell.ci90 == (cell.ratio, cell.ratio)
    assert cell.ratio == pytest.approx(change)
    assert cell.caveats[-1].code == "no-spread"


def test_a_single_run_has_a_ratio_but_no_verdict(sample: MakeOne) -> None:
    cell = only(judge_stages([sample(100.0), sample(50.0, stage="after")]))
    assert cell.ratio == pytest.approx(0.5)
    assert (cell.ci95, cell.p_raw, cell.verdict) == (None, None, "undecided")
    assert cell.caveats == (limit("too-few-units", count=1, unit="run", needed=2),)


def test_a_cell_in_one_cycle_only_is_undecided(stages: Make) -> None:
    samples = stages(32, sham=False, cells=("whole",))
    partial = [s for s in stages(33, sham=False, cells=("partial",)) if s.cycle == 1]
    cell = judge_stages([*samples, *partial]).cells[0]
    assert (cell.cell, cell.verdict) == ("partial", "undecided")
    assert cell.caveats == (limit("too-few-units", count=1, unit="cycle", needed=2),)


@pytest.mark.parametrize("cycles", [1, 3])
def test_a_cell_whose_sham_is_missing_is_undecided(stages: Make, cycles: int) -> None:
    samples = stages(34, cycles=cycles, effect=-0.5, cells=("a", "b"))
    kept = [s for s in samples if (s.arm, s.cell, s.stage) != ("sham", "b", "after")]
    a, b = judge_stages(kept).cells
    assert (a.verdict, b.verdict) == ("slower", "undecided")
    assert [caveat.code for caveat in b.caveats] == ["no-control"]


def test_a_stage_that_was_not_reached(stages: Make) -> None:
    comparison = judge_stages([s for s in stages(35) if s.stage == "before"])
    assert comparison.has("no-complete-cycle")
    assert comparison.descriptive
    assert only(comparison).caveats == (limit("no-complete-cycle"),)


@pytest.mark.parametrize("paired", [True, False])
def test_a_cell_in_one_arm_only(arm: Make, paired: bool) -> None:
    cell = only(judge_arms(arm([1.0, 2.0]), [], paired=paired))
    assert (cell.verdict, cell.p_bh) == ("undecided", None)
    assert cell.caveats


def test_nothing_to_compare() -> None:
    assert judge_stages([]).cells == ()
    assert judge_arms([], [], paired=True).headline == ()


@given(
    values=st.lists(
        st.sampled_from([0.0, math.nan, math.inf, 5e-324, 1e-300, 1.0, 1.0, 2.0, 1e308]),
        min_size=1,
        max_size=16,
    )
)
def test_the_answer_is_never_nan_or_infinite(sample: MakeOne, values: list[float]) -> None:
    samples = [
        sample(
            v, run=i, cycle=i // 8, arm=("torture", "sham")[i // 4 % 2], stage=("before", "after")[i // 2 % 2]
        )
        for i, v in enumerate(values)
    ]
    assert all(math.isfinite(x) for x in everything(judge_stages(samples)))
    a, b = ([s for s in samples if (s.arm, s.stage) == ("torture", x)] for x in ("before", "after"))
    for paired in (True, False):
        assert all(math.isfinite(x) for x in everything(judge_arms(a, b, paired=paired)))


def test_units_average_to_the_ratio(stages: Make) -> None:
    for samples in (stages(36), stages(37, cycles=1), stages(38, sham=False)):
        cell = only(judge_stages(samples))
        assert cell.ratio == pytest.approx(stats.gmean(cell.unit_ratios))


# Misuse


def test_a_row_that_appears_twice_is_refused(stages: Make, arm: Make) -> None:
    samples = stages(40)
    with pytest.raises(
        ValueError, match=r"ops_per_s of iops.random_write 4 KiB appears twice \(run 0, cycle 1"
    ):
        judge_stages([*samples, samples[0]])
    runs = arm([1.0, 2.0])
    with pytest.raises(ValueError, match="appears twice"):
        judge_arms(runs, [*runs, runs[1]], paired=True)


def test_misuse_is_refused(stages: Make, sample: MakeOne, arm: Make) -> None:
    with pytest.raises(ValueError, match="two different names"):
        compare_stages([], baseline="a", candidate="a", relevance={})
    with pytest.raises(ValueError, match="alpha"):
        judge_stages(stages(1), alpha=0.5)
    with pytest.raises(ValueError, match="expected 'torture' or 'sham'"):
        judge_stages([sample(1.0, arm="placebo")])
    with pytest.raises(ValueError, match="old mixes"):
        judge_arms(stages(1), arm([1.0]), paired=True)
    with pytest.raises(ValueError, match="differ in measure"):
        judge_arms(arm([1.0]), arm([1.0], measure="throughput"), paired=True)


def test_vetoes_are_carried_and_change_no_verdict(stages: Make) -> None:
    samples = stages(39, effect=-0.5)
    plain = judge_stages(samples)
    vetoed = compare_stages(
        samples, baseline="before", candidate="after", relevance=RELEVANCE, caveats=[veto("interrupted")]
    )
    assert vetoed.vetoes == (veto("interrupted"),)
    assert vetoed.cells == plain.cells


def test_equality_is_shown_by_the_ninety_percent_interval(arm: Make) -> None:
    same = arm([0.95, 1.0, 1.05])
    cell = only(compare_arms(same, same, relevance={"iops": 0.1}, paired=False, labels=("a", "b")))
    assert cell.ci90 is not None
    assert cell.ci95 is not None
    assert cell.ci90[1] < 1.1 < cell.ci95[1]
    assert cell.verdict == "same"


def test_alpha_sets_the_equivalence_interval_too(arm: Make) -> None:
    a = b = arm([0.95, 1.0, 1.05])
    cells = [
        only(compare_arms(a, b, relevance=RELEVANCE, paired=False, labels=("a", "b"), alpha=alpha))
        for alpha in (0.05, 0.4)
    ]
    assert cells[0].ci90 == cells[1].ci90
    assert [c.verdict for c in cells] == ["undecided", "same"]


def test_cells_come_in_the_order_of_their_sizes(arm: Make) -> None:
    labels = ["write 16 MiB", "write 1 MiB", "read 4 MiB", "write 64 KiB", "write 4 KiB", "write"]
    samples = [s for label in labels for s in arm([1.0, 2.0], cell=label)]
    cells = [c.cell for c in judge_arms(samples, samples, paired=True).cells]
    assert cells == ["read 4 MiB", "write", "write 4 KiB", "write 64 KiB", "write 1 MiB", "write 16 MiB"]


def test_headline_cells_that_share_blocks_are_summarised_together() -> None:
    def arm(factors: dict[str, float], blocks: int = 4) -> list[Sample]:
        return [
            Sample(
                n * 100 + b,
                1,
                "torture",
                "measured",
                b,
                "iops",
                cell,
                "ops_per_s",
                100 * f * (1 + b / 10),
                True,
            )
            for n, (cell, f) in enumerate(factors.items())
            for b in range(1, blocks + 1)
        ]

    one, two = arm({"a": 1, "b": 1}), arm({"a": 2, "b": 8})
    found = compare_arms(one, two, relevance={}, paired=True, labels=("x", "y")).overall
    assert found is not None
    assert (round(found.ratio, 12), round(found.lowest, 12), round(found.highest, 12)) == (4, 2, 8)
    assert found.blocks == 4
    assert compare_arms(one, two, relevance={}, paired=False, labels=("x", "y")).overall is None
    unequal = arm({"a": 2}) + arm({"b": 8}, blocks=3)
    assert compare_arms(one, unequal, relevance={}, paired=True, labels=("x", "y")).overall is None
    assert compare_arms(one, arm({"a": 2}), relevance={}, paired=True, labels=("x", "y")).overall is None
