"""The model band of a study folder, from its journal to a value.

Scope: one choice for each line of its kind, the last one where a choice has several.
Lines of figures for which the study's drive has no alternative are ignored.
"""

from __future__ import annotations

from mileage.judge.model_band import BandChoice, ModelBand
from mileage.model.journal_entries import Choice
from mileage.plan import Plan
from mileage.store.journal import JournalContent


def model_band(plan: Plan, content: JournalContent) -> ModelBand | None:
    """The choices that were tried, in the order of the data sheet; None for a study without."""
    found = {(entry.figure, entry.value): entry for entry in content.of_kind(Choice)}
    declared = [(choice.figure, choice.alternative) for choice in plan.facts.alternatives]
    choices = tuple(_choice(found[key]) for key in declared if key in found)
    return ModelBand(choices, len(declared)) if choices else None


def _choice(entry: Choice) -> BandChoice:
    ratios: dict[str, dict[str, float]] = {}
    for one in entry.ratios:
        ratios.setdefault(one.cell, {})[one.metric] = one.ratio
    return BandChoice(entry.figure, entry.value, entry.instead_of, entry.reason, ratios, entry.failure)
