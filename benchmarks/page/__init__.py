"""The report page of large studies: how large it is, how long it takes to make, and whether it opens and scrolls."""
