"""The pictures as files, for papers and slides: each as SVG and as PNG of the same drawing.

Writes into a folder that it is given, and nowhere else. Refuses to leave half a picture: a drawing is made
before its file is opened.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

from mileage.judge import verdict_sentence
from mileage.report.drawer import files_of
from mileage.report.gallery import NARROW, Picture, gallery
from mileage.report.view import StudyView, cleaned


def write_figures(view: StudyView, folder: Path, pictures: Mapping[str, Picture] | None = None) -> list[Path]:
    """Write every picture (NAME.svg, NAME.png) for which there is something to draw.

    `forest` has the headline cells that changed most, `latency` those beyond the headline, `before_after_TEST` those of
    one test. A file has the study, the verdict and its caption in it, so that it can be read alone. Makes the folder if
    it is missing, replaces older pictures of the same names, and returns what it wrote. `pictures`: those of `gallery`
    where drawn already. OSError where the folder cannot be written.
    """
    view = cleaned(view)
    drawn = gallery(view, files=True) if pictures is None else pictures
    comparison = view.comparison
    head = f"{view.name} on {view.target}: {comparison.candidate} against {comparison.baseline}"
    return write_pictures(drawn.values(), f"{head}. {verdict_sentence(comparison)}", folder)


def write_pictures(pictures: Iterable[Picture], head: str, folder: Path) -> list[Path]:
    """Write these as `write_figures` does; `head` stands above each."""
    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    asked = {
        picture.name: files_of(picture.svg, head=head, caption=picture.caption)
        for picture in pictures
        if picture.name != NARROW
    }
    try:
        for name, both in asked.items():
            vector, raster = folder / f"{name}.svg", folder / f"{name}.png"
            svg, png = both.result()
            vector.write_text(svg, encoding="utf-8")
            raster.write_bytes(png)
            written += [vector, raster]
    finally:
        for both in asked.values():
            both.cancel()
    return written
