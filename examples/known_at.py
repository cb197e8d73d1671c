"""What was recorded when: corrections that arrived late, and training data without them."""

import datetime as dt

import headrace as hr


def day(number: int) -> dt.datetime:
    return dt.datetime(2013, 1, number, tzinfo=dt.UTC)


with hr.connect("./lake", project="sales") as fs:
    orders = fs.create_feature_group("orders", primary_key=["order_id"], event_time="ordered_at")
    orders.insert([{"order_id": n, "ordered_at": day(n), "customer": "a", "paid": n > 5} for n in (4, 8)])

    # created_time says when a row was recorded; it is filled at insert where a frame lacks it.
    scores = fs.create_feature_group(
        "scores", primary_key=["customer"], event_time="valid_from", created_time="recorded_at"
    )
    scores.insert(
        [
            {"customer": "a", "valid_from": day(1), "score": 10, "recorded_at": day(1)},
            {"customer": "a", "valid_from": day(1), "score": 99, "recorded_at": day(6)},  # a correction
        ],
        mode="append",  # keeps both; upsert would replace the first
    )
    query = orders.select("order_id", "paid").join(scores, on="customer")
    view = fs.create_feature_view("payment", query, labels=["paid"])

    def found(**options: str | dt.datetime) -> dict[int, int]:
        rows = view.training_data(**options).to_arrow().to_pylist()
        return {row["order_id"]: row["score"] for row in rows}

    assert found() == {4: 99, 8: 99}  # the newest record wins, also where it came too late
    assert found(known_at="event_time") == {4: 10, 8: 99}  # each row sees what was recorded by its own time
    assert found(known_at=day(5)) == {4: 10, 8: 10}  # all rows see what was recorded by then
