"""The public keys of an issuer, which change while the service runs. Needs PyJWT and cryptography."""

from __future__ import annotations

import dataclasses
import http.client
import json
import logging
import threading
import time
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

import jwt
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.ed448 import Ed448PublicKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key

from headrace.config import read_file, stamps
from headrace.errors import HeadraceError, InvalidArgument, Unavailable
from headrace.model.address import is_of_this_machine

PublicKey = RSAPublicKey | EllipticCurvePublicKey | Ed25519PublicKey | Ed448PublicKey

_log = logging.getLogger("headrace.service")
_MOST_BYTES = 1 << 20
_MOST_KEYS = 100
_FEWEST_BITS = 2048
_OF_CURVES = {"secp256r1": "ES256", "secp384r1": "ES384", "secp521r1": "ES512"}
_OF_RSA = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")

_TIMEOUT_S = 5.0
_FRESH_S = 300.0
_PAUSE_S = 10.0
"""Whatever key ids callers make up, the issuer is asked no more often."""
_STALE_S = 3600.0


@dataclasses.dataclass(frozen=True)
class Key:
    """A key, its id, and the algorithms that it is for: those of its type, or the one that its issuer names."""

    id: str | None
    key: PublicKey
    algorithms: tuple[str, ...]


class Keys(Protocol):
    def find(self, algorithm: str, key_id: str | None) -> PublicKey | None:
        """The one by which a token must be signed that says so of itself; None where there is none."""


def keys_at(source: str, algorithms: Sequence[str]) -> Keys:
    """The keys in a file, or at an address.

    Raises:
        InvalidArgument: no keys are there, or none for one of the algorithms. Unavailable: nobody answers.
    """
    return KeyAddress(source, algorithms) if "://" in source else KeyFile(Path(source), algorithms)


class KeyFile:
    """Looked at each time; a new one that cannot be used leaves the keys as they were."""

    def __init__(self, path: Path, algorithms: Sequence[str]) -> None:
        self._path = path
        self._algorithms = algorithms
        self._stamps = stamps(path)
        self._keys = self._read()

    def find(self, algorithm: str, key_id: str | None) -> PublicKey | None:
        found = stamps(self._path)
        if found != self._stamps:
            self._stamps = found
            try:
                self._keys = self._read()
            except HeadraceError as error:
                _log.warning("the keys of tokens stay as they were: %s", error.message)
        return _fitting(self._keys, algorithm, key_id)

    def _read(self) -> tuple[Key, ...]:
        return _parsed(str(self._path), read_file(self._path, _MOST_BYTES), self._algorithms)


class KeyAddress:
    """Fetched again after five minutes, and when the id of a key is not known, at most every ten seconds.

    Where nobody answers, the keys are those of before, for an hour.
    """

    def __init__(self, url: str, algorithms: Sequence[str]) -> None:
        parts = urlsplit(url)
        secure = parts.scheme == "https" or (parts.scheme == "http" and is_of_this_machine(url))
        if not secure or not parts.hostname or parts.username is not None:
            raise InvalidArgument(
                f"keys of tokens are not fetched from {parts.scheme}://{parts.hostname or ''}",
                hint="write https://host/path; http is for this machine alone, and names of users are for neither",
            )
        self._url = url
        self._algorithms = algorithms
        # What is on this machine is reached directly, whatever proxy the environment names.
        proxies = [urllib.request.ProxyHandler({})] if is_of_this_machine(url) else []
        self._opener = urllib.request.build_opener(_NoRedirects, *proxies)
        self._lock = threading.Lock()
        self._keys = self._fetched()
        self._fetched_at = self._tried_at = time.monotonic()

    def find(self, algorithm: str, key_id: str | None) -> PublicKey | None:
        found = _fitting(self._keys, algorithm, key_id)
        if found is not None and time.monotonic() - self._fetched_at < _FRESH_S:
            return found
        if self._lock.acquire(blocking=found is None):  # of those who have a key, one looks, and nobody waits
            try:
                self._refresh()
            finally:
                self._lock.release()
        return _fitting(self._keys, algorithm, key_id)

    def _refresh(self) -> None:
        now = time.monotonic()
        if now - self._tried_at < _PAUSE_S:
            return
        self._tried_at = now
        try:
            self._keys, self._fetched_at = self._fetched(), now
        except HeadraceError as error:
            _log.warning("the keys of tokens stay as they were: %s", error.message)
            if now - self._fetched_at > _STALE_S:
                self._keys = ()

    def _fetched(self) -> tuple[Key, ...]:
        """Raises Unavailable, InvalidArgument."""
        deadline = time.monotonic() + _TIMEOUT_S
        data = b""
        try:
            with self._opener.open(self._url, timeout=_TIMEOUT_S) as answer:
                while part := answer.read1(65_536):
                    data += part
                    if len(data) > _MOST_BYTES:
                        raise InvalidArgument(f"{self._url} gives more than {_MOST_BYTES:,} bytes")
                    if time.monotonic() > deadline:
                        raise TimeoutError(f"not all came within {_TIMEOUT_S:g} seconds")
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise Unavailable(f"the keys of tokens cannot be fetched from {self._url}: {error}") from None
        return _parsed(self._url, data, self._algorithms)


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Keys are from where they were meant to be."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _fitting(keys: Sequence[Key], algorithm: str, key_id: str | None) -> PublicKey | None:
    found = [key for key in keys if algorithm in key.algorithms]
    named = [key for key in found if key.id is not None and key.id == key_id]
    if named:
        return named[0].key
    # Where one of the two has no id, there must be one key alone that can be meant.
    return found[0].key if len(found) == 1 and None in (key_id, found[0].id) else None


