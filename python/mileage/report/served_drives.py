"""Words about served drives: what stands below the real kernel is a model, and its time is imposed.

Scope: the drives of a plan with the hashes of their profiles and states. How late their answers were is a check of the
runs.
"""

from __future__ import annotations

from mileage.model.target_kind import capabilities_of
from mileage.plan import Plan


def served_words(plan: Plan) -> str:
    """The served drives of a plan in words; empty without one."""
    found = {}
    for setting in plan.settings:
        if capabilities_of(setting.target).is_served:
            identity = plan.facts_of(setting).identity
            found[setting.target] = f"{setting.target} ({identity})" if identity else setting.target
    if not found:
        return ""
    head, verb, them = ("drive", "is", "its") if len(found) == 1 else ("drives", "are", "their")
    names = " and ".join(found.values())
    what = f"the {head} {names} {verb} simulated"
    return f"{what}: {them} answers reach the real kernel at modelled instants of real time"
