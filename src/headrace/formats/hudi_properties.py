"""What a Hudi table says of itself in `.hoodie/hoodie.properties`.

Source: https://hudi.apache.org/docs/configurations#Hudi-Table-Config, and the table specification
(https://hudi.apache.org/tech-specs-1point0).
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping

from headrace.errors import CorruptTable, Unsupported
from headrace.storage.folder import Folder

_LAYOUTS = {"6": 1, "8": 2, "9": 2}
"""Of the timeline, by the versions of tables that are read."""
_PAIR = re.compile(r"\s*((?:\\.|[^\\=:\s])+)\s*[=:]?\s*(.*)", re.DOTALL)
_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|.)", re.DOTALL)
_CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_SLASHED = "hoodie.datasource.write.slash.separated.date.partitioning"
# A path is made of columns' values as they are.
_BY_VALUE = {"SIMPLE", "COMPLEX", "NON_PARTITION", "GLOBAL_DELETE", "SIMPLE_AVRO", "COMPLEX_AVRO"}


@dataclasses.dataclass(frozen=True)
class HudiProperties:
    """
    Args:
        layout: 1 or 2, of the timeline.
        timeline: its folder, within the table.
        archive: the folder of what it tells of no more.
        partition_fields: the columns of which the folders of files are named.
        by_value: these folders tell the columns' values, and not something made of them.
        hive_style: folders are named `column=value`.
        url_encoded: with percent signs for what a path cannot hold.
        slashed: days are folders in folders, as in 2026/01/05; by these alone it cannot be told that they were.
        drops_partitions: the files do not have the partition columns.
        in_utc: instants are times of UTC, and not of the machine that wrote them.
        meta_fields: files have columns of Hudi's own, which tell the commit of each row.
        schema: the columns that the table was made with, as Avro tells them.
    """

    layout: int
    timeline: str
    archive: str
    partition_fields: tuple[str, ...]
    by_value: bool
    hive_style: bool
    url_encoded: bool
    slashed: bool
    drops_partitions: bool
    in_utc: bool
    meta_fields: bool
    schema: str


def read_properties(table: Folder) -> HudiProperties:
    """
    Raises:
        FileNotFoundError: there is no Hudi table.
        Unsupported: it is of a type or a version that is not read here.
    """
    told = _parse(_read(table))
    where = f"the Hudi table at {table.shown}"
    kind = told.get("hoodie.table.type", "COPY_ON_WRITE")
    if kind != "COPY_ON_WRITE":
        raise Unsupported(
            f"{where} is {kind.replace('_', '-').lower()}: only copy-on-write tables are read",
            hint="read a copy-on-write table, or what a query of it writes",
        )
    version = told.get("hoodie.table.version", "")
    if not version:
        raise CorruptTable(f"{where} does not tell its version: {table.shown}/.hoodie/hoodie.properties")
    layout = _LAYOUTS.get(version)
    if layout is None:
        raise Unsupported(
            f"{where} is of table version {version}: those of versions {_known()} are read",
            hint="upgrade or downgrade it by Hudi's command line",
        )
    if told.get("hoodie.timeline.layout.version", str(layout)) != str(layout):
        raise Unsupported(
            f"{where} has version {version}, and timeline layout {told['hoodie.timeline.layout.version']}, "
            f"which do not go together"
        )
    form = told.get("hoodie.table.base.file.format", "PARQUET")
    if form != "PARQUET" or _is_true(told, "hoodie.table.multiple.base.file.formats.enable"):
        raise Unsupported(
            f"{where} has files in {form if form != 'PARQUET' else 'several formats'}: only Parquet is read"
        )
    if "hoodie.bootstrap.base.path" in told:
        raise Unsupported(f"{where} has rows in the files of another table, which it was bootstrapped from")
    fields = [f for f in told.get("hoodie.table.partition.fields", "").split(",") if f]
    # Since version 8 a field may tell how its part of the path is made.
    named = [f.partition(":") for f in fields]
    slashed = _is_true(told, _SLASHED)
    drops_partitions = _is_true(told, "hoodie.datasource.write.drop.partition.columns")
    if slashed and drops_partitions and len(fields) > 1:
        raise Unsupported(
            f"{where} has days in folders of their parts, by {_SLASHED}, beside other partition columns, and none of "
            "them in its files: what their values are cannot be told"
        )
    if layout == 1:
        timeline, archive = ".hoodie", f".hoodie/{told.get('hoodie.archivelog.folder') or 'archived'}"
    else:
        timeline = f".hoodie/{told.get('hoodie.timeline.path') or 'timeline'}"
        archive = f"{timeline}/{told.get('hoodie.timeline.history.path') or 'history'}"
    return HudiProperties(
        layout=layout,
        timeline=timeline,
        archive=archive,
        partition_fields=tuple(name for name, _, _ in named),
        by_value=_key_generator(told) in _BY_VALUE
        and all(how in ("", "SIMPLE") for _, _, how in named)
        and not slashed,
        hive_style=_is_true(told, "hoodie.datasource.write.hive_style_partitioning"),
        url_encoded=_is_true(told, "hoodie.datasource.write.partitionpath.urlencode"),
        slashed=slashed,
        drops_partitions=drops_partitions,
        in_utc=told.get("hoodie.table.timeline.timezone", "LOCAL").upper() == "UTC",
        meta_fields=told.get("hoodie.populate.meta.fields", "true").lower() != "false",
        schema=told.get("hoodie.table.create.schema", ""),
    )


def _read(table: Folder) -> str:
    """A writer that changes the file removes it for a moment, and has a copy beside it then."""
    folder = f"{table.uri}/.hoodie"
    for name in ("hoodie.properties", "hoodie.properties.backup", "hoodie.properties"):
        try:
            data = table.files.read(f"{folder}/{name}")
        except FileNotFoundError:
            continue
        if data:
            return data.decode("latin-1")
    raise FileNotFoundError(f"{folder}/hoodie.properties")


def _parse(text: str) -> dict[str, str]:
    """As java.util.Properties reads it."""
    found = {}
    lines = iter(re.split(r"\r\n|\r|\n", text))
    for line in lines:
        line = line.lstrip()
        if not line or line[0] in "#!":
            continue
        while (len(line) - len(line.rstrip("\\"))) % 2:
            line = line[:-1] + next(lines, "").lstrip()
        pair = _PAIR.fullmatch(line)
        if pair is not None:
            found[_plain(pair[1])] = _plain(pair[2])
    return found


def _plain(text: str) -> str:
    def character(escape: re.Match[str]) -> str:
        told = escape[1]
        return chr(int(told[1:], 16)) if len(told) == 5 else _CONTROLS.get(told, told)

    return _ESCAPE.sub(character, text)


def _is_true(told: Mapping[str, str], name: str) -> bool:
    return told.get(name, "false").lower() == "true"


def _key_generator(told: Mapping[str, str]) -> str:
    """The kind of what makes the paths of partitions, which older tables tell as a class of Java's."""
    kind = told.get("hoodie.table.keygenerator.type", "")
    if not kind:
        name = told.get("hoodie.table.keygenerator.class", "").rpartition(".")[2]
        kind = re.sub(
            r"(?<=[a-z])(?=[A-Z])", "_", name.removesuffix("KeyGenerator").replace("Nonp", "NonP")
        ).upper()
        kind = {"NON_PARTITIONED": "NON_PARTITION"}.get(kind, kind)
    return kind


def _known() -> str:
    *most, last = _LAYOUTS
    return f"{', '.join(most)} and {last}"
