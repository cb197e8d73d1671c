"""What a store does, embedded or behind Arrow Flight.

store (registry, tables, engine) → project → ingest, writing · reading → server (Flight)
"""
