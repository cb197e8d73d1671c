"""SQL that is made to hurt: what it may not say has an error and no effect, what does no harm its rows.

The statements are in `hostile_statements`.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import headrace as hr
from conftest import fresh, start_server
from contract.hostile_statements import ANSWERED, GIVEN, REFUSED
from headrace.config import store_config
from headrace.engine.duck import Engine
from headrace.registry.registry import Registry

pytestmark = pytest.mark.local_files

ROWS = pa.table({"id": [1, 2, 3], "x": [1.0, 2.0, 3.0], "name": ["a", "b", "c"]})
# What a refusal may be: none that says that the store, the service or its own statements are at fault.
MAY_BE = (hr.SqlRejected, hr.InvalidArgument, hr.NotFound, hr.LimitExceeded, hr.Unsupported)
CANARY = "canary-that-nobody-reads"
SECRET = "secret-of-the-environment"
BOMB_S = 12.0


class Surroundings:
    """Files around a store, of which nothing may come out, and among which nothing may come to be."""

    def __init__(self, root: Path, outside: Path) -> None:
        self.root = root
        self._folders = [root, root.parent, outside]
        for folder in self._folders:
            (folder / "canary.txt").write_text(f"{CANARY}\n")
            pq.write_table(pa.table({CANARY: [CANARY]}), folder / "canary.parquet")
        self._outside = outside
        self.expect()

    def filled(self, statement: str, folder: int = 0) -> str:
        """A statement of the tables, about the files of one of the folders."""
        where = self._folders[folder]
        for name, value in {
            "canary": where / "canary.txt",
            "parquet": where / "canary.parquet",
            "folder": where,
            "written": self._outside / "written",
        }.items():
            statement = statement.replace(f"{{{name}}}", str(value))
        return statement.replace("{{", "{").replace("}}", "}")

    def expect(self) -> None:
        """From now on, what is there is no harm."""
        self._before = self._files()

    def new_files(self) -> set[Path]:
        return self._files() - self._before

    def _files(self) -> set[Path]:
        """All but those that the store itself works with."""
        found = (path for folder in (self.root.parent, self._outside) for path in folder.rglob("*"))
        return {path for path in found if ".headrace" not in path.parts}


class Target:
    """A store with a group of three rows, and what no answer of it may hold."""

    def __init__(self, store: hr.FeatureStore, root: Path, outside: Path) -> None:
        self.store = store
        self.group = store.create_feature_group("numbers", primary_key=["id"])
        self.group.insert(ROWS)
        with contextlib.closing(Registry.open(store_config(str(root)).registry)) as registry:
            key = registry.secret("tickets")
        self._kept = [CANARY, SECRET, key.hex(), repr(key)]
        self.ask("SELECT count(*) AS n FROM numbers")  # which makes the folders that queries need
        self.around = Surroundings(root, outside)

    def ask(self, sql: str, params: object = None) -> tuple[pa.Table | None, BaseException | None]:
        try:
            return self.store.sql(sql, params).to_arrow(), None
        except Exception as error:
            return None, error

    def leaks(self, table: pa.Table | None, error: BaseException | None) -> list[str]:
        details = getattr(error, "details", None)
        told = repr((table and (table.schema, table.to_pylist()), error, str(error), details))
        return [kept for kept in self._kept if kept in told]

    def check_unharmed(self) -> None:
        """Raises AssertionError if anything is as it was not before."""
        assert not self.around.new_files()
        assert self.group.read().to_arrow().sort_by("id").equals(ROWS.cast(self.group.schema))
        assert len(self.group.history()) == 1
        answer, error = self.ask("SELECT count(*) AS n, sum(x) AS s FROM numbers")
        assert error is None
        assert answer is not None
        assert answer.to_pylist() == [{"n": 3, "s": 6.0}]


@pytest.fixture(scope="module")
def outside() -> Iterator[Path]:
    """A folder that is in none of the others'."""
    with tempfile.TemporaryDirectory(prefix="headrace-hostile") as folder:
        yield Path(folder)


@pytest.fixture(scope="module", params=["embedded", "remote"])
def target(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, outside: Path
) -> Iterator[Target]:
    """One for all statements, with folders of its own to look at."""
    folder = tmp_path_factory.mktemp("hostile")
    root = folder / "lake"
    with contextlib.ExitStack() as stack, pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOSTILE_SECRET", SECRET)
        if request.param == "remote":
            limits = ["--query-memory", "256MB", "--query-disk", "64MB", "--query-seconds", "3"]
            server = start_server(root, folder / "log", *limits)
            stack.callback(server.stop)
            store = stack.enter_context(server.connect(timeout=BOMB_S))
        else:
            store = stack.enter_context(hr.connect(root))
        yield Target(store, root, outside)


@pytest.mark.parametrize("family", REFUSED)
def test_statements_that_have_no_place(target: Target, family: str) -> None:
    wrong = []
    for number, statement in enumerate(REFUSED[family]):
        sql = target.around.filled(statement, number % 3)
        answer, error = target.ask(sql)
        if not isinstance(error, MAY_BE) or target.leaks(answer, error) or "Traceback" in str(error):
            wrong.append((statement[:200], repr(error or answer)[:500], target.leaks(answer, error)))
    assert not wrong
    target.check_unharmed()


