"""The registry: which groups, views and training datasets there are, and which of them need which groups."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime as dt
import secrets
from collections.abc import Callable, Iterator, Mapping

import msgspec
from sqlalchemy import Connection, Table, insert, select

from headrace.errors import Conflict, InvalidArgument, NotFound
from headrace.model.dataset import DatasetDefinition, dataset_reference
from headrace.model.definition import GroupDefinition, ViewDefinition
from headrace.model.name import parse_reference, reference
from headrace.model.query import groups_of
from headrace.model.right import Grant
from headrace.model.token import NewToken, Token
from headrace.registry import grants, migration, tokens
from headrace.registry.catalog import Catalog, each
from headrace.registry.database import Database
from headrace.registry.failure import address
from headrace.registry.history import History
from headrace.registry.tables import (
    DATASETS,
    GROUPS,
    VIEWS,
    dataset_groups,
    service_secrets,
    store,
    view_groups,
)


@dataclasses.dataclass(frozen=True)
class KnownStore:
    """The store whose registry this is.

    Args:
        id: as its mark has it.
        root: where it lay when the registry was told.
    """

    id: str
    root: str


class Registry:
    """Definitions of all projects in one database, for all threads of a process and for many processes.

    Every change is one transaction that excludes every other change: it happens wholly or not at all, and
    what it checked still holds. A read sees every change made before it. A database that does not answer
    raises Unavailable, a full disk LimitExceeded; others writing for longer than half a minute raise Busy,
    and a connection lost in a commit OutcomeUnknown.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self.history = History(database)
        self._groups = Catalog("feature group", GROUPS, GroupDefinition)
        self._views = Catalog("feature view", VIEWS, ViewDefinition)
        self._datasets = Catalog("training dataset", DATASETS, DatasetDefinition, dataset_reference)

    @classmethod
    def open(cls, url: str) -> Registry:
        """Open the registry at `sqlite:///path` or `postgresql://…`; an empty database is made ready.

        Raises:
            InvalidArgument: not a URL.
            MissingDependency: PostgreSQL without its driver.
            Unavailable: the database does not answer, or needs `headrace registry upgrade`.
            Unsupported: another kind of database, or one that a newer Headrace made.
        """
        with _closed_on_errors(Database(url)) as database:
            if not migration.is_current(database):
                migration.upgrade(database)
        return cls(database)

    @classmethod
    def find(cls, url: str) -> Registry | None:
        """As `open`, but None where nothing is there, or the database is empty; which stays so."""
        with _closed_on_errors(Database(url)) as database:
            if migration.is_current(database):
                return cls(database)
        database.close()
        return None

    @property
    def address(self) -> str:
        """Where it is, without passwords."""
        return address(self._database.url)

    @staticmethod
    def upgrade(url: str) -> None:
        """Bring the database to what this version needs; its content stays. Raises Unsupported if newer."""
        with contextlib.closing(Database(url)) as database:
            migration.upgrade(database)

    def store(self) -> KnownStore | None:
        """None where the registry was not told."""
        with self._database.reading() as connection:
            row = connection.execute(select(store.c.id, store.c.root)).one_or_none()
        return None if row is None else KnownStore(row.id, row.root)

    def set_store(self, known: KnownStore) -> None:
        with self._database.writing() as connection:
            connection.execute(insert(store).values(dataclasses.asdict(known)))

    def close(self) -> None:
        self._database.close()

    def create_group(self, project: str, definition: GroupDefinition) -> GroupDefinition:
        """Version 0 becomes the next after the highest ever used. Raises AlreadyExists, InvalidArgument."""
        with self._database.writing() as connection:
            return self._groups.add(connection, project, definition)

    def get_group(
        self, project: str, name: str, version: int | None, seen: Callable[[GroupDefinition], bool] = each
    ) -> GroupDefinition:
        """None is the highest version. Raises NotFound, which names what there is.

        Args:
            seen: what is not is as if it were not there.
        """
        with self._database.reading() as connection:
            return self._groups.get(connection, project, name, version, seen)

    def list_groups(
        self, project: str, name_glob: str | None, tags: Mapping[str, str]
    ) -> list[GroupDefinition]:
        """All versions whose name matches the glob and that bear all the tags, by name and version."""
        with self._database.reading() as connection:
            return self._groups.find(connection, project, name_glob, tags)

    def delete_group(self, project: str, name: str, version: int, force: bool) -> GroupDefinition:
        """Delete one version and return what it was. Its number is given again only to who asks for it.

        With `force`, views that need the group stay, and work again when the same version is created again. So do
        training datasets, which can be read, but not recomputed.

        Raises:
            NotFound: it is not there.
            Conflict: feature views or training datasets need it, and `force` is false.
        """
        with self._database.writing() as connection:
            deleted = self._groups.remove(connection, project, name, version)
            views = [reference(*view) for view in _needing(connection, view_groups, project, deleted)]
            datasets = [
                dataset_reference(*dataset)
                for dataset in _needing(connection, dataset_groups, project, deleted)
            ]
            if (views or datasets) and not force:
                needs = [f"feature view {', '.join(views)}"] if views else []
                needs += [f"training dataset {', '.join(datasets)}"] if datasets else []
                raise Conflict(
                    f"feature group {deleted.ref} is needed by {' and '.join(needs)}",
                    hint="delete what needs it first, or delete with force",
                    details={
                        "project": project,
                        "name": name,
                        "version": version,
                        "views": views,
                        "datasets": datasets,
                    },
                )
            if not self._groups.versions(connection, project, name):
                grants.forget_group(connection, project, name)
            return deleted

    def set_group_tags(
        self, project: str, name: str, version: int, tags: Mapping[str, str | None]
    ) -> GroupDefinition:
        """Add or replace these tags; None removes one, the others stay. Raises NotFound, InvalidArgument."""
        with self._database.writing() as connection:
            return self._groups.set_tags(connection, project, name, version, tags)

    def start_group(self, project: str, started: GroupDefinition) -> None:
        """Keep in mind that the group's table was made. Nothing happens to another that took its name since."""
        with self._database.writing() as connection:
            group = self._groups.get(connection, project, started.name, started.version)
            if group.location == started.location:
                self._groups.replace(connection, project, msgspec.structs.replace(group, started=True))

    def create_view(self, project: str, definition: ViewDefinition) -> ViewDefinition:
        """Version 0 becomes the next after the highest ever used.

        Raises:
            NotFound: a group of the query is not there.
            AlreadyExists: that version is there.
            InvalidArgument: the query leaves a group's version open.
        """
        needed = [_pinned(ref, definition) for ref in groups_of(definition.query)]
        with self._database.writing() as connection:
            for name, version in needed:
                self._groups.get(connection, project, name, version)
            created = self._views.add(connection, project, definition)
            key = {"project": project, "name": created.name, "version": created.version}
            connection.execute(
                insert(view_groups),
                [{**key, "group_name": name, "group_version": version} for name, version in needed],
            )
            return created

    def get_view(
        self, project: str, name: str, version: int | None, seen: Callable[[ViewDefinition], bool] = each
    ) -> ViewDefinition:
        """As `get_group`."""
        with self._database.reading() as connection:
            return self._views.get(connection, project, name, version, seen)

    def list_views(
        self, project: str, name_glob: str | None, tags: Mapping[str, str]
    ) -> list[ViewDefinition]:
        """All versions whose name matches the glob and that bear all the tags, by name and version."""
        with self._database.reading() as connection:
            return self._views.find(connection, project, name_glob, tags)

    def delete_view(self, project: str, name: str, version: int, force: bool) -> list[DatasetDefinition]:
        """Delete one version, with `force` its training datasets, too, which are returned.

        Raises:
            NotFound: it is not there.
            Conflict: there are training datasets of it, and `force` is false.
        """
        with self._database.writing() as connection:
            view = self._views.remove(connection, project, name, version)
            datasets = self._datasets.versions(connection, project, view.ref)
            if datasets and not force:
                numbers = [dataset.version for dataset in datasets]
                raise Conflict(
                    f"feature view {view.ref} has training datasets: {', '.join(map(str, numbers))}",
                    hint="delete its training datasets first, or delete with force",
                    details={"project": project, "name": name, "version": version, "datasets": numbers},
                )
            for dataset in datasets:
                self._datasets.remove(connection, project, view.ref, dataset.version)
            return datasets

    def create_dataset(
        self, project: str, definition: DatasetDefinition, view: ViewDefinition
    ) -> DatasetDefinition:
        """Version 0 becomes the next after the highest ever used. `view` is the one that it was made of.

        Raises:
            NotFound: its view, or one of its groups, is not there any more.
        """
        needed = [parse_reference(ref) for ref in definition.snapshots]
        with self._database.writing() as connection:
            there = self._views.get(connection, project, view.name, view.version)
            if (there.query, there.labels) != (view.query, view.labels):
                raise NotFound(f"feature view {view.ref} was deleted meanwhile, and made again")
            for name, number in needed:
                found = self._groups.get(connection, project, name, number)
                if found.location != definition.request.locations[found.ref]:
                    raise NotFound(f"feature group {found.ref} was deleted meanwhile, and made again")
            created = self._datasets.add(connection, project, definition)
            key = {"project": project, "name": created.name, "version": created.version}
            rows = [{**key, "group_name": name, "group_version": number} for name, number in needed]
            connection.execute(insert(dataset_groups), rows)
            return created

    def get_dataset(
        self, project: str, view: str, version: int | None, seen: Callable[[DatasetDefinition], bool] = each
    ) -> DatasetDefinition:
        """Of a view's reference; as `get_group`."""
        with self._database.reading() as connection:
            return self._datasets.get(connection, project, view, version, seen)

    def list_datasets(self, project: str, view: str) -> list[DatasetDefinition]:
        """All of a view's reference, by version."""
        with self._database.reading() as connection:
            return self._datasets.versions(connection, project, view)

    def datasets_of_group(self, project: str, group: GroupDefinition) -> list[DatasetDefinition]:
        """All that read the group, of whatever view."""
        found = []
        with self._database.reading() as connection:
            for view, version in _needing(connection, dataset_groups, project, group):
                with contextlib.suppress(NotFound):  # deleted since
                    found.append(self._datasets.get(connection, project, view, version))
        return found

    def all_datasets(self) -> list[DatasetDefinition]:
        """Of all projects."""
        with self._database.reading() as connection:
            return self._datasets.everything(connection)

    def is_location(self, location: str) -> bool:
        """Whether a training dataset lies there, once the writes under way have ended."""
        with self._database.writing() as connection:
            return any(dataset.location == location for dataset in self._datasets.everything(connection))

    def delete_dataset(self, project: str, view: str, version: int) -> DatasetDefinition:
        """Delete one version and return what it was. Raises NotFound."""
        with self._database.writing() as connection:
            return self._datasets.remove(connection, project, view, version)

    def projects(self, user: str | None) -> list[str]:
        """Those in which there are feature groups or views; of a user, those in which they are granted something."""
        with self._database.reading() as connection:
            found = self._groups.projects(connection) | self._views.projects(connection)
            return sorted(found if user is None else found & grants.projects_of(connection, user))

    def grants_of(self, project: str, user: str) -> list[Grant]:
        """What a user may do in a project."""
        with self._database.reading() as connection:
            return grants.grants_of(connection, project, user)

    def is_admin(self, user: str) -> bool:
        """Whether a user is an admin of any project."""
        with self._database.reading() as connection:
            return grants.is_admin(connection, user)

    def list_grants(self, project: str) -> list[Grant]:
        """By user, that of the project before those of groups."""
        with self._database.reading() as connection:
            return grants.all_grants(connection, project)

    def add_grant(self, project: str, grant: Grant) -> Grant:
        """In place of the one that the user has there. Raises NotFound: no such group."""
        with self._database.writing() as connection:
            if grant.group is not None:
                self._groups.get(connection, project, grant.group, None)
            grants.put_grant(connection, project, grant)
        return grant

    def secret(self, name: str) -> bytes:
        """32 random bytes, the same for whoever asks for this name."""
        query = select(service_secrets.c.value).where(service_secrets.c.name == name)
        with self._database.reading() as connection:
            text = connection.scalar(query)
        if text is None:
            with self._database.writing() as connection:
                text = connection.scalar(query)
                if text is None:
                    text = secrets.token_hex(32)
                    connection.execute(insert(service_secrets).values(name=name, value=text))
        return bytes.fromhex(text)

    def remove_grant(self, project: str, user: str, group: str | None) -> None:
        """Raises NotFound."""
        with self._database.writing() as connection:
            grants.remove_grant(connection, project, user, group)

    def create_token(self, user: str, lifetime: dt.timedelta, description: str) -> NewToken:
        """A token that names a user. Raises LimitExceeded: they have too many."""
        with self._database.writing() as connection:
            return tokens.add(connection, user, lifetime, description)

    def list_tokens(self, user: str | None) -> list[Token]:
        """Those of a user; None is all, by user."""
        with self._database.reading() as connection:
            return tokens.everybodys(connection) if user is None else tokens.of_user(connection, user)

    def revoke_token(self, token_id: str, user: str | None) -> None:
        """With `user`, one of theirs. Raises NotFound."""
        with self._database.writing() as connection:
            tokens.remove(connection, token_id, user)

    def token_user(self, text: str) -> str | None:
        """Whom a token names; None where it is none, or was revoked. Raises Unauthenticated: it has expired."""
        parts = tokens.parse(text)
        if parts is None:
            return None
        with self._database.reading() as connection:
            return tokens.user_of(connection, *parts)


@contextlib.contextmanager
def _closed_on_errors(database: Database) -> Iterator[Database]:
    try:
        yield database
    except BaseException:
        database.close()
        raise


def _pinned(ref: str, view: ViewDefinition) -> tuple[str, int]:
    name, version = parse_reference(ref)
    if version is None:
        raise InvalidArgument(
            f"feature view {view.name} names {ref} without its version", hint=f"write {ref}@v1"
        )
    return name, version


def _needing(
    connection: Connection, table: Table, project: str, group: GroupDefinition
) -> list[tuple[str, int]]:
    """Name and version of what needs the group, in order."""
    needs = table.c
    rows = connection.execute(
        select(needs.name, needs.version).where(
            needs.project == project, needs.group_name == group.name, needs.group_version == group.version
        )
    )
    return sorted((row.name, row.version) for row in rows)
