"""What there is to tell of how a table is stored."""

from __future__ import annotations

import msgspec

from headrace.model.struct import know


class TableDetail(msgspec.Struct, frozen=True, kw_only=True):
    """The files of a feature group's newest snapshot.

    Args:
        snapshot: its number; -1 where nothing was committed yet, or the table keeps none.
        rows: None where the table's log does not tell.
        files: how many there are.
        size_bytes: of all of them.
        files_compacted: how many there would be after `compact()`, about.
    """

    snapshot: int
    rows: int | None
    files: int
    size_bytes: int
    files_compacted: int

    def __repr__(self) -> str:
        told = {**msgspec.structs.asdict(self), "needs_compaction": self.needs_compaction}
        return f"TableDetail({', '.join(f'{name}={value!r}' for name, value in told.items())})"

    @property
    def needs_compaction(self) -> bool:
        """Whether most files are there only because rows came a few at a time."""
        return self.files - self.files_compacted >= _MANY_FILES and self.files >= 2 * self.files_compacted


_MANY_FILES = 16

know(TableDetail)
