"""The same API over Arrow Flight: `headrace serve`, then connect to its address instead of the folder."""

import json
import subprocess
import sys
from pathlib import Path

import headrace as hr

# Port 0 takes a free one. Several --listen are served at once; a Unix socket stays on this machine.
command = [sys.executable, "-m", "headrace", "serve", "--root", "./lake", "--json"]
command += ["--listen", "grpc://127.0.0.1:0", "--listen", f"grpc+unix://{Path.cwd()}/headrace.sock"]
service = subprocess.Popen(command, stdout=subprocess.PIPE)
try:
    assert service.stdout is not None
    tcp, unix = json.loads(service.stdout.readline())["listening"]

    with hr.connect(tcp, project="flights", timeout=30) as fs:
        planes = fs.create_feature_group("planes", primary_key=["tailnum"])
        planes.insert([{"tailnum": "N14228", "seats": 149}])
        print("a service of headrace", fs.service_version)
        for query in fs.queries.list():  # what it does now; fs.queries.cancel(query.id) stops one
            print(query.kind, query.state, query.seconds)

    # Without a block, close it yourself.
    store: hr.FeatureStore = hr.connect(unix, project="flights")
    planes = store.get_feature_group("planes")
    assert planes.read().to_arrow().to_pylist() == [{"tailnum": "N14228", "seats": 149}]
    try:  # the same errors, too
        planes.insert([{"tailnum": None, "seats": 0}])
    except hr.NullKeys as error:
        print(error.code, error.request_id)
    store.close()
finally:
    service.terminate()
    service.wait()

# Nobody answers now.
try:
    hr.connect(tcp, timeout=5)
except hr.Unavailable as error:
    print(error, "- worth another try" if error.retryable else "")

# A project is a name space of its own; the folder can also be opened without a service.
with hr.connect("./lake", project="flights") as fs:
    assert [group.name for group in fs.list_feature_groups()] == ["planes"]
with hr.connect("./lake", project="other") as fs:
    assert fs.list_feature_groups() == []
