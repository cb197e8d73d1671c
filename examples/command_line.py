"""The command line: tables for people, `--json` and exit codes for programs."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

os.environ["HEADRACE_STORE"] = "./lake"  # or --store; an address of a service as well as a folder


def headrace(*arguments: str, code: int = 0) -> Any:
    """What `headrace … --json` prints; its error on stderr where the exit code is not 0."""
    command = [sys.executable, "-m", "headrace", *arguments, "--json"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == code, ran.stderr
    return json.loads(ran.stderr if code else ran.stdout)


Path("weather.csv").write_text(
    "origin,observed_at,temp\n"
    "JFK,2013-01-01T10:51:00Z,3.9\n"
    "JFK,2013-01-01T11:51:00Z,4.2\n"
    "LGA,2013-01-01T10:51:00Z,4.4\n"
)
headrace("init", "lake")  # makes the folder a store
headrace("fg", "create", "weather", "--primary-key", "origin", "--event-time", "observed_at", "--ttl", "6h")
assert headrace("fg", "insert", "weather", "weather.csv")["rows_inserted"] == 3

assert headrace("fg", "show", "weather")["ttl"] == "6h"
newest = headrace("fg", "preview", "weather", "--latest")
assert sorted(row["temp"] for row in newest) == [4.2, 4.4]

# Exit codes: 2 usage, 3 not found, 4 auth, 5 bad data, 6 conflict, 7 busy, 8 unavailable.
assert headrace("fg", "show", "wether", code=3)["error"]["code"] == "NOT_FOUND"
Path("weather.csv").write_text("origin,observed_at,temp\n,2013-01-01T12:51:00Z,3.9\n")
assert headrace("fg", "insert", "weather", "weather.csv", code=5)["error"]["code"] == "NULL_KEYS"

headrace("fg", "delete", "weather@v1")
assert headrace("fg", "list") == []