def _parsed(source: str, data: bytes, algorithms: Sequence[str]) -> tuple[Key, ...]:
    """Raises InvalidArgument."""
    keys = _of_pem(source, data) if b"-----BEGIN" in data else _of_jwks(source, data)
    if len(keys) > _MOST_KEYS:
        raise InvalidArgument(f"{source} holds more than {_MOST_KEYS} keys")
    if not any(algorithm in key.algorithms for key in keys for algorithm in algorithms):
        raise InvalidArgument(
            f"{source} holds no key for {', '.join(algorithms)}",
            hint=f"--jwt-algorithm names others; RSA keys have {_FEWEST_BITS} bits at least",
        )
    return keys


def _of_pem(source: str, data: bytes) -> tuple[Key, ...]:
    if b"PRIVATE KEY-----" in data:
        raise InvalidArgument(
            f"{source} holds a private key, which is the issuer's alone",
            hint="take its public one: openssl pkey -pubout",
        )
    try:
        key = load_pem_public_key(data)
    except (ValueError, UnsupportedAlgorithm):
        raise InvalidArgument(
            f"{source} holds no public key", hint="it begins with -----BEGIN PUBLIC KEY-----"
        ) from None
    return tuple(_key(None, key, None))


def _of_jwks(source: str, data: bytes) -> tuple[Key, ...]:
    try:
        told = json.loads(data)
        entries = told["keys"]
        if not isinstance(entries, list):
            raise TypeError
    except (ValueError, KeyError, TypeError, RecursionError):
        raise InvalidArgument(
            f"{source} holds neither a PEM public key nor a JWKS", hint='a JWKS is {"keys": […]}'
        ) from None
    return tuple(key for entry in entries for key in _of_jwk(entry))


def _of_jwk(entry: object) -> list[Key]:
    """None for keys of other uses and kinds, which may stand beside the others."""
    if not isinstance(entry, dict) or entry.get("kty") not in ("RSA", "EC", "OKP"):
        return []
    if entry.get("use", "sig") != "sig" or "verify" not in entry.get("key_ops", ["verify"]):
        return []
    try:
        key = jwt.PyJWK.from_dict(entry)
    except (jwt.PyJWTError, ValueError, TypeError, UnsupportedAlgorithm):
        return []
    return _key(key.key_id, key.key, entry.get("alg"))


def _key(key_id: object, key: object, algorithm: object) -> list[Key]:
    algorithms: tuple[str, ...]
    match key:
        case RSAPublicKey():
            algorithms = _OF_RSA if key.key_size >= _FEWEST_BITS else ()
        case EllipticCurvePublicKey():
            found = _OF_CURVES.get(key.curve.name)
            algorithms = () if found is None else (found,)
        case Ed25519PublicKey() | Ed448PublicKey():
            algorithms = ("EdDSA",)
        case _:
            return []
    if algorithm is not None:
        algorithms = tuple(name for name in algorithms if name == algorithm)
    return [Key(key_id if isinstance(key_id, str) else None, key, algorithms)] if algorithms else []
