"""Many small writes leave many small files: compact them, and remove what only old snapshots need."""

import headrace as hr

with hr.connect("./lake", project="upkeep") as fs:
    clicks = fs.create_feature_group("clicks", primary_key=["user"])
    for user in range(20):
        clicks.insert([{"user": user, "clicks": user % 3}], mode="append")
    print(clicks.select().explain())  # 20 of 20 files
    told: hr.TableDetail = clicks.detail()
    print(f"{told.files} files, {told.size_bytes} bytes, of {told.rows} rows at snapshot {told.snapshot}")
    assert told.needs_compaction
    assert told.files_compacted == 1

    commit = clicks.compact()
    print(commit.operation, "made snapshot", commit.snapshot)
    assert "(1 of 1 files)" in clicks.select().explain()
    assert clicks.compact().operation == "NONE"  # nothing is left to do

    assert clicks.vacuum() == []  # the small files are of snapshots that are younger than a week
    gone = clicks.vacuum(retention_hours=0, dry_run=False)
    print(len(gone), "files removed")
    assert len(gone) == 20
    assert clicks.read().to_arrow().num_rows == 20
    try:
        clicks.read(snapshot=5)
    except hr.SnapshotNotFound as error:
        print(error)
