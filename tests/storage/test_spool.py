"""Spools: in memory while there is room, for each and for all of a store, then in files."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from headrace.errors import HeadraceError
from headrace.storage.spool import Room, Spool
from headrace.storage.workspace import Workspace

BATCH = pa.record_batch({"n": pa.array(range(131_072), pa.int64())})  # 1 MiB
MIB = 1 << 20


@pytest.fixture
def work(tmp_path):
    opened = Workspace(tmp_path)
    yield opened
    opened.close()


def files(work: Workspace) -> list[Path]:
    return list(work.spill.parent.glob("*.arrow"))


def filled(spool: Spool, batches: int) -> Spool:
    for _ in range(batches):
        spool.add(BATCH)
    return spool


def test_spools_of_a_store_share_its_memory(work):
    """24 senders of 58 MiB each: four are in memory, as the file of the fifth leaves no more to the others."""
    spools = [filled(work.spool(), 58) for _ in range(24)]
    assert len(files(work)) == 20
    for spool in spools:
        table = spool.table(BATCH.schema)
        assert table.equals(pa.Table.from_batches([BATCH] * 58))
        spool.close()
    assert files(work) == []
    again = [filled(work.spool(), 64) for _ in range(4)]
    assert files(work) == []
    for spool in again:
        spool.close()


def test_a_spool_that_is_large_for_itself_goes_to_a_file_and_leaves_its_room(work):
    large = filled(work.spool(), 65)
    assert len(files(work)) == 1
    others = [filled(work.spool(), 64) for _ in range(4)]
    assert len(files(work)) == 1
    for spool in (large, *others):
        spool.close()


def test_rows_are_the_same_whenever_room_ran_out(tmp_path):
    for held in range(4):
        room = Room(held * MIB)
        spool = filled(Spool(tmp_path / "rows.arrow", room), 3)
        assert (tmp_path / "rows.arrow").exists() == (held < 3)
        assert spool.table(BATCH.schema).equals(pa.Table.from_batches([BATCH] * 3))
        spool.close()
        spool.close()
        assert not room.take(held * MIB + 1)
        assert room.take(held * MIB)


def test_a_spool_that_cannot_be_written_leaves_its_room(tmp_path):
    room = Room(2 * MIB)
    spool = filled(Spool(tmp_path / "missing" / "rows.arrow", room), 2)
    with pytest.raises(HeadraceError):
        spool.add(BATCH)
    spool.close()
    assert room.take(2 * MIB)


def test_batches_of_few_rows_take_more_than_their_values(tmp_path):
    spool = Spool(tmp_path / "rows.arrow", Room(10 << 10))
    for count in range(1, 12):
        spool.add(BATCH.slice(0, 1))
        assert (tmp_path / "rows.arrow").exists() == (count > 10)
    assert spool.table(BATCH.schema).num_rows == 11
    spool.close()
