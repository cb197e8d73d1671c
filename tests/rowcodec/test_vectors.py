"""The vectors of testdata/rowcodec: what every reader and writer of the format agrees on."""

from __future__ import annotations

import importlib.util
import io
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
import pytest

from headrace import rowcodec
from headrace.errors import BadData, HeadraceError, Unsupported
from rowcodec.samples import same

pytestmark = pytest.mark.slow

VECTORS = Path(__file__).parents[2] / "testdata" / "rowcodec"
NAMES = sorted(path.stem for path in VECTORS.glob("*.json") if path.stem not in ("malformed", "row"))
TURNED = sorted(path.stem for path in (VECTORS / "big_endian").iterdir())
MALFORMED: dict[str, str] = json.loads((VECTORS / "malformed.json").read_text())
ERRORS: dict[str, type[HeadraceError]] = {
    "damaged": BadData,
    "unsupported": Unsupported,
    "refused": Unsupported,
}


def text() -> ModuleType:
    spec = importlib.util.spec_from_file_location("rowcodec_text", VECTORS / "text.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def values(name: str) -> list[Any]:
    rows: list[Any] = text().read_rows((VECTORS / f"{name}.json").read_text())
    return rows


@pytest.mark.parametrize("name", NAMES)
def test_vector(name: str) -> None:
    rows, data = values(name), (VECTORS / f"{name}.arrows").read_bytes()
    assert same(rowcodec.loads(data), rows)
    if name != "segments":
        assert rowcodec.dumps(rows, allow_pickle=False, tier="program") == data
        assert rowcodec.dumps(rows, allow_pickle=False, tier="machine") == data


def test_rows_that_come_one_by_one_are_segments_where_they_need_another_schema() -> None:
    file = io.BytesIO()
    with rowcodec.Encoder(file, allow_pickle=False) as encoder:
        for row in values("segments"):
            encoder.append(row)
    assert file.getvalue() == (VECTORS / "segments.arrows").read_bytes()


def test_written_by_the_jvm() -> None:
    data = (VECTORS / "jvm" / "arrays.arrows").read_bytes()
    assert same(rowcodec.loads(data), values("jvm/arrays"))
    assert pa.ipc.open_stream(data).read_all().num_rows == 100


@pytest.mark.parametrize("codec", ["lz4", "zstd"])
def test_compressed(codec: str) -> None:
    data = (VECTORS / f"dictionary.{codec}.arrows").read_bytes()
    assert same(rowcodec.loads(data), values("dictionary"))
    assert pa.ipc.open_stream(data).read_all().num_rows == 70


@pytest.mark.parametrize("name", TURNED)
def test_other_byte_order(name: str) -> None:
    data = (VECTORS / "big_endian" / f"{name}.arrows").read_bytes()
    assert data != (VECTORS / f"{name}.arrows").read_bytes()
    assert same(rowcodec.loads(data), values(name))


@pytest.mark.parametrize(("name", "kind"), MALFORMED.items())
def test_malformed(name: str, kind: str) -> None:
    data = (VECTORS / "malformed" / f"{name}.arrows").read_bytes()
    with pytest.raises(ERRORS[kind]) as found:
        rowcodec.loads(data)
    assert type(found.value) is ERRORS[kind]
    assert 0 <= found.value.details["offset"] <= len(data)


def test_pickled_only_if_asked() -> None:
    data = (VECTORS / "malformed" / "pickled.arrows").read_bytes()
    assert rowcodec.loads(data, allow_pickle=True) == [({1},)]


def test_vectors_are_what_the_script_makes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(VECTORS)
    for name in ("make", "cases", "text", "big_endian"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    make = importlib.import_module("make")
    monkeypatch.setattr(make, "HERE", tmp_path)
    (tmp_path / "dicts.json").write_text("")
    make.main()
    made = {path.relative_to(tmp_path): path.read_bytes() for path in tmp_path.rglob("*.arrows")}
    paths = [path for path in VECTORS.rglob("*.arrows") if path.parent.name != "jvm"]
    kept = {path.relative_to(VECTORS): path.read_bytes() for path in paths}
    assert made.keys() == kept.keys()
    # What pyarrow has written changes with its versions.
    ours = [path for path in kept if path.parts[0] != "malformed" and path.name != "row.arrows"]
    assert [path for path in ours if made[path] != kept[path]] == []
    for name in ("make", "cases", "text", "big_endian"):
        monkeypatch.delitem(sys.modules, name, raising=False)
