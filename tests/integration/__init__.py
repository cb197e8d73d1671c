"""Stores among several processes, dying processes, full disks and much data."""
