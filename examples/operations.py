"""Watch a service, read what it wrote down of its callers, back it up and stop it. Needs `headrace[metrics]`."""

import json
import shutil
import sqlite3
import subprocess
import sys
import urllib.request
from contextlib import closing
from pathlib import Path

import headrace as hr

command = [sys.executable, "-m", "headrace", "serve", "--root", "./lake", "--json"]
command += ["--listen", "grpc://127.0.0.1:0", "--http", "http://127.0.0.1:0"]
command += ["--audit-log", "audit.jsonl", "--drain-seconds", "10"]
service = subprocess.Popen(command, stdout=subprocess.PIPE)
assert service.stdout is not None
told = json.loads(service.stdout.readline())

with hr.connect(told["listening"][0]) as fs:
    planes = fs.create_feature_group("planes", primary_key=["tailnum"])
    planes.insert([{"tailnum": "N14228", "seats": 149}, {"tailnum": "N24211", "seats": 149}])
    assert planes.filter(planes["tailnum"] == "N14228").read().to_arrow().num_rows == 1
    print("ready" if fs.health().ready else fs.health().problems)

# What a balancer asks, and what Prometheus takes.
with urllib.request.urlopen(f"{told['http']}/ready") as answer:
    assert answer.status == 200
with urllib.request.urlopen(f"{told['http']}/metrics") as answer:
    print(
        *(line for line in answer.read().decode().splitlines() if line.startswith("headrace_rows")), sep="\n"
    )

# A line for each call: who, what, how much, with which end; no values.
for line in map(json.loads, Path("audit.jsonl").read_text().splitlines()):
    print(line["call"], line["feature_groups"], line["rows"], line["outcome"])

# A backup while it runs: the registry first, then the logs of the tables, then their files.
Path("backup/.headrace").mkdir(parents=True)
with (
    closing(sqlite3.connect("lake/.headrace/registry.db")) as registry,
    closing(sqlite3.connect("backup/.headrace/registry.db")) as copy,
):
    registry.backup(copy)
for mark in Path("lake/.headrace").glob("store-*.json"):
    shutil.copy(mark, "backup/.headrace")
logs = sorted(Path("lake").glob("*/*/_delta_log"))
for folder in (*logs, *(log.parent for log in logs)):
    shutil.copytree(folder, "backup" / folder.relative_to("lake"), dirs_exist_ok=True)

service.terminate()  # no new queries; those under way have ten seconds
assert service.wait() == 0

with hr.connect("./backup") as fs:
    assert fs.get_feature_group("planes").read().to_arrow().num_rows == 2
