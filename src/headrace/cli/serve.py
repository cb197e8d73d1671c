"""`headrace serve`: the query service."""

from __future__ import annotations

import signal
import threading
from pathlib import Path
from typing import Annotated

import typer

from headrace.cli.report import out, print_json
from headrace.config import TLS, store_config
from headrace.wiring import Service


def serve(
    root: Annotated[Path, typer.Option(help="Folder of the store.")],
    listen: Annotated[
        list[str],
        typer.Option(
            help="Address: grpc://host:port, grpc+tls://host:port, grpc+unix:///path; several allowed."
        ),
    ],
    registry: Annotated[
        str | None, typer.Option(help="SQLAlchemy URL of the registry; SQLite in the root by default.")
    ] = None,
    tls_cert: Annotated[Path | None, typer.Option(help="Server certificate chain, PEM.")] = None,
    tls_key: Annotated[Path | None, typer.Option(help="Server private key, PEM.")] = None,
    memory_limit: Annotated[
        str | None, typer.Option(help="What queries may hold in memory, such as 4GB.")
    ] = None,
    threads: Annotated[int | None, typer.Option(help="Threads of the query engine.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one line of JSON when ready.")] = False,
) -> None:
    """Serve a store over Arrow Flight until interrupted."""
    config = store_config(str(root), registry=registry, memory_limit=memory_limit, threads=threads)
    tls = TLS(None, tls_cert, tls_key) if tls_cert or tls_key else None
    service = Service(config, listen, tls)
    stopped = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopped.set())
    threading.Thread(target=service.serve, daemon=True).start()
    if json:
        print_json({"listening": service.listening})
    else:
        for uri in service.listening:
            out.print(f"serving {root} at {uri}", highlight=False)
        out.print("nobody is asked who they are: listen on addresses that only you can reach", style="yellow")
    stopped.wait()
    service.stop()
