"""`headrace serve`: the query service."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.cli.log_lines import LogFormat, log_on_stderr
from headrace.cli.report import print_json, print_text
from headrace.cli.target import Json, Option, ServerName, Verify, certificates, storage_options
from headrace.config import TLS, store_config

if TYPE_CHECKING:
    from headrace.wiring import Service

_GRACE_SECONDS = 3.0
"""In which calls whose queries were stopped must tell it to their callers."""
_OPEN = " (open: nobody is asked who they are, and every program of this machine may do everything)"


def serve(
    root: Annotated[
        str,
        typer.Option(
            help="Folder of the store, made if it is missing; or its URI, such as s3://bucket/path."
        ),
    ],
    listen: Annotated[
        list[str],
        typer.Option(
            help="Address: grpc://host:port, grpc+tls://host:port, grpc+unix:///path; several are allowed, "
            "and port 0 is any free one."
        ),
    ],
    registry: Annotated[
        str | None,
        typer.Option(
            help="SQLAlchemy URL of the registry; by default what HEADRACE_REGISTRY names, "
            "or SQLite in the root, if that is a folder."
        ),
    ] = None,
    option: Option = None,
    pems_dir: Annotated[
        Path | None,
        typer.Option(help="Folder with ca_chain.pem, client_cert.pem and client_key.pem, for hopsfs."),
    ] = None,
    server_name: ServerName = None,
    verify: Verify = "full",
    tls_cert: Annotated[Path | None, typer.Option(help="Server certificate chain, PEM.")] = None,
    tls_key: Annotated[Path | None, typer.Option(help="Server private key, PEM.")] = None,
    client_ca: Annotated[
        Path | None,
        typer.Option(
            help="Authorities of the clients' certificates, PEM: each must show one, which names its user."
        ),
    ] = None,
    user_pattern: Annotated[
        str | None,
        typer.Option(
            help="Regular expression for the name in a certificate; its group, if any, is the user."
        ),
    ] = None,
    memory_limit: Annotated[
        str | None, typer.Option(help="What queries may hold in memory, such as 4GB.")
    ] = None,
    threads: Annotated[int | None, typer.Option(help="Threads of the query engine.", min=1)] = None,
    concurrency: Annotated[
        int | None,
        typer.Option(
            help="Queries that run at once, twice as many as processors by default; others wait.", min=1
        ),
    ] = None,
    http: Annotated[
        str | None,
        typer.Option(
            help="Address for /live, /ready and /metrics: http://127.0.0.1:port, or https://host:port with the "
            "service's certificate."
        ),
    ] = None,
    audit_log: Annotated[
        Path | None, typer.Option(help="File to which a line of JSON is appended for each call.")
    ] = None,
    log_format: Annotated[LogFormat, typer.Option(help="Of the log on stderr.")] = "text",
    drain_seconds: Annotated[
        float, typer.Option(help="What queries under way are given to finish, once it is to stop.", min=0)
    ] = 30.0,
    json: Json = False,
) -> None:
    """Serve a store over Arrow Flight until interrupted.

    The first line on stdout says where it listens, and whether it is open. After SIGINT or SIGTERM it takes no new
    queries, gives those under way some time, and ends; a second signal ends it at once. What goes wrong inside it is
    logged on stderr.
    """
    from headrace.service.door import Access
    from headrace.wiring import Service

    log_on_stderr(log_format)
    config = store_config(
        root,
        registry=registry,
        memory_limit=memory_limit,
        threads=threads,
        storage_options=storage_options(option),
        tls=certificates(pems_dir, None, None, None, server_name, verify),
    )
    tls = TLS(None, tls_cert, tls_key) if tls_cert or tls_key else None
    access = Access(client_ca, user_pattern)
    service = Service(config, listen, tls, access, concurrency, audit_log=audit_log, http=http)
    asked_to_stop = _signals(signal.SIGTERM, signal.SIGINT)
    if json:
        told = {"listening": service.listening, "open": access.is_open}
        print_json(told if service.http is None else told | {"http": service.http})
    else:
        for uri in service.listening:
            print_text(f"serving {root} at {uri}{_OPEN if access.is_open else ''}")
        if service.http is not None:
            print_text(f"watched at {service.http}/ready and {service.http}/metrics")
        sys.stdout.flush()
    os.read(asked_to_stop, 1)
    threading.Thread(target=_end_at_once, args=(asked_to_stop,), daemon=True).start()
    _stop(service, drain_seconds)


def _signals(*numbers: signal.Signals) -> int:
    """A file descriptor from which these signals can be read.

    Whichever of the many threads a signal reaches, it is written there: one that is waited for otherwise may not
    wake the main thread.
    """
    read, write = os.pipe()
    os.set_blocking(write, False)
    signal.set_wakeup_fd(write)
    for number in numbers:
        signal.signal(number, lambda *_: None)
    return read


def _stop(service: Service, patience: float) -> None:
    """End the service when its queries have, or after some seconds: a stopped client would hold it for ever.

    A write that is cut off leaves its table at the old snapshot.
    """
    if service.drain(patience):
        logging.getLogger("headrace").warning("ended calls that were still running")
    ending = threading.Thread(target=service.stop, daemon=True)
    ending.start()
    ending.join(_GRACE_SECONDS)
    if ending.is_alive():
        _exit(0)


def _end_at_once(asked_to_stop: int) -> None:
    """When somebody asks once more."""
    os.read(asked_to_stop, 1)
    logging.getLogger("headrace").warning("ended at once")
    _exit(1)


def _exit(status: int) -> None:
    logging.shutdown()
    sys.stdout.flush()
    os._exit(status)
