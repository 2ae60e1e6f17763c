"""The documents of a run, as scripts, the console and people read them: projections of the log and nothing else."""
