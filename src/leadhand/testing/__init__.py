"""Tools for testing what you build on Leadhand: a scripted model, a store in memory, contract tests."""
