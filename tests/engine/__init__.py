"""Tests of the engine, end to end: a controller, a host and workers on a store in memory, with models made up here."""
