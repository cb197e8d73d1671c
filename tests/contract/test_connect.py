"""Connecting to a store, and what a store is as an object."""

from __future__ import annotations

import shutil
import socket

import pytest

import headrace as hr
from conftest import fresh
from contract.helpers import WEATHER, frame, make_flights, make_weather, rows, values


def test_the_same_data_by_every_connection(target):
    project = fresh("project")
    with hr.connect(target, project=project) as first, hr.connect(target, project=project) as second:
        weather = make_weather(first, ("JFK", "10:00", 1.0))
        seen = second.get_feature_group("weather")
        assert values(seen.read(), "temp") == [1.0]
        seen.insert(frame(WEATHER, ("JFK", "11:00", 2.0)))
        assert sorted(values(weather.read(), "temp")) == [1.0, 2.0]
    with hr.connect(target, project=project) as third:
        assert len(rows(third.get_feature_group("weather").read())) == 2


def test_a_service_serves_the_same_store_as_a_folder(server):
    project = fresh("project")
    with server.connect(project=project) as remote, hr.connect(server.root, project=project) as embedded:
        make_weather(remote, ("JFK", "10:00", 1.0))
        embedded.get_feature_group("weather").insert(frame(WEATHER, ("JFK", "11:00", 2.0)))
        assert sorted(values(remote.get_feature_group("weather").read(), "temp")) == [1.0, 2.0]


def test_close_twice_is_no_error_and_use_after_it_is(target):
    store = hr.connect(target, project=fresh("project"))
    weather = make_weather(store)
    store.close()
    store.close()
    with pytest.raises(hr.HeadraceError):
        weather.read().to_arrow()
    with pytest.raises(hr.HeadraceError):
        store.list_feature_groups()


@pytest.mark.parametrize(
    ("target", "options", "told"),
    [
        ("localhost:8815", {}, "grpc://localhost:8815"),
        ("127.0.0.1:18815", {}, "grpc://127.0.0.1:18815"),
        (None, {}, "folder"),
        (b"lake", {}, "folder"),
        ("grpc://127.0.0.1:1/project", {}, "grpc://host:port"),
        ("grpc+tls://127.0.0.1:1", {"tls": "ca.pem"}, "headrace.TLS"),
        ("grpc://127.0.0.1:1", {"timeout": "5"}, "seconds"),
        ("grpcs://127.0.0.1:1", {}, "no store (give a local folder"),
        ("grpcs://127.0.0.1:1", {"timeout": 5}, "no store (give a local folder"),
        ("grpcs://127.0.0.1:1", {"token": "hr_x"}, "no store (give a local folder"),
        ("lake", {"timeout": 5}, "timeout is for a service"),
    ],
)
def test_what_is_meant_otherwise_is_refused(tmp_path, monkeypatch, target, options, told):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(hr.InvalidArgument) as caught:
        hr.connect(target, **options)
    assert told in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_store_whose_registry_is_elsewhere_says_so(tmp_path, monkeypatch):
    monkeypatch.delenv("HEADRACE_REGISTRY", raising=False)
    elsewhere = f"sqlite:///{tmp_path / 'registry.db'}"
    with hr.connect(tmp_path / "lake", registry=elsewhere) as store:
        make_weather(store, ("JFK", "10:00", 1.0))
    with pytest.raises(hr.InvalidArgument, match=r"registry\.db.*HEADRACE_REGISTRY"):
        hr.connect(tmp_path / "lake")
    with hr.connect(tmp_path / "lake", registry=elsewhere) as store:
        assert values(store.get_feature_group("weather").read(), "temp") == [1.0]


def test_a_store_whose_folder_was_removed_takes_no_more_writes(tmp_path):
    with hr.connect(tmp_path / "lake") as store:
        make_weather(store, ("JFK", "10:00", 1.0))
        shutil.rmtree(tmp_path / "lake")
        with pytest.raises(hr.Unavailable, match="removed"):
            store.create_feature_group("other", primary_key=["id"])
        with pytest.raises(hr.Unavailable, match="removed"):
            store.list_feature_groups()


def test_a_store_tells_what_it_is(target):
    project = fresh("project")
    with hr.connect(target, project=project) as store:
        assert store.project == project
        assert project in repr(store)
        assert str(target) in repr(store)


@pytest.mark.parametrize(
    "name",
    [
        "lake",
        "deep/er/lake",
        "my lake",
        "100% lake",
        "lake*",
        "{a,b}",
        "it's",
        'a"b',
        "名前",
        "a;b",
        "$HOME",
    ],
)
def test_a_folder_of_any_name_is_made(tmp_path, name):
    for given in (tmp_path / name, str(tmp_path / name)):
        with hr.connect(given) as store:
            weather = store.get_or_create_feature_group("weather", primary_key=["origin"], event_time="seen")
            weather.insert(frame(WEATHER, ("JFK", "10:00", 1.0)))
            weather.insert(frame(WEATHER, ("JFK", "10:00", 2.0)))
            assert values(weather.read(filter=weather["origin"] == "JFK"), "temp") == [2.0]
    assert (tmp_path / name).is_dir()


def test_a_name_is_no_pattern(tmp_path):
    """A folder beside that the name would match as a pattern is not read."""
    for name in ("lake", "l*e"):
        with hr.connect(tmp_path / name) as store:
            make_weather(store, ("JFK", "10:00", 1.0))
    shutil.rmtree(tmp_path / "lake")
    shutil.copytree(tmp_path / "l*e", tmp_path / "lake")
    with hr.connect(tmp_path / "l*e") as store:
        assert len(rows(store.get_feature_group("weather").read())) == 1


@pytest.mark.parametrize("name", ["100%25", "lake?", "la#ke", "lake[0]", "a^b", "a|b", "a\\b", "a\nb"])
def test_a_folder_that_no_table_can_lie_in_is_refused(tmp_path, name):
    with pytest.raises(hr.InvalidArgument, match="no folder of a store or a table may have in its name"):
        hr.connect(tmp_path / name)
    assert not any(tmp_path.iterdir())


def test_a_folder_in_words(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for target in ("./lake", "~/lake", f"file://{tmp_path}/la%6Be"):
        with hr.connect(target) as store:
            store.get_or_create_feature_group("weather", primary_key=["origin"])
    assert [entry.name for entry in tmp_path.iterdir()] == ["lake"]


def test_what_is_no_store_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("not a folder")
    for target in (tmp_path / "file", "ftp://somewhere/lake", "grpc://", ""):
        with pytest.raises((hr.InvalidArgument, hr.Unsupported)):
            hr.connect(target).list_feature_groups()


def test_a_service_that_does_not_answer_is_unavailable():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, and not listening: nobody answers, and nobody else can take it
        with pytest.raises(hr.Unavailable) as caught:
            hr.connect(f"grpc://127.0.0.1:{taken.getsockname()[1]}", timeout=5).list_feature_groups()
    assert caught.value.retryable


def test_errors_are_the_same_on_both_sides(store):
    """Type, code, message, hint and details cross the wire; a call that reached a service has its id."""
    flights = make_flights(store, (1, "11:00", "JFK", 0.0))
    with pytest.raises(hr.BadData) as caught:
        flights.insert(frame(flights.schema, (None, "11:00", "JFK", 0.0)))
    error = caught.value
    assert type(error) is hr.NullKeys
    assert error.code == "NULL_KEYS"
    assert error.message == "flights@v1: 'flight_id' is null in 1 row(s), first in row 0"
    assert error.details["problems"][0]["column"] == "flight_id"
    with pytest.raises(hr.NotFound) as caught:
        store.get_feature_group("weather")
    assert "weather" in caught.value.message
