"""Pure policies: what a run of a kind does next, given its state."""
