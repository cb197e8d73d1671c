"""A service that is asked for four times as much as it does at once, for half a minute; `make soak` asks for five."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from conftest import Server, fresh
from integration import soak

pytestmark = pytest.mark.slow

SECONDS = float(os.environ.get("HEADRACE_SOAK_SECONDS", "30"))
CONCURRENCY, PROCESSES, EACH = 16, 4, 16
MEMORY_MB = 2_000
PROCESS_MB = 400
"""Of Python and what it loads, in each process of the service."""
MOST_TIMES = 30
"""The median of small reads to that in an idle service: on two processors, which the clients share, 5 to 8 is usual."""


def memory(service: psutil.Process) -> tuple[int, int]:
    """Megabytes of a service and its workers, and how many these are."""
    held = workers = 0
    for process in (service, *service.children(recursive=True)):
        try:
            held += process.memory_full_info().uss
            workers += process.pid != service.pid
        except psutil.Error:
            continue
    return held >> 20, workers


def test_a_service_under_four_times_its_load(serve: Callable[..., Server], tmp_path: Path) -> None:
    server = serve(None, "--concurrency", str(CONCURRENCY), "--memory-limit", f"{MEMORY_MB}MB")
    project = fresh("soak")
    with server.connect(project=project) as store:
        soak.fill(store)
        idle = soak.Told()
        client = soak.Client(server.url, project, 0, idle)
        for _ in range(200):
            client.small()
    service = psutil.Process(server.process.pid)
    command = [sys.executable, soak.__file__, server.url, project]
    asking = [
        subprocess.Popen([*command, str(number * EACH), str(EACH), str(SECONDS)], stdout=subprocess.PIPE)
        for number in range(PROCESSES)
    ]
    done, over, most = threading.Event(), [], 0

    def watch() -> None:
        nonlocal most
        while not done.wait(1):
            held, workers = memory(service)
            most = max(most, held)
            if held > MEMORY_MB + PROCESS_MB * (1 + workers):
                over.append((held, workers))

    watching = threading.Thread(target=watch)
    watching.start()
    answers, refused, small, wrong = Counter[str](), Counter[str](), [], []
    try:
        for process in asking:
            out, _ = process.communicate(timeout=SECONDS + 300)
            told = json.loads(out)
            answers.update(told["answers"])
            refused.update(told["refused"])
            small += told["small"]
            wrong += told["wrong"]
    finally:
        done.set()
        watching.join()
        for process in asking:
            process.kill()
    times = statistics.median(idle.small), statistics.median(small)
    print(f"{dict(answers)} {dict(refused)} small {times[0]:.4f} {times[1]:.4f} s, {most} MB at most")
    assert not wrong, wrong[:5]
    assert server.process.poll() is None
    assert all(answers[kind] > 0 for kind in ("small", "sql", "joined", "scan", "left", "bomb")), answers
    # Where the machine is so busy that clients take no rows for seconds, those of SQL give way to others.
    unexpected = [
        kind
        for kind in refused
        if kind.split()[-1] not in ("BUSY", "TIMEOUT") and kind != "sql LIMIT_EXCEEDED"
    ]
    assert not unexpected, refused
    assert not over, over[:5]
    with server.connect(project=project) as store:
        until = time.monotonic() + 10
        while store.queries.list() and time.monotonic() < until:
            time.sleep(0.1)
        assert not store.queries.list()
    assert times[1] < MOST_TIMES * times[0], "look-ups wait for what takes long"
