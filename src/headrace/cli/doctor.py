"""`headrace doctor`: what may keep Headrace from working here, and what to do about it."""

from __future__ import annotations

import platform
import re
import tempfile
from collections.abc import Callable, Iterator
from importlib import metadata

import typer

from headrace.cli.checks import conclude
from headrace.cli.doctor_hadoop import hdfs, hopsfs
from headrace.cli.status import PATIENCE
from headrace.cli.target import Target, on_store
from headrace.config import default_store, find_store, is_remote
from headrace.errors import HeadraceError, InvalidArgument
from headrace.storage.doctor.check import Check, failed
from headrace.storage.failure import stored

_REQUIREMENT = re.compile(
    r"(?P<name>[\w.-]+)(?P<parts>\[[^]]*\])?(?P<range>[^;]*)(;.*extra == '(?P<extra>\w+)')?"
)


app = typer.Typer(invoke_without_command=True, add_completion=False)


@app.callback()
@on_store
def doctor(target: Target, context: typer.Context) -> None:
    """Check Python, libraries, extras, and, where a store is named, everything it needs to work.

    With hdfs or hopsfs, check a cluster instead.
    """
    if context.invoked_subcommand is not None:
        if target != Target(default_store(), "default", None, False):
            raise InvalidArgument(
                f"options before {context.invoked_subcommand} are those of a store",
                hint=f"write them after it: headrace doctor {context.invoked_subcommand} URI --json",
            )
        return
    conclude([_python(), *_libraries(), *(_store(target) if target.store else ())], target.json)


app.command("hdfs")(hdfs)
app.command("hopsfs")(hopsfs)


def _python() -> Check:
    return Check("Python", "ok", f"{platform.python_version()} on {platform.system()} {platform.machine()}")


def _libraries() -> Iterator[Check]:
    """What Headrace's own metadata asks for."""
    yield Check("headrace", "ok", metadata.version("headrace"))
    asked: dict[str, tuple[str, str, list[str]]] = {}
    for requirement in metadata.requires("headrace") or ():
        found = _REQUIREMENT.match(requirement)
        assert found is not None
        *_, extras = asked.setdefault(found["name"], (found["parts"] or "", found["range"], []))
        extras += [found["extra"]] if found["extra"] else []
    for name, (parts, versions, extras) in asked.items():
        yield _library(name, parts, versions, extras)


def _library(name: str, parts: str, versions: str, extras: list[str]) -> Check:
    what = f"{name} (extra: {', '.join(extras)})" if extras else name
    install = f'pip install "{name}{parts}{versions}"'
    try:
        found = metadata.version(name)
    except metadata.PackageNotFoundError:
        return Check(what, "warn" if extras else "fail", "not installed", install)
    if not _within(found, versions):
        return Check(what, "fail", f"{found}, and {versions} is needed", install)
    return Check(what, "ok", found)


def _within(version: str, asked: str) -> bool:
    """Whether a version is in a range such as `<3,>=2.0`."""
    compare: dict[str, Callable[[list[int], list[int]], bool]] = {
        ">=": lambda a, b: a >= b,
        "<": lambda a, b: a < b,
        "==": lambda a, b: a == b,
    }
    bounds = re.findall(r"(>=|<|==)([\d.]+)", asked)
    return all(compare[op](_numbers(version), _numbers(bound)) for op, bound in bounds)


def _numbers(version: str) -> list[int]:
    found = re.match(r"\d+(\.\d+)*", version)
    numbers = [int(n) for n in found[0].split(".")] if found else []
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return numbers


def _store(target: Target) -> Iterator[Check]:
    if target.tls is not None:
        yield _tried("TLS files", lambda: _read_certificates(target))
    if target.remote:
        yield _tried("service", lambda: _visit(target))
        return
    if is_remote(target.named):
        yield _tried("store", lambda: _visit(target))
        return
    folder = _tried("store folder", lambda: _write_into(target))
    yield folder
    if folder.state == "ok":
        yield _tried("registry", lambda: _visit(target))


def _tried(what: str, look: Callable[[], str]) -> Check:
    try:
        return Check(what, "ok", look())
    except HeadraceError as error:
        return failed(what, error)


def _read_certificates(target: Target) -> str:
    assert target.tls is not None
    target.tls.read_ca()
    target.tls.read_identity()
    return "can be read"


def _write_into(target: Target) -> str:
    root = find_store(target.named)
    with stored(str(root)), tempfile.TemporaryFile(dir=root):
        return f"{root} can be written to"


def _visit(target: Target) -> str:
    with target.connect(timeout=PATIENCE) as fs:
        return f"answers; project {target.project} has {len(fs.list_feature_groups())} feature group(s)"
