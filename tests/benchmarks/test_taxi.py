"""Trips: made ones that look like those of the city, and those of the TLC's own files."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest

from benchmarks import data, taxi_data

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data, "DATA", tmp_path / "data")


def test_made_trips_look_like_real_ones() -> None:
    """Beside what the TLC publishes of 2023: medians of 1.8 miles and 12.8 dollars, four in five paid by card."""
    path = taxi_data.trips(50_000)
    (found,) = duckdb.sql(
        f"""SELECT count(DISTINCT trip_id), median(trip_distance), median(fare_amount), avg((payment_type = 1)::INT),
            avg((passenger_count IS NULL)::INT), min(tpep_dropoff_datetime - tpep_pickup_datetime) > INTERVAL 0 SECOND,
            min(pu_location_id), max(do_location_id),
            max(abs(total_amount - fare_amount - extra - mta_tax - tip_amount - tolls_amount - improvement_surcharge
                    - coalesce(congestion_surcharge, 2.5) - coalesce(airport_fee, 0))) < 2.6
        FROM read_parquet('{path}')"""
    ).fetchall()
    distinct, miles, fare, by_card, unknown, later, least, most, adds_up = found
    assert distinct == 50_000
    assert miles == pytest.approx(1.8, rel=0.1)
    assert fare == pytest.approx(12.8, rel=0.1)
    assert by_card == pytest.approx(0.78, abs=0.05)
    assert unknown == pytest.approx(0.04, abs=0.01)
    assert (later, adds_up, least >= 1, most <= 263) == (True, True, True, True)
    assert len(taxi_data.schema(path)) == 20


def test_they_are_the_same_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = pq.read_table(taxi_data.trips(3_000))
    monkeypatch.setattr(data, "DATA", tmp_path / "again")
    assert pq.read_table(taxi_data.trips(3_000)).equals(first)


def test_files_of_the_tlc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their names of columns, whose case has changed over the years."""
    source = taxi_data.trips(1_000)
    for month, fee in (("01", "airport_fee"), ("02", "Airport_fee")):
        duckdb.sql(
            f"""COPY (SELECT vendor_id::BIGINT AS "VendorID", tpep_pickup_datetime::TIMESTAMP AS tpep_pickup_datetime,
                tpep_dropoff_datetime::TIMESTAMP AS tpep_dropoff_datetime, passenger_count::DOUBLE AS passenger_count,
                trip_distance, ratecode_id::DOUBLE AS "RatecodeID", store_and_fwd_flag, pu_location_id AS "PULocationID",
                do_location_id AS "DOLocationID", payment_type, fare_amount, extra, mta_tax, tip_amount, tolls_amount,
                improvement_surcharge, total_amount, congestion_surcharge, airport_fee AS "{fee}"
            FROM read_parquet('{source}') ORDER BY trip_id) TO '{tmp_path}/yellow_tripdata_2023-{month}.parquet'"""
        )
    monkeypatch.setenv(taxi_data.FILES, str(tmp_path))
    found = pq.read_table(taxi_data.trips(1_500))
    made = pq.read_table(source)
    assert found.num_rows == 1_500
    assert found.schema.names == made.schema.names
    assert found["trip_id"].to_pylist() == list(range(1_500))
    for name in ("passenger_count", "fare_amount", "airport_fee", "pu_location_id"):
        assert found[name].to_pylist() == (made[name].to_pylist() * 2)[:1_500]
    with pytest.raises(ValueError, match="2,000 trips in 2 files: 3,000 are asked for"):
        taxi_data.trips(3_000)
