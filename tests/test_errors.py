"""What the docs tell of errors."""

from __future__ import annotations

import re
from pathlib import Path

from headrace.errors import HeadraceError, error_types

_ROW = re.compile(r"^\| `(\w+)` \| `(\w+)`, `(\w+)` \| .+ \| (\d+) \| (yes)? *\|$", re.MULTILINE)


def test_the_docs_have_every_error():
    told = _ROW.findall((Path(__file__).parent.parent / "docs" / "errors.md").read_text())
    kinds = [kind for kind in error_types() if kind is not HeadraceError]
    there = {
        (k.code, k.__name__, k.__bases__[0].__name__, str(k.exit_code), "yes" if k.retryable else "")
        for k in kinds
    }
    assert set(told) == there
    assert len(told) == len(kinds)
