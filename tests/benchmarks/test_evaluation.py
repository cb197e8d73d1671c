"""The papers' experiments: what was printed, what is asked for, and the page that has both."""

from __future__ import annotations

import csv
import dataclasses
import re
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks.catalog import WORKLOADS
from benchmarks.codec_jvm import passes
from benchmarks.evaluation import row, session, suite, summary
from benchmarks.evaluation.experiments import EXPERIMENTS
from benchmarks.evaluation.paper import PAPERS, Paper
from benchmarks.evaluation.parts import parts_of
from benchmarks.evaluation.scaling import scalings
from benchmarks.evaluation.shortfall import shortfalls
from benchmarks.evaluation.suite import Step, Suite
from benchmarks.machine import machine
from benchmarks.pinning import pinned, processors
from benchmarks.process import CaseFailed

from reports import report_of

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def full() -> Suite:
    return suite.load("full")


def of(paper: str, asked: Suite) -> Suite:
    """That suite's part of one paper: a page of all takes twenty seconds."""
    chosen = tuple(one for one in asked.chosen if one.experiment.paper == paper)
    steps = {step for one in chosen for _, step in one.steps}
    return dataclasses.replace(asked, chosen=chosen, asked=tuple(s for s in asked.asked if s in steps))


@pytest.mark.parametrize("name", suite.NAMES)
def test_a_suite_asks_for_what_there_is(name: str) -> None:
    found = suite.load(name)
    assert {chosen.experiment.paper for chosen in found.chosen} == {paper.key for paper in PAPERS}
    for step in found.steps:
        assert step.workload in WORKLOADS
    assert len({step.name for step in found.steps}) == len(found.steps)


def test_smoke_has_every_experiment() -> None:
    assert [chosen.experiment for chosen in suite.load("smoke").chosen] == list(EXPERIMENTS)


@pytest.mark.parametrize("name", suite.NAMES)
def test_an_experiment_is_chosen_once_with_all_its_sizes(name: str) -> None:
    found = suite.load(name)
    keys = [chosen.experiment.key for chosen in found.chosen]
    assert len(set(keys)) == len(keys)
    for chosen in found.chosen:
        assert len(set(chosen.steps)) == len(chosen.steps)
    if name == "laptop":
        (write,) = (chosen for chosen in found.chosen if chosen.experiment.key == "manfredi-2024/write")
        sizes = [(point.name, step.cpus) for point, step in write.steps]
        assert sizes == [*((size, cpus) for size in ("10K", "100K", "1M") for cpus in (1, 2)), ("6M", 2)]
        assert found.steps[-1] == write.steps[-1][1], "what takes longest is asked for last"


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda experiment: experiment.key)
def test_an_experiment_names_systems_that_there_are(experiment: row.Experiment) -> None:
    for point in experiment.points:
        assert set(experiment.systems) - set(experiment.sums) <= set(WORKLOADS[point.workload].systems)
        assert {case for cases in experiment.sums.values() for case in cases} <= set(
            WORKLOADS[point.workload].systems
        )
    assert {case for pair in experiment.pairs for case in pair} <= set(experiment.systems)
    assert (experiment.unit == "%") == (experiment.beyond is not None)


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.key)
def test_all_that_a_paper_prints_is_shown_beside_something(paper: Paper) -> None:
    shown = {
        (experiment.name, system)
        for experiment in EXPERIMENTS
        if experiment.paper == paper.key
        for system in experiment.systems.values()
    }
    alone = {"hopsworks-2023": {("read", "feature stores of clouds")}}.get(paper.key, set())
    assert {(figure.experiment, figure.system) for figure in paper.figures} - alone <= shown
    named = {point.name for experiment in EXPERIMENTS for point in experiment.points}
    assert {figure.size for figure in paper.figures} <= {"", *named}


