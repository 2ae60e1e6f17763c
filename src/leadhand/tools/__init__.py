"""The toolbox, and the tools we ship."""
