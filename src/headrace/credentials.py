"""What must not be kept: found where it is needed, each time that it is."""

from __future__ import annotations

import os
from pathlib import Path

from headrace.errors import InvalidArgument, NotFound, PermissionDenied

_OWN = "HEADRACE_"
_LONGEST = 65_536


def resolve(reference: str) -> str:
    """The text that an `env:NAME` or a `file:/path` stands for, on this machine, now.

    Raises:
        NotFound: the variable is not set, or the file is not there. PermissionDenied: it cannot be read.
        InvalidArgument: the variable is one of Headrace's own, or nothing of use is there.
    """
    kind, _, name = reference.partition(":")
    if kind == "env":
        if name.startswith(_OWN):
            raise InvalidArgument(
                f"the environment variable {name} is one of Headrace's own, whose names begin with {_OWN}",
                hint="give the database's URI a variable of another name",
            )
        found = os.environ.get(name)
        if found is None:
            raise NotFound(
                f"the environment variable {name} is not set",
                hint="set it where the query runs: in this program, or in that of the service",
            )
    else:
        found = _content(Path(name))
    if not found.strip():
        raise InvalidArgument(f"{reference} is empty", hint="it holds the URI of a database")
    return found.strip()


def _content(path: Path) -> str:
    if path.exists() and not path.is_file():
        raise InvalidArgument(f"{path} is no plain file", hint="name one that holds the URI of a database")
    try:
        with path.open("rb") as file:
            data = file.read(_LONGEST + 1)
    except (FileNotFoundError, NotADirectoryError):
        raise NotFound(f"the file {path} is not there", hint="it must be where the query runs") from None
    except OSError as error:
        raise PermissionDenied(f"the file {path} cannot be read: {error.strerror}") from None
    try:
        if len(data) <= _LONGEST:
            return data.decode()
    except UnicodeDecodeError:
        pass
    raise InvalidArgument(f"the file {path} holds no URI", hint="it holds the URI of a database, and no more")
