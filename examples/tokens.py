"""Tokens: by which users of a service say who they are, where they have no certificate."""

import json
import subprocess
import sys

import headrace as hr

# Whoever opens the store itself may do everything, and so grants rights, and makes tokens for everybody.
with hr.connect("./lake") as fs:
    fs.create_feature_group("planes", primary_key=["tailnum"]).insert([{"tailnum": "N14228", "seats": 149}])
    fs.grants.add("anna", "reader")
    annas: hr.NewToken = fs.tokens.create("anna", description="notebook")
    print(annas)  # its text, `hr_…`, is shown by nothing else, now or later

# On this machine without TLS; to others a service that takes tokens listens at grpc+tls:// alone.
command = [sys.executable, "-m", "headrace", "serve", "--root", "./lake", "--json"]
command += ["--tokens", "--listen", "grpc://127.0.0.1:0"]
service = subprocess.Popen(command, stdout=subprocess.PIPE)
try:
    assert service.stdout is not None
    (url,) = json.loads(service.stdout.readline())["listening"]

    with hr.connect(url, token=annas.text) as fs:
        print(fs.get_feature_group("planes").read().to_polars())
        other = fs.tokens.create(expires="8h", description="batch job")  # users make their own
        kept: list[hr.Token] = fs.tokens.list()
        print([(token.id, token.description, token.expires) for token in kept])

        fs.tokens.revoke(other.id)  # from the next call on
        try:
            hr.connect(url, token=other.text)
        except hr.Unauthenticated as error:
            print(error)

    try:
        hr.connect(url)
    except hr.Unauthenticated as error:
        print(error)
finally:
    service.terminate()
    service.wait()
