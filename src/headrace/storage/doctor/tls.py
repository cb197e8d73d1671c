"""TLS with a NameNode, step by step: the files, the versions that are spoken, the certificate that is shown.

The tunnel does all of it in one handshake, of which only the first failure is told.
"""

from __future__ import annotations

import dataclasses
import os
import socket
import ssl
from collections.abc import Callable
from pathlib import Path

from headrace.errors import HeadraceError, TLSError
from headrace.storage.doctor.certificate import Certificate, read_der, read_pem
from headrace.storage.doctor.check import Check, failed
from headrace.storage.hadoop import reach
from headrace.tls import TLS

VERSIONS = {"1.2": ssl.TLSVersion.TLSv1_2, "1.3": ssl.TLSVersion.TLSv1_3}

_FEW_DAYS = 14
# Those that the tunnel has for TLS 1.2.
_CIPHERS = "ECDHE+AESGCM:ECDHE+CHACHA20"
_OTHER_NAME = (62, 64)
_EARLY, _EXPIRED = 9, 10
# The last comes where their CA has the name of the one that signed ours, and another key.
_OURS = ("CERTIFICATE", "UNKNOWN_CA", "ACCESS_DENIED", "DECRYPT_ERROR")
_EXIT = TLSError.exit_code


def check_files(tls: TLS) -> tuple[list[Check], Certificate | None, bool]:
    """The three files, the certificate that is shown to NameNodes, and whether all of them can be used."""
    bad = _unusable(tls)
    if bad is not None:
        named = {str(tls.ca): "CA", str(tls.cert): "client certificate", str(tls.key): "client key"}
        name = named.get(str(bad.details.get("file")), "certificates")
        advice = _other_names(tls) or bad.hint or "openssl x509 -noout -text -in FILE shows what is in one"
        return [failed(name, bad, advice)], None, False
    assert tls.ca is not None
    assert tls.cert is not None
    assert tls.key is not None
    try:
        authorities, (own, *_) = _read(tls.ca), _read(tls.cert)
    except ValueError as error:
        return (
            [Check("certificates", "warn", f"can be used, and their dates not be read: {error}")],
            None,
            True,
        )
    ends = min(authorities, key=lambda certificate: certificate.ends)
    who = " and ".join(certificate.user or "one without a CN" for certificate in authorities)
    # Where there are several, one that has expired may be one that nobody needs.
    authority = _dated("CA", f"{os.fspath(tls.ca)}: {who}", ends)
    if authority.state == "fail":
        authority = dataclasses.replace(authority, state="warn")
    return (
        [
            authority,
            _dated("client certificate", f"{os.fspath(tls.cert)}: CN={own.user}", own),
            Check("client key", "ok", f"{os.fspath(tls.key)} fits"),
        ],
        own,
        True,
    )


def check_user(own: Certificate, user: str) -> Check:
    """HopsFS takes calls of the user whom the certificate names, or of a service's on its own host."""
    if user == own.user:
        return Check("user", "ok", f"{user}, as the certificate says")
    if user == own.locality:
        return Check("user", "ok", f"{user}, a service whose certificate is for the host {own.user}")
    return Check(
        "user",
        "warn",
        f"calls are made as {user}, and the certificate is for {own.user}: HopsFS refuses that",
        f"set HADOOP_USER_NAME={own.user}",
    )


@dataclasses.dataclass(frozen=True)
class Handshakes:
    """What came of them: by version, None or why it failed; and the certificate that the NameNode showed."""

    told: dict[str, OSError | None]
    shown: Certificate | None

    @property
    def spoken(self) -> list[str]:
        """Versions, also those in which our own certificate was refused."""
        return [version for version, error in self.told.items() if error is None or is_about_ours(error)]

    @property
    def is_tls(self) -> bool:
        """Whether what answers speaks TLS at all."""
        return bool(self.spoken) or any(_alert(error) is not None for error in self.told.values())


def shake_hands(dial: Callable[[], socket.socket], tls: TLS, name: str) -> Handshakes:
    """One handshake in each version, with whoever has this name, whatever certificate is shown. Raises TimeoutError."""
    told: dict[str, OSError | None] = {}
    shown = None
    for number, version in VERSIONS.items():
        context = client(tls, verify=None)
        context.minimum_version = context.maximum_version = version
        try:
            with wrap(dial, context, name) as connection:
                shown = _readable(connection.getpeercert(binary_form=True)) or shown
            told[number] = None
        except TimeoutError:
            raise
        except OSError as error:
            told[number] = error
    return Handshakes(told, shown)


