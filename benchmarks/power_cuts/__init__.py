"""Power cuts at random instants of synced writes on a modelled host."""
