"""The toolbox, and the built-in tools."""
