"""Values that all packages share: typed, without logic beyond their construction.

target_kind   what each kind of target can do     target_facts  what a plan must know of one target
cell_key      the identity of a cell, and its label
"""
