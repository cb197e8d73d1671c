"""The columns of a change feed, beside those of its table. Names and words are Delta's.

Source: https://github.com/delta-io/delta/blob/master/PROTOCOL.md#change-data-files.
"""

from __future__ import annotations

import pyarrow as pa

from headrace.model.types import TIMESTAMP

CHANGE_TYPE = "_change_type"
"""`insert`, `delete`, `update_preimage` or `update_postimage`."""

COMMIT_VERSION = "_commit_version"
COMMIT_TIMESTAMP = "_commit_timestamp"

FEED_FIELDS = (
    pa.field(CHANGE_TYPE, pa.string()),
    pa.field(COMMIT_VERSION, pa.int64()),
    pa.field(COMMIT_TIMESTAMP, TIMESTAMP),
)
