"""Dispatch attempts, in this process."""
