"""A process of its own that uses a registry: takes calls as lines of JSON, and answers in lines of JSON."""

from __future__ import annotations

import json
import sys

from headrace.errors import HeadraceError
from headrace.model.dataset import DatasetDefinition, Split
from headrace.model.definition import GroupDefinition, ViewDefinition
from headrace.model.name import parse_reference
from headrace.model.query import Query, Source
from headrace.model.request import ReadRequest
from headrace.registry import Registry, migration
from headrace.registry.catalog import Catalog
from headrace.registry.database import Database
from headrace.registry.tables import GROUPS


class Acts:
    registry: Registry | None = None

    def open(self, url: str) -> str:
        self.registry = Registry.open(url)
        return "open"

    def close(self) -> str:
        if self.registry:
            self.registry.close()
        self.registry = None
        return "closed"

    def upgrade(self, url: str) -> str:
        Registry.upgrade(url)
        return "upgraded"

    def has_imported(self, module: str) -> bool:
        return module in sys.modules

    def create_group(self, name: str, version: int) -> int:
        return self.registry.create_group("p", _group(name, version)).version

    def create_groups(self, name: str, times: int) -> list[int]:
        return [self.create_group(name, 0) for _ in range(times)]

    def create_view(self, name: str, group: str) -> int:
        view = ViewDefinition(name=name, version=0, query=Query(Source(group)))
        return self.registry.create_view("p", view).version

    def delete_group(self, name: str, version: int) -> int:
        return self.registry.delete_group("p", name, version, force=False).version

    def create_datasets(self, view: str, times: int) -> list[int]:
        return [self._create_dataset(view) for _ in range(times)]

    def make_and_delete_datasets(self, view: str, times: int) -> str:
        for _ in range(times):
            self.registry.delete_dataset("p", view, self._create_dataset(view))
        return "deleted"

    def delete_view(self, name: str) -> list[int]:
        return [d.version for d in self.registry.delete_view("p", name, 1, force=False)]

    def _create_dataset(self, ref: str) -> int:
        view = self.registry.get_view("p", *parse_reference(ref))
        root = view.query.source.group
        location = self.registry.get_group("p", *parse_reference(root)).location
        request = ReadRequest(
            kind="training", view=ref, query=Query(Source(root, snapshot=0)), locations={root: location}
        )
        dataset = DatasetDefinition(
            name=ref,
            version=0,
            request=request,
            splits=(Split("all"),),
            format="csv",
            key="k",
            snapshots={root: 0},
        )
        return self.registry.create_dataset("p", dataset, view).version

    def hold(self, url: str, name: str) -> str:
        """Create a group, and commit when the next line comes."""
        with Database(url).writing() as connection:
            Catalog("feature group", GROUPS, GroupDefinition).add(connection, "p", _group(name, 0))
            _answer("holding")
            sys.stdin.readline()
        return "committed"

    def hold_migration(self, url: str) -> str:
        """Run every migration, and commit when the next line comes."""
        with Database(url).writing() as connection:
            migration.run(connection)
            _answer("holding")
            sys.stdin.readline()
        return "committed"


def _group(name: str, version: int) -> GroupDefinition:
    return GroupDefinition(name=name, version=version, primary_key=("id",), tags={"made": "here"})


def _answer(answer: object) -> None:
    print(json.dumps(answer), flush=True)


def main() -> None:
    acts = Acts()
    while line := sys.stdin.readline():
        act, *arguments = json.loads(line)
        try:
            answer = getattr(acts, act)(*arguments)
        except HeadraceError as error:
            answer = error.code
        _answer(answer)


if __name__ == "__main__":
    main()
