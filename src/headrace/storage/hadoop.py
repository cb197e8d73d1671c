"""HDFS and HopsFS: the Delta library speaks to the NameNodes through a tunnel of ours.

The tunnel turns to the NameNode that is active, bounds how long a call may take, asks again what a NameNode took with
it as it went, and speaks TLS to those of HopsFS, which ask for it. The bytes of files go to and from DataNodes as ever.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from headrace.errors import HeadraceError, InvalidArgument, MissingDependency, Timeout, TLSError, Unavailable
from headrace.storage.hadoop_conf import HadoopConf
from headrace.storage.place import Place
from headrace.tls import TLS

SCHEMES = ("hdfs", "hopsfs")

_PREFIX = "headrace.hdfs."
_TIMES = ("connect_timeout", "answer_timeout", "outage_timeout")
_OURS = ("dfs.nameservices", "dfs.ha.namenodes.", "dfs.namenode.rpc-address.", "fs.defaultFS", _PREFIX)
# Three copies, and one of three DataNodes gone: by default the library finds no other in its place, and gives up.
_KEEP_ON = "dfs.client.block.write.replace-datanode-on-failure.best-effort"


def cluster(uri: str, tls: TLS | None, options: Mapping[str, str], conf_dir: Path | None) -> Place:
    """The cluster that a URI is in: `hdfs://nameservice/path`, `hdfs://host:port/path`, `hdfs:///path`, or `hopsfs://…`.

    Among the options may be seconds: `headrace.hdfs.connect_timeout` for a connection, `headrace.hdfs.answer_timeout`
    for a NameNode to answer before the next one is asked, `headrace.hdfs.outage_timeout` for a call in all.

    Raises:
        TLSError: a certificate or key cannot be used. MissingDependency: the tunnel is not installed.
        InvalidArgument: HopsFS without certificates; a nameservice whose NameNodes are not told; an option
            that there is not.
    """
    scheme = urlsplit(uri).scheme
    if scheme != "hopsfs":
        tls = None  # it is for other tables of the store: NameNodes of HDFS do not speak it
    check_tls(scheme, tls)
    conf = HadoopConf(conf_dir, options)
    authority = authority_of(uri, conf)
    if conf.get(_KEEP_ON) is None:
        options = {**options, _KEEP_ON: "true"}
    return reach(f"{scheme}://{authority}", conf.namenodes(authority), tls, options)


def authority_of(uri: str, conf: HadoopConf) -> str:
    """The nameservice or NameNode of a URI. Raises InvalidArgument."""
    parts = urlsplit(uri)
    authority = parts.netloc or conf.default_authority
    if not authority:
        raise InvalidArgument(
            f"{uri!r} names no cluster", hint=f"write {parts.scheme}://host:port/path, or set fs.defaultFS"
        )
    return authority


def reach(
    shown: str,
    namenodes: Sequence[str],
    tls: TLS | None,
    options: Mapping[str, str],
    patience: float | None = None,
) -> Place:
    """The way to these NameNodes.

    Args:
        shown: the cluster's URI, without a path.
        namenodes: as host:port; the first is asked first.
        patience: seconds for a connection, an answer, and a call in all, in place of those of the tunnel.

    Raises:
        TLSError: a certificate or key cannot be used. MissingDependency: the tunnel is not installed. InvalidArgument.
    """
    try:
        from headrace_native import CertificateError, Tunnel
    except ImportError:
        raise MissingDependency(
            "tables in HDFS and HopsFS need headrace-native", hint='pip install "headrace[hdfs]"'
        ) from None
    given: dict[str, Any] = dict(_times(options))
    if tls is not None:
        given |= {"ca": tls.ca, "cert": tls.cert, "key": tls.key}
        given |= {"server_name": tls.server_name, "verify": tls.verify}
    if patience is not None:
        given |= dict.fromkeys(_TIMES, patience)
    try:
        tunnel = Tunnel(namenodes, **given)
    except CertificateError as error:
        raise TLSError(str(error), details={"file": error.file}) from None
    except ValueError as error:
        raise InvalidArgument(f"{shown} cannot be reached: {error}") from None

    def trouble() -> HeadraceError | None:
        failure, kind = tunnel.failure, tunnel.failure_kind
        if failure is None:
            return None
        tunnel.forget_failure()
        if kind == "tls":
            return TLSError(f"{shown} cannot be reached: {failure}")
        if kind == "timeout":
            return Timeout(f"{shown} cannot be reached: {failure}")
        return Unavailable(f"{shown} cannot be reached: {failure}", hint=hint)

    authority = urlsplit(shown).netloc
    scheme, other = ("hopsfs", "hdfs") if tls is not None else ("hdfs", "hopsfs")
    hint = f"headrace doctor {scheme} {shown}/ looks for the cause; NameNodes "
    hint += f"{'without' if tls is not None else 'that speak'} TLS are of {other}://"
    if [host.rpartition(":")[0] for host in namenodes] == [authority]:
        hint = (
            f"{authority} is taken for a host, since the configuration has no such nameservice: "
            "name the folder of hdfs-site.xml in HADOOP_CONF_DIR, or write host:port"
        )
    name = authority.rpartition(":")[0] or authority
    return Place(
        shown,
        f"hdfs://{name}",
        _through(tunnel.port, name, options),
        trouble=trouble,
        close=tunnel.close,
        has_folders=True,
    )


def check_tls(scheme: str, tls: TLS | None) -> None:
    """Raises InvalidArgument: HopsFS without certificates, HDFS with them."""
    if scheme == "hopsfs" and (tls is None or tls.ca is None or tls.cert is None):
        raise InvalidArgument(
            "HopsFS asks for certificates: the CA's, an own one and its key",
            hint="give tls=headrace.TLS.from_dir(folder), or headrace.TLS(ca, cert, key)",
        )
    if scheme == "hdfs" and tls is not None:
        raise InvalidArgument("the NameNodes of HDFS do not speak TLS", hint="write hopsfs:// if these do")


def _times(options: Mapping[str, str]) -> dict[str, float]:
    """How long the tunnel waits, for what."""
    found = {}
    for key, value in options.items():
        if key.lower().startswith(_PREFIX):
            name = key[len(_PREFIX) :]
            if not key.startswith(_PREFIX) or name not in _TIMES:
                raise InvalidArgument(
                    f"there is no option {key}", hint=f"there are {_PREFIX}{{{', '.join(_TIMES)}}}"
                )
            try:
                found[name] = float(value)
            except ValueError:
                raise InvalidArgument(f"{key}={value!r} is no number of seconds") from None
    return found


def _through(port: int, name: str, options: Mapping[str, str]) -> dict[str, str]:
    """The options, with the tunnel as the only NameNode. As a nameservice, so that no port gets into tables' URIs."""
    others = {key: value for key, value in options.items() if not key.startswith(_OURS)}
    return others | {
        "dfs.nameservices": name,
        f"dfs.ha.namenodes.{name}": "tunnel",
        f"dfs.namenode.rpc-address.{name}.tunnel": f"127.0.0.1:{port}",
    }
