"""`headrace serve`: the query service."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headrace.cli.log_lines import LogFormat, log_on_stderr
from headrace.cli.report import print_json, print_text
from headrace.cli.target import Json, Option, ServerName, Verify, certificates, storage_options
from headrace.config import store_config
from headrace.errors import InvalidArgument
from headrace.service.issuer import USUAL_ALGORITHMS, Issuer
from headrace.tls import TLS

if TYPE_CHECKING:
    from headrace.service.door import Access
    from headrace.wiring import Service

_RENEWING = [signal.SIGHUP] if hasattr(signal, "SIGHUP") else []
_LEAST_CACHE = 100_000
_GRACE_SECONDS = 3.0
"""In which calls whose queries were stopped must tell it to their callers."""
_OPEN = "(open: nobody is asked who they are, and every program of this machine may do everything)"


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
    tokens: Annotated[
        bool, typer.Option("--tokens", help="Take tokens that the store has issued: headrace token create.")
    ] = False,
    jwt_keys: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|URL",
            help="Take JSON Web Tokens that these keys have signed: a PEM public key, or a JWKS by file or https.",
        ),
    ] = None,
    jwt_issuer: Annotated[str | None, typer.Option(help="What iss must be in them.")] = None,
    jwt_audience: Annotated[str | None, typer.Option(help="What aud must be in them.")] = None,
    jwt_algorithm: Annotated[
        list[str] | None,
        typer.Option(
            help=f"By which they may be signed; {', '.join(USUAL_ALGORITHMS)} by default. Repeat it for each."
        ),
    ] = None,
    jwt_user_claim: Annotated[
        str | None, typer.Option(help="The claim that names the user; by default sub.")
    ] = None,
    token_listen: Annotated[
        list[str] | None,
        typer.Option(
            help="Address for callers who have a token and no certificate, beside --client-ca; several are allowed."
        ),
    ] = None,
    memory_limit: Annotated[
        str | None, typer.Option(help="What queries may hold in memory, such as 4GB.")
    ] = None,
    threads: Annotated[int | None, typer.Option(help="Threads of the query engine.", min=1)] = None,
    concurrency: Annotated[
        int | None,
        typer.Option(
            help="Queries that run at once, by default twice as many as processors, and 4 at least; others wait.",
            min=1,
        ),
    ] = None,
    query_memory: Annotated[
        str | None,
        typer.Option(
            help="What one query may hold in memory, such as 2GB; by default its share of what all may."
        ),
    ] = None,
    query_disk: Annotated[
        str | None,
        typer.Option(help="What one query may put on disk where memory does not do, such as 50GB."),
    ] = None,
    query_seconds: Annotated[
        float | None, typer.Option(help="How long a read may run; it is ended then.", min=0.001)
    ] = None,
    query_rows: Annotated[int | None, typer.Option(help="How many rows a read may give.", min=1)] = None,
    cache: Annotated[
        str | None,
        typer.Option(
            help="Keep results of joins, up to so much on this machine's disk, such as 20GB, and give them again."
        ),
    ] = None,
    predict: Annotated[
        bool,
        typer.Option(
            help="With --cache, compute joins that will be asked for, by what was asked before, while nobody asks."
        ),
    ] = True,
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
    queries, gives those under way some time, and ends; a second signal ends it at once. SIGHUP has it look at its
    certificates, as it does by itself every few seconds. What goes wrong inside it is logged on stderr.
    """
    from headrace.service.door import Access
    from headrace.service.limits import Limits, parse_size
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
    issuer = _issuer(jwt_keys, jwt_issuer, jwt_audience, jwt_algorithm, jwt_user_claim)
    access = Access(client_ca, user_pattern, tokens, issuer)
    limits = Limits(
        memory=None if query_memory is None else parse_size(query_memory),
        disk=None if query_disk is None else parse_size(query_disk),
        seconds=query_seconds,
        rows=query_rows,
    )
    service = Service(
        config,
        listen,
        tls,
        access,
        concurrency,
        token_listen or (),
        limits=limits,
        audit_log=audit_log,
        cache_bytes=_cache_bytes(cache, predict),
        predicts=predict,
        http=http,
    )
    signals = _signals(signal.SIGTERM, signal.SIGINT, *_RENEWING)
    if json:
        told = {"listening": service.listening, "open": access.is_open}
        print_json(told if service.http is None else told | {"http": service.http})
    else:
        for number, uri in enumerate(service.listening):
            asks = access.takes_certificates and number < len(listen)
            print_text(f"serving {root} at {uri} {_asked(access, asks)}")
        if service.http is not None:
            print_text(f"watched at {service.http}/ready and {service.http}/metrics")
        sys.stdout.flush()
    service.expect_sql()
    while os.read(signals, 1)[0] in _RENEWING:
        service.renew()
    threading.Thread(target=_end_at_once, args=(signals,), daemon=True).start()
    _stop(service, drain_seconds)


def _cache_bytes(cache: str | None, predict: bool) -> int | None:
    """Raises InvalidArgument."""
    from headrace.service.limits import parse_size

    if cache is None:
        if not predict:
            raise InvalidArgument("--no-predict is refused", hint="without --cache nothing is computed ahead")
        return None
    size = parse_size(cache)
    if size < _LEAST_CACHE:
        raise InvalidArgument(
            f"--cache {cache} is less than 100 KB", hint='write "20GB"; without --cache, nothing is kept'
        )
    return size


def _issuer(
    keys: str | None,
    name: str | None,
    audience: str | None,
    algorithms: list[str] | None,
    user_claim: str | None,
) -> Issuer | None:
    """Raises InvalidArgument for half of one."""
    given = {"algorithms": tuple(algorithms or ()), "user_claim": user_claim}
    if not (keys or name or audience or any(given.values())):
        return None
    rest: dict[str, Any] = {option: value for option, value in given.items() if value}
    return Issuer(keys or "", name or "", audience or "", **rest)


def _asked(access: Access, certificate: bool) -> str:
    """What callers at an address must show."""
    if access.is_open:
        return _OPEN
    if not certificate:
        return "(callers show a token)"
    return f"(callers show a certificate{', and may show a token' if access.takes_tokens else ''})"


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
    # As the interpreter ends, it gives signals their old meaning, and one that comes late would kill it.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)


def _end_at_once(signals: int) -> None:
    """When somebody asks once more."""
    while os.read(signals, 1)[0] in _RENEWING:
        pass
    logging.getLogger("headrace").warning("ended at once")
    _exit(1)


def _exit(status: int) -> None:
    logging.shutdown()
    sys.stdout.flush()
    os._exit(status)
