"""JSON Web Tokens of an issuer outside: which are taken, and which are not."""

from __future__ import annotations

import base64
import hashlib
import hmac
import http.server
import json
import logging
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

import headrace as hr
from headrace.config import store_config
from headrace.service import issuer_keys
from headrace.service.door import Access, Door
from headrace.service.issuer import ALGORITHMS, Issuer
from headrace.service.signed_tokens import SignedTokens
from headrace.wiring import Service

HERE, ME = "https://issuer.example", "headrace"
Key = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey


@pytest.fixture(scope="module")
def keys() -> dict[str, Key]:
    return {
        "rsa": rsa.generate_private_key(65537, 2048),
        "rsa2": rsa.generate_private_key(65537, 2048),
        "weak": rsa.generate_private_key(65537, 1024),
        "ec": ec.generate_private_key(ec.SECP256R1()),
        "ec384": ec.generate_private_key(ec.SECP384R1()),
        "ed": ed25519.Ed25519PrivateKey.generate(),
    }


def pem(key: Key) -> bytes:
    return key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )


def jwk(key: Key, key_id: str | None, **more: object) -> dict[str, Any]:
    match key:
        case rsa.RSAPrivateKey():
            algorithm = "RS256"
        case ed25519.Ed25519PrivateKey():
            algorithm = "EdDSA"
        case _:
            algorithm = {256: "ES256", 384: "ES384"}[key.curve.key_size]
    told = jwt.get_algorithm_by_name(algorithm).to_jwk(key.public_key(), as_dict=True)
    return {**told, **({} if key_id is None else {"kid": key_id}), **more}


def jwks(*entries: dict[str, Any]) -> bytes:
    return json.dumps({"keys": entries}).encode()


def token(key: Key, algorithm: str, key_id: str | None = None, **claims: object) -> str:
    now = int(time.time())
    told = {"iss": HERE, "aud": ME, "sub": "anna", "exp": now + 600, "iat": now} | claims
    told = {name: value for name, value in told.items() if value is not None}
    return jwt.encode(told, key, algorithm, headers={} if key_id is None else {"kid": key_id})


def b64(data: bytes | object) -> str:
    raw = data if isinstance(data, bytes) else json.dumps(data).encode()
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def claims(**more: object) -> dict[str, object]:
    return {"iss": HERE, "aud": ME, "sub": "anna", "exp": int(time.time()) + 600, **more}


