"""The axis below bars that stand at whole numbers: each labelled by the name of its level.

Scope: names stand flat where each fits its place, else steeply; none overlaps another. Names come from strangers, so
what goes into the axis' expression is letters, digits and harmless signs only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from mileage.report import vega
from mileage.report.text_width import fitted, room_px
from mileage.report.theme import SMALL_FONT_SIZE

_LONGEST_PX: Final = 140
_STEEP: Final = -60
_UPRIGHT: Final = -90
_STEEP_SLOT_PX: Final = 17
_GAP_PX: Final = 6


def level_axis(names: Sequence[str], width: float, title: str | None) -> vega.Spec:
    """An axis of this width in pixels, whose places are 0, 1, 2 and so on up to the number of names."""
    slot = width / (len(names) + 0.2)
    flat = all(room_px(name, SMALL_FONT_SIZE) <= slot - _GAP_PX for name in names)
    cases = [f"datum.value == {at} ? '{harmless_label(name)}'" for at, name in enumerate(names)]
    return vega.axis(
        values=list(range(len(names))),
        # Of more values than this Vega leaves some out.
        tickCount=len(names),
        labelExpr=" : ".join([*cases, "''"]),
        title=title,
        grid=False,
        labelOverlap=False,
        labelAngle=0 if flat else _STEEP if slot >= _STEEP_SLOT_PX else _UPRIGHT,
    )


def harmless_label(name: str) -> str:
    """A name inside an expression, its middle cut where it is long."""
    kept = "".join(letter if letter.isalnum() or letter in " .,%+-/=:()" else "_" for letter in name)
    return fitted(kept, SMALL_FONT_SIZE, _LONGEST_PX)
