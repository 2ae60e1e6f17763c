"""The lowest layer: values and pure functions. No clock, no disk, no await, no randomness."""
