"""Feast, in an environment of its own."""
