"""Student's t distribution, from `scipy.special`.

The functions import `scipy.special` when they are called: the import takes longer than most commands, and only a
judgement needs it.
"""

from __future__ import annotations


def t_quantile(freedom: float, probability: float) -> float:
    """The value that Student's t with `freedom` degrees of freedom does not exceed with `probability` (0..1)."""
    from scipy.special import stdtrit  # type: ignore[import-untyped, unused-ignore]

    return float(stdtrit(freedom, probability))


def t_two_sided(freedom: float, t: float) -> float:
    """The probability that Student's t with `freedom` degrees of freedom is at least as far from 0 as `t`."""
    from scipy.special import stdtr  # type: ignore[import-untyped, unused-ignore]

    return 2 * float(stdtr(freedom, -abs(t)))
