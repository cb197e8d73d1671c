"""From a resolved query to SQL: pure data in, pure data out.

plan (what is looked up, how, in which ages) → duckdb (the statements)
"""
