"""What the `deltalake` wheel raises, as errors of ours."""

from __future__ import annotations

from deltalake.exceptions import CommitFailedError, DeltaError

from headrace.errors import BadData, Conflict, CorruptTable, HeadraceError, Unavailable
from headrace.storage.failure import plain, refusal, told
from headrace.storage.folder import Folder

# A condition or a formula of the table that the wheel has looked at each row for.
_UNFULFILLED = "failed validation check"


def translate(error: Exception, table: Folder, *, is_readable: bool = False) -> HeadraceError:
    """`is_readable`: the log was read since, so that it is not what failed."""
    if isinstance(error, HeadraceError):
        return error
    uri = table.shown
    failed = told(table.files.trouble(), refusal(uri, error))
    if failed is not None:
        return failed
    said = plain(error)
    if isinstance(error, CommitFailedError):
        return Conflict(f"the commit to {uri} was refused: {said}", hint="try again")
    if _UNFULFILLED in said:
        return BadData(f"rows do not fulfil a condition of {uri}: {said}")
    if is_readable and not table.files.is_local:
        return Unavailable(f"the storage of {uri} failed: {said}", hint="try again")
    return CorruptTable(f"the log of {uri} cannot be used: {said}")


class translated:  # noqa: N801
    """Turns the errors of the wheel into ours. Cheap, for it is around every look at a log."""

    def __init__(self, table: Folder) -> None:
        self._table = table

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, DeltaError | OSError):
            raise translate(error, self._table) from error
