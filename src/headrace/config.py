"""Settings, as frozen data. The only place that reads the environment."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import re
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

from headrace.errors import InvalidArgument, NotFound, PermissionDenied
from headrace.tls import TLS

REGISTRY_VARIABLE = "HEADRACE_REGISTRY"
STORE_VARIABLE = "HEADRACE_STORE"
TOKEN_VARIABLE = "HEADRACE_TOKEN"
DEBUG_VARIABLE = "HEADRACE_DEBUG"
WORK_VARIABLE = "HEADRACE_WORK"
HADOOP_CONF_VARIABLE = "HADOOP_CONF_DIR"
HADOOP_USER_VARIABLE = "HADOOP_USER_NAME"
PEMS_VARIABLE = "PEMS_DIR"

REMOTE_SCHEMES = ("hdfs", "hopsfs", "s3", "s3a", "gs", "abfs", "abfss", "az")
"""Those of the storages that a store can lie in, beside folders of this machine."""

_LONGEST_TOKEN_FILE = 65_536
_HOST_PORT = re.compile(r"[A-Za-z0-9_.-]+:[0-9]{1,5}")
_ONE_SLASH = re.compile(
    rf"(?P<scheme>{'|'.join(REMOTE_SCHEMES)}|file|grpc|grpc\+tls|grpc\+unix):/?(?!/)", re.IGNORECASE
)
# What deltalake 1.6 cannot take in a path: it panics, or looks in another folder.
_UNUSABLE = re.compile(r"[#?\[\]^|\\\x00-\x1f\x7f]|%[0-9A-Fa-f]{2}")
_COLON = re.compile(":")
_NOT_OF_HDFS = re.compile(r"[:\s\"<>`{}]|[^\x00-\x7f]")
_UNUSABLE_ELSEWHERE = {"hdfs": _NOT_OF_HDFS, "hopsfs": _NOT_OF_HDFS}
# Two names of one thing.
_ALIASES = {"s3a": "s3", "abfs": "abfss"}
# Of a bucket, a container of an account, a nameservice, or a host and its port; none where the configuration names it.
# The part before the @ of an address of Azure that has no key in it.
_CONTAINER = re.compile(r"/*[a-z0-9-]{3,63}")
_AUTHORITY = re.compile(r"(?:[A-Za-z0-9_.@-]*|\[[0-9A-Fa-f:.]+\])(?::[0-9]*)?")


@dataclasses.dataclass(frozen=True)
class StoreConfig:
    """An embedded store, or the store behind a service.

    Args:
        root: what holds the tables: a folder from / on, or a URI.
        registry: SQLAlchemy URL of the registry.
        work: a folder of this machine for what a store needs beside its tables.
        memory_limit: what the query engine may hold in memory, such as "4GB"; None is 80 % of the machine's.
        threads: threads of the query engine; None is the machine's processors.
        storage_options: what the storage is told, by its own keys.
        tls: certificates for the storage.
        hadoop_conf_dir: the folder of Hadoop's configuration.
    """

    root: str
    registry: str = dataclasses.field(repr=False)
    work: Path
    memory_limit: str | None = None
    threads: int | None = None
    storage_options: tuple[tuple[str, str], ...] = dataclasses.field(default=(), repr=False)
    tls: TLS | None = None
    hadoop_conf_dir: Path | None = None

    @property
    def is_local(self) -> bool:
        """Whether the tables are in folders of this machine."""
        return not is_remote(self.root)

    @property
    def has_own_registry(self) -> bool:
        """Whether the registry is in the store's folder."""
        return self.is_local and self.registry == _sqlite(_registry_file(Path(self.root)))


def store_config(
    target: str,
    *,
    registry: str | None = None,
    memory_limit: str | None = None,
    threads: int | None = None,
    storage_options: dict[str, str] | None = None,
    tls: TLS | None = None,
) -> StoreConfig:
    """Settings for a store at a URI, or at a local folder, which is created.

    Raises:
        InvalidArgument: a root elsewhere with no registry named, or a folder that cannot be made.
        PermissionDenied: a folder that others do not let be made.
    """
    options = _checked_options(storage_options)
    if is_remote(target):
        return _remote_config(target, registry, memory_limit, threads, options, tls)
    root = _local_root(target)
    try:
        (root / ".headrace").mkdir(parents=True, exist_ok=True)
    except PermissionError as error:
        raise PermissionDenied(f"cannot make the folder {root}: {error.strerror}") from None
    except OSError as error:
        raise InvalidArgument(f"cannot make the folder {root}: {error.strerror}") from None
    return StoreConfig(
        str(root),
        registry or default_registry() or _sqlite(_registry_file(root)),
        root / ".headrace",
        memory_limit,
        threads,
        options,
        tls or pems(),
        hadoop_conf_dir(),
    )


