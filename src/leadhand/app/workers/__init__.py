"""The workers of projects and programs in their runs, and those that runs make."""
