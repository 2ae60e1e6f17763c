"""Lists of runs, and the processes that share a database."""