def is_remote(target: str) -> bool:
    """Whether a store lies in a storage that is reached by a URI."""
    scheme, colons, _ = target.partition("://")
    return bool(colons) and scheme.lower() in REMOTE_SCHEMES


def _remote_config(
    target: str,
    registry: str | None,
    memory_limit: str | None,
    threads: int | None,
    options: tuple[tuple[str, str], ...],
    tls: TLS | None,
) -> StoreConfig:
    root = given_uri(target)
    if tls is not None and root.startswith("hdfs://"):
        raise InvalidArgument(
            "the NameNodes of HDFS do not speak TLS, and certificates would not be used",
            hint=f"write hopsfs:// if these do; those for tables in a HopsFS besides are in the folder {PEMS_VARIABLE}",
        )
    named = registry or default_registry()
    if named is None:
        raise InvalidArgument(
            f"a store at {root} needs a registry, which is a database",
            hint=f"give registry=, such as postgresql://user@host/database, or set {REGISTRY_VARIABLE}",
        )
    work = _work_folder() / hashlib.sha256(root.encode()).hexdigest()[:16]
    try:
        work.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise PermissionDenied(
            f"cannot make the folder {work}: {error.strerror}",
            hint=f"name another for what is kept on this machine in {WORK_VARIABLE}",
        ) from None
    return StoreConfig(root, named, work, memory_limit, threads, options, tls or pems(), hadoop_conf_dir())


def pems() -> TLS | None:
    """The certificates for HopsFS where none are named: those in the folder that the environment names."""
    folder = os.environ.get(PEMS_VARIABLE)
    return TLS.from_dir(folder) if folder else None


def hadoop_conf_dir() -> Path | None:
    """The folder of Hadoop's configuration, by the environment."""
    folder = os.environ.get(HADOOP_CONF_VARIABLE)
    return Path(folder) if folder else None


def cloud_settings(prefix: str) -> dict[str, str]:
    """What the environment tells the Delta library of a cloud, whose settings begin with `prefix`."""
    return {key: value for key, value in os.environ.items() if key.startswith(prefix)}


def shown(target: str) -> str:
    """What a caller gave as a store, without the keys that may stand in it: before an @, or behind a question mark."""
    scheme, slash, rest = target.partition(":/")
    if not slash:
        return target
    who, at, where = rest.rpartition("@")
    if at and not _CONTAINER.fullmatch(who):
        rest = f"{who[: len(who) - len(who.lstrip('/'))]}***@{where}"
    path, question, _ = rest.partition("?")
    return f"{scheme}:/{path}{'?***' if question else ''}"


def given_uri(text: str) -> str:
    """A URI of a folder in a storage, in the one form of all that mean it. Raises InvalidArgument."""
    if not text.isprintable():
        raise InvalidArgument(f"{shown(text)!r} holds a character that cannot be printed")
    given, _, rest = text.partition("://")
    scheme, rest = _ALIASES.get(given.lower(), given.lower()), rest.rstrip("/")
    authority, *parts = rest.split("/")
    if any(part in ("", ".", "..") for part in parts):
        raise InvalidArgument(f"{shown(text)!r} holds a folder without a name of its own")
    if "@" in authority and scheme != "abfss":
        raise InvalidArgument(f"{scheme}://…@… names a user", hint="give keys by storage_options")
    if not _AUTHORITY.fullmatch(authority):
        raise InvalidArgument(
            f"{shown(text)!r} names no bucket and no cluster",
            hint=f"write {scheme}://name/folder, in plain letters",
        )
    folder = "/".join(parts)
    unusable = _UNUSABLE.search(folder) or _UNUSABLE_ELSEWHERE.get(scheme, _COLON).search(folder)
    if unusable is not None:
        raise _unusable(text, unusable.group())
    return f"{scheme}://{rest}"


def _work_folder() -> Path:
    """Where stores whose tables are elsewhere keep what they need on this machine."""
    named = os.environ.get(WORK_VARIABLE)
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(named) if named else Path(cache) / "headrace"


def _checked_options(options: object) -> tuple[tuple[str, str], ...]:
    if options is None:
        return ()
    if not isinstance(options, dict) or not all(isinstance(x, str) for pair in options.items() for x in pair):
        raise InvalidArgument("storage_options is a dict of strings")
    by_name: dict[str, str] = {}
    for key in options:
        if by_name.setdefault(key.lower(), key) != key:
            raise InvalidArgument(
                f"storage_options has {by_name[key.lower()]!r} and {key!r}: which is meant?"
            )
    return tuple(sorted(options.items()))


