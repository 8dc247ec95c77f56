"""Measurements of what the README promises; never part of the tests."""