def test_a_step_that_two_experiments_share_is_run_as_often_as_either_wants() -> None:
    first = suite.load("smoke").chosen[0]
    (point, step) = first.steps[0]
    more = dataclasses.replace(first, steps=((point, dataclasses.replace(step, runs=9)),))
    both = Suite("both", "", (first, more), (step, more.steps[0][1]))
    assert [found.runs for found in both.steps] == [9]
    rows = row.rows(both, {both.steps[0]: report_of(both.steps[0])})
    assert all(found.here is not None and found.here.value.n == 9 for found in rows)


def test_the_thesis_is_quoted(full: Suite) -> None:
    step = Step("codec-encode", 2.0, 5)
    found = [r for r in row.rows(full, {step: report_of(step)}) if r.experiment.name == "python-write"]
    ours, pickled = (
        next(r for r in found if r.size == "SF 2" and r.system == name)
        for name in ("headrace", "pickle, a row")
    )
    assert ours.printed is not None
    assert (ours.printed.value, ours.printed.stdev, ours.printed.where) == (0.190831, 0.005045, "table 5.1")
    assert pickled.printed is not None
    assert pickled.printed.value == 0.501206
    assert ours.here is not None
    assert (ours.here.value.value, ours.here.value.n, ours.here.mean, ours.here.stdev) == (0.125, 5, 0.125, 0)
    assert (ours.here.rows_per_second, ours.here.cpu_per_million, ours.here.peak) == (80, 100_000, 1)
    assert all(r.here is None for r in found if r.size != "SF 2")
    assert (ours.longer, pickled.longer and pickled.longer.value) == (None, 4)
    faster = {
        f.against: f
        for f in row.speed_ups(full, {step: report_of(step)})
        if (f.experiment.name, f.size) == ("python-write", "SF 2")
    }
    of_rows, of_lists = faster["pickle, a row"], faster["pickle, 100 rows"]
    assert of_rows.here is not None
    assert of_rows.here.value == 4
    assert of_rows.printed is not None
    assert of_rows.printed.values == pytest.approx((0.501206 / 0.190831,))
    assert of_rows.printed.source == "figures"
    assert of_lists.here is not None
    assert (of_lists.here.value, of_lists.printed) == (8, None)


def test_bytes_are_compared_as_bytes(full: Suite) -> None:
    step = Step("codec-encode", 1.0, 5)
    found, _ = (
        f
        for f in row.speed_ups(full, {step: report_of(step)})
        if (f.experiment.name, f.size) == ("size", "SF 1")
    )
    assert found.here is not None
    assert found.here.value == 2.5
    assert found.printed is not None
    assert found.printed.values == pytest.approx((50156251 / 35087576,))


@pytest.mark.parametrize(("scale", "times"), [(1, 10), (2, 5), (4, 2), (8, 1)])
def test_a_run_that_does_its_job_often_is_told_for_once(full: Suite, scale: int, times: int) -> None:
    assert passes(200_000 * scale) == times
    step = Step("codec-jvm-write", float(scale), 5)
    found = row.rows(full, {step: report_of(step, {"row codec": 5.0})})
    (ours,) = (
        r for r in found if (r.experiment.name, r.size, r.system) == ("jvm-write", f"SF {scale}", "row codec")
    )
    assert ours.here is not None
    assert ours.here.value.value == 5.0 / times
    assert ours.here.rows_per_second == 10 * times / 5
    assert ours.here.cpu_per_million == pytest.approx(1e6 / (10 * times))


def test_what_goes_beyond_is_a_share(full: Suite) -> None:
    step = next(step for step in full.steps if step.workload == "conversion")
    reports = {
        step: report_of(step, {"Arrow": 0.9, "pandas, its own types": 1.0, "pandas, Arrow types": 0.9})
    }
    found = {r.system: r for r in row.rows(full, reports) if r.here}
    own, arrow = found["pandas, its own types"], found["pandas, Arrow types"]
    assert own.here is not None
    assert arrow.here is not None
    assert own.here.value.value == pytest.approx(10)
    assert arrow.here.value.value == 0
    assert own.printed is not None
    assert (own.printed.value, own.printed.unit) == (10, "% at most")


