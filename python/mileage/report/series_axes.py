"""The axes of a chart of time series, for the page's script, which reads values below the pointer and zooms.

Scope: panels above each other on one linear axis. Any other chart, such as a scan, has none.
"""

from __future__ import annotations

from typing import Any

import msgspec

from mileage.report import vega


def series_axes(chart: vega.Spec | None) -> str:
    """JSON: for each panel the ends of both axes, whether the upright one is logarithmic, and what they are; or ""."""
    panels = [_axes(panel) for panel in (chart or {}).get("vconcat", ())]
    found = [panel for panel in panels if panel is not None]
    return msgspec.json.encode(found).decode() if found and len(found) == len(panels) else ""


def _axes(panel: vega.Spec) -> dict[str, Any] | None:
    for layer in panel["layer"]:
        x, y = layer["encoding"].get("x", {}), layer["encoding"].get("y", {})
        scales = x.get("scale", {}), y.get("scale", {})
        # The script reads linear axes from left to right; a scan has a logarithmic one.
        is_series = layer["mark"]["type"] == "line" and "type" not in scales[0]
        if is_series and all("domain" in scale for scale in scales):
            return {
                "x": x["scale"]["domain"],
                "y": y["scale"]["domain"],
                "log": y["scale"].get("type") == "log",
                "name": y["axis"]["title"],
                "title": (x["axis"].get("title") or "").partition(";")[0],
            }
    return None
