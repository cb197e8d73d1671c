"""Tables that are held while nobody may take their files away."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

import pytest

from headrace.storage.local import LocalStorage
from headrace.storage.places import Places
from holder import Holder


@pytest.fixture
def storages(tmp_path: Path) -> Iterator[tuple[LocalStorage, LocalStorage]]:
    """Two of one folder, as two processes have them; with tables a and b."""
    for name in ("a", "b"):
        (tmp_path / "lake" / "p" / name).mkdir(parents=True)
    one, other = (LocalStorage(tmp_path / "lake", Places({}, None, None), no_hold) for _ in range(2))
    yield one, other
    one.close()
    other.close()


def no_hold(names: Iterable[str], *, alone: bool) -> AbstractContextManager[None]:
    raise AssertionError("folders of this machine have locks of their own")


@pytest.mark.parametrize("same", [True, False], ids=["one process", "two"])
def test_alone_or_together(storages: tuple[LocalStorage, LocalStorage], same: bool) -> None:
    one, other = storages[0], storages[0 if same else 1]
    with ThreadPoolExecutor(4) as threads:
        first = Holder(threads, partial(one.held, ["p/a", "p/b"], alone=False))
        second = Holder(threads, partial(other.held, ["p/b"], alone=False))
        assert first.has()
        assert second.has()
        alone = Holder(threads, partial(other.held, ["p/a"], alone=True))
        assert not alone.has(0.3)
        second.let_go()
        assert not alone.has(0.1)
        first.let_go()
        assert alone.has()
        late = Holder(threads, partial(one.held, ["p/b", "p/a"], alone=False))
        assert not late.has(0.3)
        alone.let_go()
        assert late.has()
        late.let_go()


def test_a_table_that_is_not_there(storages: tuple[LocalStorage, LocalStorage]) -> None:
    with storages[0].held(["p/a", "p/none"], alone=True), storages[1].held(["p/none"], alone=True):
        pass


def test_a_table_that_is_removed_meanwhile(storages: tuple[LocalStorage, LocalStorage]) -> None:
    with storages[0].held(["p/a"], alone=True):
        storages[1].remove("p/a")
        with storages[1].held(["p/a"], alone=True):
            pass


def test_an_error_lets_go(storages: tuple[LocalStorage, LocalStorage]) -> None:
    with pytest.raises(KeyError), storages[0].held(["p/a"], alone=True):
        raise KeyError
    with storages[1].held(["p/a"], alone=True):
        pass
