"""Folders of files that others write: Parquet, CSV, Arrow."""
