"""Files elsewhere, as DuckDB reads them."""

from __future__ import annotations

import contextlib
import io
import random
from concurrent.futures import ThreadPoolExecutor

from headrace.engine.lake import _LakeFile
from headrace.storage.remote_file import RemoteFile

CONTENT = random.Random(1).randbytes(1 << 20)


def test_each_thread_has_its_place() -> None:
    with ThreadPoolExecutor(4) as threads, ThreadPoolExecutor(8) as readers:
        of = RemoteFile("f", lambda: io.BytesIO(CONTENT), contextlib.nullcontext, lambda: None, threads)
        file = _LakeFile(of, "f")

        def read(number: int) -> bool:
            chance = random.Random(number)
            for _ in range(200):
                start = chance.randint(0, len(CONTENT))
                file.seek(start)
                if file.read(100) != CONTENT[start : start + 100]:
                    return False
                if file.tell() != min(start + 100, len(CONTENT)):
                    return False
            return True

        assert all(readers.map(read, range(8)))
