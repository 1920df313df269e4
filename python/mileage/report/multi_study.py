"""Three studies or more, for a terminal: who leads in each cell, and where a history changed."""

import textwrap
from collections.abc import Mapping, Sequence

from mileage.judge.history import Change
from mileage.judge.mean_over_cells import Rank
from mileage.report.wording import percent


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


def history_text(changes: Sequence[Change], studies: Sequence[str]) -> str:
    """The changes of level, each with the first study of the new level."""
    if not changes:
        return f"No change over {len(studies)} studies (energy distance, permutation p, Benjamini-Hochberg 5 %).\n"
    lines = [f"{len(changes)} {'change' if len(changes) == 1 else 'changes'} over {len(studies)} studies:"]
    for change in changes:
        shift = f"{change.cell}: {percent(change.ratio)} from {studies[change.study]} on (p = {change.p_adjusted:.2g})"
        lines += textwrap.wrap(shift, 80, initial_indent="  ", subsequent_indent="    ")
    return "\n".join(lines) + "\n"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else "..." + text[3 - most :]
