"""What there is in one project, as far as a caller may see it and change it: every name passes here."""

from __future__ import annotations

import datetime as dt

from headrace.errors import InvalidArgument, PermissionDenied
from headrace.model.dataset import DatasetDefinition
from headrace.model.definition import GroupDefinition, ViewDefinition
from headrace.model.name import parse_reference
from headrace.model.query import groups_of
from headrace.model.right import Grant, Rights, Role, check_user, is_enough
from headrace.model.token import NewToken, Token, check_lifetime, check_token_description
from headrace.registry.registry import Registry


class Definitions:
    """The registry's definitions of one project, for one caller: what they may not see is as if it were not there.

    Raises:
        PermissionDenied: what they see, they may not change.
    """

    def __init__(self, registry: Registry, project: str, rights: Rights) -> None:
        self._registry = registry
        self._project = project
        self.rights = rights

    def require(self, role: Role, to: str, group: str | None = None) -> None:
        """Raises PermissionDenied unless the caller has the role in the project, or on the group."""
        if not is_enough(self.rights.role if group is None else self.rights.role_in(group), role):
            raise PermissionDenied(
                f"{self.rights.user} may not {to} in project {self._project}",
                hint=f"an admin of the project grants the role {role}: "
                f"headrace grant add {self.rights.user} {role} --project {self._project}"
                + (f" --group {group}" if group is not None and role != "admin" else ""),
            )

    def create_group(self, definition: GroupDefinition) -> GroupDefinition:
        return self._registry.create_group(self._project, definition)

    def get_group(self, name: str, version: int | None) -> GroupDefinition:
        return self._registry.get_group(self._project, name, version, self._sees_group)

    def list_groups(self, name_glob: str | None, tags: dict[str, str]) -> list[GroupDefinition]:
        found = self._registry.list_groups(self._project, name_glob, tags)
        return list(filter(self._sees_group, found))

    def delete_group(self, name: str, version: int, force: bool) -> GroupDefinition:
        if self.rights.role is None:
            self.get_group(name, version)  # which they may not see
        self.require("admin", f"delete feature group {name}")
        return self._registry.delete_group(self._project, name, version, force)

    def set_group_tags(self, name: str, version: int, tags: dict[str, str | None]) -> GroupDefinition:
        if self.rights.role is None:
            self.get_group(name, version)  # which they may not see
        self.require("writer", f"change the tags of feature group {name}", name)
        return self._registry.set_group_tags(self._project, name, version, tags)

    def start_group(self, definition: GroupDefinition) -> None:
        """Keep in mind that the group's table was made, by whomever."""
        self._registry.start_group(self._project, definition)

    def create_view(self, definition: ViewDefinition) -> ViewDefinition:
        self.require("writer", f"make feature view {definition.name}")
        return self._registry.create_view(self._project, definition)

    def get_view(self, name: str, version: int | None) -> ViewDefinition:
        return self._registry.get_view(self._project, name, version, self._sees_view)

    def list_views(self, name_glob: str | None, tags: dict[str, str]) -> list[ViewDefinition]:
        return list(filter(self._sees_view, self._registry.list_views(self._project, name_glob, tags)))

    def delete_view(self, name: str, version: int, force: bool) -> list[DatasetDefinition]:
        if self.rights.role is None:
            self.get_view(name, version)  # which they may not see
        self.require("writer", f"delete feature view {name}")
        return self._registry.delete_view(self._project, name, version, force)

    def create_dataset(self, definition: DatasetDefinition, view: ViewDefinition) -> DatasetDefinition:
        return self._registry.create_dataset(self._project, definition, view)

    def get_dataset(self, view: str, version: int | None) -> DatasetDefinition:
        return self._registry.get_dataset(self._project, view, version, self._sees_dataset)

    def list_datasets(self, view: str) -> list[DatasetDefinition]:
        return list(filter(self._sees_dataset, self._registry.list_datasets(self._project, view)))

    def delete_dataset(self, view: str, version: int) -> DatasetDefinition:
        if self.rights.role is None:
            self.get_dataset(view, version)  # which they may not see
        self.require("writer", f"delete training datasets of {view}")
        return self._registry.delete_dataset(self._project, view, version)

    def datasets_that_need(self, group: GroupDefinition) -> list[DatasetDefinition]:
        """Whoever may see them: what they were made of is kept."""
        # A table that others made may have several groups, also in other projects.
        if group.adopted:
            return self._registry.all_datasets()
        return self._registry.datasets_of_group(self._project, group)

    def list_grants(self) -> list[Grant]:
        """All, to an admin; to others their own."""
        if is_enough(self.rights.role, "admin"):
            return self._registry.list_grants(self._project)
        return self._registry.grants_of(self._project, self.rights.user)

    def add_grant(self, grant: Grant) -> Grant:
        self.require("admin", "grant")
        return self._registry.add_grant(self._project, grant)

    def remove_grant(self, user: str, group: str | None) -> None:
        self.require("admin", "take back grants")
        self._registry.remove_grant(self._project, user, group)

    def create_token(self, user: str | None, lifetime_us: int, description: str) -> NewToken:
        """Users are of all projects, so that no admin of one makes tokens of others."""
        own = self.rights.user or None
        if user is None and own is None:
            raise InvalidArgument("a token names a user, and none is given", hint="say whose it is to be")
        if own is not None and user not in (None, own):
            raise PermissionDenied(
                f"{own} may make no token of {user}",
                hint="users make their own, and whoever opens the store itself those of others",
            )
        lifetime = dt.timedelta(microseconds=check_lifetime(lifetime_us))
        return self._registry.create_token(
            check_user(user or own), lifetime, check_token_description(description)
        )

    def list_tokens(self) -> list[Token]:
        """Their own; all to whoever opened the store itself."""
        return self._registry.list_tokens(self.rights.user or None)

    def revoke_token(self, token_id: str) -> None:
        """One of their own; any for whoever opened the store itself."""
        self._registry.revoke_token(token_id, self.rights.user or None)

    def _sees_group(self, definition: GroupDefinition) -> bool:
        return self.rights.role_in(definition.name) is not None

    def _sees_view(self, definition: ViewDefinition) -> bool:
        return self._sees_all(groups_of(definition.query))

    def _sees_dataset(self, definition: DatasetDefinition) -> bool:
        return self._sees_all(definition.snapshots)

    def _sees_all(self, refs: object) -> bool:
        """Of what is made of groups, it is not told which of their columns are in it."""
        if self.rights.role is not None:
            return True
        names = [parse_reference(ref)[0] for ref in refs]  # type: ignore[attr-defined]
        return all(
            self.rights.role_in(name) is not None and self.rights.columns_of(name) is None for name in names
        )