def answers_tls(dial: Callable[[], socket.socket]) -> bool:
    """Whether TLS is spoken, by a server that may ask for a certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        wrap(dial, context, None).close()
    except OSError as error:
        return _alert(error) is not None
    return True


def check_shown(
    name: str, dial: Callable[[], socket.socket], tls: TLS, expected: str, shown: Certificate | None
) -> Check:
    """Whether the certificate that a NameNode shows is one to trust. Raises TimeoutError."""
    names = ", ".join(shown.names) if shown and shown.names else "no name at all"
    try:
        wrap(dial, client(tls, verify=tls.verify), expected).close()
    except ssl.SSLCertVerificationError as error:
        if error.verify_code in _OTHER_NAME:
            hint = shown.names[0] if shown and shown.names else "NAME"
            return Check(
                name,
                "fail",
                f"is for {names}, and not for {expected}",
                f"give --server-name {hint} (server_name= in Python) if this is the NameNode meant; or --verify chain",
                _EXIT,
            )
        if error.verify_code == _EXPIRED:
            return Check(name, "fail", "has expired", "whoever runs the cluster has to renew it", _EXIT)
        if error.verify_code == _EARLY:
            return Check(name, "fail", "is not valid yet", "look at the clock of this machine", _EXIT)
        return Check(
            name,
            "fail",
            f"is not signed by the CA in {os.fspath(tls.ca or '')}: {error.verify_message}",
            "take the CA of this cluster, with all certificates from the one that signs up to the root",
            _EXIT,
        )
    except TimeoutError:
        raise
    except OSError:
        pass  # of our own certificate, which comes after theirs
    if shown is None:
        return Check(name, "ok", "signed by the CA")
    found = f"signed by the CA, for {names}"
    if tls.verify == "chain":
        found += " (the name is not looked at)"
    return _dated(name, found, shown)


def client(tls: TLS, verify: str | None) -> ssl.SSLContext:
    """What the tunnel does, in Python; without `verify`, any certificate is taken. Raises OSError."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers(_CIPHERS)
    context.check_hostname = verify == "full"
    context.verify_mode = ssl.CERT_REQUIRED if verify else ssl.CERT_NONE
    if verify == "full":
        context.hostname_checks_common_name = False
    if tls.ca is not None:
        context.load_verify_locations(tls.ca)
    if tls.cert is not None:
        # A key that is encrypted must not make OpenSSL ask the terminal.
        context.load_cert_chain(tls.cert, tls.key, password="")
    return context


def wrap(dial: Callable[[], socket.socket], context: ssl.SSLContext, name: str | None) -> ssl.SSLSocket:
    """A connection after its handshake."""
    plain = dial()
    try:
        return context.wrap_socket(plain, server_hostname=name)
    except BaseException:
        plain.close()
        raise


def is_about_ours(error: OSError) -> bool:
    """Whether the other side has refused the certificate that we showed."""
    alert = _alert(error) or ""
    return any(word in alert for word in _OURS)


def _alert(error: OSError | None) -> str | None:
    reason = error.reason if isinstance(error, ssl.SSLError) else None
    return reason if reason and "ALERT" in reason else None


def _unusable(tls: TLS) -> HeadraceError | None:
    """What the tunnel says of the files: it opens no connection before one asks it."""
    try:
        reach("hopsfs://nobody", ["localhost:1"], tls, {}).close()
    except HeadraceError as error:
        return error
    return None


def _other_names(tls: TLS) -> str | None:
    """In the folders of Hopsworks, users' files bear their names."""
    folder = Path(tls.ca or "").parent
    found = sorted(folder.glob("*_root_ca.pem"))
    if not found or (tls.ca is not None and Path(tls.ca).exists()):
        return None
    user = found[0].name.removesuffix("_root_ca.pem")
    ends = ("root_ca", "certificate_bundle", "private_key")
    names = " ".join(
        f"--tls-{what} {folder / f'{user}_{end}.pem'}"
        for what, end in zip(("ca", "cert", "key"), ends, strict=True)
    )
    return f"these files bear other names there: {names}"


def _read(file: str | os.PathLike[str]) -> list[Certificate]:
    return read_pem(Path(file).read_bytes())


def _readable(der: bytes | None) -> Certificate | None:
    try:
        return read_der(der) if der else None
    except ValueError:
        return None


def _dated(name: str, found: str, certificate: Certificate) -> Check:
    left = certificate.days_left
    if left < 0:
        return Check(
            name,
            "fail",
            f"{found}; has expired, on {certificate.ends:%Y-%m-%d}",
            "put a renewed one there",
            _EXIT,
        )
    if left < _FEW_DAYS:
        return Check(
            name,
            "warn",
            f"{found}; {left} day(s) left",
            "have it renewed: it is read anew for each connection",
        )
    return Check(name, "ok", f"{found}; {left} days left")
