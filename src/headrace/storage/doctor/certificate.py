"""What a certificate says: whose it is, for which names, and how long.

Python's own module tells that of a certificate only after it has trusted it, and one that is not trusted is what has
to be told of. Source: RFC 5280, section 4.1.
"""

from __future__ import annotations

import binascii
import dataclasses
import datetime as dt
import ipaddress
import re
import ssl
from collections.abc import Iterator

_PEM = re.compile(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL)

_UTC_TIME, _VERSION, _EXTENSIONS = 0x17, 0xA0, 0xA3
_DNS_NAME, _IP_ADDRESS = 0x82, 0x87
_COMMON_NAME = bytes.fromhex("550403")
_LOCALITY = bytes.fromhex("550407")
_ALTERNATIVE_NAMES = bytes.fromhex("551d11")


@dataclasses.dataclass(frozen=True)
class Certificate:
    """`names` are those of hosts; `user` and `locality` are the CN and the L of its subject, empty if there is none."""

    user: str
    locality: str
    names: tuple[str, ...]
    begins: dt.datetime
    ends: dt.datetime

    @property
    def days_left(self) -> int:
        """Whole ones; less than 0 once it has expired."""
        return (self.ends - dt.datetime.now(dt.UTC)).days


def read_pem(text: str) -> list[Certificate]:
    """All that are in a text. Raises ValueError if one of them is damaged."""
    try:
        return [read_der(ssl.PEM_cert_to_DER_cert(found)) for found in _PEM.findall(text)]
    except binascii.Error as error:
        raise ValueError(str(error)) from None


def read_der(der: bytes) -> Certificate:
    """Raises ValueError if it is damaged."""
    try:
        return _certificate(der)
    except (IndexError, StopIteration):
        raise ValueError("it ends early") from None


def _certificate(der: bytes) -> Certificate:
    (_, whole), *_ = _parts(der)
    (_, signed), *_ = _parts(whole)
    parts = [part for part in _parts(signed) if part[0] != _VERSION]
    _number, _algorithm, _issuer, (_, validity), (_, subject), _key, *rest = parts
    begins, ends = (_time(*part) for part in _parts(validity))
    told = dict(_subject(subject))
    names = tuple(_names(rest))
    return Certificate(told.get(_COMMON_NAME, ""), told.get(_LOCALITY, ""), names, begins, ends)


def _subject(data: bytes) -> Iterator[tuple[bytes, str]]:
    for _, group in _parts(data):
        for _, pair in _parts(group):
            (_, kind), (_, value) = _parts(pair)
            yield kind, value.decode(errors="replace")


def _names(parts: list[tuple[int, bytes]]) -> Iterator[str]:
    for tag, data in parts:
        if tag != _EXTENSIONS:
            continue
        (_, extensions), *_ = _parts(data)
        for _, extension in _parts(extensions):
            (_, kind), *_, (_, value) = _parts(extension)
            if kind == _ALTERNATIVE_NAMES:
                (_, names), *_ = _parts(value)
                yield from filter(None, map(_name, _parts(names)))


def _name(part: tuple[int, bytes]) -> str | None:
    tag, value = part
    if tag == _IP_ADDRESS:
        return str(ipaddress.ip_address(value))
    return value.decode("ascii", errors="replace") if tag == _DNS_NAME else None


def _time(tag: int, text: bytes) -> dt.datetime:
    if tag == _UTC_TIME:
        # Two digits of the year: those from 50 on are of the last century.
        text = (b"19" if text[:2] >= b"50" else b"20") + text
    return dt.datetime.strptime(text.decode("ascii"), "%Y%m%d%H%M%SZ").replace(tzinfo=dt.UTC)


def _parts(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Tags and contents, one after the other."""
    at = 0
    while at < len(data):
        tag, length, at = data[at], data[at + 1], at + 2
        if length >= 0x80:
            size = length & 0x7F
            length, at = int.from_bytes(data[at : at + size]), at + size
        if at + length > len(data):
            raise ValueError("it ends early")
        yield tag, data[at : at + length]
        at += length