def test_what_is_printed_in_words_is_quoted() -> None:
    (hopsworks,) = (paper for paper in PAPERS if paper.key == "hopsworks-2023")
    words = {figure.words for figure in hopsworks.figures if figure.experiment == "fraud tutorial"}
    assert words == {"4.6 minutes", "less than 16 seconds", ""}


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("about = [", "smoke.toml"),
        ('about = "x"', "experiments"),
        ('experiments = []\nabout = "x"', "experiments"),
        ('[[experiments]]\nnames = ["*"]\nsizes = "all"\nruns = 1', "about"),
        ('about = "x"\n[[experiments]]\nnames = ["*"]\nsizes = "all"\nruns = 0', "runs"),
        ('about = "x"\n[[experiments]]\nnames = ["*"]\nsizes = "all"\nruns = "three"', "runs"),
        ('about = "x"\n[[experiments]]\nnames = "*"\nsizes = "all"\nruns = 1', "names"),
        ('about = "x"\n[[experiments]]\nnames = ["*"]\nsizes = "all"\nruns = 1\ncpus = [0]', "cpus"),
        ('about = "x"\n[[experiments]]\nnames = ["*"]\nsizes = "all"\nruns = 1\ncpu = [1]', "cpu"),
        ('about = "x"\n[[experiments]]\nnames = ["nobody/*"]\nsizes = "all"\nruns = 1', "nobody"),
        ('about = "x"\n[[experiments]]\nnames = ["tran-2021/size"]\nsizes = "SF 1"\nruns = 1', "sizes"),
        (
            'about = "x"\n[[experiments]]\nnames = ["hopsworks-2023/read"]\nsizes = ["5 M rows", "10M rows"]\nruns = 1',
            "10M rows",
        ),
    ],
)
def test_a_suite_that_asks_for_what_there_is_not_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str, why: str
) -> None:
    (tmp_path / "smoke.toml").write_text(content)
    monkeypatch.setattr(suite, "_FOLDER", tmp_path)
    with pytest.raises(suite.BadSuite, match=why):
        suite.load("smoke")


def test_the_evaluation_is_what_its_runs_give(tmp_path: Path) -> None:
    laptop, kept = suite.load("laptop"), Path(__file__).parents[2] / "docs" / "evaluation"
    reports = session.done(laptop, kept / "laptop")
    assert reports.keys() == set(laptop.steps)
    rows, speed_ups = row.rows(laptop, reports), row.speed_ups(laptop, reports)
    row.write(rows, tmp_path / "rows.csv")
    row.write_ratios(speed_ups, tmp_path / "ratios.csv")
    for name in ("rows.csv", "ratios.csv"):
        assert (tmp_path / name).read_text() == (kept / name).read_text()
    summary.write(rows, speed_ups, tmp_path / "summary.md")
    item = re.compile(r"\s*- |\|.*\.csv#L")
    written, told = (
        [line for line in path.read_text().splitlines() if item.match(line)]
        for path in (tmp_path / "summary.md", kept / "README.md")
    )
    assert written == told


def test_a_pipeline_takes_the_sum_of_its_parts_round_by_round(full: Suite) -> None:
    """What starts Spark anew each time has no round before the others, which only warms up; what does not, has."""
    step = next(step for step in full.steps if step.workload == "legacy-10k")
    report = report_of(step, {"upload": 2.0, "materialise, cold": 30.0, "write, hopsfs": 0.5})
    cold = [
        dataclasses.replace(sample, first=True)
        for sample in report.samples
        if sample.case == "materialise, cold" and sample.number < step.runs
    ]
    others = [sample for sample in report.samples if sample.case != "materialise, cold"]
    kept = {step: dataclasses.replace(report, samples=[*others, *cold])}
    found = [r for r in row.rows(full, kept) if r.size == "10K" and r.system == "legacy"]
    assert [(r.here.value.value, r.here.value.n) for r in found if r.here] == [(32.0, step.runs)]
    times = {
        (s.system, s.against): s.here.value
        for s in row.speed_ups(full, kept)
        if s.experiment.key == "manfredi-2024/write" and s.here
    }
    assert times["write, hopsfs", "legacy"] == 64.0
    assert times["write, hopsfs, cold", "legacy"] == 32.0
    assert times["write, hopsfs", "legacy, warm"] == 6.0


