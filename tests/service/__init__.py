"""The service as its clients meet it, good ones and bad."""
