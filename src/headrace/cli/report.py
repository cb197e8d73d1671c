"""What commands print: tables for people, JSON for programs."""

from __future__ import annotations

import sys

import msgspec
from rich.console import Console

from headrace.errors import HeadraceError

out = Console(soft_wrap=True)
err = Console(stderr=True, soft_wrap=True)


def tell_error(error: HeadraceError) -> None:
    request = f" (request {error.request_id})" if error.request_id else ""
    err.print(f"[bold red]{error.code}[/]: ", end="")
    err.print(error.message + request, markup=False, highlight=False)
    if error.hint:
        err.print(f"hint: {error.hint}", markup=False, highlight=False)


def print_json(value: object) -> None:
    """One line of JSON, written at once."""
    sys.stdout.write(msgspec.json.encode(value, enc_hook=str).decode() + "\n")
    sys.stdout.flush()
