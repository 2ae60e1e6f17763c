"""Processes that drive the runs of others."""
