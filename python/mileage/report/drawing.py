"""From a chart's definition to the bytes of a picture: SVG for the page, PNG from that very SVG.

Models one drawing as one accessible image: a role, a title and a description for those who do not see it, a
tooltip on each described mark, identifiers that are unique in the page and the same in every rendering.
Refuses any network access: charts carry their data, and the renderer is allowed no address.
"""

import re
from typing import TYPE_CHECKING, Final
from xml.etree import ElementTree as ET

from mileage.report.ink import STYLE

if TYPE_CHECKING:
    import altair as alt

_SVG: Final = "http://www.w3.org/2000/svg"
_REFERENCE: Final = re.compile(r"url\(#([^)]+)\)")
_DESCRIBED_MARKS: Final = ("point", "rect mark")
PNG_SCALE: Final = 2.0


def to_svg(chart: "alt.TopLevelMixin", *, name: str, title: str, description: str) -> str:
    """The chart as an SVG document without declaration, to be put into a page or a file as it is.

    `name` (letters and dashes) is the prefix of every identifier in it and must be unique in the page.
    """
    import altair
    import vl_convert

    version = ".".join(altair.SCHEMA_VERSION.removeprefix("v").split(".")[:2])
    drawn = vl_convert.vegalite_to_svg(
        chart.to_dict(validate=False), vl_version=version, config=STYLE, allowed_base_urls=[]
    )
    ET.register_namespace("", _SVG)
    root = ET.fromstring(drawn)
    _rename_identifiers(root, name)
    _describe(root, name, title, description)
    return ET.tostring(root, encoding="unicode")


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
