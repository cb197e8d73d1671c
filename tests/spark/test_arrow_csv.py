"""`format("arrow")`: the rows of CSV files, as Spark's own reader gives them for the same options."""

from __future__ import annotations

import gzip
import random
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from spark.spark import Spark, SparkError, files

pytestmark = [pytest.mark.slow, pytest.mark.newest_line]

TEXTS = "a STRING, b STRING, c STRING, _corrupt_record STRING"

# One line each, for options that say what is special in them.
NASTY = [
    "a,b,c", "1,2,3", ",,", "a", "a,b", "a,b,c,d", "a,b,", ",", "", " ", "\t", " a , b , c ", "a,b,c ", "  ,  ,  ", " ,x, ",
    '"a","b","c"', '"a,1","b","c"', '"","",""', 'a,"",c', '"",b,', '"a""b",c,d', '"a\\"b",c,d', '"a\\\\",b,c', '"a\\\\\\"",b,c',
    '"a\\b",c,d', 'a"b,c"d,e', 'a,b"', 'a,"b', '"', '""', '"""', '""""', '"a" ,"b"\t, "c"', '"a"x,b,c', '"a" x,b,c', '"a"b"c",d,e',
    '"a"b,"c"d,"e"f', '"a,b,c', 'a,"b,c', '"a,""b,c', '"a\\', '"a\\"', '"a"\\,b,c', '"a"\\"b",c', "a\\,b,c", "\\,\\\\,\\a", "#a,b,c",
    ' #a,b,c', 'x,#y,z', "'a','b,c',d", "a;b;c", "a;b,c;d", "a\tb\tc", "a|b|c", "ä,ö,∑🚢", '"ä","ö,ö","∑🚢"', "x,NA,NULL", '"NA",NA,""',
    "a,b,c\x0b", "\x00,a,b", "a,\x01,b", "\u00a0,b,\u2003", "~a~,~b,c~,d", "~a^~b~,c,~^^~", '"a"",b,c', '"x" "y",z,w', ',"a\nb",',
    '"two\nlines",b,c', '"a\r\nb",c,d', "last,line,",
]  # fmt: skip

DIALECTS: list[dict[str, object]] = [
    {},
    {"header": True},
    {"escape": '"'},
    {"sep": ";", "quote": "'"},
    {"sep": "\\t", "escape": ""},
    {"delimiter": "|", "quote": ""},
    {"quote": "~", "escape": "^", "nullValue": "NA"},
    {"comment": "#", "nullValue": "NULL", "emptyValue": "empty"},
    {"ignoreLeadingWhiteSpace": True, "emptyValue": "empty"},
    {"ignoreTrailingWhiteSpace": True, "emptyValue": "empty"},
    {"ignoreLeadingWhiteSpace": True, "ignoreTrailingWhiteSpace": True, "comment": "#"},
    {"multiLine": True},
    {"multiLine": True, "escape": '"', "header": True, "comment": "#", "ignoreLeadingWhiteSpace": True},
    {"columnPruning": False},
]

