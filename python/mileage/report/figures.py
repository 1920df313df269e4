"""The pictures as files, for papers and slides: each as SVG and as PNG of the same drawing.

Writes into a folder that it is given, and nowhere else. Refuses to leave half a picture: a drawing is made
before its file is opened.
"""

from pathlib import Path

from mileage.report.charts import before_after_svg, forest_svg, torture_svg
from mileage.report.drawing import to_png
from mileage.report.view import StudyView, cleaned


def write_figures(view: StudyView, folder: Path) -> list[Path]:
    """Write forest, latency, before_after and torture (.svg, .png) as far as there is something to draw.

    `forest` has every headline cell, `latency` the cells beyond the headline. Makes the folder if it is
    missing, replaces older pictures of the same names, and returns what it wrote. OSError where the folder
    cannot be written.
    """
    view = cleaned(view)
    drawings = {
        "forest": forest_svg(view, view.headline, name="forest"),
        "latency": forest_svg(view, view.beyond_headline, name="latency"),
        "before_after": before_after_svg(view, name="before-after"),
        "torture": torture_svg(view, name="torture"),
    }
    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    for name, svg in drawings.items():
        if svg is None:
            continue
        vector, raster = folder / f"{name}.svg", folder / f"{name}.png"
        vector.write_text(svg, encoding="utf-8")
        raster.write_bytes(to_png(svg))
        written += [vector, raster]
    return written
