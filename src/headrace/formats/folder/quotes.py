"""Whether quotes in CSV files are closed before the next field or row begins.

Arrow reads on to the next quote, and reads that, wherever it stands, as the end of the text: rows between become part
of it.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable

import pyarrow as pa

from headrace.errors import BadData

_BLOCK_BYTES = 8 << 20
_QUOTED = r"""
    "(?<=[{0}\r\n]")                             # elsewhere in a field a quote is a character
    (?:
        [^"]*(?:""[^"]*)*"(?=[{0}\r\n])          # closed, a quote in it doubled
        |[^"\r\n]*(?:""[^"\r\n]*)*"(?=[^"])   # more follows, but no row is swallowed
        |()                                    # not closed
    )
    """


def is_broken(column: pa.Array) -> bool:
    """True if a text of a column has more than one line."""
    buffer = column.buffers()[2]
    texts = b"" if buffer is None else buffer.to_pybytes()
    return b"\n" in texts or b"\r" in texts


def check_quotes(path: str, opened: Callable[[], pa.NativeFile], separator: str = ",") -> None:
    """Check a file, which takes a pass of its own: so it is for files with texts of several lines, and for errors.

    Raises:
        BadData: a quote is not closed.
    """
    quoted = re.compile(_QUOTED.replace("{0}", re.escape(separator)).encode(), re.VERBOSE)

    def sound(data: bytes) -> int:
        """Where the first quote is that is not closed in data, of which the first byte is the one before."""
        return next((m.start() for m in quoted.finditer(data, 1) if m.lastindex), len(data))

    line = 1
    with opened() as file:
        rest = b"\n" + file.read(len(codecs.BOM_UTF8)).removeprefix(codecs.BOM_UTF8)
        while block := file.read(_BLOCK_BYTES):
            rest += block
            end = sound(rest)
            line += _lines(rest[1:end])
            rest = rest[end - 1 :]
            if len(rest) > 3 * _BLOCK_BYTES:  # which is more than Arrow reads as a row
                break
        else:
            rest += b"\n"
    end = sound(rest)
    if end < len(rest):
        line += _lines(rest[1:end])
        raise BadData(
            f"{path}, line {line}: a quote is not closed before the next field or row begins",
            hint="a text that begins with a quote ends with one, and a quote in it is doubled",
            details={"file": path, "line": line},
        )


def _lines(data: bytes) -> int:
    """The number of line ends, of whichever kind."""
    return max(data.count(b"\n"), data.count(b"\r"))