def test_the_parts_of_a_pipeline_are_shares_of_its_time(full: Suite) -> None:
    one, two = (
        next(s for s in full.steps if (s.workload, s.cpus) == ("legacy-100k", cpus)) for cpus in (1, 2)
    )
    seconds = {"upload": 2.0, "materialise, cold": 18.0, "materialise": 6.0}
    rows = row.rows(full, {one: report_of(one, seconds), two: report_of(two, seconds)})
    (write,) = (experiment for experiment in EXPERIMENTS if experiment.key == "manfredi-2024/write")
    found = {(parts.whole.system, parts.whole.cpus): parts for parts in parts_of(write, rows)}
    cold = found["legacy", 1]
    assert (cold.names, cold.here) == (("upload", "materialise, cold"), (10.0, 90.0))
    assert cold.printed == pytest.approx((100 * 3.66844 / 59.56844, 100 * 55.900 / 59.56844))
    assert (found["legacy", 2].here, found["legacy", 2].printed) == ((10.0, 90.0), None)
    assert (found["legacy, warm", 1].here, found["legacy, warm", 1].printed) == ((25.0, 75.0), None)
    assert len(found) == 6


def test_more_processors_are_told_as_the_thesis_tells_them(full: Suite) -> None:
    one, two = (
        next(s for s in full.steps if (s.workload, s.cpus) == ("legacy-100k", cpus)) for cpus in (1, 2)
    )
    reports = {
        one: report_of(one, {"write, hopsfs": 0.5, "upload": 4.0}),
        two: report_of(two, {"write, hopsfs": 0.4, "upload": 5.0}),
    }
    rows = row.rows(full, reports)
    found = {
        (s.size, s.system, s.change): s
        for experiment in EXPERIMENTS
        if experiment.key == "manfredi-2024/write"
        for s in scalings(experiment, rows)
    }
    ours = found["100K", "write, hopsfs", "% less"]
    assert ours.here == pytest.approx({2: 20})
    assert ours.printed == {2: 4.40, 4: 2.34, 8: 5.54}
    assert found["100K", "write, hopsfs", "% more"].here == pytest.approx({2: 25})
    assert found["100K", "write, hopsfs", "% more"].printed.keys() == {2, 4, 8}
    assert found["100K", "legacy", "% less"].here == pytest.approx({2: -20})
    assert found["100K", "legacy, warm", "% less"].printed == {}
    assert all(size == "100K" for size, _, _ in found)
    of_two = [r for r in rows if (r.size, r.cpus, r.system) == ("100K", 2, "write, hopsfs")]
    assert [
        (r.printed, r.printed_share and (r.printed_share.value, r.printed_share.unit))
        for r in of_two
        if r.experiment.name == "write"
    ] == [(None, (4.40, "% less"))]
    of_one = [r for r in rows if (r.size, r.cpus, r.system) == ("100K", 1, "write, hopsfs")]
    assert [r.printed_speed for r in of_one] == [73084.38828236]
    (printed,) = {
        r.printed.value for r in rows if r.printed and (r.size, r.system) == ("100K", "write, hopsfs")
    }
    assert printed == 1.368281275251  # of one processor: of two the thesis has percents alone


