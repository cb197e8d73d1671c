"""Results of joins that are kept: where they are, which go when room is needed, and what will be asked for next."""