VALUES = {
    "BOOLEAN": ["true", "FALSE", "True", "t", "1", "yes", " true"],
    "TINYINT": ["1", "-128", "128", "+7", "007", "1.0", "", " 1", "-", "--1"],
    "SMALLINT": ["32767", "-32769", "1e2"],
    "INT": ["2147483647", "2147483648", "-2147483648", "00000000000000000000005", "0x10"],
    "BIGINT": ["9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809", "1L"],
    "FLOAT": ["1.1", "16777217", "3.4028236e38", "1e-46", "NaN", "Inf", "-Inf", "+Inf", "0x1.8p3", "1f", " 2.5 ", "1.17549429e-38"],
    "DOUBLE": [
        "0.1", "-0", "1.7976931348623157e308", "1e309", "5e-324", "2e-324", "9007199254740993", "123456789012345678901234567890",
        "NaN", "Infinity", "-Infinity", "+Infinity", "inf", "nan", "1.", ".5", ".", "1e", "1e+5", "1E-5", "1d", "0x1p-3", "0x.8p1", "1_0",
        " 1 ", "1 2", "--1", "0.3333333333333333", "179769313486231570000000000000000000000", "4.35", "0.000001", "1e23", "8.5e22",
    ],
    "DECIMAL(5,2)": ["1.005", "-1.005", "999.994", "999.995", "1e2", "1E-3", "1,234", "12.3.4", "", ".5", "5.", "+.5", "0.004999", "e", "1e999", "0e99"],
    "DECIMAL(38,10)": ["1234567890123456789012345678.0123456789", "12345678901234567890123456789", "-0.00000000005", "1e27", "9.99999999995"],
    "DECIMAL(20,0)": ["99999999999999999999.4", "99999999999999999999.5", "18446744073709551616", "1e19", "000000000000000000000000001"],
    "DATE": [
        "2013-01-31", "2013-02-29", "2012-02-29", "1900-02-29", "0001-01-01", "9999-12-31", "abcd-01-01", "", "2013-13-01", "2013-00-10",
        "20130101", "x", "-0044-03-15", "2013-01-01 12:00:00", "2013-01-01T", "1582-10-10", "+12345-01-01",
    ],
    "TIMESTAMP": [
        "2013-01-31 12:34:56", "2013-01-31T12:34:56", "2013-01-31 12:34:56.7", "2013-01-31 12:34:56.123456789", "2013-01-31", "2013", "2013-1",
        "2013-1-2 3:4:5", "2013-01-31 24:00:00", "2013-01-31 12:34", "2013-01-31 12", "2013-01-31T12:34:56Z", "2013-01-31T12:34:56+01:00",
        "2013-01-31T12:34:56.5-0130", "2013-01-31 12:34:56 UTC+2", "2013-01-31 12:34:56+19:00", "2013-03-10 02:30:00", "2013-11-03 01:30:00",
        "2500-07-01 00:00:00", "1850-07-01 00:00:00", "2013-01-31 12:34:56GMT", "2013-01-31T12:34:56 +1:00", "999999-01-01 00:00:00", "x", "12345678",
        "2013-01-31 12:34:56.", "2013-01-31 12:34Z", "-0001-01-01 00:00:00", "3013-07-01 12:00:00", "2013-01-31 12:34:56+1:2",
    ],
    "TIMESTAMP_NTZ": ["2013-01-31 12:34:56", "2013-01-31", "2013-01-31 12:34:56Z", "2013-03-10 02:30:00", "12:34:56", "2013-01-31 12:34:56.000001"],
    "STRING": ["", '""', "äöü", "x y", "null"],
}  # fmt: skip


def same(
    spark: Spark, path: object, query: str = "SELECT * FROM {}", schema: str | None = None, **options: object
) -> pa.Table:
    """The answer of a query over files of CSV, which is for Spark's own reader the same."""
    views = {
        "ours": files(path, schema=schema, format="csv", **options),
        "theirs": files(path, kind="csv", schema=schema, **options),
    }
    ours, theirs = (spark.read(query.format(name), views=views) for name in views)
    assert ours.schema == theirs.schema
    alike(ours, theirs)
    return ours


def alike(ours: pa.Table, theirs: pa.Table) -> None:
    pairs = zip(plain(ours), plain(theirs), strict=False)
    told = [f"{one}\n{other}" for one, other in pairs if one != other]
    # In order, but for that of files.
    assert sorted(plain(ours)) == sorted(plain(theirs)), (
        f"{ours.num_rows} rows, and {theirs.num_rows}:\n" + "\n".join(told)
    )


def plain(table: pa.Table) -> list[str]:
    """Rows in a form that compares, in order: NaN with NaN as well, and times that Python has not."""
    for place, field in enumerate(table.schema):
        if pa.types.is_temporal(field.type):
            whole = pa.int32() if pa.types.is_date32(field.type) else pa.int64()
            table = table.set_column(place, field.name, table[place].cast(whole))
    return [repr(row) for row in table.to_pylist()]


