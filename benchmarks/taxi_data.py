"""Trips of New York's yellow taxis: made ones, or those that the TLC publishes, where there are files of them.

Source: the data dictionary of TLC's yellow trip records. A key is set before its 19 columns: lakehouse tables need
one.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks import data

FILES = "HEADRACE_TAXI_FILES"
"""Environment variable: a folder with `yellow_tripdata_*.parquet`, whose trips are taken in place of made ones."""
KEY, TIME = "trip_id", "tpep_pickup_datetime"
_COLUMNS = {
    "trip_id": "BIGINT",
    "vendor_id": "INTEGER",
    "tpep_pickup_datetime": "TIMESTAMPTZ",
    "tpep_dropoff_datetime": "TIMESTAMPTZ",
    "passenger_count": "BIGINT",
    "trip_distance": "DOUBLE",
    "ratecode_id": "BIGINT",
    "store_and_fwd_flag": "VARCHAR",
    "pu_location_id": "INTEGER",
    "do_location_id": "INTEGER",
    "payment_type": "BIGINT",
    "fare_amount": "DOUBLE",
    "extra": "DOUBLE",
    "mta_tax": "DOUBLE",
    "tip_amount": "DOUBLE",
    "tolls_amount": "DOUBLE",
    "improvement_surcharge": "DOUBLE",
    "total_amount": "DOUBLE",
    "congestion_surcharge": "DOUBLE",
    "airport_fee": "DOUBLE",
}
_PUBLISHED = {
    "vendor_id": "VendorID",
    "ratecode_id": "RatecodeID",
    "pu_location_id": "PULocationID",
    "do_location_id": "DOLocationID",
}
"""Where the TLC names a column otherwise, but for case, which it changes from year to year."""
_SEED = 2023
_DAYS = 181
_ZONES = 263
_PASSENGERS = ((0.735, 1), (0.15, 2), (0.037, 3), (0.025, 4), (0.021, 5), (0.015, 6))
"""How often a trip has so many; else none are told."""
_AIRPORTS = "132, 138"
_HOURS = (33, 23, 16, 11, 7, 6, 14, 28, 38, 44, 48, 52, 56, 58, 62, 64, 65, 70, 73, 66, 59, 57, 52, 41)
"""How many of about a thousand trips begin in each hour of the day."""


def trips(rows: int) -> Path:
    """A Parquet file of so many.

    Raises:
        ValueError: the TLC's files hold fewer.
    """
    folder = os.environ.get(FILES)
    if folder is None:
        return data.generated(f"taxi-{rows}", _made(rows))
    files = sorted(Path(folder).glob("yellow_tripdata_*.parquet"))
    there = sum(pq.read_metadata(file).num_rows for file in files)
    if there < rows:
        raise ValueError(f"{folder} has {there:,} trips in {len(files)} files: {rows:,} are asked for")
    told = hashlib.sha256("".join(f"{file} {file.stat().st_mtime_ns}\n" for file in files).encode())
    return data.generated(f"taxi-tlc-{rows}-{told.hexdigest()[:12]}", _published(files, rows))


def schema(path: Path) -> pa.Schema:
    return pq.read_schema(path).remove_metadata()


def _published(files: list[Path], rows: int) -> str:
    names = [name for name in _COLUMNS if name != KEY]
    columns = ", ".join(f"CAST({_PUBLISHED.get(name, name)} AS {_COLUMNS[name]}) AS {name}" for name in names)
    paths = ", ".join(map(data.quoted, files))
    source = f"read_parquet([{paths}], union_by_name=true, file_row_number=true, filename=true)"
    order = f"row_number() OVER (ORDER BY filename, file_row_number) - 1 AS {KEY}"
    return f"SELECT {order}, {columns} FROM {source} QUALIFY {KEY} < {rows} ORDER BY {KEY}"


def _made(rows: int) -> str:
    """Distances and speeds are log-normal, places few and popular; what it costs follows the city's rates."""
    hours = [hour for hour, share in enumerate(_HOURS) for _ in range(share)]

    def chance(number: int) -> str:
        """Evenly between 0 and 1, another one for each number."""
        return f"((hash(i * 64 + {number}, {_SEED}) % 1000000007) / 1000000007.0)"

    def normal(number: int) -> str:
        return f"sqrt(-2 * ln(1 - {chance(number)})) * cos(2 * pi() * {chance(number + 1)})"

    def zone(number: int) -> str:
        return f"(floor({_ZONES} * {chance(number)} ^ 2.5)::INTEGER * 97 % {_ZONES} + 1)"

    def picked(number: int, *choices: tuple[float, object], last: object) -> str:
        cases, bound = "", 0.0
        for share, value in choices:
            bound += share
            cases += f"WHEN {chance(number)} < {bound} THEN {value} "
        return f"CASE {cases}ELSE {last} END"

    return f"""
WITH drawn AS (
  SELECT i, {chance(0)} < 0.04 AS is_flex, {hours}[1 + floor({chance(1)} * {len(hours)})::INTEGER] AS hour,
         floor({chance(2)} * {_DAYS})::INTEGER AS day, {zone(3)} AS pu, {zone(4)} AS down,
         round(least(exp(0.6 + 0.85 * {normal(5)}), 90), 2) AS miles, exp(2.4 + 0.3 * {normal(7)}) AS mph,
         {picked(9, (0.78, 1), (0.185, 2), (0.02, 4), last=3)} AS payment
  FROM range({rows}) t(i)
), placed AS (
  SELECT *, (60 + miles / mph * 3600 * IF(hour BETWEEN 8 AND 18, 1.25, 0.9))::BIGINT AS seconds,
         {picked(10, (0.945, 1), (0.035, 2), (0.012, 5), (0.005, 3), last=4)} AS rate,
         TIMESTAMPTZ '2023-01-01 00:00:00+00'
           + to_seconds(day * 86400 + hour * 3600 + floor({chance(11)} * 3600)::BIGINT) AS begun
  FROM drawn
), priced AS (
  SELECT *, CASE WHEN rate = 2 THEN 70.0
            ELSE round(3 + 2.8 * miles + 0.35 * seconds / 60, 1) END::DOUBLE AS fare,
         CASE WHEN hour BETWEEN 16 AND 19 THEN 2.5 WHEN hour >= 20 OR hour < 6 THEN 1.0 ELSE 0.0 END::DOUBLE AS extra,
         IF(miles > 9 AND {chance(12)} < 0.55, 6.94, 0.0)::DOUBLE AS tolls,
         IF({chance(13)} < 0.91, 2.5, 0.0)::DOUBLE AS congestion,
         IF(pu IN ({_AIRPORTS}), 1.75, 0.0)::DOUBLE AS airport
  FROM placed
), tipped AS (
  SELECT *, IF(payment = 1, round(fare * (0.05 + 0.3 * {chance(14)}), 2), 0.0)::DOUBLE AS tip FROM priced
)
SELECT i AS trip_id, ({picked(15, (0.27, 1), last=2)})::INTEGER AS vendor_id, begun AS tpep_pickup_datetime,
       begun + to_seconds(seconds) AS tpep_dropoff_datetime,
       IF(is_flex, NULL, {picked(16, *_PASSENGERS, last=0)})::BIGINT AS passenger_count,
       miles AS trip_distance, IF(is_flex, NULL, rate)::BIGINT AS ratecode_id,
       IF(is_flex, NULL, {picked(17, (0.993, "'N'"), last="'Y'")}) AS store_and_fwd_flag,
       pu::INTEGER AS pu_location_id, down::INTEGER AS do_location_id, IF(is_flex, 0, payment)::BIGINT AS payment_type,
       fare AS fare_amount, extra, 0.5::DOUBLE AS mta_tax, tip AS tip_amount, tolls AS tolls_amount,
       1.0::DOUBLE AS improvement_surcharge,
       round(fare + extra + 0.5 + tip + tolls + 1.0 + congestion + airport, 2) AS total_amount,
       IF(is_flex, NULL, congestion) AS congestion_surcharge, IF(is_flex, NULL, airport) AS airport_fee
FROM tipped
"""
