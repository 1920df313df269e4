"""The pictures as files, for papers and slides: each as SVG and as PNG of the same drawing.

Writes into a folder that it is given, and nowhere else. Refuses to leave half a picture: a drawing is made
before its file is opened.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

from mileage.report.effects_apart import first_sentence, subject_words
from mileage.report.gallery import NARROW, Picture, gallery
from mileage.report.render_pool import files_of
from mileage.report.view import StudyView, cleaned
from mileage.store.safe_directory import Directory


def write_figures(
    view: StudyView, folder: Directory, pictures: Mapping[str, Picture] | None = None
) -> list[Path]:
    """Write every picture (NAME.svg, NAME.png) for which there is something to draw.

    `forest` has the headline cells that changed most, `latency` those beyond the headline, `TEST` those of
    one test. A file has the study, the verdict and its caption in it, so that it can be read alone. They are in the
    folder `figures` of `folder`, which is made if it is missing; older pictures of the same names are replaced. Returns
    what was written. `pictures`: those of `gallery` where drawn already. OSError where the folder cannot be written.
    """
    view = cleaned(view)
    drawn = gallery(view) if pictures is None else pictures
    head = f"{view.name} on {view.target}: {subject_words(view)}"
    return write_pictures(drawn.values(), f"{head}. {first_sentence(view)}", folder)


def write_pictures(pictures: Iterable[Picture], head: str, folder: Directory) -> list[Path]:
    """Write these as `write_figures` does; `head` stands above each."""
    written: list[Path] = []
    asked = {
        picture.name: files_of(picture.svg, head=head, caption=picture.caption)
        for picture in pictures
        if not picture.name.endswith(NARROW)
    }
    try:
        with folder.below("figures") as figures:
            for name, both in asked.items():
                svg, png = both.result()
                for ending, data in (("svg", svg.encode()), ("png", png)):
                    figures.write(f"{name}.{ending}", data)
                    written.append(figures.path / f"{name}.{ending}")
    finally:
        for both in asked.values():
            both.cancel()
    return written
