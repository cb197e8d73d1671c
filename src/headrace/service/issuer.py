"""An issuer of tokens outside, whose JSON Web Tokens name users."""

from __future__ import annotations

import dataclasses

from headrace.errors import InvalidArgument

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""Of RFC 7518 and RFC 8037, those with a public key: whoever checks a token could make none."""

USUAL_ALGORITHMS = ("RS256", "ES256", "EdDSA")


@dataclasses.dataclass(frozen=True)
class Issuer:
    """Whose tokens a service takes.

    Args:
        keys: where the issuer's public keys are: a PEM file of one, a JWKS file (RFC 7517), or the address of a JWKS:
            https, or http within this machine.
        name: what `iss` must be.
        audience: what `aud` must be, or have among others.
        algorithms: by which tokens may be signed.
        user_claim: the claim that names the user.
    """

    keys: str
    name: str
    audience: str
    algorithms: tuple[str, ...] = USUAL_ALGORITHMS
    user_claim: str = "sub"

    def __post_init__(self) -> None:
        for what, option, value in (
            ("keys", "--jwt-keys with a PEM file, or a JWKS by file or https address", self.keys),
            ("issuer", "--jwt-issuer with what their iss is", self.name),
            ("audience", "--jwt-audience with what their aud is for this service", self.audience),
            ("claim for users", "--jwt-user-claim", self.user_claim),
        ):
            if not value:
                raise InvalidArgument(
                    f"JSON Web Tokens are taken without their {what}", hint=f"give {option}"
                )
        if not self.algorithms:
            raise InvalidArgument("JSON Web Tokens are taken, and no algorithm for them")
        for algorithm in self.algorithms:
            if algorithm not in ALGORITHMS:
                raise InvalidArgument(
                    f"{algorithm!r} signs no token that is taken", hint=f"use {', '.join(ALGORITHMS)}"
                )
