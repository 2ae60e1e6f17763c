"""The faults of the systems that Leadhand comes from, each shown not to be ours: whole runs, end to end."""
