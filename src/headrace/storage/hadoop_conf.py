"""Hadoop's configuration: `core-site.xml` and `hdfs-site.xml`, and what is given beside them.

Source: https://hadoop.apache.org/docs/stable/hadoop-project-dist/hadoop-hdfs/HDFSHighAvailabilityWithNFS.html, and for
HopsFS https://hops.readthedocs.io/en/latest/user_guide/hopsfs/clients.html
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree

from headrace.errors import InvalidArgument

_FILES = ("core-site.xml", "hdfs-site.xml")
_PORT = 8020


class HadoopConf:
    """Settings by Hadoop's own keys.

    Args:
        folder: with the files; None if there is none.
        given: settings that go before those of the files.

    Raises:
        InvalidArgument: the folder is not there, or a file in it cannot be read.
    """

    def __init__(self, folder: Path | None, given: Mapping[str, str]) -> None:
        self._settings: dict[str, str] = {}
        if folder is not None:
            if not folder.is_dir():
                raise InvalidArgument(f"there is no folder {folder}, which is to have Hadoop's configuration")
            for name in _FILES:
                self._settings |= _read(folder / name)
        self._settings |= given

    @property
    def default_authority(self) -> str:
        """The one of `fs.defaultFS`, for URIs that name none; empty if there is none."""
        return self._settings.get("fs.defaultFS", "").partition("://")[2].strip("/")

    def get(self, key: str) -> str | None:
        return self._settings.get(key)

    def namenodes(self, authority: str) -> list[str]:
        """As `host:port`, of a nameservice or of a host. Raises InvalidArgument."""
        names = self._settings.get(f"dfs.ha.namenodes.{authority}")
        if names is not None:
            keys = [f"dfs.namenode.rpc-address.{authority}.{name.strip()}" for name in names.split(",")]
            return [self._address(key) for key in keys]
        if authority in map(str.strip, self._settings.get("dfs.nameservices", "").split(",")):
            if self._hops() and f"dfs.namenode.rpc-address.{authority}" not in self._settings:
                return self._hops()
            return [self._address(f"dfs.namenode.rpc-address.{authority}")]
        own = _with_port(authority)
        others = self._hops()
        if own not in others and authority != self.default_authority:
            return [own]
        return [own, *(other for other in others if other != own)]

    def _hops(self) -> list[str]:
        """Those of HopsFS, which are one cluster without a nameservice; written with a scheme or without."""
        written = self._settings.get("dfs.namenodes.rpc.addresses", "").split(",")
        return [_with_port(each.strip().rpartition("://")[2].strip("/")) for each in written if each.strip()]

    def _address(self, key: str) -> str:
        address = self._settings.get(key, "").strip()
        if not address:
            raise InvalidArgument(
                f"the configuration of HDFS names a NameNode without an address: {key} is missing",
                hint="give it in storage_options, or name the folder of hdfs-site.xml in HADOOP_CONF_DIR",
            )
        return _with_port(address)


def _with_port(address: str) -> str:
    host, colon, port = address.rpartition(":")
    if not colon:
        return f"{address}:{_PORT}"
    if not host or not port.isdecimal() or not 0 < int(port) < 1 << 16:
        raise InvalidArgument(f"{address!r} is not the address of a NameNode", hint="write host:port")
    return address


def _read(file: Path) -> dict[str, str]:
    try:
        found = ElementTree.parse(file).getroot().iter("property")
    except FileNotFoundError:
        return {}
    except (ElementTree.ParseError, OSError) as error:
        raise InvalidArgument(f"the configuration of HDFS in {file} cannot be read: {error}") from None
    pairs = ((entry.findtext("name", ""), entry.findtext("value", "")) for entry in found)
    return {name.strip(): value.strip() for name, value in pairs if name}
