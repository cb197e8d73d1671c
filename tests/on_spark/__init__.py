"""What is promised of reads on Spark alone. Run with HEADRACE_ENGINE=spark, in the Python of a profile of Spark."""
