"""From a chart's definition to the bytes of a picture: SVG for the page, PNG from that very SVG.

Scope: one drawing as one accessible image: a role, a title and a description for those who do not see it, a
tooltip on each described mark, identifiers that are unique in the page and the same in every rendering.
Refuses any network access: charts carry their data, and the renderer is allowed no address.
"""

import re
import textwrap
from typing import Final
from xml.etree import ElementTree as ET

from mileage.report import vega
from mileage.report.text_width import fit_texts, fitted
from mileage.report.theme import FONT, FONT_SIZE, INK, STYLE

_SVG: Final = "http://www.w3.org/2000/svg"
_REFERENCE: Final = re.compile(r"url\(#([^)]+)\)")
_DESCRIBED_MARKS: Final = ("point", "rect mark")
PNG_SCALE: Final = 2.0
_LINE: Final = 18.0
_LETTER: Final = 7.1
"""Width of a letter, on average, that leaves room for wide ones."""
_CAPTION_WIDTH_MIN: Final = 520.0


def to_svg(chart: vega.Spec, *, name: str, title: str, description: str) -> str:
    """The chart, a whole definition, as an SVG document without declaration, for a page or a file as it is.

    `name` (letters and dashes) is the prefix of every identifier in it and must be unique in the page.
    """
    import vl_convert

    drawn = vl_convert.vegalite_to_svg(chart, vl_version=vega.SCHEMA, config=STYLE, allowed_base_urls=[])
    ET.register_namespace("", _SVG)
    root = ET.fromstring(drawn)
    _rename_identifiers(root, name)
    _describe(root, name, title, description)
    fit_texts(root)
    return ET.tostring(root, encoding="unicode")


def captioned(svg: str, where: str, caption: str) -> str:
    """The drawing below one line, its title and `where` it was measured, and above its caption, on a white ground."""
    ET.register_namespace("", _SVG)
    root = ET.fromstring(svg)
    left, top, width, height = (float(number) for number in root.attrib["viewBox"].split())
    width = max(width, _CAPTION_WIDTH_MIN)
    head = fitted(": ".join(filter(None, (title_of(root), where))), FONT_SIZE, width - 8, bold=True)
    below = textwrap.wrap(caption, int(width / _LETTER))
    top -= _LINE * 1.5
    whole = height + _LINE * (len(below) + 2.5)
    root.set("viewBox", f"{left:g} {top:g} {width:g} {whole:g}")
    root.set("width", f"{width:g}")
    root.set("height", f"{whole:g}")
    ground = {
        "x": f"{left:g}",
        "y": f"{top:g}",
        "width": f"{width:g}",
        "height": f"{whole:g}",
        "fill": "white",
    }
    root.insert(2, ET.Element(f"{{{_SVG}}}rect", ground))
    lines = [(top + _LINE * 0.9, head, "bold")]
    start = top + _LINE * 1.5 + height
    lines += [(start + _LINE * (at + 0.9), line, "normal") for at, line in enumerate(below)]
    for place, line, weight in lines:
        style = {"font-family": FONT, "font-size": f"{FONT_SIZE}px", "font-weight": weight, "fill": INK}
        element = ET.SubElement(root, f"{{{_SVG}}}text", {"x": f"{left + 4:g}", "y": f"{place:g}", **style})
        element.text = line
    fit_texts(root)
    return ET.tostring(root, encoding="unicode")


def title_of(root: ET.Element) -> str:
    """The title that `to_svg` gave a drawing, for those who do not see it."""
    return root.findtext(f"{{{_SVG}}}title", "")


def to_png(svg: str) -> bytes:
    """The drawing as PNG, twice as many pixels as the SVG has units each way."""
    import vl_convert

    return bytes(vl_convert.svg_to_png(svg, scale=PNG_SCALE))


def _rename_identifiers(root: ET.Element, prefix: str) -> None:
    names: dict[str, str] = {}
    for element in root.iter():
        if (old := element.get("id")) is not None:
            names[old] = f"{prefix}-{len(names)}"
            element.set("id", names[old])
    for element in root.iter():
        for key, value in element.attrib.items():
            if "url(#" in value:
                element.set(key, _REFERENCE.sub(lambda m: f"url(#{names.get(m[1], m[1])})", value))


def _describe(root: ET.Element, name: str, title: str, description: str) -> None:
    for element in root.iter():
        label = element.attrib.pop("aria-label", None)
        kind = element.attrib.pop("aria-roledescription", None)
        element.attrib.pop("role", None)
        element.attrib.pop("aria-hidden", None)
        if label and kind in _DESCRIBED_MARKS:
            tooltip = ET.SubElement(element, f"{{{_SVG}}}title")
            tooltip.text = label
    root.set("role", "img")
    root.set("aria-labelledby", f"{name}-title {name}-description")
    for position, (tag, text) in enumerate((("title", title), ("desc", description))):
        element = ET.Element(
            f"{{{_SVG}}}{tag}", {"id": f"{name}-{'title' if tag == 'title' else 'description'}"}
        )
        element.text = text
        root.insert(position, element)
