"""Chart of IOR's file layout, drawn from its parameters: segments, in them one block per task, in it transfers.

Scope: the file from its start; where each task has a file of its own, a segment is a single block of that file. What
does not fit is not drawn and is said: at most three segments or files and eight transfers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from mileage.plan.sizes import format_bytes
from mileage.report import vega
from mileage.report.aspects import file_name
from mileage.report.chart_data import Layout
from mileage.report.text_width import room_px
from mileage.report.theme import INK, PALE_COLOURS, SMALL_FONT_SIZE, marks, texts

_GROUPS: Final = 3
_PARTS: Final = 6
_TRANSFERS: Final = 8
WIDTH: Final = 900
_HEIGHT: Final = 74
_FONT_SIZE: Final = 11


def layout_names(layouts: Sequence[Layout]) -> dict[str, Layout]:
    """The layouts by the names of their pictures, each with a name that no other has."""
    found: dict[str, Layout] = {}
    for layout in layouts:
        name = f"layout_{file_name(layout.name)}"
        found[name if name not in found else f"{name}_{len(found)}"] = layout
    return found


def layout_title(layout: Layout) -> str:
    """The title of the picture."""
    return f"File layout of {layout.name}"


def layout_chart(layout: Layout, *, width: int = WIDTH) -> vega.Spec:
    """The start of the file, segment by segment; of a file for each task, the first files. `width` in pixels."""
    groups, parts = (layout.segments, layout.tasks) if layout.shared else (layout.tasks, layout.segments)
    groups, parts = min(groups, _GROUPS if width == WIDTH else 1), min(parts, _PARTS)
    group, part = ("segment", "task") if layout.shared else ("file of task", "segment")
    transfers = min(max(layout.block_bytes // layout.transfer_bytes, 1), _TRANSFERS)
    end = groups * (parts + 0.35)
    # The name of the last block is the widest.
    whole = room_px(f"{part} {parts - 1}", _FONT_SIZE) < 0.97 * width / end - 4
    blocks: list[dict[str, Any]] = []
    lines: list[dict[str, Any]] = []
    heads: list[dict[str, Any]] = []
    for outer in range(groups):
        start = outer * (parts + 0.35)
        heads.append({"x": start, "y": 2.3, "words": f"{group} {outer}" + ("" if whole else f": {part}s")})
        for inner in range(parts):
            at = start + inner
            colour = PALE_COLOURS[(inner if layout.shared else outer) % len(PALE_COLOURS)]
            words = f"{part} {inner}" if whole else str(inner)
            blocks.append({"x": at, "right": at + 0.97, "y": 0, "top": 1.7, "colour": colour, "words": words})
            lines += [{"x": at + 0.97 * k / transfers, "y": 0, "top": 0.7} for k in range(1, transfers)]
    x = vega.channel("x:Q", scale=vega.scale(domain=[0, end], nice=False), axis=None)
    y = vega.channel("y:Q", scale=vega.scale(domain=[0, 2.7], nice=False), axis=None)
    named = [{**block, "x": block["x"] + 0.485, "y": 1.2} for block in blocks]
    return vega.layered(
        [
            marks(blocks)
            .mark("rect", aria=False, stroke=INK, strokeWidth=0.6)
            .encode(x=x, x2="right:Q", y=y, y2="top:Q", color=vega.channel("colour:N", scale=None)),
            marks(lines).mark("rule", color=INK, strokeWidth=0.6, aria=False).encode(x=x, y=y, y2="top:Q"),
            texts(named, color=INK, fontSize=_FONT_SIZE).encode(x=x, y=y, text="words:N"),
            texts(heads, color=INK, align="left", fontSize=SMALL_FONT_SIZE).encode(x=x, y=y, text="words:N"),
        ],
        width=width,
        height=_HEIGHT,
    )


def layout_words(layout: Layout) -> str:
    """The layout of the study as one sentence with all its figures."""
    inside = layout.block_bytes // layout.transfer_bytes
    segments = f"{layout.segments:,} segment{'' if layout.segments == 1 else 's'}"
    what = (
        f"one file of {segments} of {layout.tasks} blocks, one for each task"
        if layout.shared
        else f"a file for each of {layout.tasks} tasks, {segments} of one block"
    )
    drawn = "segments" if layout.shared else "files"
    return (
        f"{layout.name}: {what}; a block is {format_bytes(layout.block_bytes)}, {inside:,} "
        f"transfer{'' if inside == 1 else 's'} of {format_bytes(layout.transfer_bytes)}. Drawn: at most {_GROUPS} "
        f"{drawn}, {_PARTS} blocks of each and {_TRANSFERS} transfers of a block."
    )
