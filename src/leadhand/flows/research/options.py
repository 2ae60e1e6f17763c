"""The names of the workers of a research run."""

LEAD, SUBAGENT, WRITER = "lead", "subagent", "writer"
