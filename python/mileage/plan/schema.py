"""The JSON schema of study files, so that an editor knows their keys.

What it models: every table, key and type of `study.Study`. Ranges, references between tables and what a target can
honour are `checking`'s and `resolve`'s; a study that the schema passes may still be refused.
What it refuses: nothing.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from mileage.plan.study import Study

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


def study_schema() -> dict[str, Any]:
    """The schema of a study file as JSON values; unknown keys do not pass."""
    schema = msgspec.json.schema(Study)
    head = schema["$defs"]["Study"]
    # The target may be left to a factor whose levels are targets.
    head["required"] = [key for key in head["required"] if key != "target"]
    return {"$schema": DIALECT, "title": "A study of Mileage", **schema}
