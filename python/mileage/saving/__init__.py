"""All tables of a study as CSV, Parquet, JSON or Markdown, for other programs and for people: `mileage save-as`.

`tables` says which tables there are, with the unit in each column's name; `cells` how a value is written in text so
that it can be read back exactly and does nothing to who opens it; `writers` the four formats; `folder` puts them
into a new folder that appears whole or not at all. Needs the journal alone, so that the runs of a study whose plan is
damaged can still be saved.
"""

from mileage.record.text_cells import meant, written
from mileage.saving.folder import save_as
from mileage.saving.tables import Column, Table
from mileage.saving.writers import FORMATS

__all__ = ["FORMATS", "Column", "Table", "meant", "save_as", "written"]
