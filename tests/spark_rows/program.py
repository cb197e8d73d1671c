"""Programs that need a Spark of their own."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap


def succeed(program: str, *arguments: str) -> None:
    """Run it, and the workers of its Spark, by this Python; its servers listen to this machine alone."""
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), *arguments],
        env=os.environ | {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
