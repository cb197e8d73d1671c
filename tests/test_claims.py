"""Each figure that is claimed is that of the row that it links to."""

from __future__ import annotations

import csv
import re
from decimal import Decimal
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EVALUATION = ROOT / "docs" / "evaluation"
SECTION = re.compile(r"^## Measured\n(.*?)^## ", re.DOTALL | re.MULTILINE)
CLAIM = re.compile(r"\[([\d.,]+)(?: (s|ms|MB|MB/s|%))?\]\((?:docs/evaluation/)?(rows|ratios)\.csv#L(\d+)\)")
FACTORS = {"ms": Decimal(1000), "MB": Decimal("1e-6")}
UNITS = {"": ("",), "s": ("s", "ms"), "bytes": ("MB",)}
COLUMNS = {"rows": ("median",), "ratios": ("times as fast", "printed from", "printed to")}

Claim = tuple[str, str, str, str]


def section() -> str:
    found = SECTION.search((ROOT / "README.md").read_text())
    assert found is not None, "README.md has no section of what was measured"
    return found[1]


def claims() -> list[Claim]:
    return sorted({*CLAIM.findall(section()), *CLAIM.findall((EVALUATION / "README.md").read_text())})


def test_no_figure_stands_in_the_readme_without_its_row() -> None:
    rows = [line for line in section().splitlines() if line.startswith("|")][2:]
    cells = [cell for row in rows for cell in row.strip("|").split("|")[1:]]
    assert len(cells) > 10
    for cell in cells:
        assert not re.search(r"\d", CLAIM.sub("", cell)), cell


@pytest.mark.parametrize("claim", claims(), ids="-".join)
def test_a_claim_is_what_its_row_says(claim: Claim) -> None:
    told, unit, name, line = claim
    with (EVALUATION / f"{name}.csv").open(newline="") as file:
        row = list(csv.DictReader(file))[int(line) - 2]  # the first line is the head
    assert row["noisy"] == "False"
    assert unit in UNITS.get(row.get("unit", ""), (row.get("unit"),))
    shown = Decimal(told.replace(",", ""))
    found = [Decimal(row[column]) * FACTORS.get(unit, 1) for column in COLUMNS[name] if row[column]]
    assert shown in [value.quantize(shown) for value in found], row


@pytest.mark.parametrize("name", ["index.html", "rows.csv", "ratios.csv", "scaling.csv"])
def test_the_report_is_there(name: str) -> None:
    assert (EVALUATION / name).stat().st_size
