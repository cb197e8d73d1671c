"""The way to a store, here or at a service."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from headrace.client.address import SCHEMES, Address
from headrace.client.remote import RemoteBackend
from headrace.client.store import FeatureStore
from headrace.config import check_store, quiet_libraries, store_config
from headrace.errors import InvalidArgument, Unsupported
from headrace.model.name import check_name
from headrace.tls import TLS, given_tls

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def connect(
    target: str | os.PathLike[str],
    *,
    project: str = "default",
    registry: str | None = None,
    tls: TLS | None = None,
    token: str | None = None,
    storage_options: dict[str, str] | None = None,
    memory_limit: str | None = None,
    timeout: float | None = None,
    spark: SparkSession | str | None = None,
    spark_above: str | int | None = None,
) -> FeatureStore:
    """Open a project of a store, here or at a service: same calls, results and errors.

    Args:
        target: a local folder, which is created; `s3://…`, `gs://…`, `abfss://…`, `hdfs://…`, `hopsfs://…`; or a
            service: `grpc://host:port`, `grpc+tls://…`, `grpc+unix:///path`.
        project: namespace of feature groups and views.
        registry: SQLAlchemy URL of the registry; by default what HEADRACE_REGISTRY names, else SQLite in a local
            store's folder.
        tls: certificates for `grpc+tls` and `hopsfs`; of the latter, by default those in the folder PEMS_DIR.
        token: says who calls a service that takes tokens; sent over `grpc+tls` and within this machine alone.
        storage_options: keys, endpoints and the like, by the storage's own names; see docs/storage.md.
        memory_limit: what queries of a store may hold in memory, such as "4GB", by default 80 % of the machine's; a
            service has its own.
        timeout: seconds to wait for a service's answer; None waits for ever.
        spark: a session of Spark, or "sc://host:port" of Spark Connect, for reads with engine="spark".
        spark_above: reads by engine="auto", which is what None means, go to Spark where the files that they open have
            more bytes, such as "20GB"; None keeps them here.

    Raises:
        Unavailable, TLSError, Unauthenticated, InvalidName, InvalidArgument; PermissionDenied: a folder or file of this
        machine; Unsupported: spark= with a service, and a process that was forked; MissingDependency: spark= without
        PySpark.
    """
    check_name("project", project)
    if not isinstance(target, str | os.PathLike):
        raise InvalidArgument(f"{target!r} is no store", hint="give a folder, or grpc://host:port")
    tls = given_tls(tls)
    quiet_libraries()
    uri = os.fspath(target)
    if uri.split("://")[0] in SCHEMES and "://" in uri:
        if spark is not None or spark_above is not None:
            raise Unsupported(
                "spark= reads the tables of a store itself, past the rights that its service keeps",
                hint="open the store itself, with hr.connect(root, spark=session)",
            )
        if registry is not None or memory_limit is not None or storage_options is not None:
            raise InvalidArgument(
                "registry, memory_limit and storage_options are the service's, not its client's"
            )
        if timeout is not None and not (isinstance(timeout, int | float) and timeout > 0):
            raise InvalidArgument(f"timeout={timeout!r} is not a positive number of seconds")
        return FeatureStore(RemoteBackend(Address(uri, tls, token), project, timeout), uri, project)
    if timeout is not None or token is not None:
        check_store(uri)  # it may be the address of a service, mistyped
        what = "token" if timeout is None else "timeout"
        raise InvalidArgument(f"{what} is for a service, and this store is not one")
    # The libraries of tables and queries take half a second to load, and a client of a service needs none of them.
    from headrace.wiring import Embedded

    config = store_config(
        uri, registry=registry, memory_limit=memory_limit, storage_options=storage_options, tls=tls
    )
    store = Embedded(config, project, spark=spark, spark_above=spark_above)
    return FeatureStore(store, config.root, project)
