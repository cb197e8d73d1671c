"""HopsFS and HDFS for programs that use the `deltalake` library itself."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

from headrace.config import hadoop_conf_dir, pems
from headrace.errors import InvalidArgument
from headrace.storage.hadoop import SCHEMES, check_tls, cluster
from headrace.tls import TLS, given_tls


@contextlib.contextmanager
def storage_options(
    uri: str, *, tls: TLS | None = None, options: Mapping[str, str] | None = None
) -> Iterator[dict[str, str]]:
    """Within, what `deltalake` needs to reach a cluster: `with storage_options("hopsfs://nn:8020", tls=tls) as found`.

    Tables are then at `hdfs://nn/path`, without the port, for `write_deltalake(…, storage_options=found)`,
    `DeltaTable`, its `merge`, `delete`, `history` and the like. Their connections end with the block.

    Args:
        uri: `hopsfs://host:port`, `hopsfs://nameservice`, or the same with `hdfs`; a path may follow.
        tls: for HopsFS; by default the folder that `PEMS_DIR` names in the environment.
        options: Hadoop's settings by its own keys, beside those of `HADOOP_CONF_DIR`.

    Raises:
        TLSError: a certificate or key cannot be used, or was refused. Unavailable: no NameNode answers.
        InvalidArgument, MissingDependency.
    """
    if urlsplit(uri).scheme not in SCHEMES:
        raise InvalidArgument(f"{uri!r} is not of HDFS", hint="write hopsfs://host:port or hdfs://host:port")
    scheme = urlsplit(uri).scheme
    tls = given_tls(tls) or (pems() if scheme == "hopsfs" else None)
    check_tls(scheme, tls)
    place = cluster(uri, tls, dict(options or {}), hadoop_conf_dir())
    try:
        yield dict(place.options)
    except OSError as error:
        raise place.trouble() or error from error
    finally:
        place.close()
