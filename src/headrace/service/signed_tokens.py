"""JSON Web Tokens (RFC 7519) that an issuer outside has signed. Needs PyJWT and cryptography."""

from __future__ import annotations

from typing import Any

import jwt

from headrace.errors import InvalidArgument, Unauthenticated
from headrace.model.right import check_user
from headrace.service.issuer import Issuer
from headrace.service.issuer_keys import PublicKey, keys_at

_LEEWAY_S = 30
"""By which clocks may differ."""


class SignedTokens:
    """Checks the tokens of one issuer.

    Raises:
        InvalidArgument: the issuer's keys cannot be used. Unavailable: they cannot be fetched.
    """

    def __init__(self, issuer: Issuer) -> None:
        self._issuer = issuer
        self._keys = keys_at(issuer.keys, issuer.algorithms)

    def user_of(self, text: str) -> str | None:
        """Whom a token names; None where it is none of the issuer's for this service, now.

        Raises:
            Unauthenticated: it has expired, and its signature is right.
        """
        try:
            header = jwt.get_unverified_header(text)
        except (jwt.PyJWTError, ValueError, RecursionError):
            return None
        algorithm, key_id = header.get("alg"), header.get("kid")
        # What a token says of itself chooses among what is allowed, and nothing more: RFC 8725, 3.1.
        if algorithm not in self._issuer.algorithms or "crit" in header:
            return None
        key = self._keys.find(algorithm, key_id)
        claims = None if key is None else self._checked(text, key, algorithm)
        return None if claims is None else _user(claims.get(self._issuer.user_claim))

    def _checked(self, text: str, key: PublicKey, algorithm: str) -> dict[str, Any] | None:
        issuer = self._issuer
        try:
            return jwt.decode(
                text,
                key,
                algorithms=[algorithm],
                issuer=issuer.name,
                audience=issuer.audience,
                leeway=_LEEWAY_S,
                options={"require": ["exp", "iss", "aud"]},
            )
        except jwt.ExpiredSignatureError:
            raise Unauthenticated("the token has expired", hint="have its issuer give another one") from None
        except (jwt.PyJWTError, ValueError, TypeError, OverflowError, RecursionError):
            return None


def _user(claim: object) -> str | None:
    try:
        return check_user(claim)
    except InvalidArgument:
        return None
