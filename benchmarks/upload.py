"""Rows of a pandas frame as messages of Kafka: one of Avro for each row, or for so many."""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.checksum import Checksum, checksum
from benchmarks.runner import Stage, Staged

if TYPE_CHECKING:
    import pandas as pd

PARTITIONS = 2
_TYPES: dict[pa.DataType, object] = {
    pa.int64(): "long",
    pa.int32(): "int",
    pa.float64(): "double",
    pa.string(): "string",
    pa.date32(): {"type": "int", "logicalType": "date"},
}
_SECONDS = 60.0
_ROWS_AT_ONCE = 10_000


@dataclasses.dataclass(frozen=True)
class Topic:
    """Messages of rows.

    Args:
        address: of the broker.
        rows: of each message.
        path: of a Parquet file with the rows.
    """

    address: str
    name: str
    rows: int
    path: Path

    @property
    def schema(self) -> dict[str, Any]:
        """Avro's of a message."""
        fields = [{"name": field.name, "type": _TYPES[field.type]} for field in pq.read_schema(self.path)]
        row = {"type": "record", "name": "row", "fields": fields}
        return row if self.rows == 1 else {"type": "array", "items": row}

    def create(self) -> None:
        from confluent_kafka.admin import NewTopic

        admin = self._admin()  # held, for its answers end with it
        admin.create_topics([NewTopic(self.name, PARTITIONS, 1)])[self.name].result(_SECONDS)

    def fill(self) -> None:
        self.create()
        self.send(pq.read_table(self.path).to_pandas())

    def drop(self) -> None:
        admin = self._admin()
        admin.delete_topics([self.name])[self.name].result(_SECONDS)

    def _admin(self) -> Any:
        from confluent_kafka.admin import AdminClient

        return AdminClient({"bootstrap.servers": self.address, "log_level": 3})

    def send(self, frame: pd.DataFrame) -> None:
        """All rows of a frame, until the broker has them."""
        from confluent_kafka import Producer
        from fastavro import parse_schema, schemaless_writer

        producer = Producer({"bootstrap.servers": self.address, "queue.buffering.max.messages": 1_000_000})
        refused: list[object] = []

        def delivered(error: object, _: object) -> None:
            if error is not None:
                refused.append(error)

        schema = parse_schema(self.schema)
        for message in self._messages(frame):
            out = io.BytesIO()
            schemaless_writer(out, schema, message)
            while True:
                try:
                    producer.produce(self.name, out.getvalue(), on_delivery=delivered)
                    break
                except BufferError:
                    producer.poll(0.1)
            producer.poll(0)
        waiting = producer.flush(_SECONDS)
        if refused:
            raise RuntimeError(f"the broker refused {len(refused)} messages, the first: {refused[0]}")
        if waiting:
            raise RuntimeError(f"after {_SECONDS:g} s the broker had not taken {waiting} messages")

    def _messages(self, frame: pd.DataFrame) -> Iterator[Any]:
        if self.rows == 1:
            yield from (row._asdict() for row in frame.itertuples(index=False))
        else:
            for begin in range(0, len(frame), self.rows):
                yield frame.iloc[begin : begin + self.rows].to_dict("records")

    def received(self) -> Checksum:
        """Of all that is there."""
        return checksum(pa.RecordBatchReader.from_batches(pq.read_schema(self.path), self._batches()))

    def _batches(self) -> Iterator[pa.RecordBatch]:
        from confluent_kafka import Consumer, TopicPartition
        from fastavro import parse_schema, schemaless_reader

        schema, arrow = parse_schema(self.schema), pq.read_schema(self.path)
        consumer = Consumer({"bootstrap.servers": self.address, "group.id": self.name})
        try:
            ends = [
                consumer.get_watermark_offsets(TopicPartition(self.name, number))[1]
                for number in range(PARTITIONS)
            ]
            consumer.assign([TopicPartition(self.name, number, 0) for number in range(PARTITIONS)])
            left, rows = sum(ends), list[Any]()
            while left:
                message = consumer.poll(_SECONDS)
                if message is None or message.error():
                    raise RuntimeError(f"the broker lacks {left} messages of {self.name}")
                found = schemaless_reader(io.BytesIO(message.value()), schema, None)
                rows.extend(found if self.rows > 1 else [found])
                left -= 1
                if len(rows) >= _ROWS_AT_ONCE or not left:
                    yield pa.RecordBatch.from_pylist(rows, arrow)
                    rows.clear()
        finally:
            consumer.close()


@dataclasses.dataclass(frozen=True)
class Upload:
    """A frame in memory sent to a new topic. What the broker has then is read back, untimed."""

    topic: Topic

    @contextmanager
    def opened(self) -> Iterator[Staged]:
        frame = pq.read_table(self.topic.path).to_pandas()
        yield Staged(lambda number: self._stage(frame, number))

    @contextmanager
    def _stage(self, frame: pd.DataFrame, number: int) -> Iterator[Stage]:
        topic = dataclasses.replace(self.topic, name=f"{self.topic.name}-{number}")
        topic.create()
        try:
            yield Stage(lambda: topic.send(frame), lambda _: topic.received())
        finally:
            topic.drop()
