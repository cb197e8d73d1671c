"""Settings, as frozen data. The only place that reads files and the environment."""

from __future__ import annotations

import dataclasses
import os
import re
from pathlib import Path
from typing import Literal
from urllib.parse import quote, unquote, urlsplit

from headrace.errors import InvalidArgument, NotFound, PermissionDenied, TLSError, Unavailable

REGISTRY_VARIABLE = "HEADRACE_REGISTRY"
STORE_VARIABLE = "HEADRACE_STORE"
DEBUG_VARIABLE = "HEADRACE_DEBUG"

_HOST_PORT = re.compile(r"[A-Za-z0-9_.-]+:[0-9]{1,5}")
# What deltalake 1.6 cannot take in a path: it panics, or looks in another folder.
_UNUSABLE = re.compile(r"[#?\[\]^|\\\x00-\x1f\x7f]|%[0-9A-Fa-f]{2}")


@dataclasses.dataclass(frozen=True)
class TLS:
    """Certificates as PEM files: one type for Flight and for HopsFS.

    Args:
        ca: the certificates to trust; None trusts the system's.
        cert, key: what this side shows of itself; both or neither.
        server_name: the name to expect in the server's certificate, where it is not the host's.
        verify: "full" checks chain and name; "chain" the chain alone.
    """

    ca: str | os.PathLike[str] | None
    cert: str | os.PathLike[str] | None = None
    key: str | os.PathLike[str] | None = None
    _: dataclasses.KW_ONLY
    server_name: str | None = None
    verify: Literal["full", "chain"] = "full"

    def __post_init__(self) -> None:
        if (self.cert is None) != (self.key is None):
            raise InvalidArgument("TLS needs cert and key together, or neither")
        if self.verify not in ("full", "chain"):
            raise InvalidArgument(f"verify={self.verify!r} is refused", hint='use "full" or "chain"')
        if self.server_name is not None and not _is_host(self.server_name):
            raise InvalidArgument(f"server_name={self.server_name!r} is the name of no host")

    @classmethod
    def from_dir(cls, path: str | os.PathLike[str]) -> TLS:
        """The `PEMS_DIR` convention: `ca_chain.pem`, `client_cert.pem`, `client_key.pem`."""
        folder = Path(path)
        return cls(folder / "ca_chain.pem", folder / "client_cert.pem", folder / "client_key.pem")

    def read_ca(self) -> bytes | None:
        """The certificates to trust, as PEM; None for the system's. Raises TLSError."""
        return None if self.ca is None else _read_pem(self.ca, b"CERTIFICATE")

    def read_identity(self) -> tuple[bytes, bytes] | None:
        """Certificate chain and private key."""
        if self.cert is None or self.key is None:
            return None
        return _read_pem(self.cert, b"CERTIFICATE"), _read_pem(self.key, b"PRIVATE KEY")


def _is_host(name: object) -> bool:
    try:
        return isinstance(name, str) and name.isprintable() and 0 < len(name.encode("idna")) <= 253
    except UnicodeError:
        return False


def _read_pem(path: str | os.PathLike[str], what: bytes) -> bytes:
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise TLSError(
            f"cannot read {os.fspath(path)}: {error.strerror}", details={"file": os.fspath(path)}
        ) from None
    if b"-----BEGIN" not in data or what not in data:
        raise TLSError(
            f"{os.fspath(path)} holds no PEM {what.decode().lower()}", details={"file": os.fspath(path)}
        )
    return data


@dataclasses.dataclass(frozen=True)
class StoreConfig:
    """An embedded store, or the store behind a service.

    Args:
        root: the folder that holds the tables.
        registry: SQLAlchemy URL of the registry.
        memory_limit: what the query engine may hold in memory, such as "4GB"; None is 80 % of the machine's.
        threads: threads of the query engine; None is the machine's processors.
    """

    root: Path
    registry: str
    memory_limit: str | None = None
    threads: int | None = None
    storage_options: tuple[tuple[str, str], ...] = ()

    @property
    def own_registry(self) -> str:
        """The URL of the registry in the store's folder."""
        return _sqlite(_registry_file(self.root))

    @property
    def foreign_registry(self) -> Path:
        """The file that says where the registry is, for a store whose registry is not in its folder."""
        return self.root / ".headrace" / "registry"


