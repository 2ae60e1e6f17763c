"""The project: its manifest, its worker files and the Python files that it names."""
