"""`headrace cache`: the results that a service keeps."""

from __future__ import annotations

from headrace.cli.noun import noun
from headrace.cli.report import bytes_text, print_json, print_table, print_text
from headrace.cli.target import Target, on_store

app = noun("Results of joins that a service keeps, to give them again.")


@app.command("list")
@on_store
def list_results(target: Target) -> None:
    """Those of a project; the ones that save most for their size first."""
    with target.connect() as fs:
        results = fs.cache.list()
    if target.json:
        print_json(results)
    elif results:
        rows = [
            [
                result.id[:8],
                ", ".join(result.groups),
                f"{result.rows:,}",
                bytes_text(result.size_bytes),
                f"{result.seconds:.3g} s",
                "ahead" if result.ahead else "asked for",
                result.made.isoformat(timespec="seconds"),
                result.hits,
            ]
            for result in results
        ]
        print_table(["id", "groups", "rows", "size", "computed in", "because", "at", "hits"], rows)
    else:
        print_text("no results")


@app.command("stats")
@on_store
def stats(target: Target) -> None:
    """What became of the results of all projects."""
    with target.connect() as fs:
        found = fs.cache.stats()
    if target.json:
        print_json(found)
        return
    asked = found.hits + found.misses
    share = f"{found.hits / asked:.0%} of {asked:,} reads" if asked else "of no reads"
    print_table(
        ["", ""],
        [
            [
                "results",
                f"{found.results:,}, {bytes_text(found.size_bytes)} of {bytes_text(found.budget_bytes)}",
            ],
            ["hits", f"{found.hits:,}, {share}"],
            ["hits of what was computed ahead", f"{found.hits_ahead:,}"],
            ["misses", f"{found.misses:,}, computed in {found.seconds_computed:,.3g} s"],
            ["computing saved", f"{found.seconds_saved:,.3g} s"],
            ["made room", f"{found.evicted:,}"],
            ["computed ahead", f"{found.results_ahead:,} results in {found.seconds_ahead:,.3g} s"],
            ["asked for since", f"{found.results_proven:,}, of {found.seconds_proven:,.3g} s"],
            ["computed ahead in vain", f"{bytes_text(found.wasted_bytes)}, {found.wasted_seconds:,.3g} s"],
            ["damaged", f"{found.damaged:,}"],
        ],
    )


@app.command("clear")
@on_store
def clear(target: Target) -> None:
    """Let go of the results of a project."""
    with target.connect() as fs:
        number = fs.cache.clear()
    if target.json:
        print_json({"cleared": number})
    else:
        print_text("1 result is gone" if number == 1 else f"{number} results are gone")
