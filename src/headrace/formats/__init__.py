"""Table formats: from a location to snapshots, from a snapshot to rows."""
