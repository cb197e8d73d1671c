"""Storages that fail while stores are in use: nothing gets lost, nothing is there twice, and errors say what is up."""
