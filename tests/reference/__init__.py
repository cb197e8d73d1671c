"""What Headrace must answer, worked out row by row in plain Python: slow, and obvious by reading."""
