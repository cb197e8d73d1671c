"""Runs SQL on DuckDB and streams Arrow out of it, in bounded memory."""