@pytest.fixture(scope="module")
def file(keys: dict[str, Key], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("keys") / "rsa.pem"
    path.write_bytes(pem(keys["rsa"]))
    return path


@pytest.fixture(scope="module")
def taker(file: Path) -> SignedTokens:
    return SignedTokens(Issuer(str(file), HERE, ME, ("RS256",)))


class TestClaims:
    def test_a_good_one_names_its_user(self, taker, keys) -> None:
        assert taker.user_of(token(keys["rsa"], "RS256")) == "anna"
        assert taker.user_of(token(keys["rsa"], "RS256", "whatever its issuer calls it")) == "anna"
        assert taker.user_of(token(keys["rsa"], "RS256", aud=["other", ME])) == "anna"
        soon = int(time.time()) + 10
        assert taker.user_of(token(keys["rsa"], "RS256", nbf=soon, iat=soon)) == "anna", "clocks differ"

    @pytest.mark.parametrize(
        "wrong",
        [
            {"aud": "other"},
            {"aud": ["other"]},
            {"aud": None},
            {"aud": []},
            {"aud": ""},
            {"iss": "https://issuer.example/"},
            {"iss": "https://other.example"},
            {"iss": None},
            {"iss": [HERE]},
            {"exp": None},
            {"exp": "never"},
            {"exp": float("inf")},
            {"exp": float("nan")},
            {"nbf": 4_000_000_000},
            {"nbf": "x"},
            {"iat": 4_000_000_000},
            {"iat": "x"},
            {"sub": None},
            {"sub": ""},
            {"sub": 5},
            {"sub": ["anna"]},
            {"sub": "a\nb"},
            {"sub": "x" * 256},
        ],
        ids=str,
    )
    def test_those_that_are_not_for_here_or_now(self, taker, keys, wrong) -> None:
        told = {name: value for name, value in claims(**wrong).items() if value is not None}
        signed = f"{b64({'alg': 'RS256', 'typ': 'JWT'})}.{b64(told)}"
        signature = jwt.get_algorithm_by_name("RS256").sign(signed.encode(), keys["rsa"])
        assert taker.user_of(f"{signed}.{b64(signature)}") is None

    def test_that_it_has_expired_is_told_to_whoever_has_it(self, taker, keys) -> None:
        past = int(time.time()) - 60
        with pytest.raises(hr.Unauthenticated, match="expired"):
            taker.user_of(token(keys["rsa"], "RS256", exp=past))
        assert taker.user_of(token(keys["rsa2"], "RS256", exp=past)) is None

    def test_another_claim_may_name_the_user(self, file, keys) -> None:
        other = SignedTokens(Issuer(str(file), HERE, ME, ("RS256",), "email"))
        assert other.user_of(token(keys["rsa"], "RS256", email="anna@x.org")) == "anna@x.org"
        assert other.user_of(token(keys["rsa"], "RS256")) is None


class TestSignatures:
    def test_another_key(self, taker, keys) -> None:
        assert taker.user_of(token(keys["rsa2"], "RS256")) is None

    def test_none(self, taker) -> None:
        for algorithm in ("none", "None", "NONE", "", None, 5, ["RS256"], {"RS256": 1}):
            assert taker.user_of(f"{b64({'alg': algorithm})}.{b64(claims())}.") is None
        assert taker.user_of(f"{b64({})}.{b64(claims())}.") is None

    @pytest.mark.parametrize("hash_name", ["256", "384", "512"])
    def test_the_public_key_as_a_secret(self, taker, keys, hash_name) -> None:
        for secret in (pem(keys["rsa"]), pem(keys["rsa"]).strip()):
            for algorithm in (f"HS{hash_name}", "RS256"):
                signed = f"{b64({'alg': algorithm})}.{b64(claims())}"
                mac = hmac.digest(secret, signed.encode(), getattr(hashlib, f"sha{hash_name}"))
                assert taker.user_of(f"{signed}.{b64(mac)}") is None

    def test_another_algorithm_of_the_same_key(self, taker, keys) -> None:
        """Also where the header tells a lie."""
        for algorithm in ("PS256", "RS384", "RS512"):
            made = token(keys["rsa"], algorithm)
            assert taker.user_of(made) is None
            _, body, _ = made.split(".")
            signed = f"{b64({'alg': 'RS256'})}.{body}"
            signature = jwt.get_algorithm_by_name(algorithm).sign(signed.encode(), keys["rsa"])
            assert taker.user_of(f"{signed}.{b64(signature)}") is None

    def test_a_key_of_its_own(self, taker, keys) -> None:
        """What a token brings as its key, or as the place of its key, is not looked at."""
        for extra in (
            {"jwk": jwk(keys["rsa2"], "x")},
            {"jku": "http://127.0.0.1:1"},
            {"x5u": "http://127.0.0.1:1"},
        ):
            made = jwt.encode(claims(), keys["rsa2"], "RS256", headers=extra)
            assert taker.user_of(made) is None

    @pytest.mark.parametrize("header", [{"crit": ["b64"], "b64": False}, {"crit": ["exp"]}, {"crit": []}])
    def test_what_must_be_understood(self, taker, keys, header) -> None:
        signed = f"{b64({'alg': 'RS256', **header})}.{b64(claims())}"
        signature = jwt.get_algorithm_by_name("RS256").sign(signed.encode(), keys["rsa"])
        assert taker.user_of(f"{signed}.{b64(signature)}") is None

    def test_a_curve_of_another_algorithm(self, keys, tmp_path) -> None:
        (tmp_path / "jwks").write_bytes(
            jwks(jwk(keys["ec384"], "a"), jwk(keys["ec"], "b"), jwk(keys["ed"], "c"))
        )
        taker = SignedTokens(Issuer(str(tmp_path / "jwks"), HERE, ME, ("ES256", "EdDSA")))
        assert taker.user_of(token(keys["ec"], "ES256", "b")) == "anna"
        assert taker.user_of(token(keys["ed"], "EdDSA", "c")) == "anna"
        assert taker.user_of(token(keys["ec384"], "ES384", "a")) is None
        for key_id in ("a", "c", "x"):
            assert taker.user_of(token(keys["ec"], "ES256", key_id)) is None

    @pytest.mark.parametrize(
        "garbage",
        [
            "", ".", "..", "...", "a.b.c", "hr_x", "e30.e30.e30", "\0.\0.\0", "é.é.é", "\ud800", "=" * 50,
            "x" * 100_000, "." * 10_000, f"{b64(b'[' * 50_000)}.{b64(b'{}')}.x", f"{b64([])}.{b64([])}.x",
            f"{b64('RS256')}.{b64({})}.x", f"{b64({'alg': 'RS256', 'kid': 5})}.{b64({})}.x",
            f"{b64({'alg': 'RS256', 'kid': None})}.{b64({})}.x", f"{b64({'alg': 'RS256', 'kid': {}})}.{b64({})}.x",
        ],
        ids=lambda text: ascii(text)[:20],
    )  # fmt: skip
    def test_garbage(self, taker, garbage) -> None:
        assert taker.user_of(garbage) is None

    def test_any_bit_of_it_counts(self, taker, keys) -> None:
        good = token(keys["rsa"], "RS256")
        for place in range(0, len(good) - 2, 7):
            other = "A" if good[place] not in "A." else "B"
            assert taker.user_of(good[:place] + other + good[place + 1 :]) is None, place


class TestIssuer:
    @pytest.mark.parametrize("algorithm", ["none", "HS256", "HS512", "rs256", "", "RSA", "ES256K"])
    def test_algorithms_that_are_refused(self, algorithm) -> None:
        with pytest.raises(hr.InvalidArgument, match="signs no token"):
            Issuer("keys.pem", HERE, ME, (algorithm,))

    @pytest.mark.parametrize("given", [("", HERE, ME), ("k", "", ME), ("k", HERE, ""), ("k", HERE, ME, ())])
    def test_half_of_one(self, given) -> None:
        with pytest.raises(hr.InvalidArgument, match="JSON Web Tokens are taken"):
            Issuer(*given)

    def test_every_algorithm_has_a_key(self, keys, tmp_path) -> None:
        made = {
            "R": keys["rsa"],
            "P": keys["rsa"],
            "ES256": keys["ec"],
            "ES384": keys["ec384"],
            "Ed": keys["ed"],
        }
        made["ES512"] = ec.generate_private_key(ec.SECP521R1())
        for algorithm in ALGORITHMS:
            key = next(key for name, key in made.items() if algorithm.startswith(name))
            (tmp_path / "key.pem").write_bytes(pem(key))
            taker = SignedTokens(Issuer(str(tmp_path / "key.pem"), HERE, ME, (algorithm,)))
            assert taker.user_of(token(key, algorithm)) == "anna", algorithm

    def test_without_its_library(self, tmp_path, file, monkeypatch) -> None:
        for module in ("signed_tokens", "issuer_keys"):
            monkeypatch.delitem(sys.modules, f"headrace.service.{module}", raising=False)
        monkeypatch.setitem(sys.modules, "jwt", None)
        access = Access(issuer=Issuer(str(file), HERE, ME))
        with pytest.raises(hr.MissingDependency) as caught:
            Service(store_config(str(tmp_path)), ["grpc://127.0.0.1:0"], access=access)
        assert "headrace[jwt]" in str(caught.value.hint)


class TestKeyFiles:
    @pytest.mark.parametrize("name", ["rsa", "ec", "ed"])
    def test_of_one_key(self, keys, tmp_path, name) -> None:
        (tmp_path / "key.pem").write_bytes(pem(keys[name]))
        algorithm = {"rsa": "RS256", "ec": "ES256", "ed": "EdDSA"}[name]
        taker = SignedTokens(Issuer(str(tmp_path / "key.pem"), HERE, ME))
        assert taker.user_of(token(keys[name], algorithm)) == "anna"

    @pytest.mark.parametrize(
        ("make", "told"),
        [
            (lambda keys: None, "cannot read"),
            (lambda keys: b"", "neither"),
            (lambda keys: b"\xff\xfe", "neither"),
            (lambda keys: b"[" * 100_000, "neither"),
            (lambda keys: b"{}", "neither"),
            (lambda keys: b'{"keys": 5}', "neither"),
            (lambda keys: b'{"keys": []}', "no key for RS256"),
            (lambda keys: b'{"keys": [5, {"kty": 5}, {"kty": "RSA"}]}', "no key for RS256"),
            (lambda keys: b"x" * 2_000_000, "more than"),
            (lambda keys: b"-----BEGIN PUBLIC KEY-----\ntorn\n-----END PUBLIC KEY-----\n", "no public key"),
            (lambda keys: pem(keys["weak"]), "2048"),
            (lambda keys: pem(keys["ec"]), "no key for RS256"),
            (lambda keys: jwks(jwk(keys["rsa"], "a", use="enc")), "no key for RS256"),
            (lambda keys: jwks(jwk(keys["rsa"], "a", key_ops=["sign"])), "no key for RS256"),
            (lambda keys: jwks(jwk(keys["rsa"], "a", alg="PS256")), "no key for RS256"),
            (
                lambda keys: jwks({"kty": "oct", "k": b64(b"x" * 32), "alg": "HS256", "kid": "a"}),
                "no key for RS256",
            ),
            (
                lambda keys: jwks({"kty": "oct", "k": b64(b"x" * 32), "alg": "RS256", "kid": "a"}),
                "no key for RS256",
            ),
            (lambda keys: jwks(*(jwk(keys["rsa"], str(i)) for i in range(101))), "more than 100"),
        ],
    )
    def test_that_cannot_be_used(self, keys, tmp_path, make, told) -> None:
        made = make(keys)
        if made is not None:
            (tmp_path / "keys").write_bytes(made)
        with pytest.raises(hr.InvalidArgument) as caught:
            SignedTokens(Issuer(str(tmp_path / "keys"), HERE, ME, ("RS256",)))
        assert told in str(caught.value)

    def test_a_private_key_is_not_read(self, keys, tmp_path) -> None:
        secret = keys["rsa"].private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        (tmp_path / "key.pem").write_bytes(secret)
        with pytest.raises(hr.InvalidArgument, match="private key"):
            SignedTokens(Issuer(str(tmp_path / "key.pem"), HERE, ME))

    def test_rotated(self, keys, tmp_path, caplog) -> None:
        path = tmp_path / "keys"
        path.write_bytes(jwks(jwk(keys["rsa"], "old")))
        taker = SignedTokens(Issuer(str(path), HERE, ME))
        old, new = token(keys["rsa"], "RS256", "old"), token(keys["rsa2"], "RS256", "new")
        assert (taker.user_of(old), taker.user_of(new)) == ("anna", None)
        path.write_bytes(jwks(jwk(keys["rsa"], "old"), jwk(keys["rsa2"], "new")))
        assert (taker.user_of(old), taker.user_of(new)) == ("anna", "anna")
        path.write_bytes(b"torn")
        with caplog.at_level(logging.WARNING):
            assert (taker.user_of(old), taker.user_of(new)) == ("anna", "anna")
            assert taker.user_of(old) == "anna"
        assert len(caplog.records) == 1
        path.write_bytes(jwks(jwk(keys["rsa2"], "new")))
        assert (taker.user_of(old), taker.user_of(new)) == (None, "anna")

    def test_without_an_id_one_alone_can_be_meant(self, keys, tmp_path) -> None:
        path = tmp_path / "keys"
        path.write_bytes(jwks(jwk(keys["rsa"], None), jwk(keys["ec"], "e")))
        taker = SignedTokens(Issuer(str(path), HERE, ME))
        assert taker.user_of(token(keys["rsa"], "RS256")) == "anna"
        assert taker.user_of(token(keys["ec"], "ES256")) == "anna"
        path.write_bytes(jwks(jwk(keys["rsa"], "a"), jwk(keys["rsa2"], None)))
        assert taker.user_of(token(keys["rsa"], "RS256")) is None
        assert taker.user_of(token(keys["rsa2"], "RS256", "x")) is None
        assert taker.user_of(token(keys["rsa"], "RS256", "a")) == "anna"


class Web:
    """Gives what `answer` holds, and counts who asks."""

    def __init__(self) -> None:
        self.answer: tuple[int, dict[str, str], bytes] = (200, {}, b"")
        self.asked = 0
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.asked += 1
                status, headers, body = outer.answer
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(
            target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        ).start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/jwks"


@pytest.fixture
def web() -> Iterator[Web]:
    web = Web()
    yield web
    web.server.shutdown()
    web.server.server_close()


class TestKeyAddresses:
    @pytest.fixture
    def later(self, monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
        """Lets time go by."""
        real, gone = time.monotonic, [0.0]
        monkeypatch.setattr(issuer_keys.time, "monotonic", lambda: real() + gone[0])

        def wait(seconds: float) -> None:
            gone[0] += seconds

        return wait

    def test_a_new_key_is_asked_for(self, keys, web, later) -> None:
        web.answer = (200, {}, jwks(jwk(keys["rsa"], "old")))
        taker = SignedTokens(Issuer(web.url, HERE, ME))
        old, new = token(keys["rsa"], "RS256", "old"), token(keys["rsa2"], "RS256", "new")
        assert [taker.user_of(old) for _ in range(20)] == ["anna"] * 20
        assert web.asked == 1
        web.answer = (200, {}, jwks(jwk(keys["rsa"], "old"), jwk(keys["rsa2"], "new")))
        later(11)
        assert taker.user_of(new) == "anna"
        assert web.asked == 2

    def test_made_up_ids_ask_not_too_often(self, keys, web, later) -> None:
        web.answer = (200, {}, jwks(jwk(keys["rsa"], "old")))
        taker = SignedTokens(Issuer(web.url, HERE, ME))
        for number in range(50):
            assert taker.user_of(token(keys["rsa2"], "RS256", str(number))) is None
        later(11)
        for number in range(50):
            assert taker.user_of(token(keys["rsa2"], "RS256", str(number))) is None
        assert web.asked == 2

    def test_a_key_that_is_gone(self, keys, web, later) -> None:
        web.answer = (200, {}, jwks(jwk(keys["rsa"], "old")))
        taker = SignedTokens(Issuer(web.url, HERE, ME))
        old = token(keys["rsa"], "RS256", "old")
        web.answer = (200, {}, jwks(jwk(keys["rsa2"], "new")))
        assert taker.user_of(old) == "anna"
        later(301)
        assert taker.user_of(old) is None

    @pytest.mark.parametrize(
        "answer", [(500, {}, b""), (200, {}, b"torn"), (302, {"Location": "/jwks"}, b"")]
    )
    def test_nobody_answers(self, keys, web, later, caplog, answer) -> None:
        web.answer = (200, {}, jwks(jwk(keys["rsa"], "old")))
        taker = SignedTokens(Issuer(web.url, HERE, ME))
        old = token(keys["rsa"], "RS256", "old")
        web.answer = answer
        later(1800)
        assert taker.user_of(old) == "anna"
        later(3600)
        with caplog.at_level(logging.WARNING):
            taker.user_of(old)
        assert "stay as they were" in caplog.text
        assert taker.user_of(old) is None, "an hour is long enough to go on with old ones"

    @pytest.mark.parametrize(
        ("answer", "kind"),
        [
            ((500, {}, b""), hr.Unavailable),
            ((302, {"Location": "http://127.0.0.1:1/"}, b""), hr.Unavailable),
            ((200, {}, b"torn"), hr.InvalidArgument),
            ((200, {}, b"x" * 2_000_000), hr.InvalidArgument),
        ],
    )
    def test_that_gives_none(self, web, answer, kind) -> None:
        web.answer = answer
        with pytest.raises(kind):
            SignedTokens(Issuer(web.url, HERE, ME))

    @pytest.mark.parametrize(
        "url",
        ["http://issuer.example/jwks", "http://10.0.0.1/jwks", "file:///etc/passwd", "ftp://127.0.0.1/x", "https://",
         "https://user:hidden@issuer.example/jwks"],
    )  # fmt: skip
    def test_that_is_not_asked(self, url) -> None:
        with pytest.raises(hr.InvalidArgument) as caught:
            SignedTokens(Issuer(url, HERE, ME))
        assert "hidden" not in str(caught.value)

    def test_who_does_not_answer_in_time(self, web, monkeypatch) -> None:
        monkeypatch.setattr(issuer_keys, "_TIMEOUT_S", 0.2)
        silent = http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)
        with pytest.raises(hr.Unavailable, match="timed out"):
            SignedTokens(Issuer(f"http://127.0.0.1:{silent.server_address[1]}/", HERE, ME))
        silent.server_close()


class TestAtTheDoor:
    def test_both_kinds(self, file, keys, tmp_path) -> None:
        access = Access(tokens=True, issuer=Issuer(str(file), HERE, ME))
        with hr.connect(tmp_path / "lake") as owner:
            for user in ("anna", "ben"):
                owner.grants.add(user, "reader")
            issued = owner.tokens.create("ben").text
        service = Service(store_config(str(tmp_path / "lake")), ["grpc://127.0.0.1:0"], access=access)
        url = service.listening[0]
        for text, user in ((token(keys["rsa"], "RS256"), "anna"), (issued, "ben")):
            with hr.connect(url, token=text, timeout=60) as store:
                assert [grant.user for grant in store.grants.list()] == [user]
        told = set()
        for text in (
            token(keys["rsa2"], "RS256"),
            token(keys["rsa"], "RS256", aud="x"),
            "x.y.z",
            f"hr_{'0' * 16}_{'0' * 64}",
        ):
            with pytest.raises(hr.Unauthenticated) as caught:
                hr.connect(url, token=text, timeout=60)
            told.add(str(caught.value))
        assert len(told) == 1
        service.stop()

    def test_one_kind_alone(self, file, keys) -> None:
        signed = Door(
            Access(issuer=Issuer(str(file), HERE, ME)), [SignedTokens(Issuer(str(file), HERE, ME)).user_of]
        )
        assert signed.user(b"ben", [f"Bearer {token(keys['rsa'], 'RS256')}"]) == "anna"
        assert signed.user(b"ben", [f"bearer {token(keys['rsa'], 'RS256')}"]) == "anna"
        with pytest.raises(hr.Unauthenticated):
            signed.user(b"ben", [])