def _sqlite(file: Path) -> str:
    return f"sqlite:///{quote(str(file))}"


def _registry_file(root: Path) -> Path:
    return root / ".headrace" / "registry.db"


def find_store(target: str) -> str:
    """The folder of a local store that is there already; or a URI, of which only the registry knows.

    Raises:
        InvalidArgument: neither. NotFound: no store is in the folder.
    """
    if is_remote(target):
        return target
    root = _local_root(target)
    if not (root / ".headrace").is_dir():
        raise NotFound(
            f"there is no store at {root}", hint=f"headrace init {target}", details={"store": str(root)}
        )
    return str(root)


def check_store(target: str) -> None:
    """Raises InvalidArgument for what can name no store."""
    if not is_remote(target):
        _local_root(target)


def _local_root(target: str) -> Path:
    scheme = urlsplit(target).scheme if "://" in target else ""
    if scheme not in ("", "file"):
        raise InvalidArgument(
            f"{shown(target)!r} is no store",
            hint="give a local folder, a URI such as s3://bucket/path or hdfs://host:port/path, or a service: "
            "grpc://host:port, grpc+tls://host:port",
        )
    if _HOST_PORT.fullmatch(target):
        raise InvalidArgument(
            f"{target!r} names a service without saying how it is spoken to",
            hint=f"write grpc://{target}, or ./{target} for a folder of that name",
        )
    meant = _ONE_SLASH.match(target)
    if meant is not None:
        raise InvalidArgument(
            f"{shown(target)!r} is a URI without its two slashes",
            hint=f"write {meant['scheme']}://…, or ./ before it for a folder of that name",
        )
    path = unquote(target.removeprefix("file://")) if scheme else target
    if not path.strip() or (scheme and not path.strip("/")):
        raise InvalidArgument("the store has no name", hint='"." is the current folder')
    root = Path(path).expanduser().absolute()
    check_folder(str(root))
    return root


def check_folder(path: str) -> None:
    """Raises InvalidArgument for a folder's name that the Delta library cannot keep."""
    strange = _UNUSABLE.search(path)
    if strange is not None:
        raise _unusable(path, strange.group())


def _unusable(path: str, what: str) -> InvalidArgument:
    name = shown(path)
    if is_remote(path):
        before, question, _ = name.partition("?")  # behind which a signature of Azure's stands
        name = before + question
    return InvalidArgument(
        f"{name!r} holds {what!r}, which no folder of a store or a table may have in its name",
        hint="name the folder otherwise",
    )


def default_registry() -> str | None:
    """The registry's URL where none is named: the environment's."""
    return os.environ.get(REGISTRY_VARIABLE) or None


def default_store() -> str | None:
    """What the command line works on where no store is named: the environment's."""
    return os.environ.get(STORE_VARIABLE) or None


def given_token(file: Path | None) -> str | None:
    """The token by which the command line names its user to a service: in a file, or in the environment.

    Raises InvalidArgument, which does not repeat what may be a token.
    """
    if file is None:
        return os.environ.get(TOKEN_VARIABLE) or None
    try:
        return read_file(file, _LONGEST_TOKEN_FILE).decode("ascii").rstrip()
    except UnicodeDecodeError:
        raise InvalidArgument(f"{file} holds no token, and something that is not ASCII") from None


def read_file(file: Path, most: int) -> bytes:
    """What a file holds, `most` bytes at most. Raises InvalidArgument."""
    try:
        with file.open("rb") as opened:
            data = opened.read(most + 1)
    except OSError as error:
        raise InvalidArgument(f"cannot read {file}: {error.strerror}") from None
    if len(data) > most:
        raise InvalidArgument(f"{file} holds more than {most:,} bytes")
    return data


def stamps(*files: str | os.PathLike[str]) -> tuple[object, ...]:
    """What differs once one of these files was changed, or replaced by another."""
    return tuple(map(_stamp, files))


def _stamp(file: str | os.PathLike[str]) -> tuple[int, int, int] | None:
    try:
        found = os.stat(file)
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


def hadoop_user() -> str:
    """As whom the Delta library calls NameNodes that ask for no proof."""
    named = os.environ.get(HADOOP_USER_VARIABLE)
    if named is not None:
        return named
    import pwd  # which not every system has

    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())


def debugging() -> bool:
    """Whether the command line shows tracebacks."""
    return os.environ.get(DEBUG_VARIABLE) == "1"


def quiet_libraries() -> None:
    """Keep gRPC's and the Delta library's own logs off stderr, unless the environment asks for them.

    Headrace tells what they say. To be called before they are loaded.
    """
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    os.environ.setdefault("RUST_LOG", "error")
