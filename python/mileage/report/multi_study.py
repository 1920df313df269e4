"""Three studies or more, for a terminal: who leads in each cell, by rank."""

import textwrap
from collections.abc import Mapping, Sequence

from mileage.judge.mean_over_cells import Rank


def ranking_text(ranks: Mapping[str, Sequence[Rank]]) -> str:
    """Text of the rankings: each cell's studies, fastest first; studies that do not differ share their ranks."""
    rule = "A range of ranks means: no difference shown (Welch on logs, Holm over all pairs, 5 %)."
    lines = [*textwrap.wrap(f"Ranks by geometric mean. {rule}", 80), ""]
    for cell, places in ranks.items():
        lines.append(cell)
        best = places[0].geometric_mean
        for place in places:
            span = str(place.first) if place.first == place.last else f"{place.first}-{place.last}"
            figures = f"{place.geometric_mean:>12.4g} {place.geometric_mean / best:>7.1%}"
            lines.append(f"  {span:>5}  {_cut(place.name, 48):<48} {figures}")
    return "\n".join(lines) + "\n"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else "..." + text[3 - most :]
