"""`headrace init` and `headrace demo`: ways to begin."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headrace.cli.report import out, print_json, print_text
from headrace.cli.target import Json
from headrace.config import find_store, is_remote
from headrace.errors import InvalidArgument, NotFound

_NEXT = """\
write rows    headrace fg create weather --primary-key origin --event-time observed_at --store {root}
              headrace fg insert weather observations.csv --store {root}
serve it      headrace serve --root {root} --listen grpc://127.0.0.1:8815
in Python     fs = headrace.connect("{root}")"""


def init(
    folder: Annotated[str, typer.Argument(metavar="DIR", help="Folder of the store; made if it is missing.")],
    json: Json = False,
) -> None:
    """Make a store in a folder. A store that is there already stays as it is."""
    from headrace.connection import connect

    if is_remote(folder):
        raise InvalidArgument(
            f"{folder} needs no init: its definitions are in a registry",
            hint="name it with --store, and a database with --registry",
        )
    try:
        find_store(folder)
        made = False
    except NotFound:
        made = True
        connect(folder).close()
    if json:
        print_json({"store": str(find_store(folder)), "made": made})
    else:
        print_text(f"{'made a store in' if made else 'there is a store already in'} {folder}\n")
        print_text(_NEXT.format(root=folder))


def demo(
    root: Annotated[
        Path, typer.Option(help="Folder of the demo's own; an earlier demo in it is cleared.")
    ] = Path("demo-lake"),
    json: Json = False,
) -> None:
    """Real flights and weather: feature groups, a service, a training set, a model, a plot."""
    from headrace.demo import run_demo

    report = run_demo(root, console=None if json else out())
    if json:
        print_json(report)
