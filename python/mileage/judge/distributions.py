"""Student's t, binomial and chi-square distributions, from `scipy.special`.

The functions import `scipy.special` when they are called: the import takes longer than most commands, and only a
judgement needs it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def t_quantile(freedom: float, probability: float) -> float:
    """The value that Student's t with `freedom` degrees of freedom does not exceed with `probability` (0..1)."""
    from scipy.special import stdtrit  # type: ignore[import-untyped, unused-ignore]

    return float(stdtrit(freedom, probability))


def t_two_sided(freedom: float, t: float) -> float:
    """The probability that Student's t with `freedom` degrees of freedom is at least as far from 0 as `t`."""
    from scipy.special import stdtr  # type: ignore[import-untyped, unused-ignore]

    return 2 * float(stdtr(freedom, -abs(t)))


def binomial_tail(
    counts: NDArray[np.int_], totals: NDArray[np.int_], probability: float
) -> NDArray[np.float64]:
    """The probabilities of `counts` (each 1 or more) or more successes in `totals` trials."""
    import numpy as np
    from scipy.special import bdtrc  # type: ignore[import-untyped, unused-ignore]

    return np.asarray(bdtrc(counts - 1, totals, probability), dtype=np.float64)


def chi_square_below(freedom: float, value: float) -> float:
    """The probability that chi-square with `freedom` degrees of freedom is at most `value`."""
    from scipy.special import chdtr  # type: ignore[import-untyped, unused-ignore]

    return float(chdtr(freedom, value))


def noncentral_t_above(freedom: float, shift: float, value: float) -> float:
    """The probability that noncentral t with `freedom` degrees of freedom, shifted by `shift`, is above a value."""
    from scipy.special import nctdtr  # type: ignore[import-untyped, unused-ignore]

    return 1 - float(nctdtr(freedom, shift, value))
