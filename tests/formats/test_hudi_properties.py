from __future__ import annotations

from pathlib import Path

import pytest

from headrace.errors import CorruptTable, Unsupported
from headrace.formats.hudi_properties import read_properties
from headrace.storage.folder import Folder

PLAIN = {
    "hoodie.table.type": "COPY_ON_WRITE",
    "hoodie.table.version": "9",
    "hoodie.timeline.layout.version": "2",
    "hoodie.table.keygenerator.type": "SIMPLE",
}


def written(folder: Path, told: dict[str, str] | str, name: str = "hoodie.properties") -> Folder:
    text = told if isinstance(told, str) else "\n".join(f"{key}={value}" for key, value in told.items())
    (folder / ".hoodie").mkdir(exist_ok=True)
    (folder / ".hoodie" / name).write_text(text)
    return Folder.local(str(folder))


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"hoodie.table.type": "MERGE_ON_READ"}, "is merge-on-read: only copy-on-write tables are read"),
        ({"hoodie.table.version": "5"}, "is of table version 5: those of versions 6, 8 and 9 are read"),
        ({"hoodie.table.version": "7"}, "table version 7"),
        ({"hoodie.table.version": "10"}, "table version 10"),
        ({"hoodie.table.version": "nine"}, "table version nine"),
        ({"hoodie.table.version": "9" * 5_000}, "table version 99999"),
        (
            {
                "hoodie.datasource.write.slash.separated.date.partitioning": "true",
                "hoodie.datasource.write.drop.partition.columns": "true",
                "hoodie.table.partition.fields": "day,kind",
            },
            "slash.separated.date.partitioning",
        ),
        ({"hoodie.timeline.layout.version": "1"}, "timeline layout 1, which do not go together"),
        ({"hoodie.table.base.file.format": "ORC"}, "has files in ORC"),
        ({"hoodie.table.multiple.base.file.formats.enable": "true"}, "in several formats"),
        ({"hoodie.bootstrap.base.path": "/elsewhere"}, "bootstrapped"),
    ],
)
def test_what_is_not_read_is_named(tmp_path, more, says):
    with pytest.raises(Unsupported, match=says):
        read_properties(written(tmp_path, PLAIN | more))


def test_no_version(tmp_path):
    with pytest.raises(CorruptTable, match=r"does not tell its version: .*hoodie\.properties"):
        read_properties(written(tmp_path, "hoodie.table.name=x"))


@pytest.mark.parametrize("left", [None, ""])
def test_a_copy_stands_in_while_the_file_is_changed(tmp_path, left):
    table = written(tmp_path, PLAIN, "hoodie.properties.backup")
    if left is not None:
        written(tmp_path, left)
    assert read_properties(table).layout == 2


def test_none_at_all(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_properties(Folder.local(str(tmp_path)))


def test_as_java_writes_them(tmp_path):
    text = (
        "#Updated at 2026\n! and so on\n  hoodie.table.version = 9\r\nhoodie.table.type:COPY_ON_WRITE\n"
        "hoodie.table.partition.fields=a\\:b\\u00e9,\\\n    c:SIMPLE\nhoodie.timeline.path=time\\ line\n"
        'hoodie.table.create.schema={"type"\\: "record"}\n'
    )
    found = read_properties(written(tmp_path, text))
    assert found.partition_fields == ("a", "c")
    assert found.timeline == ".hoodie/time line"
    assert found.schema == '{"type": "record"}'


@pytest.mark.parametrize(
    ("told", "by_value"),
    [
        ({"hoodie.table.keygenerator.type": "COMPLEX"}, True),
        ({"hoodie.table.keygenerator.type": "TIMESTAMP"}, False),
        ({"hoodie.datasource.write.slash.separated.date.partitioning": "true"}, False),
        ({"hoodie.table.keygenerator.type": "CUSTOM", "hoodie.table.partition.fields": "a:TIMESTAMP"}, False),
        (
            {
                "hoodie.table.keygenerator.type": "",
                "hoodie.table.keygenerator.class": "org.SimpleKeyGenerator",
            },
            True,
        ),
        (
            {
                "hoodie.table.keygenerator.type": "",
                "hoodie.table.keygenerator.class": "x.NonpartitionedKeyGenerator",
            },
            True,
        ),
        (
            {"hoodie.table.keygenerator.type": "", "hoodie.table.keygenerator.class": "my.own.Generator"},
            False,
        ),
        ({"hoodie.table.keygenerator.type": ""}, False),
    ],
)
def test_whether_folders_tell_values(tmp_path, told, by_value):
    assert read_properties(written(tmp_path, PLAIN | told)).by_value == by_value
