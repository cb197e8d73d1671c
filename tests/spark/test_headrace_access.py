"""`format("headrace")` at services that ask who calls: certificates, tokens and grants."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import headrace as hr
from headrace.config import store_config
from headrace.service.door import Access
from headrace.wiring import Service
from service.certificates import Authority
from spark.served import number_of, plan, source
from spark.spark import Spark, SparkError

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def pems(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With `client_cert.pem` of anna, and of the authority that has signed it all."""
    folder = tmp_path_factory.mktemp("pems")
    authority = Authority(folder, "ca_chain")
    authority.issue("service")
    for file, name in zip(authority.issue("anna", []), ("client_cert.pem", "client_key.pem"), strict=True):
        file.rename(folder / name)
    stranger = Authority(folder, "stranger")
    stranger.issue("eve", [])
    return folder


@pytest.fixture(scope="module")
def guarded(owner: hr.FeatureStore, lake: Path, pems: Path) -> Iterator[list[str]]:
    """A service whose callers show a certificate at the first address, and a token at the second."""
    owner.get_or_create_feature_group("secrets", primary_key=["id"]).insert(
        pa.table({"id": [1, 2], "public": ["p1", "p2"], "secret": [0.5, 1.5]})
    )
    owner.grants.add("anna", "reader", group="secrets", columns=["public"])
    identity = hr.TLS(None, pems / "service.pem", pems / "service.key")
    secure = "grpc+tls://127.0.0.1:0"
    access = Access(pems / "ca_chain.pem", tokens=True)
    service = Service(store_config(str(lake)), [secure], identity, access, token_listen=[secure])
    yield service.listening
    service.stop()


def test_certificates_and_grants(
    spark: Spark, owner: hr.FeatureStore, guarded: list[str], pems: Path
) -> None:
    found = source(guarded[0], group="secrets", pems_dir=pems)
    shown = spark.read("SELECT * FROM t", views={"t": found})
    assert shown.schema.names == ["id", "public"]
    assert number_of(spark, found, "max(id)", "public = 'p2'") == 2
    with pytest.raises(SparkError, match="secret"):
        number_of(spark, found, "max(secret)")
    owner.get_or_create_feature_group("hidden", primary_key=["id"]).insert([{"id": 1}])
    for name in ("hidden", "absent"):
        with pytest.raises(SparkError, match=rf"NOT_FOUND: .*{name}"):
            number_of(spark, source(guarded[0], group=name, pems_dir=pems))


@pytest.mark.parametrize(
    ("files_of", "said"),
    [
        (("ca_chain.pem", "stranger.pem", "absent.key"), "TLS_ERROR: .*absent.key cannot be read"),
        (("ca_chain.pem", "ca_chain.pem", "ca_chain.pem"), "TLS_ERROR: .*ca_chain.pem holds no private key"),
        (("service.key", None, None), "TLS_ERROR: .*service.key holds no certificate"),
        (
            ("ca_chain.pem", "client_cert.pem", "service.key"),
            "TLS_ERROR: .*service.key is not the private key",
        ),
        (
            ("stranger.pem", "client_cert.pem", "client_key.pem"),
            "TLS_ERROR: the certificate of .* is refused.*stranger",
        ),
        (("ca_chain.pem", "eve.pem", "eve.key"), "TLS_ERROR: .* refuses the certificate in .*eve.pem"),
        (("ca_chain.pem", None, None), "UNAUTHENTICATED: .*asks for a certificate"),
    ],
)
def test_trouble_with_certificates_names_the_file(
    spark: Spark, guarded: list[str], pems: Path, files_of: tuple[str | None, ...], said: str
) -> None:
    told = zip(("tls_ca", "tls_cert", "tls_key"), files_of, strict=True)
    options = {name: pems / file for name, file in told if file is not None}
    with pytest.raises(SparkError, match=said):
        number_of(spark, source(guarded[0], group="secrets", **options))


def test_a_token_is_taken_and_never_shown(
    spark: Spark, owner: hr.FeatureStore, guarded: list[str], pems: Path
) -> None:
    token = owner.tokens.create("anna", expires="1d").text
    found = source(guarded[1], group="secrets", tls_ca=pems / "ca_chain.pem", token=token)
    assert number_of(spark, found, "max(id)") == 2
    # As it stands in the file that was made of it.
    line = source(guarded[1], group="secrets", tls_ca=pems / "ca_chain.pem", token=f"{token}\n")
    assert number_of(spark, line, "max(id)") == 2
    secret = token.rsplit("_", 1)[1]
    assert secret not in plan(spark, "SELECT * FROM t WHERE id > 1", found)
    bad = source(guarded[1], group="secrets", tls_ca=pems / "ca_chain.pem", token=f"{token}x")
    with pytest.raises(SparkError, match=r'UNAUTHENTICATED: .*\.option\("token"') as caught:
        number_of(spark, bad)
    assert secret not in str(caught.value)
    with pytest.raises(SparkError, match="could read the token") as caught:
        number_of(spark, source("grpc://example.org", group="secrets", token=token))
    assert secret not in str(caught.value)
    assert secret not in spark.log()
