"""The judge: is one stage, study or setting faster than another, by how much, and how sure are we?

Pure functions on samples: no file, no clock, no globals, no randomness. `compare_stages` and `compare_arms`
turn samples into a `Comparison` of facts; `mileage.report` has the words. The scale is the log ratio, the unit
of inference the highest level that was repeated (cycle, then block, then run), never the second or the I/O.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mileage.lazy_names import lazy_names

if TYPE_CHECKING:
    from mileage.judge.comparison import CellVerdict, Comparison, compare_arms, compare_stages
    from mileage.judge.correction import benjamini_hochberg, holm
    from mileage.judge.ratio import Estimate, one_sample, pooled, welch
    from mileage.judge.samples import Sample
    from mileage.judge.summary import Summary, summarise
    from mileage.judge.verdict import DEFAULT_RELEVANCE, VERDICTS, Verdict
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "mileage.judge.comparison": ("CellVerdict", "Comparison", "compare_arms", "compare_stages"),
            "mileage.judge.correction": ("benjamini_hochberg", "holm"),
            "mileage.judge.ratio": ("Estimate", "one_sample", "pooled", "welch"),
            "mileage.judge.samples": ("Sample",),
            "mileage.judge.summary": ("Summary", "summarise"),
            "mileage.judge.verdict": ("DEFAULT_RELEVANCE", "VERDICTS", "Verdict"),
        },
    )

__all__ = [
    "DEFAULT_RELEVANCE",
    "VERDICTS",
    "CellVerdict",
    "Comparison",
    "Estimate",
    "Sample",
    "Summary",
    "Verdict",
    "benjamini_hochberg",
    "compare_arms",
    "compare_stages",
    "holm",
    "one_sample",
    "pooled",
    "summarise",
    "welch",
]
