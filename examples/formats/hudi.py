"""A Hudi table that Spark writes, as a feature group: read where it is, joined with a group of ours, followed."""

import sys

import headrace as hr

theirs = sys.argv[1]  # its folder, as an absolute path or a URI

with hr.connect("./lake", project="hudi") as fs:
    names = fs.register_feature_group("names", theirs, format="hudi", primary_key=["id"])
    for commit in names.history():
        print(commit.snapshot, commit.timestamp, commit.operation, commit.rows_inserted)

    visits = fs.create_feature_group("visits", primary_key=["visit"])
    visits.insert([{"visit": 1, "id": 3}, {"visit": 2, "id": 39}, {"visit": 3, "id": 99}])
    query = visits.select("visit", "id").join(names.select("name", "p"), on="id")
    print(query.read().to_pandas())
    print(names.read(filter=names["p"] == "1").explain())  # files of other partitions are not read

    first = names.history()[-1]
    then = names.read(snapshot=first.snapshot).to_arrow()
    feed = names.changes(since=first.snapshot)
    print(
        then.num_rows, "rows at first; since then", feed.to_arrow()["_change_type"].value_counts().to_pylist()
    )