def test_megabytes_a_second(full: Suite) -> None:
    step = next(s for s in full.steps if (s.workload, s.scale) == ("transfer", 520))
    reports = {step: report_of(step, {"Headrace": 0.25, "PostgreSQL, pyodbc": 10.0})}
    (ours,) = (r for r in row.rows(full, reports) if r.here and r.system == "Headrace")
    assert ours.here is not None
    assert ours.here.value.value == 2_080
    assert ours.printed is not None
    assert (ours.printed.value, ours.printed.unit) == (224, "MB/s")
    faster = next(s for s in row.speed_ups(full, reports) if s.here)
    assert faster.here is not None
    assert faster.printed is not None
    assert (faster.here.value, faster.printed.values, faster.printed.source) == (40, (13.1, 37.4), "printed")


def test_a_step_is_pinned() -> None:
    before = processors()
    with pinned(1):
        assert len(processors()) == 1
        told = subprocess.run(
            [sys.executable, "-c", "import os; print(len(os.sched_getaffinity(0)))"],
            capture_output=True,
            text=True,
        )
        assert told.stdout == "1\n"
        assert len(machine().processors) == 1
    assert processors() == before
    with (
        pytest.raises(CaseFailed, match=r"100000 processors are asked for, and there are \d+"),
        pinned(100_000),
    ):
        pass


def test_a_suite_is_listed_and_takes_no_sizes(tmp_path: Path) -> None:
    def told(*options: str) -> tuple[int, str]:
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks", "--suite", "smoke", "--out", str(tmp_path), *options],
            capture_output=True,
            text=True,
        )
        return done.returncode, done.stdout

    smoke = suite.load("smoke")
    code, said = told("--list")
    lines = said.splitlines()
    assert (code, len(lines)) == (0, len(smoke.steps))
    for step, line in zip(smoke.steps, lines, strict=True):
        assert line.startswith(f"{step.name}: 1 round, to do (")
    assert all(chosen.experiment.key in said for chosen in smoke.chosen)
    for options in (["--runs", "3"], ["--size", "small"], ["tpch-scan"]):
        code, said = told(*options)
        assert (code, "has its own workloads, sizes and rounds" in said) == (2, True)
    code, said = told("--list", "--only", "aoki-2021/*join*")
    assert (code, len(said.splitlines())) == (0, 2)
    code, said = told("--only", "aoki-2021/nothing")
    assert (code, "there is no experiment aoki-2021/nothing" in said) == (2, True)
    assert not list(tmp_path.iterdir())


