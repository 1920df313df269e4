"""From the journal to facts: per-run summaries, validity checks, explanations, traces, and what the report draws.

- `journal_reader` and `run_facts` read the runs once; `evidence` and `view` collect report data.
- `planned_comparison` makes the comparison that the plan asks for; `setting_differences` lists how two studies differ.
- `validity_checks`, `steady_state_checks`, `run_variation` and `imported_study` say how far a result can be trusted.
- `counter_explanations`, `assumptions`, `cautions` and `open_loop` explain it in
  sentences.
- `device_class` and `machine_levels` say what was measured, and at which levels of the factors this machine is.

Uses the rules of `judge` and the values that `report` draws; runs nothing and writes nothing.
"""
