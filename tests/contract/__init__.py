"""What Headrace must do, whoever does it: each test runs embedded and remote."""
