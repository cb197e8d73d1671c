"""What the address of a service tells by itself."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit


def is_of_this_machine(uri: str) -> bool:
    """Whether only this machine can reach an address."""
    parts = urlsplit(uri)
    if parts.scheme == "grpc+unix" or parts.hostname == "localhost":
        return True
    try:
        return ipaddress.ip_address(parts.hostname or "").is_loopback
    except ValueError:
        return False


def is_secure(uri: str) -> bool:
    """Whether what is sent there is encrypted."""
    return urlsplit(uri).scheme == "grpc+tls"
