"""The report flow: plan, research in parallel, write, review, revise."""
