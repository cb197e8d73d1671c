"""Tokens that name users, in the registry."""

from __future__ import annotations

import datetime as dt

import pytest
import rich.pretty
from sqlalchemy import text

from headrace.errors import LimitExceeded, NotFound, Unauthenticated
from headrace.registry import Registry
from headrace.registry.database import Database

DAY = dt.timedelta(days=1)
NONE = dt.timedelta(0)


def age(url: str) -> None:
    """As if a year had gone by since the tokens expired."""
    this = dt.datetime.now(dt.UTC).year
    database = Database(url)
    with database.writing() as connection:
        for year in (this, this + 1):
            change = "UPDATE access_token SET definition = replace(definition, :now, :then)"
            told = {"now": f'"expires":"{year}', "then": f'"expires":"{year - 2}'}
            connection.execute(text(change), told)
    database.close()


def test_a_token_names_its_user(registry: Registry) -> None:
    anna, ben = registry.create_token("anna", DAY, "laptop"), registry.create_token("ben", DAY, "")
    assert registry.token_user(anna.text) == "anna"
    assert registry.token_user(ben.text) == "ben"
    assert (anna.expires - anna.created, anna.description) == (DAY, "laptop")


def test_nobody_is_named_by_what_is_none(registry: Registry) -> None:
    anna, ben = registry.create_token("anna", DAY, ""), registry.create_token("ben", DAY, "")
    hr, own, secret = anna.text.split("_")
    for wrong in (
        "",
        own,
        secret,
        f"{hr}_{own}",
        f"{hr}_{own}_",
        f"{hr}_{own}_{secret[:-1]}",
        f"{hr}_{own}_{secret}0",
        f"{hr}_{own}_{secret.upper()}",
        f"{hr}_{own}_{'0' * 64}",
        f"{hr}_{'0' * 16}_{'0' * 64}",
        f"{hr}_{'0' * 16}_{secret}",
        f"{hr}_{ben.id}_{secret}",
        f"{anna.text}\n",
        f" {anna.text}",
        "x" * 100_000,
    ):
        assert registry.token_user(wrong) is None, wrong


def test_what_is_kept_makes_no_token(registry: Registry, url: str) -> None:
    made = registry.create_token("anna", DAY, "")
    secret = made.text.split("_")[2]
    with Database(url).reading() as connection:
        (row,) = connection.execute(text("SELECT * FROM access_token")).all()
    assert secret not in str(row)
    assert registry.token_user(f"hr_{made.id}_{row.digest}") is None


def test_the_secret_is_in_no_representation(registry: Registry) -> None:
    made = registry.create_token("anna", DAY, "")
    secret = made.text.split("_")[2]
    for told in (repr(made), str(made), f"{[made]}", rich.pretty.pretty_repr(made)):
        assert made.id in told
        assert secret not in told
    assert not hasattr(registry.list_tokens(None)[0], "text")


def test_secrets_are_long_and_never_the_same(registry: Registry) -> None:
    texts = {registry.create_token("anna", DAY, "").text for _ in range(20)}
    assert len({text.split("_")[1] for text in texts}) == 20
    assert len({bytes.fromhex(text.split("_")[2]) for text in texts}) == 20
    assert {len(bytes.fromhex(text.split("_")[2])) * 8 for text in texts} == {256}


def test_it_expires(registry: Registry) -> None:
    made = registry.create_token("anna", NONE, "")
    with pytest.raises(Unauthenticated, match=f"{made.id} has expired"):
        registry.token_user(made.text)
    assert registry.token_user(made.text[:-1] + ("0" if made.text[-1] != "0" else "1")) is None, (
        "who has not got it is not told that it has expired"
    )
    assert [token.id for token in registry.list_tokens(None)] == [made.id]


def test_revoked_is_as_if_it_had_never_been(registry: Registry, url: str) -> None:
    made = registry.create_token("anna", DAY, "")
    other = Registry.open(url)
    assert other.token_user(made.text) == "anna"
    registry.revoke_token(made.id, None)
    assert registry.token_user(made.text) is None
    assert other.token_user(made.text) is None, "at once, also for other services of the store"
    other.close()
    assert registry.list_tokens(None) == []
    with pytest.raises(NotFound):
        registry.revoke_token(made.id, None)


def test_each_their_own(registry: Registry) -> None:
    anna, ben = registry.create_token("anna", DAY, ""), registry.create_token("ben", DAY, "")
    assert [token.id for token in registry.list_tokens("anna")] == [anna.id]
    assert [token.id for token in registry.list_tokens(None)] == [anna.id, ben.id]
    with pytest.raises(NotFound) as others:
        registry.revoke_token(ben.id, "anna")
    with pytest.raises(NotFound) as absent:
        registry.revoke_token("0" * 16, "anna")
    assert others.value.message.replace(ben.id, "0" * 16) == absent.value.message
    registry.revoke_token(anna.id, "anna")


def test_a_user_has_so_many(registry: Registry, url: str) -> None:
    for _ in range(100):
        registry.create_token("anna", NONE, "")
    with pytest.raises(LimitExceeded, match="100"):
        registry.create_token("anna", DAY, "")
    registry.create_token("ben", DAY, "")
    age(url)
    made = registry.create_token("anna", DAY, "")
    assert [token.id for token in registry.list_tokens("anna")] == [made.id], "those long expired make room"
