"""Real servers for the tests, each in processes of its own, on 127.0.0.1 alone."""
