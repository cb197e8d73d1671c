"""The experiments of "Integrated Architecture of SQL Engine and Data Analytics Tool with Apache Arrow Flight"."""

from __future__ import annotations

from benchmarks.evaluation.experiment import Experiment, Point

EXPERIMENTS = (
    Experiment(
        paper="aoki-2021",
        name="transfer",
        about="Rows from an engine to a frame of pandas, of its own types",
        points=tuple(
            Point(name, "transfer", megabytes)
            for name, megabytes in (("130 MB", 130), ("520 MB", 520), ("2.6 GB", 2_600))
        ),
        systems={
            "Headrace": "Dremio, Arrow Flight",
            "PostgreSQL, pyodbc": "PostgreSQL, Presto and Dremio by ODBC",
            "PostgreSQL, arrow-odbc": None,
            "PostgreSQL, ADBC": None,
            "Spark, Thrift": None,
        },
        ours="Headrace",
        against="PostgreSQL, pyodbc",
        also=(
            ("Headrace", "PostgreSQL, arrow-odbc"),
            ("Headrace", "PostgreSQL, ADBC"),
            ("Headrace", "Spark, Thrift"),
        ),
        said="The paper's table is not in its text, which has sizes from 130 MB to 2.6 GB and one figure for "
        "all; this one is lineitem. Its 13 to 37 times are of three engines' ODBC together. Presto and Dremio "
        "are not reproduced.",
        unit="MB/s",
    ),
    Experiment(
        paper="aoki-2021",
        name="cached join",
        about="The join of a day's table, computed before it is asked for",
        points=(Point("256 MB", "cache-daily"),),
        systems={"foreseen, sent": "cache on", "foreseen, mapped": None, "cache off": "cache off"},
        ours="foreseen, sent",
        against="cache off",
        also=(("foreseen, mapped", "cache off"),),
        said="The paper's join is not in its text; this one is of a day's sales with items and shops, 256 MB of "
        "rows, which the service has computed ahead by what was asked on the days before.",
    ),
    Experiment(
        paper="aoki-2021",
        name="join asked again",
        about="A join asked for again, its result kept",
        points=(Point("SF 1, 0.3 GB", "cache-join"),),
        systems={"kept, sent": None, "kept, mapped": None, "computed": None},
        ours="kept, sent",
        against="computed",
        also=(("kept, mapped", "computed"),),
        said="Not in the paper, whose cache is for joins of other tables; this one is lineitem with orders.",
    ),
)
