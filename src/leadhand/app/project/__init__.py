"""What a process offers its runs: tools, flows, workers and hooks, of a project, a program and installed packages."""
