"""A data sheet next to the cells of a study that measured such work.

Scope: all stages of the study, each with its own closest cell.
What it refuses: a study of several targets, since a sheet is of one drive, and one that was imported.
"""

from __future__ import annotations

from mileage.analysis.quoted_rates import QuotedPair, measured_rates, quoted_pairs
from mileage.errors import Refused
from mileage.model.data_sheet import DataSheet


def quoted_study(folder: str, sheet: DataSheet) -> list[QuotedPair]:
    """Every quoted rate with what the study measured. Raises Refused."""
    from mileage import app
    from mileage.store import measured_cells

    result = app.load(folder)
    plan = result.plan
    if plan.imported is not None:
        raise Refused(folder, "was imported, and has no workloads to compare", code="unsupported")
    targets = sorted({setting.target for setting in plan.settings})
    if len(targets) > 1:
        raise Refused(
            folder,
            f"measures {len(targets)} targets ({', '.join(targets)})",
            expected="a study of one target: a data sheet is of one drive",
            code="ambiguous",
        )
    return quoted_pairs(sheet, measured_rates(plan, measured_cells(result.content(), plan)))
