"""Tests of the flows: pure policies, driven by events written by hand; no engine, no model, no clock."""
