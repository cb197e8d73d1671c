"""One NameNode: whether it can be reached, speaks what it is thought to speak, and serves."""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Callable, Iterator
from typing import Literal

from headrace.errors import AuthError, TLSError, Unavailable
from headrace.storage.doctor.check import Check
from headrace.storage.doctor.rpc import NameNodeRpc, NotRpc, Refused
from headrace.storage.doctor.tls import (
    answers_tls,
    check_shown,
    client,
    is_about_ours,
    shake_hands,
    wrap,
)
from headrace.tls import TLS

Standing = Literal["active", "standby"]

_STANDBY = ("StandbyException", "ObserverRetryOnActiveException")
_STARTING = ("RetriableException", "SafeModeException")
_ASIDE_SECONDS = 5
"""The wait for an answer that is not expected to come."""


class NameNodeCheck:
    """Asks one NameNode, itself and not through the tunnel, which leaves those that are standby.

    Args:
        tls: None for those of HDFS.
        user: as whom they are called.
        seconds: for each connection and answer.
    """

    def __init__(self, address: str, tls: TLS | None, user: str, seconds: float) -> None:
        self.address = address
        self._standing: Standing | None = None
        self._trusted = True
        self._host, _, port = address.rpartition(":")
        self._host = self._host.strip("[]")
        self._port = int(port)
        self._tls = tls
        self._user = user
        self._seconds = seconds

    @property
    def standing(self) -> Standing | None:
        """None where the tunnel cannot use it."""
        return self._standing if self._trusted else None

    @property
    def is_secure(self) -> bool:
        return self._tls is not None

    def run(self, usable: bool = True) -> Iterator[Check]:
        """With certificates that are not `usable`, only whether it can be reached."""
        begun = time.monotonic()
        try:
            self._dial().close()
        except OSError as error:
            advice = "is it up, is this its RPC port (mostly 8020), and does a firewall let it through?"
            yield self._fail("port", f"cannot be reached: {_said(error)}", advice)
            return
        yield self._ok("port", f"takes connections, in {(time.monotonic() - begun) * 1000:.0f} ms")
        if self._tls is None:
            yield self._plain()
        elif usable:
            yield from self._secure(self._tls)

    def _plain(self) -> Check:
        try:
            return self._served(self._dial)
        except (NotRpc, OSError) as error:
            if self._tries(answers_tls):
                return self._fail(
                    "RPC",
                    "speaks TLS, as NameNodes of HopsFS do",
                    "write hopsfs:// and give certificates: headrace doctor hopsfs",
                )
            return self._silent(error)

    def _secure(self, tls: TLS) -> Iterator[Check]:
        expected = tls.server_name or self._host
        try:
            hands = shake_hands(self._dial, tls, expected)
            if not hands.spoken:
                yield self._no_tls(hands.is_tls, hands.told)
                return
            missing = [version for version in hands.told if version not in hands.spoken]
            found = f"speaks TLS {' and '.join(hands.spoken)}{', not ' + missing[0] if missing else ''}"
            yield self._ok("TLS", found)
            shown = check_shown(self._name("certificate"), self._dial, tls, expected, hands.shown)
            self._trusted = shown.state != "fail"
            yield shown
        except TimeoutError:
            yield self._hangs("TLS", "did not finish the TLS handshake")
            return
        except OSError as error:
            yield self._fail("TLS", f"cannot be tried with these certificates: {_said(error)}", None)
            return
        if self._tries(self._speaks_plainly):
            yield Check(
                self._name("RPC without TLS"),
                "warn",
                "is answered, too",
                "calls can be made there without a certificate: ipc.server.ssl.enabled in its core-site.xml forbids it",
            )
        else:
            yield self._ok("RPC without TLS", "is not answered: TLS comes first")
        try:
            yield self._served(lambda: wrap(self._dial, client(tls, verify=None), expected))
        except (NotRpc, OSError) as error:
            if isinstance(error, ssl.SSLError) and is_about_ours(error):
                yield self._fail(
                    "RPC",
                    f"does not take our certificate: {error.reason}",
                    "is the certificate of this cluster, not expired and not revoked?",
                    TLSError.exit_code,
                )
                return
            yield self._silent(error)

    def _served(self, connect: Callable[[], socket.socket]) -> Check:
        """Whether it answers a call. Raises NotRpc, OSError."""
        try:
            with connect() as connection:
                NameNodeRpc(connection, self._user).status("/")
        except Refused as refusal:
            return self._refused(refusal)
        self._standing = "active"
        proof = "without a proof (SIMPLE)" if self._tls is None else "(SIMPLE, inside TLS)"
        return self._ok("RPC", f"active; takes calls of {self._user} {proof}")

    def _refused(self, refusal: Refused) -> Check:
        if refusal.kind in _STANDBY:
            self._standing = "standby"
            return self._ok("RPC", f"standby, as it says ({refusal.kind})")
        if refusal.kind in _STARTING:
            return self._fail("RPC", f"is starting: {refusal}", "wait until it has left safe mode")
        if refusal.kind == "AccessControlException" and refusal.fatal:
            return self._fail(
                "RPC",
                f"does not take calls of {self._user} without a proof: {refusal.message}",
                "with Kerberos, set hadoop.security.authentication=kerberos and run kinit: it was never tried here",
                AuthError.exit_code,
            )
        advice = f"HopsFS takes calls of the user whom the certificate names, and these are of {self._user}"
        return self._fail("RPC", f"refuses: {refusal}", advice if self._tls else None, AuthError.exit_code)

    def _no_tls(self, is_tls: bool, told: dict[str, OSError | None]) -> Check:
        if self._tries(self._speaks_plainly):
            return self._fail(
                "TLS", "does not speak TLS, and answers without it: it is of HDFS", "write hdfs://"
            )
        said = "; ".join(f"{version}: {_said(error)}" for version, error in told.items() if error)
        if is_tls:
            return self._fail("TLS", f"speaks neither TLS 1.2 nor 1.3 ({said})", "enable one of them there")
        return self._fail(
            "TLS",
            f"does not speak TLS ({said})",
            "is it the RPC port of a NameNode (mostly 8020)? Or does it refuse our certificate without a word?",
        )

    def _speaks_plainly(self, dial: Callable[[], socket.socket]) -> bool:
        try:
            with dial() as connection:
                NameNodeRpc(connection, self._user).status("/")
        except Refused:
            pass
        except (NotRpc, OSError):
            return False
        return True

    def _tries(self, ask: Callable[[Callable[[], socket.socket]], bool]) -> bool:
        """What is asked aside, and may wait for nothing."""
        return ask(lambda: self._dial(min(self._seconds, _ASIDE_SECONDS)))

    def _silent(self, error: Exception) -> Check:
        if isinstance(error, TimeoutError):
            return self._hangs("RPC", "gave no answer")
        return self._fail(
            "RPC",
            f"does not speak Hadoop's RPC: {_said(error)}",
            "name the RPC port of a NameNode (mostly 8020), not that of its web pages",
        )

    def _hangs(self, what: str, said: str) -> Check:
        advice = "it hangs, or something between holds its answers back; --timeout waits longer"
        return self._fail(what, f"{said} within {self._seconds:g} s", advice)

    def _dial(self, seconds: float | None = None) -> socket.socket:
        return socket.create_connection((self._host, self._port), seconds or self._seconds)

    def _name(self, what: str) -> str:
        return f"{self.address} {what}"

    def _ok(self, what: str, found: str) -> Check:
        return Check(self._name(what), "ok", found)

    def _fail(self, what: str, found: str, advice: str | None, code: int = Unavailable.exit_code) -> Check:
        return Check(self._name(what), "fail", found, advice, code)


def _said(error: Exception | None) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, ssl.SSLError) and error.reason:
        return error.reason
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
