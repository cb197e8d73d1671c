"""What `format("headrace")` refuses, in errors that have a class of their own in Python, too."""

from __future__ import annotations

import pyarrow as pa
import pytest

import headrace as hr
from spark.served import number_of, source
from spark.spark import Spark, SparkError

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", autouse=True)
def delays(owner: hr.FeatureStore) -> None:
    """A group, `weather`, and a view of it, `delays`."""
    group = owner.create_feature_group("weather", primary_key=["id"])
    group.insert(pa.table({"id": [1, 2]}))
    owner.create_feature_view("delays", group.select("id"))


def options(url: str) -> str:
    return f"OPTIONS (target '{url}', group 'weather', token 'hr_secret')"


def tables(spark: Spark) -> list[str]:
    found: list[str] = spark.read("SHOW TABLES IN default")["tableName"].to_pylist()
    return found


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE kept USING headrace {}",
        "CREATE TABLE kept (id BIGINT) USING headrace {}",
        "CREATE TABLE IF NOT EXISTS kept USING headrace {}",
        "SELECT * FROM headrace.`weather`",
    ],
)
def test_no_table_of_a_catalog_is_made(spark: Spark, url: str, statement: str) -> None:
    with pytest.raises(SparkError, match=r"(?s)^AnalysisException.*CREATE TEMPORARY VIEW"):
        spark.run(statement.format(options(url)))
    assert "kept" not in tables(spark)


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE kept USING headrace {} AS SELECT 1 AS id",
        "INSERT OVERWRITE DIRECTORY 'none' USING headrace {} SELECT 1 AS id",
    ],
)
def test_nothing_is_written_by_sql(spark: Spark, url: str, statement: str) -> None:
    with pytest.raises(SparkError, match=r"(?s)^UnsupportedOperationException.*give the frame to insert\(\)"):
        spark.run(statement.format(options(url)))
    assert "kept" not in tables(spark)


@pytest.mark.parametrize("table", [None, "kept"])
def test_nothing_is_written(spark: Spark, url: str, table: str | None) -> None:
    with pytest.raises(SparkError, match=r"writes none: give the frame to insert\(\)"):
        spark.write("SELECT 1 AS id", source(url, group="weather"), table)
    assert "kept" not in tables(spark)


def test_a_view_of_the_session_is_made_by_sql(spark: Spark, url: str) -> None:
    spark.run(f"CREATE OR REPLACE TEMPORARY VIEW cold USING headrace {options(url)}")
    try:
        assert spark.read("SELECT * FROM cold WHERE id > 1").to_pylist() == [{"id": 2}]
    finally:
        spark.run("DROP VIEW cold")


@pytest.mark.parametrize(
    ("told", "said"),
    [
        (
            {"group": "none"},
            r"no feature group none .*weather.*; nor a view: .*no feature view none .*delays",
        ),
        ({"group": "none@v7"}, r"no feature group none@v7 .*; nor a view: .*no feature view none"),
        ({"view": "none@v1"}, r"no feature view none@v1 .*; nor a group: .*no feature group none .*weather"),
        (
            {"group": "delays@v1"},
            r'there is a feature view of this name: read it with \.option\("view", "delays"\)',
        ),
        ({"view": "weather"}, r'there is a feature group of this name: .*\.option\("group", "weather"\)'),
    ],
)
def test_a_name_that_is_not_there(spark: Spark, url: str, told: dict[str, str], said: str) -> None:
    with pytest.raises(SparkError, match=rf"(?s)^AnalysisException\nNOT_FOUND: .*{said}"):
        number_of(spark, source(url, **told))


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"group": "a", "view": "b"}, "were both given"),
        ({}, "give the option 'group'"),
        ({"path": "weather"}, "name a feature group by"),
        ({"group": "a", "pem_dir": "/x"}, "no option is named 'pem_dir'"),
        ({"group": "a", "timeout": "soon"}, "the option 'timeout' is a number"),
        ({"group": "a", "tls_cert": "x"}, "go together"),
        ({"group": "a", "tls_ca": "-----BEGIN"}, "'tls_ca' is a path, and not what the file holds"),
        ({"group": "a", "tls_ca": "x"}, "INVALID_ARGUMENT: .*is no grpc.tls:// address"),
        (
            {"group": "a", "project": "müller"},
            "the option 'project' is a name of .* and was 'müller'",
        ),
        (
            {"group": "a", "token": "tökén"},
            "the option 'token' is no token: .* in one line$",
        ),
        ({"group": "a", "token": " "}, "the option 'token' is no token"),
        (
            {"group": "a", "token": "t" * 7001},
            "'token' has 7001 characters, and 7000 can be sent$",
        ),
        ({"group": "none"}, r"NOT_FOUND: .*none.*\[request [0-9a-f]{16}\]"),
    ],
)
def test_what_cannot_be_read_is_said(spark: Spark, url: str, told: dict[str, str], said: str) -> None:
    with pytest.raises(SparkError, match=said):
        number_of(spark, source(url, **told))


def test_a_service_that_is_not_there_is_named(spark: Spark) -> None:
    with pytest.raises(
        SparkError,
        match=r"(?s)^AnalysisException.UNAVAILABLE: the service at grpc://127\.0\.0\.1:1 does not answer",
    ):
        number_of(spark, source("grpc://127.0.0.1:1", group="a"))
