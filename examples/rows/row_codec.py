"""Rows of Python as bytes, in place of pickle: they come back as they were, and any reader of Arrow takes them."""

import dataclasses
import datetime as dt
import decimal
import pickle

import pyarrow as pa

from headrace import rowcodec
from headrace.errors import Unsupported


@dataclasses.dataclass
class Flight:
    id: int
    origin: str
    leaves: dt.datetime
    fare: decimal.Decimal
    stops: list[str]


noon = dt.datetime(2013, 1, 1, 12, tzinfo=dt.UTC)
flights = [Flight(n, ["JFK", "LGA"][n % 2], noon, decimal.Decimal(f"{n}.50"), ["BOS"]) for n in range(1000)]

data = rowcodec.dumps(flights)
assert rowcodec.loads(data) == flights
print(f"{len(flights)} rows are {len(data)} bytes, and {len(pickle.dumps(flights))} pickled")

# The same bytes are Arrow.
table = pa.ipc.open_stream(data).read_all()
print(table.num_rows, "rows of", table.schema.names)

# Rows that come one by one; those that do not fit keep their place.
with open("rows.arrows", "wb") as file, rowcodec.Encoder(file) as encoder:
    for row in ((1, "a"), (2, "b"), "neither", (3, None)):
        encoder.append(row)
with open("rows.arrows", "rb") as file:
    print(rowcodec.loads(file.read()))

# Nothing is unpickled unless it is asked for: here a set, for which Arrow has no type.
pickled = rowcodec.dumps([({1, 2},)])
try:
    rowcodec.loads(pickled)
except Unsupported as error:
    print(error.message)
print(rowcodec.loads(pickled, allow_pickle=True))
try:
    rowcodec.dumps([({1, 2},)], allow_pickle=False)
except Unsupported as error:
    print(error.message)

# Batches are made of rows, and rows of batches, without a copy of what the batches hold.
for batch in rowcodec.to_batches(flights[:10]):
    assert rowcodec.from_batch(batch) == flights[:10]
print(rowcodec.stats()["rows_written"], "rows written")
