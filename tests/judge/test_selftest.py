"""The self-test itself: its promises are kept, its intervals are exact, and a broken judge is caught."""

import msgspec
import pytest
from scipy import stats

from mileage.app import selftest as module
from mileage.app.selftest import Share, selftest
from mileage.errors import Refused


def test_the_promises_are_kept_and_the_seed_gives_them_again() -> None:
    once = selftest(studies=60)
    assert once.kept, [share for share in once.shares if not share.kept]
    some = [list(case(50, 2010)) for case in (module._comparisons, module._transients)]
    assert some == [list(case(50, 2010)) for case in (module._comparisons, module._transients)]
    assert some[0] != list(module._comparisons(50, 2))


@pytest.mark.parametrize(("count", "total"), [(0, 50), (3, 60), (50, 50), (117, 1000)])
def test_the_interval_is_the_exact_binomial_one(count: int, total: int) -> None:
    share = Share(name="", count=count, total=total, low=0, high=1)
    oracle = stats.binomtest(count, total).proportion_ci(0.95, "exact")
    assert share.interval == pytest.approx((oracle.low, oracle.high), abs=1e-12)


def test_a_judge_that_ignores_the_pairs_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def all_wrong(*arguments: object, **named: object) -> object:
        found = judge(*arguments, **named)  # type: ignore[arg-type]
        cells = tuple(msgspec.structs.replace(cell, p_raw=0.01, ci95=(2.0, 3.0)) for cell in found.cells)
        return msgspec.structs.replace(found, cells=cells)

    judge = module.compare_arms
    monkeypatch.setattr(module, "compare_arms", all_wrong)
    broken = [share.name for share in selftest(studies=50).shares if not share.kept]
    # Tests of sessions stand on the same function and are caught too.
    assert {"false alarms, one test at 5 %", "95 % intervals that hold the truth"} <= set(broken)


def test_too_few_studies_are_refused() -> None:
    with pytest.raises(Refused, match="expected 50 or more"):
        selftest(studies=49)
