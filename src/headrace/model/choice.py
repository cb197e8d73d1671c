"""Words of which one is chosen; apart from what they are said of, so that the command line knows them at once."""

from __future__ import annotations

from typing import Literal

EventTimeUnit = Literal["s", "ms", "us", "ns"]
GroupFormat = Literal["delta", "hudi"]
