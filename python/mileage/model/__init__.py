"""Values that all packages share: typed, without logic beyond their construction.

run_record      what one run left behind; the shape belongs to `mileage-measure`, and a test compares the two
histogram       latencies in buckets               imported_record  what another tool says of a run
journal_entries the lines of a journal             cell_key         the identity of a cell, and its label
target_kind     what each kind of target can do    target_facts     what a plan must know of one target
"""
