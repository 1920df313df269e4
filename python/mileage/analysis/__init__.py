"""From the journal to facts: per-run summaries, validity checks, explanations, traces, and what the report draws.

- `reading` and `run_facts` read the runs once; `evidence`, `cell_figures` and `view` collect what the report draws.
- `planned_comparison` makes the comparison that the plan asks for; `setting_differences` lists how two studies differ.
- `validity_checks`, `courses`, `run_variation` and `imported_study` say how far a result can be trusted.
- `counter_explanations`, `assumptions`, `cautions`, `open_loop` and `latency_bound_notes` explain it in sentences.
- `device_class` and `machine_levels` say what was measured, and at which levels of the factors this machine is.

Uses the rules of `judge` and the values that `report` draws; runs nothing and writes nothing.
"""