@pytest.mark.parametrize("family", ANSWERED)
def test_statements_that_do_no_harm(target: Target, family: str) -> None:
    wrong = []
    for statement, rows in ANSWERED[family]:
        answer, error = target.ask(target.around.filled(statement))
        expected = [tuple(target.around.filled(v) if isinstance(v, str) else v for v in row) for row in rows]
        found = None if answer is None else [tuple(row.values()) for row in answer.to_pylist()]
        if found != expected:
            wrong.append((statement[:200], repr(error or found)[:500]))
    assert not wrong
    target.check_unharmed()


def test_parameters_that_carry_something_else(target: Target) -> None:
    wrong = []
    for statement, value in GIVEN:
        given = target.around.filled(value) if isinstance(value, str) else value
        answer, error = target.ask(statement, [given])
        if not isinstance(error, MAY_BE) or target.leaks(answer, error):
            wrong.append((statement, value, repr(error or answer)[:500]))
    assert not wrong
    target.check_unharmed()


def test_parameters_are_what_they_are(target: Target) -> None:
    """Each statement as a value: it comes back, and is not run."""
    texts = [target.around.filled(sql) for sqls in REFUSED.values() for sql in sqls if len(sql) < 1_000]
    texts = [sql for sql in texts if "\0" not in sql and sql.isprintable()]
    assert len(texts) > 300
    for start in range(0, len(texts), 100):
        some = texts[start : start + 100]
        answer, error = target.ask("SELECT " + ", ".join(f"? AS c{n}" for n in range(len(some))), some)
        assert error is None
        assert answer is not None
        assert list(answer.to_pylist()[0].values()) == some
    target.check_unharmed()


def test_views_within_views(target: Target) -> None:
    """The rows of views are computed beforehand: no name of one leads into what it is made of."""
    store = target.store
    timed = store.create_feature_group(fresh("timed"), primary_key=["id"], event_time="at")
    timed.insert([{"id": 1, "at": dt.datetime(2026, 1, 1, tzinfo=dt.UTC), "secret": CANARY}])
    view = store.create_feature_view(fresh("view"), timed.select("id"))
    target.around.expect()
    for sql in (
        f"SELECT secret FROM {view.name}",
        f"SELECT {timed.name}.secret FROM {view.name}",
        f"WITH {timed.name} AS (SELECT * FROM {view.name}) SELECT secret FROM {timed.name}",
        f"SELECT * FROM __headrace_{view.name.encode().hex()}_rows",
    ):
        answer, error = target.ask(sql)
        assert isinstance(error, MAY_BE), sql
        assert not target.leaks(answer, error), sql
    target.check_unharmed()


@pytest.fixture(scope="module")
def sealed_surroundings(tmp_path_factory: pytest.TempPathFactory, outside: Path) -> Surroundings:
    folder = tmp_path_factory.mktemp("sealed")
    (folder / "lake" / "table").mkdir(parents=True)
    return Surroundings(folder / "lake", outside)


@pytest.fixture(scope="module")
def run_sealed(
    sealed_surroundings: Surroundings, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[..., str]]:
    folder = sealed_surroundings.root / "table"
    pq.write_table(pa.table({"x": [1, 2]}), folder / "a.parquet")
    sealed_surroundings.expect()
    spill = tmp_path_factory.mktemp("spill")
    engine = Engine(memory_limit="100MB", threads=1, spill=spill, seals=True)

    def run(statement: str) -> str:
        """What it gives, or why not."""
        session = engine.open_for_user([str(folder)])
        try:
            session.execute("CREATE TEMP VIEW numbers AS SELECT 1 AS id, 1.0 AS x, 'a' AS name")
            return repr(session._connection.execute(statement).fetchall())
        except (duckdb.Error, ValueError, RuntimeError) as error:
            return f"{type(error).__name__}: {error}"
        finally:
            session.close()

    yield run
    engine.close()


class TestSealed:
    """The engine itself, as it is when the check of statements had let everything through."""

    @pytest.mark.parametrize(
        "family",
        ["file functions", "replacement scans", "files and databases", "settings", "statements within texts",
         "calls in a chain", "nested queries", "functions by whole names", "several statements"],
    )  # fmt: skip
    def test_statements_that_no_check_let_through(
        self, sealed_surroundings: Surroundings, run_sealed: Callable[..., str], family: str
    ) -> None:
        wrong = []
        for number, statement in enumerate(REFUSED[family]):
            if "RECURSIVE" in statement:  # which ends with the memory
                continue
            told = run_sealed(sealed_surroundings.filled(statement, number % 3))
            if CANARY in told or "root:" in told:
                wrong.append((statement, told[:300]))
        assert not wrong
        assert not sealed_surroundings.new_files()
        assert run_sealed(
            "SELECT current_setting('enable_external_access'), current_setting('lock_configuration')"
        ) == ("[(False, True)]")