def store_config(
    target: str,
    *,
    registry: str | None = None,
    memory_limit: str | None = None,
    threads: int | None = None,
    storage_options: dict[str, str] | None = None,
) -> StoreConfig:
    """Settings for a store at a local folder, which is created.

    Raises:
        InvalidArgument: a root elsewhere with no registry named, or a folder that cannot be made.
        PermissionDenied: a folder that others do not let be made.
        Unavailable: the registry was there and is not.
    """
    root = _local_root(target)
    is_new = not (root / ".headrace").is_dir()
    try:
        (root / ".headrace").mkdir(parents=True, exist_ok=True)
    except PermissionError as error:
        raise PermissionDenied(f"cannot make the folder {root}: {error.strerror}") from None
    except OSError as error:
        raise InvalidArgument(f"cannot make the folder {root}: {error.strerror}") from None
    named = registry or default_registry()
    file = _registry_file(root)
    config = StoreConfig(
        root, named or _sqlite(file), memory_limit, threads, tuple(sorted((storage_options or {}).items()))
    )
    if named is None and config.foreign_registry.exists() and not file.exists():
        raise InvalidArgument(
            f"the registry of {root} is at {config.foreign_registry.read_text().strip()}, and none was named",
            hint=f"give registry=, or set {REGISTRY_VARIABLE}",
        )
    if named is None and not is_new and _is_lost(file) and any(root.glob("*/*/_delta_log")):
        raise Unavailable(
            f"the registry of {root} is lost: there are tables, and {file} is not there or empty",
            hint="bring it back from a copy; without one, read the tables with another Delta library",
        )
    return config


def _is_lost(file: Path) -> bool:
    return not file.exists() or file.stat().st_size == 0


def _sqlite(file: Path) -> str:
    return f"sqlite:///{quote(str(file))}"


def _registry_file(root: Path) -> Path:
    return root / ".headrace" / "registry.db"


def find_store(target: str) -> Path:
    """The folder of a local store that is there already.

    Raises:
        InvalidArgument: not a local folder. NotFound: no store is in it.
    """
    root = _local_root(target)
    if not (root / ".headrace").is_dir():
        raise NotFound(
            f"there is no store at {root}", hint=f"headrace init {target}", details={"store": str(root)}
        )
    return root


def _local_root(target: str) -> Path:
    scheme = urlsplit(target).scheme if "://" in target else ""
    if scheme not in ("", "file"):
        raise InvalidArgument(
            f"{target!r} is no store",
            hint="give a local folder, grpc://host:port, grpc+tls:// or grpc+unix://",
        )
    if _HOST_PORT.fullmatch(target):
        raise InvalidArgument(
            f"{target!r} names a service without saying how it is spoken to",
            hint=f"write grpc://{target}, or ./{target} for a folder of that name",
        )
    path = unquote(target.removeprefix("file://")) if scheme else target
    if not path:
        raise InvalidArgument("the store has no name", hint='"." is the current folder')
    root = Path(path).expanduser().absolute()
    check_folder(str(root))
    return root


def check_folder(path: str) -> None:
    """Raises InvalidArgument for a folder's name that the Delta library cannot keep."""
    strange = _UNUSABLE.search(path)
    if strange is not None:
        raise InvalidArgument(
            f"{path!r} holds {strange.group()!r}, which the Delta library cannot keep in a folder's name",
            hint="name the folder otherwise",
        )


def default_registry() -> str | None:
    """The registry's URL where none is named: the environment's."""
    return os.environ.get(REGISTRY_VARIABLE) or None


def default_store() -> str | None:
    """What the command line works on where no store is named: the environment's."""
    return os.environ.get(STORE_VARIABLE) or None


def debugging() -> bool:
    """Whether the command line shows tracebacks."""
    return os.environ.get(DEBUG_VARIABLE) == "1"


def quiet_grpc() -> None:
    """Keep gRPC's own log off stderr, unless the environment asks for it: Headrace tells what it says."""
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