def quoted(value: str) -> str:
    return f'"{value}"' if "," in value else value


@pytest.fixture
def corrected(spark: Spark) -> Iterator[Spark]:
    """Spark 3.5 would else break off at dates that Spark 2 read."""
    spark.run("SET spark.sql.legacy.timeParserPolicy=CORRECTED")
    yield spark
    spark.run("RESET spark.sql.legacy.timeParserPolicy")


@pytest.mark.sampled
@pytest.mark.parametrize("end", ["\n", pytest.param("\r\n", marks=pytest.mark.soak)])
@pytest.mark.parametrize("options", DIALECTS, ids=str)
def test_every_way_of_writing(spark: Spark, tmp_path: Path, options: dict[str, object], end: str) -> None:
    path = tmp_path / "t.csv"
    lines = NASTY
    if options.keys() == {"ignoreTrailingWhiteSpace", "emptyValue"}:
        lines = [line for line in NASTY if line[:1] > " "]  # Spark's own reader breaks off
    path.write_bytes(end.join(lines).encode())
    assert same(spark, path, schema=TEXTS, **options).num_rows > 40
    if "multiLine" not in options:
        same(spark, path, "SELECT b FROM {}", schema="a STRING, b STRING, c STRING", **options)
        same(spark, path, "SELECT count(*) FROM {}", schema=TEXTS, **options)
        same(spark, path, schema=TEXTS, mode="DROPMALFORMED", **options)


@pytest.mark.parametrize("zone", [pytest.param("UTC", marks=pytest.mark.soak), "America/New_York"])
def test_every_type(corrected: Spark, tmp_path: Path, zone: str) -> None:
    views = {}
    for place, (kind, values) in enumerate(VALUES.items()):
        path = tmp_path / f"{place}.csv"
        path.write_text("".join(f"{number},{quoted(value)}\n" for number, value in enumerate(values)))
        options = {"schema": f"n INT, v {kind}, _corrupt_record STRING", "timeZone": zone}
        views[f"ours{place}"] = files(path, format="csv", **options)
        views[f"theirs{place}"] = files(path, kind="csv", **options)
    for place in range(len(VALUES)):
        alike(*(corrected.read(f"SELECT * FROM {name}{place}", views=views) for name in ("ours", "theirs")))


def random_rows(seed: int, count: int) -> list[str]:
    """Lines of whatever bytes have a meaning, and of some that have none."""
    draw = random.Random(seed)
    parts = [
        "a",
        "b",
        "1",
        "-2.5",
        " ",
        ",",
        ",",
        ",",
        '"',
        '"',
        "\\",
        "é",
        "\t",
        "#",
        "2013-01-31",
        '""',
        "NaN",
    ]
    return ["".join(draw.choice(parts) for _ in range(draw.randrange(14))) for _ in range(count)]


@pytest.mark.parametrize("options", [{}, {"escape": '"'}, {"multiLine": True, "header": True}], ids=str)
def test_random_rows(corrected: Spark, tmp_path: Path, options: dict[str, object]) -> None:
    path = tmp_path / "t.csv"
    path.write_text("\n".join(random_rows(20261125, 20_000)), newline="")
    schema = "a STRING, b DOUBLE, c STRING, d DATE, _corrupt_record STRING"
    assert same(corrected, path, schema=schema, **options).num_rows > 10_000
    assert same(corrected, path, schema=schema, mode="DROPMALFORMED", **options).num_rows > 10


