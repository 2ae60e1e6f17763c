"""Tests of the ground floor: values, the fold of the log, the rules of the house."""
