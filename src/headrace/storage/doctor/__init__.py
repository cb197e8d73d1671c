"""What a cluster must be for tables to be safe in it, tried out: `headrace doctor hdfs` and `hopsfs`."""
