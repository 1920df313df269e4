"""Widths of characters, so that a drawing's labels take the same room whatever fonts the reader has.

Scope: Helvetica's widths, which Arial and Liberation Sans share, in thousandths of the font's size (Adobe's font
metrics), and bold as wider by one share for all characters. A browser that has none of these fonts fits its own into
that width (`textLength`). Texts with other characters keep their natural width.
"""

from __future__ import annotations

import re
from typing import Final
from xml.etree import ElementTree as ET

from mileage.report.wording import shortened

_WIDTHS: Final = {
    191: "'",
    222: "ijl",
    260: "|",
    278: " !,./:;I[\\]ft\N{NO-BREAK SPACE}",
    333: "()-`r",
    334: "{}",
    355: '"',
    389: "*",
    469: "^",
    500: "Jcksvxyz",
    549: "±≈≠≤≥",
    556: "#$0123456789?L_abdeghnopqu\N{EN DASH}",
    584: "+<=>~\N{MINUS SIGN}\N{MULTIPLICATION SIGN}",
    576: "\N{MICRO SIGN}",
    604: "■□●○",
    611: "FTZ",
    667: "&ABEKPSVXY",
    722: "CDHNRUw",
    778: "GOQ",
    833: "Mm",
    889: "%",
    944: "W",
    990: "▲▼◄►",
    1000: "→←\N{EM DASH}\N{HORIZONTAL ELLIPSIS}",
    1015: "@",
}
_WIDTH_OF: Final = {letter: width for width, messages in _WIDTHS.items() for letter in messages}
_BOLD: Final = 1.07
_SIZE: Final = re.compile(r"([\d.]+)px")
_SHORTEST: Final = 4
"""Characters from which a text is fitted: the difference of a shorter one is not seen."""


def width_px(text: str, font_px: float, *, bold: bool = False) -> float | None:
    """The width of a text in pixels; None where a letter's width is not known."""
    widths = [_WIDTH_OF.get(letter) for letter in text]
    if None in widths:
        return None
    return sum(width for width in widths if width) * font_px / 1000 * (_BOLD if bold else 1.0)


def room_px(text: str, font_px: float, *, bold: bool = False) -> float:
    """The width of a text in pixels, letters of unknown width as wide as any."""
    return sum(width_px(letter, font_px, bold=bold) or font_px for letter in text)


def fitted(text: str, font_px: float, room: float, *, bold: bool = False) -> str:
    """The text as far as it fits into `room` pixels; the middle is cut, since labels differ at the end."""
    most = len(text)
    while most > 1 and room_px(shortened(text, most), font_px, bold=bold) > room:
        most -= 1
    return shortened(text, most)


def fit_texts(root: ET.Element) -> None:
    """Give each text of a drawing the width that it was laid out with."""
    for element in root.iter():
        if element.tag.rpartition("}")[2] != "text" or not element.text or len(element):
            continue
        size = _SIZE.fullmatch(element.get("font-size", ""))
        bold = element.get("font-weight") in ("bold", "700")
        text = element.text.strip()
        width = width_px(text, float(size[1]), bold=bold) if size else None
        if width and len(text) >= _SHORTEST:
            element.set("textLength", f"{width:.1f}")
            element.set("lengthAdjust", "spacingAndGlyphs")
