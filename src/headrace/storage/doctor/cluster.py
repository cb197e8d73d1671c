"""A cluster of HDFS or HopsFS: each thing that Headrace assumes of it, one after the other."""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Generator, Iterator, Mapping
from pathlib import Path
from urllib.parse import urlsplit

from headrace.config import check_folder
from headrace.errors import HeadraceError, InvalidArgument, Unavailable
from headrace.storage.doctor.check import Check, failed
from headrace.storage.doctor.namenode import NameNodeCheck
from headrace.storage.doctor.rpc import NotRpc, Refused
from headrace.storage.doctor.scratch import Scratch
from headrace.storage.doctor.tls import check_files, check_user
from headrace.storage.hadoop import authority_of, check_tls, reach
from headrace.storage.hadoop_conf import HadoopConf
from headrace.tls import TLS

_FILES = ("core-site.xml", "hdfs-site.xml")


@dataclasses.dataclass(frozen=True)
class Asked:
    """What is to be checked.

    Args:
        uri: a folder of the cluster.
        user: as whom the Delta library calls NameNodes.
        seconds: for each step.
    """

    uri: str
    tls: TLS | None
    options: Mapping[str, str]
    conf_dir: Path | None
    user: str
    seconds: float


def check_cluster(asked: Asked) -> Generator[Check]:
    """Whoever stops in between closes this: what lies in the cluster by then is removed."""
    scheme = urlsplit(asked.uri).scheme
    try:
        conf = HadoopConf(asked.conf_dir, asked.options)
        authority = authority_of(asked.uri, conf)
        namenodes = conf.namenodes(authority)
        check_folder(urlsplit(asked.uri).path)
    except HeadraceError as error:
        yield failed("configuration", error)
        return
    except ValueError as error:
        yield failed("configuration", InvalidArgument(f"{asked.uri!r} is no URI: {error}"))
        return
    yield _configured(asked.conf_dir, authority, namenodes)
    yield from _authentication(conf)
    usable = True
    if scheme == "hopsfs":
        try:
            check_tls(scheme, asked.tls)
        except HeadraceError as error:
            yield failed(
                "certificates", error, "give --pems-dir FOLDER, or --tls-ca, --tls-cert and --tls-key"
            )
            return
        assert asked.tls is not None
        files, own, usable = check_files(asked.tls)
        yield from files
        if own is not None:
            yield check_user(own, asked.user)
    found = [NameNodeCheck(address, asked.tls, asked.user, asked.seconds) for address in namenodes]
    for namenode in found:
        yield from namenode.run(usable)
    if any(namenode.standing == "active" for namenode in found):
        yield from _through_the_tunnel(asked, f"{scheme}://{authority}", found)
    elif len(found) > 1:
        yield Check(
            "failover", "fail", "no NameNode is active", "see what each of them says", Unavailable.exit_code
        )


def _configured(folder: Path | None, authority: str, namenodes: list[str]) -> Check:
    named = f"{', '.join(namenodes)}"
    if authority not in namenodes:
        named = f"{authority} is {named}"
    if folder is None:
        return Check("configuration", "ok", f"{named}; no HADOOP_CONF_DIR")
    there = [name for name in _FILES if (folder / name).exists()]
    if not there:
        return Check("configuration", "warn", f"{named}; neither {' nor '.join(_FILES)} is in {folder}")
    return Check("configuration", "ok", f"{named}; {' and '.join(there)} in {folder}")


def _authentication(conf: HadoopConf) -> Iterator[Check]:
    if (conf.get("hadoop.security.authentication") or "simple").lower() == "kerberos":
        yield Check(
            "authentication",
            "warn",
            "the configuration asks for Kerberos, which Headrace passes on and was never tried with",
            "what follows asks without a proof, so that a NameNode that wants one refuses it",
        )


def _through_the_tunnel(asked: Asked, shown: str, found: list[NameNodeCheck]) -> Iterator[Check]:
    """What is left is asked in the way in which tables are read and written. Those that are standby come first."""
    order = sorted((each for each in found if each.standing), key=lambda each: each.standing != "standby")
    addresses = [each.address for each in order]
    try:
        place = reach(shown, addresses, asked.tls, asked.options, asked.seconds)
    except HeadraceError as error:
        yield failed("tunnel", error)
        return
    with contextlib.closing(place):
        scratch = Scratch(place, urlsplit(asked.uri).path, asked.user, asked.seconds)
        try:
            begun = time.monotonic()
            scratch.connect()
        except (Refused, NotRpc, OSError) as error:
            yield failed("tunnel", place.trouble() or Unavailable(f"{shown} does not answer: {error}"))
            return
        took = (time.monotonic() - begun) * 1000
        yield Check("tunnel", "ok", f"calls are answered through it, in {took:.0f} ms")
        if len(found) > 1:
            yield _failover(found, took)
        yield from scratch.run()


def _failover(found: list[NameNodeCheck], took: float) -> Check:
    standing = {
        state: [each.address for each in found if each.standing == state]
        for state in ("active", "standby", None)
    }
    lost = f"; {', '.join(standing[None])} cannot be used" if standing[None] else ""
    if len(standing["active"]) > 1:
        told = f"all of {', '.join(standing['active'])} serve{lost}"
        if found[0].is_secure:
            return Check("failover", "ok", f"{told}, as NameNodes of HopsFS do")
        return Check("failover", "warn", told, "of HDFS one is active, and others at most serve reads")
    if not standing["standby"]:
        advice = "with one NameNode down, the next failure stops everything"
        return Check(
            "failover", "warn", f"{standing['active'][0]} is active, and there is no standby{lost}", advice
        )
    told = f"begun at {standing['standby'][0]}, calls reach {standing['active'][0]}, in {took:.0f} ms{lost}"
    return Check("failover", "ok", told)
