"""Runs statements in Spark, for a process that writes them as lines of JSON and reads a line for each.

A line asks for `statements`, and where `into` is given for the rows of the last one as a Parquet file there. The answer
has the `error`, if there was one. Ends when the input ends.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from session import save, start


def main(folder: Path) -> None:
    # Whatever else writes to the output, the JVM above all, would come between the answers.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    session = start(folder)
    print(json.dumps({"version": session.version}), file=answers)
    for line in sys.stdin:
        asked = json.loads(line)
        statements, error = asked["statements"], None
        try:
            if asked["into"] is not None:
                last = statements.pop()
            for statement in statements:
                session.sql(statement)
            if asked["into"] is not None:
                save(session, last, Path(asked["into"]))
        except Exception as failure:
            told = [line for line in str(failure).splitlines() if not line.startswith("\t")]
            error = "\n".join([type(failure).__name__, *told])
        print(json.dumps({"error": error}), file=answers)
    session.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
