"""A copy that follows a feature group by its change feed."""

import datetime as dt

import headrace as hr

day = dt.datetime(2026, 3, 1, tzinfo=dt.UTC)

with hr.connect("./lake", project="shop") as fs:
    stock = fs.create_feature_group("stock", primary_key=["item"], event_time="counted")
    stock.insert([{"item": name, "counted": day, "pieces": 10} for name in ("bolt", "nut", "screw")])
    stock.insert(
        [{"item": "nut", "counted": day, "pieces": 7}, {"item": "washer", "counted": day, "pieces": 3}]
    )
    stock.delete(keys=[{"item": "bolt"}])

    copy: dict[str, int] = {}
    seen = -1  # before the first commit
    feed = stock.changes(seen)
    for batch in feed.to_reader():  # in the order of the commits
        for change in batch.to_pylist():
            print(change["_commit_version"], change["_change_type"], change["item"], change["pieces"])
            if change["_change_type"] in ("insert", "update_postimage"):
                copy[change["item"]] = change["pieces"]
            else:
                del copy[change["item"]]
    seen = feed.snapshots["stock@v1"]
    assert copy == {"nut": 7, "screw": 10, "washer": 3}

    # Later: only what was committed since.
    stock.insert([{"item": "nut", "counted": day, "pieces": 6}])
    news = stock.changes(seen, columns=["pieces"]).to_polars()
    assert news["_change_type"].to_list() == ["update_preimage", "update_postimage"]
    assert news["pieces"].to_list() == [7, 6]
