"""The pictures as files, for papers and slides: each as SVG and as PNG of the same drawing, and a file of captions.

Writes into a folder that it is given, and nowhere else. Refuses to leave half a picture: a drawing is made
before its file is opened.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as ET

from mileage.report.effects_apart import first_sentence, subject_words
from mileage.report.gallery import NARROW, Picture, gallery
from mileage.report.render_pool import files_of
from mileage.report.svg import title_of
from mileage.report.view import StudyView, cleaned
from mileage.store.safe_directory import Directory

CAPTIONS: Final = "captions.txt"


def write_figures(
    view: StudyView, folder: Directory, pictures: Mapping[str, Picture] | None = None
) -> list[Path]:
    """Write every picture (NAME.svg, NAME.png) for which there is something to draw, and their captions.

    `forest` has the headline cells that changed most, `latency` those beyond the headline, `TEST` those of
    one test. A file has one line above the drawing, what is drawn and of which study, and its caption below it; the
    verdict is in captions.txt. They are in the folder `figures` of `folder`, which is made if it is missing; older
    pictures of the same names are replaced. Returns what was written. `pictures`: those of `gallery` where drawn
    already. OSError where the folder cannot be written.
    """
    view = cleaned(view)
    drawn = gallery(view) if pictures is None else pictures
    verdict = f"{subject_words(view)}. {first_sentence(view)}"
    return write_pictures(drawn.values(), f"{view.name} on {view.target}", folder, verdict=verdict)


def write_pictures(
    pictures: Iterable[Picture], where: str, folder: Directory, *, verdict: str = ""
) -> list[Path]:
    """Write these as `write_figures` does; `where` is part of the line above each."""
    asked = {
        picture.name: (picture, files_of(picture.svg, where=where, caption=picture.caption))
        for picture in pictures
        if not picture.name.endswith(NARROW)
    }
    if not asked:
        return []
    written: list[Path] = []
    captions = [f"{where}: {verdict}" if verdict else where]
    try:
        with folder.below("figures") as figures:
            for name, (picture, both) in asked.items():
                svg, png = both.result()
                captions.append(f"{name}: {title_of(ET.fromstring(picture.svg))}. {picture.caption}")
                for ending, data in (("svg", svg.encode()), ("png", png)):
                    figures.write(f"{name}.{ending}", data)
                    written.append(figures.path / f"{name}.{ending}")
            figures.write(CAPTIONS, ("\n\n".join(captions) + "\n").encode())
            written.append(figures.path / CAPTIONS)
    finally:
        for _, both in asked.values():
            both.cancel()
    return written
