"""The research flow: a lead with a todo list, artifacts and subagents that search."""
