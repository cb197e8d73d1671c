"""Tables of other databases, read through ADBC."""
