"""What the `deltalake` wheel raises, as errors of ours."""

from __future__ import annotations

import re

from deltalake.exceptions import CommitFailedError, DeltaError

from headrace.errors import BadData, Conflict, CorruptTable, HeadraceError
from headrace.storage.failure import failure as storage_failure
from headrace.storage.failure import plain
from headrace.storage.folder import Folder

# The wheel keeps what the system said in its text alone; the number in it is the system's own.
_SYSTEM_ERROR = re.compile(r"\(os error (?P<number>[0-9]+)\)")
# A condition or a formula of the table that the wheel has looked at each row for.
_UNFULFILLED = "failed validation check"


def translate(error: Exception, table: Folder) -> HeadraceError:
    if isinstance(error, HeadraceError):
        return error
    trouble = table.files.trouble()
    if trouble is not None:
        return trouble
    uri = table.shown
    told = plain(error)
    system = _SYSTEM_ERROR.search(told)
    if system:
        return storage_failure(uri, told, int(system["number"]))
    if isinstance(error, OSError):
        return storage_failure(uri, error.strerror or told, error.errno)
    if isinstance(error, CommitFailedError):
        return Conflict(f"the commit to {uri} was refused: {told}", hint="try again")
    if _UNFULFILLED in told:
        return BadData(f"rows do not fulfil a condition of {uri}: {told}")
    return CorruptTable(f"the log of {uri} cannot be used: {told}")


class translated:  # noqa: N801
    """Turns the errors of the wheel into ours. Cheap, for it is around every look at a log."""

    def __init__(self, table: Folder) -> None:
        self._table = table

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, DeltaError | OSError):
            raise translate(error, self._table) from error
