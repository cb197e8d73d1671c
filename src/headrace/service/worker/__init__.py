"""Statements that users wrote, run in processes of their own: what brings one of these down leaves the service be."""
