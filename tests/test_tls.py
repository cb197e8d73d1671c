"""Certificates as PEM files, before any is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.errors import InvalidArgument
from headrace.hopsfs import storage_options
from headrace.tls import TLS, given_tls

SECRET = "-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMGByqGSM49\n-----END PRIVATE KEY-----\n"


class Odd:
    def __fspath__(self) -> bytes:
        return b"/pems"


@pytest.mark.parametrize("given", [5, b"/pems", Odd(), SECRET, Path(SECRET), SECRET.encode(), [SECRET]])
@pytest.mark.parametrize("name", ["ca", "cert", "key", "folder"])
def test_certificates_are_paths(name: str, given: object) -> None:
    """A key that is given by its text is not shown."""
    given_all = {"ca": "a", "cert": "c", "key": "k", name: given}
    with pytest.raises(InvalidArgument) as caught:
        TLS.from_dir(given) if name == "folder" else TLS(**given_all)  # type: ignore[arg-type]
    assert name in caught.value.message
    assert "MIGH" not in repr(caught.value.message) + repr(caught.value.details)


@pytest.mark.parametrize("given", [False, (), ("a", "b", SECRET), {"key": SECRET}, SECRET])
def test_what_is_no_certificates_is_not_shown(given: object) -> None:
    with pytest.raises(InvalidArgument, match=r"tls= is of type") as caught:
        given_tls(given)
    assert "MIGH" not in caught.value.message


def test_a_folder_of_certificates() -> None:
    found = TLS.from_dir("pems", server_name="nn", verify="chain")
    assert found == TLS(
        Path("pems/ca_chain.pem"),
        Path("pems/client_cert.pem"),
        Path("pems/client_key.pem"),
        server_name="nn",
        verify="chain",
    )
    with pytest.raises(InvalidArgument, match="verify='no'"):
        TLS.from_dir("pems", verify="no")  # type: ignore[arg-type]


def test_a_folder_is_no_certificates() -> None:
    with (
        pytest.raises(InvalidArgument, match=r"tls= is of type str"),
        storage_options("hopsfs://nn:8020", tls="/pems"),  # type: ignore[arg-type]
    ):
        pass