@pytest.mark.sampled
@pytest.mark.parametrize("content", [
    b"a", b"a,b\n", b"\xef\xbb\xbfa,b\n1,2", b"a,A,,b\n1,2,3,4\n", b'"a b","c""d"\n1,2\n', b"a\n\n\n1\n\n2", b"\xff,b\n\xe2\x82,\xe4\n",
    b"a,b\r1,2\r3,4", b"\r\n\r\na\r\n1\r\n", b"x" * 600_000 + b"\n" + b"1" * 300_000 + b"\n2\n",
])  # fmt: skip
def test_names_and_odd_files(spark: Spark, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    for options in (
        {"header": True},
        {"header": False, "inferSchema": True},
        {"header": True, "multiLine": True},
    ):
        found = same(spark, path, **options)
        assert found.num_rows <= content.count(b"\n") + content.count(b"\r") + 1


def test_types_are_found_out(corrected: Spark, tmp_path: Path) -> None:
    columns = {
        "i": ["1", "", "-5"], "l": ["1", "2147483648", "3"], "dec": ["1", "92233720368547758080", "2"], "wide": ["1", "1" * 39, "2"],
        "dbl": ["1", "2.5", "3"], "exp": ["1", "1e400", "NaN"], "day": ["2013-01-31", "", "2012-02-29"], "ts": ["2013-01-31", "2013-01-31 12:00:00", ""],
        "time": ["12:30", "2013-01-31", "2013"], "flag": ["true", "FALSE", ""], "mix": ["true", "1", ""], "none": ["", "", ""], "text": ["1", "x", "2"],
        "neg": ["-1", "-9223372036854775809", "0"], "both": ["2013-01-31", "1", ""], "odd": ["1,5", "2", "3"], "year": ["2013-1-1", "2013-01-01", ""],
    }  # fmt: skip
    lines = [",".join(columns), *(",".join(map(quoted, row)) for row in zip(*columns.values(), strict=True))]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(lines))
    for options in ({}, {"preferDate": False}, {"nullValue": "1"}, {"header": False}):
        same(corrected, path, **{"header": True, "inferSchema": True, **options})
    corrected.run("SET spark.sql.timestampType=TIMESTAMP_NTZ")
    try:
        same(corrected, path, header=True, inferSchema=True)
    finally:
        corrected.run("RESET spark.sql.timestampType")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_each_line_is_read_once(spark: Spark, tmp_path: Path, end: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text("n,text\n" + "".join(f"{n},{'x' * (n % 50)}{end}" for n in range(5_000)), newline="")
    spark.run("SET spark.sql.files.maxPartitionBytes=9973", "SET spark.sql.files.openCostInBytes=0")
    try:
        views = {"t": files(path, schema="n INT, text STRING", header=True)}
        found = spark.read("SELECT n, length(text) AS long, spark_partition_id() AS part FROM t", views=views)
        assert sorted(found["n"].to_pylist()) == [*range(5_000)]
        assert len(set(found["part"].to_pylist())) > 5
        assert spark.read("SELECT count(*) AS n FROM t")["n"].to_pylist() == [5_000]
        types = same(spark, path, "SELECT max(n), max(text) FROM {}", header=True, inferSchema=True)
        assert types.schema.types == [pa.int32(), pa.string()]
    finally:
        spark.run("RESET spark.sql.files.maxPartitionBytes", "RESET spark.sql.files.openCostInBytes")


def test_folders_packed_files_and_sql(spark: Spark, tmp_path: Path) -> None:
    for year in (2012, 2013):
        for part in range(2):
            path = tmp_path / "lake" / f"year={year}" / f"{part}.csv"
            path.parent.mkdir(parents=True, exist_ok=True)
            text = "n,x\n" + "".join(f"{n},{n / 4}\n" for n in range(part, 9))
            path.write_text(text)
            with gzip.open(f"{path}.gz", "wt") as file:
                file.write(text)
    folder = tmp_path / "lake"
    assert same(spark, folder, header=True, inferSchema=True).num_rows == 68
    assert (
        same(
            spark,
            folder,
            "SELECT year, count(*) FROM {} WHERE n > 3 GROUP BY year",
            header=True,
            inferSchema=True,
        ).num_rows
        == 2
    )
    spark.run(
        f"CREATE TABLE kept (n INT, x DOUBLE) USING arrow OPTIONS (header true) LOCATION '{folder}/year=2012'"
    )
    try:
        assert spark.read("SELECT sum(n) AS n FROM kept")["n"].to_pylist() == [144]
    finally:
        spark.run("DROP TABLE kept")


def test_a_format_that_is_told_counts_more_than_an_ending(spark: Spark, tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("1,2\n")
    assert same(spark, tmp_path / "t.txt").num_rows == 1
    with pytest.raises(SparkError, match=r"t\.txt cannot be read"):
        spark.read("SELECT * FROM t", views={"t": files(tmp_path / "t.txt")})


class TestRefused:
    @pytest.mark.parametrize(("row", "told"), [
        ("4,x", "line 4, column 'b': 'x' is no DOUBLE"), ("4,1.5,2", "line 4 has 3 values, and the schema has 2"), ("4", "line 4 has 1 values"),
    ])  # fmt: skip
    def test_a_malformed_row_where_none_is_allowed(
        self, spark: Spark, tmp_path: Path, row: str, told: str
    ) -> None:
        path = tmp_path / "t.csv"
        path.write_text(f"a,b\n1,2\n\n{row}\n5,x\n")
        views = {"t": files(path, schema="a INT, b DOUBLE", header=True, mode="FAILFAST")}
        with pytest.raises(SparkError, match=f"{path}: {told}"):
            spark.read("SELECT * FROM t", views=views)

    def test_a_malformed_row_of_a_later_part(self, spark: Spark, tmp_path: Path) -> None:
        path = tmp_path / "t.csv"
        path.write_text("1\n" * 1_000 + "x\n")
        spark.run("SET spark.sql.files.maxPartitionBytes=1000", "SET spark.sql.files.openCostInBytes=0")
        try:
            with pytest.raises(SparkError, match=f"{path}: the line at byte 2000, column 'n': 'x' is no INT"):
                spark.read("SELECT * FROM t", views={"t": files(path, schema="n INT", mode="FAILFAST")})
        finally:
            spark.run("RESET spark.sql.files.maxPartitionBytes", "RESET spark.sql.files.openCostInBytes")

    @pytest.mark.parametrize(("option", "value"), [
        ("timestampFormat", "dd/MM/yyyy"), ("dateFormat", "dd/MM/yyyy"), ("lineSep", ";"), ("encoding", "ISO-8859-1"), ("locale", "de-DE"),
        ("sep", "||"), ("quote", "ä"), ("samplingRatio", "0.5"), ("unescapedQuoteHandling", "RAISE_ERROR"), ("enforceSchema", "false"),
        ("maxCharsPerColumn", "100"), ("charToEscapeQuoteEscaping", "!"),
    ])  # fmt: skip
    def test_options_that_are_not_known(self, spark: Spark, tmp_path: Path, option: str, value: str) -> None:
        (tmp_path / "t.csv").write_text("a\n")
        with pytest.raises(SparkError, match=f"'{option}'"):
            spark.read("SELECT * FROM t", views={"t": files(tmp_path / "t.csv", **{option: value})})

    @pytest.mark.parametrize("kind", ["ARRAY<INT>", "STRUCT<a: INT>", "MAP<STRING, INT>"])
    def test_types_that_csv_has_not(self, spark: Spark, tmp_path: Path, kind: str) -> None:
        (tmp_path / "t.csv").write_text("a\n")
        with pytest.raises(SparkError, match=r"the column 'a' of .*t\.csv is of the type"):
            spark.read("SELECT * FROM t", views={"t": files(tmp_path / "t.csv", schema=f"a {kind}")})

    def test_what_is_compressed_otherwise(self, spark: Spark, tmp_path: Path) -> None:
        (tmp_path / "t.csv.bz2").write_bytes(b"BZh")
        with pytest.raises(SparkError, match=r"t\.csv\.bz2 is compressed as \.bz2, which is not read as CSV"):
            spark.read("SELECT * FROM t", views={"t": files(tmp_path / "t.csv.bz2", schema="a INT")})

    def test_a_packed_file_that_is_damaged(self, spark: Spark, tmp_path: Path) -> None:
        (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"1\n" * 100_000)[:-20])
        with pytest.raises(SparkError, match=r"t\.csv\.gz cannot be read"):
            spark.read("SELECT sum(a) FROM t", views={"t": files(tmp_path / "t.csv.gz", schema="a INT")})

    def test_a_word_after_a_time_is_no_time_zone(self, spark: Spark, tmp_path: Path) -> None:
        """Spark 3.5 itself breaks off at some of them."""
        lines = [
            "2013-01-31 12:00:00 PM",
            "2013-01-31T12:00:00Z00012",
            "2013-01-31 12:00:00.5ZNaN",
            "2013-01-31",
        ]
        (tmp_path / "t.csv").write_text("\n".join(lines))
        options = files(tmp_path / "t.csv", schema="at TIMESTAMP, _corrupt_record STRING")
        found = spark.read("SELECT at IS NULL AS lacks, _corrupt_record AS told FROM t", views={"t": options})
        assert found.to_pylist() == [
            {"lacks": at != 3, "told": lines[at] if at != 3 else None} for at in range(4)
        ]
        options = files(tmp_path / "t.csv", schema="at TIMESTAMP", mode="DROPMALFORMED")
        assert spark.read("SELECT * FROM t", views={"t": options}).num_rows == 1

    def test_a_time_zone_by_its_name(self, spark: Spark, tmp_path: Path) -> None:
        (tmp_path / "t.csv").write_text("2013-01-31 12:00:00 Europe/Paris\n")
        with pytest.raises(SparkError, match=r"line 1, column 'at': .*Europe/Paris' names a time zone"):
            spark.read("SELECT * FROM t", views={"t": files(tmp_path / "t.csv", schema="at TIMESTAMP")})


def test_records_end_as_the_first_does(spark: Spark, tmp_path: Path) -> None:
    """Other line ends are bytes of values, but in the last value of the text."""
    texts = [
        "1,2\r\n3,4\n5,6\r\n", "1,2\r3,4\n5,6\r", "1,2\r3,4\n", "1,2\r", "1,2\r\n", "1,2\n3,4\r\n5,6\n", '"1\r","2"\r3,4\r',
        '"1\n","2"\r3,4\r', "1,2\n\r3,4\n\r", "\n\r1,2\r", "\r1,2\r", "1,x\ny\r\n3,4\n", "1,2\r\n" + "3,4\n5\r\n" * 70_000,
    ]  # fmt: skip
    for number, text in enumerate(texts):
        (tmp_path / f"{number}.csv").write_bytes(text.encode())
    schema = "a STRING, b STRING, _corrupt_record STRING"
    query = "SELECT *, input_file_name() AS file FROM {}"
    same(spark, tmp_path, query, schema=schema, multiLine=True)


def test_reads_by_other_options_are_other_reads(spark: Spark, tmp_path: Path) -> None:
    """Spark runs what it takes to be equal once: the same files by other options are not."""
    path = tmp_path / "one.csv"
    path.write_text("a;1,b\nNA;2,c\n")
    schema = "x STRING, y STRING"
    views = {
        "commas": files(path, schema=schema),
        "semicolons": files(path, schema=schema, sep=";"),
        "gaps": files(path, schema=schema, sep=";", nullValue="NA"),
        "turned": files(path, schema="y STRING, x STRING"),
    }
    counted = (f"SELECT '{name}' AS name, max(x) AS x, count(x) AS n FROM {name}" for name in views)
    found = spark.read(" UNION ALL ".join(counted), views=views).to_pylist()
    assert {row["name"]: (row["x"], row["n"]) for row in found} == {
        "commas": ("a;1", 2),
        "semicolons": ("a", 2),
        "gaps": ("a", 1),
        "turned": ("c", 2),
    }