def test_the_page_stands_alone_and_says_what_is_missing(tmp_path: Path, full: Suite) -> None:
    from benchmarks.evaluation import page  # needs what only the benchmarks do

    steps = [step for step in full.steps if step.workload.startswith(("codec", "pyspark"))]
    lacking = next(step for step in full.steps if step.workload == "taxi")
    path = page.write(full, {step: report_of(step) for step in steps}, {lacking: "no Feast\n"}, tmp_path)
    text = path.read_text()
    for paper in PAPERS:
        assert paper.title in text
    assert 'src="data:image/png;base64,' in text
    assert "http" not in text.replace("http-equiv", "")
    assert "Not measured yet: legacy-10k-1-cpus-1, legacy-10k-1-cpus-2" in text
    assert "0.191 s" in text  # the thesis, at scale factor 2
    assert "figure not in text" in text
    assert f"{lacking.name}: no Feast" in text
    with (tmp_path / "rows.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {found["paper"] for found in rows} == {paper.key for paper in PAPERS}
    assert next(found["median"] for found in rows if found["experiment"] == "python-write") == "0.125"
    places = re.findall(r'id="([^"]+)"', text)
    assert len(places) == len(set(places))


def test_the_page_tells_machines_and_versions_apart(tmp_path: Path, full: Suite) -> None:
    from benchmarks.evaluation import page

    one, two, three = (step for step in full.steps if step.workload == "codec-encode" and step.scale <= 4)
    reports = {step: report_of(step) for step in (one, two, three)}
    here = reports[one].machine
    newer = dataclasses.replace(here, versions=here.versions | {"duckdb": "99.0", "a library": "1.0"})
    reports[two] = dataclasses.replace(reports[two], machine=newer)
    tran = of("tran-2021", full)
    text = page.write(tran, reports, {}, tmp_path / "alike").read_text()
    assert "commits on" not in text
    assert f"duckdb {here.versions['duckdb']} and 99.0" in text
    assert "a library 1.0" in text
    reports[three] = dataclasses.replace(
        reports[three], machine=dataclasses.replace(here, processor="another")
    )
    text = page.write(tran, reports, {}, tmp_path / "apart").read_text()
    assert "Measured at 1 commit on 2 machines" in text
    assert text.count("<li>another, ") == 1


def test_what_processors_give_is_written_once(tmp_path: Path, full: Suite) -> None:
    from benchmarks.evaluation import page

    steps = [step for step in full.steps if step.workload.startswith("legacy")]
    page.write(of("manfredi-2024", full), {step: report_of(step) for step in steps}, {}, tmp_path)
    lines = (tmp_path / "scaling.csv").read_text().splitlines()
    assert len(lines) == len(set(lines)) > 1


def test_a_papers_factor_stands_beside_the_systems_that_it_compares(full: Suite) -> None:
    found = {
        (s.experiment.key, s.system, s.against): s.printed.values if s.printed else None
        for s in row.speed_ups(full, {})
    }
    assert found["aoki-2021/cached join", "foreseen, sent", "cache off"] == (2.4,)
    assert found["aoki-2021/cached join", "foreseen, mapped", "cache off"] is None
    assert found["hopsworks-2023/read", "Headrace, Hudi", "Spark, Hudi"] is None


def test_of_more_processors_a_ratio_is_reckoned_of_what_the_thesis_says_less(full: Suite) -> None:
    found = {
        s.cpus: s.printed
        for s in row.speed_ups(full, {})
        if (s.experiment.key, s.size, s.system, s.against)
        == ("manfredi-2024/write", "6M", "write, hopsfs", "legacy")
    }
    one, two = found[1], found[2]
    assert one is not None
    assert two is not None
    assert (one.source, two.source) == ("figures", "shares")
    assert one.values == pytest.approx((511.8169330835 / 19.75469028131,))
    assert two.values == pytest.approx((511.8169330835 * 0.9249 / (19.75469028131 * 0.8246),))


def test_where_it_falls_short_is_said(full: Suite) -> None:
    step = next(s for s in full.steps if (s.workload, s.cpus) == ("legacy-100k", 1))
    reports = {step: report_of(step, {"read, hopsfs": 2.0, "read, Spark": 1.0, "read, Spark, cold": 400.0})}
    rows, speed_ups = (
        [found for found in all_of if found.experiment.key == "manfredi-2024/read"]
        for all_of in (row.rows(full, reports), row.speed_ups(full, reports))
    )
    assert shortfalls(rows, speed_ups) == [
        "100K, 1 processor: read, hopsfs is 0.50 times as fast as read, Spark.",
        "100K, 1 processor: read, hopsfs gains less than in the paper: 0.5 times beside read, Spark, where it gains 46.",
        "100K, 1 processor: read, hopsfs takes 35 times as long as delta-rs HopsFS on the paper's machine.",
    ]


def test_a_share_that_is_more_than_in_the_paper_is_said(full: Suite) -> None:
    (step,) = (s for s in full.steps if s.workload == "conversion")
    seconds = {"Arrow": 1.0, "pandas, its own types": 1.5, "pandas, Arrow types": 1.2}
    rows = [found for found in row.rows(full, {step: report_of(step, seconds)}) if found.here]
    assert shortfalls(rows, []) == [
        "50 M rows: pandas, its own types take 33 % of the whole, which in the paper is 10 % at most."
    ]


def test_what_nothing_stands_for_is_printed_all_the_same(tmp_path: Path, full: Suite) -> None:
    from benchmarks.evaluation import page

    text = page.write(of("hopsworks-2023", full), {}, {}, tmp_path).read_text()
    assert re.search(r"not reproduced.*feature stores of clouds<td>8 to 45 times as fast as it", text)
